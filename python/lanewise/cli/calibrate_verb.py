"""The verb `calibrate`: parameters fitted to measurements.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.cli import completion
from lanewise.cli.guard import ExitStatus
from lanewise.cli.options import AsJson, Settings, pairs
from lanewise.cli.streams import print_json

if TYPE_CHECKING:
    from lanewise.calibration.fitting import OwnCalibration


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("calibrate")(_calibrate)


def _calibrate(
    scenario: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="Scenario. Without DATA: ID or folder of a published experiment.",
            show_default=False,
            autocompletion=completion.scenarios_or_experiments,
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA",
            help="Measurements: a table in CSV or TOML with a column for each parameter that rows set, like "
            "'size', and one for what was measured, like 'goodput GB/s'; or the output of a benchmark.",
            show_default=False,
        ),
    ] = None,
    fit: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PARAMETER",
            help="Fit this parameter: 'nic.tags', from a quarter of its value to four times that; "
            "'nic.path_latency=0 ns..400 ns' between these values; 'nic0.tags & nic1.tags' one value for "
            "both. "
            "May be repeated: all are fitted together.",
            show_default=False,
        ),
    ] = None,
    hold_out: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROWS",
            help="Do not fit these rows, but say how well they are met: '2,5..7', or 'size=64 KiB'. "
            "May be repeated. A column 'role' can say it, too.",
            show_default=False,
        ),
    ] = None,
    settings: Settings = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Run each row with the seeds 1 to N, and fit the mean.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help='Write the fitted values as a part, which scenarios name: part = "FILE". If they belong to '
            "several components: a folder, which gets a file for each.",
            show_default=False,
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the fit, but write no file.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit parameters of a scenario to what was measured on a machine.

    It says how well the rows determine each parameter, and how far the simulation is from each row. Without
    DATA, it fits a published experiment as that says itself. Exit status 1 means that the rows leave a
    parameter open.
    """
    from lanewise.calibration_api import calibrate
    from lanewise.cli.progress import fits_progress

    if data is None:
        _refuse_without_data(fit=bool(fit), hold_out=bool(hold_out), set=bool(settings), seeds=seeds, out=out)
        with fits_progress("fitting") as on_progress:
            experiment = calibrate(scenario, write=not dry_run, on_progress=on_progress)
        if as_json:
            print_json(experiment.to_json())
        else:
            from lanewise.cli.tables.calibrate import print_calibration

            print_calibration(experiment)
        return
    with fits_progress("calibrate:") as on_progress:
        found = calibrate(
            scenario,
            data,
            fit or [],
            hold_out=hold_out or [],
            overrides=pairs(settings),
            seeds=seeds or 1,
            out=out,
            write=False,
            on_progress=on_progress,
        )
    if as_json:
        print_json(found.to_json())
    else:
        from lanewise.cli.tables.own_calibration import print_own

        print_own(found)
    if out is not None and not dry_run:
        _write(found, out)
    if not found.is_determined:
        raise typer.Exit(ExitStatus.FINDINGS)


def _write(found: "OwnCalibration", out: Path) -> None:
    """Write parts, and say how to use each."""
    from lanewise.calibration.part import write_parts

    written = write_parts(found, out)
    if not written:
        typer.echo(f"note: '{out}' is not written: no value is determined", err=True)
    for part in written:
        component = part.component
        typer.echo(f"part: {part.file}", err=True)
        instead = f' instead of "{component.part}"' if component.part else ""
        typer.echo(
            f'      to use it, write part = "{part.name_for(found.name)}"{instead} in '
            f"[{component.kind}.{component.name}]",
            err=True,
        )
        for stated in part.stated:
            typer.echo(f"      and delete {stated}: what a scenario states stands above its part", err=True)


def _refuse_without_data(**given: object) -> None:
    from lanewise.errors import InputError

    wrong = next((name.replace("_", "-") for name, value in given.items() if value), None)
    if wrong is not None:
        raise InputError(
            f"--{wrong} needs measurements: lanewise calibrate FILE DATA --fit PARAMETER. Without DATA, a "
            "published experiment is fitted as it says itself"
        )
