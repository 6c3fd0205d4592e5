"""Reads the table that SPDK's ``perf`` (``spdk_nvme_perf``) prints: a row for each drive and core.

Rows of one drive on several cores are added up. MiB/s are 2**20 bytes, and so are the MB/s of older versions;
latencies are microseconds. The size of an I/O is bandwidth over operations; what was done, and how many I/Os
were under way, says the command above the table. Drives of fabrics are other machines'.

Source: SPDK, ``app/spdk_nvme_perf/perf.c``, and outputs of versions 18.04 to 24 in public threads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from lanewise.tools.instruments.added_rows import AddedRows, direction_of
from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Measurement,
    refuse_too_many,
)

_HEAD = re.compile(r"^[#> \t]*Device Information[ \t]+:[ \t]+IOPS[ \t]+M(?:i?B)/s")
_ROW = re.compile(
    r"^[#> \t]*(?P<device>\S.{0,160}?)[ \t]+from core[ \t]+\d{1,4}:[ \t]*+(?P<iops>[\d.]{1,16})[ \t]++"
    r"(?P<rate>[\d.]{1,14})[ \t]++(?P<mean>[\d.]{1,14})[ \t]++(?P<least>[\d.]{1,14})[ \t]++"
    r"(?P<most>[\d.]{1,14})"
)
_COMMAND = re.compile(
    r"\b(?:perf|spdk_nvme_perf)[ \t](?P<options>[^\n]{0,1000}?-w[ \t=]|[^\n]{0,1000}?-{1,2}io-)[^\n]*"
)
_OPTION = re.compile(
    r"(?<!\S)(-[qowM]|--io-(?:depth|size|pattern)|--queue-depth|--rwmixread)[ =]?([\w.]{1,20})"
)
_KEYS = {
    "-M": "reads",
    "--rwmixread": "reads",
    "-q": "depth",
    "--io-depth": "depth",
    "--queue-depth": "depth",
    "-o": "size",
    "--io-size": "size",
}
_FABRICS = ("RDMA ", "TCP ", "FC ", "SPDK bdev Controller")
"""How drives of other machines begin; the last one is what a target of SPDK calls itself."""


@dataclass
class _Table:
    options: dict[str, str] = field(default_factory=dict)
    drives: dict[str, AddedRows] = field(default_factory=dict)


def recognizes(text: str) -> bool:
    """Whether a text has the head of such a table."""
    return "Device Information" in text and any(map(_HEAD.match, text.splitlines()))


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one table, or several one after another; ImportProblemError says what is wrong with it."""
    tables: list[_Table] = []
    options: dict[str, str] = {}
    for line in text.splitlines():
        if command := _COMMAND.search(line):
            options = {_KEYS.get(name, "way"): value for name, value in _OPTION.findall(command[0])}
        elif _HEAD.match(line):
            tables.append(_Table(options))
        elif tables and (row := _ROW.match(line)):
            name = " ".join(row["device"].split())
            tables[-1].drives.setdefault(name, AddedRows()).add(row.groupdict())
            refuse_too_many(tables[-1].drives)
    cases = [
        _case(name, drive, table.options, number)
        for number, table in enumerate(tables)
        for name, drive in table.drives.items()
    ]
    refuse_too_many(cases)
    if not cases:
        raise ImportProblemError(
            "no row 'DEVICE from core N: ...' below 'Device Information : IOPS MiB/s ...'"
        )
    return Measurement(tool="SPDK perf", version=None, cases=tuple(cases), source=source)


def _case(name: str, drive: AddedRows, options: dict[str, str], number: int) -> Case:
    way, depth, size = options.get("way", ""), options.get("depth", ""), options.get("size", "")
    direction = direction_of(way)
    return Case(
        name=f"{way or 'I/O'} {name}",
        direction=direction,
        target=name,
        block_bytes=int(size) if size.isdecimal() else drive.io_bytes,
        queue_depth=int(depth) * drive.count if depth.isdecimal() else None,
        workers=drive.count,
        bandwidth_bytes_per_s=drive.bytes_per_s,
        operations_per_s=drive.iops,
        latency=drive.latency,
        raw={
            "random": "rand" in way,
            **({"read percent": options["reads"]} if direction == "both" and "reads" in options else {}),
            "options": dict(options),
            "document": number,
            **({"fabrics": True} if name.startswith(_FABRICS) else {}),
        },
    )
