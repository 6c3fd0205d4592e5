"""From a scenario and measurements to fitted parameters, with errors of fitted rows and of others."""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

import polars as pl

from lanewise.calibration.joint import Known, fit_together
from lanewise.calibration.measured import Measured, MeasuredCell, read_measured
from lanewise.calibration.named import FitError, Wanted, wanted
from lanewise.calibration.nearest import null_errors
from lanewise.calibration.outputs import read_data
from lanewise.calibration.part import refuse_parts
from lanewise.columns import frame
from lanewise.errors import InputError, ScenarioError
from lanewise.experiment.definition import Cell, Experiment, Fit
from lanewise.experiment.fit_interval import covering
from lanewise.experiment.metric import MetricError
from lanewise.experiment.trials import answers_of
from lanewise.experiment.values import UndefinedCellError
from lanewise.output_format import stamped
from lanewise.runs.simulator import called, hashable, is_file, resolve
from lanewise.toml import short
from lanewise.written import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lanewise.columns import Columns
    from lanewise.experiment.trials import Answer
    from lanewise.runs.simulator import Scenario

MOST_SEEDS = 1_000

FAR_PERCENT = 10
"""Median error of fitted rows beyond which it is said that the scenario is not the machine. Assumed."""

WELL_PERCENT = 1
"""Median error of held-out rows that is good, whatever else is better. Assumed."""

FIT, HELD_OUT = "fit", "held out"
"""Roles of rows."""

DETERMINED, OPEN, NOT_DETERMINED = "determined", "open", "not determined"
NO_EFFECT, NOT_MET = "no effect", "not met"
"""How well a parameter is known."""


@dataclass(frozen=True)
class FittedParameter:
    """A parameter that was fitted, as far as the rows determine it."""

    known: Known

    @property
    def name(self) -> str:
        """As it was asked for."""
        return self.known.wanted.name

    @property
    def status(self) -> str:
        """How well it is known."""
        if self.known.is_determined:
            return DETERMINED
        if not self.known.has_effect:
            return NO_EFFECT
        if not self.known.is_met:
            return NOT_MET
        is_open_once = self.known.is_open_below != self.known.is_open_above
        return OPEN if is_open_once and not self.known.alike else NOT_DETERMINED

    @property
    def value(self) -> str | int | None:
        """As a scenario writes it, with the digits that its interval leaves; None where it is open."""
        if not self.known.is_determined:
            return None
        one = self.known.wanted
        if one.is_whole:
            text = one.written(self.known.best, 5)
        else:
            text = f"{float(self._number(self.known.best)):.12g} {one.unit}".strip()
        return int(text) if one.is_whole and not one.unit else text

    def _number(self, value: float) -> str:
        """Write a number with two digits of half of the interval, and five at most."""
        half = (self.known.high - self.known.low) / 2
        number, rounded = covering(value, max(half, 1e-12))
        return f"{number:.{len(rounded.partition('.')[2])}f}"

    @property
    def low(self) -> str | None:
        """Lower end of the interval of 95 %; None where the rows leave it open."""
        return None if self.known.is_open_below or not self._has_ends else self._end(self.known.low)

    @property
    def high(self) -> str | None:
        """Upper end of the interval; None where the rows leave it open."""
        return None if self.known.is_open_above or not self._has_ends else self._end(self.known.high)

    @property
    def _has_ends(self) -> bool:
        """Whether an end of its interval comes from the rows."""
        return self.known.is_met and not self.known.alike

    def _end(self, value: float) -> str:
        one = self.known.wanted
        if one.is_whole:
            return one.written(value, 5)
        if not self.known.is_determined:
            # One end alone is known no better than it was looked for.
            return f"{short(value, 3)} {one.unit}".strip()
        return f"{self._number(value)} {one.unit}".strip()

    @property
    def interval(self) -> str:
        """The interval in words."""
        unit = self.known.wanted.unit
        if self.low is not None and self.high is not None:
            low = self.low.removesuffix(f" {unit}") if unit else self.low
            return self.high if low == self.high else f"{low} to {self.high}"
        if self.low is not None:
            return f"{self.low} or more"
        return f"{self.high} or less" if self.high is not None else "open"

    @property
    def remark(self) -> str:
        """What is to be said of one that is not determined, in a sentence; nothing of others."""
        if self.status in (DETERMINED, NO_EFFECT, NOT_MET):
            return self._remark_by_status()
        one = self.known.wanted
        if self.known.alike:
            others = " and ".join(self.known.alike)
            return (
                f"{self.name} and {others} cannot be told apart by these rows: one makes up for the other. "
                "Fit one of them, give the other a value with a source, or measure rows that only one of "
                "them changes"
            )
        if self.known.is_at_bound:
            end = one.high if self.known.is_open_above else one.low
            return (
                f"{self.name} fits best at the end of what was searched, {one.written(end, 12)}: search "
                f"further with --fit '{one.name}=LOW..HIGH', or something else is wrong with the scenario"
            )
        if self.status == NOT_DETERMINED:
            return (
                f"{self.name} is not determined by these rows: any value between {one.shown_range} fits "
                "them as well"
            )
        return (
            f"{self.name} is {self.interval}: from there on, no row follows it. Measure rows that do, or "
            "give it a value with a source"
        )

    def _remark_by_status(self) -> str:
        one = self.known.wanted
        if self.status == NO_EFFECT:
            return (
                f"{self.name} changes no fitted row between {one.shown_range}: something else limits them all"
            )
        if self.status == NOT_MET:
            return (
                f"no {self.name} between {one.shown_range} gives what was measured; the nearest is "
                f"{one.written(self.known.best, 3)}. Something else limits these rows, or the scenario is "
                "not this machine"
            )
        return ""

    def document(self) -> dict[str, object]:
        """Return it as JSON has it."""
        one = self.known.wanted
        return {
            "name": self.name,
            "parameters": list(one.parameters),
            "status": self.status,
            "value": self.value,
            "low": self.low,
            "high": self.high,
            "unit": one.unit,
            "searched_from": one.written(one.low, 12),
            "searched_to": one.written(one.high, 12),
            "before": one.was,
            "provenance_before": one.provenance,
            "place_before": one.place,
            "alike": list(self.known.alike),
            "remark": self.remark or None,
        }


@dataclass(frozen=True)
class CellResult:
    """A measured number, and what the simulation gives for it."""

    cell: MeasuredCell
    simulated: float
    """In the unit of the measurement, with the fitted values."""
    before: float | None
    """With the values of the scenario; None where one of them was no amount."""
    null_percent: float | None = None
    """Error of the nearest fitted row in its place; of held-out rows only."""
    line_percent: float | None = None
    """Error of a straight line through fitted rows; None where there is none."""

    @property
    def role(self) -> str:
        """Whether it was fitted."""
        return HELD_OUT if self.cell.is_held_out else FIT

    @property
    def error_percent(self) -> float:
        """Simulated over measured, less one."""
        return 100 * (self.simulated / self.cell.measured - 1)

    @property
    def before_percent(self) -> float | None:
        """The same with the values of the scenario."""
        return None if self.before is None else 100 * (self.before / self.cell.measured - 1)


@dataclass(frozen=True)
class Spread:
    """Errors of some cells without their signs."""

    cells: int
    median_percent: float
    worst_percent: float


@dataclass(frozen=True, eq=False)
class OwnCalibration:
    """Parameters of a scenario, fitted to measurements."""

    scenario: Scenario
    name: str
    """What messages call the scenario."""
    data: str
    """Name of the file of measurements."""
    overrides: tuple[tuple[str, str], ...]
    parameters: tuple[FittedParameter, ...]
    cells: tuple[CellResult, ...]
    runs: int
    hold_out: tuple[str, ...] = ()
    """Rows that were asked to be held out, beside those whose role says so."""
    seeds: int = 1

    @property
    def scenario_in_words(self) -> str:
        """What sources call the scenario."""
        return Path(self.name).name if is_file(self.scenario) else "a scenario in Python"

    @property
    def made_by(self) -> str:
        """What to do to have it again."""
        return (
            f"`{self.command}`"
            if is_file(self.scenario)
            else f"`lanewise.calibrate` with {self.scenario_in_words}"
        )

    @property
    def command(self) -> str:
        """What to type to have it again."""
        words = ["lanewise", "calibrate", self.name, self.data]
        for one in self.parameters:
            wanted = one.known.wanted
            between = f"{wanted.written(wanted.low, 12)}..{wanted.written(wanted.high, 12)}"
            words += ["--fit", f"{wanted.name}={between}"]
        words += [word for path, value in self.overrides for word in ("--set", f"{path}={value}")]
        words += [word for rows in self.hold_out for word in ("--hold-out", rows)]
        words += ["--seeds", str(self.seeds)] if self.seeds > 1 else []
        return shlex.join(words)

    @property
    def is_determined(self) -> bool:
        """Whether the rows determine every parameter."""
        return all(one.status == DETERMINED for one in self.parameters)

    @property
    def remarks(self) -> list[str]:
        """What is to be said of the fit, each in a sentence."""
        told: dict[frozenset[str], str] = {}
        for one in self.parameters:
            if one.remark:
                # Of parameters that make up for each other, it is said once.
                told.setdefault(frozenset((one.name, *one.known.alike)), one.remark)
        fitted = self.spread(FIT)
        is_met = all(one.status != NOT_MET for one in self.parameters)
        if fitted is not None and fitted.median_percent > FAR_PERCENT and is_met:
            told[frozenset()] = (
                f"half of the fitted rows are off by more than {fitted.median_percent:.0f} %: the scenario "
                "lacks something that this machine has, and what was fitted makes up for a part of it"
            )
        return [*told.values(), *self._against_nulls()]

    def _against_nulls(self) -> Iterable[str]:
        """Say where held-out rows are met no better than they would be without the fit."""
        held_out = self.spread(HELD_OUT)
        others = {
            "the scenario before the fit": self.spread(HELD_OUT, "before_percent"),
            "the nearest fitted row in their place": self.spread(HELD_OUT, "null_percent"),
            "a straight line": self.spread(HELD_OUT, "line_percent"),
        }
        for name, other in others.items():
            # A fit that is as good as rows are known is not worse than what happens to be better.
            if held_out and other and held_out.median_percent > max(other.median_percent, WELL_PERCENT):
                yield (
                    f"{name} meets held-out rows better than the fit (median error "
                    f"{other.median_percent:.1f} % against {held_out.median_percent:.1f} %): the fitted "
                    "values predict nothing here"
                )

    @property
    def fitted_on(self) -> tuple[str, ...]:
        """The cells that were fitted, as provenance names them."""
        return tuple(
            f"{Path(self.data).name} {one.cell.id}" for one in self.cells if not one.cell.is_held_out
        )

    def spread(self, role: str, of: str = "error_percent") -> Spread | None:
        """Return how large errors of the cells of a role are; None where there are none."""
        errors = [
            abs(error) for one in self.cells if one.role == role and (error := getattr(one, of)) is not None
        ]
        return Spread(len(errors), median(errors), max(errors)) if errors else None

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row for each measured number."""
        columns: Columns = {
            "row": pl.UInt32,
            "line": pl.UInt32,
            "cell": pl.String,
            "role": pl.String,
            "unit": pl.String,
            "measured": pl.Float64,
            "simulated": pl.Float64,
            "error_percent": pl.Float64,
            "before_percent": pl.Float64,
            "null_percent": pl.Float64,
            "line_percent": pl.Float64,
        }
        return frame(self._cells(), columns)

    @cached_property
    def fitted(self) -> pl.DataFrame:
        """One row for each parameter."""
        columns: Columns = {
            "name": pl.String,
            "parameters": pl.List(pl.String),
            "status": pl.String,
            "value": pl.String,
            "low": pl.String,
            "high": pl.String,
            "before": pl.String,
            "remark": pl.String,
        }
        rows = (one.document() for one in self.parameters)
        return frame(
            ({**row, "value": None if row["value"] is None else str(row["value"])} for row in rows), columns
        )

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return it as JSON text."""
        return json.dumps(stamped(self.document()), indent=indent, ensure_ascii=False)

    def document(self) -> dict[str, object]:
        """Return it as JSON has it, without the format."""
        errors = {
            "fitted": self.spread(FIT),
            "fitted_before": self.spread(FIT, "before_percent"),
            "held_out": self.spread(HELD_OUT),
            "held_out_before": self.spread(HELD_OUT, "before_percent"),
            "held_out_null": self.spread(HELD_OUT, "null_percent"),
            "held_out_line": self.spread(HELD_OUT, "line_percent"),
        }
        return {
            "scenario": self.name,
            "data": self.data,
            "is_determined": self.is_determined,
            "parameters": [one.document() for one in self.parameters],
            "cells": list(self._cells()),
            "errors": {
                key: None
                if found is None
                else {
                    "cells": found.cells,
                    "median_percent": found.median_percent,
                    "worst_percent": found.worst_percent,
                }
                for key, found in errors.items()
            },
            "remarks": self.remarks,
            "runs": self.runs,
        }

    def _cells(self) -> Iterable[dict[str, object]]:
        for one in self.cells:
            yield {
                "row": one.cell.row,
                "line": one.cell.line,
                "cell": one.cell.id,
                "role": one.role,
                "unit": one.cell.unit,
                "measured": one.cell.measured,
                "simulated": one.simulated,
                "error_percent": one.error_percent,
                "before_percent": one.before_percent,
                "null_percent": one.null_percent,
                "line_percent": one.line_percent,
            }


def calibrate_scenario(
    scenario: Scenario,
    data: str | Path,
    fit: Sequence[str],
    *,
    hold_out: Sequence[str] = (),
    overrides: Sequence[tuple[str, str]] = (),
    seeds: int = 1,
    out: Path | None = None,
    on_progress: Callable[[str, int], None] | None = None,
) -> OwnCalibration:
    """Fit parameters of a scenario to measurements; `lanewise.calibrate` says what it takes.

    InputError for what cannot be fitted, and ScenarioError for a scenario that cannot be resolved.
    """
    if not 1 <= seeds <= MOST_SEEDS:
        raise InputError(f"there are 1 to {MOST_SEEDS:,} seeds; found {seeds}")
    explained = resolve(scenario, overrides).document
    measured = read_measured(read_data(str(data), explained, scenario), scenario, overrides, hold_out)
    asked = wanted(fit, scenario, overrides, measured.parameters)
    if out is not None:
        refuse_parts(scenario, asked, overrides, out)
    pairs = _until_known(measured, explained["parameters"], overrides)
    found = _fitted(scenario, measured, asked, pairs, seeds, on_progress)
    return replace(found, hold_out=tuple(hold_out))


def _until_known(
    measured: Measured, parameters: Sequence[object], overrides: Sequence[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """Have runs go on until percentiles are known where one was measured and nothing says otherwise."""
    from lanewise.study.study import RUN_UNTIL, UNTIL_LATENCY

    places = [each["place"] for each in parameters if each["path"] == RUN_UNTIL]  # type: ignore[index]
    needs = measured.needs_percentiles and places == ["default"] and RUN_UNTIL not in measured.parameters
    return (*overrides, UNTIL_LATENCY) if needs else tuple(overrides)


def _fitted(
    scenario: Scenario,
    measured: Measured,
    asked: Sequence[Wanted],
    overrides: tuple[tuple[str, str], ...],
    seeds: int,
    on_progress: Callable[[str, int], None] | None,
) -> OwnCalibration:
    fitted_on = [cell for cell in measured.cells if not cell.is_held_out]
    if len(fitted_on) < len(asked):
        raise FitError(
            f"{counted(len(asked), 'parameter')} cannot be fitted to "
            f"{counted(len(fitted_on), 'number')}: measure more rows, hold fewer out, or fit fewer "
            "parameters"
        )
    cells = [_cell(cell, scenario, overrides, seeds, asked) for cell in measured.cells]
    experiment = _experiment(scenario, measured, asked, cells)
    try:
        bare = _before(experiment, cells)
        found = fit_together(
            experiment, asked, [cell for cell in cells if cell.role == "calibrated"], on_progress
        )
        (answer,), runs = answers_of([found.best], cells)
    except (MetricError, UndefinedCellError) as error:
        raise FitError(f"{measured.name}: {str(error).removeprefix(experiment.id).strip()}") from error
    nulls = null_errors(measured.cells)
    results = [
        CellResult(
            cell,
            simulated / cell.factor,
            None if bare is None else bare.means[number] / cell.factor,
            *nulls.get(cell.id, (None, None)),
        )
        for number, (cell, simulated) in enumerate(zip(measured.cells, answer.means, strict=True))
    ]
    return OwnCalibration(
        scenario,
        called(scenario),
        measured.name,
        overrides,
        tuple(FittedParameter(known) for known in found.known),
        tuple(results),
        found.runs + runs,
        seeds=seeds,
    )


def _cell(
    cell: MeasuredCell,
    scenario: Scenario,
    overrides: Sequence[tuple[str, str]],
    seeds: int,
    asked: Sequence[Wanted],
) -> Cell:
    """Return a measured number as experiments have cells, in the unit of the simulation."""
    return Cell(
        id=cell.id,
        unit=cell.column.own_unit,
        scenario=hashable(scenario),
        overrides=(*overrides, *cell.overrides),
        fits=tuple(one.name for one in asked),
        metric=cell.column.metric,
        seeds=seeds,
        published=cell.measured * cell.factor,
        verdict="C",
        role="predicted" if cell.is_held_out else "calibrated",
        printed_to=2 * cell.rounding * cell.factor,
    )


def _experiment(
    scenario: Scenario, measured: Measured, asked: Sequence[Wanted], cells: Sequence[Cell]
) -> Experiment:
    home = Path(measured.name).name
    fitted_on = tuple(cell.id for cell in cells if cell.role == "calibrated")
    fits = tuple(
        Fit(one.name, one.parameters, fitted_on, one.unit, (one.low, one.high), "", home, one.is_whole)
        for one in asked
    )
    return Experiment(home, called(scenario), "", Path(), tuple(cells), (), fits, {})


def _before(experiment: Experiment, cells: Sequence[Cell]) -> Answer | None:
    """Return what cells come to with the values of the scenario."""
    bare = replace(experiment, fits=())
    try:
        (answer,), _ = answers_of([bare], [replace(cell, fits=()) for cell in cells])
    except ScenarioError:
        return None
    return answer
