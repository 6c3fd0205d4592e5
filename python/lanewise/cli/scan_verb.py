"""The verb `scan`: reads a machine and prints it as a tree, as JSON or as a scenario.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.cli.options import Overlays, refuse_together

if TYPE_CHECKING:
    from lanewise.machine.model import Machine


class _Direction(StrEnum):
    """Where the data of a written scenario goes."""

    WRITE = "write"
    READ = "read"
    BOTH = "both"


def add_scan(app: typer.Typer) -> None:
    """Add the verb to the command line."""
    app.command("scan")(_scan)


def _scan(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="SOURCE",
            help="lspci -vvv, -xxxx or -tv output, a copy of /sys, hwloc or NCCL XML, nvidia-smi topo -m, "
            "lshw -json, pciconf -lvbc, a kernel log, an archive of those; '-' for standard input. "
            "Without it: this machine.",
            show_default=False,
        ),
    ] = None,
    overlays: Overlays = None,
    root: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Read the /sys of another root folder, such as that of a container's host.",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", "-a", help="Also show functions of root complexes that have no link.")
    ] = False,
    as_scenario: Annotated[
        bool,
        typer.Option(
            "--scenario",
            help="Write a scenario for 'run', in which all devices work at once, as in 'predict'.",
        ),
    ] = False,
    as_baseline: Annotated[
        bool,
        typer.Option(
            "--baseline",
            help="Write what is in the machine, for 'doctor --expect' on this or other machines.",
        ),
    ] = False,
    direction: Annotated[
        _Direction,
        typer.Option(
            help="With --scenario: devices write to the host, read from it, or both with plain DMA."
        ),
    ] = _Direction.WRITE,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show the lines that Lanewise did not understand.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a tree.")] = False,
) -> None:
    """Show the PCI Express topology of a machine or a dump."""
    from lanewise.machine_api import scan

    refuse_together(("--json", as_json), ("--scenario", as_scenario), ("--baseline", as_baseline))
    if source is not None and root is not None:
        raise typer.BadParameter("give either SOURCE or --root, not both")
    machine = scan(root if root is not None else source, overlays=overlays or ())
    if as_json:
        import json

        from lanewise.machine.json_form import to_json

        sys.stdout.write(json.dumps(to_json(machine), indent=1) + "\n")
    elif as_scenario:
        from lanewise.health.predict.as_scenario import scenario_of

        sys.stdout.write(scenario_of(machine, direction.value))
    elif as_baseline:
        from lanewise.health.fleet.baseline import baseline, remarks

        sys.stdout.write(baseline(machine))
        for remark in remarks(machine):
            typer.echo(f"note: {remark}", err=True)
    else:
        from lanewise.cli.tables.scan import print_machine

        print_machine(machine, everything=everything)
    _say_what_was_not_read(machine, verbose=verbose)


def _say_what_was_not_read(machine: "Machine", *, verbose: bool) -> None:
    """Print notes about the reading, and the lines that meant nothing."""
    for note in machine.notes:
        typer.echo(f"note: {note}", err=True)
    unknown = machine.not_understood
    if unknown.count:
        hint = "" if verbose else "; 'lanewise scan -v' shows some"
        lines = "line" if unknown.count == 1 else "lines"
        typer.echo(f"note: {unknown.count} {lines} not understood{hint}", err=True)
    if verbose:
        for number, text in unknown.samples:
            typer.echo(f"  line {number}: {text}", err=True)
        rest = unknown.count - len(unknown.samples)
        if unknown.samples and rest:
            typer.echo(f"  and {rest} more, most of them like these", err=True)
