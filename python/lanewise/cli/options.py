"""Arguments and options that several verbs share."""

import math
from pathlib import Path
from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]

Scenario = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="Scenario file (TOML); '-' for standard input.", show_default=False),
]

Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Change a parameter: a path that 'explain' prints, and its new value. May be repeated. "
        "nic.tags=64 changes every nic, nic[0].tags=64 one, 'nic*.tags=64' all names that begin with nic, "
        "'workload.*.size=64 B' every workload.",
        show_default=False,
    ),
]

Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE",
        help="A dump (lspci, sysfs copy, nvidia-smi -q, hwloc or NCCL XML and more), '-' for standard input. "
        "Without it: this machine.",
        show_default=False,
    ),
]


Overlays = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="FILE",
        help="Also read this output of nvidia-smi, amd-smi, xpu-smi, inxi, dmidecode, nvme list, ethtool -i "
        "or dmesg. May be repeated.",
        show_default=False,
    ),
]


Report = Annotated[
    Path | None,
    typer.Option(
        metavar="PATH",
        help="Also write a report to this file: HTML, or Markdown if it ends in .md.",
        show_default=False,
    ),
]


def pairs(settings: list[str] | None, option: str = "--set") -> list[tuple[str, str]]:
    """Split PATH=VALUE; wrong ones are reported together."""
    from lanewise.errors import InputError

    split = [setting.partition("=") for setting in settings or []]
    wrong = ["".join(parts) for parts in split if not all(parts)]
    if wrong:
        listing = ", ".join(f"'{setting}'" for setting in wrong)
        example = f"{option} 'sw0.latency=150 ns'" if option.startswith("-") else "'sw0.latency=150 ns'"
        raise InputError(f"{option} needs PATH=VALUE, like {example}; found {listing}")
    return [(path.strip(), value.strip()) for path, _, value in split]


def refuse_nan(value: float | None) -> float | None:
    """Raise a usage error for what is no number, which lies within every range."""
    if value is not None and math.isnan(value):
        raise typer.BadParameter("nan is not a number")
    return value


def refuse_together(*options: tuple[str, bool]) -> None:
    """Raise a usage error when more than one of these options is given: each asks for the whole output."""
    given = [name for name, is_given in options if is_given]
    if len(given) > 1:
        raise typer.BadParameter(f"give {' or '.join(given)}, not both")
