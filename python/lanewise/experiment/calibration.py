"""Fit the parameters that an experiment names, each on the cells it names, and on nothing else.

Fits are done in the order of the file, each with the values found before it in force. One cell is met exactly
by root finding (Brent's method between the bounds); several are met in the least-squares sense of their
relative errors. A parameter that counts something takes whole numbers only: the one that comes nearest is
taken, of several cells of all between the bounds, as errors go in steps. For every one that is tried the fits
after it in the file are done anew, because they make up for a part of what it does. No step draws a random
number, and a run is deterministic, so that deleting ``fitted.toml`` and calibrating again gives the same
file.

Where a cell is a mean over seeds, it is that mean which is met. A value is known no better than its cell: its
interval comes from that of the mean and from what the published number is rounded to, over how steeply the
cell follows the parameter. Digits that the interval does not leave are not written.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from lanewise import toml
from lanewise.columns import frame
from lanewise.errors import InputError
from lanewise.experiment.definition import Experiment, Fit, FittedValue
from lanewise.experiment.runner import run_all
from lanewise.experiment.spread import half_width, mean
from lanewise.experiment.values import jobs_behind, samples_of
from lanewise.files import write_whole
from lanewise.output_format import stamped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from lanewise.experiment.definition import Cell

SIGNIFICANT_DIGITS = 5
"""Digits that a value is rounded to before it is simulated in a search, and the most that are written."""

RELATIVE_TOLERANCE = 1e-4
"""Root finding stops when the value is known this well, relative to the upper bound."""


NEIGHBOUR = 0.01
"""Smallest relative distance over which it is seen how steeply a cell follows a parameter."""

CLEAR = 3
"""How many halves of its interval a cell has to move by for that to be seen."""


def rounded(value: float, plus_minus: float) -> str:
    """Write a value with the digits that its interval leaves it, and no more than `SIGNIFICANT_DIGITS`."""
    from math import floor, log10

    places = -floor(log10(plus_minus))
    digits = min(places + floor(log10(abs(value))) + 1, SIGNIFICANT_DIGITS) if value else 1
    return f"{value:.{max(digits, 1)}g}"


class CalibrationError(InputError):
    """A parameter cannot be fitted within its bounds."""


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
    done = _calibrate(fresh, experiment.own_fits, on_progress)
    return Calibration(_with_values(fresh, done), done)


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
        self.tried: dict[str, tuple[float, ...]] = {}
        self.spreads: dict[str, tuple[float, ...]] = {}
        """Half of the interval of each cell's mean over seeds."""
        self.runs = 0

    def result(self) -> CalibratedFit:
        best = self._root() if len(self.cells) == 1 else self._least_squares()
        plus_minus = None if self.fit.whole else self._half_width(best)
        if plus_minus:
            best = float(rounded(best, plus_minus))
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
            cell, published = self.cells[0], self.published[0]
            raise CalibrationError(
                f"no {self.fit.name} between {self._text(low)} and {self._text(high)} gives the published "
                f"{published:g} {cell.unit} of {self.experiment.id} {cell.id}: the bounds give "
                f"{self._simulate(low)[0]:.1f} and {self._simulate(high)[0]:.1f} {cell.unit}"
            )
        tolerance = 0.5 if self.fit.whole else RELATIVE_TOLERANCE * high
        root: float = brentq(lambda value: self._errors(value)[0], low, high, xtol=tolerance)
        # Of what was tried within the tolerance, the value that meets the cell best.
        near = [float(text.split()[0]) for text in self.tried]
        near = [value for value in near if abs(value - root) <= 2 * tolerance] or [root]
        return min(near, key=lambda value: abs(self._errors(value)[0]))

    def _least_squares(self) -> float:
        from math import ceil, floor

        from scipy.optimize import minimize_scalar

        def cost(value: float) -> float:
            return sum(error * error for error in self._errors(value))

        low, high = self.fit.between
        if self.fit.whole:
            return float(min(range(ceil(low), floor(high) + 1), key=cost))
        found = minimize_scalar(
            cost, bounds=(low, high), method="bounded", options={"xatol": RELATIVE_TOLERANCE * high}
        )
        return float(found.x)

    def _half_width(self, value: float) -> float | None:
        """Return half of the interval of a fitted value; None when no cell follows it."""
        from math import hypot, sqrt

        here = float(self._text(value).split()[0])
        others = [float(text.split()[0]) for text in self.tried]
        others = [other for other in others if abs(other - here) > NEIGHBOUR * abs(here)]
        others = sorted(others, key=lambda tried: abs(tried - here)) or [here * (1 + 2 * NEIGHBOUR)]
        known = [
            hypot(spread, cell.rounding)
            for cell, spread in zip(self.cells, self.spreads[self._text(here)], strict=True)
        ]

        def in_intervals(other: float) -> list[float]:
            """How far each cell moves from here to there, in halves of its interval."""
            pairs = zip(self._simulate(here), self._simulate(other), known, strict=True)
            return [(there - own) / width for own, there, width in pairs]

        # The nearest value that was tried at which a cell has moved by more than noise, or else the farthest.
        other = next((one for one in others if max(map(abs, in_intervals(one))) > CLEAR), others[-1])
        weight = sum((moved / (other - here)) ** 2 for moved in in_intervals(other))
        return None if weight == 0 else 1 / sqrt(weight)

    def _errors(self, value: float) -> tuple[float, ...]:
        """Return the relative error of every cell when the parameters have this value."""
        simulated = self._simulate(value)
        return tuple(
            number / published - 1 for number, published in zip(simulated, self.published, strict=True)
        )

    def _simulate(self, value: float) -> tuple[float, ...]:
        text = self._text(value)
        if text not in self.tried:
            fitted = {**self.experiment.fitted, self.fit.name: self._fitted(value)}
            trial = replace(self.experiment, fitted=fitted)
            self.done_after[text] = _calibrate(trial, self.after, self.on_progress)
            trial = _with_values(trial, self.done_after[text])
            jobs = [job for cell in self.cells for job in jobs_behind(trial, cell)]
            results = run_all(jobs)
            self.runs += len(results) + sum(fit.runs for fit in self.done_after[text])
            samples = [samples_of(trial, cell, results) or () for cell in self.cells]
            self.tried[text] = tuple(mean(each) for each in samples)
            self.spreads[text] = tuple(half_width(each) or 0.0 for each in samples)
            if self.on_progress:
                self.on_progress(self.fit.name, self.runs)
        return self.tried[text]

    def _fitted(self, value: float, plus_minus: float | None = None) -> FittedValue:
        written = round(value) if self.fit.whole else self._text(value)
        known = "" if not plus_minus else f"{plus_minus:.1g} {self.fit.unit}".strip()
        return FittedValue(self.fit.name, self.fit.parameters, written, self.fit.fitted_on, known)

    def _text(self, value: float) -> str:
        if self.fit.whole:
            return str(round(value))
        return f"{value:.{SIGNIFICANT_DIGITS}g} {self.fit.unit}".strip()
