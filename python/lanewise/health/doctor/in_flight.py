"""How much a device can read: one request for each tag, each as large as it may be, in one round trip."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanewise.machine.model import Function
    from lanewise.machine.view import View

REQUESTS = {5: 32, 8: 256, 10: 768, 14: 15360}
"""Requests that a tag field of so many bits tells apart. PCIe Base 6.3 §2.2.6.2."""

READ_ROUND_TRIP_NS = 1000
"""Time from a read request to its data, used to ask how many reads must be in flight.

Assumed: servers answer within 0.5 to 1.5 us, link and switches included (pcie-bench, SIGCOMM 2018)."""


def carried_by(view: View, function: Function, mrrs: int) -> float:
    """Return what a device reads with all of its tags in flight, in GB/s, whatever its link carries."""
    return REQUESTS[view.tag_bits(function)] * mrrs / READ_ROUND_TRIP_NS
