"""How the numbers of a cell are written, for the terminal and for the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanewise.experiment.reproduced_cell import ReproducedCell

DASH = "\N{EN DASH}"
_PLUS_MINUS = "\N{PLUS-MINUS SIGN}"


def digits_for(size: float) -> int:
    """Return how many decimals suit a number of this size."""
    return 0 if abs(size) >= 200 else 2


def band_text(cell: ReproducedCell) -> str:
    """Write the band of a cell as it was decided: in percent, in points, or as a range."""
    if cell.between is not None:
        return f"{cell.between[0]:g} to {cell.between[1]:g}"
    if cell.band_points is not None:
        return f"{_PLUS_MINUS}{cell.band_points:g} {_points(cell)}"
    return DASH if cell.band_percent is None else f"{_PLUS_MINUS}{cell.band_percent:g} %"


def error_text(cell: ReproducedCell) -> str:
    """Write the error of a cell as it is judged."""
    if cell.is_judged_in_points and cell.error_points is not None:
        return f"{_signed(cell.error_points)} {_points(cell)}"
    if cell.between is not None and cell.within_band is not None:
        return "holds" if cell.within_band else "fails"
    return DASH if cell.error_percent is None else f"{_signed(cell.error_percent)} %"


def interval_text(cell: ReproducedCell, like: float | None = None) -> str:
    """Write half of the interval of a mean over seeds; nothing for one seed, or seeds that agree."""
    if not cell.half_width:
        return ""
    size = cell.simulated if like is None else like
    return f"{_PLUS_MINUS}{cell.half_width:.{max(digits_for(size or 0.0), 1)}f}"


def null_error_text(cell: ReproducedCell) -> str:
    """Write the error of a cell's null model, judged as the cell is."""
    if cell.between is not None and cell.null_holds is not None:
        return "holds" if cell.null_holds else "fails"
    if cell.null_error is None:
        return DASH
    return f"{_signed(cell.null_error)} {_points(cell) if cell.is_judged_in_points else '%'}"


def counted(number: int, name: str) -> str:
    """Write how many there are of something: '1 claim', '2 claims'."""
    return f"{number} {name}{'' if number == 1 else 's'}"


def _points(cell: ReproducedCell) -> str:
    return "points" if cell.unit == "%" else cell.unit


def _signed(number: float) -> str:
    """Write two decimals with a sign; nothing is not below zero."""
    return f"{round(number, 2) + 0.0:+.2f}"
