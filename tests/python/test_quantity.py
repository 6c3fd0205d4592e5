"""Values with a unit are read as the core reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanewise import _core
from lanewise.known_units import UNITS
from lanewise.quantity import amount_in, kind_of
from lanewise.study.axes import parse_axis, same_as

RIG = str(Path(__file__).parents[2] / "scenarios/oversubscribed.toml")
PLACES = {
    "time": ("server.memory_latency", "ns", 512),
    "rate": ("server.memory_bandwidth", "GB/s", 64),
    "bytes": ("workload.write.size", "B", 1 << 20),
}


@pytest.mark.parametrize("unit", [unit for unit in UNITS if kind_of(unit) in PLACES])
def test_the_core_means_the_same_by_a_unit(unit: str) -> None:
    path, base, wanted = PLACES[kind_of(unit) or ""]
    number = wanted / (amount_in(base, f"1 {unit}") or 0)
    parameters = json.loads(_core.explain(RIG, [(path, f"{number!r} {unit}")]))["parameters"]
    shown = next(row["value"] for row in parameters if row["path"] == path)
    assert amount_in(base, shown) == pytest.approx(wanted, rel=1e-9), shown


def test_what_is_no_value_of_the_kind_is_none() -> None:
    for text in (None, "", "4", "4 KiB", "fast GB/s", "1e999 GB/s", "4 Kib"):
        assert amount_in("GB/s", text) is None, text


def test_equal_values_of_a_study_are_equal_in_every_unit() -> None:
    assert same_as("0.5 \N{MICRO SIGN}s") == same_as("500 ns")
    assert same_as("8 Gb/s") == same_as("1000 MB/s") == same_as("1 GB/s")
    assert same_as("0.5 %") == same_as("0.005")
    assert parse_axis("server.memory_bandwidth=1 GB/s..16 Gb/s:500 MB/s").rows == (
        ("1 GB/s",),
        ("1.5 GB/s",),
        ("2 GB/s",),
    )
