"""What the outputs of benchmarks say about how they were made: version, host, options, devices.

Results are no part of it, nor what differs between any two runs of the same, such as times and ports.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.side_by_side.rows import Row
    from lanewise.tools.instruments.measurement import Case, Measurement

_OF_OUTPUTS = (
    "global options",
    "start",
    "test_start",
    "connecting_to",
    "hosts",
    "library",
    "devices",
    "device names",
)
_OF_CASES = ("settings", "job options", "options", "stated")
_OWN_WORDS = (
    "random",
    "memory",
    "XferType",
    "IoType",
    "type",
    "redop",
    "peer_access",
    "buffered",
    "gpu",
    "side",
)
_OF_ONE_RUN = re.compile(
    r"time|cookie|stamp|\bpid\b|socket|_port\b|^port$|cpu|disk|busbw|algbw|^error$|rounded|document|connected"
    r"|^version$|^git|^host$|^name$|^bs$|^blocksize$",
    re.IGNORECASE,
)
"""Keys of what is a result, differs from run to run, or is said elsewhere."""
_SIMULATED = "simulated"
_MOST = 120
"""Characters of a value that are kept."""


_TOLD_BY = {
    "tool": "test",
    "devices": "device or target",
    "Device": "device or target",
    "filename": "device or target",
}
"""What outputs say of themselves, and what of their rows differs because of it."""


@dataclass(frozen=True)
class Said:
    """Something that sides say differently."""

    what: str
    values: tuple[str | None, ...]
    """Of each side; None where it does not say."""
    rows: int | None = None
    """How many rows it is about; None where it is about whole outputs."""


def header(measurement: Measurement) -> dict[str, str]:
    """Return what an output says about how it was made."""
    found = {
        "tool": measurement.tool,
        **{
            name: value
            for name, value in (
                ("version", measurement.version),
                ("host", measurement.host),
                ("command", measurement.command),
                (_SIMULATED, "yes" if measurement.simulated else None),
            )
            if value
        },
    }
    for name, value in measurement.raw.items():
        if name in _OF_OUTPUTS or isinstance(value, str | int | float):
            found |= dict(_flat(name, value))
    shared: dict[str, set[str]] = {}
    for case in measurement.cases:
        for name, value in _of_case(case):
            shared.setdefault(name, set()).add(value)
    found |= {name: "several" if len(values) > 1 else values.pop() for name, values in shared.items()}
    return {name: value[:_MOST] for name, value in found.items() if value}


def _of_case(case: Case) -> Iterator[tuple[str, str]]:
    for name, value in case.raw.items():
        if name in _OF_CASES and isinstance(value, Mapping):
            for key, each in value.items():
                yield from _flat(str(key), each)
        elif name in _OWN_WORDS:
            yield from _flat(name, value)


def _flat(name: str, value: object) -> Iterator[tuple[str, str]]:
    """Yield a value by its name; of a table each by its own, of a list all as one."""
    if _OF_ONE_RUN.search(name):
        return
    if name == "devices" and isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, Mapping):
        for key, each in value.items():
            if name != "start" or key in _OF_OUTPUTS or isinstance(each, str | int | float):
                yield from _flat(str(key), each)
    elif isinstance(value, list | tuple):
        yield name, ", ".join(dict.fromkeys(map(str, value)))
    elif value is not None:
        yield name, str(value)


def differences(headers: Sequence[Mapping[str, str] | None], rows: Sequence[Row]) -> list[Said]:
    """Return what sides say differently; None of a side that has no header, like that of plain flows."""
    told = [header for header in headers if header is not None]
    is_of_one_kind = len({header["tool"] for header in told}) == 1 and not any(
        _SIMULATED in header for header in told
    )
    names = dict.fromkeys(name for header in told for name in header if name != _SIMULATED)
    found = []
    for name in names:
        values = tuple(None if header is None else header.get(name) for header in headers)
        own = [header.get(name) for header in told]
        # What one tool says and another does not, or no simulated output, says nothing about the difference.
        if len(set(own)) > 1 and (is_of_one_kind or None not in own):
            found.append(Said(name, values))
    return [*found, *_of_rows(rows, len(headers), found)]


def _of_rows(rows: Sequence[Row], sides: int, found: Sequence[Said]) -> Iterator[Said]:
    """Yield what rows were run with differently, without what outputs say of themselves already."""
    known = {said.values for said in found}
    told = {_TOLD_BY.get(said.what) for said in found}
    counted: dict[tuple[str, tuple[object, ...]], int] = {}
    for row in rows:
        if row.is_shared:
            for difference in row.differing():
                counted[difference] = counted.get(difference, 0) + 1
    by_what: dict[str, list[tuple[tuple[object, ...], int]]] = {}
    for (what, values), count in counted.items():
        by_what.setdefault(what, []).append((values, count))
    for what, each in by_what.items():
        if what in told:
            continue
        if len(each) == 1:
            values, count = each[0]
            texts = tuple(None if value is None else str(value) for value in values)
            if texts not in known:
                yield Said(what, texts, count)
        else:
            total = sum(count for _, count in each)
            yield Said(what, ("differs by row",) * sides, total)
