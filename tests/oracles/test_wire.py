"""Published sizes and ceilings, outside Flit Mode."""

from __future__ import annotations

import pytest

from lanewise.oracle import wire

FOUR_DW = 2**32


@pytest.mark.parametrize(
    ("generation", "cells"),
    [
        (1, ["0.250000", "1.0000", "2.0000", "4.0000"]),
        (2, ["0.500000", "2.0000", "4.0000", "8.0000"]),
        (3, ["0.984615", "3.9385", "7.8769", "15.7538"]),
        (4, ["1.969231", "7.8769", "15.7538", "31.5077"]),
        (5, ["3.938462", "15.7538", "31.5077", "63.0154"]),
        (6, ["8.000000", "32.0000", "64.0000", "128.0000"]),
        (7, ["16.000000", "64.0000", "128.0000", "256.0000"]),
    ],
)
def test_coded_bandwidth(generation: int, cells: list[str]) -> None:
    for lanes, cell in zip((1, 4, 8, 16), cells, strict=True):
        decimals = len(cell.split(".")[1])
        assert f"{wire.coded_gb_per_s(generation=generation, lanes=lanes):.{decimals}f}" == cell


@pytest.mark.parametrize(
    ("kind", "payload", "low", "high"),
    [
        ("memory write", 128, 148, 152),
        ("memory write", 4, 24, 28),
        ("memory read", 0, 20, 24),
        ("atomic", 8, 28, 32),
        ("completion with data", 64, 84, 84),
        ("completion", 0, 20, 20),
        ("message", 0, 24, 24),
        ("config read", 0, 20, 20),
        ("config write", 4, 24, 24),
    ],
)
def test_tlp_sizes_below_and_above_4_gib(kind: wire.Kind, payload: int, low: int, high: int) -> None:
    assert wire.tlp_bytes(kind, payload=payload, address=FOUR_DW - 1) == low
    assert wire.tlp_bytes(kind, payload=payload, address=FOUR_DW) == high


def test_a_payload_must_suit_its_kind() -> None:
    with pytest.raises(ValueError, match="memory read of 4 bytes"):
        wire.tlp_bytes("memory read", payload=4)
    with pytest.raises(ValueError, match="memory write of 0 bytes"):
        wire.tlp_bytes("memory write")


@pytest.mark.parametrize(
    ("payload", "cells"),
    [
        (4, ["16.67", "14.29", "12.50"]),
        (64, ["76.19", "72.73", "69.57"]),
        (128, ["86.49", "84.21", "82.05"]),
        (256, ["92.75", "91.43", "90.14"]),
        (512, ["96.24", "95.52", "94.81"]),
        (1024, ["98.08", "97.71", "97.34"]),
        (2048, ["99.03", "98.84", "98.65"]),
        (4096, ["99.51", "99.42", "99.32"]),
    ],
)
def test_payload_efficiency(payload: int, cells: list[str]) -> None:
    sizes = [
        wire.tlp_bytes("completion with data", payload=payload),
        wire.tlp_bytes("memory write", payload=payload, address=FOUR_DW),
        wire.tlp_bytes("memory write", payload=payload, address=FOUR_DW, digest=True),
    ]
    assert [f"{100 * payload / size:.2f}" for size in sizes] == cells


@pytest.mark.parametrize(
    ("generation", "lanes", "writes", "completions"),
    [
        (1, 4, "0.840 0.912 0.952", "0.760 0.862 0.925 0.960"),
        (1, 8, "1.679 1.823 1.905", "1.519 1.725 1.850 1.919"),
        (2, 8, "3.359 3.646 3.810", "3.039 3.449 3.699 3.838"),
        (3, 4, "3.308 3.591 3.752", "2.993 3.397 3.643 3.780"),
        (3, 8, "6.615 7.182 7.504", "5.985 6.794 7.287 7.560"),
        (3, 16, "13.231 14.365 15.008", "11.971 13.588 14.573 15.121"),
        (4, 4, "6.615 7.182 7.504", "5.985 6.794 7.287 7.560"),
        (4, 8, "13.231 14.365 15.008", "11.971 13.588 14.573 15.121"),
        (4, 16, "26.462 28.730 30.016", "23.942 27.177 29.146 30.242"),
        (5, 16, "52.923 57.460 60.032", "47.883 54.354 58.292 60.484"),
    ],
)
def test_payload_ceilings(generation: int, lanes: int, writes: str, completions: str) -> None:
    def ceiling(kind: wire.Kind, payload: int, address: int) -> str:
        value = wire.payload_ceiling_gb_per_s(
            kind, generation=generation, lanes=lanes, payload=payload, address=address
        )
        return f"{value:.3f}"

    assert [ceiling("memory write", payload, FOUR_DW) for payload in (128, 256, 512)] == writes.split()
    for kind in ("completion with data", "memory write"):
        assert [ceiling(kind, payload, 0) for payload in (64, 128, 256, 512)] == completions.split()


def test_a_saturated_gen1_x4_link_writes_862_megabytes_a_second() -> None:
    value = wire.payload_ceiling_gb_per_s("memory write", generation=1, lanes=4, payload=128)
    assert 1e3 * value == pytest.approx(862.3, rel=1e-4)


def test_flit_only_rates_are_refused() -> None:
    with pytest.raises(ValueError, match="Flit Mode"):
        wire.skip_share(6)
