"""What collective operations take on links that do nothing but carry bytes.

All times are in us, sizes in bytes, rates in GB/s of payload, one direction. A link carries one thing after
another; what has arrived goes on after `hop_us`, the latency of the path and what the kernels take together.
A rank sends to one other rank over a link of its own, unless said otherwise, and receives over another.

Sources: Patarasuk and Yuan, J. Parallel Distrib. Comput. 69 (2009), for rings; Sanders, Speck and Träff,
Parallel Computing 35 (2009), for trees and pipelines; NVIDIA/nccl-tests, doc/PERFORMANCE.md, for bus
bandwidths; lines of LL and LL128 in NVIDIA/nccl, src/include/device.h.
"""

from __future__ import annotations

import math
from typing import Literal

Ringed = Literal["all-reduce", "reduce-scatter", "all-gather"]


def steps(operation: Ringed, ranks: int) -> int:
    """Return how often each rank of a ring sends a part: all but one go round, for an all-reduce twice."""
    return (2 if operation == "all-reduce" else 1) * (ranks - 1)


def bus_factor(operation: str, ranks: int) -> float:
    """Return bus bandwidth over algorithm bandwidth: what each rank has to send at least, over the size."""
    if operation == "all-reduce":
        return 2 * (ranks - 1) / ranks
    return (ranks - 1) / ranks if operation in ("reduce-scatter", "all-gather", "all-to-all") else 1.0


def on_wire(protocol: Literal["simple", "ll", "ll128"], size: float) -> float:
    """Return the bytes that travel with flags: LL has one of 4 B for 4 B, LL128 one of 8 B for 120 B."""
    return size * {"simple": 1.0, "ll": 2.0, "ll128": 128 / 120}[protocol]


def _us(size: float, rate: float) -> float:
    return size / rate / 1e3


def ring(operation: Ringed, *, ranks: int, size: float, rate: float, hop_us: float, pieces: int = 1) -> float:
    """Return the time of an operation round a ring, whose parts travel in so many pieces.

    Pieces are slices of a chunk, one behind the other. While one is between arriving and going on, the others
    are on the link: with enough of them it is never idle, and of all hops the last one shows. Channels add no
    pieces: they share the link packet by packet, and their parts arrive at the same time.
    """
    part, count = _us(size / ranks, rate), steps(operation, ranks)
    piece = part / pieces
    period = max(part, piece + hop_us)
    return (count - 1) * period + part + hop_us


def chain(*, ranks: int, size: float, chunk: float, rate: float, hop_us: float) -> float:
    """Return the time of a broadcast or a reduction along a ring, chunk after chunk."""
    return _us(size, rate) + hop_us + (ranks - 2) * (_us(min(chunk, size), rate) + hop_us)


def all_to_all(*, ranks: int, size: float, rate: float, hop_us: float) -> float:
    """Return the time in which every rank sends a part to each other, whose links all start at once."""
    return _us(size * (ranks - 1) / ranks, rate) + hop_us


def send_receive(*, size: float, rate: float, hop_us: float) -> float:
    """Return the time in which every rank sends all its data to the next."""
    return _us(size, rate) + hop_us


def tree_of_two(*, size: float, chunk: float, rate: float, hop_us: float) -> float:
    """Return the time of an all-reduce of two ranks, up and down at the same time."""
    return _us(size, rate) + hop_us + _us(min(chunk, size), rate) + hop_us


def tree_chain_at_least(*, size: float, rate: float) -> float:
    """Return a bound of an all-reduce up and down a chain: those within it send all data twice."""
    return _us(2 * size, rate)


def through_memory(
    *, size: float, chunk: float, write_rate: float, read_rate: float, read_us: float, hop_us: float
) -> float:
    """Return the time of a send that is written into memory of the host and read there, chunk after chunk.

    Writes and reads use opposite directions of links. The receiver reads one chunk after another, each
    after ``read_us``, what a read of nothing takes; when it knows of no other chunk it reads their counter
    first, which takes as long and says how many were there when it was asked for. ``hop_us`` is all else.

    Source: ``waitPeer`` in device/prims_simple.h and ``shmRecvConnect`` in transport/shm.cc of NVIDIA/nccl.
    """
    write, read = _us(chunk, write_rate), read_us + _us(chunk, read_rate)
    now, known = 0.0, 0
    for number in range(math.ceil(size / chunk)):
        if number == known:
            now = max(now, (number + 1) * write)
            known, now = int(now / write + 1e-9), now + read_us
        now += read
    return now + hop_us
