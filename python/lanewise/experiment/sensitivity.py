"""What a prediction rests on: which parameters move it when they are 20 % off.

Every parameter in force that is assumed, calibrated or published is a candidate (`candidates`); `screening`
finds out how far each moves each cell. Here is what came of it, and where it is kept: beside ``fitted.toml``
as ``sensitivity.toml``, with what was varied and a hash of the scenarios and overrides, so that a report can
say when it no longer fits: when a candidate is new, is gone or has another value, or a cell comes out
otherwise. That goes for one that moved nothing, too: nobody has tried what it does now.
One that was not made again for a newer core says so itself, by hand: ``made_on`` names the core, and it is
stale.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, cast

import polars as pl

from lanewise import toml
from lanewise.columns import frame
from lanewise.experiment.candidates import QUANTITY, candidates_of
from lanewise.experiment.definition import ExperimentError
from lanewise.experiment.values import jobs_behind
from lanewise.files import write_whole
from lanewise.runs.simulator import resolve

if TYPE_CHECKING:
    from pathlib import Path

    from lanewise import documents
    from lanewise.experiment.definition import Cell, Experiment
    from lanewise.experiment.entries import EffectEntry, RestsOn

RESTS_FROM_PERCENT = 1.0
"""A prediction rests on an assumption that moves it by this much, or by a fifth of its band if less."""


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

    def document(self) -> documents.ReproduceExperimentSensitivityCellMovedBy:
        """Return the effect for JSON and TOML."""
        return {
            "parameter": self.parameter,
            "paths": list(self.paths),
            "value": self.value,
            "provenance": cast("documents.Provenance", self.provenance),
            "lower": self.lower,
            "higher": self.higher,
            "lower_percent": self.lower_percent,
            "higher_percent": self.higher_percent,
        }


@dataclass(frozen=True)
class CellSensitivity:
    """What one predicted cell rests on, largest effect first."""

    cell: str
    """Its name."""
    simulated: float
    """Its value, in the unit of the cell."""
    effects: tuple[Effect, ...]
    """Largest first."""
    unit: str = "%"
    """What changes are in: percent of the cell, or points for a cell that is judged in points."""
    rests_from: float = RESTS_FROM_PERCENT
    """Change from which on it rests on a parameter, in that unit."""

    @property
    def rests_on(self) -> tuple[Effect, ...]:
        """The assumptions that it rests on."""
        return tuple(
            effect
            for effect in self.effects
            if effect.provenance == "assumed" and effect.size_percent >= self.rests_from
        )

    @property
    def assumptions(self) -> list[str]:
        """Their names, each once: a name may stand for several values."""
        return list(dict.fromkeys(effect.parameter for effect in self.rests_on))


@dataclass(frozen=True)
class Sensitivity:
    """What the predictions of one experiment rest on."""

    version: str
    """Of the core."""
    inputs: str
    """Hash of the scenarios and overrides."""
    runs: int
    """How many it took."""
    cells: tuple[CellSensitivity, ...]
    """The predicted ones."""
    varied: tuple[str, ...] = ()
    """Every value that was, as "name = value"."""
    stale: bool = False
    """Whether a parameter has changed since, or the core."""
    made_on: str = ""
    """The core it was made on, when that is known to be another; empty when it is not."""
    refused: tuple[str, ...] = ()
    """Candidates that were not varied, as the core allows neither of the values that were tried."""
    one_way: tuple[str, ...] = ()
    """Of what was varied, that which the core allows one way only."""

    @property
    def why_stale(self) -> str:
        """Why it no longer fits, in a few words; empty while it does."""
        if self.made_on:
            return f"made on another core: {self.made_on}"
        return "parameters or results have changed since" if self.stale else ""

    def of(self, cell: str) -> CellSensitivity | None:
        """Return what a cell rests on, if it was looked at."""
        return next((each for each in self.cells if each.cell == cell), None)

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per cell and parameter that moves it, largest effect first."""
        columns = {
            "cell": pl.String,
            "parameter": pl.String,
            "value": pl.String,
            "provenance": pl.String,
            "lower": pl.String,
            "lower_change": pl.Float64,
            "higher": pl.String,
            "higher_change": pl.Float64,
            "unit_of_changes": pl.String,
        }
        rows = (
            {
                **effect.document(),
                "cell": each.cell,
                "lower_change": effect.lower_percent,
                "higher_change": effect.higher_percent,
                "unit_of_changes": each.unit,
            }
            for each in self.cells
            for effect in each.effects
        )
        return frame(rows, columns)

    def document(self) -> documents.ReproduceExperimentSensitivity:
        """Return it for JSON."""
        return {
            "version": self.version,
            "inputs": self.inputs,
            "stale": self.stale,
            "made_on": self.made_on,
            "runs": self.runs,
            "varied": list(self.varied),
            "one_way": list(self.one_way),
            "refused": list(self.refused),
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
        cells = [
            {
                "cell": each.cell,
                "simulated": each.simulated,
                "unit": each.unit,
                "rests_from": toml.short(each.rests_from),
                "moved_by": [
                    {key: value for key, value in effect.document().items() if value is not None}
                    for effect in each.effects
                ],
            }
            for each in self.cells
        ]
        return toml.document(
            {
                "version": self.version,
                "inputs": self.inputs,
                "runs": self.runs,
                "varied": self.varied,
                **({"one_way": self.one_way} if self.one_way else {}),
                **({"refused": self.refused} if self.refused else {}),
                "cell": cells,
            },
            head=[
                f"Made by `lanewise reproduce --sensitivity` for experiments/{folder}: changes of each cell."
            ],
            spread={("varied",), ("one_way",), ("refused",), ("cell", "moved_by")},
        )


def stored(experiment: Experiment) -> Sensitivity | None:
    """Read ``sensitivity.toml``, and say whether it still fits; None without one.

    Raises ExperimentError for one that cannot be read.
    """
    path = experiment.folder / "sensitivity.toml"
    if not path.is_file():
        return None
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
        return _read(experiment, cast("RestsOn", document))
    except (KeyError, TypeError, ValueError) as error:
        # A decoder's errors are such, too.
        what = f"{error.args[0]!r} is missing" if isinstance(error, KeyError) else str(error)
        hint = f"delete it, or make it again with 'lanewise reproduce {experiment.id} --sensitivity'"
        raise ExperimentError(f"'{path}' cannot be read: {what}; {hint}") from error


def _read(experiment: Experiment, document: RestsOn) -> Sensitivity:
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
                cell.get("rests_from", RESTS_FROM_PERCENT),
            )
            for cell in document["cell"]
        ),
        varied=tuple(document.get("varied", ())),
        one_way=tuple(document.get("one_way", ())),
        refused=tuple(document.get("refused", ())),
        made_on=document.get("made_on", ""),
        stale="made_on" in document
        or document["inputs"] != inputs_hash(experiment)
        or {*document.get("varied", ()), *document.get("refused", ())} != set(varied(experiment)),
    )


def _effect(row: EffectEntry) -> Effect:
    return Effect(
        parameter=row["parameter"],
        paths=tuple(row["paths"]),
        value=row["value"],
        provenance=row["provenance"],
        lower=row["lower"],
        higher=row["higher"],
        lower_percent=row.get("lower_percent"),
        higher_percent=row.get("higher_percent"),
    )


def save(experiment: Experiment, sensitivity: Sensitivity) -> Path:
    """Write ``sensitivity.toml`` into the folder of the experiment, whole or not at all."""
    return write_whole(experiment.folder / "sensitivity.toml", sensitivity.to_toml(experiment.folder.name))


def predicted(experiment: Experiment) -> list[Cell]:
    """Return the cells that are looked at: predicted, and behind which something runs.

    An experiment that has none has the selected ones instead, and without those all others, so that it can be
    seen how fragile they are.
    """
    simulated = [
        cell for cell in experiment.cells if any(leaf.scenario for leaf in experiment.simulated(cell))
    ]
    by_role = ([cell for cell in simulated if cell.role == role] for role in ("predicted", "selected"))
    return next((cells for cells in by_role if cells), simulated)


def inputs_hash(experiment: Experiment) -> str:
    """Hash the scenarios and overrides behind the predicted cells."""
    digest = hashlib.sha256()
    for cell in predicted(experiment):
        for job in jobs_behind(experiment, cell):
            text = job.text()
            digest.update(json.dumps([cell.id, text, list(job.overrides)]).encode())
    return digest.hexdigest()[:16]


def varied(experiment: Experiment) -> tuple[str, ...]:
    """Return every candidate behind the predicted cells as "name = value", whether it can vary or not."""
    jobs = dict.fromkeys(job for cell in predicted(experiment) for job in jobs_behind(experiment, cell))
    found = set()
    for job in jobs:
        rows = resolve(job.scenario, job.overrides).document["parameters"]
        found |= {one.entry for one in candidates_of(rows, but=axes(experiment))}
    return tuple(sorted(found))


def axes(experiment: Experiment) -> frozenset[str]:
    """Return what tells the cells of an experiment apart in their workloads, such as the sizes of a table."""
    paths = (path for quantity in experiment.quantities.values() for path, _ in quantity.overrides)
    return frozenset(path for path in paths if path.startswith("workload."))


def _shortened(value: str) -> str:
    match = QUANTITY.fullmatch(value)
    if match is None or len(match["number"]) <= 6:
        return value
    return f"{float(match['number']):.5g} {match['unit'] or ''}".strip()
