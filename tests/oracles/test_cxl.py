"""CXL.mem: the closed form against a published family of curves, and simulated expanders against it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

import lanewise
from lanewise.oracle import cxl

if TYPE_CHECKING:
    from pathlib import Path

RAW_X8 = 32.0
"""Eight lanes at 32 GT/s without coding, GB/s."""

PUBLISHED_MB_PER_S = {
    2: 24474.883,
    6: 25296.273,
    10: 26173.662,
    14: 27108.831,
    16: 27612.699,
    30: 31684.135,
    32: 32362.948,
    34: 33071.049,
    36: 33813.297,
    38: 34584.901,
    58: 43654.908,
    60: 42806.754,
    74: 35279.524,
    76: 34421.768,
    88: 30113.632,
    90: 29497.309,
}
"""By percent of lines that are read, the most that a SystemC model of an expander behind eight lanes at
32 GT/s reaches: bsc-mem/Mess-simulator e387efc, ``Integrated/ZSim+Standalone/memory_curve/cxl``. It counts
neither the coding of the lanes nor ordered sets."""

SCENARIO = """
[host.h]
slots = {{ a = "gen{generation} x{lanes}" }}
cxl = {{ mem = true, ndr_credits = 1023, drs_credits = 1023 }}
[endpoint.e]
attach = "h.a"
generation = "gen{generation}"
width = "x{lanes}"
[endpoint.e.expander]
capacity = "2 GiB"
memory_rate = "10 TB/s"
read_latency = "0 ns"
write_latency = "0 ns"
req_credits = 1023
rwd_credits = 1023
[[workload]]
kind = "stream"
name = "stream"
device = "e"
cores = 32
outstanding = 32
stores = {stores}
store = "non-temporal"
"""


def simulated(
    path: Path, *, generation: int, lanes: int, stores: Fraction, low_latency: bool = False
) -> float:
    """Return the lines, read and written, that a simulated expander moves, in GB/s."""
    file = path / "expander.toml"
    file.write_text(SCENARIO.format(generation=generation, lanes=lanes, stores=float(stores)))
    overrides = {"e.link.cxl.low_latency": "true"} if low_latency else {}
    flows = lanewise.run(file, overrides=overrides).flows
    return float(flows["goodput_gb_per_s"].sum())


@pytest.mark.parametrize("percent", PUBLISHED_MB_PER_S)
def test_published_family(percent: int) -> None:
    """No number is fitted; where requests are the limit it agrees to a thousandth."""
    closed = cxl.lines_gb_per_s(link_gb_per_s=RAW_X8, read_share=Fraction(percent, 100))
    allowed = 0.0011 if percent < 50 else 0.014
    assert closed == pytest.approx(PUBLISHED_MB_PER_S[percent] / 1000, rel=allowed)


@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize("sixteenths", range(17))
def test_bandwidth_over_mix(tmp_path: Path, lanes: int, sixteenths: int) -> None:
    stores = Fraction(sixteenths, 16)
    link = cxl.link_gb_per_s(generation=5, lanes=lanes)
    closed = cxl.lines_gb_per_s(link_gb_per_s=link, read_share=1 - stores)
    assert simulated(tmp_path, generation=5, lanes=lanes, stores=stores) == pytest.approx(closed, rel=0.005)


RATIOS = [
    (1, 0),
    (20, 1),
    (9, 1),
    (4, 1),
    (3, 1),
    (2, 1),
    (3, 2),
    (1, 1),
    (2, 3),
    (1, 2),
    (1, 3),
    (1, 4),
    (0, 1),
]
"""Reads to writes."""


@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize(("reads", "writes"), RATIOS)
def test_ratios_in_flits_of_68_bytes(tmp_path: Path, lanes: int, reads: int, writes: int) -> None:
    stores = Fraction(writes, reads + writes)
    link = cxl.link_gb_per_s(generation=5, lanes=lanes)
    closed = cxl.lines_gb_per_s(link_gb_per_s=link, read_share=1 - stores)
    assert simulated(tmp_path, generation=5, lanes=lanes, stores=stores) == pytest.approx(closed, rel=0.005)


@pytest.mark.parametrize("low_latency", [False, True])
@pytest.mark.parametrize("lanes", [8, 16])
@pytest.mark.parametrize(("reads", "writes"), RATIOS)
def test_ratios_in_flits_of_256_bytes(
    tmp_path: Path, low_latency: bool, lanes: int, reads: int, writes: int
) -> None:
    stores = Fraction(writes, reads + writes)
    closed = cxl.lines_256_gb_per_s(lanes=lanes, read_share=1 - stores, low_latency=low_latency)
    found = simulated(tmp_path, generation=6, lanes=lanes, stores=stores, low_latency=low_latency)
    assert found == pytest.approx(closed, rel=0.005)


def test_idle_latency(tmp_path: Path) -> None:
    machine = SCENARIO.format(generation=5, lanes=8, stores=0).split("[[workload]]")[0]
    file = tmp_path / "idle.toml"
    file.write_text(machine + '[[workload]]\nkind = "pointer-chase"\nname = "chase"\ndevice = "e"\n')
    (least,) = lanewise.run(file).flows["latency_ns_min"]
    # A line at the rate of memory is on top; 60 ns, 2 ns and 20 ns are defaults.
    closed = cxl.idle_read_ns(generation=5, lanes=8, core_ns=60, hop_ns=22) + 64 / 10_000
    assert least == pytest.approx(closed, abs=0.001)
