"""OSU Micro-Benchmarks: reads the tables of osu_bw, osu_bibw, osu_latency and the like, and writes them.

MB are 10^6 bytes; osu_bibw counts both directions; the latency is half a round trip. Lines begin with the
size, or with ``#``. Which GPU a buffer is on is not told. Tails (``-z``) of a latency are percentiles; those
of a bandwidth, and whether data was validated (``-c``), stay in `raw`. Source: outputs of versions 5.3 and
7.4; 3.1.1 has the columns of 5.3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)
from lanewise.tools.instruments.simulated import NothingMeasuredError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.tools.instruments.simulated import Instrument, SimulatedRun

MEGABYTE = 10**6
_TITLE = re.compile(
    r"^#[ \t]*+OSU (?:MPI(?:-\S{1,16})? )?(?P<test>.{1,100}?)(?: Test)?"
    r"(?: v(?P<version>[\d.]{1,32}))?[ \t]*+$"
)
_BEGINNING = re.compile(r"^#[ \t]*+OSU ", re.MULTILINE)
_DATATYPE = re.compile(r"^# Datatype: (?P<datatype>\w+)")
_ON_A_GPU = re.compile(r"^#[ \t]*+Send Buffer on .{0,60}(?:DEVICE|MANAGED)", re.IGNORECASE)
"""Where the buffers of both sides are, of versions for GPUs."""
_PAIRS = re.compile(r"^# \[ pairs: (?P<pairs>\d{1,9}) \] \[ window size: (?P<window>\d{1,9}) \]")
_COLUMN = re.compile(r"[^\s(][^(]{0,60}?\((?:us|MB/s)\)|\S+")
_TAIL = re.compile(r"P(\d{1,2}(?:\.\d{1,9})?) Tail Lat\(us\)")
_MEANS = ("Avg Latency(us)", "Latency (us)", "Overall(us)")
"""Of collectives that do not block, computation is part of it."""
_VALIDATION = "Validation"
_CHATTER = re.compile(r"\[\d{1,5}\] MPI startup\(\): ")
"""What Intel's MPI says about itself."""
_TESTS = {
    "osu_bw": ("Bandwidth", "Bandwidth (MB/s)"),
    "osu_bibw": ("Bi-Directional Bandwidth", "Bandwidth (MB/s)"),
    "osu_latency": ("Latency", "Latency (us)"),
}


@dataclass
class _Table:
    """What the lines above a row say about it."""

    test: str = "?"
    datatype: str | None = None
    pairs: int | None = None
    window: int | None = None
    gpu: bool = False
    """Whether a buffer is in the memory of a GPU."""
    columns: list[str] = field(default_factory=list)
    """Names of the columns behind the size."""


def recognizes(text: str) -> bool:
    """Whether a text looks like an output of the OSU benchmarks."""
    return _BEGINNING.search(text) is not None


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    cases: list[Case] = []
    left: list[str] = []
    table = _Table()
    version = None
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _TITLE.match(line):
            table, version = _Table(test=match["test"]), match["version"] or version
        elif match := _DATATYPE.match(line):
            table.datatype = match["datatype"]
        elif _ON_A_GPU.match(line):
            table.gpu = True
        elif match := _PAIRS.match(line):
            table.pairs, table.window = int(match["pairs"]), int(match["window"])
        elif line.startswith(("# Size", "#Size")):
            table.columns = _COLUMN.findall(line.lstrip("# ").removeprefix("Size"))
        elif table.columns and re.match(r"\s*\d+\s+[\d.]", line):
            cases.append(_case(table, line, number))
            refuse_too_many(cases)
        elif line.strip() and not line.startswith("#") and not _CHATTER.match(line):
            left.append(f"line {number}: {line.strip()}")
    if not cases:
        raise ImportProblemError(
            "no sizes under a line '# Size ...'; is the output complete? A barrier has no sizes, and says "
            "nothing about a link"
        )
    return Measurement(
        tool="osu",
        version=version,
        cases=tuple(cases),
        source=source,
        simulated="Lanewise" in text,
        not_understood=tuple(left),
    )


def _case(table: _Table, line: str, number: int) -> Case:
    first, *values = line.split()
    if len(values) < len(table.columns):
        raise ImportProblemError(
            f"line {number}: {len(values)} numbers beside a size, under {len(table.columns)} columns"
        )
    texts = dict(zip(table.columns, values, strict=False))
    try:
        row = {name: float(text) for name, text in texts.items() if name != _VALIDATION}
    except ValueError as error:
        raise ImportProblemError(f"line {number}: {error}") from error
    size = int(first)
    bandwidth = next((row[name] for name in ("Bandwidth (MB/s)", "MB/s") if name in row), None)
    rate = row.get("Messages/s")
    named = "" if table.datatype in {None, "MPI_CHAR"} else f" {table.datatype}"
    return Case(
        name=f"{table.test} {size} B{named}",
        direction=_direction(table.test),
        block_bytes=size,
        workers=table.pairs,
        queue_depth=table.pairs * table.window if table.pairs and table.window else None,
        bandwidth_bytes_per_s=None if bandwidth is None else bandwidth * MEGABYTE,
        operations_per_s=rate if rate is not None else bandwidth and size and bandwidth * MEGABYTE / size,
        latency=_latency(row),
        raw={
            "Size": size,
            **row,
            **{name: texts[name] for name in texts.keys() - row.keys()},
            **({"gpu": ""} if table.gpu else {}),
        },
    )


def _direction(test: str) -> str:
    """Return which way the data goes, seen from the first rank: what it gets arrives."""
    if "Bi" in test:
        return "both"
    if "latency" in test.lower():
        return "ping-pong"
    return "read" if "_Get" in test else "send"


def _latency(row: Mapping[str, float]) -> Latency | None:
    """Return the times of a row, which are in microseconds; the mean is called so since version 7."""
    mean = next((row[name] for name in _MEANS if name in row), None)
    if mean is None:
        return None
    tails = {match[1]: us for name, us in row.items() if (match := _TAIL.match(name))}

    def ns(name: str) -> float | None:
        return 1e3 * row[name] if name in row else None

    return Latency(
        mean_ns=1e3 * mean,
        min_ns=ns("Min Latency(us)"),
        max_ns=ns("Max Latency(us)"),
        percentiles_ns={float(percent): 1e3 * us for percent, us in tails.items()},
    )


def write(*runs: SimulatedRun) -> str:
    """Return the OSU workloads of runs as the benchmarks would print them: one table for each benchmark."""
    of_tools: dict[str, list[Instrument]] = {}
    for run in runs:
        for instrument in run.instruments("osu"):
            of_tools.setdefault(instrument.option("tool", "osu_bw"), []).append(instrument)
    return "".join(_output(tool, instruments, runs[0]) for tool, instruments in of_tools.items())


def _output(tool: str, instruments: list[Instrument], run: SimulatedRun) -> str:
    title, column = _TESTS[tool]
    rows = sorted((round(each.metrics["Size (B)"]), _measured(each, column)) for each in instruments)
    names = ", ".join(dict.fromkeys(instrument.name for instrument in instruments))
    lines = [
        f"# OSU MPI {title} Test v3.1.1",
        f"# Simulated by Lanewise {run.version}: {run.result.title}, {names}",
        f"# {'Size':<8}{column:>20}",
        *(f"{size:<10}{value:>20.2f}" for size, value in rows),
    ]
    return "\n".join(lines) + "\n"


def _measured(instrument: Instrument, column: str) -> float:
    if column not in instrument.metrics:
        raise NothingMeasuredError(
            f"'{instrument.name}' has measured nothing with {round(instrument.metrics['Size (B)'])} B: "
            "the run ended before a window of messages did; give it longer with --time-limit"
        )
    return instrument.metrics[column]
