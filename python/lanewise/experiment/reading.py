"""Reads an experiment folder into an `Experiment`, and collects every mistake before it complains."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, TypedDict, TypeVar

from lanewise.experiment import shape
from lanewise.experiment.consistency import cell_problems, cross_check, source_problems
from lanewise.experiment.definition import (
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
from lanewise.experiment.entries import Expected, Fitted, Misses
from lanewise.experiment.formula import Formula
from lanewise.experiment.metric import Metric
from lanewise.experiment.nulls import NullModel
from lanewise.toml import override

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lanewise.experiment.definition import Override
    from lanewise.experiment.entries import (
        CellEntry,
        FitEntry,
        LadderEntry,
        NullEntry,
        OddityEntry,
        PlotEntry,
        ValueEntry,
        Where,
    )

Entry = TypeVar("Entry", bound="Mapping[str, object]")
Read = TypeVar("Read")

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
        self.where: Where = {}
        self.seeds = 1
        self.variations: dict[str, dict[str, object]] = {}
        self.ladder: LadderEntry = {}
        self.lenders: dict[str, Path] = {}
        """Folder that each borrowed fit is from, by the name of the fit."""

    def experiment(self) -> Experiment | None:
        document = self._load(self.folder, "expected.toml", Expected)
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
            self.problems += cross_check(experiment)
        return experiment

    def _load(self, folder: Path, name: str, kind: type[shape.File]) -> shape.File | None:
        """Read a file of a folder as far as it has the right shape; None when it cannot be read at all."""
        place = "" if folder == self.folder else f"{folder.name}/"
        try:
            checked = shape.check(name, kind, tomllib.loads((folder / name).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
            self.problems.append(f"{place}{name}: {error}")
            return None
        self.problems += [f"{place}{problem}" for problem in (*checked.misfits, *checked.unknown_keys)]
        self.misshapen = self.misshapen or bool(checked.misfits)
        return checked.document

    def _each(
        self, kind: str, entries: Sequence[Entry], read: Callable[[str, Entry], Read]
    ) -> Iterator[Read]:
        for number, entry in enumerate(entries, start=1):
            label = f"expected.toml: {shape.label(kind, entry, number)}"
            try:
                yield read(label, entry)
            except KeyError as error:
                self.problems.append(f"{label}: {error.args[0]!r} is missing")
            except (TypeError, ValueError) as error:
                self.problems.append(f"{label}: {error}")

    def _cell(self, label: str, entry: CellEntry) -> Cell:
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
        self.problems += [f"{label}: {problem}" for problem in cell_problems(cell)]
        return cell

    def _null(self, entry: NullEntry) -> NullModel:
        if "from" not in entry:
            return NullModel.of_entry(entry)
        lender = self.folder.parent / entry["from"]
        document = self._load(lender, "expected.toml", Expected) or {}
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
        for entry in (self._load(self.folder, "misses.toml", Misses) or {}).get("miss", []):
            try:
                yield KnownMiss(entry["cell"], float(entry["simulated"]), entry["why"])
            except KeyError as error:
                self.problems.append(f"misses.toml: {error.args[0]!r} is missing")

    def _value(self, label: str, entry: ValueEntry) -> Quantity:
        value = Quantity(**self._source(entry))
        self.problems += [f"{label}: {problem}" for problem in source_problems(value)]
        return value

    def _source(self, entry: ValueEntry) -> _Source:
        """Read what cells and values share: the way to get the number."""
        scenario = self.folder / entry["scenario"] if "scenario" in entry else None
        metric_text = entry.get("metric", self.metric)
        where = {**self.where, **entry.get("where", {})}
        ladder: LadderEntry = {**self.ladder, **entry.get("ladder", {})}
        return {
            "id": entry["id"],
            "unit": entry.get("unit", self.unit),
            "scenario": scenario,
            "overrides": tuple(self._overrides(entry)),
            "fits": tuple(entry.get("fits", [])),
            "metric": Metric.parse(metric_text, where) if scenario and metric_text else None,
            "ladder": Ladder(**ladder) if "rung" in entry else None,
            "rung": entry.get("rung"),
            "formula": Formula.of_entry(entry),
            "note": entry.get("note", ""),
            "seeds": entry.get("seeds", self.seeds if scenario else 1),
        }

    def _overrides(self, entry: ValueEntry) -> Iterator[Override]:
        unknown = [name for name in entry.get("variations", []) if name not in self.variations]
        if unknown:
            raise ValueError(
                f"there is no variation {unknown[0]!r}; there are {', '.join(self.variations) or 'none'}"
            )
        tables = [self.variations[name] for name in entry.get("variations", [])]
        for table in (*tables, entry.get("set", {})):
            yield from ((path, override(value)) for path, value in table.items())

    def _fit(self, label: str, entry: FitEntry) -> Fit:
        if "from" in entry:
            return self._borrowed_fit(entry)
        return _fit(entry, self.id)

    def _borrowed_fit(self, entry: FitEntry) -> Fit:
        """Read a fit of another experiment, whose folder lies beside this one."""
        lender = self.folder.parent / entry["from"]
        document = self._load(lender, "expected.toml", Expected) or {}
        name = entry.get("of", entry["name"])
        theirs = [fit for fit in document.get("fit", []) if fit.get("name") == name]
        if not theirs:
            raise ValueError(f"'{entry['from']}' has no fit {name!r}")
        own: FitEntry = {
            **theirs[0],
            "name": entry["name"],
            "parameters": entry.get("parameters", theirs[0]["parameters"]),
            "why": entry.get("why") or theirs[0].get("why", ""),
        }
        home = document.get("id", lender.name.upper())
        self.lenders[entry["name"]] = lender
        return replace(_fit(own, home), borrowed=True, theirs=name)

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
        for entry in (self._load(folder, "fitted.toml", Fitted) or {}).get("fitted", []):
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

    def _oddity(self, label: str, entry: OddityEntry) -> Oddity:
        return Oddity(where=entry["where"], what=entry["what"], reading=entry.get("reading", ""))

    def _plot(self, label: str, entry: PlotEntry) -> Plot:
        if entry["kind"] not in _PLOT_KINDS:
            raise ValueError(f"kind is {entry['kind']!r}; allowed are {', '.join(_PLOT_KINDS)}")
        if "{x}" not in entry["pattern"]:
            raise ValueError(f"pattern {entry['pattern']!r} has no {{x}}")
        return Plot(entry["title"], entry["kind"], entry["pattern"], entry.get("x", ""))


class _Source(TypedDict):
    """What cells and values share; as `Quantity`."""

    id: str
    unit: str
    scenario: Path | None
    overrides: tuple[Override, ...]
    fits: tuple[str, ...]
    metric: Metric | None
    ladder: Ladder | None
    rung: str | None
    formula: Formula | None
    note: str
    seeds: int


def _fit(entry: FitEntry, home: str) -> Fit:
    return Fit(
        name=entry["name"],
        parameters=tuple(entry["parameters"]),
        cells=tuple(entry["cells"]),
        unit=entry["unit"],
        between=_pair(entry["between"]),
        why=entry.get("why", ""),
        whole=bool(entry.get("whole", False)),
        home=home,
    )


def _number(entry: CellEntry, key: Literal["band_percent", "band_points", "printed_to"]) -> float | None:
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
