"""Reads what Vdbench prints of raw I/O: the averages of each run definition (``avg_2-5``), without its first.

MB/s are 2**20 bytes, times milliseconds. What the columns are called stands in two lines above them; it
differs between versions. Files, sizes and whether I/O is random are told by the parameters, where these stand
in the text. Of a run that broke off the mean of its intervals counts. Left out: runs over file systems,
histograms, and what each host and drive did.

Source: Vdbench 5.03 to 5.04.07, its user guide, and outputs in public threads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import isnan
from typing import TYPE_CHECKING

from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_CLOCK = r"(?:\d\d:\d\d:\d\d(?:\.\d{1,3})?[ \t]++)?"
_HEAD = re.compile(
    r"^[ \t]*+(?:[A-Z][a-z]{2} \d\d, \d{4}[ \t]++|\.?[ \t]*+)interval[ \t]++"
    r"(?P<names>i/o[ \t]++MB/sec[ \t].{1,300})$"
)
_BELOW = re.compile(
    r"^[ \t]*+(?P<names>rate[ \t]++(?:1024\*\*2|1000\*\*2)?[ \t]*+i/o[ \t]++pct[ \t].{1,300})$"
)
_START = re.compile(rf"^[ \t]*+{_CLOCK}Starting RD=(?P<name>[^;\s]{{1,100}})(?P<said>;.{{0,400}})?$")
_ROW = re.compile(
    rf"^[ \t]*+{_CLOCK}(?P<interval>avg_\d{{1,7}}-\d{{1,7}}|\d{{1,7}})[ \t]++"
    r"(?P<values>[\d.NaN \t-]{10,400})$"
)
_VERSION = re.compile(r"^Vdbench distribution: (vdbench\d{3,6})", re.MULTILINE)
_LUN = re.compile(r"^[ \t]*+sd=[^#\n]{0,200}?\blun=([^,\s]{1,200})", re.MULTILINE)
_DEFINED = re.compile(r"^[ \t]*+(?P<kind>wd|rd|sd)=(?P<rest>[^#\n]{1,400})", re.MULTILINE)
_MIB = 2.0**20


@dataclass
class _Run:
    """A run definition."""

    name: str
    said: str = ""
    columns: Sequence[str] = ()
    average: dict[str, float] | None = None
    intervals: list[dict[str, float]] = field(default_factory=list)


def recognizes(text: str) -> bool:
    """Whether a text has the head of its tables, with a row below."""
    return "interval" in text and "MB/sec" in text and any(map(_HEAD.match, text.splitlines()))


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    runs = [_Run("run")]
    above: list[str] = []
    for line in text.splitlines():
        if start := _START.match(line):
            runs.append(_Run(start["name"], start["said"] or "", runs[-1].columns))
            refuse_too_many(runs)
        elif head := _HEAD.match(line):
            above = head["names"].split()
        elif (below := _BELOW.match(line)) and above:
            runs[-1].columns = _columns(above, below["names"].split())
        elif (row := _ROW.match(line)) and runs[-1].columns:
            values = _values(runs[-1].columns, row["values"].split())
            if row["interval"].startswith("avg"):
                runs[-1].average = values
            elif len(runs[-1].intervals) < _MOST_INTERVALS:
                runs[-1].intervals.append(values)
    random, luns = _is_random(text), _LUN.findall(text)
    cases = [
        case for number, run in enumerate(runs) for case in _case(run, number, is_random=random, luns=luns)
    ]
    if not cases:
        raise ImportProblemError(
            "no run of Vdbench over raw devices has done any I/O; runs over file systems are not read"
        )
    version = _VERSION.search(text)
    return Measurement(
        tool="vdbench",
        version=version[1].removeprefix("vdbench") if version else None,
        cases=tuple(cases),
        source=source,
    )


_MOST_INTERVALS = 1_000_000


def _columns(above: Sequence[str], below: Sequence[str]) -> list[str]:
    """Put the two lines of a head together, such as ``read`` over ``pct``; they end with the same column."""
    short = len(above) - len(below)
    if short:
        # 'MB/sec' without '1024**2' below it.
        below = [*below[:1], *[""] * short, *below[1:]] if short > 0 else below[-len(above) :]
    names = {"i/o rate": "rate", "MB/sec": "mb", "bytes": "bytes"}
    joined = (f"{first} {second}".strip() for first, second in zip(above, below, strict=True))
    return [next((short for long, short in names.items() if each.startswith(long)), each) for each in joined]


def _values(columns: Sequence[str], words: Sequence[str]) -> dict[str, float]:
    try:
        numbers = [float(word) for word in words]
    except ValueError as error:
        raise ImportProblemError(f"'{' '.join(words)[:80]}' are no numbers of Vdbench") from error
    return {name: number for name, number in zip(columns, numbers, strict=False) if not isnan(number)}


def _is_random(text: str) -> bool | None:
    """Whether the parameters say random I/O, which is Vdbench's default; None where there are none."""
    found = [match["rest"] for match in _DEFINED.finditer(text) if match["kind"] in ("wd", "rd")]
    if not found:
        return None
    return not any(re.search(r"\bseekpct=(?:seq\w*|0|eof|-1)\b", rest) for rest in found)


def _case(run: _Run, number: int, *, is_random: bool | None, luns: Sequence[str]) -> Iterator[Case]:
    told = run.average or _mean(run.intervals)
    rate, mebibytes = told.get("rate", 0.0), told.get("mb", 0.0)
    size = round(told.get("bytes", 0.0))
    if not rate or not (mebibytes or size):
        return
    reads = told.get("read pct", 0.0)
    mean = told.get("resp time")
    depth = round(told.get("queue depth", 0.0))
    yield Case(
        name=run.name,
        direction="read" if reads >= _ALL else "write" if reads <= 0 else "both",
        target=":".join(luns) or None,
        block_bytes=size if size and size % 512 == 0 else None,
        queue_depth=depth or None,
        bandwidth_bytes_per_s=rate * size if size else mebibytes * _MIB,
        operations_per_s=rate,
        latency=Latency(mean_ns=1e6 * mean) if mean else None,
        raw={
            "document": number,
            "random": bool(is_random),
            "read percent": reads,
            "said": run.said.strip("; "),
            **({} if run.average else {"intervals": len(run.intervals)}),
        },
    )


_ALL = 100.0


def _mean(intervals: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the means over intervals: the first is of the start, where there are others."""
    counted = intervals[1:] or intervals
    names = counted[0].keys() if counted else ()
    return {name: sum(each.get(name, 0.0) for each in counted) / len(counted) for name in names}
