"""The verbs about scenarios and experiments as functions: typed, quiet, returning Polars tables.

What comes back is a frozen dataclass; the unit of a quantity is in the name of its column. A wrong scenario
raises `lanewise.ScenarioError`, with every mistake at once, anything else that is wrong
`lanewise.InputError`, which that is one of. Nothing is printed. Verbs about real machines are in
`machine_api`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar, overload

from lanewise import _core
from lanewise.errors import InputError
from lanewise.extras import need
from lanewise.output_format import FORMAT
from lanewise.results import BenchResult, ExplainResult, PartsResult, RunResult, TraceResult, WhyResult
from lanewise.runs.simulator import (
    Scenario,
    is_unicode,
    list_wires,
    prove,
    resolve,
    resolve_run,
    simulate,
)
from lanewise.toml import override

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Collection
    from typing import BinaryIO

    from lanewise.comparison import Comparison
    from lanewise.documents import Progress, TraceEnd
    from lanewise.experiment.reproduction import Reproduction
    from lanewise.experiment.runner import RunsDone
    from lanewise.experiment.sensitivity import Sensitivity
    from lanewise.runs.cache import RunCache
    from lanewise.runs.copy_matrix import CopyMatrix
    from lanewise.side_by_side.several import SideBySide
    from lanewise.tools.instruments.measurement import Measurement
    from lanewise.tools.job_file.plan import JobRuns
    from lanewise.trace_files import TraceForm


MOST_THREADS = 64
"""A run is shared among so many threads at most: a host has not that much to give to others."""

Ran = TypeVar("Ran", bound=RunResult)

Overrides: TypeAlias = "Mapping[str, object] | Iterable[tuple[str, object]]"
"""Dotted paths and values: texts with their unit as `explain` prints them, numbers, truths, lists of such."""


SPAN = "5 us"
"""How long a window of a trace is where nothing else is said."""

LAST = 100_000
"""Rows of a trace that are kept where nothing else is said."""


def run(
    scenario: Scenario,
    *,
    overrides: Overrides = (),
    seed: int | None = None,
    time_limit: str | None = None,
    until: str | None = None,
    out: str | Path | None = None,
    progress: Callable[[Progress], bool | None] | None = None,
    flows_every_s: float | None = None,
    threads: int | None = None,
    sensitivity: bool = False,
) -> RunResult:
    """Simulate a scenario: the path of a file, TOML text, or a dictionary of what a file would say.

    A text for `scenario` that has one line is a path. `seed` takes the place of the scenario's, for what is
    random in it. `overrides` are dotted paths and values: numbers, or texts with their unit as `explain`
    prints them. `time_limit` is simulated time with its unit. `until` says what has to be known well enough:
    "throughput", or "latency", which is that and a percentile of latencies. `out` names a folder that does
    not exist yet; it gets the run's tables and manifest. `progress` hears a dictionary now and then
    (simulated_s, time_limit_s, events, measuring_since_s); returning False ends the run, which keeps what was
    measured so far. Every `flows_every_s` seconds it has `flows`, too: rates of each since the last time, and
    of the whole test. `threads` is how many share the run, 1 to 64: results are the same, but for the number
    of events, and say under `threads` how many took part, or why only one did. With `sensitivity`, values
    that no specification fixes are varied by 20 %, in up to 60 more runs of one thread each, and `rests_on`
    of the result says which of them move its throughput or latency. Raises `lanewise.ScenarioError`, and
    `lanewise.InputError` when `out` exists or cannot be written, and for a wrong number of threads.

    >>> import lanewise
    >>> result = lanewise.run("scenarios/switch.toml", overrides={"sw0.latency": "300 ns"}, seed=2)
    >>> result.flows.select("flow", "direction", result.flows["goodput_gb_per_s"].round(1)).rows()
    [('read0', 'read', 3.6), ('write1', 'write', 3.6)]
    >>> result.links.filter(link="card0", direction="downstream")["utilisation"].round(2).item()
    1.0
    """
    pairs = run_pairs(overrides, seed, time_limit, until)
    if threads is not None and not 1 <= threads <= MOST_THREADS:
        raise InputError(f"a run has 1 to {MOST_THREADS} threads, not {threads}")
    if out is not None:
        from lanewise.runs.folder import check_free

        check_free(Path(out))
    result = simulate(scenario, pairs, progress, flows_every_s=flows_every_s, threads=threads)
    if sensitivity:
        result = _with_what_it_rests_on(scenario, result, progress)
    if out is not None:
        from lanewise.runs.folder import save_run

        save_run(result, Path(out), resolved=resolve_run(result).document, overrides=pairs)
    return result


def why(
    scenario: Scenario,
    *,
    overrides: Overrides = (),
    seed: int | None = None,
    time_limit: str | None = None,
    sensitivity: bool = False,
    progress: Callable[[Progress], bool | None] | None = None,
) -> WhyResult:
    """Find what limits a scenario: run it, and again with each candidate for the limit ten times larger.

    `scenario`, `overrides`, `seed` and `time_limit` are as in `run`.
    Candidates are the links, resources, tags, windows and credits that the first run speaks for, at most
    eight, and the latencies of the hosts' memory and of switches. Where the likeliest brings little, it
    is made larger together with what lies behind it, up to three. Goodput is of all flows of data.
    `progress` hears of each run in turn; returning False ends all, with what is known by then.
    `sensitivity` is as in `run`. Raises `lanewise.ScenarioError`.

    >>> import lanewise
    >>> found = lanewise.why("scenarios/switch.toml")
    >>> found.larger.select("kind", found.larger["gain_percent"] > 10).row(0)
    ('wire', True)
    """
    found = prove(scenario, run_pairs(overrides, seed, time_limit), progress)
    return _with_what_it_rests_on(scenario, found, progress) if sensitivity else found


def _with_what_it_rests_on(
    scenario: Scenario, result: Ran, progress: Callable[[Progress], bool | None] | None
) -> Ran:
    """Return a run with what it rests on; one that was interrupted as it is."""
    proof = result.document.get("why")
    if result.end_reason == "Interrupted" or (proof is not None and proof["interrupted"]):
        return result
    from lanewise.experiment.dependence import rests_on

    found = rests_on(scenario, result, progress)
    return replace(result, document={**result.document, "rests_on": found.document()})


def run_sizes(
    scenario: Scenario,
    tool: str,
    *,
    sizes: str | Iterable[int] = "all",
    overrides: Overrides = (),
    seed: int | None = None,
    time_limit: str | None = None,
    on_progress: RunsDone | None = None,
) -> dict[int, RunResult]:
    """Simulate a scenario once for each message size of its ``osu`` or ``perftest`` workloads.

    `scenario`, `overrides`, `seed` and `time_limit` are as in `run`; `tool` is "osu" or "perftest".
    `sizes` are bytes, or a text: 'all' for those that the tool goes through by itself, or a list such as
    '64,4 KiB'. Results are by size in bytes, ascending. `on_progress` hears how many runs are done and how
    many there are. Raises `lanewise.ScenarioError`, and `lanewise.InputError` for a scenario without such a
    workload and for sizes that mean nothing.

    >>> import lanewise
    >>> results = lanewise.run_sizes("scenarios/rdma_write.toml", "perftest", sizes=[4096, 65536])
    >>> list(results)
    [4096, 65536]
    >>> results[65536].instruments.filter(metric="BW average (Gb/s)")["value"].round(1).item()
    99.3
    """
    from lanewise.tools.instruments.sizes import run_sizes as run_each
    from lanewise.tools.instruments.sizes import sizes_of

    text = sizes if isinstance(sizes, str) else ",".join(str(size) for size in sizes)
    pairs = run_pairs(overrides, seed, time_limit)
    return run_each(scenario, tool, sizes_of(tool, text), overrides=pairs, on_progress=on_progress)


def run_fio(
    scenario: Scenario,
    job_file: str | Path,
    *,
    drives: Mapping[str, str] | None = None,
    sections: Collection[str] = (),
    overrides: Overrides = (),
    seed: int | None = None,
    time_limit: str | None = None,
    progress: Callable[[Progress], bool | None] | None = None,
) -> JobRuns:
    """Simulate the jobs of a fio job file on a scenario, in place of its own fio workloads.

    `scenario`, `overrides`, `seed`, `time_limit` and `progress` are as in `run`; `job_file` is a path.
    `drives` says which drive of the scenario a ``filename`` of the file is; devices that it does not name get
    the others in order. `sections` are the jobs to run, all without. There is one run for each group of jobs
    that ``stonewall`` separates. `to_fio_json()` of the result is fio's own output. Raises
    `lanewise.InputError` with every mistake of the job file, and `lanewise.ScenarioError`.

    >>> import lanewise
    >>> runs = lanewise.run_fio("scenarios/nvme_fio.toml", "scenarios/nvme_fio.fio", sections=["seq-read"])
    >>> runs.plan.drives["/dev/nvme0n1"].name
    'ssd[0]'
    >>> [round(result.flows["goodput_gb_per_s"].max()) for result in runs.results]
    [28]
    """
    from lanewise.tools.job_file.plan import plan_jobs
    from lanewise.tools.job_file.plan import run_jobs as run_each

    pairs = run_pairs(overrides, seed, time_limit)
    return run_each(
        plan_jobs(scenario, job_file, drives=drives, sections=sections, overrides=pairs), progress
    )


def explain(scenario: Scenario, *, overrides: Overrides = ()) -> ExplainResult:
    """Resolve a scenario without running it: every parameter, and where it came from.

    `scenario` and `overrides` are as in `run`; values have their unit. Raises `lanewise.ScenarioError`.

    >>> import lanewise
    >>> explained = lanewise.explain("scenarios/switch.toml")
    >>> explained.parameters.filter(path="run.seed").select("value", "provenance").row(0)
    ('1', 'assumed')
    >>> explained.links.select("upper", "lower", "generation", "width").row(1)
    ('sw0.port1', 'card0', 'gen3', 'x4')
    """
    return resolve(scenario, _pairs(overrides))


def copy_matrix(
    scenario: Scenario,
    devices: Iterable[str] = (),
    *,
    overrides: Overrides = (),
    queued_start: str | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> CopyMatrix:
    """Simulate copies between each two GPUs of a scenario: one way, both ways, latency, and to the host.

    `scenario` and `overrides` are as in `run`; the scenario's workloads are put aside. `devices` are names,
    or patterns such as ``gpu*``; without any, all endpoints whose part has copy engines. `queued_start` is
    the time of a queued copy before its first request, 2 us without it. Pairs that are alike are run once.
    `on_progress` hears the pair in progress. Raises `lanewise.ScenarioError`, and `lanewise.InputError` where
    there are no two such devices.

    >>> import lanewise
    >>> matrix = lanewise.copy_matrix("scenarios/l40s.toml", ["gpu[0]", "gpu[2]"])
    >>> matrix.table.select("first", "second", matrix.table["write_gb_per_s"].round(1)).rows()
    [(0, 1, 22.8), (1, 0, 22.8)]
    """
    from lanewise.runs.copy_matrix import QUEUED_START
    from lanewise.runs.copy_matrix import copy_matrix as simulated

    return simulated(
        scenario,
        list(devices),
        overrides=_pairs(overrides),
        queued_start=queued_start or QUEUED_START,
        on_progress=on_progress,
    )


def trace(
    scenario: Scenario,
    *,
    start: str = "0 ns",
    span: str | None = None,
    links: Sequence[str] = (),
    kinds: Sequence[str] = (),
    last: int = LAST,
    around: str | None = None,
    transaction: str | int | None = None,
    overrides: Overrides = (),
    progress: Callable[[Progress], bool | None] | None = None,
) -> TraceResult:
    """List what goes over the links of a scenario in a window of its run, as an analyzer would.

    `scenario` and `overrides` are as in `run`. The window begins `start` after the start of the run and lasts
    for `span`, both with their unit, like "120 us"; 5 us without one. `links` are names as `explain` has
    them, those of the devices below; `kinds` are among "tlp", "dllp", "skp", "flit", "blocked" (who is held
    up, and by what), "queued" (TLPs that join the queue of a port) and "error"; all but "queued" without one.
    The `last` rows are kept. The run is the same as without it: `document["fingerprint"]` says so.

    With `around`, one of "worst-latency", "stall", "replay" and "first-blocked", the window is where that
    happens, from `span` before it, looked for from `start` on. With `transaction`, "worst-latency" or the
    number of a request in the order in which requests are complete from `start` on, `document["transaction"]`
    has its time at each station, and the rows are its own, from its issue to its end on all links: it takes
    no `span`, links or kinds.

    `progress` as for `run`. Raises `lanewise.ScenarioError`, and `lanewise.InputError` for a time without a
    unit and an unknown link, kind or view. A window of any length goes to a file with `write_trace`.

    >>> import lanewise
    >>> traced = lanewise.trace("scenarios/switch.toml", start="20 us", span="1 us", kinds=["tlp"])
    >>> sorted(set(traced.rows["what"]))
    ['CplD', 'MRd', 'MWr']
    """
    _refuse_window(last, span, links, kinds, transaction)
    view = (around, None if transaction is None else str(transaction))
    return list_wires(scenario, _pairs(overrides), (start, span or SPAN), links, kinds, last, view, progress)


def write_trace(
    scenario: Scenario,
    path: str | os.PathLike[str] | BinaryIO,
    *,
    start: str = "0 ns",
    span: str | None = None,
    links: Sequence[str] = (),
    kinds: Sequence[str] = (),
    form: TraceForm = "text",
    last: int = LAST,
    around: str | None = None,
    transaction: str | int | None = None,
    overrides: Overrides = (),
    progress: Callable[[Progress], bool | None] | None = None,
) -> TraceEnd:
    """Write what goes over the links of a scenario in a window of its run to a file, however long that is.

    `path` is a file, or an open one for bytes. `scenario`, `start`, `span`, `links`, `kinds` and `overrides`
    are those of `trace`. Rows are written while the run goes on: memory does not grow with the window. `form`
    is "text", the listing of `trace`; "jsonl", one JSON object for each row and line, which
    `polars.scan_ndjson` reads; "perfetto", tracks, counters and arrows for ui.perfetto.dev, which takes all
    kinds where none are named; "pcapng", TLPs and DLLPs for Wireshark; or "parquet", a table of the rows with
    units. Rows come in order of time, then by port, but for what is known more than 32,768 rows late, such as
    the ordered sets of a long silence. The file is whole or not there: it gets its name when it is complete;
    of an open one, which it may be too, that is not known.

    With `around` or `transaction` the `last` rows are kept and written at the end. The other arguments are
    those of `trace`. Raises `lanewise.InputError` as it does, and when the file cannot be written, and
    KeyboardInterrupt when `progress` returns False.

    >>> import lanewise, pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "switch.txt")
    ...     end = lanewise.write_trace("scenarios/switch.toml", path, span="200 us", kinds=["tlp"])
    ...     lines = path.read_text().count("MRd")
    >>> end["rows"] > lines > 1000
    True
    """
    from lanewise.trace_files import Wires

    _refuse_window(last, span, links, kinds, transaction)
    view = (around, None if transaction is None else str(transaction))
    window = (start, span or SPAN)
    wires = Wires(scenario, _pairs(overrides), window, links, kinds, last, view, progress)
    return wires.write_to_file(path, form)


def _refuse_window(
    last: int,
    span: str | None,
    links: Sequence[str],
    kinds: Sequence[str],
    transaction: str | int | None,
) -> None:
    """Raise InputError for what does not go together."""
    if last < 1:
        raise InputError(f"last is a number of rows from 1 on; found {last}")
    if transaction is not None and (links or kinds or span is not None):
        raise InputError(
            "a transaction is shown from its issue to its end on all of its links, with all that waits: "
            "give no length, links or kinds"
        )


@overload
def compare(
    a: RunResult,
    b: RunResult,
    *,
    overrides: Overrides = (),
    overrides_a: Overrides = (),
    overrides_b: Overrides = (),
    explain: bool | None = None,
    progress: Callable[[Progress], bool | None] | None = None,
) -> Comparison: ...


@overload
def compare(
    a: Scenario | RunResult | Measurement,
    b: Scenario | RunResult | Measurement,
    *more: Scenario | RunResult | Measurement,
    overrides: Overrides = (),
    overrides_a: Overrides = (),
    overrides_b: Overrides = (),
    explain: bool | None = None,
    progress: Callable[[Progress], bool | None] | None = None,
) -> Comparison | SideBySide: ...


def compare(
    a: Scenario | RunResult | Measurement,
    b: Scenario | RunResult | Measurement,
    *more: Scenario | RunResult | Measurement,
    overrides: Overrides = (),
    overrides_a: Overrides = (),
    overrides_b: Overrides = (),
    explain: bool | None = None,
    progress: Callable[[Progress], bool | None] | None = None,
) -> Comparison | SideBySide:
    """Set runs and measurements side by side, and say what explains the difference; ratios are to `a`.

    Each side, `a`, `b` or one `more`, is a scenario (it is run), a run folder or a file of ``run --json``, a
    result of `run`, or a benchmark's output: its file, or what was read from one. Two runs make a
    `Comparison`; more sides, and measurements, a `SideBySide`, whose `table` has a row for each result and
    side. Results are matched by what was measured, and with a run by its workload of the same kind, or by
    direction and size.

    `overrides` apply to all scenarios, `overrides_a` and `overrides_b` to the first and the second alone, and
    none to a run that is finished. Sides that would be called alike are named by the overrides in which they
    differ. With `explain`, what differs between two runs is applied to the first alone, taken back from the
    second alone, and simulated; without it, scenarios whose runs take little are. `progress` hears of each
    run as in `run`; interrupting one interrupts the comparison. Raises `lanewise.ScenarioError`, and
    `lanewise.InputError` for what is no side, for overrides of what is finished or was measured, and where
    nothing that was measured can be matched.

    >>> import lanewise
    >>> one = lanewise.run("scenarios/switch.toml")
    >>> comparison = lanewise.compare(one, one)
    >>> comparison.goodput_ratio
    1.0
    >>> outputs = ["osu-5.3-osu_bw.txt", "osu-7.4-osu_bw-tail.txt"]
    >>> measured = lanewise.compare(*(f"tests/python/captured/{name}" for name in outputs))
    >>> measured.table.filter(side="B", size_bytes=4096)["ratio"].round(2).item()
    0.07
    """
    from lanewise.side_by_side.comparing import compare_sides

    return compare_sides(
        [a, b, *more],
        overrides=_pairs(overrides),
        own=[_pairs(overrides_a), _pairs(overrides_b)],
        wanted=explain,
        progress=progress,
    )


def whatif(
    scenario: Scenario,
    changes: Overrides,
    *,
    overrides: Overrides = (),
    explain: bool | None = None,
    progress: Callable[[Progress], bool | None] | None = None,
) -> Comparison:
    """Run a scenario as it is, and with changes: side by side, and what explains the difference.

    `changes` are dotted paths and values, at least one; `overrides` apply to both runs; `explain` is as in
    `compare`, `scenario` and `progress` as in `run`. Raises
    `lanewise.ScenarioError`, and `lanewise.InputError` when nothing is changed.

    >>> import lanewise
    >>> changed = lanewise.whatif("scenarios/switch.toml", {"card1.link.force_width": "x1"})
    >>> changed.goodput_ratio < 0.7
    True
    """
    from lanewise.side_by_side.comparing import compare_changed

    pairs = _pairs(changes)
    if not pairs:
        raise InputError("give at least one change: PATH=VALUE, like 'sw0.latency=150 ns'")
    return compare_changed(scenario, pairs, overrides=_pairs(overrides), wanted=explain, progress=progress)


def reproduce(
    *experiments: str | Path, cache: RunCache | None = None, on_progress: RunsDone | None = None
) -> Reproduction:
    """Rerun published experiments, named by id or folder; all of them when none is named.

    `experiments` are ids or folders. Runs that are in `cache` are not done again, and finished ones are kept
    there. `on_progress` hears how many runs are done and how many there are. Raises `lanewise.InputError` for
    an unknown id and for a folder that is no experiment.

    >>> import lanewise
    >>> reproduction = lanewise.reproduce("OPP-3")
    >>> reproduction.table.columns[:5]
    ['experiment', 'cell', 'unit', 'published', 'simulated']
    >>> (experiment,) = reproduction.experiments
    >>> experiment.table.columns[:5]
    ['cell', 'unit', 'published', 'simulated', 'half_width']
    """
    from lanewise.experiment.folders import load_experiment
    from lanewise.experiment.reproduction import reproduce_all

    folders = [experiment_folder(name) for name in experiments] or list(_experiments().values())
    return reproduce_all(
        [load_experiment(folder) for folder in folders], cache=cache, on_progress=on_progress
    )


def sensitivity(
    *experiments: str | Path,
    write: bool = True,
    cache: RunCache | None = None,
    on_progress: Callable[[str, int], None] | None = None,
) -> dict[str, Sensitivity]:
    """Find out what the predictions of experiments rest on, by id; all of them when none is named.

    Each of `experiments` gets its ``sensitivity.toml``, unless `write` is False. Runs in `cache` are not done
    again. `on_progress` hears the id of the experiment and
    how many runs it took so far. Needs the extra ``calibrate``. Raises `lanewise.InputError` as `reproduce`
    does, and when the extra is not installed.
    """
    need("calibrate", "sensitivity")
    from lanewise.experiment.folders import load_experiment
    from lanewise.experiment.screening import analyse
    from lanewise.experiment.sensitivity import predicted, save

    folders = [experiment_folder(name) for name in experiments] or list(_experiments().values())
    found = {}
    for definition in map(load_experiment, folders):
        if not predicted(definition):
            continue
        hear = on_progress and partial(on_progress, definition.id)
        found[definition.id] = analyse(definition, cache=cache, on_progress=hear)
        if write:
            save(definition, found[definition.id])
    return found


def stale_sensitivities(*experiments: str | Path) -> dict[str, Sensitivity]:
    """Return what predictions rest on where that was made for other parameters or another core, by id.

    Nothing is simulated, so that a cell which comes out otherwise since is not seen. Raises
    `lanewise.InputError` as `reproduce` does.
    """
    from lanewise.experiment.folders import load_experiment
    from lanewise.experiment.sensitivity import stored

    folders = [experiment_folder(name) for name in experiments] or list(_experiments().values())
    found = {definition.id: stored(definition) for definition in map(load_experiment, folders)}
    return {id_: each for id_, each in found.items() if each is not None and each.stale}


def parts() -> PartsResult:
    """List the catalog, with the source of every value.

    >>> import lanewise
    >>> catalog = lanewise.parts()
    >>> catalog.parameters.filter(part="generic-nvme-gen4-x4", path="nvme.dies")["provenance"].to_list()
    ['assumed']
    """
    return PartsResult(json.loads(_core.parts()))


def bench(*names: str, repeat: int = 3, on_progress: Callable[[str], None] | None = None) -> BenchResult:
    """Measure the simulator on this machine, one core, everything on; all benchmarks when none is named.

    Each of `names` is done `repeat` times, and the one with the median speed is the result. `on_progress`
    hears the name of each before it starts. Raises `lanewise.InputError` for an unknown name and for `repeat`
    below 1.
    """
    if repeat < 1:
        raise InputError(f"a benchmark is repeated at least once, not {repeat} times")
    known = _core.benchmark_names()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise InputError(f"there is no benchmark '{unknown[0]}'; there are {', '.join(known)}")
    entries = []
    for name in names or known:
        if on_progress:
            on_progress(name)
        attempts = [json.loads(_core.bench(name)) for _ in range(repeat)]
        attempts.sort(key=lambda attempt: float(attempt["tlp_hops_per_s"]))
        entries.append(attempts[len(attempts) // 2])
    return BenchResult({"format": FORMAT, "benchmarks": entries})


def experiment_folder(name: str | Path) -> Path:
    """Find an experiment by folder or id (in any case)."""
    from lanewise.experiment.definition import ExperimentError

    if (Path(name) / "expected.toml").is_file():
        return Path(name)
    known = _experiments()
    for id_, folder in known.items():
        if str(name).upper() == id_.upper():
            return folder
    raise ExperimentError(f"there is no experiment '{name}'; there are {', '.join(known)}")


def _experiments() -> dict[str, Path]:
    from lanewise.experiment.folders import experiments_root, find_experiments

    return find_experiments(experiments_root())


def run_pairs(
    overrides: Overrides,
    seed: int | None,
    time_limit: str | None,
    until: str | None = None,
) -> list[tuple[str, str]]:
    """Return overrides as pairs, with those that have an option of their own."""
    pairs = _pairs(overrides)
    if seed is not None:
        pairs.append(("run.seed", str(seed)))
    if time_limit is not None:
        pairs += _pairs({"run.time_limit": time_limit})
    if until is not None:
        pairs += _pairs({"run.until": until})
    return pairs


def _pairs(overrides: Overrides) -> list[tuple[str, str]]:
    items: object = overrides.items() if isinstance(overrides, Mapping) else overrides
    if isinstance(items, str) or not isinstance(items, Iterable):
        raise InputError(f"overrides are a mapping, or pairs, of paths and values; found {overrides!r}")
    return [override_pair(item) for item in items]


def override_pair(item: object) -> tuple[str, str]:
    """Return an override when it is a path and a value; InputError says what it is instead."""
    if isinstance(item, str) or not isinstance(item, Sequence) or len(item) != 2:
        raise InputError(f"an override is a pair of a path and a value; found {item!r}")
    path, value = item
    try:
        text = override(value)
    except TypeError:
        text = None
    if not isinstance(path, str) or text is None:
        raise InputError(
            f"the override of {path!r} is {value!r}, of type {type(value).__name__}; a path is a text, and a "
            "value a number, or as 'explain' prints it, such as '150 ns'"
        )
    if not is_unicode(path + text):
        raise InputError(f"the override {f'{path}={text}'!a} is not in UTF-8")
    return path, text
