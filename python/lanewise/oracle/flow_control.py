"""What credits allow (PCIe Base 2.6): a class carries at most its credits once per credit loop."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil


@dataclass(frozen=True, kw_only=True)
class CreditLoop:
    """Where a credit spends its time before it can be spent again, in nanoseconds."""

    tlp_serialisation_ns: float
    """Last byte of the TLP after its first."""
    wire_ns: float = 0.0
    """Propagation, there and back."""
    drain_ns: float = 0.0
    """From the TLP's arrival to its leaving the receive buffer."""
    update_wait_ns: float = 0.0
    """From the credit's release to its UpdateFC going out."""
    update_serialisation_ns: float = 0.0
    """The UpdateFC itself."""
    processing_ns: float = 0.0
    """From the UpdateFC's arrival to the next TLP's first byte."""

    @property
    def total_ns(self) -> float:
        """The whole loop."""
        return (
            self.tlp_serialisation_ns
            + self.wire_ns
            + self.drain_ns
            + self.update_wait_ns
            + self.update_serialisation_ns
            + self.processing_ns
        )


def data_credits(payload: int) -> int:
    """Return the data credits a payload costs: one for each 16 bytes or part (PCIe Base 2.6.1)."""
    return (payload + 15) // 16


def tlps_outstanding(*, headers: int | None, data: int | None, payload: int) -> int | None:
    """Return how many TLPs of this payload the credits pay for at once; None is infinite, in and out."""
    by_data = None if data is None or payload == 0 else data // data_credits(payload)
    known = [limit for limit in (headers, by_data) if limit is not None]
    return min(known, default=None)


def credit_limited_gb_per_s(
    *, headers: int | None, data: int | None, payload: int, loop_ns: float
) -> float | None:
    """Return the payload bandwidth that credits allow, or None when they never limit (derived).

    ``loop_ns`` is the time from one spending of a credit to the next; see ``CreditLoop``.
    """
    tlps = tlps_outstanding(headers=headers, data=data, payload=payload)
    return None if tlps is None else tlps * payload / loop_ns


def credits_needed(*, loop_ns: float, tlp_ns: float, payload: int) -> tuple[int, int]:
    """Return the headers and data credits that keep a link busy through a loop, in whole TLPs (derived)."""
    tlps = ceil(loop_ns / tlp_ns)
    return tlps, tlps * data_credits(payload)


def minimum_posted_data(*, mps: int, scale: int) -> int:
    """Return the smallest legal PD advertisement, in credits (PCIe Base Table 2-50)."""
    if scale == 1:
        return mps // 16
    return scale * (-(-mps // (16 * scale)) + 1)
