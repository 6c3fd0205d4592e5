"""Published Flit Mode numbers, and the packing rule."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.oracle import flit

FOUR_DW = 2**32


@pytest.mark.parametrize(
    ("generation", "cells"),
    [
        # Gen6 x8 and Gen7 x4 are half of 117.6069; halving the rounded 117.607 gives 58.804 in print.
        (6, ["117.607", "58.803", "29.402", "14.701", "7.350"]),
        (7, ["235.214", "117.607", "58.803", "29.401", "14.700"]),
    ],
)
def test_tlp_bandwidth(generation: int, cells: list[str]) -> None:
    computed = [flit.tlp_gb_per_s(generation=generation, lanes=lanes) for lanes in (16, 8, 4, 2, 1)]
    assert [f"{value:.3f}" for value in computed] == cells


def test_flits_below_64_gt_per_s_pay_for_sync_headers() -> None:
    assert flit.tlp_gb_per_s(generation=5, lanes=16) < 63.0154 * 236 / 256
    with pytest.raises(ValueError, match="8b/10b"):
        flit.tlp_gb_per_s(generation=2, lanes=16)


@pytest.mark.parametrize(
    ("payload", "three_dw", "four_dw"),
    [
        (64, "77.6", "73.8"),
        (128, "84.3", "81.9"),
        (256, "88.1", "86.8"),
        (512, "90.1", "89.4"),
        (4096, "91.9", "91.8"),
    ],
)
def test_payload_efficiency(payload: int, three_dw: str, four_dw: str) -> None:
    for address, cell in ((0, three_dw), (FOUR_DW, four_dw)):
        share = payload / flit.tlp_bytes("memory write", payload=payload, address=address)
        assert f"{100 * share * 236 / 256:.1f}" == cell


def test_sixteen_small_tlps_fill_a_flit() -> None:
    starts = flit.pack([12] * 33)
    assert starts[8] == 128
    assert starts[16] == 236
    assert starts[32] == 2 * 236


def test_a_partial_tlp_counts_in_both_halves() -> None:
    starts = flit.pack([16] * 30)
    assert starts[14] == 128 + 6 * 16, "the last of the first flit reaches into the second"
    assert starts[22] == 236 + 128, "with it the second flit's first half has its eight"


@given(st.lists(st.integers(3, 40).map(lambda dwords: 4 * dwords), min_size=1, max_size=200))
def test_packing_never_overlaps(sizes: list[int]) -> None:
    starts = flit.pack(sizes)
    ends = [start + size for start, size in zip(starts, sizes, strict=True)]
    assert starts[0] == 0
    assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))


def test_large_payloads_are_bound_by_size_and_small_ones_by_number() -> None:
    per_flit = 236 / flit.tlp_gb_per_s(generation=6, lanes=16)
    large = flit.payload_ceiling_gb_per_s("memory write", generation=6, lanes=16, payload=256)
    assert large * per_flit == pytest.approx(236 * 256 / 268)
    tiny = flit.payload_ceiling_gb_per_s("memory write", generation=6, lanes=16, payload=4)
    assert tiny * per_flit == pytest.approx(236 / 16 * 4)
