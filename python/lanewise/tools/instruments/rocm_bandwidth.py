"""Reads what AMD's rocm_bandwidth_test prints: matrices of copy bandwidth between processors and GPUs.

Rows are the device that is copied from, columns the one copied to; processors are devices too, and GPUs are
listed with their address. GB/s are decimal. A bidirectional number counts both directions, and stands in both
halves of its matrix. Left out: what a device copies within itself, and the matrices of access and NUMA
distance. Source: ROCm/rocm_bandwidth_test 1.0 to 2.6, outputs and `rocm_bandwidth_test_report.cpp`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.tools.instruments.measurement import Case, ImportProblemError, Measurement, bounded

if TYPE_CHECKING:
    from collections.abc import Iterator

_VERSION = re.compile(r"RocmBandwidthTest Version: ([\d.]+)")
_DEVICE = re.compile(r"^\s*Device: (\d+),\s+(.*)$")
_ADDRESS = re.compile(r"(?:([0-9a-f]{4}):)?\b([0-9a-f]{2}):([0-9a-f]{1,2})\.([0-7])\s*$")
_TITLE = re.compile(r"^\s*(Unidirectional|Bi?directional) (?:copy )?peak bandwidth GB/s")


def recognizes(text: str) -> bool:
    """Whether a text looks like an output of rocm_bandwidth_test."""
    return "RocmBandwidthTest Version" in text or bool(_TITLE.search(text))


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output; ImportProblemError says what is wrong with it."""
    lines = [line for line in text.splitlines() if line.strip()]
    devices = {int(match[1]): match[2] for line in lines if (match := _DEVICE.match(line))}
    addresses = {index: address for index, words in devices.items() if (address := _address(words))}
    version = _VERSION.search(text)
    cases = tuple(bounded(_cases(lines, devices, addresses)))
    if not cases:
        raise ImportProblemError(
            "no matrix of rocm_bandwidth_test found: expected 'Unidirectional copy peak bandwidth GB/s'"
        )
    return Measurement(
        tool="rocm_bandwidth_test",
        version=version[1] if version else None,
        cases=cases,
        source=source,
        raw={"devices": devices},
    )


def _address(words: str) -> str | None:
    """Read ``19:0.0`` at the end of a device's line: bus, device and function, the domain only if not 0."""
    match = _ADDRESS.search(words)
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{domain or '0000'}:{bus}:{int(device, 16):02x}.{function}"


def _cases(lines: list[str], devices: dict[int, str], addresses: dict[int, str]) -> Iterator[Case]:
    way: str | None = None
    columns: list[int] = []
    for line in lines:
        words = line.split()
        if match := _TITLE.match(line):
            way, columns = match[1].lower(), []
        elif words[0] == "D/D" and way:
            columns = [int(word) for word in words[1:] if word.isdigit()]
        elif columns and way and words[0].isdigit() and len(words) == len(columns) + 1:
            for column, word in zip(columns, words[1:], strict=True):
                case = _case(way, int(words[0]), column, word, devices, addresses)
                if case is not None:
                    yield case
        elif columns:
            way = None


def _case(
    way: str, row: int, column: int, word: str, devices: dict[int, str], addresses: dict[int, str]
) -> Case | None:
    try:
        value = float(word)
    except ValueError:
        return None
    both = way != "unidirectional"
    if row == column or (both and column < row) or (addresses and not {row, column} & addresses.keys()):
        return None
    ends = [end for end in (row, column) if not _is_processor(end, devices, addresses)]
    names = [addresses.get(end, f"device {end}") for end in ends]
    from_gpu_to_processor = ends == [row]
    return Case(
        name=f"{'bidirectional' if both else way} {row} {column}",
        direction="both" if both else "read" if from_gpu_to_processor else "write",
        target=" -> ".join(names),
        bandwidth_bytes_per_s=1e9 * value,
        raw={"test": way, "row": row, "column": column},
    )


def _is_processor(index: int, devices: dict[int, str], addresses: dict[int, str]) -> bool:
    """Whether a device is a processor; the oldest versions give no addresses, and then only names tell."""
    if addresses:
        return index not in addresses
    words = devices.get(index, "")
    return any(word in words for word in ("CPU", "Processor", "EPYC", "Xeon", "Core(TM)"))
