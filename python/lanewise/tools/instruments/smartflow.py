"""SmartFlow's result tables as CSV: one table for each of its six tests, read and written.

Sizes are frames in bytes with their check sequence; rates are Mb/s of line, preamble and gap included, over
all flows; loads are percent of line. Latency is that of a device that stores and forwards (RFC 1242 §3.8).

Assumed: the arrangement of the tables. SmartFlow exported what its result window showed; the columns are
those names, with the unit in the heading.
"""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING

from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)

if TYPE_CHECKING:
    from _csv import Writer
    from collections.abc import Mapping

    from lanewise.tools.instruments.simulated import Instrument, SimulatedRun

TESTS = ("Throughput", "Frame Loss", "Latency", "Latency Distribution", "Latency Snap Shot", "Smart Tracker")
_SIZE = "Frame Size (B)"
_LOAD = "Load (%)"
_FIRST_LINE = "SmartFlow"

_WHICH = "(?P<which>minimum|average|maximum|standard deviation)"
_TRIAL = r"(?P<size>\d{1,9}) B at (?P<load>[\d.]{1,20}) %"
_GROUP = r"(?: (?P<flow>group .{1,80}?|priority \d))?"
_PLACES = (
    ("Throughput", re.compile(r"throughput (?P<size>\d{1,9}) B \((?P<unit>.{1,20})\)")),
    ("Frame Loss", re.compile(rf"frame loss {_TRIAL}{_GROUP} \(%\)")),
    ("Latency", re.compile(rf"latency {_TRIAL}{_GROUP} {_WHICH} \(us\)")),
    (
        "Latency Distribution",
        re.compile(rf"latency {_TRIAL} (?P<bucket>(?:up to|above) [\d.]{{1,20}} us) \(frames\)"),
    ),
    (
        "Latency Snap Shot",
        re.compile(rf"latency {_TRIAL} (?P<flow>.{{1,80}}) frame (?P<frame>\d{{1,12}}) \(us\)"),
    ),
    ("Smart Tracker", re.compile(rf"{_TRIAL} (?P<flow>.{{1,80}}) (?P<count>sent|received|lost) \(frames\)")),
    ("Smart Tracker", re.compile(rf"{_TRIAL} (?P<flow>.{{1,80}}) latency {_WHICH} \(us\)")),
)
"""Tests, and what the instrument calls their numbers."""
_TIMES = ("Minimum", "Average", "Maximum", "Standard Deviation")

Table = dict[tuple[str, ...], dict[str, float]]
"""Rows by what identifies them; columns by their heading."""


def recognizes(text: str) -> bool:
    """Whether a text looks like SmartFlow's tables."""
    return text.lstrip().startswith(_FIRST_LINE) or f"\n{_SIZE}" in text


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read result tables; ImportProblemError says what is wrong with them."""
    cases: list[Case] = []
    left: list[str] = []
    test = ""
    columns: list[str] = []
    for number, row in enumerate(csv.reader(io.StringIO(text)), start=1):
        if not row or not any(row):
            columns = []
        elif row[0] in TESTS and len([cell for cell in row if cell]) == 1:
            test, columns = row[0], []
        elif row[0] == _SIZE:
            columns = row
        elif columns:
            cases.append(_case(test, columns, row, number))
            refuse_too_many(cases)
        elif not row[0].startswith(_FIRST_LINE):
            left.append(f"line {number}: {','.join(row)}")
    if not cases:
        raise ImportProblemError(f"no rows under a heading that begins with '{_SIZE}'")
    return Measurement(
        tool="smartflow",
        version=None,
        cases=tuple(cases),
        source=source,
        simulated="Lanewise" in text.partition("\n")[0],
        not_understood=tuple(left),
    )


def _case(test: str, columns: list[str], row: list[str], number: int) -> Case:
    values = dict(zip(columns, row, strict=False))
    try:
        size = int(values[_SIZE])
        numbers = {name: float(text) for name, text in values.items() if text and name not in (_SIZE, "Flow")}
    except ValueError as error:
        raise ImportProblemError(f"line {number}: {error}") from error
    rate = numbers.get("Throughput (Mb/s)")
    times = {name: numbers.get(f"{name} Latency (us)") for name in _TIMES}
    where = " ".join(f"{name} {values[name]}" for name in (_LOAD, "Flow", "Frame") if values.get(name))
    return Case(
        name=f"{test} {size} B {where}".strip(),
        direction="both",
        target=values.get("Flow"),
        block_bytes=size,
        # Of line: the frame with preamble and gap.
        bandwidth_bytes_per_s=None if rate is None else rate * 1e6 / 8,
        operations_per_s=numbers.get("Throughput (frames/s)"),
        latency=Latency(
            mean_ns=_ns(times["Average"]),
            stddev_ns=_ns(times["Standard Deviation"]),
            min_ns=_ns(times["Minimum"]),
            max_ns=_ns(times["Maximum"]),
        )
        if any(value is not None for value in times.values())
        else None,
        raw={"test": test, **values},
    )


def _ns(microseconds: float | None) -> float | None:
    return None if microseconds is None else microseconds * 1e3


def write(run: SimulatedRun) -> str:
    """Return the SmartFlow workloads of a run as CSV, one table for each test that was done."""
    out = io.StringIO()
    rows = csv.writer(out, lineterminator="\n")
    for instrument in run.instruments("smartflow"):
        title = f"{run.result.title}, {instrument.name}"
        rows.writerow([f"{_FIRST_LINE} results simulated by Lanewise {run.version}: {title}"])
        for test, table in _tables(instrument).items():
            if table:
                _write_table(rows, test, table)
    return out.getvalue()


def _write_table(rows: Writer, test: str, table: Table) -> None:
    keys = {
        "Throughput": (_SIZE,),
        "Latency Snap Shot": (_SIZE, _LOAD, "Flow", "Frame"),
        "Smart Tracker": (_SIZE, _LOAD, "Flow"),
    }.get(test, (_SIZE, _LOAD))
    if len(keys) == 2 and any(len(identity) > len(keys) for identity in table):
        # Groups and priorities have rows of their own beside those of all flows.
        keys = (*keys, "Flow")
    columns = list(dict.fromkeys(column for row in table.values() for column in row))
    rows.writerow([])
    rows.writerow([test])
    rows.writerow([*keys, *columns])
    for identity, row in table.items():
        named = (*identity, *["all"] * (len(keys) - len(identity)))
        rows.writerow([*named, *(f"{row[column]:.10g}" if column in row else "" for column in columns)])


def _tables(instrument: Instrument) -> Mapping[str, Table]:
    """Sort the instrument's numbers into the tables of the tests."""
    tables: dict[str, Table] = {test: {} for test in TESTS}
    for name, value in instrument.metrics.items():
        for test, place in _PLACES:
            if match := place.fullmatch(name):
                parts = match.groupdict()
                identity = tuple(parts[key] for key in ("size", "load", "flow", "frame") if parts.get(key))
                tables[test].setdefault(identity, {})[_column(test, parts)] = value
                break
    return tables


def _column(test: str, parts: Mapping[str, str]) -> str:
    """Return the heading under which SmartFlow shows a number."""
    if which := parts.get("which"):
        return f"{which.title()} Latency (us)"
    if count := parts.get("count"):
        return f"Frames {count.capitalize()}"
    if bucket := parts.get("bucket"):
        return f"{bucket} (frames)"
    return {"Throughput": f"Throughput ({parts.get('unit')})", "Frame Loss": "Frame Loss (%)"}.get(
        test, "Latency (us)"
    )
