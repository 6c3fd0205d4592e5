"""Reads what fio prints for people: one case for each job and direction, rounded as it is printed.

Bandwidths have three or four digits there (``BW=1948MiB/s``); ``--output-format=json`` has all. Understood
are the lines of fio 3, and those of fio 2 (``bw=19933KB/s``, where KB are 1,024 B). The device is that of the
only line under ``Disk stats``, or of ``filename`` on the command line. Source: fio's HOWTO ("Interpreting
the output") and outputs of fio 2.1 to 3.37.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_HEAD = re.compile(
    r"^(\S.{0,100}?): \(g=\d{1,6}\): rw=(\w{1,16}), bs=(.{1,120}?), ioengine=(\w{1,20}), iodepth=(\d{1,6})"
)
_JOB = re.compile(r"^(\S.{0,100}?): \(groupid=\d{1,6}, jobs=(\d{1,6})\): err=")
_RATE = re.compile(
    r"^[ \t]++(read|write) ?: (?:IOPS=([\d.]{1,12})([kKM]?), BW=([\d.]{1,12})([KMGT]?i?B)/s"
    r"|io=.{1,20}?, bw=([\d.]{1,12})([KMGT]?B)/s, iops=([\d.]{1,12}))"
)
_CLAT = re.compile(r"^[ \t]++clat \(([num]sec)\): min=.{1,20}?, max=.{1,20}?, avg=([ \d.]{1,16}), stdev=")
_STATS = re.compile(r"^[ \t]++([\w!-]{1,40}): ios=\d{1,15}/\d")
_FILENAME = re.compile(r"-filename[= ](\S{1,200})")
_SIZE = re.compile(r"(?:\((R|W)\) )?([\d.]{1,12})([KMG]?)(?:i?B)?")
_VERSION = re.compile(r"^fio-(\d[\w.-]{0,20})$", re.MULTILINE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_TIMES = {"nsec": 1.0, "usec": 1e3, "msec": 1e6}


@dataclass
class _Job:
    pattern: str = ""
    sizes: str = ""
    engine: str = ""
    depth: int = 1


def recognizes(text: str) -> bool:
    """Whether a text has a job's result as fio prints it."""
    return "groupid=" in text and any(_JOB.match(line) for line in text.splitlines() if "groupid=" in line)


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    heads: dict[str, _Job] = {}
    cases: list[Case] = []
    drives: list[str] = []
    name, clones = "", 1
    for line in text.splitlines():
        if head := _HEAD.match(line):
            heads[head[1]] = _Job(head[2], head[3], head[4], int(head[5]))
        elif job := _JOB.match(line):
            name, clones = job[1], int(job[2])
        elif name and (rate := _RATE.match(line)):
            cases.append(_case(name, clones, heads.get(name, _Job()), rate))
            refuse_too_many(cases)
        elif cases and (clat := _CLAT.match(line)) and cases[-1].latency is None:
            cases[-1] = _with_latency(cases[-1], clat)
        elif drive := _STATS.match(line):
            drives.append(drive[1])
    if not cases:
        raise ImportProblemError("no job of this fio output has a line with its bandwidth; is it complete?")
    named = _FILENAME.search(text)
    target = named[1] if named else f"/dev/{drives[0]}" if len(set(drives)) == 1 else None
    version = _VERSION.search(text)
    return Measurement(
        tool="fio",
        version=version[1] if version else None,
        cases=tuple(_on(case, target) for case in cases),
        source=source,
        raw={"rounded": True, "disks": drives},
    )


def _case(name: str, clones: int, job: _Job, rate: re.Match[str]) -> Case:
    value, unit = (rate[4], rate[5]) if rate[4] else (rate[6], rate[7])
    operations = float(rate[2] or rate[8] or 0) * {"": 1, "k": 1e3, "K": 1e3, "M": 1e6}[rate[3] or ""]
    decimal = rate[4] is not None and "i" not in unit and len(unit) == 2
    power = _POWERS[unit[0] if len(unit) > 1 else ""]
    return Case(
        name=f"{name} {rate[1]}",
        direction=rate[1],
        block_bytes=_size(job.sizes, rate[1]),
        queue_depth=job.depth * clones,
        workers=clones,
        bandwidth_bytes_per_s=float(value) * float(1000 if decimal else 1024) ** power,
        operations_per_s=operations or None,
        raw={"job options": _options(job)},
    )


def _options(job: _Job) -> Mapping[str, str]:
    return {"rw": job.pattern, "ioengine": job.engine, "iodepth": str(job.depth)}


def _size(text: str, direction: str) -> int | None:
    """Read the sizes of a job's first line; None for a range."""
    wanted = direction[0].upper()
    sizes = {
        found[1] or wanted: found for part in text.split(",") for found in _SIZE.finditer(part.split("-")[0])
    }
    both = next((part for part in text.split(",") if f"({wanted})" in part or "(" not in part), "")
    ends = [end for end in re.split(r"[-/]", both.split(")")[-1].strip()) if end]
    found = sizes.get(wanted)
    if found is None or len(set(ends)) != 1:
        return None
    return round(float(found[2]) * float(1024) ** _POWERS[found[3]])


def _with_latency(case: Case, clat: re.Match[str]) -> Case:
    from dataclasses import replace

    return replace(case, latency=Latency(mean_ns=float(clat[2]) * _TIMES[clat[1]]))


def _on(case: Case, target: str | None) -> Case:
    from dataclasses import replace

    return replace(case, target=target)
