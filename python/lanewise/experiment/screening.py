"""Finds what moves the predictions of an experiment, without trying every parameter by itself.

Most candidates move nothing, and finding that out one by one would cost thousands of runs. So candidates are
first varied in groups, each in its harmful direction (times longer, everything else smaller), in which
effects add up rather than cancel; a group that moves nothing is done with, another one is split in two
(sequential bifurcation). A group moves something when it moves the cell or one that a fit behind it is fitted
on. Only what is left alone is varied both ways, and for each of those the fits are done again, to first
order: what a calibration would have made up for is made up for. A fitted value itself is varied as it is.
What this can miss: a parameter whose harm is made good by another of its group.

Runs are compared seed by seed, with the same random numbers on both sides. A cell whose seeds agree well
enough is looked at with one of them, another one with `NOISY_SEEDS`; its change counts when it is larger than
its interval.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log
from typing import TYPE_CHECKING

from lanewise import __version__
from lanewise.errors import ScenarioError
from lanewise.experiment.candidates import Candidate, by_component, candidates_of, tried
from lanewise.experiment.refitting import (
    STEP,
    Slopes,
    fits_behind,
    moved,
    refitted,
    slopes_of,
    within_bounds,
)
from lanewise.experiment.runner import Job, try_all
from lanewise.experiment.sensitivity import (
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
from lanewise.runs.simulator import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lanewise.experiment.definition import Cell, Experiment, Fit, Override, Quantity
    from lanewise.results import RunResult
    from lanewise.runs.cache import RunCache

SHOWN_FROM_PERCENT = 0.5
"""A parameter that moves a cell by less is not listed: runs stop when their results are as narrow as that.

Of a cell with a narrow band already a tenth of the band is listed, and a fifth is what the cell rests on; of
one that is judged in points it is always a tenth and a fifth.
"""

NOISY_SEEDS = 3
"""Seeds with which a cell is looked at that scatters; nothing smaller than their interval is found."""


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
    refused = tuple(sorted(one.entry for one in study.tried.values() if one.is_fixed))
    one_way = tuple(sorted(one.entry for one in study.tried.values() if one.refused and not one.is_fixed))
    kept = tuple(entry for entry in varied(experiment) if entry not in refused)
    return Sensitivity(
        __version__, inputs_hash(experiment), study.runs, tuple(cells), kept, refused=refused, one_way=one_way
    )


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
        self.cache = cache
        self.on_progress = on_progress
        self.results: dict[Job, RunResult | None] = {}
        self.parameters: dict[Job, dict[str, str]] = {}
        self.slopes: dict[tuple[str, ...], Slopes | None] = {}
        self.tried: dict[str, Candidate] = {}
        """Candidates with values that the first job that has them allows, by entry."""
        self.whole = experiment
        """With every seed."""
        self.experiment = experiment
        """With as many seeds as it takes to see a change."""
        looked_at = {one.id: one for cell in predicted(experiment) for one in (cell, *self._fitted_on(cell))}
        self.experiment = _with_seeds(
            experiment, [cell for cell in looked_at.values() if self._scatters(cell)]
        )

    @property
    def runs(self) -> int:
        return len(self.results)

    def cell(self, cell: Cell) -> CellSensitivity:
        base = self._samples(self.whole, cell, ())
        assert base is not None, f"{cell.id} is not simulated"
        here = self.experiment.cell(cell.id)
        influential = self._screen(here, [one for one in self._candidates(here) if not one.is_fixed])
        effects = [self._effect(here, one) for one in influential]
        shown = [effect for effect in effects if effect.size_percent >= _shown_from(cell)]
        largest_first = tuple(sorted(shown, key=lambda one: -one.size_percent))
        rests_from = 2 * _shown_from(cell)
        return CellSensitivity(cell.id, mean(base), largest_first, _unit_of(cell), rests_from)

    def _scatters(self, cell: Cell) -> bool:
        """Whether the seeds of a cell differ by so much that one of them would not show what moves it."""
        samples = self._samples(self.whole, cell, ())
        assert samples is not None, f"{cell.id} is not simulated"
        known = half_width(samples) or 0.0
        return known / abs(_unit(cell, mean(samples)) or 1.0) > _shown_from(cell) / 4

    def _effect(self, cell: Cell, one: Candidate) -> Effect:
        values = [value for value in (one.lower, one.higher) if value not in one.refused]
        self._simulate(self.experiment, [cell, *self._fitted_on(cell)], [((one, value),) for value in values])

        def change(value: str) -> float | None:
            if value == one.value:
                return 0.0
            if value in one.refused:
                return None
            found = self._refitted(cell, one, value)
            return None if found is None else round(found.mean, 3) if found.size else 0.0

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

    def _refitted(self, cell: Cell, one: Candidate, value: str) -> _Change | None:
        """Return how far a cell moves when its fits are done again; a fitted value itself is as it is."""
        variation = ((one, value),)
        base = self._samples(self.experiment, cell, ())
        there = self._samples(self.experiment, cell, variation)
        if base is None or there is None:
            return None
        changes = [_apart(cell, here, other) for here, other in zip(base, there, strict=True)]
        fits = fits_behind(self.experiment, cell)
        if fits and not any(path in fit.parameters for fit in fits for path in one.paths):
            made_up = self._made_up_for(cell, self._slopes(fits), variation, len(changes))
            if made_up is None:
                return None
            changes = [change + back for change, back in zip(changes, made_up, strict=True)]
        found = _Change(mean(changes), half_width(changes) or 0.0)
        return found if _is_in_points(cell) else _Change(_percent(found.mean), 100 * found.half_width)

    def _made_up_for(
        self, cell: Cell, slopes: Slopes | None, variation: Variation, seeds: int
    ) -> list[float] | None:
        """Return what fits done again move a cell by, seed by seed; None when no value in bounds does."""
        if slopes is None:
            return None
        follows = [self._follows(cell, fit) for fit in slopes.fits]
        ratios = []
        for calibrated in slopes.cells:
            here = self._samples(self.experiment, calibrated, ())
            there = self._samples(self.experiment, calibrated, variation)
            if here is None or there is None:
                return None
            ratios.append([other / own for own, other in zip(here, there, strict=True)])
        steps = [
            refitted(slopes, [each[min(seed, len(each) - 1)] for each in ratios]) for seed in range(seeds)
        ]
        known = [step for step in steps if step is not None]
        if len(known) < seeds or not within_bounds(slopes, [mean(each) for each in zip(*known, strict=True)]):
            return None
        return [sum(slope * by for slope, by in zip(follows, step, strict=True)) for step in known]

    def _follows(self, cell: Cell, fit: Fit) -> float:
        """Return how steeply a cell follows a fitted value, over its logarithm; 0 within its interval."""
        base = self._samples(self.experiment, cell, ())
        there = self._samples(moved(self.experiment, fit), cell, ())
        if base is None or there is None:
            return 0.0
        changes = [_apart(cell, here, other) for here, other in zip(base, there, strict=True)]
        found = _Change(mean(changes), half_width(changes) or 0.0)
        return found.mean / log(1 + STEP) if found.size else 0.0

    def _slopes(self, fits: tuple[Fit, ...]) -> Slopes | None:
        names = tuple(fit.name for fit in fits)
        if names not in self.slopes:

            def simulated(experiment: Experiment, cell: Cell) -> tuple[float, ...] | None:
                return self._samples(experiment, cell, ())

            self.slopes[names] = slopes_of(self.experiment, fits, simulated)
        return self.slopes[names]

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
        """Return our own cells that a fit behind `cell` would be done again on."""
        fits = fits_behind(self.experiment, cell)
        ids = dict.fromkeys(id_ for fit in fits for id_ in fit.cells if id_ != cell.id)
        return [self.experiment.cell(id_) for id_ in ids]

    def _candidates(self, cell: Cell) -> list[Candidate]:
        found: dict[str, Candidate] = {}
        for job in jobs_behind(self.experiment, cell):
            parameters = resolve(job.scenario, job.overrides).document["parameters"]
            here = list(candidates_of(parameters, but=axes(self.experiment)))
            self._try([one for one in here if one.entry not in self.tried], job)
            for one in here:
                known = found.get(one.entry, self.tried[one.entry])
                paths = one.paths if one.entry not in found else (*known.paths, *one.paths)
                found[one.entry] = replace(known, paths=tuple(dict.fromkeys(paths)))
        return list(found.values())

    def _try(self, candidates: Sequence[Candidate], job: Job) -> None:
        """Find values of candidates that a job allows."""

        def is_allowed(values: Sequence[tuple[str, str]]) -> bool:
            varied = {path for path, _ in values}
            kept = [each for each in job.overrides if each[0] not in varied]
            try:
                resolve(job.scenario, [*kept, *values])
            except ScenarioError:
                return False
            return True

        self.tried |= {one.entry: one for one in tried(candidates, is_allowed)}

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


def _with_seeds(experiment: Experiment, scattering: Sequence[Cell]) -> Experiment:
    """Return an experiment of which nothing is run with more seeds than it takes to see a change."""
    noisy = {leaf.id for cell in scattering for leaf in experiment.simulated(cell)}

    def seeds(quantity: Quantity) -> int:
        return min(quantity.seeds, NOISY_SEEDS if quantity.id in noisy else 1)

    return replace(
        experiment,
        cells=tuple(replace(cell, seeds=seeds(cell)) for cell in experiment.cells),
        values=tuple(replace(value, seeds=seeds(value)) for value in experiment.values),
    )


def _shown_from(cell: Cell) -> float:
    if cell.band_points is not None:
        return cell.band_points / 10
    return (
        SHOWN_FROM_PERCENT if cell.band_percent is None else min(SHOWN_FROM_PERCENT, cell.band_percent / 10)
    )


def _is_in_points(cell: Cell) -> bool:
    differs = cell.formula is not None and cell.formula.name in ("percent_change_of", "difference_of")
    return differs or cell.band_points is not None


def _unit_of(cell: Cell) -> str:
    return "points" if _is_in_points(cell) else "%"


def _unit(cell: Cell, value: float) -> float:
    """Return what one of its unit is, of a value: a point, or a percent of it."""
    return 1.0 if _is_in_points(cell) else value / 100


def _apart(cell: Cell, here: float, there: float) -> float:
    """Return how far two values are apart: in points, or in logarithms where that can be said."""
    if _is_in_points(cell):
        return there - here
    return log(there / here) if here and there / here > 0 else 0.0


def _percent(apart: float) -> float:
    return 100 * (exp(apart) - 1)


def _change(cell: Cell, base: Sequence[float], there: Sequence[float]) -> _Change:
    """Return how far a cell has moved, in its unit, seed by seed; of nothing no percentage can be said."""
    unit = _unit(cell, mean(base))
    if not unit:
        return _Change(0.0, 0.0)
    changes = [(other - here) / unit for here, other in zip(base, there, strict=True)]
    return _Change(mean(changes), half_width(changes) or 0.0)
