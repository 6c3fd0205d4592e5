"""Fit the parameters that an experiment names, each on the cells it names, and on nothing else.

Fits are done in the order of the file, each with the values found before it in force. One cell is met
exactly by root finding (Brent's method between the bounds); several are met in the least-squares sense of
their relative errors, around the best of some values between the bounds. A parameter that counts something
takes whole numbers only: one that meets its cell better than those beside it, of several cells the best of
all between the bounds. For every one that is tried the fits after it in the file are done anew, as they make
up for a part of what it does. No step draws a random number, and a run is deterministic, so that deleting
``fitted.toml`` and calibrating again gives the same file.

Where a cell is a mean over seeds, it is that mean which is met. How well a value is known is said in
``fit_interval.py``; digits that the interval does not leave are not written. What the cells leave open up
to a bound was not found by them, and is an error.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from lanewise import toml
from lanewise.columns import frame
from lanewise.errors import InputError, ScenarioError
from lanewise.experiment.definition import Experiment, Fit, FittedValue
from lanewise.experiment.fit_interval import (
    SIGNIFICANT_DIGITS,
    covering,
    end_of_range,
    from_cells,
    from_residuals,
    rounded,
)
from lanewise.experiment.trials import Answer, answers_of, jobs_of, refused_because_of
from lanewise.files import write_whole
from lanewise.output_format import stamped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from lanewise.experiment.definition import Cell
    from lanewise.experiment.runner import Job

RELATIVE_TOLERANCE = 1e-4
"""Root finding stops when the value is known this well, relative to the upper bound."""

NEIGHBOUR = 0.01
"""Smallest relative distance over which it is seen how steeply a cell follows a parameter."""

CLEAR = 3
"""How many halves of its interval a cell has to move by for that to be seen."""

ABOUT = 0.05
"""Relative distance to both sides over which the slopes of several cells are taken."""

ACROSS = 16
"""Steps from bound to bound in which the values are tried that a least-squares search begins with."""

POLISHED = 0.01
"""How much better a least-squares value is found in the end, where a cell goes without steps."""

BEYOND = 1.5
"""Halves of its interval behind which a value that gives the same says that the simulation goes in steps."""


class CalibrationError(InputError):
    """A parameter cannot be fitted within its bounds, or its cells do not determine it."""


@dataclass(frozen=True)
class FittedCell:
    """How well a cell that was fitted on is met."""

    cell: str
    published: float
    simulated: float
    unit: str

    @property
    def error_percent(self) -> float:
        """Simulated over published, less one, in percent."""
        return 100 * (self.simulated / self.published - 1)


@dataclass(frozen=True)
class CalibratedFit:
    """One fit, done."""

    value: FittedValue
    cells: tuple[FittedCell, ...]
    runs: int
    """Simulations it took."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """All fits of an experiment, done."""

    experiment: Experiment
    """With the fitted values in it."""
    fits: tuple[CalibratedFit, ...]

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per cell that was fitted on, with the fitted value, which has its unit in it."""
        columns = {
            "fit": pl.String,
            "value": pl.String,
            "cell": pl.String,
            "unit": pl.String,
            "published": pl.Float64,
            "simulated": pl.Float64,
            "error_percent": pl.Float64,
            "runs": pl.UInt32,
        }
        rows = (
            {
                "fit": fit.value.name,
                "value": str(fit.value.value),
                "error_percent": cell.error_percent,
                "runs": fit.runs,
                **asdict(cell),
            }
            for fit in self.fits
            for cell in fit.cells
        )
        return frame(rows, columns)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the fits as JSON text."""
        document = stamped({"id": self.experiment.id, "fits": self._entries()})
        return json.dumps(document, indent=indent, ensure_ascii=False)

    def to_toml(self) -> str:
        """Return the text of ``fitted.toml``."""
        head = [
            f"Made by `lanewise calibrate experiments/{self.experiment.folder.name}`.",
            "Delete this file and run that again to get it back.",
            "",
        ]
        kept = [
            {key: value for key, value in entry.items() if key not in ("cells", "runs")}
            for entry in self._entries()
        ]
        return toml.document({"fitted": kept}, head=head)

    def save(self) -> Path:
        """Write ``fitted.toml`` into the folder of the experiment, whole or not at all."""
        return write_whole(self.experiment.folder / "fitted.toml", self.to_toml())

    def _entries(self) -> list[dict[str, object]]:
        return [
            {
                "name": fit.value.name,
                "parameters": list(fit.value.parameters),
                "value": fit.value.value,
                **({"plus_minus": fit.value.plus_minus} if fit.value.plus_minus else {}),
                "fitted_on": list(fit.value.fitted_on),
                "cells": [
                    {
                        "cell": cell.cell,
                        "unit": cell.unit,
                        "published": cell.published,
                        "simulated": cell.simulated,
                        "error_percent": cell.error_percent,
                    }
                    for cell in fit.cells
                ],
                "runs": fit.runs,
            }
            for fit in self.fits
        ]


def calibrate_experiment(
    experiment: Experiment, *, on_progress: Callable[[str, int], None] | None = None
) -> Calibration:
    """Do the fits of an experiment; `on_progress` hears the name of each and its number of runs so far."""
    borrowed = {fit.name for fit in experiment.fits if fit.borrowed}
    kept = {name: value for name, value in experiment.fitted.items() if name in borrowed}
    fresh = replace(experiment, fitted=kept)
    _refuse_what_comes_later(experiment)
    done = _calibrate(fresh, experiment.own_fits, on_progress)
    return Calibration(_with_values(fresh, done), done)


def _refuse_what_comes_later(experiment: Experiment) -> None:
    """Raise CalibrationError where a fit is fitted on a cell in which one that comes after it is in force."""
    own = experiment.own_fits
    for number, fit in enumerate(own):
        if fit.whole:
            continue
        in_force = {name: on for on in fit.cells for name in experiment.fits_of(experiment.cell(on))}
        later = next((one for one in own[number + 1 :] if one.name in in_force), None)
        if later is None:
            continue
        on = in_force[later.name]
        says = (
            f"{experiment.id}: '{fit.name}' is fitted on cell '{on}', in which '{later.name}' is in force, "
            f"too, and that is fitted after it"
        )
        if any(fit.name in experiment.fits_of(experiment.cell(other)) for other in later.cells):
            raise CalibrationError(
                f"{says}, on {_listed(later.cells)}, in which '{fit.name}' is in force. Fits are done one "
                f"after the other, so these cells do not tell the two apart: fit one of them on a cell "
                f"without the other, or give it a value with a source in the scenario"
            )
        raise CalibrationError(f"{says}: put the [[fit]] of '{later.name}' before that of '{fit.name}'")


def _listed(cells: Sequence[str]) -> str:
    return ("cell " if len(cells) == 1 else "cells ") + ", ".join(f"'{cell}'" for cell in cells)


def _calibrate(
    experiment: Experiment, fits: Sequence[Fit], on_progress: Callable[[str, int], None] | None
) -> tuple[CalibratedFit, ...]:
    """Do `fits` one after the other."""
    if not fits:
        return ()
    first, after = fits[0], fits[1:]
    if first.whole:
        search = _Search(experiment, first, on_progress, after)
        found = search.result()
        return (found, *search.done_after[str(found.value.value)])
    found = _Search(experiment, first, on_progress).result()
    return (found, *_calibrate(_with_values(experiment, [found]), after, on_progress))


def _with_values(experiment: Experiment, done: Sequence[CalibratedFit]) -> Experiment:
    return replace(experiment, fitted={**experiment.fitted, **{fit.value.name: fit.value for fit in done}})


@dataclass(frozen=True)
class _End:
    """Where an interval ends on one side."""

    within: float
    """The last value that was seen to be in it."""
    beyond: float
    is_wider: bool = False
    """Whether it ends where the simulation takes a step, and not by its half width."""
    is_bound: bool = False
    """Whether the bound is in it."""


class _Search:
    """The search for one fit's value; every value is simulated once."""

    def __init__(
        self,
        experiment: Experiment,
        fit: Fit,
        on_progress: Callable[[str, int], None] | None,
        after: Sequence[Fit] = (),
    ) -> None:
        self.experiment = experiment
        self.fit = fit
        self.on_progress = on_progress
        self.after = after
        self.done_after: dict[str, tuple[CalibratedFit, ...]] = {}
        """What the fits in `after` came to, by the value tried here."""
        self.cells: Sequence[Cell] = [experiment.cell(id_) for id_ in fit.cells]
        unusable = [cell.id for cell in self.cells if not cell.published or not cell.is_simulated]
        if unusable:
            raise CalibrationError(f"{fit.name} cannot be fitted on '{unusable[0]}': no number to meet")
        self.published = [cell.published for cell in self.cells if cell.published]
        self.tried: dict[str, Answer] = {}
        self.runs = 0

    def result(self) -> CalibratedFit:
        best = self._root() if len(self.cells) == 1 else self._least_squares()
        plus_minus = ""
        if self.fit.whole:
            best = self._best_of_neighbours(best)
            self._refuse_ties(best)
        else:
            best, plus_minus = self._with_interval(best)
        simulated = self._simulate(best)
        return CalibratedFit(
            value=self._fitted(best, plus_minus),
            cells=tuple(
                FittedCell(cell.id, published, value, cell.unit)
                for cell, published, value in zip(self.cells, self.published, simulated, strict=True)
            ),
            runs=self.runs,
        )

    def _root(self) -> float:
        from scipy.optimize import brentq

        low, high = self.fit.between
        error_low, error_high = self._errors(low)[0], self._errors(high)[0]
        if error_low * error_high > 0:
            raise CalibrationError(self._no_root(low, high))
        tolerance = 0.5 if self.fit.whole else RELATIVE_TOLERANCE * high
        root: float = brentq(lambda value: self._errors(value)[0], low, high, xtol=tolerance)
        # Of what was tried within the tolerance, the value that meets the cell best.
        near = [value for value in self._all_tried() if abs(value - root) <= 2 * tolerance] or [root]
        return min(near, key=self._cost)

    def _no_root(self, low: float, high: float) -> str:
        """Say what the bounds give, with digits that show that it is not what was published."""
        cell, published = self.cells[0], self.published[0]
        at_low, at_high = self._simulate(low)[0], self._simulate(high)[0]
        says = (
            f"no {self.fit.name} between {self._text(low)} and {self._text(high)} gives the published "
            f"{published:g} {cell.unit} of {self.experiment.id} {cell.id}: "
        )
        if at_low == at_high:
            return f"{says}both bounds give {_unlike(published, at_low)} {cell.unit}"
        says += f"the bounds give {_unlike(published, at_low)} and {_unlike(published, at_high)} {cell.unit}"
        before = [
            f"'{fit.name}' is {self.experiment.fitted[fit.name].value}, fitted on {_listed(fit.cells)}"
            for fit in self.experiment.own_fits
            if fit.name in self.experiment.fitted and fit.name in self.experiment.fits_of(cell)
        ]
        if before:
            says += f". {'; '.join(before)}, and may have taken up what '{self.fit.name}' does"
        return says

    def _least_squares(self) -> float:
        """Return the value of least cost of all that are tried.

        Those are some from bound to bound, then what is midway from the best to the next, again and again:
        that is not led astray by a simulation that goes in steps, or does not follow from some value on.
        Where several are equally good, it is looked around both ends of them.
        """
        from itertools import pairwise
        from math import ceil, floor

        from scipy.optimize import minimize_scalar

        low, high = self.fit.between
        if self.fit.whole:
            return float(min(range(ceil(low), floor(high) + 1), key=self._cost))
        tolerance = RELATIVE_TOLERANCE * max(abs(low), abs(high))
        new = [low + (high - low) * number / ACROSS for number in range(ACROSS + 1)]
        while new:
            least = min(map(self._cost, [*new, *self._all_tried()]))
            tried = sorted(self._all_tried())
            best = [value for value in tried if self._cost(value) == least]
            beside = [gap for gap in pairwise(tried) if gap[1] - gap[0] > tolerance]
            new = [(one + other) / 2 for one, other in beside if {one, other} & {best[0], best[-1]}]
            new = [value for value in new if self._text(value) not in self.tried]
        if len(best) == 1:
            at = tried.index(best[0])
            around = tried[max(at - 1, 0)], tried[min(at + 1, len(tried) - 1)]
            minimize_scalar(
                self._cost, bounds=around, method="bounded", options={"xatol": tolerance * POLISHED}
            )
        return min(self._all_tried(), key=self._cost)

    def _cost(self, value: float) -> float:
        return sum(error * error for error in self._errors(value))

    def _all_tried(self) -> list[float]:
        return [float(text.split()[0]) for text in self.tried]

    def _best_of_neighbours(self, value: float) -> float:
        """Return a whole number that meets the cells better than the next on both sides."""
        low, high = self.fit.between
        best = round(value)
        while True:
            beside = [other for other in (best - 1, best + 1) if low <= other <= high]
            better = min(beside, key=self._cost, default=best)
            if self._cost(better) >= self._cost(best):
                return best
            best = better

    def _refuse_ties(self, best: float) -> None:
        """Raise CalibrationError where other whole numbers give the very same."""

        def is_same(value: float) -> bool:
            return self._simulate(value) == self._simulate(best)

        low, high = (
            end_of_range(is_same, best, 1, bound, 1)[0] if bound != best else bound
            for bound in self.fit.between
        )
        if round(low) != round(high):
            raise CalibrationError(self._undetermined(round(low), round(high), best))

    def _undetermined(self, low: float, high: float, best: float) -> str:
        given = ", ".join(
            f"{value:.6g} {cell.unit} of {cell.id}"
            for cell, value in zip(self.cells, self._simulate(best), strict=True)
        )
        return (
            f"{self.experiment.id}: {self.fit.name} is not determined by what it is fitted on: anything from "
            f"{self._text(low)} to {self._text(high)} meets {given}, as far as that is known. Fit it on a "
            f"cell that follows it, move a bound that cuts this short, or give it a value with a source in "
            f"the scenario"
        )

    def _with_interval(self, best: float) -> tuple[float, str]:
        """Return the value to write, and half of its interval; CalibrationError for one without an end."""
        low, high = self.fit.between
        slopes = self._slope_at(best) if len(self.cells) == 1 else self._slopes_about(best)
        if not any(slopes):
            raise CalibrationError(self._undetermined(low, high, best))
        half = from_cells(slopes, self._known(best))
        if len(self.cells) > 1:
            half = max(half, from_residuals(slopes, self._errors(best)))
        if best - half <= low and best + half >= high:
            raise CalibrationError(self._undetermined(low, high, best))
        lower, upper = (self._end(best, half, bound) for bound in (low, high))
        if (lower.is_wider or upper.is_wider) and (lower.is_bound or upper.is_bound):
            raise CalibrationError(self._undetermined(lower.within, upper.within, best))
        if len(self.cells) > 1 and best in (low, high):
            raise CalibrationError(
                f"{self.experiment.id}: {self.fit.name} fits best at a bound, {self._text(best)}: what its "
                f"cells ask for is not between {self._text(low)} and {self._text(high)}"
            )
        if lower.is_wider or upper.is_wider:
            return covering((lower.beyond + upper.beyond) / 2, (upper.beyond - lower.beyond) / 2)
        if len(self.cells) > 1:
            return covering(best, half)
        return float(rounded(best, half)), f"{half:.1g}"

    def _end(self, best: float, half: float, bound: float) -> _End:
        """Return where an interval ends towards a bound."""
        towards = 1 if bound > best else -1
        usual, next_to_it = best + towards * half, best + towards * BEYOND * half
        if abs(bound - best) <= BEYOND * half:
            return _End(bound, usual, is_bound=self._is_alike(bound, best))
        if not self._is_alike(next_to_it, best):
            return _End(usual, usual)
        finest = 10.0 ** -(SIGNIFICANT_DIGITS - 1) * abs(best)
        within, beyond = end_of_range(
            lambda value: self._is_alike(value, best), best, BEYOND * half, bound, finest
        )
        return _End(within, beyond, is_wider=True, is_bound=within == bound)

    def _is_alike(self, value: float, best: float) -> bool:
        """Whether no printed digit of a cell tells a value from the best one."""
        met = self.published if len(self.cells) == 1 else self._simulate(best)
        cells = zip(self.cells, self._simulate(value), self._simulate(best), met, strict=True)
        return all(
            abs(there - aim) <= max(cell.rounding, abs(here - aim)) for cell, there, here, aim in cells
        )

    def _known(self, value: float) -> list[float]:
        """Return half of the interval of each cell, relative to what was published."""
        return self._answer(value).known(self.cells)

    def _slope_at(self, value: float) -> list[float]:
        """Return how steeply the one cell follows, to the nearest value tried where that is clear."""
        here = float(self._text(value).split()[0])
        others = [other for other in self._all_tried() if abs(other - here) > NEIGHBOUR * abs(here)]
        others = sorted(others, key=lambda tried: abs(tried - here)) or [here * (1 + 2 * NEIGHBOUR)]
        clear = (other for other in others if self._is_clear(here, other))
        return self._slopes(here, next(clear, others[-1]))

    def _slopes_about(self, value: float) -> list[float]:
        """Return how steeply cells follow on both sides, as far apart as it takes for that to be clear."""
        low, high = self.fit.between
        step = ABOUT * abs(value) or NEIGHBOUR * (high - low)
        while True:
            lower, upper = max(value - step, low), min(value + step, high)
            if self._is_clear(lower, upper) or (lower, upper) == (low, high):
                return self._slopes(lower, upper)
            step *= 2

    def _is_clear(self, one: float, other: float) -> bool:
        """Whether a cell differs between two values by more than noise."""
        pairs = zip(self._errors(one), self._errors(other), self._known(one), strict=True)
        return any(abs(there - here) > CLEAR * known for here, there, known in pairs)

    def _slopes(self, one: float, other: float) -> list[float]:
        pairs = zip(self._errors(one), self._errors(other), strict=True)
        return [(there - here) / (other - one) for here, there in pairs]

    def _errors(self, value: float) -> tuple[float, ...]:
        """Return the relative error of every cell when the parameters have this value."""
        return self._answer(value).errors(self.cells)

    def _simulate(self, value: float) -> tuple[float, ...]:
        return self._answer(value).means

    def _answer(self, value: float) -> Answer:
        text = self._text(value)
        if text not in self.tried:
            fitted = {**self.experiment.fitted, self.fit.name: self._fitted(value)}
            trial = replace(self.experiment, fitted=fitted)
            self.done_after[text] = _calibrate(trial, self.after, self.on_progress)
            trial = _with_values(trial, self.done_after[text])
            try:
                (self.tried[text],), runs = answers_of([trial], self.cells)
            except ScenarioError as error:
                raise self._blamed(error, jobs_of([trial], self.cells), text) from error
            self.runs += runs + sum(fit.runs for fit in self.done_after[text])
            if self.on_progress:
                self.on_progress(self.fit.name, self.runs)
        return self.tried[text]

    def _blamed(self, error: ScenarioError, jobs: Sequence[Job], text: str) -> InputError:
        """Return an error that names the fit, where a scenario is right without its parameters."""
        mistakes = refused_because_of(error, jobs, self.fit.parameters)
        if mistakes is None:
            return error
        where = f"{self.experiment.folder / 'expected.toml'}: fit {self.fit.name!r}"
        return CalibrationError(
            f"{where}: {text!r} cannot be the value of {', '.join(self.fit.parameters)}: {mistakes}"
        )

    def _fitted(self, value: float, plus_minus: str = "") -> FittedValue:
        written = round(value) if self.fit.whole else self._text(value)
        known = f"{plus_minus} {self.fit.unit}".strip() if plus_minus else ""
        return FittedValue(self.fit.name, self.fit.parameters, written, self.fit.fitted_on, known)

    def _text(self, value: float) -> str:
        if self.fit.whole:
            return str(round(value))
        return f"{value:.{SIGNIFICANT_DIGITS}g} {self.fit.unit}".strip()


def _unlike(published: float, simulated: float) -> str:
    """Write a simulated number with as many digits as it takes to see that it is not the published one."""
    texts = (f"{simulated:.{digits}g}" for digits in range(4, 13))
    return next((text for text in texts if float(text) != published), f"{simulated!r}")
