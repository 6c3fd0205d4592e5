"""What a calibration found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.cli.tables import style
from lanewise.experiment.wording import digits_for

if TYPE_CHECKING:
    from lanewise.experiment.calibration import Calibration


def print_calibration(calibration: Calibration) -> None:
    """Print one line per cell that was fitted on."""
    id_ = calibration.experiment.id
    if not calibration.fits:
        style.emit(f"{id_} fits nothing: all of its cells are predictions.")
        return
    table = style.table()
    style.words(table, "what")
    style.numbers(table, "value", "\N{PLUS-MINUS SIGN}")
    style.words(table, "fitted on")
    style.numbers(table, "published", "simulated", "error", "runs")
    for fit in calibration.fits:
        for number, cell in enumerate(fit.cells):
            first = number == 0
            digits = digits_for(cell.published)
            table.add_row(
                fit.value.name if first else "",
                str(fit.value.value) if first else "",
                fit.value.plus_minus if first else "",
                cell.cell,
                style.fixed(cell.published, digits),
                style.fixed(cell.simulated, digits),
                f"{cell.error_percent:+.2f} %",
                str(fit.runs) if first else "",
            )
    style.emit(style.titled(f"{id_}: fitted values", table))
