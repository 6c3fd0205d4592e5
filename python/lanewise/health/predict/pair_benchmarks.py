"""What is run between two devices: large writes and reads of a peer's memory, and one small write at a time.

GPUs that are known as a part copy with their copy engines, everything else by plain DMA: a network adapter
writes what it receives into a GPU and reads from it what it sends, a drive does the same with what is read
and written. Sizes are those of perftest and nvbandwidth; 4 KiB is a page.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.health.predict.benchmarks import LARGE, Benchmark, copy, dma
from lanewise.machine.parts import gpu_part

if TYPE_CHECKING:
    from lanewise.machine.model import Function

SMALL = 4096
"""Bytes of the write whose latency is told."""
_SETTLE_US, _MEASURE_US = 12, 24
"""Such runs are periodic after a moment: twice the time moves no rate by more than 0.2 %."""

Overrides = tuple[tuple[str, str], ...]


def large(function: Function, peer: Function, direction: str, overrides: Overrides = ()) -> Benchmark:
    """Make the benchmark of a device that moves data by itself: "write" into its peer, or "read" from it."""
    copies = function.is_gpu and gpu_part(function) is not None
    workload = copy(function, direction, peer) if copies else dma(function, direction, LARGE, target=peer)
    return Benchmark(
        f"{direction} {peer.address.short}",
        function,
        workload,
        direction,
        _SETTLE_US,
        _MEASURE_US,
        overrides,
        peer=peer,
    )


def exchange(function: Function, peer: Function, overrides: Overrides = ()) -> Benchmark:
    """Make the benchmark of two devices that write into each other at the same time, each as in `large`."""
    back = large(peer, function, "write").workload
    return replace(large(function, peer, "write", overrides), beside=(back,))


def small(function: Function, peer: Function, overrides: Overrides = ()) -> Benchmark:
    """Make the benchmark of one write of 4 KiB after another."""
    workload = dma(function, "write", SMALL, outstanding=1, target=peer)
    return Benchmark(
        f"write 4 KiB {peer.address.short}",
        function,
        workload,
        "write",
        _SETTLE_US,
        _MEASURE_US,
        overrides,
        quantity="latency",
        peer=peer,
    )
