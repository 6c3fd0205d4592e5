"""What was fitted to measurements of one's own: parameters, rows, and how large errors are."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.calibration.fitting import DETERMINED, FIT, HELD_OUT
from lanewise.cli.tables import style
from lanewise.written import signed, significant

if TYPE_CHECKING:
    from rich.table import Table

    from lanewise.calibration.fitting import CellResult, OwnCalibration, Spread

_MOST_ROWS = 40
"""So many are printed; `--json` has all."""


def print_own(found: OwnCalibration) -> None:
    """Print parameters, rows and errors."""
    rows = style.counted(sum(not one.cell.is_held_out for one in found.cells), "number")
    style.emit(
        style.titled(
            "Parameters", _parameters(found), note=f"fitted to {rows} of {found.data}, {found.runs:,} runs"
        )
    )
    for remark in found.remarks:
        style.emit(Text(f"{remark}."), "")
    title, note = _titles(found)
    style.emit(style.titled(title, _cells(found.cells[:_MOST_ROWS]), note=note))
    if len(found.cells) > _MOST_ROWS:
        style.emit(f"{len(found.cells) - _MOST_ROWS} more rows are in --json.", "")
    style.emit(style.titled("Errors", _errors(found), note="without their signs"))


def _parameters(found: OwnCalibration) -> Table:
    table = style.table()
    style.words(table, "parameter", at_least=14)
    style.numbers(table, "before", "fitted")
    style.labels(table, "95 % interval")
    style.labels(table, "")
    for one in found.parameters:
        value = style.DASH if one.value is None else str(one.value)
        status = "" if one.status == DETERMINED else one.status
        table.add_row(one.name, one.known.wanted.was, value, one.interval, status)
    return table


def _titles(found: OwnCalibration) -> tuple[str, str]:
    """Return the title above the numbers with the unit that they all have, and what is to be said of it."""
    units = list(dict.fromkeys(one.cell.unit for one in found.cells))
    title = "Measured and simulated" + (f", {units[0]}" if len(units) == 1 and units[0] else "")
    return title, "errors in %" + (f"; {style.GB_PER_S}" if "GB/s" in units else "")


def _cells(cells: tuple[CellResult, ...]) -> Table:
    table = style.table()
    has_units = len({one.cell.unit for one in cells}) > 1
    has_before = any(one.before is not None for one in cells)
    has_held_out = any(one.cell.is_held_out for one in cells)
    style.numbers(table, "row")
    style.words(table, "measured at", at_least=11)
    style.numbers(table, "measured", "simulated", "error")
    style.numbers(table, *(["before"] if has_before else []))
    style.labels(table, *(["unit"] if has_units else []), *([""] if has_held_out else []))
    for one in cells:
        table.add_row(
            str(one.cell.row),
            one.cell.id,
            significant(one.cell.measured),
            significant(float(f"{one.simulated:.4g}")),
            signed(one.error_percent, 2),
            *([signed(one.before_percent, 1)] if has_before else []),
            *([one.cell.unit] if has_units else []),
            *([HELD_OUT if one.cell.is_held_out else ""] if has_held_out else []),
        )
    return table


def _errors(found: OwnCalibration) -> Table:
    table = style.table()
    style.words(table, "of")
    style.numbers(table, "numbers", "median", "worst")
    rows = [
        ("fitted rows", found.spread(FIT)),
        ("  before the fit", found.spread(FIT, "before_percent")),
        ("held-out rows", found.spread(HELD_OUT)),
        ("  before the fit", found.spread(HELD_OUT, "before_percent")),
        ("  the nearest fitted row in their place", found.spread(HELD_OUT, "null_percent")),
        ("  a straight line through the two nearest", found.spread(HELD_OUT, "line_percent")),
    ]
    for name, spread in rows:
        if spread is not None:
            _add(table, name, spread)
    return table


def _add(table: Table, name: str, spread: Spread) -> None:
    table.add_row(
        name,
        str(spread.cells),
        style.percent(spread.median_percent / 100, 2),
        style.percent(spread.worst_percent / 100, 2),
    )
