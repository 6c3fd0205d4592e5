"""A file of measurements: a table, or what a benchmark tool printed.

Of an output, each result with a size is a row: its size and its depth set those of the scenario's one
workload, and its bandwidth is the goodput there. Of a test that prints latencies alone, like ``ib_write_lat``
and ``osu_latency``, these are the numbers that the simulated tool prints. Leaves out: latencies beside a
bandwidth, which count from other ends than flows do, and mixes of reads and writes. A table says what these
are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.calibration.table import MOST_BYTES, DataTable, TableError, TableRow, read_table
from lanewise.calibration.tables import kinds_of_workloads
from lanewise.health.judge.detect import decoded, parse_measurement
from lanewise.health.judge.matching import GPU_TOOLS
from lanewise.inputs import read_input
from lanewise.tools.instruments.measurement import ImportProblemError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lanewise.documents import Explain
    from lanewise.runs.simulator import Scenario
    from lanewise.tools.instruments.measurement import Case, Latency, Measurement

_SIZES = ("bs", "size")
_DEPTHS = ("iodepth", "tx_depth", "outstanding", "window")
"""What workloads call the size of an operation, and how many are on their way at once."""

_JOBS = "numjobs"

_OF_TABLES = (".csv", ".toml", ".tsv")
"""How the names of tables end; a file with another name may be one, too."""

_STORAGE = ("fio", "iometer", "gdsio")
_KINDS = {
    **dict.fromkeys(("fio", "CrystalDiskMark", "KDiskMark", "SPDK perf", "bdevperf", "DISKSPD"), _STORAGE),
    **dict.fromkeys(("elbencho", "vdbench", "iometer", "gdsio"), _STORAGE),
    **dict.fromkeys(("perftest", "ucx_perftest"), ("perftest",)),
    "osu": ("osu", "perftest"),
    **dict.fromkeys(GPU_TOOLS, ("copy", "peer_copies")),
}
"""Kinds of workloads that do what a tool does; plain transfers do, too."""

_PLAIN = "dma"


def _mean(latency: Latency) -> float | None:
    return latency.mean_ns


def _median(latency: Latency) -> float | None:
    return latency.percentiles_ns.get(50.0)


_LATENCIES: dict[str, dict[str, Callable[[Latency], float | None]]] = {
    "perftest": {"t_typical (us)": _median, "t_avg (us)": _mean},
    "osu": {"Latency (us)": _mean},
}
"""What simulated tools print of the latency of a message, by kind of workload; the first that a file has."""

_DIGITS = 4
"""Of a bandwidth: tools print as many, or more than repeat."""


def read_data(name: str, explained: Explain, scenario: Scenario) -> DataTable:
    """Read a file; InputError says what is wrong with it."""
    data = read_input(name, MOST_BYTES)
    if len(data) > MOST_BYTES:
        raise TableError(f"'{name}' has more than {MOST_BYTES >> 20} MiB: measurements are shorter")
    text = decoded(data, name)
    if name.lower().endswith(".toml"):
        return read_table(name, text)
    try:
        measurement = parse_measurement(text, source=name)
    except ImportProblemError as error:
        if name.lower().endswith(_OF_TABLES) or _is_a_table(text):
            return read_table(name, text)
        raise TableError(f"{error}. Or write a table: {_EXAMPLE}") from error
    kinds = kinds_of_workloads(scenario)
    _refuse_another_tool(name, measurement.tool, kinds)
    return _of_output(name, measurement, explained, kinds[0] if kinds else "")


_EXAMPLE = "a first line like 'size,goodput GB/s', and a line like '4 KiB,5.79' for each measurement"


def _is_a_table(text: str) -> bool:
    """Whether the first line names something that is measured."""
    from lanewise.calibration.measures import measured_column

    head = next((line for line in text.splitlines() if line.strip() and not line.startswith("#")), "")
    return any(
        measured_column(cell.strip().strip('"'))
        for cell in head.replace(";", ",").replace("\t", ",").split(",")
    )


def _refuse_another_tool(name: str, tool: str, kinds: Sequence[str]) -> None:
    """Raise TableError for the output of a tool that does something else than the scenario."""
    allowed = (*_KINDS.get(tool, ()), _PLAIN) if tool in _KINDS else ()
    wrong = next((kind for kind in kinds if kind not in allowed), None)
    if wrong is not None:
        listed = f"goes with a workload of kind {' or '.join(allowed)}" if allowed else "is not read here"
        raise TableError(
            f"'{name}' is an output of {tool}, which {listed}, and the scenario's is '{wrong}'. Write a "
            f"table: {_EXAMPLE}"
        )


def _of_output(name: str, measurement: Measurement, explained: Explain, kind: str) -> DataTable:
    known = {each["path"]: each["value"] for each in explained["parameters"]}
    workloads = list(dict.fromkeys(path.rpartition(".")[0] for path in known if path.startswith("workload.")))
    if len(workloads) != 1:
        names = ", ".join(workload.partition(".")[2] for workload in workloads)
        raise TableError(
            f"'{name}' is an output of {measurement.tool}, which goes with a scenario of one workload; "
            f"this one has {names or 'none'}. Write a table with the whole paths: {_EXAMPLE}"
        )
    (workload,) = workloads
    size = _first(known, workload, _SIZES)
    with_size = [case for case in measurement.cases if case.block_bytes]
    usable = [case for case in with_size if case.bandwidth_bytes_per_s]
    if with_size and not usable and size is not None:
        _refuse_another_test(name, workload, str(known.get(f"{workload}.tool", "")))
        return _of_latencies(name, measurement.tool, with_size, size, kind)
    if not usable or size is None:
        raise TableError(
            f"'{name}' is an output of {measurement.tool} with no size and bandwidth for a workload like "
            f"'{workload.partition('.')[2]}'. Write a table: {_EXAMPLE}"
        )
    directions = {case.direction for case in usable}
    if len(directions) > 1:
        raise TableError(
            f"'{name}' has results of {' and '.join(sorted(map(str, directions)))}, but the scenario has "
            f"one workload. Write a table with the results that are meant: {_EXAMPLE}"
        )
    depth = _first(known, workload, _DEPTHS)
    jobs = int(str(known.get(f"{workload}.{_JOBS}", "1")))
    has_depth = depth is not None and all(
        case.queue_depth and case.queue_depth % jobs == 0 for case in usable
    )
    columns = (size, *([depth] if has_depth and depth else []), "goodput")
    return _table(name, columns, [_row(case, jobs if has_depth else None) for case in usable])


def _refuse_another_test(name: str, workload: str, test: str) -> None:
    """Raise TableError for latencies where the scenario runs a test of bandwidth."""
    if test and "lat" not in test:
        raise TableError(
            f"'{name}' has latencies, and '{workload}.tool' is '{test}', which prints none: set it to a test "
            f"that does, like '{test.replace('_bibw', '_bw').replace('_bw', '_lat')}'"
        )


def _of_latencies(name: str, tool: str, cases: Sequence[Case], size: str, kind: str) -> DataTable:
    """Make rows of a test that prints latencies alone, as the same test of the simulation prints them."""
    for metric, number in _LATENCIES.get(kind, {}).items():
        rows = [
            [f"{case.block_bytes} B", f"{nanoseconds / 1e3:.2f} us"]
            for case in cases
            if case.latency is not None and (nanoseconds := number(case.latency)) is not None
        ]
        if rows:
            return _table(name, (size, f"{kind}: {metric}"), rows)
    raise TableError(
        f"'{name}' is an output of {tool} with latencies that a workload of kind '{kind}' does not print. "
        "Write a table: a first line like 'size,latency us', and a line like '4 KiB,1.53' for each one"
    )


def _table(name: str, columns: tuple[str, ...], rows: Sequence[Sequence[str]]) -> DataTable:
    numbered = enumerate(rows, start=1)
    return DataTable(
        name,
        columns,
        tuple(TableRow(number, dict(zip(columns, row, strict=True))) for number, row in numbered),
    )


def _first(known: Mapping[str, object], workload: str, leaves: Sequence[str]) -> str | None:
    return next((path for leaf in leaves if (path := f"{workload}.{leaf}") in known), None)


def _row(case: Case, jobs: int | None) -> list[str]:
    depth = [] if jobs is None else [str((case.queue_depth or 0) // jobs)]
    rate = (case.bandwidth_bytes_per_s or 0.0) / 1e9
    return [f"{case.block_bytes} B", *depth, f"{rate:#.{_DIGITS}g} GB/s"]
