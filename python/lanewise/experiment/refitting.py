"""The fits of an experiment done again under a variation, to first order.

A parameter that is 20 % off would have been 20 % off in the calibration, too, which would have made up for
some of it. How steeply each calibrated cell follows each fitted value is found once, over `STEP`, and how
steeply a cell that is looked at follows them as well. A variation then takes no runs but its own: fitted
values are moved until the calibrated cells are back where they were, in logarithms, in which rates and times
that multiply are straight lines. Where a cell follows a fitted value in a bend, the result is off by what the
line leaves out. Whole numbers stay as they are, and so does what another experiment has fitted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log
from typing import TYPE_CHECKING

from lanewise.experiment.candidates import QUANTITY
from lanewise.experiment.spread import mean

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lanewise.experiment.definition import Cell, Experiment, Fit

    Simulated = Callable[[Experiment, Cell], Sequence[float] | None]
    """What a cell comes to with each seed; None where a scenario does not allow it."""

STEP = 0.1
"""Relative distance over which it is found how steeply cells follow fitted values."""


@dataclass(frozen=True)
class Slopes:
    """Fits that are done again together, and how the cells that they are fitted on follow them."""

    fits: tuple[Fit, ...]
    cells: tuple[Cell, ...]
    values: tuple[float, ...]
    matrix: tuple[tuple[float, ...], ...]
    """Change of each cell for each value, both in logarithms: a row for each cell."""


def fits_behind(experiment: Experiment, cell: Cell) -> tuple[Fit, ...]:
    """Return the fits that are done again for a cell: those in force in it and in what they are fitted on."""
    found: dict[str, Fit] = {}
    looked_at = [cell]
    while looked_at:
        in_force = experiment.fits_of(looked_at.pop())
        for fit in experiment.own_fits:
            if fit.name in in_force and not fit.whole and fit.name not in found:
                found[fit.name] = fit
                looked_at += [experiment.cell(id_) for id_ in fit.cells]
    return tuple(fit for fit in experiment.own_fits if fit.name in found)


def slopes_of(experiment: Experiment, fits: Sequence[Fit], simulated: Simulated) -> Slopes | None:
    """Find out how steeply calibrated cells follow fitted values; None where that cannot be said."""
    cells = tuple(experiment.cell(id_) for id_ in dict.fromkeys(on for fit in fits for on in fit.cells))
    here = [simulated(experiment, cell) for cell in cells]
    columns = []
    for fit in fits:
        there = [simulated(moved(experiment, fit), cell) for cell in cells]
        column = []
        for one, other in zip(here, there, strict=True):
            if one is None or other is None or mean(other) / mean(one) <= 0:
                return None
            column.append(log(mean(other) / mean(one)) / log(1 + STEP))
        columns.append(column)
    matrix = tuple(tuple(column[row] for column in columns) for row in range(len(cells)))
    return Slopes(tuple(fits), cells, tuple(number_of(experiment, fit) for fit in fits), matrix)


def refitted(slopes: Slopes, ratios: Sequence[float]) -> tuple[float, ...] | None:
    """Return by how much each fitted value moves, in logarithms, to undo what a variation did to the cells.

    `ratios` say what: each calibrated cell with the variation over without. None when one is not positive.
    """
    import numpy as np

    if any(ratio <= 0 for ratio in ratios):
        return None
    step, *_ = np.linalg.lstsq(np.array(slopes.matrix), -np.log(np.array(ratios)), rcond=1e-6)
    return tuple(float(one) for one in step)


def within_bounds(slopes: Slopes, steps: Sequence[float]) -> bool:
    """Whether each fitted value stays between the bounds of its fit when it moves so far, in logarithms."""
    from math import exp

    return all(
        fit.between[0] <= value * exp(step) <= fit.between[1]
        for fit, value, step in zip(slopes.fits, slopes.values, steps, strict=True)
    )


def moved(experiment: Experiment, fit: Fit) -> Experiment:
    """Return an experiment in which one fitted value is larger by `STEP`."""
    return with_values(experiment, {fit.name: number_of(experiment, fit) * (1 + STEP)})


def with_values(experiment: Experiment, values: Mapping[str, float]) -> Experiment:
    """Return an experiment with other fitted values."""
    units = {fit.name: fit.unit for fit in experiment.fits}
    changed = {
        name: replace(experiment.fitted[name], value=f"{value:.5g} {units[name]}".strip())
        for name, value in values.items()
    }
    return replace(experiment, fitted={**experiment.fitted, **changed})


def number_of(experiment: Experiment, fit: Fit) -> float:
    """Return a fitted value without its unit."""
    match = QUANTITY.fullmatch(str(experiment.fitted[fit.name].value))
    assert match is not None, f"{fit.name} is no number"
    return float(match["number"])
