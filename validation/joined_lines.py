"""When does a root port join lines of 64 B into completions of 256? A study beside the simulator.

The NFP-6000 of pcie-bench reads at rates that a root complex which always joins what it may does not give,
on any host. Here is a root port by itself: lines of memory come back one by one and in order, a queue holds
so many packets for the wire, and lines of one request join only while they wait for a place in that queue.
Reads of few lines never fill the queue and leave as packets of 64 B; reads of many lines fill it and leave as
packets of 256 B. One number, 48 packets, gives all sizes on all hosts.

The latency of each host is what its reads of 64 B say: 25 tags, each held for the latency and for its packet.
With a Maximum Read Request Size of 512 B the device asks for 512 B at a time in transfers of 512, 1,536 and
2,048 B, and for at most 256 B in others; with 4,096 B it asks for the whole transfer. This and the 48 were
read off the sizes of the E5-2630, the E5-2620 v3 and the E5-2630 v4. The simulator has the queue
(`completion_queue` of three parts), and of the requests only that they are of 512 B.

Source of what is measured: pcie-bench/data at b2abf2f (Apache-2.0), bw_dma_sz_sweep.csv, BW_DMA_RD, Rand,
HWarm.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field

LINE = 64
JOINED = 4
"""Lines of the largest completion, which is aligned to its size."""
BYTES_PER_NS = 8 * 128 / 130
"""Eight lanes of 8 GT/s."""
PACKET = 20
"""Header of 3 DW, framing and LCRC."""
REQUEST = 16
"""An Ack and an UpdateFC for each request, on the same wire."""
TAGS = 25
REQUEST_INTERVAL = 14.8
"""ns; as the part nfp6000."""
PLACES = 48
"""Packets that wait for the wire."""
SIZES = (64, 128, 192, 256, 320, 384, 512, 768, 1024, 1536, 2048)
MEASURED = {
    "E5-2630": (15.95, 23.53, 35.94, 42.84, 58.61, 66.28, 73.51, 126.15, 163.66, 221.56, 294.51),
    "E5-2620 v3": (15.99, 23.42, 35.80, 42.87, 58.35, 66.15, 74.42, 126.34, 164.40, 221.98, 296.40),
    "E5-2620 v2": (16.04, 23.64, 36.12, 43.12, 58.83, 66.67, 74.00, 126.86, 164.66, 221.95, 295.87),
    "E5-2620 v2, far": (20.72, 25.11, 38.57, 45.33, 62.53, 70.10, 74.01, 133.00, 171.86, 229.98, 296.12),
    "E5-2637 v3": (17.87, 23.84, 36.72, 43.67, 59.66, 67.43, 74.32, 128.39, 166.83, 222.03, 296.55),
    "E5-2630 v4": (16.05, 23.40, 34.62, 42.96, 49.40, 57.71, 74.43, 111.20, 147.84, 221.08, 294.79),
    "E5-2630 v4, far": (21.00, 25.41, 37.13, 45.48, 54.61, 57.71, 74.71, 111.44, 148.09, 221.88, 295.13),
}
"""ns for each read, by size."""
LARGE_REQUESTS = ("E5-2630 v4", "E5-2630 v4, far")
"""Hosts with a Maximum Read Request Size of 4,096 B; 512 on the others."""


def requests(size: int, *, large: bool) -> list[int]:
    """Return the sizes of the requests, in bytes, that the device makes of a transfer of `size` bytes."""
    if large:
        return [size]
    if size % 512 == 0 and size != 1024:
        return [512] * (size // 512)
    return [256] * (size // 256) + ([size % 256] if size % 256 else [])


@dataclass
class RootPort:
    """What waits at the port: lines for a place, packets for the wire."""

    places: int
    lines: deque[tuple[int, int]] = field(default_factory=deque)
    """Request and number of the line within it."""
    packets: deque[tuple[int, int, int]] = field(default_factory=deque)
    """Request, first line and how many."""

    def take_in(self) -> None:
        """Move lines into free places, those together that may be joined."""
        while self.lines and len(self.packets) < self.places:
            request, first = self.lines.popleft()
            count = 1
            while self.lines and self.lines[0] == (request, first + count) and (first + count) % JOINED:
                self.lines.popleft()
                count += 1
            self.packets.append((request, first, count))


def time_of_a_read(cut: list[int], latency: float, transfers: int = 1500) -> float:
    """Return the ns that a transfer takes, whose requests have the sizes `cut` in bytes; `latency` in ns."""
    port = RootPort(PLACES)
    events: list[tuple[float, int, int, int]] = []
    """Time, a number that keeps their order, request, and lines sent; 0 where a line comes from memory."""
    total, made, tags, next_request, busy, finished, half = transfers * len(cut), 0, TAGS, 0.0, False, 0, 0.0
    left: dict[int, int] = {}
    now = 0.0
    while finished < total:
        while tags and made < total:
            at = max(now, next_request)
            next_request, tags = at + REQUEST_INTERVAL, tags - 1
            left[made] = -(-cut[made % len(cut)] // LINE)
            for line in range(left[made]):
                heapq.heappush(events, (at + latency, made * 64 + line, made, 0))
            made += 1
        now, order, request, sent = heapq.heappop(events)
        if sent:
            busy = False
            left[request] -= sent
            if left[request] == 0:
                del left[request]
                finished, tags = finished + 1, tags + 1
                half = now if finished == total // 2 else half
        else:
            port.lines.append((request, order % 64))
        port.take_in()
        if not busy and port.packets:
            request, first, count = port.packets.popleft()
            data = min(LINE * count, cut[request % len(cut)] - LINE * first)
            load = data + PACKET + (0 if first else REQUEST)
            heapq.heappush(events, (now + load / BYTES_PER_NS, request * 64 + first, request, count))
            busy = True
            port.take_in()
    return (now - half) / (total - total // 2) * len(cut)


def errors_by_host() -> dict[str, list[float]]:
    """Return by host how far off the time of a read of each size is, in percent."""
    errors = {}
    for host, times in MEASURED.items():
        latency = TAGS * times[0] - (LINE + PACKET + REQUEST) / BYTES_PER_NS
        cuts = [requests(size, large=host in LARGE_REQUESTS) for size in SIZES]
        errors[host] = [
            100 * (time_of_a_read(cut, latency) / measured - 1)
            for cut, measured in zip(cuts, times, strict=True)
        ]
    return errors


def main() -> None:
    """Print how far off the time of each read is, in percent, on each host."""
    print(f"{'ns off, %':16}" + "".join(f"{size:>7}" for size in SIZES))
    for host, errors in errors_by_host().items():
        print(f"{host:16}" + "".join(f"{error:+7.1f}" for error in errors))


if __name__ == "__main__":
    main()
