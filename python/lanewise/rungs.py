"""The efficiency ladder of one direction of a link, rung by rung: their order, their words, their colours.

Every picture and table of a ladder in this package takes them from here. The rates are results of a
run, or of the rate model without one; nothing is derived here but shares and differences of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

RUNGS = {
    "line_rate_gb_per_s": "line rate",
    "link_bandwidth_gb_per_s": "after coding and ordered sets",
    "tlp_bandwidth_gb_per_s": "after DLLPs",
    "goodput_gb_per_s": "payload",
}
"""The words of each rung, by its key in `ladder` and its column in tables of links; the highest first."""

COLOURS = ("#d0d0d0", "#a9c8ec", "#5b8fd0", "#1f4e8c")
"""Of the rungs in their order, where a picture has no style sheet."""


@dataclass(frozen=True)
class Rung:
    """One step of a ladder."""

    name: str
    gb_per_s: float
    lost_gb_per_s: float
    """What the rung above has more, 10⁹ bytes per second; 0 for the highest."""
    share: float
    """Of the line rate, 0 to 1."""


def rungs_of(ladder: Mapping[str, Any]) -> tuple[Rung, ...]:
    """Return the rungs of a `ladder` of a result, or of a row of a table of links; the highest first."""
    rates: list[float] = [ladder[key] for key in RUNGS]
    above = [rates[0], *rates]
    return tuple(
        Rung(name, rate, before - rate, rate / rates[0] if rates[0] else 0.0)
        for name, rate, before in zip(RUNGS.values(), rates, above, strict=False)
    )
