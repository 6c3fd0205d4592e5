"""The fits of an experiment done again under a variation: by Newton's method from the values there are.

A parameter that is 20 % off would have been 20 % off in the calibration, too, which would have made up for
some of it. How steeply each calibrated cell follows each fitted value is found once; then a variation takes
a step or two. Whole numbers stay as they are, and so does what another experiment has fitted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lanewise.experiment.candidates import QUANTITY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lanewise.experiment.definition import Cell, Experiment, Fit

    Simulated = Callable[[Experiment, Sequence[Cell]], list[float] | None]
    """What cells come to with the fitted values of an experiment; None where a scenario does not allow it."""

STEP = 0.02
"""Relative distance over which it is found how steeply cells follow fitted values."""

MET_WITHIN = 0.002
"""Relative error of a calibrated cell at which a fit is done again well enough."""

MOST_STEPS = 3


@dataclass(frozen=True)
class Slopes:
    """The fits that are done again, and how cells follow them at the values there are."""

    fits: tuple[Fit, ...]
    cells: tuple[Cell, ...]
    values: tuple[float, ...]
    targets: tuple[float, ...]
    """What the calibrated cells come to without a variation: what a refit has to get back to."""
    matrix: tuple[tuple[float, ...], ...]
    """Change of each cell for each value, both relative: a row for each cell."""


def refitted_fits(experiment: Experiment) -> tuple[Fit, ...]:
    """Return the fits that are done again: its own, of numbers that are not whole."""
    return tuple(fit for fit in experiment.own_fits if not fit.whole)


def slopes_of(experiment: Experiment, simulated: Simulated) -> Slopes | None:
    """Find out how steeply calibrated cells follow fitted values; None where there is nothing to refit."""
    fits = refitted_fits(experiment)
    cells = tuple(experiment.cell(id_) for id_ in dict.fromkeys(on for fit in fits for on in fit.cells))
    targets = simulated(experiment, cells) if cells else None
    if targets is None:
        return None
    values = tuple(_number(experiment, fit) for fit in fits)
    columns = []
    for fit, value in zip(fits, values, strict=True):
        moved = simulated(with_values(experiment, {fit.name: value * (1 + STEP)}), cells)
        if moved is None:
            return None
        columns.append([(there / here - 1) / STEP for there, here in zip(moved, targets, strict=True)])
    matrix = tuple(tuple(column[row] for column in columns) for row in range(len(cells)))
    return Slopes(fits, cells, values, tuple(targets), matrix)


def refitted(experiment: Experiment, slopes: Slopes, simulated: Simulated) -> Experiment | None:
    """Return the experiment with its fits done again under `simulated`; None when no value in bounds does.

    `simulated` has the variation in it already.
    """
    import numpy as np

    values = np.array(slopes.values)
    matrix = np.array(slopes.matrix)
    for _ in range(MOST_STEPS + 1):
        trial = with_values(
            experiment, dict(zip((fit.name for fit in slopes.fits), values.tolist(), strict=True))
        )
        found = simulated(trial, slopes.cells)
        if found is None:
            return None
        errors = np.array(found) / np.array(slopes.targets) - 1
        if float(np.max(np.abs(errors))) <= MET_WITHIN:
            return trial
        step, *_ = np.linalg.lstsq(matrix, errors, rcond=1e-6)
        lows = np.array([fit.between[0] for fit in slopes.fits])
        highs = np.array([fit.between[1] for fit in slopes.fits])
        values = np.clip(values * (1 - step), lows, highs)
    return None


def with_values(experiment: Experiment, values: Mapping[str, float]) -> Experiment:
    """Return an experiment with other fitted values."""
    units = {fit.name: fit.unit for fit in experiment.fits}
    changed = {
        name: replace(experiment.fitted[name], value=f"{value:.5g} {units[name]}".strip())
        for name, value in values.items()
    }
    return replace(experiment, fitted={**experiment.fitted, **changed})


def _number(experiment: Experiment, fit: Fit) -> float:
    match = QUANTITY.fullmatch(str(experiment.fitted[fit.name].value))
    assert match is not None, f"{fit.name} is no number"
    return float(match["number"])
