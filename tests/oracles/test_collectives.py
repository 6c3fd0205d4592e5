"""Simulated collectives beside their closed forms, within 1 %: links are the limit, and hops are given."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import pytest

from lanewise import api
from lanewise.oracle import collectives, wire

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MIB = 2**20
HOP_US = 20.0
"""Given, and so long that what the path takes for a line, some 0.4 us, is added, but decides nothing."""
RATE = wire.payload_ceiling_gb_per_s("memory write", generation=4, lanes=16, payload=256, address=2**40)
READ_RATE = wire.payload_ceiling_gb_per_s("completion with data", generation=4, lanes=16, payload=256)

SWITCHED = """
title = "Ranks below one switch"

[host.server]
slots = {{ slot1 = "gen4 x16" }}
mps_supported = "256 B"

[switch.sw0]
attach = "server.slot1"
ports = {{ port0 = "gen4 x16", "port1..port{ranks}" = "gen4 x16" }}

[endpoint.gpu]
generation = "gen4"
width = "x16"
count = {ranks}
attach = "sw0.*"

[[workload]]
kind = "collective"
name = "ring"
devices = ["gpu[*]"]
launch = "10 us"
step_time = "20 us"
protocol = "simple"
algorithm = "ring"
channels = 1
slices = 1
max_size = "{size} B"
size = "{size} B"
operations = 2
"""


def time_us(folder: Path, text: str, overrides: Mapping[str, str]) -> float:
    file = folder / "ranks.toml"
    file.write_text(text, encoding="utf-8")
    settings = [*overrides.items(), ("run.time_limit", "100 ms")]
    result = api.run(file, overrides=settings)
    (report,) = result.document["instruments"]
    (time,) = (metric["value"] for metric in report["metrics"] if metric["name"] == "time (us)")
    return float(time)


def simulated(folder: Path, ranks: int, size: int, **options: str) -> float:
    """Return the time less the launch."""
    text = SWITCHED.format(ranks=ranks, size=size)
    return time_us(folder, text, {f"workload.ring.{key}": value for key, value in options.items()}) - 10


def path_us(folder: Path) -> float:
    """Return what a line takes from one rank to another, less the hop that is given."""
    return simulated(folder, 2, 16, operation="send-receive") - HOP_US


@pytest.mark.parametrize("operation", ["all-reduce", "reduce-scatter", "all-gather"])
@pytest.mark.parametrize("ranks", [2, 4])
def test_rings(tmp_path: Path, operation: collectives.Ringed, ranks: int) -> None:
    hop = HOP_US + path_us(tmp_path)
    size = 8 * MIB
    found = simulated(tmp_path, ranks, size, operation=operation, chunk="64 MiB")
    expected = collectives.ring(operation, ranks=ranks, size=size, rate=RATE, hop_us=hop)
    assert found == pytest.approx(expected, rel=0.01)
    without_hops = collectives.ring(operation, ranks=ranks, size=size, rate=RATE, hop_us=0)
    assert found > 1.05 * without_hops


@pytest.mark.parametrize(("channels", "slices"), [("1", "4"), ("2", "1"), ("2", "2")])
def test_slices_hide_hops_and_channels_do_not(tmp_path: Path, channels: str, slices: str) -> None:
    hop, size, pieces = HOP_US + path_us(tmp_path), 8 * MIB, int(slices)
    options = {"chunk": "64 MiB", "channels": channels, "slices": slices, "window": "64"}
    found = simulated(tmp_path, 4, size, operation="all-reduce", **options)
    expected = collectives.ring("all-reduce", ranks=4, size=size, rate=RATE, hop_us=hop, pieces=pieces)
    assert found == pytest.approx(expected, rel=0.01)
    whole = collectives.ring("all-reduce", ranks=4, size=size, rate=RATE, hop_us=hop)
    assert pieces == 1 or expected < 0.9 * whole


@pytest.mark.parametrize("protocol", ["ll", "ll128"])
def test_flags_take_their_share(tmp_path: Path, protocol: Literal["ll", "ll128"]) -> None:
    size = 7_680_000
    options = {"chunk": "64 MiB", "slices": "64", "window": "1024", "protocol": protocol}
    found = simulated(tmp_path, 4, size, operation="all-reduce", **options)
    on_wire = collectives.on_wire(protocol, size)
    hop = HOP_US + path_us(tmp_path)
    expected = collectives.ring("all-reduce", ranks=4, size=on_wire, rate=RATE, hop_us=hop, pieces=64)
    assert found == pytest.approx(expected, rel=0.01)


@pytest.mark.parametrize("operation", ["broadcast", "reduce"])
def test_chains(tmp_path: Path, operation: str) -> None:
    hop, size, chunk = HOP_US + path_us(tmp_path), 16 * MIB, MIB
    found = simulated(tmp_path, 4, size, operation=operation, chunk="1 MiB")
    expected = collectives.chain(ranks=4, size=size, chunk=chunk, rate=RATE, hop_us=hop)
    assert found == pytest.approx(expected, rel=0.01)


def test_pairs(tmp_path: Path) -> None:
    hop, size = HOP_US + path_us(tmp_path), 16 * MIB
    found = simulated(tmp_path, 4, size, operation="send-receive", chunk="1 MiB")
    assert found == pytest.approx(collectives.send_receive(size=size, rate=RATE, hop_us=hop), rel=0.01)
    found = simulated(tmp_path, 4, size, operation="all-to-all", chunk="256 KiB", window="16")
    expected = collectives.all_to_all(ranks=4, size=size, rate=RATE, hop_us=hop)
    assert found == pytest.approx(expected, rel=0.01)


def test_trees(tmp_path: Path) -> None:
    hop, size, chunk = HOP_US + path_us(tmp_path), 16 * MIB, MIB
    tree = {"operation": "all-reduce", "algorithm": "tree", "chunk": "1 MiB", "window": "16"}
    expected = collectives.tree_of_two(size=size, chunk=chunk, rate=RATE, hop_us=hop)
    assert simulated(tmp_path, 2, size, **tree) == pytest.approx(expected, rel=0.01)
    least = collectives.tree_chain_at_least(size=size, rate=RATE)
    # Four ranks: three hops up and three down beside it, with a chunk each.
    beside = 6 * (hop + chunk / RATE / 1e3)
    assert least < simulated(tmp_path, 4, size, **tree) < least + beside


def test_through_memory_of_the_host(tmp_path: Path) -> None:
    """The first device writes, the second asks and reads, one chunk after another."""
    text = SWITCHED.format(ranks=2, size=16 * MIB)
    ports = re.sub(r"\[switch.sw0\].*?\n\n", "", text, flags=re.DOTALL)
    apart = ports.replace('slots = { slot1 = "gen4 x16" }', 'slots = { "slot1..slot2" = "gen4 x16" }')
    apart = apart.replace("sw0.*", "server.*")
    options = {"workload.ring.operation": "broadcast", "workload.ring.chunk": "512 KiB"}
    tiny = {**options, "workload.ring.size": "16 B", "workload.ring.max_size": "16 B"}
    line = time_us(tmp_path, apart, tiny)
    # Lines with flags have no counter, which Simple reads first.
    read = line - time_us(tmp_path, apart, {**tiny, "workload.ring.protocol": "ll"})
    found = time_us(tmp_path, apart, options) - 10
    expected = collectives.through_memory(
        size=16 * MIB,
        chunk=512 * 1024,
        write_rate=RATE,
        read_rate=READ_RATE,
        read_us=read,
        hop_us=line - 10 - 2 * read,
    )
    assert found == pytest.approx(expected, rel=0.01)
    straight = collectives.send_receive(size=16 * MIB, rate=RATE, hop_us=HOP_US)
    assert found > 1.03 * straight


def test_side_links(tmp_path: Path) -> None:
    """They carry 200 GB/s beside PCI Express; collectives and copies of those that they join take them."""
    size = 64 * MIB
    side_link = 'count = 4\nside_link = { rate = "200 GB/s" }'
    joined = SWITCHED.format(ranks=4, size=size).replace("count = 4", side_link)
    ring = {"workload.ring.operation": "all-reduce", "workload.ring.chunk": "64 MiB"}
    found = time_us(tmp_path, joined, ring)
    expected = collectives.ring("all-reduce", ranks=4, size=size, rate=200, hop_us=HOP_US + 0.5)
    assert found - 10 == pytest.approx(expected, rel=0.01)
    start = joined.index("[[workload]]")
    copy = (
        '[[workload]]\nkind = "copy"\nname = "copy"\ndevice = "gpu[0]"\ntarget = "gpu[1]"\n'
        'direction = "peer"\nsize = "64 MiB"\n'
    )
    file = tmp_path / "copy.toml"
    file.write_text(joined[:start] + copy, encoding="utf-8")
    overrides = [("gpu.copy_engine.overhead", "0 ns"), ("run.time_limit", "50 ms")]
    (flow,) = api.run(file, overrides=overrides).document["flows"]
    assert flow["goodput_gb_per_s"] == pytest.approx(200, rel=0.01)


NODES = """
title = "Two ranks on two hosts"

[host.first]
slots = { "slot1..slot2" = "gen5 x16" }
peer_to_peer = true
[host.second]
slots = { "slot1..slot2" = "gen5 x16" }
peer_to_peer = true
[endpoint.gpu0]
generation = "gen5"
width = "x16"
attach = "first.slot1"
[endpoint.gpu1]
generation = "gen5"
width = "x16"
attach = "second.slot1"
[endpoint.nic0]
generation = "gen5"
width = "x16"
attach = "first.slot2"
rdma = { ports = 1 }
[endpoint.nic1]
generation = "gen5"
width = "x16"
attach = "second.slot2"
rdma = { ports = 1 }
[network.cable]
kind = "infiniband-edr"
ends = ["nic0.port1", "nic1.port1"]

[[workload]]
kind = "collective"
name = "ring"
devices = ["gpu0", "gpu1"]
launch = "10 us"
step_time = "20 us"
protocol = "simple"
algorithm = "ring"
channels = 1
slices = 4
window = 16
chunk = "64 MiB"
operations = 2
size = "16 MiB"
max_size = "16 MiB"
"""

EDR = 12.5 * 4096 / (4096 + 26)
"""100 Gb/s of data, less 26 B of headers for each packet of 4096 B."""
GEN5, GEN5_READ = 2 * RATE, 2 * READ_RATE


@pytest.mark.parametrize("level", ["phb", "pxb"])
def test_two_nodes(tmp_path: Path, level: str) -> None:
    """The wire is the limit, whether adapters reach the ranks' memory or that of their hosts."""
    options = {"workload.ring.gdr_level": level}
    tiny = {"workload.ring.size": "16 B", "workload.ring.max_size": "16 B"}
    line = (time_us(tmp_path, NODES, {**options, **tiny}) - 10) / 2
    found = time_us(tmp_path, NODES, options) - 10
    expected = collectives.ring("all-reduce", ranks=2, size=16 * MIB, rate=EDR, hop_us=line, pieces=4)
    # The first slice into memory of the one host, the last out of that of the other.
    staged = 0 if level == "phb" else (2 * MIB / GEN5 + 2 * MIB / GEN5_READ) / 1e3
    assert found == pytest.approx(expected + staged, rel=0.01)
