"""What a prediction rests on: which parameters move it when they are 20 % off.

Every parameter in force that is assumed, calibrated or published is a candidate; what a specification or a
data sheet fixes is not. Parameters of equal parts that have equal values (both adapters, all ports) are one
candidate and are varied together. A number is varied by 20 % both ways; a size that has to be a power of two
is halved and doubled.

Most candidates move nothing, and finding that out one by one would cost thousands of runs. So candidates are
first varied in groups, each in its harmful direction (times longer, everything else smaller), in which
effects add up rather than cancel; a group that moves nothing is done with, another one is split in two. Only
what is left alone is varied both ways. What this can miss: a parameter whose harm is made good by another of
its group.

The result lies beside ``fitted.toml`` as ``sensitivity.toml``, with what was varied and a hash of the
scenarios and overrides, so that a report can say when it no longer fits. A parameter that is new since does
not make it stale: what was found still holds.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lanewise import __version__
from lanewise.experiment.runner import Job, try_all
from lanewise.experiment.toml import inline
from lanewise.experiment.values import job_for, value_of
from lanewise.files import write_whole
from lanewise.simulator import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lanewise.experiment.cache import RunCache
    from lanewise.experiment.definition import Cell, Experiment, Override
    from lanewise.results import RunResult

STEP = 0.2
"""Relative change of a varied number."""

SHOWN_FROM_PERCENT = 0.5
"""A parameter that moves a cell by less is not listed: runs stop when their results are as narrow as that."""

RESTS_FROM_PERCENT = 1.0
"""A prediction rests on an assumption that moves it by this much."""

_CANDIDATES = ("assumed", "calibrated", "published")
_POWERS_OF_TWO = ("mps", "mrrs", "rcb", "completion_combine", "mps_supported", "read_request")
_TIMES = ("ns", "us", "ms", "s")
_QUANTITY = re.compile(r"(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?: (?P<unit>[A-Za-z/]+))?")
_NOT_VARIED = ("capacity", "memory_base", "seed", "count", "warm_up", "time_limit")


@dataclass(frozen=True)
class Effect:
    """How far one parameter moves one cell."""

    parameter: str
    """As `explain` names it, with # for the number of equal parts."""
    paths: tuple[str, ...]
    value: str
    provenance: str
    lower: str
    """The value it was lowered to."""
    higher: str
    lower_percent: float | None
    """Change of the cell when it is lowered; None where a scenario does not allow the value."""
    higher_percent: float | None

    @property
    def short_value(self) -> str:
        """The value with no more digits than a fit is known to."""
        return _shortened(self.value)

    @property
    def short_lower(self) -> str:
        """The lower value that was tried, with as many digits."""
        return _shortened(self.lower)

    @property
    def short_higher(self) -> str:
        """The higher value that was tried, with as many digits."""
        return _shortened(self.higher)

    @property
    def size_percent(self) -> float:
        """The larger of both changes, absolute."""
        return max(abs(self.lower_percent or 0.0), abs(self.higher_percent or 0.0))

    def document(self) -> dict[str, Any]:
        """Return the effect for JSON and TOML."""
        return {
            "parameter": self.parameter,
            "paths": list(self.paths),
            "value": self.value,
            "provenance": self.provenance,
            "lower": self.lower,
            "higher": self.higher,
            "lower_percent": self.lower_percent,
            "higher_percent": self.higher_percent,
        }


@dataclass(frozen=True)
class CellSensitivity:
    """What one predicted cell rests on, largest effect first."""

    cell: str
    simulated: float
    effects: tuple[Effect, ...]
    unit: str = "%"
    """What changes are in: percent of the cell, or points for a cell that is judged in points."""

    @property
    def rests_on(self) -> tuple[Effect, ...]:
        """The assumptions that it rests on."""
        return tuple(
            effect
            for effect in self.effects
            if effect.provenance == "assumed" and effect.size_percent >= RESTS_FROM_PERCENT
        )

    @property
    def assumptions(self) -> list[str]:
        """Their names, each once: a name may stand for several values."""
        return list(dict.fromkeys(effect.parameter for effect in self.rests_on))


@dataclass(frozen=True)
class Sensitivity:
    """What the predictions of one experiment rest on."""

    version: str
    inputs: str
    """Hash of the scenarios and overrides."""
    runs: int
    cells: tuple[CellSensitivity, ...]
    varied: tuple[str, ...] = ()
    """Every candidate as "name = value"."""
    stale: bool = False
    """Whether a parameter has changed since."""

    def of(self, cell: str) -> CellSensitivity | None:
        """Return what a cell rests on, if it was looked at."""
        return next((each for each in self.cells if each.cell == cell), None)

    def document(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "version": self.version,
            "inputs": self.inputs,
            "stale": self.stale,
            "runs": self.runs,
            "varied": list(self.varied),
            "cells": [
                {
                    "cell": each.cell,
                    "simulated": each.simulated,
                    "unit": each.unit,
                    "rests_on_assumptions": each.assumptions,
                    "moved_by": [effect.document() for effect in each.effects],
                }
                for each in self.cells
            ],
        }

    def to_toml(self, folder: str) -> str:
        """Return the text of ``sensitivity.toml``."""
        lines = [
            f"# Made by `lanewise reproduce --sensitivity` for experiments/{folder}: changes of each cell.",
            f"version = {inline(self.version)}",
            f"inputs = {inline(self.inputs)}",
            f"runs = {self.runs}",
            "varied = [",
            *(f"    {inline(one)}," for one in self.varied),
            "]",
        ]
        for each in self.cells:
            lines += ["", "[[cell]]", f"cell = {inline(each.cell)}", f"simulated = {inline(each.simulated)}"]
            lines += [f"unit = {inline(each.unit)}"]
            rows = [
                {key: value for key, value in effect.document().items() if value is not None}
                for effect in each.effects
            ]
            lines += ["moved_by = [", *(f"    {inline(row)}," for row in rows), "]"]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class Candidate:
    """Parameters of equal parts with one value, varied together."""

    name: str
    paths: tuple[str, ...]
    value: str
    provenance: str
    lower: str
    higher: str
    harmful: str
    """Whichever of both slows things down."""


def _shortened(value: str) -> str:
    match = _QUANTITY.fullmatch(value)
    if match is None or len(match["number"]) <= 6:
        return value
    return f"{float(match['number']):.5g} {match['unit'] or ''}".strip()


def stored(experiment: Experiment) -> Sensitivity | None:
    """Read ``sensitivity.toml``, and say whether it still fits; None without one."""
    path = experiment.folder / "sensitivity.toml"
    if not path.is_file():
        return None
    document = tomllib.loads(path.read_text(encoding="utf-8"))
    return Sensitivity(
        version=document["version"],
        inputs=document["inputs"],
        runs=document["runs"],
        cells=tuple(
            CellSensitivity(
                cell["cell"],
                cell["simulated"],
                tuple(_effect(row) for row in cell["moved_by"]),
                cell["unit"],
            )
            for cell in document["cell"]
        ),
        varied=tuple(document.get("varied", ())),
        stale=document["inputs"] != inputs_hash(experiment)
        or not set(document.get("varied", ())) <= set(varied(experiment)),
    )


def _effect(row: Mapping[str, Any]) -> Effect:
    changes = {"lower_percent": row.get("lower_percent"), "higher_percent": row.get("higher_percent")}
    return Effect(**{**row, "paths": tuple(row["paths"]), **changes})


def save(experiment: Experiment, sensitivity: Sensitivity) -> Path:
    """Write ``sensitivity.toml`` into the folder of the experiment, whole or not at all."""
    return write_whole(experiment.folder / "sensitivity.toml", sensitivity.to_toml(experiment.folder.name))


def predicted(experiment: Experiment) -> list[Cell]:
    """Return the cells that are looked at: predicted, and behind which something runs.

    An experiment that predicts nothing has the others instead, so that it can be seen how fragile they are.
    """
    simulated = [
        cell for cell in experiment.cells if any(leaf.scenario for leaf in experiment.simulated(cell))
    ]
    return [cell for cell in simulated if cell.role == "predicted"] or simulated


def inputs_hash(experiment: Experiment) -> str:
    """Hash the scenarios and overrides behind the predicted cells."""
    digest = hashlib.sha256()
    for cell in predicted(experiment):
        for job in _jobs(experiment, cell):
            text = job.scenario.read_text(encoding="utf-8")
            digest.update(json.dumps([cell.id, text, list(job.overrides)]).encode())
    return digest.hexdigest()[:16]


def varied(experiment: Experiment) -> tuple[str, ...]:
    """Return every candidate behind the predicted cells as "name = value"."""
    jobs = dict.fromkeys(job for cell in predicted(experiment) for job in _jobs(experiment, cell))
    found = set()
    for job in jobs:
        rows = resolve(job.scenario, job.overrides).document["parameters"]
        found |= {f"{one.name} = {one.value}" for one in candidates_of(rows)}
    return tuple(sorted(found))


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


def _jobs(experiment: Experiment, cell: Cell) -> list[Job]:
    leaves = experiment.simulated(cell)
    return list(dict.fromkeys(job_for(experiment, leaf) for leaf in leaves if leaf.scenario))


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
        groups = [group for group in _by_component(candidates) if group]
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
        for job in _jobs(self.experiment, cell):
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
            for job in _jobs(self.experiment, cell)
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
        for job in _jobs(self.experiment, cell):
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


Variation = tuple[tuple[Candidate, str], ...]
"""Candidates and the values they get."""


def candidates_of(parameters: Iterable[Mapping[str, Any]]) -> Iterator[Candidate]:
    """Yield what may be varied of the parameters that `explain` lists, equal parts together."""
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for row in parameters:
        leaf = row["path"].rpartition(".")[2]
        if row["provenance"] not in _CANDIDATES or leaf in _NOT_VARIED or row.get("role") == "choice":
            continue
        name = re.sub(r"\d+(?=\.|$)", "#", row["path"])
        grouped.setdefault((name, str(row["value"]), row["provenance"]), []).append(row["path"])
    for (name, value, provenance), paths in grouped.items():
        match = _QUANTITY.fullmatch(value)
        if match is None or not float(match["number"]):
            continue
        low, high = _both_ways(name.rpartition(".")[2], match["number"], match["unit"])
        if value in (low, high):
            continue
        harmful = high if match["unit"] in _TIMES else low
        yield Candidate(name, tuple(paths), value, provenance, low, high, harmful)


def _both_ways(leaf: str, number: str, unit: str | None) -> tuple[str, str]:
    """Return the lower and the higher value to try."""
    whole = "." not in number and "e" not in number and unit not in ("GB/s", "MB/s", *_TIMES)
    factors = (0.5, 2.0) if leaf in _POWERS_OF_TWO else (1 - STEP, 1 + STEP)
    values = [float(number) * factor for factor in factors]
    texts = [str(max(1, round(value))) if whole else f"{value:.6g}" for value in values]
    return (f"{texts[0]} {unit or ''}".strip(), f"{texts[1]} {unit or ''}".strip())


def _by_component(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Group candidates by what they belong to: a host, a switch, an adapter, a drive; powers of two alone."""
    groups: dict[str, list[Candidate]] = {}
    for one in candidates:
        alone = one.name.rpartition(".")[2] in _POWERS_OF_TWO
        groups.setdefault(one.name if alone else one.name.partition(".")[0], []).append(one)
    return list(groups.values())
