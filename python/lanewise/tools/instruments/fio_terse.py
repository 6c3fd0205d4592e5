"""Reads fio's terse format: a line of fields between semicolons for each job, versions 3 to 5.

Bandwidths are KiB/s and times microseconds. Reads, writes and, from version 4 on, trims have the same fields,
percentiles among them; version 5 adds six on samples. With ``unified_rw_reporting`` there is one side only,
or one more. The line tells neither sizes nor depth: fio prints both above it, or a command does. Bandwidth
over operations, both cut to whole numbers, tells a size that is a power of two.

Source: fio's HOWTO ("Terse output") and ``stat.c``; outputs of fio 2.0 to 3.36 in public threads.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.tools.instruments.fio import outstanding, said_of_failure
from lanewise.tools.instruments.fio_text import COMMAND, HEAD, options_of, size_of
from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_LINE = re.compile(r"^[ \t]*+(?P<version>[345]);(?:fio-)?(?P<fio>\d[\w.-]{0,30});[^;\n]{0,200};\d{1,9};\d")
_SIDES = ("read", "write", "trim", "mixed")
_FIRST = 5
"""Fields before those of reads: version of the format, of fio, name, group, error."""
_WIDTHS = {"3": 41, "4": 41, "5": 47}
"""Fields of a side."""
_PERCENTILES = 20
_BEHIND = 34
"""Fields behind the sides: use of processors, depths, ranges of latency. Those of drives come last."""
_OF_A_DRIVE = 9
_MOST_POWER = 40


def recognizes(text: str) -> bool:
    """Whether a text has a line in that format."""
    return ";fio-" in text and any(map(_LINE.match, text.splitlines()))


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read the lines of an output, or of several; ImportProblemError says what is wrong with one."""
    cases: list[Case] = []
    heads: dict[str, Mapping[str, str]] = {}
    options: Mapping[str, str] = {}
    failed: list[str] = []
    disks: list[str] = []
    version, run = "", 1
    for number, line in enumerate(text.splitlines(), start=1):
        if found := _LINE.match(line):
            fields = line.strip().split(";")
            version = version or found["fio"]
            job = _Job(fields, number, {**options, **heads.get(fields[2], {})})
            cases += (replace(case, raw={**case.raw, "document": run}) for case in job.cases())
            refuse_too_many(cases)
            disks += job.drives()
            if fields[4] != "0":
                failed.append(said_of_failure(fields[2], int(fields[4])))
        elif head := HEAD.match(line):
            sizes = {"sizes": head[3], "ioengine": head[4], "iodepth": head[5]}
            heads[head[1]] = {"rw": head[2], **sizes}
        elif command := COMMAND.search(line):
            options, heads, run = options_of(command["options"]), {}, run + 1
    if not cases:
        raise ImportProblemError("no job of this fio output has done any I/O")
    return Measurement(
        tool="fio",
        version=version or None,
        cases=tuple(cases),
        source=source,
        not_understood=tuple(dict.fromkeys(failed)),
        raw={"rounded": True, "disks": disks},
    )


class _Job:
    """One line, with what stands above it."""

    def __init__(self, fields: Sequence[str], number: int, options: Mapping[str, str]) -> None:
        self.fields, self.options, self.name = fields, options, fields[2]
        self.width = _WIDTHS[fields[0].strip()]
        self.names = self._sides(number)

    def _sides(self, number: int) -> Sequence[str]:
        """Return which sides there are: the two fields behind them are percentages."""
        for count in range(1, len(_SIDES) + 1):
            at = _FIRST + count * self.width
            behind = self.fields[at : at + 3]
            if [text.endswith("%") for text in behind] == [True, True, False]:
                return {
                    1: ("mixed",),
                    2: ("read", "write"),
                    3: ("read", "write", "mixed") if self.fields[0].strip() == "3" else _SIDES[:3],
                    4: _SIDES,
                }[count]
        raise ImportProblemError(
            f"line {number}: {len(self.fields)} fields of fio's terse format, which breaks off or has fields "
            "of its own; use fio with --output-format=json"
        )

    def drives(self) -> list[str]:
        """Return the drives of which it has statistics."""
        at = _FIRST + len(self.names) * self.width + _BEHIND
        names = self.fields[at::_OF_A_DRIVE]
        return [name for name in names if re.fullmatch(r"[A-Za-z][\w!-]{1,40}", name)]

    def cases(self) -> Iterator[Case]:
        """Return each side that did something."""
        together = self.options.get("group_reporting", "0") != "0"
        clones = _whole(self.options.get("numjobs", "1")) if together else 1
        told = "iodepth" in self.options or "ioengine" in self.options
        engine, depth = self.options.get("ioengine", "psync"), self.options.get("iodepth", "1")
        at_once = (outstanding(engine, depth) if told else None) or 0
        for side, name in enumerate(self.names):
            start = _FIRST + side * self.width
            fields = self.fields[start : start + self.width]
            kibibytes, operations = _number(fields[1]), _number(fields[2])
            if not _number(fields[0]) and not kibibytes:
                continue
            yield Case(
                name=f"{self.name} {name}",
                direction="both" if name == "mixed" else name,
                target=self._target(),
                block_bytes=self._size(name) or _size_of_rates(kibibytes, operations),
                queue_depth=at_once * (clones or 1) or None,
                workers=clones,
                bandwidth_bytes_per_s=kibibytes * 1024,
                operations_per_s=operations or None,
                latency=_latency(fields),
                raw={
                    "job options": {key: value for key, value in self.options.items() if key != "sizes"},
                    "groupid": self.fields[3],
                    "fields": list(fields[: _FIRST - 1]),
                },
            )

    def _target(self) -> str | None:
        named, drives = self.options.get("filename"), self.drives()
        if named and (named.startswith("/dev/") or not drives) and "$" not in named:
            return named
        return f"/dev/{drives[0]}" if len(drives) == 1 else named

    def _size(self, side: str) -> int | None:
        sizes = self.options.get("sizes") or self.options.get("bs", self.options.get("blocksize", "")).upper()
        return size_of(sizes, side) if sizes else None


def _size_of_rates(kibibytes: float, operations: float) -> int | None:
    """Return the power of two that both rates are of, before they were cut to whole numbers."""
    sizes = [1 << power for power in range(9, _MOST_POWER)]
    fitting = [
        size
        for size in sizes
        if kibibytes * 1024 <= size * (operations + 1) and size * operations <= (kibibytes + 1) * 1024
    ]
    return fitting[0] if operations and len(fitting) == 1 else None


def _latency(fields: Sequence[str]) -> Latency | None:
    """Return clat with its percentiles; with ``gtod_reduce`` there is none."""
    least, most, mean, deviation = map(_number, fields[8:12])
    if not mean:
        return None
    percentiles = (text.split("%=") for text in fields[12 : 12 + _PERCENTILES] if "%=" in text)
    return Latency(
        mean_ns=1e3 * mean,
        stddev_ns=1e3 * deviation,
        min_ns=1e3 * least,
        max_ns=1e3 * most,
        percentiles_ns={float(at): 1e3 * float(value) for at, value in percentiles if float(at)},
    )


def _number(text: str) -> float:
    return float(text.removesuffix("%"))


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() else None
