"""Published beside simulated, predicted cells first, calibrated ones apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.cli.tables import style
from lanewise.experiment.headline import apart, headline
from lanewise.experiment.wording import band_text, digits_for, error_text, interval_text, null_error_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rich.console import Group, RenderableType

    from lanewise.experiment.reproduced_cell import ReproducedCell
    from lanewise.experiment.reproduction import ReproducedExperiment, Reproduction
    from lanewise.experiment.sensitivity import Sensitivity

_ROLES = (
    ("predicted", "Predicted", "nothing was fitted on these cells, and nothing chosen with them in view"),
    (
        "selected",
        "Selected",
        "a choice or an assumption was made with the outcome known; beside the headline",
    ),
    ("calibrated", "Calibrated", "a parameter was fitted on each; agreeing proves nothing"),
    ("identity", "Identities", "nothing was measured, or algebra of fitted values; not in any headline"),
    ("excluded", "Excluded", "cannot be predicted; not in any headline"),
)
_JUDGED = ("predicted", "selected")
"""Roles whose cells have a null model beside them, and rest on something."""
_APART = ("calibrated", "identity")
"""Roles in no headline, whose cells may be outside their band all the same."""


def print_reproduction(reproduction: Reproduction, *, sensitivity: bool = False) -> None:
    """Print each experiment, and over several of them the error of all predicted cells.

    With `sensitivity` also what moves each prediction most.
    """
    pieces = [
        piece for experiment in reproduction.experiments for piece in _experiment(experiment, sensitivity)
    ]
    if len(reproduction.experiments) > 1:
        pieces += _headline("All experiments", reproduction.experiments)
    style.emit(*pieces)


def print_stale(stale: Mapping[str, Sensitivity]) -> None:
    """Print which experiments have a sensitivity that no longer fits, and why."""
    if not stale:
        style.emit(Text("What predictions rest on is current in every experiment."))
        return
    table = style.table()
    style.labels(table, "experiment", "stale")
    for id_, sensitivity in stale.items():
        table.add_row(id_, sensitivity.why_stale)
    style.emit(
        style.titled("Stale sensitivity", table, note="'lanewise reproduce ID --sensitivity' makes it again")
    )


def _experiment(experiment: ReproducedExperiment, sensitivity: bool) -> Iterator[RenderableType]:
    yield Text(f"{experiment.id}  {experiment.title}", style="bold")
    yield Text(f"{experiment.source}\n", style="dim")
    for role, title, note in _ROLES:
        if any(cell.role == role for cell in experiment.cells):
            yield _cells(experiment, role, title, note)
    if experiment.values:
        yield _values(experiment)
    if experiment.fitted:
        yield _fitted(experiment)
    if sensitivity and experiment.sensitivity is not None:
        yield _sensitivity(experiment.sensitivity)
    yield from _headline(experiment.id, [experiment])
    misses = [cell for cell in experiment.cells if cell.is_miss]
    if misses:
        names = ", ".join(f"{cell.cell}{' (known)' if not cell.surprise else ''}" for cell in misses)
        yield Text(f"Outside their band: {names}.", style="bold red")
    for surprise in experiment.surprises:
        yield Text(f"Not as known: {surprise}.", style="bold red")
    yield ""


def _cells(experiment: ReproducedExperiment, role: str, title: str, note: str) -> Group:
    remarks = style.Remarks()
    table = style.table()
    style.words(table, "cell")
    style.numbers(table, "published", "simulated")
    spread = any(cell.half_width for cell in experiment.cells if cell.role == role)
    style.numbers(table, *(("\N{PLUS-MINUS SIGN}",) if spread else ()))
    style.labels(table, "unit")
    judged = role in _JUDGED
    style.numbers(table, "error", *(("null error",) if judged else ()), "band")
    style.labels(table, "verdict", "rests on" if judged else "note")
    for cell in (cell for cell in experiment.cells if cell.role == role):
        digits = digits_for(cell.published or cell.simulated or 0.0)
        table.add_row(
            cell.cell,
            style.fixed(cell.published, digits),
            style.fixed(cell.simulated, digits),
            *((interval_text(cell).removeprefix("\N{PLUS-MINUS SIGN}"),) if spread else ()),
            cell.unit,
            _error(cell),
            *((null_error_text(cell),) if judged else ()),
            band_text(cell),
            cell.verdict,
            remarks.mark(_rests_on(experiment, cell) if judged else cell.note),
        )
    return style.titled(title, table, note=note, remarks=remarks)


def _rests_on(experiment: ReproducedExperiment, cell: ReproducedCell) -> str:
    """Name the cells that were fitted on, and the assumptions that move the cell."""
    fitted = ", ".join(name.removeprefix(f"{experiment.id} ") for name in cell.fitted_on)
    said = [f"fitted on {fitted}" if fitted else "nothing fitted"]
    moved = experiment.sensitivity.of(cell.cell) if experiment.sensitivity else None
    if moved is not None and moved.rests_on:
        said.append(f"assumes {', '.join(moved.assumptions)}")
    if cell.role == "selected":
        said.append(f"selected: {cell.note}")
    if cell.exact:
        said.append(f"exact by construction: {cell.exact}")
    if cell.null_model:
        said.append(f"null model: {cell.null_model}")
    if cell.known_miss is not None:
        said.append(f"a known miss: {cell.known_miss.why}")
    return "; ".join(said)


def _error(cell: ReproducedCell) -> Text:
    outside = cell.within_band is False
    colour = "bold red" if outside else "green" if cell.within_band else ""
    return Text(f"{error_text(cell)}{' !' if outside else ''}", style=colour)


def _values(experiment: ReproducedExperiment) -> Group:
    table = style.table()
    style.words(table, "value")
    style.numbers(table, "simulated")
    style.labels(table, "unit")
    style.words(table, "note")
    for value in experiment.values:
        digits = digits_for(value.simulated)
        table.add_row(value.id, style.fixed(value.simulated, digits), value.unit, value.note)
    return style.titled("Simulated alongside", table, note="not published; cells are computed from them")


def _fitted(experiment: ReproducedExperiment) -> Group:
    table = style.table()
    style.words(table, "what")
    style.labels(table, "parameter")
    style.numbers(table, "value")
    style.words(table, "fitted on")
    for value in experiment.fitted:
        own = f"{experiment.id} "
        cells = "\n".join(name.removeprefix(own) for name in value.fitted_on)
        known = (
            f"{value.value} \N{PLUS-MINUS SIGN} {value.plus_minus}" if value.plus_minus else str(value.value)
        )
        table.add_row(value.name, "\n".join(value.parameters), known, cells)
    return style.titled("Fitted values", table, note="made by 'lanewise calibrate'")


def _sensitivity(sensitivity: Sensitivity) -> Group:
    table = style.table()
    style.words(table, "cell", at_most=22)
    style.labels(table, "parameter")
    style.numbers(table, "value")
    style.labels(table, "provenance")
    style.numbers(table, "lower", "higher")
    for cell in sensitivity.cells:
        for number, effect in enumerate(cell.effects[:3]):
            table.add_row(
                "" if number else cell.cell,
                effect.parameter,
                effect.short_value,
                effect.provenance,
                _change(effect.lower_percent, cell.unit),
                _change(effect.higher_percent, cell.unit),
            )
        if not cell.effects:
            table.add_row(cell.cell, "nothing by 0.5 %")
    note = (
        "what moves each cell: 20 % lower and higher, powers of two halved and doubled; fits to first order"
    )
    if sensitivity.refused:
        note += f"; not varied, as no other value is allowed: {', '.join(sensitivity.refused)}"
    if sensitivity.stale:
        note += f"; stale: {sensitivity.why_stale}"
    return style.titled("Sensitivity", table, note=note)


def _change(change: float | None, unit: str) -> str:
    """Write how far a cell moves; a dash where the scenario does not allow the value."""
    return style.DASH if change is None else f"{change:+.1f} {unit}"


def _headline(
    label: str, experiments: list[ReproducedExperiment] | tuple[ReproducedExperiment, ...]
) -> list[Text]:
    said = []
    for role, name in (("predicted", label), ("selected", f"{label}, beside the headline")):
        numbers = headline(experiments, role)
        sentences = numbers.sentences()
        if len(experiments) > 1 and numbers.misses:
            sentences.append(f"outside their band: {', '.join(numbers.misses)}")
        if sentences:
            said.append(Text.assemble((f"{name}: ", "bold"), f"{'; '.join(sentences)}."))
    counts = [each for role in _APART if (each := apart(experiments, role)).cells]
    if len(experiments) > 1 or any(each.misses for each in counts):
        sentences = [each.sentence() for each in counts]
        if sentences:
            said.append(Text.assemble((f"{label}, in no headline: ", "bold"), f"{'; '.join(sentences)}."))
    return said
