"""Published beside simulated, predicted cells first, calibrated ones apart."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.cli.console import stdout
from lanewise.cli.tables import style

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from lanewise.experiment.reproduction import ReproducedCell, ReproducedExperiment, Reproduction

_ROLES = (
    ("predicted", "Predicted", "nothing was fitted on these cells"),
    ("calibrated", "Calibrated", "a parameter was fitted on each; agreeing proves nothing"),
    ("excluded", "Excluded", "cannot be predicted"),
)


def print_reproduction(reproduction: Reproduction) -> None:
    """Print each experiment, and over several of them the error of all predicted cells."""
    console = stdout()
    for experiment in reproduction.experiments:
        _print_experiment(console, experiment)
    if len(reproduction.experiments) > 1:
        errors = [
            error for experiment in reproduction.experiments for error in experiment.predicted_abs_errors_percent
        ]
        console.print(_headline("All experiments", errors))


def _print_experiment(console: Console, experiment: ReproducedExperiment) -> None:
    console.print(Text(f"{experiment.id}  {experiment.title}", style="bold"))
    console.print(Text(experiment.source, style="dim"))
    console.print()
    for role, title, note in _ROLES:
        cells = [cell for cell in experiment.cells if cell.role == role]
        if cells:
            console.print(_cells(title, note, cells))
    if experiment.fitted:
        console.print(_fitted(experiment))
    if experiment.predicted_abs_errors_percent:
        console.print(_headline(experiment.id, experiment.predicted_abs_errors_percent))
    outside = [cell.cell for cell in experiment.cells if cell.role != "excluded" and cell.within_band is False]
    if outside:
        console.print(Text(f"Outside their band: {', '.join(outside)}.", style="bold red"))
    console.print()


def _cells(title: str, note: str, cells: list[ReproducedCell]) -> Table:
    table = style.table(title, note=note)
    style.words(table, "cell")
    style.numbers(table, "published", "simulated")
    style.words(table, "unit")
    style.numbers(table, "error", "band")
    style.words(table, "verdict", "uses values fitted on" if title == "Predicted" else "note")
    for cell in cells:
        digits = 2 if abs(cell.published) < 200 else 0
        last = ", ".join(name.partition(" ")[2] for name in cell.fitted_on) if title == "Predicted" else cell.note
        table.add_row(
            cell.cell,
            style.fixed(cell.published, digits),
            style.fixed(cell.simulated, digits),
            cell.unit,
            _error(cell),
            style.DASH if cell.band_percent is None else f"± {cell.band_percent:g} %",
            cell.verdict,
            Text(last or "nothing") if title == "Predicted" else Text(last),
        )
    return table


def _error(cell: ReproducedCell) -> Text:
    if cell.error_percent is None:
        return Text(style.DASH)
    mark = {True: "", False: " !", None: ""}[cell.within_band]
    colour = {True: "green", False: "bold red", None: ""}[cell.within_band]
    return Text(f"{cell.error_percent:+.2f} %{mark}", style=colour)


def _fitted(experiment: ReproducedExperiment) -> Table:
    table = style.table("Fitted values", note="made by 'lanewise calibrate'")
    style.words(table, "what", "parameter")
    style.numbers(table, "value")
    style.words(table, "fitted on")
    for value in experiment.fitted:
        cells = ", ".join(name.partition(" ")[2] for name in value.fitted_on)
        table.add_row(value.name, ", ".join(value.parameters), value.value, cells)
    return table


def _headline(label: str, errors: list[float]) -> Text:
    text = Text.assemble((f"{label}: ", "bold"), f"{len(errors)} predicted cells, absolute error ")
    text.append(f"median {median(errors):.2f} %, worst {max(errors):.2f} %", style="bold")
    return text.append(".")
