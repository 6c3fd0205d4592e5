"""Cells simulated with values that are tried: for fits of experiments and of one's own data."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import TYPE_CHECKING

from lanewise.errors import ScenarioError
from lanewise.experiment.runner import run_all
from lanewise.experiment.spread import half_width, mean
from lanewise.experiment.values import jobs_behind, samples_of
from lanewise.runs.simulator import resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.experiment.definition import Cell, Experiment
    from lanewise.experiment.runner import Job, RunsDone


@dataclass(frozen=True)
class Answer:
    """What cells come to with the values that are in force in an experiment."""

    means: tuple[float, ...]
    """Over seeds."""
    half_widths: tuple[float, ...]
    """Half of the interval of each mean, 0 for one seed."""

    def errors(self, cells: Sequence[Cell]) -> tuple[float, ...]:
        """Return the relative error of every cell."""
        return tuple(
            number / (cell.published or 0.0) - 1 for number, cell in zip(self.means, cells, strict=True)
        )

    def known(self, cells: Sequence[Cell]) -> list[float]:
        """Return half of the interval of each cell, relative to what was measured: seeds and rounding."""
        return [
            hypot(spread, cell.rounding) / abs(cell.published or 0.0)
            for cell, spread in zip(cells, self.half_widths, strict=True)
        ]


def jobs_of(trials: Sequence[Experiment], cells: Sequence[Cell]) -> list[Job]:
    """Return the runs behind cells, with the values of every one of these experiments in force."""
    return [job for trial in trials for cell in cells for job in jobs_behind(trial, cell)]


def answers_of(
    trials: Sequence[Experiment], cells: Sequence[Cell], *, on_progress: RunsDone | None = None
) -> tuple[list[Answer], int]:
    """Simulate cells with the values of each of these experiments, all at once; with how many runs it took.

    ScenarioError where a scenario does not take a value.
    """
    results = run_all(jobs_of(trials, cells), on_progress=on_progress)
    found = []
    for trial in trials:
        samples = [samples_of(trial, cell, results) or () for cell in cells]
        found.append(Answer(tuple(map(mean, samples)), tuple(half_width(each) or 0.0 for each in samples)))
    return found, len(results)


def refused_because_of(error: ScenarioError, jobs: Sequence[Job], parameters: Sequence[str]) -> str | None:
    """Say what is wrong with values, where scenarios are right without them; None otherwise."""

    def is_refused(job: Job, *, with_them: bool) -> bool:
        own = [each for each in job.overrides if with_them or each[0] not in parameters]
        try:
            resolve(job.scenario, own)
        except ScenarioError:
            return True
        return False

    if not any(is_refused(job, with_them=True) and not is_refused(job, with_them=False) for job in jobs):
        return None
    return "; ".join(
        f"{mistake['message']}{'; ' + mistake['hint'] if mistake['hint'] else ''}"
        for mistake in error.diagnostics
    )
