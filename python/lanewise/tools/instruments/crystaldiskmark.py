"""Reads the text of CrystalDiskMark 3 and 5 to 9, and of KDiskMark, which runs fio and reports in this form.

A line is a test: sequential or random, its block, queues (Q) and threads (T), MB/s, operations a second and
latency. Reads and writes stand below ``[Read]`` and ``[Write]``, or have the word in their name (versions 3
to 6, which print no block of sequential tests). Version 3 names a queue for tests of 4 KB alone; that its
other tests have one operation under way is assumed. KB of its blocks are 1,024 B, which operations tell.
MB are 10**6 bytes; KDiskMark 3 prints thousands of KiB so, which operations and block tell. The drive is a
letter or a mount point: no device is named.

Source: texts of CrystalDiskMark 3.0 and 5.1 to 8.0, and of KDiskMark 3.0, in public repositories.
"""

from __future__ import annotations

import re

from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)

_TITLE = re.compile(r"\b(CrystalDiskMark|KDiskMark)\b[ \t(]{1,3}(\d[\w.]{0,20})?")
_WAY = re.compile(r"^[^\w\n]{0,60}\[(Read|Write|Mix)[^\]]{0,20}\]")
_TEST = re.compile(
    r"^[^\w\n]{0,60}(?P<order>SEQ|RND|Sequential|Random)\b[ \t]*+(?P<way>Read|Write)?[ \t]*+"
    r"(?:(?P<block>\d{1,5}) ?(?P<unit>[KMG]i?B))?[ \t]*+"
    r"\((?:Q= *(?P<queues>\d{1,4}), ?)?T= *(?P<threads>\d{1,4})\)[ \t]*+:[ \t]*+(?P<rate>[\d.]{1,12}) MB/s"
    r"(?:[ \t]*+\[ *(?P<iops>[\d.]{1,14}) IOPS\])?(?:[ \t]*+< *(?P<latency>[\d.]{1,14}) us>)?"
)
_TEST_OF_3 = re.compile(
    r"^[^\w\n]{0,60}(?P<order>Sequential|Random) (?P<way>Read|Write)(?: (?P<block>\d{1,5})(?P<unit>KB))?"
    r"(?: \(QD=(?P<queues>\d{1,4})\))?[ \t]*+:[ \t]*+(?P<rate>[\d.]{1,12}) MB/s"
    r"(?:[ \t]*+\[ *(?P<iops>[\d.]{1,14}) IOPS\])?(?P<threads>)(?P<latency>)"
)
_DRIVE = re.compile(r"^[^\w\n]{0,60}Test ?: .{1,60}\[(.{1,80}?) \d{1,3}(?:\.\d)? ?%", re.MULTILINE)
_POWERS = {"K": 1, "M": 2, "G": 3}
_WAYS = {"Read": "read", "Write": "write", "Mix": "both"}
_MEGABYTES = (1e6, 1.024e6)
"""What MB may be."""


def recognizes(text: str) -> bool:
    """Whether a text has a test as these tools print it."""
    lines = (line for line in text.splitlines() if "MB/s" in line)
    return ("(Q=" in text or "(QD=" in text) and any(
        _TEST.match(line) or _TEST_OF_3.match(line) for line in lines
    )


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one report, or several one after another; ImportProblemError says what is wrong with it."""
    cases: list[Case] = []
    left: list[str] = []
    way: str | None = None
    for number, line in enumerate(text.splitlines(), start=1):
        if below := _WAY.match(line):
            way = below[1]
        elif test := _TEST.match(line) or _TEST_OF_3.match(line):
            said = test["way"] or way
            if said is None:
                raise ImportProblemError(f"line {number}: no '[Read]' or '[Write]' above this test")
            cases.append(_case(test, said))
            if "MB/s" in line[test.end() :]:
                left.append(f"line {number}: a second result beside the first, which is the one that is read")
            refuse_too_many(cases)
    if not cases:
        raise ImportProblemError("no test of CrystalDiskMark like 'SEQ 1MiB (Q= 8, T= 1): 5024.997 MB/s'")
    title, drive = _TITLE.search(text), _DRIVE.search(text)
    return Measurement(
        tool=title[1] if title else "CrystalDiskMark",
        version=title[2] if title else None,
        cases=tuple(cases),
        source=source,
        not_understood=tuple(left),
        raw={"drive": drive[1] if drive else None},
    )


def _case(test: re.Match[str], way: str) -> Case:
    block = int(test["block"]) * 1024 ** _POWERS[test["unit"][0]] if test["block"] else None
    queues, threads = int(test["queues"] or 1), int(test["threads"] or 1)
    rate, iops = float(test["rate"]), float(test["iops"]) if test["iops"] else None
    megabyte = _MEGABYTES[0]
    if iops and block:
        counted = iops * block
        megabyte = min(_MEGABYTES, key=lambda each: abs(rate * each - counted))
    is_random = test["order"].startswith("R")
    size = f"{test['block']} {test['unit']} " if test["block"] else ""
    return Case(
        name=f"{'random' if is_random else 'sequential'} {_WAYS[way]} {size}Q{queues} T{threads}",
        direction=_WAYS[way],
        block_bytes=block,
        queue_depth=queues * threads,
        workers=threads,
        bandwidth_bytes_per_s=rate * megabyte,
        operations_per_s=iops,
        latency=Latency(mean_ns=1e3 * float(test["latency"])) if test["latency"] else None,
        raw={"random": is_random, "line": test[0].strip()},
    )
