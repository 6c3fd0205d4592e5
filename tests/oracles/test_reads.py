"""Reads: published ceilings, tag bounds and completion sizes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lanewise.oracle import reads


@pytest.mark.parametrize(
    ("request_bytes", "cell"),
    [(128, "693.6"), (256, "725.1"), (512, "742.0"), (2048, "755.2"), (4096, "757.4")],
)
def test_gen1_x4_reads_with_64_byte_completions(request_bytes: int, cell: str) -> None:
    value = reads.read_ceiling_gb_per_s(generation=1, lanes=4, request=request_bytes, completion=64)
    assert f"{1e3 * value:.1f}" == cell


def test_tags_bound_reads() -> None:
    assert reads.tag_limited_gb_per_s(tags=32, request=512, round_trip_ns=1000) == pytest.approx(16.384)
    assert reads.tag_limited_gb_per_s(tags=8, request=128, round_trip_ns=800) == pytest.approx(1.28)
    assert reads.tags_needed(gb_per_s=1.28, request=128, round_trip_ns=800) == pytest.approx(8)


def test_usable_tags() -> None:
    assert list(reads.USABLE_TAGS.values()) == [32, 256, 768, 15360]


def test_completions_end_at_lines() -> None:
    assert reads.completion_lengths(address=16, length=256, rcb=64) == [48, 64, 64, 64, 16]
    assert reads.completion_lengths(address=16, length=512, rcb=64, lines=4) == [240, 256, 16]
    assert reads.completion_lengths(address=60, length=8, rcb=64) == [4, 4]
    assert reads.completion_lengths(address=60, length=8, rcb=64, lines=4) == [8]


@given(
    address=st.integers(0, 8192),
    length=st.integers(1, 4096),
    rcb=st.sampled_from([64, 128]),
    lines=st.sampled_from([1, 2, 4]),
)
def test_completions_obey_the_boundary(address: int, length: int, rcb: int, lines: int) -> None:
    lengths = reads.completion_lengths(address=address, length=length, rcb=rcb, lines=lines)
    assert sum(lengths) == length
    assert max(lengths) <= rcb * lines
    ends = [address + sum(lengths[: at + 1]) for at in range(len(lengths) - 1)]
    assert all(end % rcb == 0 for end in ends)
