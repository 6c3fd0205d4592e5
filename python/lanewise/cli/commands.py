"""The verbs. Each parses its options, calls the function of the same name in `lanewise.api`, and prints.

No `from __future__ import annotations` here: Typer reads the annotations when the module is loaded.
"""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lanewise.cli import completion
from lanewise.cli.guard import ExitStatus, GuardedGroup
from lanewise.cli.machine_checks import add_to as add_machine_checks
from lanewise.cli.options import AsJson, Scenario, Settings, pairs, refuse_nan, refuse_together
from lanewise.cli.scan_verb import add_scan
from lanewise.cli.scenario_verbs import add_explain, add_new
from lanewise.cli.side_by_side import add_to as add_side_by_side
from lanewise.cli.trace_verb import add_to as add_trace

if TYPE_CHECKING:
    from lanewise.results import RunResult

app = typer.Typer(
    cls=GuardedGroup,
    help="A PCI Express performance lab: what a machine will reach, why not more, if it is healthy.",
    epilog="Begin with 'new' for an example, or 'doctor' for this machine. 'VERB --help' explains a verb. "
    "Exit status: 0 ok, 1 findings or a failed comparison, 2 wrong input, 3 a bug in Lanewise.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _print_version(asked: bool) -> None:
    if asked:
        from lanewise import __version__

        typer.echo(f"lanewise {__version__}")
        raise typer.Exit


def _take_pci_ids(path: Path | None) -> None:
    if path is not None:
        from lanewise.machine import pci_ids

        pci_ids.use(path)


@app.callback()
def options(
    pci_ids: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with the names of PCI devices; also LANEWISE_PCI_IDS. Without it: the newest found.",
            show_default=False,
            callback=_take_pci_ids,
        ),
    ] = None,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="If Lanewise fails, show where in its code.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    """Take the options before the verb; the guard reads `verbose`, and the others have callbacks."""
    del pci_ids, verbose, version


add_new(app)


@app.command()
def run(
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
            help="Print the output that this tool would print: fio, perftest, osu, iometer or smartflow.",
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
            help="While the run goes on, show its flows on stderr each time so many seconds have passed.",
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
    as_json: AsJson = False,
) -> None:
    """Simulate a scenario: say what limits it and where the time went."""
    from lanewise import api
    from lanewise.cli.run_progress import run_progress

    refuse_together(("--as", as_tool is not None), ("--json", as_json))
    for option, given in (("--why", why), ("--until", until is not None)):
        refuse_together((option, given), ("--fio", fio is not None))
        refuse_together((option, given), ("--sizes", sizes is not None))
    for other, value in (("--as", as_tool), ("--out", out), ("--live", live), ("--until", until)):
        refuse_together(("--why", why), (other, value is not None))
    overrides = pairs(settings)
    if fio is not None:
        from lanewise.cli.job_file import run_job_file

        refuse_together(("--fio", True), ("--sizes", sizes is not None))
        run_job_file(
            scenario,
            fio,
            drive or [],
            section or [],
            api.run_pairs(overrides, seed, time_limit),
            out=out,
            tool=as_tool,
            as_json=as_json,
            live=live,
        )
        return
    if drive or section:
        raise typer.BadParameter("--map and --section need --fio, whose job file they are about")
    if sizes is not None:
        refuse_together(("--sizes", True), ("--out", out is not None), ("--live", live is not None))
        if as_tool is None:
            raise typer.BadParameter("--sizes needs --as osu or --as perftest, whose table it fills")
        _run_sizes(scenario, as_tool, sizes, overrides, seed=seed, time_limit=time_limit)
        return
    if as_tool is not None:
        from lanewise.tools.instruments.native import check_has

        check_has(as_tool, scenario, api.run_pairs(overrides, seed, time_limit))
    if why:
        _run_why(scenario, overrides, seed=seed, time_limit=time_limit, as_json=as_json)
        return
    paths = api.run_pairs(overrides, seed, time_limit, until)
    if out is not None:
        from lanewise.runs.folder import check_free

        check_free(out)
    with run_progress(str(scenario), live) as progress:
        result = api.run(scenario, overrides=paths, progress=progress, flows_every_s=progress.flows_every_s)
    _print_run(result, scenario, paths, as_tool=as_tool, as_json=as_json)
    if out is not None:
        from lanewise.runs.folder import save_run

        # What is printed cannot be lost any more, whatever becomes of the folder.
        sys.stdout.flush()
        save_run(result, out, resolved=api.explain(scenario, overrides=paths).document, overrides=paths)
        typer.echo(f"run folder: {out}", err=True)
    _exit_as(result.end_reason)


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
        _print_json(result)
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
    as_json: bool,
) -> None:
    """Run a scenario with each candidate for its limit ten times larger, and print what each brings."""
    from lanewise import api
    from lanewise.cli.run_progress import run_progress
    from lanewise.cli.tables.why import print_why

    with run_progress(str(scenario), None) as progress:
        proof = api.why(scenario, overrides=overrides, seed=seed, time_limit=time_limit, progress=progress)
    if as_json:
        _print_json(proof)
    else:
        print_why(proof)
    _exit_as(proof.end_reason)


def _exit_as(end_reason: str) -> None:
    """Leave with the status of a run that did not come to its end."""
    if end_reason == "Interrupted":
        raise typer.Exit(ExitStatus.INTERRUPTED)
    if end_reason == "Stalled":
        raise typer.Exit(ExitStatus.FINDINGS)


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


add_explain(app)
add_side_by_side(app)
add_trace(app)


@app.command()
def reproduce(
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
    outside its band and not a known miss, a known miss has moved, or a known miss is gone.
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
    with runs_progress("reproduce", are_kept=True) as on_progress:
        reproduction = api.reproduce(*names, cache=cache, on_progress=on_progress)
    if as_json:
        _print_json(reproduction)
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


@app.command()
def calibrate(
    experiment: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="ID of an experiment, or its folder.",
            show_default=False,
            autocompletion=completion.experiments,
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the fit, but do not write fitted.toml.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fit parameters of an experiment to its measurements."""
    from lanewise import api
    from lanewise.cli.progress import fits_progress

    with fits_progress("fitting") as on_progress:
        calibration = api.calibrate(experiment, write=not dry_run, on_progress=on_progress)
    if as_json:
        _print_json(calibration)
    else:
        from lanewise.cli.tables.calibrate import print_calibration

        print_calibration(calibration)


@app.command()
def parts(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Show this part in full. Without it: list all parts.",
            show_default=False,
            autocompletion=completion.parts,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the parts in the catalog, or show one with its sources."""
    from lanewise import api

    result = api.parts()
    if name is not None:
        result = _one_part(result, name)
    if as_json:
        _print_json(result)
    else:
        from lanewise.cli.tables.parts import print_part, print_parts

        if name is None:
            print_parts(result)
        else:
            print_part(result)


@app.command()
def bench(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME",
            help="Benchmark, like chain or tree512. Without it: all.",
            autocompletion=completion.benchmarks,
        ),
    ] = None,
    repeat: Annotated[
        int, typer.Option(min=1, help="Run each benchmark so many times, and take the median.")
    ] = 3,
    as_json: AsJson = False,
) -> None:
    """Measure how fast Lanewise itself runs here, on one core."""
    from lanewise import api
    from lanewise.cli.progress import names_progress

    with names_progress("bench") as on_progress:
        result = api.bench(*(names or []), repeat=repeat, on_progress=on_progress)
    if as_json:
        _print_json(result)
    else:
        from lanewise.cli.tables.bench import print_bench

        print_bench(result)


add_scan(app)
add_machine_checks(app)


def _one_part(result: Any, name: str) -> Any:
    """Return the part of this name; InputError names those that have it in theirs, or the nearest."""
    from difflib import get_close_matches

    from lanewise.errors import InputError
    from lanewise.output_format import FORMAT
    from lanewise.results import PartsResult

    parts = {part["name"]: part for part in result.document["parts"]}
    plain = name.lower().removesuffix(".toml").replace(" ", "-")
    has_it = [part for part in parts if plain in part]
    if plain in parts or len(has_it) == 1:
        part = parts[plain if plain in parts else has_it[0]]
        return PartsResult({"format": FORMAT, "parts": [part]})
    # Names begin with the maker, which few people write.
    ends = {part.partition("-")[2]: part for part in parts}
    near = (
        has_it
        or get_close_matches(plain, parts, n=3)
        or [ends[end] for end in get_close_matches(plain, ends, n=3)]
    )
    listed = " or ".join(f"'{part}'" for part in near[:8])
    hint = f"did you mean {listed}?" if near else "'lanewise parts' lists the catalog"
    raise InputError(f"there is no part '{name}'; {hint}")


def _print_json(result: Any) -> None:
    sys.stdout.write(result.to_json() + "\n")
