"""What would be said of held-out rows without a simulator: the yardstick beside their errors.

The nearest fitted row in its place, and where one number tells rows apart the straight line through the two
fitted rows next to it. Rows are as far apart as their numbers are in ratio; what is no number is equal or
not.
"""

from __future__ import annotations

from math import log
from typing import TYPE_CHECKING

from lanewise.experiment.nulls import NullModel
from lanewise.study.axes import in_base_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.calibration.measured import MeasuredCell

_UNLIKE = 10.0
"""Distance of two that are no numbers and differ: more than any two sizes."""


def null_errors(cells: Sequence[MeasuredCell]) -> dict[str, tuple[float | None, float | None]]:
    """Return the errors in percent of both null models, of every held-out cell that they say something of."""
    found = {}
    for cell in cells:
        fitted = [other for other in cells if not other.is_held_out and other.column == cell.column]
        if cell.is_held_out and fitted:
            nearest = min(fitted, key=lambda other: _distance(cell, other))
            amounts = {other.id: _amount(other) for other in fitted}
            copied = NullModel(copy=nearest.id).value(cell.id, amounts.__getitem__)
            found[cell.id] = _error(copied, cell), _error(_on_line(cell, fitted), cell)
    return found


def _amount(cell: MeasuredCell) -> float:
    return cell.measured * cell.factor


def _error(said: float | None, cell: MeasuredCell) -> float | None:
    return None if said is None else 100 * (said / _amount(cell) - 1)


def _distance(one: MeasuredCell, other: MeasuredCell) -> float:
    """Return how far two rows are apart."""
    pairs = zip(one.overrides, other.overrides, strict=True)
    return sum(_apart(here, there) for (_, here), (_, there) in pairs)


def _apart(here: str, there: str) -> float:
    if here == there:
        return 0.0
    numbers = _number(here), _number(there)
    if None in numbers:
        return _UNLIKE
    low, high = sorted(number or 0.0 for number in numbers)
    return min(log(high / low), _UNLIKE) if low > 0 else 1.0


def _number(text: str) -> float | None:
    found = in_base_unit(text)
    return None if found is None else float(found[0])


def _on_line(cell: MeasuredCell, fitted: Sequence[MeasuredCell]) -> float | None:
    """Return what a straight line says, in the number that alone tells this row from fitted ones."""
    found: float | None = None
    for at, (_, here) in enumerate(cell.overrides):
        size = _number(here)
        alike = [
            (other_size, _amount(other))
            for other in fitted
            if other.overrides[:at] == cell.overrides[:at]
            and other.overrides[at + 1 :] == cell.overrides[at + 1 :]
            and (other_size := _number(other.overrides[at][1])) is not None
        ]
        points = dict(alike)
        if size is None or len(points) < 2:
            continue
        (x1, y1), (x2, y2) = sorted(points.items(), key=lambda point: abs(point[0] - size))[:2]
        found = y1 + (y2 - y1) * (size - x1) / (x2 - x1)
    return found
