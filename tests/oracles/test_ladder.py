"""The core's rates of a link against the closed forms that share nothing with it."""

from __future__ import annotations

import re

import pytest

from lanewise.ladder import coded_gb_per_s, payload_gb_per_s, rungs
from lanewise.oracle import flit, wire

ABOVE_4_GIB = 1 << 32


@pytest.mark.parametrize("lanes", [1, 2, 4, 8, 16])
@pytest.mark.parametrize("generation", range(1, 8))
def test_what_is_left_after_coding(generation: int, lanes: int) -> None:
    assert coded_gb_per_s(generation, lanes) == pytest.approx(
        wire.coded_gb_per_s(generation=generation, lanes=lanes), rel=1e-12
    )


@pytest.mark.parametrize("payload", [64, 256, 4096])
@pytest.mark.parametrize("generation", range(1, 8))
def test_what_is_left_for_payload(generation: int, payload: int) -> None:
    """Ordered sets are not in the core's figure: it lies above the oracle's by less than half a percent."""
    bound = flit.payload_ceiling_gb_per_s if generation > 5 else wire.payload_ceiling_gb_per_s
    ceiling = bound("memory write", generation=generation, lanes=16, payload=payload, address=ABOVE_4_GIB)
    ours = payload_gb_per_s(generation, 16, payload_bytes=payload, header_dwords=4)
    assert ceiling < ours < 1.005 * ceiling


@pytest.mark.parametrize(
    ("wrong", "allowed"),
    [
        ({"generation": 8}, "generation is 8; allowed is 1 to 7"),
        ({"lanes": 3}, "lanes is 3; allowed is 1, 2, 4, 8, 12, 16 or 32"),
        ({"generation": 6, "lanes": 32}, "lanes is 32; allowed is 1, 2, 4, 8 or 16 with flits"),
        ({"payload_bytes": 0}, "payload_bytes is 0; allowed is 1 to 4096"),
        ({"header_dwords": 5}, "header_dwords is 5; allowed is 3 or 4"),
    ],
)
def test_links_that_do_not_exist_are_refused(wrong: dict[str, int], allowed: str) -> None:
    link = {"generation": 4, "lanes": 16, "payload_bytes": 256, "header_dwords": 4} | wrong
    with pytest.raises(ValueError, match=re.escape(allowed)):
        rungs(**link)
