"""What IDE costs, in closed form and simulated."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import pytest

import lanewise
from lanewise.oracle import wire

if TYPE_CHECKING:
    from pathlib import Path

RIG = """
[run]
warm_up = "20 us"
time_limit = "220 us"
relative_half_width = 0.0001
[firmware]
mps = "256 B"
[host.server]
memory_base = "4 GiB"
slots = {{ slot1 = "gen5 x16" }}
[endpoint.card]
attach = "server.slot1"
generation = "gen5"
width = "x16"
ide = {{ mac = "{mac}" }}
[[workload]]
kind = "dma"
device = "card"
direction = "write"
size = "64 KiB"
"""


def ceiling(ide: Fraction | int) -> float:
    """Return the closed form of writes of 256 B with headers of four DW over Gen5 x16."""
    return wire.payload_ceiling_gb_per_s(
        "memory write", generation=5, lanes=16, payload=256, address=2**32, ide=ide
    )


@pytest.mark.parametrize(("unit", "percent"), [(1, -5.41), (2, -3.45), (4, -2.44), (8, -1.93)])
def test_ide_costs_writes_of_256_bytes_so_much(unit: int, percent: float) -> None:
    with_ide = ceiling(wire.ide_bytes(macs_per_tlp=Fraction(1, unit)))
    assert round(100 * (with_ide / ceiling(0) - 1), 2) == percent


def test_a_pcrc_is_one_more_dword_for_each_mac() -> None:
    assert wire.ide_bytes() == 16
    assert wire.ide_bytes(pcrc=True) == 20
    assert wire.ide_bytes(macs_per_tlp=Fraction(1, 8), pcrc=True) == 6


def test_units_are_of_a_power_of_two() -> None:
    with pytest.raises(ValueError, match="1, 2, 4 or 8"):
        wire.ide_bytes(macs_per_tlp=Fraction(1, 3))


@pytest.mark.parametrize(("mac", "unit"), [("every TLP", 1), ("4 TLPs", 4), ("8 TLPs", 8)])
def test_a_run_comes_within_half_a_percent(mac: str, unit: int, tmp_path: Path) -> None:
    rig = tmp_path / "rig.toml"
    rig.write_text(RIG.format(mac=mac), encoding="utf-8")
    goodput = lanewise.run(rig).document["flows"][0]["goodput_gb_per_s"]
    assert goodput == pytest.approx(ceiling(wire.ide_bytes(macs_per_tlp=Fraction(1, unit))), rel=0.005)
