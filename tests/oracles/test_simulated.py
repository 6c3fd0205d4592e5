"""Simulated links against the closed forms, at random: rates, widths, sizes, latencies, credits and tags."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

import lanewise
from lanewise.oracle import flow_control, reads, wire

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lanewise.results import RunResult

SEEDS = range(20)
INFINITE = {f"{kind}_{part}": "infinite" for kind in ("posted", "non_posted") for part in ("header", "data")}


SCENARIO = """
[run]
time_limit = "300 us"
warm_up = "60 us"
relative_half_width = 0.00001
[host.h]
memory_base = "{link.address} B"
stack.read_trackers = 4096
write_latency = "0 ns"
read_bandwidth = "10 TB/s"
write_bandwidth = "10 TB/s"
memory_bandwidth = "10 TB/s"
{host}
[host.h.slots.a]
link = "gen{link.generation} x{link.lanes}"
mps_supported = "{link.mps} B"
receive_latency = "{link.receive_ns} ns"
flow_control_scale = "off"
credits = {{ {pools} }}
ack_every_tlps = 64
ack_latency = "2 us"
update_every_tlps = 1
[endpoint.e]
attach = "h.a"
generation = "gen{link.generation}"
width = "x{link.lanes}"
mps_supported = "{link.mps} B"
receive_latency = "{link.receive_ns} ns"
retry_buffer = "1 MiB"
replay_timer = "1 ms"
tag_width = "8 bits"
{end}
[endpoint.e.link]
propagation = "{link.propagation_ns} ns"
[[workload]]
kind = "dma"
name = "w"
device = "e"
{workload}
"""


@dataclass
class Link:
    """A device in a slot, with memory that is never the reason, and how far and deep the link is."""

    random: random.Random
    generation: int
    lanes: int
    mps: int
    above_4_gib: bool
    receive_ns: int
    propagation_ns: int

    @classmethod
    def at_random(cls, seed: int) -> Link:
        draw = random.Random(seed)
        return cls(
            random=draw,
            generation=draw.randint(1, 5),
            lanes=draw.choice([2, 4, 8, 16]),
            mps=draw.choice([128, 256, 512]),
            above_4_gib=draw.random() < 0.5,
            receive_ns=draw.choice([0, 20, 53]),
            propagation_ns=draw.choice([0, 2, 150]),
        )

    @property
    def address(self) -> int:
        return 2**32 if self.above_4_gib else 0

    def ns(self, wire_bytes: int) -> float:
        return float(wire_bytes * wire.symbol_ns(self.generation) / self.lanes)

    @property
    def way_ns(self) -> int:
        """From the last byte of a packet at the pins of one end until the other end acts on it."""
        return self.propagation_ns + self.receive_ns

    def run(
        self,
        folder: Path,
        workload: str,
        *,
        host: str = "",
        end: str = "",
        credit: Mapping[str, int | str] = INFINITE,
    ) -> RunResult:
        """Simulate what a workload of the device does, as long as it takes to measure it."""
        pools = ", ".join(f"{pool} = {json.dumps(number)}" for pool, number in credit.items())
        scenario = folder / "link.toml"
        scenario.write_text(
            SCENARIO.format(link=self, pools=pools, workload=workload, host=host, end=end), encoding="utf-8"
        )
        return lanewise.run(scenario)


def goodput(result: RunResult) -> float:
    return float(result.flows["goodput_gb_per_s"][0])


@pytest.mark.parametrize("seed", SEEDS)
def test_saturated_writes(seed: int, tmp_path: Path) -> None:
    """EDS tokens, which the ceiling leaves out, and packets at the ends of the window are between them."""
    link = Link.at_random(seed)
    result = link.run(tmp_path, 'direction = "write"\nsize = "64 KiB"')
    ceiling = wire.payload_ceiling_gb_per_s(
        "memory write",
        generation=link.generation,
        lanes=link.lanes,
        payload=link.mps,
        address=link.address,
    )
    assert goodput(result) == pytest.approx(ceiling, rel=5e-3)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_write_alone(seed: int, tmp_path: Path) -> None:
    """A packet waits for its symbol at most, or for an ordered set now and then."""
    link = Link.at_random(seed)
    size = link.random.choice([4, 60, 64, 100, 128])
    digest, prefixes = link.random.random() < 0.5, link.random.randint(0, 4)
    end = f"ecrc = {str(digest).lower()}\ntlp_prefixes = {prefixes}"
    result = link.run(tmp_path, f'direction = "write"\nsize = "{size} B"\noutstanding = 1', end=end)
    packet = wire.tlp_bytes(
        "memory write", payload=size, address=link.address, digest=digest, prefixes=prefixes
    )
    least = link.ns(packet) + link.way_ns
    mean = result.flows["latency_ns_mean"][0]
    assert least - 1e-3 <= mean <= least + float(wire.symbol_ns(link.generation)) + 1


@pytest.mark.parametrize("seed", SEEDS)
def test_a_read_alone(seed: int, tmp_path: Path) -> None:
    """As a write alone, twice, with memory between."""
    link = Link.at_random(seed)
    size = link.random.choice([4, 60, 64, 100, 128])
    host = 'memory_latency = "233 ns"\ncompletion_combine = "256 B"'
    result = link.run(tmp_path, f'direction = "read"\nsize = "{size} B"\noutstanding = 1', host=host)
    request = wire.tlp_bytes("memory read", address=link.address)
    answer = wire.tlp_bytes("completion with data", payload=size)
    least = link.ns(request) + link.ns(answer) + 2 * link.way_ns + 233 + size / 10_000
    mean = result.flows["latency_ns_mean"][0]
    assert least - 1e-3 <= mean <= least + 2 * float(wire.symbol_ns(link.generation)) + 2


@pytest.mark.parametrize("seed", SEEDS)
def test_completions_of_a_read(seed: int, tmp_path: Path) -> None:
    """As many as there are pieces of lines, and no more bytes than their DWs have."""
    link = Link.at_random(seed)
    rcb = link.random.choice([64, 128])
    lines = link.random.choice([1, 2, 4])
    offset, size = link.random.randrange(4096), link.random.choice([1, 100, 500, 2000, 4096])
    size = min(size, 4096 - offset)
    host = f'rcb = "{rcb} B"\ncompletion_combine = "{rcb * lines} B"'
    workload = (
        f'direction = "read"\nsize = "{size} B"\noffset = "{offset} B"\nstride = "8 KiB"\noutstanding = 2'
    )
    result = link.run(tmp_path, workload, host=host, end='mrrs = "4096 B"')
    lengths = reads.completion_lengths(
        address=offset, length=size, rcb=rcb, lines=max(1, min(rcb * lines, link.mps) // rcb)
    )
    spent = {
        (row["direction"], row["category"]): row["time_ticks"]
        for row in result.time_attribution.iter_rows(named=True)
    }
    request_header = 16 if link.above_4_gib else 12
    completions = spent["downstream", "header"] / 12
    requests = spent["upstream", "header"] / request_header
    assert completions / requests == pytest.approx(len(lengths), rel=0.05)
    at, dwords = offset, 0
    for length in lengths:
        dwords += (at + length + 3) // 4 - at // 4
        at += length
    assert spent["downstream", "payload"] / completions == pytest.approx(4 * dwords / len(lengths), rel=0.05)


@pytest.mark.parametrize("tlps", [1, 3])
@pytest.mark.parametrize("seed", SEEDS)
def test_credits(tlps: int, seed: int, tmp_path: Path) -> None:
    """So many writes for each credit loop, in which packets may wait for a symbol, or as the link takes."""
    link = Link.at_random(seed)
    pools = {"posted_header": tlps, "posted_data": tlps * link.mps // 16}
    result = link.run(tmp_path, 'direction = "write"\nsize = "64 KiB"', credit=pools)
    kind: wire.Kind = "memory write"
    packet = link.ns(wire.tlp_bytes(kind, payload=link.mps, address=link.address))
    loop = flow_control.CreditLoop(
        tlp_serialisation_ns=packet,
        wire_ns=2 * link.way_ns,
        drain_ns=link.mps / 10_000,
        update_serialisation_ns=link.ns(wire.DLLP_BYTES),
    )
    ceiling = wire.payload_ceiling_gb_per_s(
        kind, generation=link.generation, lanes=link.lanes, payload=link.mps, address=link.address
    )
    symbol = float(wire.symbol_ns(link.generation))

    def bound(loop_ns: float) -> float:
        allowed = flow_control.credit_limited_gb_per_s(
            headers=tlps, data=pools["posted_data"], payload=link.mps, loop_ns=loop_ns
        )
        assert allowed is not None
        return min(allowed, ceiling)

    assert 0.96 * bound(loop.total_ns + 2 * symbol) <= goodput(result) <= 1.005 * bound(loop.total_ns)


@pytest.mark.parametrize("tags", [1, 2])
@pytest.mark.parametrize("seed", SEEDS)
def test_tags(tags: int, seed: int, tmp_path: Path) -> None:
    """So many requests for each round trip, unless the completions fill the link."""
    link = Link.at_random(seed)
    size = link.mps
    host = 'memory_latency = "900 ns"\ncompletion_combine = "4096 B"'
    end = f'tags = {tags}\nmrrs = "{size} B"'
    result = link.run(tmp_path, 'direction = "read"\nsize = "64 KiB"', host=host, end=end)
    answer = link.ns(wire.tlp_bytes("completion with data", payload=size))
    request = link.ns(wire.tlp_bytes("memory read", address=link.address))
    symbol = float(wire.symbol_ns(link.generation))
    least = request + answer + 2 * link.way_ns + 900 + size / 10_000

    def bound(round_trip_ns: float) -> float:
        return reads.tag_limited_gb_per_s(tags=tags, request=size, round_trip_ns=round_trip_ns)

    # Two answers at once stand behind each other.
    slowest = least + (tags - 1) * answer + 2 * symbol
    assert 0.98 * bound(slowest) <= goodput(result) <= 1.005 * bound(least)
