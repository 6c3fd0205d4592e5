"""nccl-tests and RCCL tests: reads their tables of sizes or JSON, and writes simulated tables.

The bus bandwidth counts what each GPU sends over its slowest connection, so that it can be set beside a link;
both bandwidths are in 10^9 B/s. What is read of a row are its times out of place, or in place where there are
no others; those in place are in `raw`, and so is the number of wrong elements. Lines may stand behind a rank
(``0: ``, ``[1,0]<stdout>:``). Source: NVIDIA/nccl-tests, `doc/PERFORMANCE.md` and `src/util.cu`;
ROCm/rccl-tests, `src/common.cu`; and outputs of versions of 2021 to 2026.

JSON is what ``-J`` of nccl-tests writes, a document, and ``-Z json`` of RCCL tests, an object for each size
and place.

A written output has the columns of the real one, those in place as N/A: copies within a device are not
simulated.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, cast

from lanewise.tools.instruments.json_text import documents
from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)
from lanewise.tools.instruments.simulated import stated_size

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lanewise.tools.instruments.simulated import Instrument, SimulatedRun

_COLUMNS = re.compile(
    r"(?<![^\s#])(?:size[ \t]++count|bytes[ \t]++N)[ \t]++type\b[^\n]{0,80}\balgbw[ \t]++busbw[^\n]*+"
)
"""Some pages take the ``#`` before it away."""
_RANK_BEFORE = re.compile(r"^[ \t]{0,8}(?:\d{1,5}:[ \t]|\[\d{1,5}(?:,\d{1,5})?\](?:<std(?:out|err)>)?:?)")
_ROW = re.compile(r"[ \t]*+\d{1,15}[ \t]++\d{1,15}[ \t]++[A-Za-z]\w{0,20}[ \t]")
_DEVICE = re.compile(
    r"(?:#|^)[ \t]++Rank[ \t]++(\d{1,5})\b.{0,60}? on[ \t]++(?:(\S{1,80}) )?[ \t]*+device[ \t]++(\d{1,3}) "
    r"\[([^\]]{1,20})\][ \t]*+(.{0,80})"
)
_NAMED = re.compile(
    r"\b(all_reduce|all_gather|reduce_scatter|alltoallv|alltoall|broadcast|reduce|gather|scatter|sendrecv|hypercube)_(?:perf|test)\b"
)
_VERSION = re.compile(r"(?:nccl-tests version|rccl-tests: Version) ([\w.+-]{1,40})")
_LIBRARY = re.compile(r"^[ \t]*+((?:NCCL|RCCL) version [\w.+:-]{1,40})", re.MULTILINE)
_OUT_OF_BOUNDS = re.compile(r"#[ \t]++Out of bounds values[ \t]*+:[ \t]*+(\d{1,15})")
_AVERAGE = re.compile(r"#[ \t]++Avg bus bandwidth[ \t]*+:[ \t]*+([\d.e+-]{1,20})")
_BLOCK = re.compile(r"[ \t]*+#?[ \t]*+Using devices\b")
_TIMES = ("time", "cputime")
_WRONG = ("#wrong", "error", "res")
_HEADS = re.compile(r"[ \t]*+(?:nThread |out-of-place[ \t]|\(B\)[ \t])")
"""Of other lines of the head, where the ``#`` before them is gone."""
_UNTOLD = re.compile(r" NCCL | RCCL |^\s*(?:NCCL|RCCL) version|^rccl-tests: Version|^\s*={4,}")


_NAMED_SHORTLY = {
    name.replace("_", ""): name
    for name in (
        "all_reduce",
        "all_gather",
        "reduce_scatter",
        "alltoall",
        "alltoallv",
        "broadcast",
        "reduce",
        "gather",
        "scatter",
        "sendrecv",
    )
}
_MOST_NODES = 100_000
_SHORTEST_CODE = 20000
"""Older versions of NCCL, before 2.9, count otherwise."""

_Rank: TypeAlias = tuple[str, str, str | None, str]
"""Host, number, address and name of a rank's device."""


def recognizes(text: str) -> bool:
    """Whether a text looks like an output of these tests."""
    return _COLUMNS.search(text) is not None


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    cases: list[Case] = []
    left: list[str] = []
    columns: list[str] = []
    ranks: list[_Rank] = []
    """Of all blocks, each device once."""
    block: list[_Rank] = []
    numbers: list[str] = []
    """Of the ranks in `block`: a number that comes twice is of processes that know nothing of each other."""
    has_rows = alone = False
    test, unnamed = "", 0
    for number, written in enumerate(text.splitlines(), start=1):
        line = _RANK_BEFORE.sub("", written)
        if head := _COLUMNS.search(line):
            columns = head[0].replace("#wrong", " #wrong").split()
        elif device := _DEVICE.search(line):
            if has_rows:
                block, has_rows, numbers = [], False, []
            alone = alone or device[1] in numbers
            numbers.append(device[1])
            block.append((device[2] or "", device[3], _address(device[4]), device[5].strip()))
            if block.count(block[-1]) > ranks.count(block[-1]):
                ranks.append(block[-1])
        elif columns and _ROW.match(line):
            case = _case(test or "collective", columns, line.split(), number)
            cases.append(replace(case, workers=1 if alone else len(block) or None))
            has_rows = True
            refuse_too_many(cases)
        elif named := _NAMED.search(line):
            test = named[1]
            if "concluded" in line:
                cases[unnamed:] = [_named(case, test) for case in cases[unnamed:]]
                test, unnamed, columns = "", len(cases), []
                block, has_rows, numbers = [], False, []
        elif _BLOCK.match(line):
            block, has_rows, numbers = [], False, []
        elif (
            line.strip()
            and not line.lstrip().startswith("#")
            and not _UNTOLD.search(line)
            and not _HEADS.match(line)
        ):
            left.append(f"line {number}: {line.strip()[:120]}")
    if not cases:
        raise ImportProblemError("no row of sizes under '#  size  count  type ... algbw  busbw'")
    if alone:
        left.append("several processes are rank 0, each alone: built without MPI=1, nothing is collective")
    version, library = _VERSION.search(text), _LIBRARY.search(text)
    wrong = [int(found) for found in _OUT_OF_BOUNDS.findall(text)]
    averages = [float(found) for found in _AVERAGE.findall(text)]
    return Measurement(
        tool="nccl-tests",
        version=version[1] if version else None,
        cases=tuple(cases),
        source=source,
        simulated="Simulated by Lanewise" in text,
        not_understood=tuple(left),
        raw={
            "hosts": sorted({host for host, _, _, _ in ranks}),
            "devices": [address for _, _, address, _ in ranks],
            "device names": [name for _, _, _, name in ranks],
            **({"alone": True} if alone else {}),
            **({"library": library[1]} if library else {}),
            **({"average busbw": averages} if averages else {}),
            **({"out of bounds": wrong} if wrong else {}),
        },
    )


def recognizes_json(document: object) -> bool:
    """Whether a JSON document looks like that of these tests."""
    if not isinstance(document, dict):
        return False
    results = document.get("results")
    return {"algBw", "busBw", "size"} <= document.keys() or (
        "nccl_version" in document and isinstance(results, list)
    )


def parse_json(text: str, *, source: str | None = None) -> Measurement:
    """Read what nccl-tests or RCCL tests wrote into a file; ImportProblemError says what is wrong with it."""
    found, around = documents(text)
    cases: list[Case] = []
    ranks: list[_Rank] = []
    left = [line[:120] for line in around]
    library = None
    rows: dict[tuple[object, ...], dict[str, object]] = {}
    for document in filter(recognizes_json, found):
        if "results" not in document:
            _add_row_of_rccl(rows, document)
            continue
        library = _library(document.get("nccl_version")) or library
        devices = _ranks_of(document)
        ranks += devices
        named = _NAMED.search(" ".join(map(str, _list(document, "args"))))
        for entry in _list(document, "results"):
            cases += _json_case(named[1] if named else "collective", entry, len(devices) or None)
            refuse_too_many(cases)
    hosts = {host for host, _, _, _ in ranks}
    for key, row in rows.items():
        nodes = row.get("nodes")
        hosts |= {
            f"node {node}" for node in range(nodes if isinstance(nodes, int) and nodes < _MOST_NODES else 1)
        }
        gpus = row.get("gpus", row.get("ranks"))
        cases += _json_case(_name_of_rccl(str(key[0])), row, gpus if isinstance(gpus, int) else None)
        refuse_too_many(cases)
    if not cases:
        raise ImportProblemError("the JSON of nccl-tests has no result")
    return Measurement(
        tool="nccl-tests",
        version=None,
        cases=tuple(cases),
        source=source,
        not_understood=tuple(left),
        raw={
            "hosts": sorted(hosts),
            "devices": [address for _, _, address, _ in ranks],
            "device names": [name for _, _, _, name in ranks],
            **({"library": library} if library else {}),
        },
    )


def _list(document: Mapping[str, object], key: str) -> list[object]:
    value = document.get(key)
    return value if isinstance(value, list) else []


def _ranks_of(document: Mapping[str, object]) -> list[_Rank]:
    config = document.get("config")
    devices = _list(config, "devices") if isinstance(config, dict) else []
    return [
        (
            str(each.get("hostname", "")),
            str(each.get("device", "")),
            _address(str(each.get("device_hex", "")).strip("[] ")),
            str(each.get("device_info", "")).strip(),
        )
        for each in devices
        if isinstance(each, dict)
    ]


def _library(code: object) -> str | None:
    """Read NCCL's number for its version: 22605 is 2.26.5."""
    if not isinstance(code, int) or code < _SHORTEST_CODE:
        return None
    return f"NCCL version {code // 10000}.{code // 100 % 100}.{code % 100}"


def _add_row_of_rccl(
    rows: dict[tuple[object, ...], dict[str, object]], document: Mapping[str, object]
) -> None:
    """Put the two places of a size together, as nccl-tests has them."""
    key = tuple(document.get(name) for name in ("name", "size", "type", "redop", "numCycle", "nodes"))
    row = rows.setdefault(key, {**document})
    row["in_place" if document.get("inPlace") else "out_of_place"] = {
        "time": document.get("time"),
        "alg_bw": document.get("algBw"),
        "bus_bw": document.get("busBw"),
        "nwrong": document.get("#wrong"),
    }


def _name_of_rccl(name: str) -> str:
    """Return the name of a test for what RCCL tests call it: ``AllReduce`` is ``all_reduce``."""
    found = _NAMED_SHORTLY.get(name.lower().replace("_", "").removesuffix("perf"))
    return found or name or "collective"


def _json_case(test: str, entry: object, ranks: int | None) -> Iterator[Case]:
    if not isinstance(entry, dict):
        return
    sides = [_json_side(entry.get(place)) for place in ("out_of_place", "in_place")]
    first = next((side for side in sides if side is not None), None)
    if first is None:
        return
    size = int(entry["size"])
    yield Case(
        name=f"{test} {size} B",
        direction="write",
        block_bytes=size,
        queue_depth=1,
        workers=ranks,
        bandwidth_bytes_per_s=1e9 * first["busbw"],
        latency=Latency(mean_ns=1e3 * first["time"]),
        raw={
            "test": test,
            "type": entry.get("type"),
            "redop": entry.get("redop"),
            "algbw": first["algbw"],
            "busbw": first["busbw"],
            **({"wrong": first["wrong"]} if "wrong" in first else {}),
            **({"in place": sides[1]} if sides[1] is not None and sides[0] is not None else {}),
        },
    )


def _json_side(side: object) -> dict[str, float] | None:
    if not isinstance(side, dict):
        return None
    told = {
        "time": side.get("time", side.get("cpu_time")),
        "algbw": side.get("alg_bw"),
        "busbw": side.get("bus_bw"),
        "wrong": side.get("nwrong"),
    }
    read: dict[str, float] = {}
    for name, value in told.items():
        with contextlib.suppress(TypeError, ValueError):
            read[name] = float(cast("float", value))
    return read if {"time", "algbw", "busbw"} <= read.keys() else None


def _address(text: str) -> str | None:
    """Read a bus (``0x07``), or domain, bus and device, and perhaps a function (``000f:01:00.0``)."""
    words = text.removeprefix("0x").partition(".")[0].split(":")
    try:
        numbers = [int(word, 16) for word in words]
    except ValueError:
        return None
    if len(numbers) == 1:
        return f"0000:{numbers[0] & 0xFF:02x}:00.0"
    return (
        f"{numbers[0]:04x}:{numbers[1] & 0xFF:02x}:{numbers[2] & 0x1F:02x}.0" if len(numbers) == 3 else None
    )


def _case(test: str, columns: list[str], words: list[str], number: int) -> Case:
    """Read a row by its head: the first times are out of place, the second in place, if there are two."""
    words = _with_all_cells(columns, words)
    fields = dict(zip(columns, words, strict=False)) if len(set(columns)) == len(columns) else {}
    places = [at for at, name in enumerate(columns) if name in _TIMES]
    sides = [_side(columns, words, at) for at in places]
    if not sides or all(side is None for side in sides):
        raise ImportProblemError(f"line {number}: {len(words)} words under {len(columns)} columns")
    first = next(side for side in sides if side is not None)
    fields = fields or dict(zip(columns[: places[0]], words, strict=False))
    size = int(words[0])
    # NCCL 1 and the first nccl-tests call a size "bytes", and have milliseconds.
    time_ns = 1e6 if columns[0] == "bytes" else 1e3
    return Case(
        name=f"{test} {size} B",
        direction="write",
        block_bytes=size,
        queue_depth=1,
        bandwidth_bytes_per_s=1e9 * first["busbw"],
        latency=Latency(mean_ns=time_ns * first["time"]),
        raw={
            "test": test,
            "type": fields["type"],
            "redop": fields.get("redop", fields.get("op")),
            "algbw": first["algbw"],
            "busbw": first["busbw"],
            **({"wrong": first["wrong"]} if "wrong" in first else {}),
            **({"in place": sides[1]} if len(sides) > 1 and sides[1] is not None else {}),
        },
    )


def _with_all_cells(columns: list[str], words: list[str]) -> list[str]:
    """Put in the cell that older versions leave empty: collectives without a reduction have no `redop`."""
    at = columns.index("redop") if "redop" in columns else None
    if at is None or len(words) != len(columns) - 1 or not words[at][:1].isdigit():
        return words
    return [*words[:at], "none", *words[at:]]


def _side(columns: list[str], words: list[str], at: int) -> dict[str, float] | None:
    """Read the times that begin at a column; None where they are not numbers."""
    if len(words) < at + 3 or columns[at + 1 : at + 3] != ["algbw", "busbw"]:
        return None
    try:
        side = {name: float(word) for name, word in zip(("time", "algbw", "busbw"), words[at:], strict=False)}
    except ValueError:
        return None
    if at + 3 < min(len(columns), len(words)) and columns[at + 3] in _WRONG:
        with contextlib.suppress(ValueError):
            side["wrong"] = float(words[at + 3])
    return side


def _named(case: Case, test: str) -> Case:
    return replace(case, name=f"{test} {case.block_bytes} B", raw={**case.raw, "test": test})


_TESTS = {
    "all-reduce": "all_reduce",
    "reduce-scatter": "reduce_scatter",
    "all-gather": "all_gather",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "all-to-all": "alltoall",
    "send-receive": "sendrecv",
}
_IN_PARTS = ("reduce-scatter", "all-gather", "all-to-all")
"""Whose count is that of a rank."""
_WITH_SUM = ("all-reduce", "reduce-scatter", "reduce")
_HEAD = "# {:>10}  {:>12}  {:>8}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}  {:>7}  {:>6}  {:>6}  {:>6}"
_FLOAT = 4


def write(*runs: SimulatedRun) -> str:
    """Return the collectives of runs as nccl-tests prints them, one after another."""
    outputs = (_output(instrument, run) for run in runs for instrument in run.instruments("collective"))
    return "\n".join(line for output in outputs for line in output) + "\n"


def _output(instrument: Instrument, run: SimulatedRun) -> Iterator[str]:
    operation = instrument.option("operation", "all-reduce")
    rows = _rows(instrument)
    program = f"{_TESTS[operation]}_perf"
    yield f"# Simulated by Lanewise {run.version}: {run.result.title}, workload {instrument.name}"
    yield f"# Collective test starting: {program}"
    yield "#"
    yield f"#{'':62}out-of-place                       in-place          "
    side = ("time", "algbw", "busbw", "#wrong")
    yield _HEAD.format("size", "count", "type", "redop", "root", *side, *side)
    units = ("(us)", "(GB/s)", "(GB/s)", "")
    yield _HEAD.format("(B)", "(elements)", "", "", "", *units, *units)
    ranks = _ranks(instrument, run)
    for size, row in rows:
        count = size // _FLOAT // (ranks if operation in _IN_PARTS else 1)
        redop = "sum" if operation in _WITH_SUM else "none"
        root = instrument.option("root", "0") if operation in ("broadcast", "reduce") else "-1"
        widths = {"time (us)": 7, "algbw (GB/s)": 6, "busbw (GB/s)": 6}
        times = [_number(row[name], width) for name, width in widths.items()]
        yield (
            f"{size:>12}  {count:>12}  {'float':>8}  {redop:>6}  {root:>6}"
            f"  {times[0]:>7}  {times[1]:>6}  {times[2]:>6}     N/A      N/A     N/A     N/A     N/A"
        )
    if rows:
        average = sum(row["busbw (GB/s)"] for _, row in rows) / len(rows)
        yield f"# {'Avg bus bandwidth':<20} : {average:g} "
    yield "#"
    yield f"# Collective test concluded: {program}"


def _rows(instrument: Instrument) -> list[tuple[int, Mapping[str, float]]]:
    """Return size and numbers of each row that was measured."""
    by_size: dict[int, dict[str, float]] = {}
    for name, value in instrument.metrics.items():
        size, _, rest = name.partition(" B ")
        of_several = bool(rest) and size.isdigit()
        at = int(size) if of_several else stated_size(instrument.option("size"))
        by_size.setdefault(at, {})[rest if of_several else name] = value
    return [(size, row) for size, row in sorted(by_size.items()) if "time (us)" in row]


def _ranks(instrument: Instrument, run: SimulatedRun) -> int:
    """Return how many devices take part: its flow of operations is theirs together."""
    flows = run.result.document["flows"]
    joined = (flow["device"] for flow in flows if flow["name"] == instrument.name and "+" in flow["device"])
    return next((device.count("+") + 1 for device in joined), 1)


def _number(value: float, width: int) -> str:
    """Write a number with as many decimals as fit, two at most, as `getFloatStr` does."""
    fitting = (text for digits in (2, 1, 0) if len(text := f"{value:.{digits}f}") <= width)
    return next(fitting, f"{value:.{1 if width >= 7 else 0}e}")
