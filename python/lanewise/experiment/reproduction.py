"""Published beside simulated: every cell of an experiment, with its error, its band and its role.

The error of the predicted cells is the headline. Cells that a parameter was fitted on are listed apart:
agreeing with them proves nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl

from lanewise.experiment.runner import run_all
from lanewise.experiment.sensitivity import stored
from lanewise.experiment.values import job_for, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanewise.experiment.cache import RunCache
    from lanewise.experiment.definition import Cell, Experiment, FittedValue
    from lanewise.experiment.runner import Job, RunsDone
    from lanewise.experiment.sensitivity import Sensitivity
    from lanewise.results import RunResult


_CELL_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "cell": pl.String,
    "unit": pl.String,
    "published": pl.Float64,
    "simulated": pl.Float64,
    "error_percent": pl.Float64,
    "verdict": pl.String,
    "role": pl.String,
    "fitted_on": pl.List(pl.String),
    "band_percent": pl.Float64,
    "within_band": pl.Boolean,
    "error_points": pl.Float64,
    "band_points": pl.Float64,
    "between": pl.List(pl.Float64),
    "claim": pl.String,
    "computed_as": pl.String,
    "note": pl.String,
}


@dataclass(frozen=True)
class ReproducedCell:
    """One published number beside the simulated one."""

    cell: str
    unit: str
    published: float | None
    """None for a claim without a number."""
    simulated: float | None
    """None for an excluded cell that nothing simulates."""
    verdict: str
    role: str
    fitted_on: tuple[str, ...]
    band_percent: float | None
    band_points: float | None
    between: tuple[float, float] | None
    claim: str
    computed_as: str
    """What it is computed from, for a cell that no single run gives."""
    note: str

    @property
    def error_percent(self) -> float | None:
        """Simulated over published, less one, in percent; None without a number to compare with."""
        if self.simulated is None or not self.published:
            return None
        return 100 * (self.simulated / self.published - 1)

    @property
    def error_points(self) -> float | None:
        """Simulated less published, in the unit of the cell."""
        if self.simulated is None or self.published is None:
            return None
        return self.simulated - self.published

    @property
    def within_band(self) -> bool | None:
        """Whether the error is at most the band, or the claim holds; None without an error or a band."""
        if self.between is not None and self.simulated is not None:
            return self.between[0] <= self.simulated <= self.between[1]
        if self.band_points is not None and self.error_points is not None:
            return abs(self.error_points) <= self.band_points
        if self.band_percent is not None and self.error_percent is not None:
            return abs(self.error_percent) <= self.band_percent
        return None

    @property
    def is_judged_in_points(self) -> bool:
        """Whether its error is a difference: of a change in percent, a percentage would mislead."""
        return self.band_points is not None

    @property
    def contract_band_percent(self) -> float | None:
        """The band in percent of the published number, whatever it is written in."""
        if self.band_points is not None and self.published:
            return 100 * self.band_points / abs(self.published)
        return self.band_percent

    def document(self) -> dict[str, Any]:
        """Return the cell as the JSON contract has it."""
        return {
            "cell": self.cell,
            "unit": self.unit,
            "published": self.published,
            "simulated": self.simulated,
            "error_percent": self.error_percent,
            "verdict": self.verdict,
            "role": self.role,
            "fitted_on": list(self.fitted_on),
            "band_percent": self.contract_band_percent,
            "within_band": self.within_band,
            "error_points": self.error_points if self.is_judged_in_points else None,
            "band_points": self.band_points,
            "between": None if self.between is None else list(self.between),
            "claim": self.claim,
            "computed_as": self.computed_as,
            "note": self.note,
        }


@dataclass(frozen=True)
class SimulatedValue:
    """A number that cells are computed from, and that the publication does not give."""

    id: str
    unit: str
    simulated: float
    note: str

    def document(self) -> dict[str, Any]:
        """Return the value for JSON."""
        return {"id": self.id, "unit": self.unit, "simulated": self.simulated, "note": self.note}


@dataclass(frozen=True, eq=False)
class ReproducedExperiment:
    """All cells of one experiment."""

    id: str
    title: str
    source: str
    cells: tuple[ReproducedCell, ...]
    values: tuple[SimulatedValue, ...]
    fitted: tuple[FittedValue, ...]
    runs: tuple[RunResult, ...]
    """Every run behind a cell, each once."""
    definition: Experiment

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per cell."""
        return pl.DataFrame([cell.document() for cell in self.cells], schema=_CELL_COLUMNS)

    @cached_property
    def sensitivity(self) -> Sensitivity | None:
        """What the predictions rest on, as it was last analysed; None when it never was.

        It is stale, too, when a cell has come out otherwise since.
        """
        found = stored(self.definition)
        if found is None:
            return None
        now = {cell.cell: cell.simulated for cell in self.cells}
        moved = any(_differ(each.simulated, now.get(each.cell)) for each in found.cells)
        return replace(found, stale=found.stale or moved)

    @property
    def predicted(self) -> tuple[ReproducedCell, ...]:
        """The cells that count: nothing was fitted on them."""
        return tuple(cell for cell in self.cells if cell.role == "predicted")

    @property
    def predicted_abs_errors_percent(self) -> list[float]:
        """Absolute errors of the predicted cells that are judged in percent."""
        return [
            abs(cell.error_percent)
            for cell in self.predicted
            if cell.error_percent is not None and cell.band_percent is not None
        ]

    @property
    def predicted_abs_errors_points(self) -> list[float]:
        """Absolute errors of the predicted cells that are judged in points."""
        return [
            abs(cell.error_points)
            for cell in self.predicted
            if cell.error_points is not None and cell.is_judged_in_points
        ]

    @property
    def claims(self) -> list[bool]:
        """Whether each predicted claim that is a range holds."""
        return [
            bool(cell.within_band)
            for cell in self.predicted
            if cell.between is not None and cell.within_band is not None
        ]

    @property
    def passed(self) -> bool:
        """Whether no cell is outside its band."""
        return all(cell.within_band is not False for cell in self.cells if cell.role != "excluded")

    def document(self) -> dict[str, Any]:
        """Return the experiment as the JSON contract has it.

        Where a publication gives only changes in percent, the error is the difference in points.
        """
        points = self.predicted_abs_errors_points
        errors = self.predicted_abs_errors_percent or points
        return {
            "id": self.id,
            "title": self.title,
            "source": self.source,
            "cells": [cell.document() for cell in self.cells],
            "values": [value.document() for value in self.values],
            "fitted": [
                {
                    "name": value.name,
                    "parameters": list(value.parameters),
                    "value": value.value,
                    "fitted_on": list(value.fitted_on),
                }
                for value in self.fitted
            ],
            "predicted_median_abs_error_percent": median(errors) if errors else None,
            "predicted_worst_abs_error_percent": max(errors) if errors else None,
            "predicted_median_abs_error_points": median(points) if points else None,
            "predicted_worst_abs_error_points": max(points) if points else None,
            "passed": self.passed,
            "sensitivity": self.sensitivity.document() if self.sensitivity else None,
        }


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Experiments, reproduced."""

    experiments: tuple[ReproducedExperiment, ...]

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per cell of each experiment, which is named in the first column."""
        rows = (
            {"experiment": experiment.id, **cell.document()}
            for experiment in self.experiments
            for cell in experiment.cells
        )
        return pl.DataFrame(rows, schema={"experiment": pl.String, **_CELL_COLUMNS})

    @property
    def passed(self) -> bool:
        """Whether no cell of any experiment is outside its band."""
        return all(experiment.passed for experiment in self.experiments)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return all of it as JSON text."""
        document = {"experiments": [experiment.document() for experiment in self.experiments]}
        return json.dumps(document, indent=indent, ensure_ascii=False)


def reproduce_all(
    experiments: Sequence[Experiment], *, cache: RunCache | None = None, on_progress: RunsDone | None = None
) -> Reproduction:
    """Simulate every cell of the experiments, equal runs once, and set it beside what was published."""
    jobs = [
        job_for(experiment, quantity)
        for experiment in experiments
        for quantity in experiment.quantities.values()
        if quantity.scenario is not None
    ]
    results = run_all(jobs, cache=cache, on_progress=on_progress)
    return Reproduction(tuple(_experiment(experiment, results) for experiment in experiments))


def _differ(before: float, now: float | None) -> bool:
    """Whether a result has moved by more than one part in a hundred."""
    return now is None or abs(now - before) > 0.01 * abs(before)


def _experiment(experiment: Experiment, results: Mapping[Job, RunResult]) -> ReproducedExperiment:
    behind = [quantity for quantity in experiment.quantities.values() if quantity.scenario is not None]
    jobs = dict.fromkeys(job_for(experiment, quantity) for quantity in behind)
    return ReproducedExperiment(
        id=experiment.id,
        title=experiment.title,
        source=experiment.source,
        cells=tuple(_reproduced(experiment, cell, results) for cell in experiment.cells),
        values=tuple(
            SimulatedValue(value.id, value.unit, simulated, value.note)
            for value in experiment.values
            if (simulated := value_of(experiment, value, results)) is not None
        ),
        fitted=tuple(experiment.fitted.values()),
        runs=tuple(results[job] for job in jobs),
        definition=experiment,
    )


def _reproduced(experiment: Experiment, cell: Cell, results: Mapping[Job, RunResult]) -> ReproducedCell:
    return ReproducedCell(
        cell=cell.id,
        unit=cell.unit,
        published=cell.published,
        simulated=value_of(experiment, cell, results),
        verdict=cell.verdict,
        role=cell.role,
        fitted_on=experiment.fitted_on(cell),
        band_percent=cell.band_percent,
        band_points=cell.band_points,
        between=cell.between,
        claim=cell.claim,
        computed_as="" if cell.formula is None else str(cell.formula),
        note=cell.note,
    )
