"""Speed and width of a link of which only the bandwidth is told, as hwloc does.

The bandwidth is one number for speed times width after line coding, so that x16 at 2.5 GT/s and x8 at 5 GT/s
look alike. Source: hwloc 2.12, ``pci-common.c`` (``hwloc__pci_link_speed``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.lanes import WIDTHS
from lanewise.machine.registers import LinkMode

if TYPE_CHECKING:
    from lanewise.machine.model import Link

_LANE_GB_PER_S = {
    2.5: 0.25,
    5.0: 0.5,
    8.0: 8 * 128 / 130 / 8,
    16.0: 16 * 128 / 130 / 8,
    32.0: 32 * 128 / 130 / 8,
    64.0: 64 * 242 / 256 / 8,
}
"""What hwloc takes one lane to carry, by GT/s."""

_WRONG_LANE_GB_PER_S = {5.0: 5 * 128 / 130 / 8}
"""hwloc before 2.0 took 5 GT/s to be coded 128b/130b: 0.615 GB/s for a lane."""

_ROUNDING = 0.0006
"""Of GB/s, and above 1 GB/s of the number: files have it with six digits."""

_WIDEST_SLOT = 16
"""Lanes of the widest slot that computers have."""

_WIDEST_DRIVE = 4
"""Lanes of an M.2 module and of most drives in bays. PCI Express M.2 1.1, table 2-4; SFF-8639."""


def modes_of(gb_per_s: float) -> tuple[LinkMode, ...]:
    """Return every speed and width whose bandwidth after line coding is this, widest first."""
    modes = {
        LinkMode(gt_s, width)
        for gt_s, lane in (*_LANE_GB_PER_S.items(), *_WRONG_LANE_GB_PER_S.items())
        for width in WIDTHS
        if abs(lane * width - gb_per_s) < _ROUNDING * max(1.0, gb_per_s)
    }
    return tuple(sorted(modes, key=lambda mode: -(mode.width or 0)))


def widest_mode(link: Link) -> LinkMode | None:
    """Return the widest usual mode with the bandwidth told of a link; None where no source tells any.

    That of a drive has four lanes where that makes the bandwidth: 15.75 GB/s are Gen5 x4, not Gen3 x16.
    """
    gb_per_s = link.device.link.bandwidth_gb_s or link.upper.link.bandwidth_gb_s
    if not gb_per_s:
        return None
    widest = (_WIDEST_DRIVE, _WIDEST_SLOT) if link.device.is_nvme else (_WIDEST_SLOT,)
    modes = modes_of(gb_per_s)
    return next((mode for lanes in widest for mode in modes if (mode.width or 0) <= lanes), None)
