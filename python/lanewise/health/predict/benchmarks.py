"""Which benchmark people run on a device of a class, in the simulator's words.

Storage is measured with fio (128 KiB sequentially, 4 KiB one at a time), network adapters at frame sizes and
with large RDMA writes, GPUs with copies from and to the host and to a peer, anything else with plain DMA.
Directions are those of the data on the link: a read from a drive is DMA towards the host, a copy from host to
GPU is a DMA read by the GPU.

Network adapters move frames through descriptor rings, with descriptors, completions and doorbells on the link
as well as the frames; processors and interrupts are never the limit. Large RDMA writes are plain DMA, which
adapters that are not known to do RDMA have under its own name. Source of sizes: RFC 2544 for frames, fio's,
nvbandwidth's and perftest's customary options.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from lanewise.machine.adapters import fastest_port
from lanewise.machine.drives import drive_part
from lanewise.machine.own_rate import send_buffer
from lanewise.machine.parts import gpu_part
from lanewise.machine.scenario import endpoint_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.machine.model import Function
    from lanewise.scenario.tables import Workload, WorkloadCopy, WorkloadFio, WorkloadRings

Direction: TypeAlias = Literal["read", "write", "both"]
"""Of the data on a link: read from memory, written to memory, or both."""

_FRAMES = (64, 1518, 9000)
SHORTEST_FRAME, LONGEST_FRAME = _FRAMES[0], _FRAMES[-1]
LARGE = 64 << 10
"""Bytes of a transfer that is large: the link decides, not how often one starts."""
_LONG_COPY = "1 GiB"
_OUTSTANDING = 16
"""Large transfers at a time. Assumed: enough that tags or the link are the limit."""
_BATCH = 32
"""Frames to a doorbell and a read of descriptors. Assumed: the burst of poll-mode drivers."""
_SMALL_WRITE = 64
_SMALL_WRITES = 256
"""Small writes in progress at a receiver. Assumed: enough that its link is the limit."""
_COPIES: dict[Direction, Literal["host-to-device", "device-to-host", "both"]] = {
    "read": "host-to-device",
    "write": "device-to-host",
    "both": "both",
}
_FRAMES_UNDER_WAY = 256 << 10
"""Bytes of frames in progress. Assumed: what the buffers of an adapter hold."""
_LEAST_SEND_BUFFER = 128 << 10
"""Bytes that an adapter of no known part can have on their way from memory, at least. Assumed: the least of
those in the catalog, which is that of adapters of 100 Gb/s.
"""
_READ_LATENCY_S = 2e-6
"""Time for which a send buffer has to last. Assumed: twice what an idle host takes for a read."""

_FAST_MEDIA = {
    "read_rate": "900 GB/s",
    "write_rate": "900 GB/s",
    "random_write_rate": "900 GB/s",
    "dies": "65536",
    "read_time": "1 us",
    "hit_time": "0 ns",
    "write_time": "0 ns",
    "command_time": "0 ns",
    "sector_time": "0 ns",
    "command_latency": "0 ns",
    "buffer": "64 MiB",
}
"""A drive that is never the limit."""


@dataclass(frozen=True)
class Benchmark:
    """One benchmark on one device."""

    name: str
    """As a person calls it."""
    function: Function
    workload: Workload
    direction: str
    """How the data goes on the device's link: read (from memory), write (to memory) or both."""
    settle_us: int
    measure_us: int
    overrides: tuple[tuple[str, str], ...] = ()
    quantity: str = "goodput"
    """goodput in GB/s, or latency in ns of one operation."""
    frame_bytes: int | None = None
    rdma: bool = False
    """Whether what `frame_bytes` are is the payload of RDMA writes, not of Ethernet frames."""
    peer: Function | None = None
    without_media: tuple[tuple[str, str], ...] = ()
    """Overrides that take the media out of a latency."""
    beside: tuple[Workload, ...] = ()
    """Workloads of other devices at the same time."""
    also: tuple[Function, ...] = ()
    """Other devices that its workload is about, like the second drive of one job of fio."""
    together: bool = False
    """Whether the benchmark is also run with all other devices at once; one of each direction is."""

    @property
    def parties(self) -> list[Function]:
        """Its device, the peer that it has, and the others of its workload."""
        return [self.function, *([self.peer] if self.peer else []), *self.also]

    @property
    def workloads(self) -> tuple[Workload, ...]:
        """Its own workload, and those beside it."""
        return (self.workload, *self.beside)


def benchmarks_of(function: Function, peers: list[Function]) -> Iterator[Benchmark]:
    """List the benchmarks for a device; `peers` are other devices of its kind to copy to."""
    if function.is_nvme:
        yield from _drive(function)
    elif function.is_nic:
        yield from _adapter(function)
    elif function.is_gpu:
        yield from _gpu(function, peers)
    else:
        yield from _plain(function)


def _drive(function: Function) -> Iterator[Benchmark]:
    fast = fast_media(function)
    known = drive_part(function) is not None
    settle_us, measure_us = (2000, 4000) if known else (200, 400)
    for word, direction in (("read", "write"), ("write", "read")):
        yield Benchmark(
            f"fio {word} 128 KiB",
            function,
            fio(function, word, "128 KiB", depth=8),
            direction,
            settle_us,
            measure_us,
            () if known else fast,
            without_media=fast,
            together=True,
        )
    yield Benchmark(
        "fio randread 4 KiB, queue depth 1",
        function,
        fio(function, "randread", "4 KiB", depth=1),
        "write",
        300,
        3000,
        quantity="latency",
        without_media=fast,
    )


def _adapter(function: Function) -> Iterator[Benchmark]:
    for size in _FRAMES:
        for word, direction in (("receive", "write"), ("send", "read")):
            yield Benchmark(
                f"{word} {size} B frames",
                function,
                _rings(function, word, size),
                direction,
                40,
                80,
                frame_bytes=size,
            )
    if function.does_rdma:
        yield from _small_writes(function)
    sides = ("RDMA write, receiver", "RDMA write, sender") if function.does_rdma else ("receive", "send")
    for word, direction in zip(sides, ("write", "read"), strict=True):
        name = f"{word} 64 KiB" if function.does_rdma else f"{word} 64 KiB, plain DMA"
        workload = dma(function, direction, LARGE)
        yield Benchmark(name, function, workload, direction, 30, 60, together=True)


def _small_writes(function: Function) -> Iterator[Benchmark]:
    """RDMA writes of 64 B: the sender fetches work requests and completes them, the receiver only writes."""
    for word, direction, workload in (
        ("receiver", "write", dma(function, "write", _SMALL_WRITE, outstanding=_SMALL_WRITES)),
        ("sender", "read", _work_requests(function)),
    ):
        yield Benchmark(
            f"RDMA write, {word} {_SMALL_WRITE} B",
            function,
            workload,
            direction,
            40,
            80,
            frame_bytes=_SMALL_WRITE,
            rdma=True,
        )


def _gpu(function: Function, peers: list[Function]) -> Iterator[Benchmark]:
    """Copy by copy engine where a part says how it works, else by plain DMA."""
    known = gpu_part(function) is not None
    for word, direction in (("host to device", "read"), ("device to host", "write"), ("both ways", "both")):
        workload = copy(function, direction) if known else dma(function, direction, LARGE)
        yield Benchmark(word, function, workload, direction, 30, 60, together=direction != "both")
    for peer in peers:
        workload = copy(function, "write", peer) if known else dma(function, "write", LARGE, target=peer)
        yield Benchmark(f"write to peer {peer.address.short}", function, workload, "write", 30, 60, peer=peer)


def _plain(function: Function) -> Iterator[Benchmark]:
    for word, direction in (
        ("DMA read 64 KiB", "read"),
        ("DMA write 64 KiB", "write"),
        ("DMA both ways", "both"),
    ):
        workload = dma(function, direction, LARGE)
        yield Benchmark(word, function, workload, direction, 30, 60, together=direction != "both")


def dma(
    function: Function,
    direction: str,
    size: int,
    *,
    outstanding: int | None = None,
    target: Function | None = None,
) -> Workload:
    """Make plain DMA with host memory, or with the memory of another device; `size` in bytes.

    What a network adapter reads it sends: unless `outstanding` is given, no more is under way than fits its
    send buffer. Any other transfers are 16 at a time.
    """
    name = endpoint_name(function)
    if outstanding is None:
        sends = function.is_nic and direction == "read"
        outstanding = max(1, _buffered(function) // size) if sends else _OUTSTANDING
    return {
        "kind": "dma",
        "name": name,
        "device": name,
        "direction": cast("Direction", direction),
        "size": f"{size} B",
        "outstanding": outstanding,
        "target": "memory" if target is None else endpoint_name(target),
    }


def _buffered(function: Function) -> int:
    """Return the bytes that fit an adapter's send buffer: its part's, else what its wire needs."""
    known = send_buffer(function)
    if known is not None:
        return known
    port = fastest_port(function)
    needed = 0 if port is None else round(port.gb_per_s * 1e9 * _READ_LATENCY_S)
    return max(_LEAST_SEND_BUFFER, needed)


def copy(function: Function, direction: str, target: Function | None = None) -> Workload:
    """Make one copy that is longer than any run: benchmarks queue copies, so that their start is hidden.

    `direction` is that of the data on the device's link; with a peer "write" into it, or "read" from it.
    """
    name = endpoint_name(function)
    if target is None:
        return {
            "kind": "copy",
            "name": name,
            "device": name,
            "direction": _COPIES[cast("Direction", direction)],
            "size": _LONG_COPY,
            "runtime_call": False,
        }
    peers: WorkloadCopy = {
        "kind": "copy",
        "name": name,
        "device": name,
        "direction": "peer",
        "target": endpoint_name(target),
        "size": _LONG_COPY,
        "runtime_call": False,
    }
    return {**peers, "by": "read"} if direction == "read" else peers


def _rings(function: Function, word: str, size: int) -> WorkloadRings:
    """Frames through rings: enough batches under way to hide latency, and no more memory than a card has."""
    name = endpoint_name(function)
    return {
        "kind": "rings",
        "name": name,
        "device": name,
        "direction": cast("Literal['receive', 'send']", word),
        "frame": f"{size} B",
        "batch": _BATCH,
        "outstanding": max(2, min(64, _FRAMES_UNDER_WAY // (_BATCH * size))),
    }


def _work_requests(function: Function) -> WorkloadRings:
    """Verbs: a send queue entry and a completion entry of 64 B each, as ConnectX adapters have them."""
    return {
        **_rings(function, "send", _SMALL_WRITE),
        "descriptor": "64 B",
        "completion": "64 B",
        "completion_batch": 1,
        "doorbell": "8 B",
    }


def fio(
    function: Function,
    rw: str,
    block: str,
    *,
    depth: int,
    jobs: int = 1,
    engine: str = "libaio",
    also: Sequence[Function] = (),
    read_percent: int | None = None,
) -> Workload:
    """Make a job of fio; `block` with its unit, `depth` of each of `jobs` clones, `also` its other drives.

    Of a mixed job, `read_percent` of the operations are reads.
    """
    name = endpoint_name(function)
    job = {
        "kind": "fio",
        "name": name,
        "filename": [name, *map(endpoint_name, also)],
        "rw": rw,
        "bs": block,
        "iodepth": depth,
        "numjobs": jobs,
        "ioengine": engine,
        "group_reporting": True,
        **({} if read_percent is None else {"rwmixread": read_percent}),
    }
    # Which words there are for `rw` and `ioengine`, the core says.
    return cast("WorkloadFio", job)


def fast_media(function: Function) -> tuple[tuple[str, str], ...]:
    """Return the overrides that make a drive's media never the limit."""
    name = endpoint_name(function)
    return tuple((f"{name}.nvme.{key}", value) for key, value in _FAST_MEDIA.items())
