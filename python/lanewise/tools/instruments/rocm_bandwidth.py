"""Reads what AMD's rocm_bandwidth_test prints: matrices of copy bandwidth between processors and GPUs.

Rows are the device that is copied from, columns the one copied to; processors are devices too, and GPUs are
listed with their address. GB/s are decimal. A bidirectional number counts both directions, and stands in both
halves of its matrix. Left out: what a device copies within itself, and the matrices of access and NUMA
distance. Source: ROCm/rocm_bandwidth_test 1.0 to 2.6, outputs and `rocm_bandwidth_test_report.cpp`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.tools.instruments.measurement import Case, ImportProblemError, Measurement, bounded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

_VERSION = re.compile(r"RocmBandwidthTest Version: ([\d.]+)")
_DEVICE = re.compile(r"^\s*Device: (\d+),\s+(.*)$")
_ADDRESS = re.compile(r"(?:([0-9a-f]{4}):)?\b([0-9a-f]{2}):([0-9a-f]{1,2})\.([0-7])\s*$")
_TITLE = re.compile(
    r"^[ \t]*+(Unidirectional|Bi?directional) (?:copy )?peak bandwidth GB/s[ \t]*+$", re.MULTILINE
)


def recognizes(text: str) -> bool:
    """Whether a text looks like an output of rocm_bandwidth_test."""
    return "RocmBandwidthTest Version" in text or bool(_TITLE.search(text))


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output; ImportProblemError says what is wrong with it."""
    lines = [line for line in text.splitlines() if line.strip()]
    devices = {int(match[1]): match[2] for line in lines if (match := _DEVICE.match(line))}
    addresses = {index: address for index, words in devices.items() if (address := _address(words))}
    version = _VERSION.search(text)
    names = _Names(addresses, _processors(lines, devices, addresses))
    cases = tuple(bounded(_cases(lines, names)))
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


@dataclass(frozen=True)
class _Names:
    """What the devices of an output are."""

    addresses: Mapping[int, str]
    processors: Collection[int]
    """Numbers of those that are no GPUs."""

    def of(self, index: int) -> str:
        """Return the address of a GPU; without one its number among GPUs, which come behind processors."""
        before = sum(processor < index for processor in self.processors)
        return self.addresses.get(index, f"GPU {index - before}")


def _processors(lines: list[str], devices: Mapping[int, str], addresses: Mapping[int, str]) -> set[int]:
    """Return which devices are processors: without an address, by name, or copying nothing to themselves.

    The oldest versions give no addresses, and people leave out the list of devices.
    """
    if addresses:
        return {index for _, row, columns, _ in _rows(lines) for index in (row, *columns)} - addresses.keys()
    if devices:
        words = ("CPU", "Processor", "EPYC", "Xeon", "Core(TM)")
        return {index for index, name in devices.items() if any(word in name for word in words)}
    return {
        row
        for way, row, columns, cells in _rows(lines)
        if way == "unidirectional" and row in columns and cells[columns.index(row)] == "N/A"
    }


def _rows(lines: list[str]) -> Iterator[tuple[str, int, list[int], list[str]]]:
    """Return each row of the matrices: which matrix, the number, those of the columns, and the cells."""
    way: str | None = None
    columns: list[int] = []
    for line in lines:
        words = line.split()
        if match := _TITLE.match(line):
            way, columns = match[1].lower(), []
        elif words[0] == "D/D" and way:
            columns = [int(word) for word in words[1:] if word.isdigit()]
        elif columns and way and words[0].isdigit() and len(words) == len(columns) + 1:
            yield way, int(words[0]), columns, words[1:]
        elif columns:
            way = None


def _cases(lines: list[str], names: _Names) -> Iterator[Case]:
    for way, row, columns, cells in _rows(lines):
        for column, cell in zip(columns, cells, strict=True):
            case = _case(way, row, column, cell, names)
            if case is not None:
                yield case


def _case(way: str, row: int, column: int, word: str, names: _Names) -> Case | None:
    try:
        value = float(word)
    except ValueError:
        return None
    both = way != "unidirectional"
    ends = [end for end in (row, column) if end not in names.processors]
    if row == column or (both and column < row) or not ends:
        return None
    from_gpu_to_processor = ends == [row]
    return Case(
        name=f"{'bidirectional' if both else way} {row} {column}",
        direction="both" if both else "read" if from_gpu_to_processor else "write",
        target=" -> ".join(map(names.of, ends)),
        bandwidth_bytes_per_s=1e9 * value,
        raw={"test": way, "row": row, "column": column},
    )
