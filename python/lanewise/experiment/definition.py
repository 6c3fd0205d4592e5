"""A folder of `experiments/` as data: published cells, how each is simulated, what may be fitted on which.

``expected.toml`` holds the cells and the fits; ``fitted.toml`` the values that `lanewise calibrate` found.
All mistakes of a file are reported at once. Nothing here runs anything.
"""

from __future__ import annotations

import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanewise.errors import InputError
from lanewise.experiment.metric import Metric
from lanewise.experiment.toml import override

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Override = tuple[str, str]

VERDICTS = ("P", "C", "N")
ROLES = ("predicted", "calibrated", "excluded")

_EXPERIMENT_KEYS = {"id", "title", "source", "unit", "metric", "where", "variation", "ladder", "cell", "fit"}
_CELL_KEYS = {
    *("id", "published", "unit", "verdict", "role", "band_percent", "note"),
    *("scenario", "variations", "set", "fits", "metric", "where", "ladder", "rung"),
}
_FIT_KEYS = {"name", "parameters", "cells", "unit", "between", "why"}


class ExperimentError(InputError):
    """An experiment folder cannot be used; the text lists every mistake."""


@dataclass(frozen=True)
class Ladder:
    """Equal links whose ladder follows from the rate model alone, with nothing simulated."""

    generation: int
    lanes: int
    links: int
    directions: int
    payload_bytes: int
    header_dwords: int
    ecrc: bool
    dllp_fraction: float
    """Share of the coded bandwidth that the publication gives to DLLPs and messages."""


@dataclass(frozen=True)
class Cell:
    """One published number and the way to simulate it."""

    id: str
    published: float
    unit: str
    verdict: str
    """P predictable from ceilings, C needs a calibrated parameter, N not predictable."""
    role: str
    """predicted, calibrated (a fit uses it), or excluded."""
    band_percent: float | None
    """Largest error that counts as reproduced."""
    scenario: Path | None
    overrides: tuple[Override, ...]
    fits: tuple[str, ...]
    """Names of the fits whose values are in force in this cell."""
    metric: Metric | None
    ladder: Ladder | None
    rung: str | None
    note: str


@dataclass(frozen=True)
class Fit:
    """One quantity that may be fitted, on which cells, within which bounds."""

    name: str
    parameters: tuple[str, ...]
    """Dotted paths that all get the fitted value."""
    cells: tuple[str, ...]
    unit: str
    between: tuple[float, float]
    why: str


@dataclass(frozen=True)
class FittedValue:
    """What a calibration found."""

    name: str
    parameters: tuple[str, ...]
    value: str
    """With its unit, as a scenario would write it."""
    fitted_on: tuple[str, ...]


@dataclass(frozen=True)
class Experiment:
    """One published result."""

    id: str
    title: str
    source: str
    folder: Path
    cells: tuple[Cell, ...]
    fits: tuple[Fit, ...]
    fitted: Mapping[str, FittedValue]
    """By the name of the fit; empty before the first calibration."""

    def cell(self, id: str) -> Cell:  # noqa: A002  (the file says id)
        """Return the cell of that id."""
        return next(cell for cell in self.cells if cell.id == id)

    def fitted_on(self, cell: Cell) -> tuple[str, ...]:
        """Return the cells that the parameters in force in `cell` were fitted on."""
        names = [f"{self.id} {on}" for fit in self.fits if fit.name in cell.fits for on in fit.cells]
        return tuple(dict.fromkeys(names))


def load_experiment(folder: Path) -> Experiment:
    """Read an experiment folder; ExperimentError lists all that is wrong with it."""
    reader = _Reader(folder)
    experiment = reader.experiment()
    if experiment is None or reader.problems:
        listing = "\n".join(f"  {problem}" for problem in reader.problems)
        raise ExperimentError(f"'{folder}' is no usable experiment:\n{listing}")
    return experiment


def find_experiments(root: Path) -> dict[str, Path]:
    """Return the experiment folders under `root` by their id, in the order of their names."""
    found = {}
    for path in sorted(root.glob("*/expected.toml")):
        with path.open("rb") as file:
            found[str(tomllib.load(file).get("id", path.parent.name.upper()))] = path.parent
    return found


def experiments_root() -> Path:
    """Return the folder of experiments: of the checkout one stands in, or of the one installed from."""
    starts = [Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parents[3]]
    for start in starts:
        if any((start / "experiments").glob("*/expected.toml")):
            return start / "experiments"
    raise ExperimentError("no folder 'experiments' here or above: run this inside a checkout of Lanewise")


class _Reader:
    """Reads one folder and collects what is wrong with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.problems: list[str] = []
        self.unit = ""
        self.metric: str | None = None
        self.where: dict[str, Any] = {}
        self.variations: dict[str, dict[str, Any]] = {}
        self.ladder: dict[str, Any] = {}

    def experiment(self) -> Experiment | None:
        document = self._load("expected.toml")
        if document is None:
            return None
        self._unknown_keys("expected.toml", document, _EXPERIMENT_KEYS)
        self.unit = str(document.get("unit", ""))
        self.metric = document.get("metric")
        self.where = document.get("where", {})
        self.variations = document.get("variation", {})
        self.ladder = document.get("ladder", {})
        cells = tuple(self._each("cell", document.get("cell", []), self._cell))
        fits = tuple(self._each("fit", document.get("fit", []), self._fit))
        self._cross_check(cells, fits)
        return Experiment(
            id=str(document.get("id", self.folder.name.upper())),
            title=str(document.get("title", "")),
            source=str(document.get("source", "")),
            folder=self.folder,
            cells=cells,
            fits=fits,
            fitted={value.name: value for value in self._fitted(fits)},
        )

    def _load(self, name: str) -> dict[str, Any] | None:
        try:
            return tomllib.loads((self.folder / name).read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError) as error:
            self.problems.append(f"{name}: {error}")
            return None

    def _each(self, kind: str, entries: list[dict[str, Any]], read: Any) -> Iterator[Any]:
        for number, entry in enumerate(entries, start=1):
            label = f"expected.toml: {kind} {entry.get('id', entry.get('name', number))!r}"
            try:
                yield read(label, entry)
            except KeyError as error:
                self.problems.append(f"{label}: {error.args[0]!r} is missing")
            except (TypeError, ValueError) as error:
                self.problems.append(f"{label}: {error}")

    def _cell(self, label: str, entry: dict[str, Any]) -> Cell:
        self._unknown_keys(label, entry, _CELL_KEYS)
        ladder = Ladder(**{**self.ladder, **entry.get("ladder", {})}) if "rung" in entry else None
        scenario = self.folder / entry["scenario"] if "scenario" in entry else None
        metric_text = entry.get("metric", self.metric)
        metric = (
            Metric.parse(metric_text, {**self.where, **entry.get("where", {})})
            if scenario and metric_text
            else None
        )
        cell = Cell(
            id=entry["id"],
            published=float(entry["published"]),
            unit=entry.get("unit", self.unit),
            verdict=entry["verdict"],
            role=entry["role"],
            band_percent=float(entry["band_percent"]) if "band_percent" in entry else None,
            scenario=scenario,
            overrides=tuple(self._overrides(entry)),
            fits=tuple(entry.get("fits", [])),
            metric=metric,
            ladder=ladder,
            rung=entry.get("rung"),
            note=entry.get("note", ""),
        )
        self.problems += [f"{label}: {problem}" for problem in _cell_problems(cell)]
        return cell

    def _overrides(self, entry: dict[str, Any]) -> Iterator[Override]:
        unknown = [name for name in entry.get("variations", []) if name not in self.variations]
        if unknown:
            raise ValueError(f"there is no variation {unknown[0]!r}; there are {', '.join(self.variations)}")
        tables = [self.variations[name] for name in entry.get("variations", [])]
        for table in (*tables, entry.get("set", {})):
            yield from ((path, override(value)) for path, value in table.items())

    def _fit(self, label: str, entry: dict[str, Any]) -> Fit:
        self._unknown_keys(label, entry, _FIT_KEYS)
        low, high = entry["between"]
        return Fit(
            name=entry["name"],
            parameters=tuple(entry["parameters"]),
            cells=tuple(entry["cells"]),
            unit=entry["unit"],
            between=(float(low), float(high)),
            why=entry.get("why", ""),
        )

    def _fitted(self, fits: tuple[Fit, ...]) -> Iterator[FittedValue]:
        if not (self.folder / "fitted.toml").exists():
            return
        document = self._load("fitted.toml") or {}
        names = {fit.name for fit in fits}
        for entry in document.get("fitted", []):
            if entry.get("name") not in names:
                self.problems.append(f"fitted.toml: {entry.get('name')!r} is no fit of expected.toml")
                continue
            yield FittedValue(
                name=entry["name"],
                parameters=tuple(entry["parameters"]),
                value=entry["value"],
                fitted_on=tuple(entry["fitted_on"]),
            )

    def _cross_check(self, cells: tuple[Cell, ...], fits: tuple[Fit, ...]) -> None:
        """Check that roles agree with the fits: a predicted cell is in none, a calibrated one in some."""
        names = {fit.name for fit in fits}
        fit_cells = {(on, fit.name) for fit in fits for on in fit.cells}
        ids = {cell.id for cell in cells}
        repeated = [id_ for id_, times in Counter(cell.id for cell in cells).items() if times > 1]
        self.problems += [f"expected.toml: two cells are called {id_!r}" for id_ in repeated]
        for on, name in sorted(fit_cells):
            if on not in ids:
                self.problems.append(f"expected.toml: fit {name!r} uses cell {on!r}, which is not there")
        for cell in cells:
            unknown = [name for name in cell.fits if name not in names]
            self.problems += [
                f"expected.toml: cell {cell.id!r} uses no such fit: {name!r}" for name in unknown
            ]
            used = any(on == cell.id for on, _ in fit_cells)
            if used != (cell.role == "calibrated"):
                says = "is fitted on" if used else "is used by no fit"
                self.problems.append(f"expected.toml: cell {cell.id!r} {says}, but its role is {cell.role!r}")

    def _unknown_keys(self, label: str, entry: dict[str, Any], allowed: set[str]) -> None:
        for key in entry:
            if key not in allowed:
                self.problems.append(f"{label}: unknown key {key!r}; known are {', '.join(sorted(allowed))}")


def _cell_problems(cell: Cell) -> Iterator[str]:
    if cell.verdict not in VERDICTS:
        yield f"verdict is {cell.verdict!r}; allowed are {', '.join(VERDICTS)}"
    if cell.role not in ROLES:
        yield f"role is {cell.role!r}; allowed are {', '.join(ROLES)}"
    if not cell.unit:
        yield "'unit' is missing"
    if cell.role == "excluded":
        return
    if cell.band_percent is None:
        yield "'band_percent' is missing"
    if (cell.scenario is None) == (cell.ladder is None):
        yield "name either a 'scenario' or a 'rung'"
    if cell.scenario is not None and not cell.scenario.is_file():
        yield f"there is no file '{cell.scenario.name}'"
    if cell.scenario is not None and cell.metric is None:
        yield "'metric' is missing"
