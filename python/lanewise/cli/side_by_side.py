"""The verbs `compare` and `whatif`: runs and measurements side by side, and what explains the difference.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.cli.guard import ExitStatus
from lanewise.cli.options import AsJson, Report, Scenario, Settings, pairs, refuse_nan
from lanewise.errors import InputError

if TYPE_CHECKING:
    from lanewise.comparison import Comparison
    from lanewise.side_by_side.several import SideBySide

_OnlyA = Annotated[
    list[str] | None,
    typer.Option(metavar="PATH=VALUE", help="Change this parameter in A only.", show_default=False),
]
_OnlyB = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PATH=VALUE",
        help="Change this parameter in the first B only; later sides have only --set.",
        show_default=False,
    ),
]
_Explain = Annotated[
    bool | None,
    typer.Option(
        "--explain/--no-explain",
        help="Try each difference of two scenarios alone, by more runs. Without it: if these take little.",
        show_default=False,
    ),
]
_Within = Annotated[
    float | None,
    typer.Option(
        metavar="PERCENT",
        min=0.0,
        callback=refuse_nan,
        help="Exit status 1 if the total goodput of a run, or a result that was measured, differs "
        "from A's by more than this.",
        show_default=False,
    ),
]


def add_to(app: typer.Typer) -> None:
    """Add both verbs to the command line."""
    app.command("compare")(_compare)
    app.command("whatif")(_whatif)


def _compare(
    a: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            help="Scenario, run folder, file of 'run --json', or output of a benchmark. Ratios are to A.",
            show_default=False,
        ),
    ],
    others: Annotated[
        list[Path],
        typer.Argument(metavar="B...", help="One or more such to compare it with.", show_default=False),
    ],
    settings: Settings = None,
    set_a: _OnlyA = None,
    set_b: _OnlyB = None,
    explain: _Explain = None,
    within: _Within = None,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Compare scenarios, runs and benchmark results.

    Outputs of all tools that 'import' reads are matched by what was measured: size, direction, depth,
    devices. Beside a run, they are matched with its workload of the same kind, or with a flow of the same
    direction and size.
    """
    from lanewise import api
    from lanewise.cli.progress import RunProgress
    from lanewise.cli.report_verb import check

    check(report)
    of_all, of_a, of_b = pairs(settings), pairs(set_a, "--set-a"), pairs(set_b, "--set-b")
    with RunProgress(f"{a} and {others[0] if len(others) == 1 else f'{len(others)} more'}") as progress:
        comparison = api.compare(
            a,
            *others,
            overrides=of_all,
            overrides_a=of_a,
            overrides_b=of_b,
            explain=explain,
            progress=progress,
        )
    _print(comparison, within=within, report=report, as_json=as_json)


def _whatif(
    scenario: Scenario,
    changes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PATH=VALUE...",
            help="What to change: a path that 'explain' prints, and its new value, like nic.tags=256.",
            show_default=False,
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="PATH=VALUE", help="Change this parameter on both sides.", show_default=False
        ),
    ] = None,
    explain: _Explain = None,
    within: _Within = None,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Change a scenario, and say what difference that makes."""
    from lanewise import api
    from lanewise.cli.progress import RunProgress
    from lanewise.cli.report_verb import check

    if not changes and settings:
        raise InputError(
            "nothing is changed: --set is for both sides; give what only the second side has without it: "
            f"lanewise whatif {shlex.join([str(scenario), *settings])}"
        )
    if not changes:
        raise InputError(
            f"nothing is changed: add PATH=VALUE, like 'lanewise whatif {scenario} nic.tags=256'; "
            f"'lanewise explain {scenario}' lists every path with its value"
        )
    check(report)
    of_both, of_b = pairs(settings), pairs(changes, "a change")
    with RunProgress(f"{scenario}, as it is and changed") as progress:
        comparison = api.whatif(scenario, of_b, overrides=of_both, explain=explain, progress=progress)
    _print(comparison, within=within, report=report, as_json=as_json)


def _print(
    comparison: "Comparison | SideBySide", *, within: float | None, report: Path | None, as_json: bool
) -> None:
    """Print a comparison; leave with status 1 when the sides differ by more than allowed."""
    from lanewise.comparison import Comparison

    if as_json:
        sys.stdout.write(comparison.to_json() + "\n")
    elif isinstance(comparison, Comparison):
        from lanewise.cli.tables.compare import print_comparison

        print_comparison(comparison)
    else:
        from lanewise.cli.tables.sides import print_sides

        print_sides(comparison)
    if report is not None:
        from lanewise.cli.report_verb import write

        write([("", comparison)], report)
    if within is not None and (why := comparison.beyond(within)) is not None:
        typer.echo(why, err=True)
        raise typer.Exit(ExitStatus.FINDINGS)
