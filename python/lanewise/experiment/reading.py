"""Reads an experiment folder into an `Experiment`, and collects every mistake before it complains."""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lanewise.experiment import shape
from lanewise.experiment.definition import (
    REASONED_ROLES,
    ROLES,
    VERDICTS,
    Cell,
    Experiment,
    ExperimentError,
    Fit,
    FittedValue,
    KnownMiss,
    Ladder,
    Oddity,
    Plot,
    Quantity,
)
from lanewise.experiment.formula import FORMULAS, Formula
from lanewise.experiment.metric import Metric
from lanewise.experiment.nulls import NullModel
from lanewise.toml import override

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from lanewise.experiment.definition import Override

_PLOT_KINDS = ("lines", "bars")


def read_folder(folder: Path) -> Experiment:
    """Read an experiment folder; ExperimentError lists all that is wrong with it."""
    reader = _Reader(folder)
    experiment = reader.experiment()
    if experiment is None or reader.problems:
        listing = "\n".join(f"  {problem}" for problem in reader.problems)
        raise ExperimentError(f"'{folder}' is no usable experiment:\n{listing}")
    return experiment


class _Reader:
    """Reads one folder and collects what is wrong with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []
        self.misshapen = False
        self.id = folder.name.upper()
        self.unit = ""
        self.metric: str | None = None
        self.where: dict[str, Any] = {}
        self.seeds = 1
        self.variations: dict[str, dict[str, Any]] = {}
        self.ladder: dict[str, Any] = {}
        self.lenders: dict[str, Path] = {}
        """Folder that each borrowed fit is from, by the name of the fit."""

    def experiment(self) -> Experiment | None:
        document = self._load(self.folder, "expected.toml")
        if document is None:
            return None
        self.id = document.get("id", self.id)
        self.unit = document.get("unit", "")
        self.metric = document.get("metric")
        self.where = document.get("where", {})
        self.seeds = document.get("seeds", 1)
        self.variations = document.get("variation", {})
        self.ladder = document.get("ladder", {})
        cells = tuple(self._each("cell", document.get("cell", []), self._cell))
        values = tuple(self._each("value", document.get("value", []), self._value))
        fits = tuple(self._each("fit", document.get("fit", []), self._fit))
        experiment = Experiment(
            id=self.id,
            title=document.get("title", ""),
            source=document.get("source", ""),
            folder=self.folder,
            cells=cells,
            values=values,
            fits=fits,
            fitted={value.name: value for value in self._fitted(fits)},
            oddities=tuple(self._each("oddity", document.get("oddity", []), self._oddity)),
            plots=tuple(self._each("plot", document.get("plot", []), self._plot)),
            known_misses={miss.cell: miss for miss in self._misses()},
        )
        if not self.misshapen:
            # What was left out would be missed everywhere.
            self.problems += _cross_check(experiment)
        return experiment

    def _load(self, folder: Path, name: str) -> dict[str, Any] | None:
        """Read a file of a folder as far as it has the right shape; None when it cannot be read at all."""
        place = "" if folder == self.folder else f"{folder.name}/"
        try:
            checked = shape.check(name, tomllib.loads((folder / name).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            self.problems.append(f"{place}{name}: {error}")
            return None
        self.problems += [f"{place}{problem}" for problem in (*checked.misfits, *checked.unknown_keys)]
        self.misshapen = self.misshapen or bool(checked.misfits)
        return checked.document

    def _each(self, kind: str, entries: list[dict[str, Any]], read: Any) -> Iterator[Any]:
        for number, entry in enumerate(entries, start=1):
            label = f"expected.toml: {shape.label(kind, entry, number)}"
            try:
                yield read(label, entry)
            except KeyError as error:
                self.problems.append(f"{label}: {error.args[0]!r} is missing")
            except (TypeError, ValueError) as error:
                self.problems.append(f"{label}: {error}")

    def _cell(self, label: str, entry: dict[str, Any]) -> Cell:
        between = entry.get("between")
        # Only a claim in prose may do without a number.
        in_prose = between or (entry["role"] == "excluded" and "claim" in entry)
        published = entry.get("published") if in_prose else entry["published"]
        cell = Cell(
            **self._source(entry),
            published=None if published is None else float(published),
            verdict=entry["verdict"],
            role=entry["role"],
            band_percent=_number(entry, "band_percent"),
            band_points=_number(entry, "band_points"),
            between=_pair(between) if between else None,
            claim=entry.get("claim", ""),
            null=self._null(entry["null"]) if "null" in entry else None,
            exact=entry.get("exact", ""),
            printed_to=_number(entry, "printed_to"),
        )
        self.problems += [f"{label}: {problem}" for problem in _cell_problems(cell)]
        return cell

    def _null(self, entry: dict[str, Any]) -> NullModel:
        if "from" not in entry:
            return NullModel.of_entry(entry)
        lender = self.folder.parent / entry["from"]
        document = self._load(lender, "expected.toml") or {}
        lent = {
            cell["id"]: float(cell["published"])
            for cell in document.get("cell", [])
            if cell.get("role") == "calibrated" and "published" in cell
        }
        if entry.get("copy") not in lent:
            raise ValueError(f"'{entry['from']}' has no calibrated cell {entry.get('copy')!r}")
        return NullModel.of_entry(entry, lender=document.get("id", lender.name.upper()), lent=lent)

    def _misses(self) -> Iterator[KnownMiss]:
        if not (self.folder / "misses.toml").exists():
            return
        for entry in (self._load(self.folder, "misses.toml") or {}).get("miss", []):
            try:
                yield KnownMiss(entry["cell"], float(entry["simulated"]), entry["why"])
            except KeyError as error:
                self.problems.append(f"misses.toml: {error.args[0]!r} is missing")

    def _value(self, label: str, entry: dict[str, Any]) -> Quantity:
        value = Quantity(**self._source(entry))
        self.problems += [f"{label}: {problem}" for problem in _source_problems(value)]
        return value

    def _source(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Read what cells and values share: the way to get the number."""
        scenario = self.folder / entry["scenario"] if "scenario" in entry else None
        metric_text = entry.get("metric", self.metric)
        where = {**self.where, **entry.get("where", {})}
        return {
            "id": entry["id"],
            "unit": entry.get("unit", self.unit),
            "scenario": scenario,
            "overrides": tuple(self._overrides(entry)),
            "fits": tuple(entry.get("fits", [])),
            "metric": Metric.parse(metric_text, where) if scenario and metric_text else None,
            "ladder": Ladder(**{**self.ladder, **entry.get("ladder", {})}) if "rung" in entry else None,
            "rung": entry.get("rung"),
            "formula": Formula.of_entry(entry),
            "note": entry.get("note", ""),
            "seeds": entry.get("seeds", self.seeds if scenario else 1),
        }

    def _overrides(self, entry: dict[str, Any]) -> Iterator[Override]:
        unknown = [name for name in entry.get("variations", []) if name not in self.variations]
        if unknown:
            raise ValueError(
                f"there is no variation {unknown[0]!r}; there are {', '.join(self.variations) or 'none'}"
            )
        tables = [self.variations[name] for name in entry.get("variations", [])]
        for table in (*tables, entry.get("set", {})):
            yield from ((path, override(value)) for path, value in table.items())

    def _fit(self, label: str, entry: dict[str, Any]) -> Fit:
        if "from" in entry:
            return self._borrowed_fit(entry)
        return _fit(entry, self.id)

    def _borrowed_fit(self, entry: dict[str, Any]) -> Fit:
        """Read a fit of another experiment, whose folder lies beside this one."""
        lender = self.folder.parent / entry["from"]
        document = self._load(lender, "expected.toml") or {}
        name = entry.get("of", entry["name"])
        theirs = [fit for fit in document.get("fit", []) if fit.get("name") == name]
        if not theirs:
            raise ValueError(f"'{entry['from']}' has no fit {name!r}")
        own = {
            "name": entry["name"],
            "theirs": name,
            "parameters": entry.get("parameters", theirs[0]["parameters"]),
            "why": entry.get("why", ""),
        }
        home = document.get("id", lender.name.upper())
        self.lenders[entry["name"]] = lender
        return _fit({**theirs[0], **{key: value for key, value in own.items() if value}}, home, borrowed=True)

    def _fitted(self, fits: tuple[Fit, ...]) -> Iterator[FittedValue]:
        own = {fit.name for fit in fits if not fit.borrowed}
        for value in self._fitted_in(self.folder):
            if value.name not in own:
                self.problems.append(f"fitted.toml: {value.name!r} is no fit of expected.toml")
                continue
            yield value
        for fit in fits:
            if fit.borrowed:
                lent = self._fitted_in(self.lenders[fit.name])
                theirs = [value for value in lent if value.name == (fit.theirs or fit.name)]
                yield from (replace(value, name=fit.name, parameters=fit.parameters) for value in theirs)

    def _fitted_in(self, folder: Path) -> Iterator[FittedValue]:
        if not (folder / "fitted.toml").exists():
            return
        for entry in (self._load(folder, "fitted.toml") or {}).get("fitted", []):
            try:
                yield FittedValue(
                    name=entry["name"],
                    parameters=tuple(entry["parameters"]),
                    value=entry["value"],
                    fitted_on=tuple(entry["fitted_on"]),
                    plus_minus=entry.get("plus_minus", ""),
                )
            except KeyError as error:
                self.problems.append(f"fitted.toml: {error.args[0]!r} is missing")

    def _oddity(self, label: str, entry: dict[str, Any]) -> Oddity:
        return Oddity(where=entry["where"], what=entry["what"], reading=entry.get("reading", ""))

    def _plot(self, label: str, entry: dict[str, Any]) -> Plot:
        if entry["kind"] not in _PLOT_KINDS:
            raise ValueError(f"kind is {entry['kind']!r}; allowed are {', '.join(_PLOT_KINDS)}")
        if "{x}" not in entry["pattern"]:
            raise ValueError(f"pattern {entry['pattern']!r} has no {{x}}")
        return Plot(entry["title"], entry["kind"], entry["pattern"], entry.get("x", ""))


def _fit(entry: dict[str, Any], home: str, *, borrowed: bool = False) -> Fit:
    return Fit(
        name=entry["name"],
        parameters=tuple(entry["parameters"]),
        cells=tuple(entry["cells"]),
        unit=entry["unit"],
        between=_pair(entry["between"]),
        why=entry.get("why", ""),
        whole=bool(entry.get("whole", False)),
        theirs=entry.get("theirs", ""),
        home=home,
        borrowed=borrowed,
    )


def _number(entry: dict[str, Any], key: str) -> float | None:
    if key not in entry:
        return None
    number = float(entry[key])
    if not number >= 0:
        raise ValueError(f"'{key}' is {number:g}; an error to accept is not below 0")
    return number


def _pair(values: list[float]) -> tuple[float, float]:
    low, high = (float(value) for value in values)
    if not low < high:
        raise ValueError(f"'between' is [{low:g}, {high:g}]; the lower number comes first")
    return low, high


_REASONS = {
    "selected": "selected and not predicted",
    "identity": "no measurement",
    "excluded": "excluded: why it cannot be predicted",
}


def _cell_problems(cell: Cell) -> Iterator[str]:
    if cell.verdict not in VERDICTS:
        yield f"verdict is {cell.verdict!r}; allowed are {', '.join(VERDICTS)}"
    if cell.role not in ROLES:
        yield f"role is {cell.role!r}; allowed are {', '.join(ROLES)}"
    if cell.verdict == "N" and cell.role != "excluded":
        yield f"verdict is 'N', so its role is 'excluded', not {cell.role!r}"
    if cell.role in REASONED_ROLES and not cell.note:
        yield f"'note' is missing: say why it is {_REASONS[cell.role]}"
    if cell.role == "excluded":
        if cell.is_simulated:
            yield from _source_problems(cell)
        return
    bands = [name for name in ("band_percent", "band_points", "between") if getattr(cell, name) is not None]
    if not bands:
        yield "'band_percent' is missing (or 'band_points', or 'between')"
    if len(bands) > 1:
        yield f"has both '{bands[0]}' and '{bands[1]}'"
    yield from _source_problems(cell)


def _source_problems(quantity: Quantity) -> Iterator[str]:
    if not quantity.unit:
        yield "'unit' is missing"
    ways = (quantity.scenario, quantity.ladder, quantity.formula)
    if sum(way is not None for way in ways) != 1:
        yield f"name one of: a 'scenario', a 'rung', or what it is computed from ({', '.join(FORMULAS)})"
    if quantity.scenario is not None and not quantity.scenario.is_file():
        yield f"there is no file '{quantity.scenario.name}'"
    if quantity.scenario is not None and quantity.metric is None:
        yield "'metric' is missing"
    if quantity.formula is not None and quantity.fits:
        yield "'fits' belong to the cells it is computed from"


def _cross_check(experiment: Experiment) -> Iterator[str]:
    """Check that what cells and fits name is there, and that roles agree with the fits."""
    if not experiment.cells:
        yield "expected.toml: there is no [[cell]]; each published number is one"
    if not experiment.source:
        yield "expected.toml: 'source' is missing: say where the numbers were published"
    names = {fit.name for fit in experiment.fits}
    own = experiment.own_fits
    ids = Counter(quantity.id for quantity in (*experiment.cells, *experiment.values))
    yield from (f"expected.toml: two cells are called {id_!r}" for id_, times in ids.items() if times > 1)
    fit_cells = {(on, fit.name) for fit in own for on in fit.cells}
    for on, name in sorted(fit_cells):
        if on not in {cell.id for cell in experiment.cells}:
            yield f"expected.toml: fit {name!r} uses cell {on!r}, which is not there"
    for quantity in (*experiment.cells, *experiment.values):
        for name in quantity.fits:
            if name not in names:
                yield f"expected.toml: cell {quantity.id!r} uses no such fit: {name!r}"
        yield from _operand_problems(experiment, quantity)
    for cell in experiment.cells:
        used = any(on == cell.id for on, _ in fit_cells)
        if used != (cell.role == "calibrated"):
            says = "is fitted on" if used else "is used by no fit"
            yield f"expected.toml: cell {cell.id!r} {says}, but its role is {cell.role!r}"
    yield from _null_problems(experiment)
    for id_ in experiment.known_misses:
        if id_ not in {cell.id for cell in experiment.cells}:
            yield f"misses.toml: there is no cell {id_!r}"


def _null_problems(experiment: Experiment) -> Iterator[str]:
    """Check that null models use what they may, and come to a number."""
    for cell in experiment.cells:
        if cell.null is None:
            continue
        try:
            cell.null.value(cell.id, experiment.null_of)
        except (ValueError, ZeroDivisionError, RecursionError) as error:
            yield f"expected.toml: the null model of {cell.id!r}: {error}"


def _operand_problems(experiment: Experiment, quantity: Quantity) -> Iterator[str]:
    """Check that what a quantity is computed from exists, is simulated, and does not lead back to it."""
    waiting: list[tuple[Quantity, tuple[str, ...]]] = [(quantity, (quantity.id,))]
    while waiting:
        current, path = waiting.pop()
        for id_ in current.formula.cells if current.formula else ():
            operand = experiment.quantities.get(id_)
            if id_ in path:
                circle = " of ".join((*path, id_))
                yield f"expected.toml: cell {quantity.id!r} is computed from itself: {circle}"
            elif operand is None or not operand.is_simulated:
                says = "is not there" if operand is None else "is not simulated"
                if current is quantity:
                    yield f"expected.toml: cell {quantity.id!r} is computed from {id_!r}, which {says}"
            else:
                waiting.append((operand, (*path, id_)))
