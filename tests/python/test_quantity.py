"""Values with a unit are read as the core reads them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lanewise import _core
from lanewise.health.fleet.values import BYTES
from lanewise.known_units import UNITS
from lanewise.machine.known_parts import DRIVES, OTHERS
from lanewise.machine.own_rate import rates_of_any
from lanewise.quantity import amount_in, kind_of, stated_in
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


def test_what_is_stated_is_understood_or_refused_and_never_passed_over() -> None:
    assert stated_in("B", "1 TB") == 1e12
    assert stated_in("B", "none") is stated_in("ns", "auto") is stated_in("B", None) is None
    for text in ("", "4", "1 PB", "150 ns"):
        with pytest.raises(ValueError, match="is stated, and is no amount in B"):
            stated_in("B", text)


def test_all_that_the_package_takes_from_known_parts_is_understood() -> None:
    for part in (*DRIVES, *OTHERS):
        for value in rates_of_any(part):
            assert any(amount_in(unit, value["value"]) for unit in ("B", "B/s", "s")), value


def test_equal_values_of_a_study_are_equal_in_every_unit() -> None:
    assert same_as("0.5 \N{MICRO SIGN}s") == same_as("500 ns")
    assert same_as("8 Gb/s") == same_as("1000 MB/s") == same_as("1 GB/s")
    assert same_as("0.5 %") == same_as("0.005")
    assert parse_axis("server.memory_bandwidth=1 GB/s..16 Gb/s:500 MB/s").rows == (
        ("1 GB/s",),
        ("1.5 GB/s",),
        ("2 GB/s",),
    )


def test_sizes_of_fleet_files_have_any_unit_of_the_core() -> None:
    for text, size in (("1 TB", 10**12), ("128 GiB", 1 << 37), ("256 B", 256), ("4kB", 4000)):
        assert BYTES.read(text) == size
    for text in ("1 PB", "4", "8 Gb", "8 GB/s", "1.5 KiB", "150 ns"):
        with pytest.raises(ValueError, match=r"^$"):
            BYTES.read(text)
