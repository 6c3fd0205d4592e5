"""Values with a unit, as scenarios and `explain` write them: ``150 ns``, ``4 KiB``, ``2.5 GB/s``."""

from __future__ import annotations

from fractions import Fraction
from math import isfinite

from lanewise.known_units import UNITS


def kind_of(unit: str) -> str | None:
    """Return what a unit measures: time, bytes, rate or share; None for one that the core does not know."""
    found = UNITS.get(unit)
    return None if found is None else found[0]


def size_of(unit: str) -> Fraction:
    """Return how many ps, B, B/s or ones a unit is, exactly; KeyError for one that the core does not know."""
    _, number, divisor = UNITS[unit]
    return Fraction(number, divisor)


_NOTHING = ("none", "auto")
"""What the core prints of a parameter without an amount."""


def stated_in(unit: str, text: str | None) -> float | None:
    """Read what the core prints of a parameter, in a unit; None where it states no amount.

    ValueError for a text that means nothing in this unit: what is stated is never passed over.

    >>> stated_in("B", "1 TB"), stated_in("B", "none")
    (1000000000000.0, None)
    """
    if text is None or text in _NOTHING:
        return None
    amount = amount_in(unit, text)
    if amount is None:
        raise ValueError(f"'{text}' is stated, and is no amount in {unit}")
    return amount


def amount_in(unit: str, text: str | None) -> float | None:
    """Read a value in a unit; None for no number, and for one whose unit measures something else.

    >>> amount_in("ns", "1.5 us"), amount_in("B", "4 KiB"), amount_in("GB/s", "4 KiB")
    (1500.0, 4096.0, None)
    """
    number, _, own = (text or "").partition(" ")
    if kind_of(own) != kind_of(unit):
        return None
    try:
        amount = float(number) * float(size_of(own) / size_of(unit))
    except ValueError:
        return None
    return amount if isfinite(amount) else None
