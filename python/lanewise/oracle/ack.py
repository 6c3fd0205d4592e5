"""Ack latency and replay timer limits, in symbol times per lane (PCIe Base 3.6.2.1, Appendix H)."""

from __future__ import annotations

from fractions import Fraction
from math import floor

_TLP_OVERHEAD = 1 + 2 + 16 + 4 + 4 + 1
"""Start, sequence number, 4-DW header, ECRC, LCRC, end: bytes around the payload (PCIe Base Appendix H)."""

_INTERNAL_DELAY = {1: 19, 2: 70}
"""Symbol times to process a TLP and start its Ack; 115 from 8 GT/s on (PCIe Base Appendix H)."""


def ack_factor(*, mps: int, lanes: int) -> Fraction:
    """Return how many TLPs one Ack may cover (PCIe Base Appendix H)."""
    if mps <= 256:
        return Fraction("1.4") if lanes <= 4 else Fraction("2.5") if lanes == 8 else Fraction(3)
    return Fraction(1) if lanes <= 8 else Fraction(2)


def ack_latency_limit(*, mps: int, lanes: int, generation: int) -> int:
    """Return the symbol times a receiver may wait before an Ack is on its way, outside Flit Mode.

    The same numbers limit UpdateFC (PCIe Base Tables 2-52 to 2-54, 3-10 to 3-12).
    """
    if generation > 5:
        raise ValueError("Flit Mode has no Ack timer of this kind")
    tlp = (mps + _TLP_OVERHEAD) * ack_factor(mps=mps, lanes=lanes) / lanes
    return floor(tlp) + _INTERNAL_DELAY.get(generation, 115)


def replay_timer_limit(*, mps: int, lanes: int, generation: int) -> int:
    """Return the legacy replay timer in symbol times: three Ack limits (PCIe Base 3.1 3.6.2.1)."""
    return 3 * ack_latency_limit(mps=mps, lanes=lanes, generation=generation)
