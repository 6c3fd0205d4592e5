"""How well a fitted value is known, from residuals, published digits, seeds, and steps of a simulation.

With more cells than the one parameter, residuals say how far the model is from the measurements. The
interval is that of a linear approximation at the fit: the variance of the residuals by cells less one, over
the sum of squares of the slopes, times Student's t (D. M. Bates and D. G. Watts, Nonlinear Regression
Analysis and Its Applications, Wiley 1988, chapter 2). It takes errors of cells for independent and alike in
percent, and values of other fits for exact. Residuals have in them what rounding and seeds do to the cells,
so that it is not added: it is the least that an interval can be.

A simulation goes in steps. Where it gives the same over a range that is wider than this, that range is the
interval.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from math import floor, log10, sqrt
from typing import TYPE_CHECKING

from lanewise._core import student_t
from lanewise.experiment.spread import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

SIGNIFICANT_DIGITS = 5
"""Digits that a value is rounded to before it is simulated in a search, and the most that are written."""

_EDGE = 0.02
"""How well the end of a range is looked for, relative to its distance."""

_ROUNDING_NOISE = Decimal("1e-6")
"""Share of the last digit that is nothing when a half width is rounded up."""


def from_residuals(slopes: Sequence[float], residuals: Sequence[float]) -> float:
    """Return half of the interval that the residuals of a least-squares fit leave its one parameter.

    `slopes` are changes of each residual over the parameter, at the fit. There are two residuals at least.
    """
    return sqrt(_rise_of_residuals(residuals, 1) / sum(slope * slope for slope in slopes))


def _rise_of_residuals(residuals: Sequence[float], parameters: int) -> float:
    """Return by how much the sum of squares of residuals rises at the ends of the interval of one parameter.

    It is the variance of the residuals times the square of Student's t. Of as many residuals as parameters
    it is not known, and 0.
    """
    freedom = len(residuals) - parameters
    if freedom == 0:
        return 0.0
    variance = sum(residual * residual for residual in residuals) / freedom
    return float(student_t((1 + CONFIDENCE) / 2, freedom) ** 2 * variance)


def rise_within(residuals: Sequence[float], half_widths: Sequence[float], parameters: int) -> float:
    """Return how much the sum of squares may rise within the interval of one of several parameters.

    The others are at their best then: the profile of the sum of squares (Bates and Watts, chapter 6). Cells
    that are each known to half of an interval move it as much as the mean square of those, at least.
    """
    of_cells = sum(half * half for half in half_widths) / len(half_widths)
    return max(_rise_of_residuals(residuals, parameters), of_cells)


def from_cells(slopes: Sequence[float], half_widths: Sequence[float]) -> float:
    """Return by how much a least-squares fit moves when its cells do, each by half of its own interval."""
    moved = sqrt(sum((slope * half) ** 2 for slope, half in zip(slopes, half_widths, strict=True)))
    return moved / sum(slope * slope for slope in slopes)


def end_of_range(
    is_in: Callable[[float], bool], start: float, first: float, bound: float, finest: float
) -> tuple[float, float]:
    """Return the last value in a range that `start` is in, and the first beyond it, towards a bound.

    Both are `bound` where the range reaches it. Steps begin with `first` and double, and the end is then
    halved in, to `finest` or to a fiftieth of its distance.
    """
    towards = 1 if bound > start else -1
    within, step = start, first
    while True:
        beyond = start + towards * min(step, abs(bound - start))
        if not is_in(beyond):
            break
        within, step = beyond, 2 * step
        if within == bound:
            return bound, bound
    while abs(beyond - within) > max(finest, _EDGE * abs(beyond - start)):
        middle = (within + beyond) / 2
        within, beyond = (middle, beyond) if is_in(middle) else (within, middle)
    return within, beyond


def covering(value: float, half_width: float) -> tuple[float, str]:
    """Round a value to what its interval leaves, and write a half of it that covers what was rounded away.

    The half is rounded up, to two digits, so that the value loses little of what was found best.
    """
    place = floor(log10(half_width)) - 1
    if value:
        place = max(place, floor(log10(abs(value))) + 1 - SIGNIFICANT_DIGITS)
    unit = Decimal(1).scaleb(place)
    number = round(Decimal(value) / unit) * unit
    units = (Decimal(half_width) + abs(Decimal(value) - number)) / unit
    half = (units - _ROUNDING_NOISE).to_integral_value(ROUND_CEILING) * unit
    return float(number), f"{half:f}"


def rounded(value: float, plus_minus: float) -> str:
    """Write a value with the digits that its interval leaves it, and no more than `SIGNIFICANT_DIGITS`."""
    places = -floor(log10(plus_minus))
    digits = min(places + floor(log10(abs(value))) + 1, SIGNIFICANT_DIGITS) if value else 1
    return f"{value:.{max(digits, 1)}g}"
