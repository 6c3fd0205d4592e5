"""Reads what nccl-tests and RCCL tests print: a table of sizes, with the bandwidth of each collective.

The bus bandwidth counts what each GPU sends over its slowest connection, so that it can be set beside a link;
both bandwidths are in 10^9 B/s. The first time, algorithm and bus bandwidth of a row are out of place, which
is what is read. Lines may stand behind a rank (``0: ``). Source: NVIDIA/nccl-tests, `doc/PERFORMANCE.md`, and
outputs of versions of 2021 to 2025.
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

_COLUMNS = re.compile(r"#[ \t]++size[ \t]++count[ \t]++type\b[^\n]{0,80}\balgbw[ \t]++busbw", re.MULTILINE)
_RANK_BEFORE = re.compile(r"^[ \t]{0,8}\d{1,5}:[ \t]")
_ROW = re.compile(
    r"[ \t]*+(\d{1,15})[ \t]++(\d{1,15})[ \t]++(\w{1,20})[ \t]++(?:(\w{1,20})[ \t]++)?(?:(-?\d{1,5})[ \t]++)?"
    r"([\d.]{1,16})[ \t]++([\d.]{1,12})[ \t]++([\d.]{1,12})[ \t]"
)
_DEVICE = re.compile(
    r"#[ \t]++Rank[ \t]++(\d{1,5})\b.{0,60}? on[ \t]++(\S{1,80}) device[ \t]++(\d{1,3}) "
    r"\[([^\]]{1,20})\][ \t]*+(.{0,80})"
)
_NAMED = re.compile(
    r"\b(all_reduce|all_gather|reduce_scatter|alltoall|broadcast|reduce|gather|scatter|sendrecv)_perf\b"
)
_VERSION = re.compile(r"nccl-tests version ([\d.]{1,16})")


def recognizes(text: str) -> bool:
    """Whether a text looks like an output of these tests."""
    return _COLUMNS.search(text) is not None


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output; ImportProblemError says what is wrong with it."""
    cases: list[Case] = []
    left: list[str] = []
    below, hosts, devices, names = False, set(), [], []
    named = _NAMED.search(text)
    test = named[1] if named else "collective"
    for number, written in enumerate(text.splitlines(), start=1):
        line = _RANK_BEFORE.sub("", written)
        if _COLUMNS.search(line):
            below = True
        elif device := _DEVICE.search(line):
            hosts.add(device[2])
            devices.append(_address(device[4]))
            names.append(device[5].strip())
        elif below and (row := _ROW.match(line)):
            cases.append(_case(test, row))
            refuse_too_many(cases)
        elif line.strip() and not line.lstrip().startswith("#") and " NCCL " not in line:
            left.append(f"line {number}: {line.strip()[:120]}")
    if not cases:
        raise ImportProblemError("no row of sizes under '#  size  count  type ... algbw  busbw'")
    version = _VERSION.search(text)
    return Measurement(
        tool="nccl-tests",
        version=version[1] if version else None,
        cases=tuple(cases),
        source=source,
        not_understood=tuple(left),
        raw={"hosts": sorted(hosts), "devices": devices, "device names": names},
    )


def _address(text: str) -> str | None:
    """Read a bus (``0x07``), or domain, bus and device (``000f:01:00``)."""
    words = text.removeprefix("0x").split(":")
    try:
        numbers = [int(word, 16) for word in words]
    except ValueError:
        return None
    if len(numbers) == 1:
        return f"0000:{numbers[0] & 0xFF:02x}:00.0"
    return (
        f"{numbers[0]:04x}:{numbers[1] & 0xFF:02x}:{numbers[2] & 0x1F:02x}.0" if len(numbers) == 3 else None
    )


def _case(test: str, row: re.Match[str]) -> Case:
    size = int(row[1])
    try:
        time_us, algorithm, bus = float(row[6]), float(row[7]), float(row[8])
    except ValueError as error:
        raise ImportProblemError(f"{test} {size} B: {error}") from error
    return Case(
        name=f"{test} {size} B",
        direction="write",
        block_bytes=size,
        queue_depth=1,
        bandwidth_bytes_per_s=1e9 * bus,
        latency=Latency(mean_ns=1e3 * time_us),
        raw={"test": test, "type": row[3], "redop": row[4], "algbw": algorithm, "busbw": bus},
    )
