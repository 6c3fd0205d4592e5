"""The verbs `sweep` and `study`: a scenario at every point of a grid, and what came of it.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.cli.options import AsJson, Settings, pairs

if TYPE_CHECKING:
    from lanewise.study.study import StudyResult

_Folder = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a study.", show_default=False)]
_All = Annotated[bool, typer.Option("--all", "-a", help="Print every point.")]


def add_to(app: typer.Typer) -> None:
    """Add the verbs."""
    app.command("sweep")(_sweep)
    study = typer.Typer(help="Show or query the folder of a study.", no_args_is_help=True)
    study.command("show")(_show)
    study.command("query", short_help="Query the points in SQL.")(_query)
    app.add_typer(study, name="study")


def _sweep(
    scenario: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="Scenario, or a study file (TOML) that names one.", show_default=False
        ),
    ],
    over: Annotated[
        list[str] | None,
        typer.Option(
            metavar="AXIS",
            help="Vary a parameter: 'ssd.count=1..24', 'sw0.latency=100 ns..400 ns:50 ns' in steps, "
            "'nic.tags=8..1024:*2' by a factor, 'sw0.port0=gen4 x8,gen5 x16' as a list, 'a=1,2 & b=3,4' two "
            "together, 'b=1..4 if a=1' only if a is 1. May be repeated.",
            show_default=False,
        ),
    ] = None,
    settings: Settings = None,
    seeds: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="Run each point with the seeds 1 to N.", show_default=False),
    ] = None,
    sample: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Run a sample of points between the ends of the axes instead of all combinations: lhs:100, "
            "sobol:128 or random:50; or saltelli:64, 64 for each axis and twice 64 more, for Sobol indices.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER",
            help="Also keep this number of each run, like 'max links.utilisation where link=sw0'. May be "
            "repeated.",
            show_default=False,
        ),
    ] = None,
    maximize: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER",
            help="Search instead of running all points: choose trials that make this large: goodput, "
            "operations, or anything that --metric takes. If repeated, the result is a Pareto front.",
            show_default=False,
        ),
    ] = None,
    minimize: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NUMBER",
            help="Search for trials that make this small: p99_us, lanes.",
            show_default=False,
        ),
    ] = None,
    subject_to: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIMITS",
            help="For a search: limits for good trials: 'lanes<=96, p99_us<200'. May be repeated.",
            show_default=False,
        ),
    ] = None,
    trials: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="For a search: number of trials. Without it: 100.", show_default=False
        ),
    ] = None,
    search_seed: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=0,
            help="For a search: its seed; another seed chooses other trials.",
            show_default=False,
        ),
    ] = None,
    batch: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="For a search: number of trials that are chosen at once. Without it: 8. A larger number "
            "keeps more cores busy, but each trial learns less from the others.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep each finished point in this folder. The same command then continues where it stopped.",
            show_default=False,
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=1024,
            help="Number of processes, on a cluster for each node at most. Without it: one for each core.",
            show_default=False,
        ),
    ] = None,
    ray: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Run the points on a Ray cluster: ray://HOST:10001; HOST:6379, if this is one of its nodes; "
            "'auto' for the cluster that runs here; 'local' to start one here.",
            show_default=False,
        ),
    ] = None,
    everything: _All = False,
    as_json: AsJson = False,
) -> None:
    """Run a scenario at each point of a grid, or search for the best.

    It uses all cores of this machine or of a Ray cluster. It says what limits each point, and where along a
    parameter the limit changes. Exit status 1 means that no point could be run.
    """
    from lanewise.cli.guard import ExitStatus
    from lanewise.cli.progress import runs_progress
    from lanewise.study.running import run_study
    from lanewise.study.search import Search
    from lanewise.study.study_file import study_asked

    search = Search.of_given(maximize or (), minimize or (), subject_to or (), trials, search_seed, batch)
    study = study_asked(
        scenario,
        over=over or [],
        seeds=seeds,
        sample=sample,
        search=search,
        metrics=metric or [],
        overrides=pairs(settings),
    )
    if study.goes_on_for_percentiles:
        typer.echo(
            "note: runs go on until their 99th percentiles are known, because the search asks for them "
            "(run.until=latency)",
            err=True,
        )
    goes_on = None if out is None else "the same command continues from there"
    with runs_progress(f"sweep {scenario}", goes_on=goes_on) as progress:
        result = run_study(
            study, out, processes=processes, ray=ray, on_progress=progress, on_note=progress.note
        )
    _print(result, everything=everything, as_json=as_json)
    if out is not None:
        typer.echo(f"study: {out}", err=True)
    if all(outcome.status != "done" for outcome in result.outcomes):
        raise typer.Exit(ExitStatus.FINDINGS)


def _show(folder: _Folder, everything: _All = False, as_json: AsJson = False) -> None:
    """Print the finished points, also while the study is running."""
    from lanewise.study.study import load_study

    result = load_study(folder)
    _print(result, everything=everything, as_json=as_json)
    if not result.is_complete:
        typer.echo(f"{len(result.outcomes)} of {result.study.size} points are finished", err=True)


def _query(
    folder: _Folder,
    sql: Annotated[
        str,
        typer.Argument(
            metavar="SQL", help="An SQL query over the table 'points', for DuckDB.", show_default=False
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Query the points in SQL: 'select "ssd.count", goodput_gb_per_s from points order by 2 desc limit 5'."""
    from lanewise.cli.tables.study import print_answer
    from lanewise.study_api import query_study

    table = query_study(folder, sql)
    if as_json:
        from lanewise.output_format import stamped
        from lanewise.study.query import for_json

        rows = [[for_json(value) for value in row] for row in table.iter_rows()]
        _write_json(stamped({"columns": table.columns, "rows": rows}))
    else:
        print_answer(table)


def _print(result: "StudyResult", *, everything: bool, as_json: bool) -> None:
    if as_json:
        _write_json(result.to_document())
        return
    from lanewise.cli.tables.study import print_study

    print_study(result, everything=everything)


def _write_json(document: object) -> None:
    sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
