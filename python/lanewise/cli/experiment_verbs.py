"""The verb `reproduce`: published experiments.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

from pathlib import Path
from typing import Annotated

import typer

from lanewise.cli import completion
from lanewise.cli.guard import ExitStatus
from lanewise.cli.options import AsJson, refuse_together
from lanewise.cli.streams import print_json


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("reproduce")(_reproduce)


def _reproduce(
    experiments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="ID",
            help="Experiments to run, like IDT-T5. Without one: all.",
            autocompletion=completion.experiments,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write an HTML report to this file. Without ID there is always one, lanewise-report.html.",
            show_default=False,
        ),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="Do not write a report.")] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Simulate everything again, and use no kept runs.")
    ] = False,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity",
            help="First find and store the parameters that predictions depend on. Takes minutes.",
        ),
    ] = False,
    stale: Annotated[
        bool,
        typer.Option(
            "--stale",
            help="Run nothing. List the experiments whose stored sensitivity is out of date.",
        ),
    ] = False,
    note_misses: Annotated[
        bool,
        typer.Option(
            "--note-misses",
            help="Write the cells that are outside their band, with their numbers, into misses.toml.",
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Simulate published experiments, and compare the results.

    Lanewise keeps finished runs, so an interrupted command continues where it was. It uses a kept run only
    if scenario, overrides and simulator are the same. Exit status 1 means one of three things: a cell is
    outside its band and is not a known miss, a known miss has changed, or a known miss has disappeared.
    """
    from lanewise import api
    from lanewise.cli.progress import fits_progress, runs_progress
    from lanewise.runs.cache import RunCache

    refuse_together(("--report", report is not None), ("--no-report", no_report))
    refuse_together(("--stale", stale), ("--sensitivity", sensitivity))
    names = experiments or []
    if stale:
        from lanewise.cli.tables.reproduce import print_stale

        print_stale(api.stale_sensitivities(*names))
        return
    page = None if no_report else _page_for(report, everything=not names)
    cache = RunCache.default()
    if fresh:
        cache.clear()
    if sensitivity:
        with fits_progress("sensitivity of") as on_runs:
            api.sensitivity(*names, cache=cache, on_progress=on_runs)
    with runs_progress("reproduce", goes_on="the next 'lanewise reproduce' starts from there") as on_progress:
        reproduction = api.reproduce(*names, cache=cache, on_progress=on_progress)
    if as_json:
        print_json(reproduction.to_json())
    else:
        from lanewise.cli.tables.reproduce import print_reproduction

        print_reproduction(reproduction, sensitivity=sensitivity)
    if note_misses:
        from lanewise.experiment import misses

        for experiment in reproduction.experiments:
            misses.save(experiment)
    if page is not None:
        from lanewise.report.page import write_report

        write_report(reproduction, page)
        typer.echo(f"report: {page}", err=True)
    if not reproduction.passed and not note_misses:
        raise typer.Exit(ExitStatus.FINDINGS)


def _page_for(report: Path | None, *, everything: bool) -> Path | None:
    """Return where a report goes, before the work for it is done; None when there is none to write."""
    from lanewise.extras import missing, need
    from lanewise.files import refuse_folder

    if report is not None:
        need("report", "--report")
    elif not everything:
        return None
    elif (lacking := missing("report", "the report")) is not None:
        typer.echo(f"note: no report is written: {lacking}", err=True)
        return None
    page = report or Path("lanewise-report.html")
    refuse_folder(page)
    return page
