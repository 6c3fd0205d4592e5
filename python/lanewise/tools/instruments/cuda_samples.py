"""Reads what the CUDA samples `bandwidthTest` and `p2pBandwidthLatencyTest` print, also both in one capture.

`bandwidthTest` copies 32 MB of pinned memory one way at a time. `p2pBandwidthLatencyTest` copies between each
two GPUs, with and without peer access, one way and both ways at once; its bidirectional matrices count both
directions together. GB/s are decimal in both, as of CUDA 10; `bandwidthTest` before divided by 2^20 and
printed MB/s, which is said by the heading of its table. Rows of the matrices are the GPU whose copy engine is
used, columns its peer. Shell prompts and other text around the outputs are skipped, and so is what pages add
to a heading (``### ``, the setting in parentheses). A bare matrix with GPU names and an arrow in its corner
is read as unidirectional peer copies, as people paste it.

Source: NVIDIA/cuda-samples, Samples/1_Utilities/bandwidthTest and
Samples/5_Domain_Specific/p2pBandwidthLatencyTest.
"""

from __future__ import annotations

import re
from itertools import chain, dropwhile, islice
from typing import TYPE_CHECKING

from lanewise.tools.instruments.measurement import Case, ImportProblemError, Latency, Measurement, bounded

if TYPE_CHECKING:
    from collections.abc import Iterator

_SECTION = re.compile(
    r"^\s*(Host to Device|Device to Host|Device to Device) Bandwidth, (\d+) Device"
    r"(?:\(s\), (Paged|Pinned) memory)?"
)
"""NVIDIA's sample for OpenCL names the memory there."""
_MEMORY = {"Paged": "pageable", "Pinned": "pinned"}
_SECTIONS = re.compile(
    r"^[ \t]*+(?:Host to Device|Device to Host|Device to Device) Bandwidth, \d{1,3} Device", re.MULTILINE
)
_COLUMNS = re.compile(r"Transfer Size \(Bytes\)\s+Bandwidth\((GB/s|MB/s)\)")
_CSV = re.compile(
    r"^bandwidthTest-(H2D|D2H|D2D)(?:-(\w+))?, Bandwidth = ([\d.]+) (GB/s|MB/s), .*Size = (\d+) bytes"
)
_WAYS = {"H2D": "Host to Device", "D2H": "Device to Host", "D2D": "Device to Device"}
_PAIR = re.compile(r"^\s*(\d+)\s+(\d+(?:\.\d+)?)\s*$")
_MATRIX = re.compile(
    r"^(?:#{2,6} |\*\*)?(?P<way>Unidirectional|Bidirectional) P2P=(?P<peer>Enabled|Disabled) (?:Bandwidth )?"
    r"(?:\(P2P (?P<kind>Write|Read)s\) )?Matrix"
    r"(?: \((?![^()\n]{0,80}(?:[Mm]B/s|[Gg]i|b/s|bps))[^()\n]{0,80}\))?[ \t:*]*+$"
    r"|^(?:#{2,6} |\*\*)?P2P=(?P<peer2>Enabled|Disabled) (?P<what2>Latency)"
    r"(?: \(P2P (?P<kind2>Write|Read)s\))? Matrix \(us\)"
)
_PEER_DEVICE = re.compile(
    r"^Device: (\d+), (.+), pciBusID: ([0-9a-fA-F]+), pciDeviceID: ([0-9a-fA-F]+), "
    r"pciDomainID: ?([0-9a-fA-F]+)"
)
_PEER_TITLE = "P2P (Peer-to-Peer) GPU Bandwidth Latency Test"
_NO_ACCESS = re.compile(r"^Device=(\d{1,3}) CANNOT Access Peer Device=(\d{1,3})")
_TEST_DEVICE = re.compile(r"^\s*Device (\d+): (\S.*)$")
_CORNER = re.compile(r"^[ \t]*+Dst\S*+[ \t]++((?:GPU)?\d{1,3}(?:[ \t]++(?:GPU)?\d{1,3})*+)[ \t]*+$")
_GPU_ROW = re.compile(r"^[ \t]*+GPU(\d{1,3}):?[ \t]++(.*+)$")
_BEFORE_MATRIX = re.compile(r"^[ \t]*+(?:```\w*+[ \t]*+)?$")
"""Lines that pages have between a heading and its matrix."""


def recognizes(text: str) -> bool:
    """Whether an output has something of either sample."""
    return bool(
        "[CUDA Bandwidth Test]" in text
        or _SECTIONS.search(text)
        or "bandwidthTest-H2D" in text
        or "bandwidthTest-D2H" in text
        or _PEER_TITLE in text
        or re.search(r"^[ \t]*+(?:Dst|D\\D)\S*+[ \t]++(?:GPU)?0[ \t]++(?:GPU)?1", text, re.MULTILINE)
    )


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one capture; ImportProblemError says what is wrong with it."""
    lines = text.splitlines()
    devices = _addresses(lines)
    cases = [*bounded(chain(_copies(lines), _matrices(lines), _bare_matrix(lines)))]
    if not cases:
        raise ImportProblemError(
            "no table of bandwidthTest and no matrix of p2pBandwidthLatencyTest found; expected lines like "
            "'Host to Device Bandwidth, 1 Device(s)' or 'Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)'"
        )
    of_copies = any("Device Bandwidth" in line or "bandwidthTest-" in line for line in lines)
    tool = "bandwidthTest" if of_copies else "p2pBandwidthLatencyTest"
    return Measurement(
        tool=tool,
        version=None,
        cases=tuple(cases),
        source=source,
        raw={"devices": devices, "device names": _names(lines)},
    )


def _addresses(lines: list[str]) -> dict[int, str]:
    """Address of each GPU that the peer test lists, like ``0000:c1:00.0``; its numbers are hexadecimal."""
    found = {}
    for line in lines:
        if match := _PEER_DEVICE.match(line):
            index, _, bus, device, domain = match.groups()
            found[int(index)] = f"{int(domain, 16):04x}:{int(bus, 16):02x}:{int(device, 16):02x}.0"
    return found


def _names(lines: list[str]) -> list[str]:
    """Return what both samples call the GPUs."""
    found = [
        (match[2] for line in lines if (match := form.match(line))) for form in (_PEER_DEVICE, _TEST_DEVICE)
    ]
    return sorted({name.strip() for names in found for name in names})


def _copies(lines: list[str]) -> Iterator[Case]:
    """Tables of bandwidthTest."""
    section, memory, unit, device, name = None, "", 1e9, "0", ""
    for line in lines:
        if match := _CSV.match(line.strip()):
            yield _csv_case(match, device, name)
        elif match := _SECTION.match(line):
            section, memory = match[1], _MEMORY.get(match[3] or "", memory)
        elif "Memory Transfers" in line:
            memory = line.split()[0].lower()
        elif match := _COLUMNS.search(line):
            unit = 1e9 if match[1] == "GB/s" else float(1 << 20)
        elif (match := _TEST_DEVICE.match(line)) and section is None:
            device, name = match.groups()
        elif (match := _PAIR.match(line)) and section:
            size, value = int(match[1]), float(match[2])
            yield Case(
                name=f"{section} {size} B",
                direction={"Host to Device": "write", "Device to Host": "read"}.get(section),
                target=f"GPU {device}",
                block_bytes=size,
                queue_depth=1,
                bandwidth_bytes_per_s=unit * value,
                raw={"memory": memory, "test": section, "device": name.strip()},
            )
        elif line.startswith("Result ="):
            section = None


def _csv_case(match: re.Match[str], device: str, name: str) -> Case:
    """Read a line of ``--csv``: way, memory, bandwidth, time, size."""
    way, memory, value, unit, size = match.groups()
    section = _WAYS[way]
    return Case(
        name=f"{section} {size} B",
        direction={"H2D": "write", "D2H": "read"}.get(way),
        target=f"GPU {device}",
        block_bytes=int(size),
        queue_depth=1,
        bandwidth_bytes_per_s=float(value) * (1e9 if unit == "GB/s" else float(1 << 20)),
        raw={"memory": (memory or "").lower(), "test": section, "device": name.strip()},
    )


def _matrices(lines: list[str]) -> Iterator[Case]:
    """Matrices of p2pBandwidthLatencyTest, without the diagonal: that is the GPU's own memory.

    Pairs that cannot access each other are copied by way of the host in both kinds of matrices. Each run has
    its own list of GPUs.
    """
    starts = [0, *(number for number, line in enumerate(lines) if number and _PEER_TITLE in line)]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield from _matrices_of_run(lines[start:end])


def _matrices_of_run(lines: list[str]) -> Iterator[Case]:
    devices = _addresses(lines)
    names = {int(match[1]): match[2].strip() for line in lines if (match := _PEER_DEVICE.match(line))}
    apart = {(int(found[1]), int(found[2])) for line in lines if (found := _NO_ACCESS.match(line))}
    for number, line in enumerate(lines):
        match = _MATRIX.match(line)
        if match is None:
            continue
        peer = match["peer"] or match["peer2"]
        latency = match["what2"] is not None
        reads = "Read" in (match["kind"], match["kind2"])
        rows = dropwhile(_BEFORE_MATRIX.match, islice(lines, number + 1, None))
        for row, column, value in _cells(rows):
            if row == column:
                continue
            way = "latency" if latency else match["way"].lower()
            yield Case(
                name=f"{way} P2P={peer}{' reads' if reads else ''} GPU{row} GPU{column}",
                direction="ping-pong"
                if latency
                else "both"
                if way == "bidirectional"
                else "read"
                if reads
                else "write",
                target=f"{devices.get(row, f'GPU {row}')} -> {devices.get(column, f'GPU {column}')}",
                bandwidth_bytes_per_s=None if latency else 1e9 * value,
                latency=Latency(mean_ns=1e3 * value) if latency else None,
                raw={
                    "test": way,
                    "peer_access": peer == "Enabled" and (row, column) not in apart,
                    "row": row,
                    "column": column,
                    **(
                        {"device": tuple(names[end] for end in (row, column) if end in names)}
                        if names
                        else {}
                    ),
                },
            )


def _cells(lines: Iterator[str]) -> Iterator[tuple[int, int, float]]:
    """Row, column and value below a heading of column numbers; ends at the first line that is no row."""
    columns = [word for word in next(lines, "").split()[1:] if word.isdigit()]
    for line in lines:
        words = line.split()
        if len(words) != len(columns) + 1 or not words[0].isdigit():
            return
        for column, word in zip(columns, words[1:], strict=True):
            try:
                yield int(words[0]), int(column), float(word)
            except ValueError:
                continue


def _bare_matrix(lines: list[str]) -> Iterator[Case]:
    """Read a matrix of peer bandwidth with GPU names, without the tool's headings.

    Its rows are those below its corner: `nvidia-smi topo -m` has rows with the same names.
    """
    columns: list[str] = []
    for line in lines:
        if corner := _CORNER.match(line):
            columns = [word.removeprefix("GPU") for word in corner[1].split()]
            continue
        match = _GPU_ROW.match(line)
        if match is None:
            columns = []
            continue
        row = int(match[1])
        for column, word in zip(map(int, columns), match[2].split(), strict=False):
            try:
                value = float(word)
            except ValueError:
                continue
            yield Case(
                name=f"unidirectional GPU{row} GPU{column}",
                direction="write",
                target=f"GPU {row} -> GPU {column}",
                bandwidth_bytes_per_s=1e9 * value,
                raw={"test": "unidirectional", "peer_access": True, "row": row, "column": column},
            )
