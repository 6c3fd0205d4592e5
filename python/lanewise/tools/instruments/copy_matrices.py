"""Writes copies between devices as nvbandwidth and p2pBandwidthLatencyTest print them.

What is not simulated has no number: N/A on nvbandwidth's diagonals, as it prints them itself, and nan on
those of p2pBandwidthLatencyTest, where real ones have copies within a GPU. So it is of pairs that cannot
copy directly, where a real p2pBandwidthLatencyTest has copies by way of host memory. Matrices without
peer access, and those of the time that the host takes to queue a copy, are left out. Rows are the device
whose copy engine is used.
Source: nvbandwidth 0.8, `output.cpp`, `inline_common.h` and `testcases_ce.cpp`; NVIDIA/cuda-samples,
Samples/5_Domain_Specific/p2pBandwidthLatencyTest.
"""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING

from lanewise import _core
from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lanewise.runs.copy_matrix import Copies, CopyMatrix, Device

    Cells = Sequence[Sequence[float | None]]

WRITTEN = ("nvbandwidth", "p2p")
"""Tools whose output a matrix can take the form of."""


def both_writes(pair: Copies) -> float:
    """Return what two devices write to each other at the same time, together, GB/s."""
    return pair.both_write_first_gb_per_s + pair.both_write_second_gb_per_s


_PEER_TESTS: dict[str, dict[str, Callable[[Copies], float]]] = {
    "device_to_device_memcpy_read_ce": {"GPU(row) <- GPU(column)": lambda pair: pair.read_gb_per_s},
    "device_to_device_memcpy_write_ce": {"GPU(row) -> GPU(column)": lambda pair: pair.write_gb_per_s},
    "device_to_device_bidirectional_memcpy_read_ce": {
        "GPU(row) <-> GPU(column) Read1": lambda pair: pair.both_read_first_gb_per_s,
        "GPU(row) <-> GPU(column) Read2": lambda pair: pair.both_read_second_gb_per_s,
        "GPU(row) <-> GPU(column) Total": lambda pair: (
            pair.both_read_first_gb_per_s + pair.both_read_second_gb_per_s
        ),
    },
    "device_to_device_bidirectional_memcpy_write_ce": {
        "GPU(row) <-> GPU(column) Write1": lambda pair: pair.both_write_first_gb_per_s,
        "GPU(row) <-> GPU(column) Write2": lambda pair: pair.both_write_second_gb_per_s,
        "GPU(row) <-> GPU(column) Total": both_writes,
    },
}


def write_as(tool: str, matrix: CopyMatrix) -> str:
    """Return a matrix as the output of a tool; InputError for one that is not known."""
    check_known(tool)
    return write_nvbandwidth(matrix) if tool == "nvbandwidth" else write_p2p(matrix)


def check_known(tool: str) -> None:
    """Raise InputError unless this tool's output can be written."""
    if tool not in WRITTEN:
        raise InputError(f"there is no output format '{tool}'; there are {', '.join(WRITTEN)}")


def write_nvbandwidth(matrix: CopyMatrix) -> str:
    """Write the tests with copy engines between host and devices, and between devices."""
    lines = [f"nvbandwidth Version: {_simulated(matrix)}", ""]
    lines += [f"Device {each.number}: {each.name} ({_bus_id(each)})" for each in matrix.devices]
    lines.append("")
    for name, arrow, rates in (
        ("host_to_device_memcpy_ce", "->", [each.to_device_gb_per_s for each in matrix.devices]),
        ("device_to_host_memcpy_ce", "<-", [each.to_host_gb_per_s for each in matrix.devices]),
    ):
        lines += _test(name, {f"CPU(row) {arrow} GPU(column)": [rates]})
    for name, parts in _PEER_TESTS.items():
        lines += _test(name, {words: _square(matrix, figure) for words, figure in parts.items()})
    return "\n".join(lines)


def _test(name: str, matrices: dict[str, Cells]) -> Iterator[str]:
    yield f"Running {name}."
    for words, cells in matrices.items():
        part = words.rpartition(" ")[2].lower()
        key = f"{name}_{part}" if len(matrices) > 1 else name
        yield f"memcpy CE {words} bandwidth (GB/s)"
        yield "  " + "".join(f"{column:10}" for column in range(len(cells[0])))
        for row, values in enumerate(cells):
            yield f"{row:2}" + "".join(f"{'N/A':>10}" if each is None else f"{each:10.2f}" for each in values)
        yield ""
        yield f"SUM {key} {sum(each or 0.0 for values in cells for each in values):.2f}"
        yield ""


def write_p2p(matrix: CopyMatrix) -> str:
    """Write the matrices with peer access: one way, both ways together, latency of 16 B."""
    lines = ["[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]"]
    for each in matrix.devices:
        domain, bus, device = (int(part, 16) for part in each.address.partition(".")[0].split(":"))
        lines.append(
            f"Device: {each.number}, {each.name}, pciBusID: {bus:x}, pciDeviceID: {device:x}, "
            f"pciDomainID:{domain:x}"
        )
    count = range(len(matrix.devices))
    lines += ["", "P2P Connectivity Matrix", "     D\\D" + "".join(f"{column:6}" for column in count)]
    blocked = {(pair.first, pair.second) for pair in matrix.blocked}
    lines += [
        f"{row:6}\t" + "".join(f"{int((row, column) not in blocked):6}" for column in count) for row in count
    ]
    for title, corner, figure in (
        (
            "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)",
            "D\\D",
            lambda pair: pair.write_gb_per_s,
        ),
        ("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)", "D\\D", both_writes),
        ("P2P=Enabled Latency (P2P Writes) Matrix (us)", "GPU", lambda pair: pair.latency_us),
    ):
        lines += [title, f"   {corner}" + "".join(f"{column:6} " for column in count)]
        lines += [
            f"{row:6} " + "".join(f"{nan if each is None else each:6.2f} " for each in values)
            for row, values in enumerate(_square(matrix, figure))
        ]
    lines += [
        "",
        f"NOTE: {_simulated(matrix)}. Copies within a GPU, and those without peer access, are not. "
        f"A queued copy takes {matrix.queued_start} before its first request.",
        "",
    ]
    return "\n".join(lines)


def _square(matrix: CopyMatrix, figure: Callable[[Copies], float]) -> list[list[float | None]]:
    """Return rows of a figure of each pair; None on the diagonal, and for a pair that cannot copy."""
    size = len(matrix.devices)
    cells: list[list[float | None]] = [[None] * size for _ in range(size)]
    for pair in matrix.copies:
        cells[pair.first][pair.second] = figure(pair)
    return cells


def _simulated(matrix: CopyMatrix) -> str:
    """Say in one line that nothing was measured."""
    return f"simulated by Lanewise {_core.VERSION}: {' '.join(matrix.title.split())}"


def _bus_id(device: Device) -> str:
    """Write an address as NVIDIA's tools do, with a domain of eight digits and without the function."""
    return f"0000{device.address.partition('.')[0]}"
