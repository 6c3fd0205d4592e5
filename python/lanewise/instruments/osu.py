"""OSU Micro-Benchmarks: reads the tables of osu_bw, osu_bibw, osu_latency and the like, and writes them.

MB are 10^6 bytes; osu_bibw counts both directions; the latency is half a round trip. Lines begin with the
size, or with ``#``. Source: outputs of OMB 3.1.1 to 7.1, whose columns differ only in width.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.instruments.measurement import Case, ImportProblemError, Latency, Measurement

if TYPE_CHECKING:
    from lanewise.instruments.simulated import Instrument, SimulatedRun

MEGABYTE = 10**6
_TITLE = re.compile(r"^#\s*OSU (?:MPI )?(?P<test>.+?)(?: Test)?(?: v(?P<version>[\d.]+))?\s*$")
_TESTS = {
    "osu_bw": ("Bandwidth", "Bandwidth (MB/s)"),
    "osu_bibw": ("Bi-Directional Bandwidth", "Bandwidth (MB/s)"),
    "osu_latency": ("Latency", "Latency (us)"),
}


def recognizes(text: str) -> bool:
    """Whether a text looks like an output of the OSU benchmarks."""
    return any(line.startswith("# OSU ") for line in text.splitlines())


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    cases: list[Case] = []
    left: list[str] = []
    test = version = None
    columns: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _TITLE.match(line):
            test, version = match["test"], match["version"] or version
        elif line.startswith("# Size"):
            columns = re.split(r"\s{2,}", line.removeprefix("#").strip())
        elif columns and re.match(r"\s*\d+\s+[\d.]", line):
            cases.append(_case(test or "?", columns, line))
        elif line.strip() and not line.startswith("#"):
            left.append(f"line {number}: {line.strip()}")
    if not cases:
        raise ImportProblemError("no sizes under a line '# Size ...'; is the output complete?")
    return Measurement(
        tool="osu",
        version=version,
        cases=tuple(cases),
        source=source,
        simulated="Lanewise" in text,
        not_understood=tuple(left),
    )


def _case(test: str, columns: list[str], line: str) -> Case:
    row = dict(zip(columns, (float(value) for value in line.split()), strict=False))
    size = int(row["Size"])
    bandwidth = next((value for name, value in row.items() if name.startswith("Bandwidth")), None)
    latency = next((value for name, value in row.items() if "Latency" in name), None)
    rate = row.get("Messages/s")
    return Case(
        name=f"{test} {size} B",
        direction="both" if "Bi" in test else "ping-pong" if "Latency" in test else "send",
        block_bytes=size,
        bandwidth_bytes_per_s=None if bandwidth is None else bandwidth * MEGABYTE,
        operations_per_s=rate if rate is not None else bandwidth and size and bandwidth * MEGABYTE / size,
        latency=None if latency is None else Latency(mean_ns=latency * 1e3),
        raw=row,
    )


def write(run: SimulatedRun) -> str:
    """Return the OSU workloads of a run as the benchmarks would print them: one table for each benchmark."""
    of_tools: dict[str, list[Instrument]] = {}
    for instrument in run.instruments("osu"):
        of_tools.setdefault(instrument.option("tool", "osu_bw"), []).append(instrument)
    return "".join(_output(tool, instruments, run) for tool, instruments in of_tools.items())


def _output(tool: str, instruments: list[Instrument], run: SimulatedRun) -> str:
    title, column = _TESTS[tool]
    rows = sorted((round(each.metrics["Size (B)"]), each.metrics[column]) for each in instruments)
    names = ", ".join(instrument.name for instrument in instruments)
    lines = [
        f"# OSU MPI {title} Test v3.1.1",
        f"# Simulated by Lanewise {run.version}: {run.result.title}, {names}",
        f"# {'Size':<8}{column:>20}",
        *(f"{size:<10}{value:>20.2f}" for size, value in rows),
    ]
    return "\n".join(lines) + "\n"
