"""Whether the cells, values and fits of an experiment agree with each other."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.experiment.definition import REASONED_ROLES, ROLES, VERDICTS
from lanewise.experiment.formula import FORMULAS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.experiment.definition import Cell, Experiment, Quantity

_REASONS = {
    "selected": "selected and not predicted",
    "identity": "no measurement",
    "excluded": "excluded: why it cannot be predicted",
}


def cell_problems(cell: Cell) -> Iterator[str]:
    """Say what is wrong with a cell by itself, one sentence each."""
    if cell.verdict not in VERDICTS:
        yield f"verdict is {cell.verdict!r}; allowed are {', '.join(VERDICTS)}"
    if cell.role not in ROLES:
        yield f"role is {cell.role!r}; allowed are {', '.join(ROLES)}"
    if cell.verdict == "N" and cell.role != "excluded":
        yield f"verdict is 'N', so its role is 'excluded', not {cell.role!r}"
    if cell.role in REASONED_ROLES and not cell.note:
        yield f"'note' is missing: say why it is {_REASONS[cell.role]}"
    if cell.role == "excluded":
        if cell.is_simulated:
            yield from source_problems(cell)
        return
    bands = [name for name in ("band_percent", "band_points", "between") if getattr(cell, name) is not None]
    if not bands:
        yield "'band_percent' is missing (or 'band_points', or 'between')"
    if len(bands) > 1:
        yield f"has both '{bands[0]}' and '{bands[1]}'"
    if cell.band_percent is not None and cell.published == 0:
        yield "'band_percent' of nothing: use 'band_points'"
    yield from source_problems(cell)


def source_problems(quantity: Quantity) -> Iterator[str]:
    """Say what is wrong with the way to get a number."""
    if not quantity.unit:
        yield "'unit' is missing"
    ways = (quantity.scenario, quantity.ladder, quantity.formula)
    if sum(way is not None for way in ways) != 1:
        yield f"name one of: a 'scenario', a 'rung', or what it is computed from ({', '.join(FORMULAS)})"
    if isinstance(quantity.scenario, Path) and not quantity.scenario.is_file():
        yield f"there is no file '{quantity.scenario.name}'"
    if quantity.scenario is not None and quantity.metric is None:
        yield "'metric' is missing"
    if quantity.formula is not None and quantity.fits:
        yield "'fits' belong to the cells it is computed from"


def cross_check(experiment: Experiment) -> Iterator[str]:
    """Check that what cells and fits name is there, and that roles agree with the fits."""
    if not experiment.cells:
        yield "expected.toml: there is no [[cell]]; each published number is one"
    if not experiment.source:
        yield "expected.toml: 'source' is missing: say where the numbers were published"
    names = {fit.name for fit in experiment.fits}
    own = experiment.own_fits
    ids = Counter(quantity.id for quantity in (*experiment.cells, *experiment.values))
    yield from (f"expected.toml: two cells are called {id_!r}" for id_, times in ids.items() if times > 1)
    fit_cells = {(on, fit.name) for fit in own for on in fit.cells}
    yield from _fit_problems(experiment)
    for quantity in (*experiment.cells, *experiment.values):
        for name in quantity.fits:
            if name not in names:
                yield f"expected.toml: cell {quantity.id!r} uses no such fit: {name!r}"
        yield from _operand_problems(experiment, quantity)
    for cell in experiment.cells:
        used = any(on == cell.id for on, _ in fit_cells)
        if used != (cell.role == "calibrated"):
            says = "is fitted on" if used else "is used by no fit"
            yield f"expected.toml: cell {cell.id!r} {says}, but its role is {cell.role!r}"
    yield from _null_problems(experiment)
    for id_ in experiment.known_misses:
        if id_ not in {cell.id for cell in experiment.cells}:
            yield f"misses.toml: there is no cell {id_!r}"


def _fit_problems(experiment: Experiment) -> Iterator[str]:
    """Check that fits have parameters and cells, and are in force in these."""
    for fit in experiment.fits:
        if not fit.parameters:
            yield f"expected.toml: fit {fit.name!r}: 'parameters' is empty: say what gets the value"
        if not fit.cells:
            yield f"expected.toml: fit {fit.name!r}: 'cells' is empty: say what it is fitted on"
    for on, name in sorted({(on, fit.name) for fit in experiment.own_fits for on in fit.cells}):
        if on not in {cell.id for cell in experiment.cells}:
            yield f"expected.toml: fit {name!r} uses cell {on!r}, which is not there"
        elif not _is_in_force(experiment, name, on):
            yield f"expected.toml: fit {name!r} uses cell {on!r}, whose 'fits' do not name it"


def _is_in_force(experiment: Experiment, fit: str, cell: str) -> bool:
    """Whether a fit is in force in a cell, or in any that it is computed from."""
    waiting, seen = [cell], set[str]()
    while waiting:
        id_ = waiting.pop()
        quantity = experiment.quantities.get(id_)
        if quantity is None or id_ in seen:
            continue
        seen.add(id_)
        if fit in quantity.fits:
            return True
        waiting += quantity.formula.cells if quantity.formula else ()
    return False


def _null_problems(experiment: Experiment) -> Iterator[str]:
    """Check that null models use what they may, and come to a number."""
    for cell in experiment.cells:
        if cell.null is None:
            continue
        try:
            cell.null.value(cell.id, experiment.null_of)
        except (ValueError, ZeroDivisionError, RecursionError) as error:
            yield f"expected.toml: the null model of {cell.id!r}: {error}"


def _operand_problems(experiment: Experiment, quantity: Quantity) -> Iterator[str]:
    """Check that what a quantity is computed from exists, is simulated, and does not lead back to it."""
    waiting: list[tuple[Quantity, tuple[str, ...]]] = [(quantity, (quantity.id,))]
    while waiting:
        current, path = waiting.pop()
        for id_ in current.formula.cells if current.formula else ():
            operand = experiment.quantities.get(id_)
            if id_ in path:
                circle = " of ".join((*path, id_))
                yield f"expected.toml: cell {quantity.id!r} is computed from itself: {circle}"
            elif operand is None or not operand.is_simulated:
                says = "is not there" if operand is None else "is not simulated"
                if current is quantity:
                    yield f"expected.toml: cell {quantity.id!r} is computed from {id_!r}, which {says}"
            else:
                waiting.append((operand, (*path, id_)))
