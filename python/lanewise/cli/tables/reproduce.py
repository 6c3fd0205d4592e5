"""Published beside simulated, predicted cells first, calibrated ones apart."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.cli.tables import style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Group, RenderableType

    from lanewise.experiment.reproduction import ReproducedCell, ReproducedExperiment, Reproduction

_ROLES = (
    ("predicted", "Predicted", "nothing was fitted on these cells"),
    ("calibrated", "Calibrated", "a parameter was fitted on each; agreeing proves nothing"),
    ("excluded", "Excluded", "cannot be predicted"),
)


def print_reproduction(reproduction: Reproduction) -> None:
    """Print each experiment, and over several of them the error of all predicted cells."""
    pieces = [piece for experiment in reproduction.experiments for piece in _experiment(experiment)]
    if len(reproduction.experiments) > 1:
        errors = [
            error
            for experiment in reproduction.experiments
            for error in experiment.predicted_abs_errors_percent
        ]
        pieces.append(_headline("All experiments", errors))
    style.emit(*pieces)


def _experiment(experiment: ReproducedExperiment) -> Iterator[RenderableType]:
    yield Text(f"{experiment.id}  {experiment.title}", style="bold")
    yield Text(f"{experiment.source}\n", style="dim")
    for role, title, note in _ROLES:
        cells = [cell for cell in experiment.cells if cell.role == role]
        if cells:
            yield _cells(role, title, note, cells)
    if experiment.fitted:
        yield _fitted(experiment)
    if experiment.predicted_abs_errors_percent:
        yield _headline(experiment.id, experiment.predicted_abs_errors_percent)
    outside = [
        cell.cell for cell in experiment.cells if cell.role != "excluded" and cell.within_band is False
    ]
    if outside:
        yield Text(f"Outside their band: {', '.join(outside)}.", style="bold red")
    yield ""


def _cells(role: str, title: str, note: str, cells: list[ReproducedCell]) -> Group:
    table = style.table()
    style.words(table, "cell")
    style.numbers(table, "published", "simulated")
    style.labels(table, "unit")
    style.numbers(table, "error", "band")
    style.labels(table, "verdict")
    style.words(table, "rests on" if role == "predicted" else "note")
    for cell in cells:
        digits = 2 if abs(cell.published) < 200 else 0
        uses = ", ".join(name.partition(" ")[2] for name in cell.fitted_on) or "nothing fitted"
        table.add_row(
            cell.cell,
            style.fixed(cell.published, digits),
            style.fixed(cell.simulated, digits),
            cell.unit,
            _error(cell),
            style.DASH if cell.band_percent is None else f"\N{PLUS-MINUS SIGN}{cell.band_percent:g} %",
            cell.verdict,
            Text(uses if role == "predicted" else cell.note),
        )
    return style.titled(title, table, note=note)


def _error(cell: ReproducedCell) -> Text:
    if cell.error_percent is None:
        return Text(style.DASH)
    outside = cell.within_band is False
    colour = "bold red" if outside else "green" if cell.within_band else ""
    return Text(f"{cell.error_percent:+.2f} %{' !' if outside else ''}", style=colour)


def _fitted(experiment: ReproducedExperiment) -> Group:
    table = style.table()
    style.words(table, "what", "parameter")
    style.numbers(table, "value")
    style.labels(table, "fitted on")
    for value in experiment.fitted:
        cells = "\n".join(name.partition(" ")[2] for name in value.fitted_on)
        table.add_row(value.name, "\n".join(value.parameters), value.value, cells)
    return style.titled("Fitted values", table, note="made by 'lanewise calibrate'")


def _headline(label: str, errors: list[float]) -> Text:
    text = Text.assemble((f"{label}: ", "bold"), f"{len(errors)} predicted cells, absolute error ")
    text.append(f"median {median(errors):.2f} %, worst {max(errors):.2f} %", style="bold")
    return text.append(".")
