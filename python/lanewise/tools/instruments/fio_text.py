"""Reads what fio prints for people: one case for each job and direction, rounded as it is printed.

Bandwidths have three or four digits there (``BW=1948MiB/s``); ``--output-format=json`` has all. Understood
are the lines of fio 3, and those of fio 2 (``bw=19933KB/s``, where KB are 1,024 B). The device of a run is
that of ``filename`` on its command line, or of the only line under its ``Disk stats``. What neither a job's
first line nor a command above it says, is not known. Source: fio's HOWTO ("Interpreting the output") and
outputs of fio 2.1 to 3.37.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lanewise.tools.instruments.fio import of_servers, outstanding, said_of_failure
from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HEAD = re.compile(
    r"^(\S.{0,100}?): \(g=\d{1,6}\): rw=(\w{1,16}), bs=(.{1,120}?), ioengine=([\w.-]{1,40}), "
    r"iodepth=(\d{1,6})"
)
_JOB = re.compile(
    r"^(\S.{0,100}?): \(groupid=(\d{1,6}), jobs=(\d{1,6})\): err= {0,3}(\d{1,6})"
    r"(?: \(.{0,200}?error=([^)]{1,80})\))?"
)
_RATE = re.compile(
    r"^[ \t]*+(read|write|trim|mixed) ?: (?:"
    r"IOPS=([\d.]{1,12})([kKM]?), BW=([\d.]{1,12})([KMGT]?i?[Bb]?)(?:/s)?\b"
    r"|io=.{1,20}?, bw=([\d.]{1,12})([KMGT]?B)/s, iops=([\d.]{1,12}))"
)
_CLAT = re.compile(r"^[ \t]*+clat \(([num]sec)\): min=.{1,20}?, max=.{1,20}?, avg=([ \d.]{1,16}), stdev=")
_STATS = re.compile(r"^[ \t]*+([\w!-]{1,40}): ios=\d{1,15}/\d")
COMMAND = re.compile(r"\bfio[ \t](?P<options>.{0,400}?[ \t]-{1,2}[a-z].{0,4000})")
_OPTION = re.compile(
    r"(?<!\S)-{1,2}([a-z_]{2,20})(?:(?:=| (?!-))([^\s'\"]{1,200}|'[^']{1,200}'|\"[^\"]{1,200}\")|(?=\s|$))"
)
"""One with a value, or a switch without any."""
_SWITCHES = frozenset({"group_reporting", "time_based", "gtod_reduce", "norandommap", "thread"})
_HOST = re.compile(r"^<([\w.:-]{1,80})> ?")
"""Before the lines of a server, where a client prints them, or above them."""
_SERVER = re.compile(r"^hostname=[^\s,]{1,80}, be=\d")
"""What a client prints of each server that it has reached."""
_SIZE = re.compile(r"(?:\((R|W|T)\) )?([\d.]{1,12})([KMG]?)(?:i?B)?")
_VERSION = re.compile(r"^fio-(\d[\w.-]{0,20})$", re.MULTILINE)
_POWERS = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_TIMES = {"nsec": 1.0, "usec": 1e3, "msec": 1e6}


@dataclass
class _Job:
    """What the first line of a job says, or the command where that is not there."""

    pattern: str = ""
    sizes: str = ""
    engine: str = ""
    depth: int | None = None


@dataclass
class _Run:
    """What one call of fio prints."""

    number: int = 1
    options: Mapping[str, str] | None = None
    """Of its command, if one stands above it."""
    looped: bool = False
    """Whether that command stands above the run before, too."""
    heads: dict[str, _Job] = field(default_factory=dict)
    cases: list[Case] = field(default_factory=list)
    drives: list[str] = field(default_factory=list)


def recognizes(text: str) -> bool:
    """Whether a text has a job's result as fio prints it."""
    return "groupid=" in text and any(
        _JOB.match(_HOST.sub("", line)) for line in text.splitlines() if "groupid=" in line
    )


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output, or several one after another; ImportProblemError says what is wrong with it."""
    runs = [_Run()]
    failed: list[str] = []
    job: re.Match[str] | None = None
    host: str | None = None
    above: str | None = None
    servers, jobs = 0, 0
    for written in text.splitlines():
        named = _HOST.match(written)
        line = written[named.end() :] if named else written
        servers += _SERVER.match(line) is not None
        if named and not line:
            above = named[1]
        command, head = COMMAND.search(line), HEAD.match(line)
        if (command or head or _VERSION.match(line)) and runs[-1].cases:
            # One command may stand above several runs: those of a loop.
            runs.append(_Run(len(runs) + 1))
        if head:
            runs[-1].heads[head[1]] = _Job(head[2], head[3], head[4], int(head[5]))
        elif job_here := _JOB.match(line):
            job, jobs = job_here, jobs + 1
            host = named[1] if named else above
            if host is None and servers > 1:
                # Each server has a drive of its own.
                host = f"server {jobs}"
            if job[4] != "0":
                failed.append(said_of_failure(job[1], int(job[4]), job[5]))
        elif command:
            runs[-1].options = options_of(command["options"])
        elif job and (rate := _RATE.match(line)):
            runs[-1].cases.append(_case(job, runs[-1], rate, host))
        elif (cases := runs[-1].cases) and (clat := _CLAT.match(line)) and cases[-1].latency is None:
            cases[-1] = _with_latency(cases[-1], clat)
        elif drive := _STATS.match(line):
            runs[-1].drives.append(drive[1])
    cases = [case for run in _with_commands(runs) for case in _of(run, several=len(runs) > 1)]
    refuse_too_many(cases)
    if not cases:
        raise ImportProblemError("no job of this fio output has a line with its bandwidth; is it complete?")
    version = _VERSION.search(text)
    return Measurement(
        tool="fio",
        version=version[1] if version else None,
        cases=of_servers(cases),
        source=source,
        not_understood=tuple(dict.fromkeys(failed)),
        raw={"rounded": True, "disks": [drive for run in runs for drive in run.drives]},
    )


def options_of(command: str) -> dict[str, str]:
    """Return the options of a command; all files of it, as fio lists them."""
    found: dict[str, str] = {}
    for match in _OPTION.finditer(command):
        name, written = match[1], match[2] or ""
        if name in _SWITCHES and f"{name}=" not in match[0]:
            written = "1"
        value = written.strip("'\"").replace("\\:", ":")
        if value:
            found[name] = f"{found[name]}:{value}" if name == "filename" and name in found else value
    return found


def _with_commands(runs: list[_Run]) -> list[_Run]:
    """Give a run without a command of its own that of the run before: a loop."""
    options: Mapping[str, str] | None = None
    for run in runs:
        run.looped = run.options is None
        run.options = options = options if run.looped else run.options
    return runs


def _of(run: _Run, *, several: bool) -> Iterator[Case]:
    """Return the cases of a run with the device they are about."""
    named = (run.options or {}).get("filename")
    only = f"/dev/{run.drives[0]}" if len(set(run.drives)) == 1 else None
    # What the files of a loop are called, its shell made up.
    target = (only or named) if run.looped or "$" in (named or "") else (named or only)
    for case in run.cases:
        yield replace(case, target=target, raw={**case.raw, **({"document": run.number} if several else {})})


def _case(line: re.Match[str], run: _Run, rate: re.Match[str], host: str | None) -> Case:
    value, unit = (rate[4], rate[5]) if rate[4] else (rate[6], rate[7])
    operations = float(rate[2] or rate[8] or 0) * {"": 1, "k": 1e3, "K": 1e3, "M": 1e6}[rate[3] or ""]
    decimal = rate[4] is not None and "i" not in unit and len(unit) == 2
    power = _POWERS[unit[0] if unit[:1] in _POWERS else ""]
    bandwidth = float(value) * float(1000 if decimal else 1024) ** power / (8 if unit.endswith("b") else 1)
    clones, options = int(line[3]), run.options or {}
    job = run.heads.get(line[1]) or _Job(
        options.get("rw", options.get("readwrite", "")),
        options.get("bs", options.get("blocksize", "")).upper(),
        options.get("ioengine", ""),
        int(options["iodepth"]) if options.get("iodepth", "").isdecimal() else None,
    )
    return Case(
        name=f"{line[1]} {rate[1]}",
        direction="both" if rate[1] == "mixed" else rate[1],
        block_bytes=size_of(job.sizes, rate[1]),
        queue_depth=(outstanding(job.engine, job.depth) or 0) * clones or None,
        workers=clones,
        bandwidth_bytes_per_s=bandwidth,
        operations_per_s=operations or None,
        raw={
            "job options": {**options, **_options(job)},
            "groupid": int(line[2]),
            **({"hostname": host} if host else {}),
        },
    )


def _options(job: _Job) -> Mapping[str, str]:
    said = {"rw": job.pattern, "ioengine": job.engine, "iodepth": str(job.depth or "")}
    return {name: text for name, text in said.items() if text}


def size_of(text: str, direction: str) -> int | None:
    """Read the sizes of a job's first line; None for a range."""
    wanted = {"mixed": "R"}.get(direction, direction[0].upper())
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
    return replace(case, latency=Latency(mean_ns=float(clat[2]) * _TIMES[clat[1]]))
