"""Speed and width of a link that is known well enough to say what it carries and to be put into a scenario.

`LinkMode` is what registers say, gaps included; `Lanes` has none. Rates come from the core.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from lanewise.ladder import coded_gb_per_s
from lanewise.machine.registers import SPEEDS_GT_S

if TYPE_CHECKING:
    from lanewise.machine.registers import LinkMode

WIDTHS = (1, 2, 4, 8, 16, 32)
"""Widths that links train to; x12 is in the specification and in no machine."""

LAST_WITHOUT_FLITS = 5
"""The last generation whose links carry packets without flits. PCIe Base 6.3 4.2.3."""

_WIDEST_WITH_FLITS = 16
"""Lanes of a link with flits. PCIe Base 6.3 4.2.3."""


@dataclass(frozen=True)
class Lanes:
    """How a link runs: GT/s per lane, and lanes."""

    gt_s: float
    width: int

    @property
    def generation(self) -> int:
        """1 for 2.5 GT/s to 7 for 128 GT/s."""
        return SPEEDS_GT_S.index(self.gt_s) + 1

    @property
    def word(self) -> str:
        """As a scenario writes it, like "gen4 x16"."""
        return f"gen{self.generation} x{self.width}"


def lanes_of(mode: LinkMode) -> Lanes | None:
    """Return a mode without gaps; None when it is unknown or no link has it."""
    if not mode.known or mode.generation is None or mode.width not in WIDTHS:
        return None
    if mode.generation > LAST_WITHOUT_FLITS and mode.width > _WIDEST_WITH_FLITS:
        return None
    assert mode.gt_s is not None
    return Lanes(mode.gt_s, mode.width)


def rate_of(mode: LinkMode) -> float | None:
    """Return what one direction of a link carries after coding, in GB/s; None when the mode is unknown."""
    lanes = lanes_of(mode)
    return None if lanes is None else _rate(lanes)


@cache
def _rate(lanes: Lanes) -> float:
    return coded_gb_per_s(lanes.generation, lanes.width)
