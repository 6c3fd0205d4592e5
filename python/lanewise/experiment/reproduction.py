"""Published beside simulated: every cell of an experiment, with its error, its band and its role.

The error of the predicted cells is the headline. Cells that a parameter was fitted on are listed apart:
agreeing with them proves nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

import polars as pl

from lanewise import _core
from lanewise.errors import InputError
from lanewise.experiment.runner import Job, RunsDone, run_all
from lanewise.experiment.toml import inline

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanewise.experiment.definition import Cell, Experiment, FittedValue, Ladder
    from lanewise.results import RunResult


class NotCalibratedError(InputError):
    """A cell needs a fitted value that is not there yet."""


@dataclass(frozen=True)
class ReproducedCell:
    """One published number beside the simulated one."""

    cell: str
    unit: str
    published: float
    simulated: float | None
    """None for an excluded cell that nothing simulates."""
    verdict: str
    role: str
    fitted_on: tuple[str, ...]
    band_percent: float | None
    note: str

    @property
    def error_percent(self) -> float | None:
        """Simulated over published, less one, in percent."""
        return None if self.simulated is None else 100 * (self.simulated / self.published - 1)

    @property
    def within_band(self) -> bool | None:
        """Whether the error is at most the band; None without an error or a band."""
        if self.error_percent is None or self.band_percent is None:
            return None
        return abs(self.error_percent) <= self.band_percent

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
            "band_percent": self.band_percent,
            "within_band": self.within_band,
        }


@dataclass(frozen=True, eq=False)
class ReproducedExperiment:
    """All cells of one experiment."""

    id: str
    title: str
    source: str
    cells: tuple[ReproducedCell, ...]
    fitted: tuple[FittedValue, ...]

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per cell."""
        columns: dict[str, pl.DataType | type[pl.DataType]] = {
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
        }
        return pl.DataFrame([cell.document() for cell in self.cells], schema=columns)

    @property
    def predicted_abs_errors_percent(self) -> list[float]:
        """Absolute errors of the predicted cells."""
        return [
            abs(cell.error_percent)
            for cell in self.cells
            if cell.role == "predicted" and cell.error_percent is not None
        ]

    @property
    def passed(self) -> bool:
        """Whether no cell is outside its band."""
        return all(cell.within_band is not False for cell in self.cells if cell.role != "excluded")

    def document(self) -> dict[str, Any]:
        """Return the experiment as the JSON contract has it."""
        errors = self.predicted_abs_errors_percent
        return {
            "id": self.id,
            "title": self.title,
            "cells": [cell.document() for cell in self.cells],
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
        }


@dataclass(frozen=True, eq=False)
class Reproduction:
    """Experiments, reproduced."""

    experiments: tuple[ReproducedExperiment, ...]

    @property
    def passed(self) -> bool:
        """Whether no cell of any experiment is outside its band."""
        return all(experiment.passed for experiment in self.experiments)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return all of it as JSON text."""
        document = {"experiments": [experiment.document() for experiment in self.experiments]}
        return json.dumps(document, indent=indent, ensure_ascii=False)


def reproduce_all(experiments: Sequence[Experiment], *, on_progress: RunsDone | None = None) -> Reproduction:
    """Simulate every cell of the experiments, equal runs once, and set it beside what was published."""
    jobs = {
        (experiment.id, cell.id): job_for(experiment, cell)
        for experiment in experiments
        for cell in experiment.cells
        if cell.scenario is not None
    }
    results = run_all(jobs.values(), on_progress=on_progress)
    return Reproduction(
        tuple(
            ReproducedExperiment(
                id=experiment.id,
                title=experiment.title,
                source=experiment.source,
                cells=tuple(
                    _reproduced(experiment, cell, results, jobs.get((experiment.id, cell.id)))
                    for cell in experiment.cells
                ),
                fitted=tuple(experiment.fitted.values()),
            )
            for experiment in experiments
        )
    )


def job_for(experiment: Experiment, cell: Cell, trial: Mapping[str, str] | None = None) -> Job:
    """Return the run behind a cell, with the fitted (or tried) values that are in force in it."""
    assert cell.scenario is not None, f"cell {cell.id} is not simulated"
    values = {name: value.value for name, value in experiment.fitted.items()} | dict(trial or {})
    overrides = list(cell.overrides)
    for fit in experiment.fits:
        if fit.name not in cell.fits:
            continue
        if fit.name not in values:
            raise NotCalibratedError(
                f"{experiment.id} {cell.id} needs the fitted {fit.name}: "
                f"run 'lanewise calibrate {experiment.folder}' first"
            )
        calibrated = inline(
            {
                "value": values[fit.name],
                "provenance": "calibrated",
                "source": fit.name,
                "fitted_on": [f"{experiment.id} {on}" for on in fit.cells],
            }
        )
        overrides += [(path, calibrated) for path in fit.parameters]
    return Job(cell.scenario, tuple(overrides))


def _reproduced(
    experiment: Experiment, cell: Cell, results: Mapping[Job, RunResult], job: Job | None
) -> ReproducedCell:
    simulated: float | None = None
    if job is not None and cell.metric is not None:
        simulated = cell.metric.read(results[job])
    elif cell.ladder is not None and cell.rung is not None:
        simulated = rungs(cell.ladder)[cell.rung]
    return ReproducedCell(
        cell=cell.id,
        unit=cell.unit,
        published=cell.published,
        simulated=simulated,
        verdict=cell.verdict,
        role=cell.role,
        fitted_on=experiment.fitted_on(cell),
        band_percent=cell.band_percent,
        note=cell.note,
    )


def rungs(ladder: Ladder) -> dict[str, float]:
    """Return the rungs of equal links together in Gb/s: the core's rate model, times links and directions."""
    one: dict[str, float] = json.loads(
        _core.ladder(
            generation=ladder.generation,
            lanes=ladder.lanes,
            payload_bytes=ladder.payload_bytes,
            header_dwords=ladder.header_dwords,
            ecrc=ladder.ecrc,
        )
    )
    directions = ladder.links * ladder.directions
    bandwidth = one["coded_gbit_per_s"] * directions
    after_dllps = bandwidth * (1 - ladder.dllp_fraction)
    return {
        "line_rate_gbit_per_s": one["line_rate_gbit_per_s"] * directions,
        "coded_gbit_per_s": bandwidth,
        "tlp_bandwidth_gbit_per_s": after_dllps,
        "goodput_gbit_per_s": after_dllps * one["payload_fraction"],
    }
