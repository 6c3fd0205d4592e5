"""Published beside simulated: every cell of an experiment, with its error, its band and its role.

The error of the predicted cells is the headline, beside that of their null models. Cells of other roles are
listed apart: agreeing with them proves little or nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from lanewise.experiment.headline import Headline, apart, headline
from lanewise.experiment.reproduced_cell import ReproducedCell, SimulatedValue
from lanewise.experiment.runner import run_all
from lanewise.experiment.sensitivity import stored
from lanewise.experiment.spread import half_width, mean
from lanewise.experiment.values import jobs_for, samples_of, value_of
from lanewise.output_format import stamped
from lanewise.written import in_short

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanewise import documents
    from lanewise.experiment.definition import Cell, Experiment, FittedValue
    from lanewise.experiment.runner import Job, RunsDone
    from lanewise.experiment.sensitivity import Sensitivity
    from lanewise.results import RunResult
    from lanewise.runs.cache import RunCache


_CELLS_SHOWN = (
    "experiment",
    "cell",
    "unit",
    "published",
    "simulated",
    "error_percent",
    "error_points",
    "role",
)
_CELL_COLUMNS: dict[str, pl.DataType | type[pl.DataType]] = {
    "cell": pl.String,
    "unit": pl.String,
    "published": pl.Float64,
    "simulated": pl.Float64,
    "half_width": pl.Float64,
    "seeds": pl.Int64,
    "error_percent": pl.Float64,
    "null": pl.Float64,
    "null_error": pl.Float64,
    "null_model": pl.String,
    "verdict": pl.String,
    "role": pl.String,
    "fitted_on": pl.List(pl.String),
    "band_percent": pl.Float64,
    "within_band": pl.Boolean,
    "error_points": pl.Float64,
    "band_points": pl.Float64,
    "between": pl.List(pl.Float64),
    "exact": pl.String,
    "known_miss": pl.Boolean,
    "claim": pl.String,
    "computed_as": pl.String,
    "note": pl.String,
}


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
    jobs: tuple[Job, ...] = ()
    """What was run, in the order of `runs`."""

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

    @cached_property
    def headline(self) -> Headline:
        """The predicted cells in a few numbers."""
        return headline([self])

    @property
    def surprises(self) -> tuple[str, ...]:
        """What is not as it is known, a sentence for each: misses that are new, have moved or are gone."""
        return tuple(f"{self.id} {cell.cell} {cell.surprise}" for cell in self.cells if cell.surprise)

    @property
    def passed(self) -> bool:
        """Whether each cell is inside its band, or a known miss at its known figure."""
        return not self.surprises

    def document(self) -> documents.ReproduceExperiment:
        """Return the experiment as the JSON contract has it."""
        percent, points = self.headline.percent.all, self.headline.points.all
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
                    "plus_minus": value.plus_minus or None,
                    "fitted_on": list(value.fitted_on),
                }
                for value in self.fitted
            ],
            "predicted_median_abs_error_percent": percent.median,
            "predicted_worst_abs_error_percent": percent.worst,
            "null_median_abs_error_percent": percent.null_median,
            "null_worst_abs_error_percent": percent.null_worst,
            "predicted_median_abs_error_points": points.median,
            "predicted_worst_abs_error_points": points.worst,
            "null_median_abs_error_points": points.null_median,
            "null_worst_abs_error_points": points.null_worst,
            "headline": self.headline.document(),
            "passed": self.passed,
            "surprises": list(self.surprises),
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
        """Whether nothing is other than it is known."""
        return all(experiment.passed for experiment in self.experiments)

    def __repr__(self) -> str:
        """Say what was reproduced, and whether all is as it is known."""
        names = ", ".join(experiment.id for experiment in self.experiments)
        return in_short(self, names, "passed" if self.passed else "not passed")

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the cells, published beside simulated."""
        from lanewise.notebook import html

        return html(
            "Published beside simulated",
            [each.definition.title for each in self.experiments],
            [("Cells", self.table.select(_CELLS_SHOWN))],
        )

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return all of it as JSON text."""
        document = {
            "headline": headline(self.experiments).document(),
            "selected": headline(self.experiments, "selected").document(),
            "calibrated": apart(self.experiments, "calibrated").document(),
            "identity": apart(self.experiments, "identity").document(),
            "experiments": [experiment.document() for experiment in self.experiments],
        }
        return json.dumps(stamped(document), indent=indent, ensure_ascii=False)


def reproduce_all(
    experiments: Sequence[Experiment], *, cache: RunCache | None = None, on_progress: RunsDone | None = None
) -> Reproduction:
    """Simulate every cell of the experiments, equal runs once, and set it beside what was published."""
    jobs = [
        job
        for experiment in experiments
        for quantity in experiment.quantities.values()
        if quantity.scenario is not None
        for job in jobs_for(experiment, quantity)
    ]
    results = run_all(jobs, cache=cache, on_progress=on_progress)
    return Reproduction(tuple(_experiment(experiment, results) for experiment in experiments))


def _differ(before: float, now: float | None) -> bool:
    """Whether a result has moved by more than one part in a hundred."""
    return now is None or abs(now - before) > 0.01 * abs(before)


def _experiment(experiment: Experiment, results: Mapping[Job, RunResult]) -> ReproducedExperiment:
    behind = [quantity for quantity in experiment.quantities.values() if quantity.scenario is not None]
    jobs = dict.fromkeys(job for quantity in behind for job in jobs_for(experiment, quantity))
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
        jobs=tuple(jobs),
    )


def _reproduced(experiment: Experiment, cell: Cell, results: Mapping[Job, RunResult]) -> ReproducedCell:
    samples = samples_of(experiment, cell, results)
    return ReproducedCell(
        cell=cell.id,
        unit=cell.unit,
        published=cell.published,
        simulated=None if samples is None else mean(samples),
        half_width=None if samples is None else half_width(samples),
        seeds=0 if samples is None else len(samples),
        verdict=cell.verdict,
        role=cell.role,
        fitted_on=experiment.fitted_on(cell),
        band_percent=cell.band_percent,
        band_points=cell.band_points,
        between=cell.between,
        claim=cell.claim,
        computed_as="" if cell.formula is None else str(cell.formula),
        note=cell.note,
        null=None if cell.null is None else cell.null.value(cell.id, experiment.null_of),
        null_model="" if cell.null is None else str(cell.null),
        exact=cell.exact,
        known_miss=experiment.known_misses.get(cell.id),
    )
