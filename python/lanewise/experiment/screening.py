"""Finds what moves the predictions of an experiment, without trying every parameter by itself.

Most candidates move nothing, and finding that out one by one would cost thousands of runs. So candidates are
first varied in groups, each in its harmful direction (times longer, everything else smaller), in which
effects add up rather than cancel; a group that moves nothing is done with, another one is split in two. Only
what is left alone is varied both ways. What this can miss: a parameter whose harm is made good by another of
its group.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise import __version__
from lanewise.experiment.candidates import Candidate, by_component, candidates_of
from lanewise.experiment.runner import Job, try_all
from lanewise.experiment.sensitivity import (
    CellSensitivity,
    Effect,
    Sensitivity,
    inputs_hash,
    predicted,
    varied,
)
from lanewise.experiment.values import jobs_behind, value_of
from lanewise.simulator import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lanewise.experiment.cache import RunCache
    from lanewise.experiment.definition import Cell, Experiment, Override
    from lanewise.results import RunResult

SHOWN_FROM_PERCENT = 0.5
"""A parameter that moves a cell by less is not listed: runs stop when their results are as narrow as that."""


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

    @property
    def runs(self) -> int:
        return len(self.results)

    def cell(self, cell: Cell) -> CellSensitivity:
        base = self._value(cell, ())
        assert base is not None, f"{cell.id} is not simulated"
        influential = self._screen(cell, base, self._candidates(cell))
        self._simulate(cell, [((one, value),) for one in influential for value in (one.lower, one.higher)])
        effects = [self._effect(cell, base, one) for one in influential]
        shown = [effect for effect in effects if effect.size_percent >= SHOWN_FROM_PERCENT]
        largest_first = tuple(sorted(shown, key=lambda one: -one.size_percent))
        return CellSensitivity(cell.id, base, largest_first, _unit_of(cell))

    def _effect(self, cell: Cell, base: float, one: Candidate) -> Effect:
        def change(value: str) -> float | None:
            moved = self._value(cell, ((one, value),))
            return None if moved is None else round(_change(cell, base, moved), 3)

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

    def _screen(self, cell: Cell, base: float, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Split groups in two until each either moves nothing or is one candidate; a level at a time."""
        groups = [group for group in by_component(candidates) if group]
        alone: list[Candidate] = []
        while groups:
            self._simulate(cell, [tuple((one, one.harmful) for one in group) for group in groups])
            smaller: list[list[Candidate]] = []
            for group in groups:
                moved = self._value(cell, tuple((one, one.harmful) for one in group))
                if moved is not None and abs(_change(cell, base, moved)) < SHOWN_FROM_PERCENT / 2:
                    continue
                if len(group) == 1:
                    alone += group
                else:
                    half = len(group) // 2
                    smaller += [group[:half], group[half:]]
            groups = smaller
        return alone

    def _candidates(self, cell: Cell) -> list[Candidate]:
        found: dict[tuple[str, str], Candidate] = {}
        for job in jobs_behind(self.experiment, cell):
            for one in candidates_of(resolve(job.scenario, job.overrides).document["parameters"]):
                known = found.get((one.name, one.value))
                paths = one.paths if known is None else (*known.paths, *one.paths)
                found[one.name, one.value] = Candidate(
                    one.name,
                    tuple(dict.fromkeys(paths)),
                    one.value,
                    one.provenance,
                    one.lower,
                    one.higher,
                    one.harmful,
                )
        return list(found.values())

    def _varied(self, job: Job, variation: Variation) -> Job:
        """Return a job with the varied values, where its parameters have the value that is varied."""
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

    def _simulate(self, cell: Cell, variations: Iterable[Variation]) -> None:
        jobs = [
            varied
            for variation in variations
            for job in jobs_behind(self.experiment, cell)
            if (varied := self._varied(job, variation)) not in self.results
        ]
        done = try_all(jobs, cache=self.cache)
        self.results |= {job: done.get(job) for job in jobs}
        if self.on_progress:
            self.on_progress(self.runs)

    def _value(self, cell: Cell, variation: Variation) -> float | None:
        """Return a cell's value when some parameters are varied; None when a scenario does not allow it."""
        self._simulate(cell, [variation])
        results: dict[Job, RunResult] = {}
        for job in jobs_behind(self.experiment, cell):
            result = self.results[self._varied(job, variation)]
            if result is None:
                return None
            results[job] = result
        return value_of(self.experiment, cell, results)


def _unit_of(cell: Cell) -> str:
    differs = cell.formula is not None and cell.formula.name in ("percent_change_of", "difference_of")
    return "points" if differs or cell.band_points is not None else "%"


def _change(cell: Cell, base: float, moved: float) -> float:
    """Return how far a cell has moved, in its unit; of nothing no percentage can be said."""
    if _unit_of(cell) == "points":
        return moved - base
    return 100 * (moved / base - 1) if base else 0.0
