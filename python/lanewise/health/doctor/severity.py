"""What makes a finding an error, a warning or a note: the one place where thresholds stand.

- An **error** is a fault: transfers fail, or a device is out of service.
- A **warning** is something to mend: a link that fell back, errors that were counted, or a setting that costs
  a device at least a tenth of what it can use.
- A **note** costs less, or nothing that could be measured, or is how the machine was designed.

What a device can use is the rate of its link, and no more than that of its own wires or media where those are
known (`lanewise.machine.own_rate`). Severities follow from closed forms, so that they are the same with and
without simulated costs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Severity

if TYPE_CHECKING:
    from lanewise.machine.own_rate import Own

NOTICEABLE = 0.10
"""Share of what a device can use from which its loss is a warning. Assumed: runs of one benchmark differ by
some hundredths, and no setting of payload sizes alone costs a drive so much."""

DRIVE_SHARE = 0.9
"""Share of its link that a drive's media can use where the drive is not known. Published reads of those in
the catalog are 0.80 to 0.95 of it."""

FEW_LANES = 4
"""A link on one in so many of its device's lanes is a fault even where its slot is not known. Assumed."""

_PACKET_OVERHEAD = 24
"""Bytes of header and framing around the payload of a packet. PCIe Base 5.0, 2.2.1 and 4.2: 16 and 8."""


def by_loss(now: float, fixed: float, own: Own | float | None, direction: str = "write") -> Severity:
    """Return a warning for a loss that is to be noticed, from rates in GB/s as it is and put right."""
    return Severity.WARNING if loss(now, fixed, own, direction) >= NOTICEABLE else Severity.INFO


def loss(now: float, fixed: float, own: Own | float | None, direction: str = "write") -> float:
    """Return the share that a device loses of what it could use; never negative."""
    most = own if own is None or isinstance(own, float) else own.of(direction)
    if most is not None:
        now, fixed = min(now, most), min(fixed, most)
    return max(0.0, 1 - now / fixed) if fixed else 0.0


def payload_share(mps: int) -> float:
    """Return the share of a link's bytes that is payload when packets carry as many as they may."""
    return mps / (mps + _PACKET_OVERHEAD)
