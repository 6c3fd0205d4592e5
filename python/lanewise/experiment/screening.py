"""Finds what moves the predictions of an experiment, without trying every parameter by itself.

Most candidates move nothing, and finding that out one by one would cost thousands of runs. So candidates are
first varied in groups, each in its harmful direction (times longer, everything else smaller), in which
effects add up rather than cancel; a group that moves nothing is done with, another one is split in two. A
group moves something when it moves the cell or one that a fit behind it is fitted on. Only what is left
alone is varied both ways, and for each of those the fits are done again: what a calibration would have made
up for is made up for. A fitted value itself is varied as it is. What this can miss: a parameter whose harm
is made good by another of its group.

Where a cell is a mean over seeds, its change is one, and counts when it is larger than its interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from lanewise import __version__
from lanewise.experiment.candidates import Candidate, by_component, candidates_of
from lanewise.experiment.refitting import Slopes, refitted, refitted_fits, slopes_of
from lanewise.experiment.runner import Job, try_all
from lanewise.experiment.sensitivity import (
    RESTS_FROM_PERCENT,
    CellSensitivity,
    Effect,
    Sensitivity,
    axes,
    inputs_hash,
    predicted,
    varied,
)
from lanewise.experiment.spread import half_width, mean
from lanewise.experiment.values import jobs_behind, samples_of
from lanewise.simulator import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lanewise.experiment.cache import RunCache
    from lanewise.experiment.definition import Cell, Experiment, Override
    from lanewise.experiment.refitting import Simulated
    from lanewise.results import RunResult

SHOWN_FROM_PERCENT = 0.5
"""A parameter that moves a cell by less is not listed: runs stop when their results are as narrow as that.

Of a cell with a narrow band already a tenth of the band is listed, and a fifth is what the cell rests on.
"""


Variation = tuple[tuple[Candidate, str], ...]
"""Candidates and the values they get."""


def analyse(
    experiment: Experiment,
    *,
    cache: RunCache | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Sensitivity:
    """Vary what the predictions of an experiment may rest on; `on_progress` hears how many runs it took."""
    study = _Study(experiment, cache, on_progress)
    cells = [study.cell(cell) for cell in predicted(experiment)]
    return Sensitivity(__version__, inputs_hash(experiment), study.runs, tuple(cells), varied(experiment))


@dataclass(frozen=True)
class _Change:
    """How far a cell moves, in its unit, and half of the interval of that."""

    mean: float
    half_width: float

    @property
    def size(self) -> float:
        """What is left of it when it is as small as it may be; nothing when it may be none."""
        return abs(self.mean) if abs(self.mean) > self.half_width else 0.0


class _Study:
    """The runs of one experiment; each variation of a run is done once, whatever cells need it."""

    def __init__(
        self, experiment: Experiment, cache: RunCache | None, on_progress: Callable[[int], None] | None
    ) -> None:
        self.experiment = experiment
        self.cache = cache
        self.on_progress = on_progress
        self.results: dict[Job, RunResult | None] = {}
        self.parameters: dict[Job, dict[str, str]] = {}
        self.refits: dict[Variation, Experiment | None] = {}

    @property
    def runs(self) -> int:
        return len(self.results)

    @cached_property
    def slopes(self) -> Slopes | None:
        return slopes_of(self.experiment, self._simulator(()))

    def cell(self, cell: Cell) -> CellSensitivity:
        base = self._samples(self.experiment, cell, ())
        assert base is not None, f"{cell.id} is not simulated"
        influential = self._screen(cell, self._candidates(cell))
        effects = [self._effect(cell, base, one) for one in influential]
        shown = [effect for effect in effects if effect.size_percent >= _shown_from(cell)]
        largest_first = tuple(sorted(shown, key=lambda one: -one.size_percent))
        rests_from = min(RESTS_FROM_PERCENT, 2 * _shown_from(cell))
        return CellSensitivity(cell.id, mean(base), largest_first, _unit_of(cell), rests_from)

    def _effect(self, cell: Cell, base: Sequence[float], one: Candidate) -> Effect:
        def change(value: str) -> float | None:
            if value == one.value:
                return 0.0
            variation = ((one, value),)
            experiment = self._refitted(variation) if self._may_be_refitted(cell, one) else self.experiment
            moved = None if experiment is None else self._samples(experiment, cell, variation)
            if moved is None:
                return None
            found = _change(cell, base, moved)
            return round(found.mean, 3) if found.size else 0.0

        return Effect(
            one.name,
            one.paths,
            one.value,
            one.provenance,
            one.lower,
            one.higher,
            change(one.lower),
            change(one.higher),
        )

    def _may_be_refitted(self, cell: Cell, one: Candidate) -> bool:
        """Whether a fit in force in the cell is done again; a fitted value itself is varied as it is."""
        in_force = self.experiment.fits_of(cell)
        fits = [fit for fit in refitted_fits(self.experiment) if fit.name in in_force]
        return bool(fits) and not any(path in fit.parameters for fit in fits for path in one.paths)

    def _refitted(self, variation: Variation) -> Experiment | None:
        if variation not in self.refits:
            slopes = self.slopes
            found: Experiment | None = self.experiment
            if slopes is not None:
                found = refitted(self.experiment, slopes, self._simulator(variation))
            self.refits[variation] = found
        return self.refits[variation]

    def _simulator(self, variation: Variation) -> Simulated:
        def simulated(experiment: Experiment, cells: Sequence[Cell]) -> list[float] | None:
            self._simulate(experiment, cells, [variation])
            found = [self._samples(experiment, cell, variation) for cell in cells]
            return None if any(each is None for each in found) else [mean(each) for each in found if each]

        return simulated

    def _screen(self, cell: Cell, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Split groups in two until each either moves nothing or is one candidate; a level at a time."""
        looked_at = [cell, *self._fitted_on(cell)]
        bases = [self._samples(self.experiment, each, ()) for each in looked_at]
        groups = [group for group in by_component(candidates) if group]
        alone: list[Candidate] = []
        while groups:
            variations = [tuple((one, one.harmful) for one in group) for group in groups]
            self._simulate(self.experiment, looked_at, variations)
            smaller: list[list[Candidate]] = []
            for group, variation in zip(groups, variations, strict=True):
                moved = [self._samples(self.experiment, each, variation) for each in looked_at]
                changes = [
                    _change(each, base, there).size
                    for each, base, there in zip(looked_at, bases, moved, strict=True)
                    if base is not None and there is not None
                ]
                if len(changes) == len(looked_at) and max(changes) < _shown_from(cell) / 2:
                    continue
                if len(group) == 1:
                    alone += group
                else:
                    half = len(group) // 2
                    smaller += [group[:half], group[half:]]
            groups = smaller
        return alone

    def _fitted_on(self, cell: Cell) -> list[Cell]:
        """Return our own cells that a fit in force in `cell` would be done again on."""
        in_force = self.experiment.fits_of(cell)
        fits = [fit for fit in refitted_fits(self.experiment) if fit.name in in_force]
        ids = dict.fromkeys(id_ for fit in fits for id_ in fit.cells if id_ != cell.id)
        return [self.experiment.cell(id_) for id_ in ids]

    def _candidates(self, cell: Cell) -> list[Candidate]:
        found: dict[tuple[str, str], Candidate] = {}
        for job in jobs_behind(self.experiment, cell):
            parameters = resolve(job.scenario, job.overrides).document["parameters"]
            for one in candidates_of(parameters, but=axes(self.experiment)):
                known = found.get((one.name, one.value))
                paths = one.paths if known is None else (*known.paths, *one.paths)
                found[one.name, one.value] = replace(one, paths=tuple(dict.fromkeys(paths)))
        return list(found.values())

    def _varied(self, job: Job, variation: Variation) -> Job:
        """Return a job with the varied values, where its parameters have the value that is varied."""
        if not variation:
            return job
        now = self._values(job)
        values = {path: value for one, value in variation for path in one.paths if now.get(path) == one.value}
        kept: list[Override] = [(path, value) for path, value in job.overrides if path not in values]
        return Job(job.scenario, (*kept, *values.items()))

    def _values(self, job: Job) -> dict[str, str]:
        """Return the parameters of a job's scenario by path."""
        if job not in self.parameters:
            rows = resolve(job.scenario, job.overrides).document["parameters"]
            self.parameters[job] = {row["path"]: str(row["value"]) for row in rows}
        return self.parameters[job]

    def _simulate(
        self, experiment: Experiment, cells: Iterable[Cell], variations: Iterable[Variation]
    ) -> None:
        jobs = [
            varied
            for variation in variations
            for cell in cells
            for job in jobs_behind(experiment, cell)
            if (varied := self._varied(job, variation)) not in self.results
        ]
        done = try_all(jobs, cache=self.cache)
        self.results |= {job: done.get(job) for job in jobs}
        if self.on_progress:
            self.on_progress(self.runs)

    def _samples(self, experiment: Experiment, cell: Cell, variation: Variation) -> tuple[float, ...] | None:
        """Return a cell's value with each seed under a variation; None when a scenario does not allow it."""
        self._simulate(experiment, [cell], [variation])
        results: dict[Job, RunResult] = {}
        for job in jobs_behind(experiment, cell):
            result = self.results[self._varied(job, variation)]
            if result is None:
                return None
            results[job] = result
        return samples_of(experiment, cell, results)


def _shown_from(cell: Cell) -> float:
    band = cell.band_percent if cell.band_points is None else cell.band_points
    return SHOWN_FROM_PERCENT if band is None else min(SHOWN_FROM_PERCENT, band / 10)


def _unit_of(cell: Cell) -> str:
    differs = cell.formula is not None and cell.formula.name in ("percent_change_of", "difference_of")
    return "points" if differs or cell.band_points is not None else "%"


def _change(cell: Cell, base: Sequence[float], moved: Sequence[float]) -> _Change:
    """Return how far a cell has moved, in its unit, seed by seed; of nothing no percentage can be said."""
    unit = 1.0 if _unit_of(cell) == "points" else mean(base) / 100
    if not unit:
        return _Change(0.0, 0.0)
    changes = [(there - here) / unit for here, there in zip(base, moved, strict=True)]
    return _Change(mean(changes), half_width(changes) or 0.0)
