"""The verb `run`: one run, what limits it and what it rests on, a run for each size, or fio's job file.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lanewise.cli import completion
from lanewise.cli.guard import ExitStatus
from lanewise.cli.options import AsJson, Report, Scenario, Settings, pairs, refuse_nan, refuse_together
from lanewise.cli.run_end import also_keep, also_report, exit_as, print_proof
from lanewise.cli.streams import print_json

if TYPE_CHECKING:
    from lanewise.results import RunResult

_NOT_TOGETHER = {
    "--as": ("--json",),
    "--why": ("--sizes", "--threads", "--as", "--live", "--until"),
    "--sensitivity": ("--fio", "--sizes", "--threads", "--as", "--live"),
    "--fio": ("--threads", "--sizes"),
    "--sizes": ("--until", "--threads", "--report", "--out", "--live"),
}
"""Options that ask for different runs, or for different output of one."""


def add_to(app: typer.Typer) -> None:
    """Add the verb."""
    app.command("run")(_run)


def _run(
    scenario: Scenario,
    settings: Settings = None,
    seed: Annotated[
        int | None, typer.Option(help="Start value for all random numbers.", show_default=False)
    ] = None,
    time_limit: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Stop after this much simulated time, like '20 ms'.", show_default=False
        ),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="WHAT",
            help="Run until this is known well enough: 'throughput' or 'latency'.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep the results in a new folder: Parquet tables and a manifest.",
            show_default=False,
        ),
    ] = None,
    as_tool: Annotated[
        str | None,
        typer.Option(
            "--as",
            metavar="TOOL",
            help="Print what this tool would print: fio, gdsio, perftest, osu, iometer, smartflow or "
            "nccl-tests.",
            show_default=False,
            autocompletion=completion.tools,
        ),
    ] = None,
    sizes: Annotated[
        str | None,
        typer.Option(
            metavar="SIZES",
            help="With --as osu or perftest: run each of these message sizes: a list like '64,4 KiB', "
            "or 'all' sizes of the tool.",
            show_default=False,
        ),
    ] = None,
    fio: Annotated[
        Path | None,
        typer.Option(
            metavar="JOBFILE",
            help="Run the jobs of this fio job file instead of the scenario's workloads.",
            show_default=False,
        ),
    ] = None,
    drive: Annotated[
        list[str] | None,
        typer.Option(
            "--map",
            metavar="DEVICE=DRIVE",
            help="With --fio: the drive that a filename stands for, like '/dev/nvme0n1=ssd[0]'. Without it, "
            "filenames take the drives in order. May be repeated.",
            show_default=False,
        ),
    ] = None,
    section: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="With --fio: run only this section. May be repeated.", show_default=False
        ),
    ] = None,
    live: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS",
            min=0.1,
            max=60.0,
            callback=refuse_nan,
            help="During the run, show its flows on stderr every so many seconds.",
            show_default=False,
        ),
    ] = None,
    threads: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            max=64,
            help="Share the run among at most this many threads: each simulates the devices below some root "
            "ports. The results are the same. A run that cannot be shared uses one thread and says why.",
            show_default=False,
        ),
    ] = None,
    why: Annotated[
        bool,
        typer.Option(
            "--why",
            help="Prove the limit: run again with each possible limit ten times larger, and rank them.",
        ),
    ] = False,
    sensitivity: Annotated[
        bool,
        typer.Option(
            "--sensitivity",
            help="Vary each value by 20 % that no specification fixes, in up to 60 more runs, and say which "
            "of them move the result.",
        ),
    ] = False,
    report: Report = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a scenario: say what limits it, and where time went."""
    from lanewise import api
    from lanewise.cli.report_verb import check
    from lanewise.cli.run_progress import run_progress

    given = {
        "--as": as_tool is not None,
        "--json": as_json,
        "--why": why,
        "--sensitivity": sensitivity,
        "--until": until is not None,
        "--fio": fio is not None,
        "--sizes": sizes is not None,
        "--threads": threads is not None,
        "--live": live is not None,
        "--out": out is not None,
        "--report": report is not None,
    }
    for option, others in _NOT_TOGETHER.items():
        for other in others:
            refuse_together((option, given[option]), (other, given[other]))
    overrides = pairs(settings)
    check(report)
    if fio is not None:
        from lanewise.cli.job_file import run_job_file

        run_job_file(
            scenario,
            fio,
            drive or [],
            section or [],
            api.run_pairs(overrides, seed, time_limit, until),
            why=why,
            out=out,
            report=report,
            tool=as_tool,
            as_json=as_json,
            live=live,
        )
        return
    if drive or section:
        raise typer.BadParameter("--map and --section need --fio, whose job file they are about")
    if sizes is not None:
        if as_tool is None:
            raise typer.BadParameter("--sizes needs --as osu or --as perftest, whose table it fills")
        _run_sizes(scenario, as_tool, sizes, overrides, seed=seed, time_limit=time_limit)
        return
    if as_tool is not None:
        from lanewise.tools.instruments.native import check_has

        check_has(as_tool, scenario, api.run_pairs(overrides, seed, time_limit))
    if out is not None:
        from lanewise.runs.folder import check_free

        check_free(out)
    if why:
        _run_why(
            scenario,
            overrides,
            seed=seed,
            time_limit=time_limit,
            sensitivity=sensitivity or report is not None,
            out=out,
            report=report,
            as_json=as_json,
        )
        return
    paths = api.run_pairs(overrides, seed, time_limit, until)
    with run_progress(str(scenario), live) as progress:
        result = api.run(
            scenario,
            overrides=paths,
            progress=progress,
            flows_every_s=progress.flows_every_s,
            threads=threads,
            sensitivity=sensitivity,
        )
    _print_run(result, scenario, paths, as_tool=as_tool, as_json=as_json)
    also_keep(result, out)
    also_report(result, str(scenario), report)
    exit_as(result.end_reason)


def _print_run(
    result: "RunResult",
    scenario: Path,
    pairs: list[tuple[str, str]],
    *,
    as_tool: str | None,
    as_json: bool,
) -> None:
    """Print a run as tables, as JSON, or as a tool would."""
    if as_json:
        print_json(result.to_json())
    elif as_tool is not None:
        from lanewise import api
        from lanewise.tools.instruments.native import write_as

        sys.stdout.write(write_as(as_tool, result, api.explain(scenario, overrides=pairs)))
    else:
        from lanewise.cli.tables.run import print_run

        print_run(result)


def _run_why(
    scenario: Path,
    overrides: list[tuple[str, str]],
    *,
    seed: int | None,
    time_limit: str | None,
    sensitivity: bool,
    out: Path | None,
    report: Path | None,
    as_json: bool,
) -> None:
    """Run a scenario with each candidate for its limit ten times larger, and print what each brings."""
    from lanewise import api
    from lanewise.cli.run_progress import run_progress

    with run_progress(str(scenario), None) as progress:
        proof = api.why(
            scenario,
            overrides=overrides,
            seed=seed,
            time_limit=time_limit,
            sensitivity=sensitivity,
            progress=progress,
        )
    print_proof(proof, str(scenario), out, report, as_json=as_json)


def _run_sizes(
    scenario: Path,
    tool: str,
    sizes: str,
    overrides: list[tuple[str, str]],
    *,
    seed: int | None,
    time_limit: str | None,
) -> None:
    """Run a scenario once for each size, and print what a tool prints that goes through sizes."""
    from lanewise import api
    from lanewise.cli.progress import runs_progress
    from lanewise.tools.instruments.native import write_sizes_as

    with runs_progress(str(scenario)) as count:
        results = api.run_sizes(
            scenario,
            tool,
            sizes=sizes,
            overrides=overrides,
            seed=seed,
            time_limit=time_limit,
            on_progress=count,
        )
    sys.stdout.write(write_sizes_as(tool, results.values(), api.explain(scenario, overrides=overrides)))
    if any(result.end_reason == "Stalled" for result in results.values()):
        raise typer.Exit(ExitStatus.FINDINGS)
