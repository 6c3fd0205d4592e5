"""A folder of `experiments/` as data: published cells, how each is simulated, what may be fitted on which.

``expected.toml`` holds the cells and the fits; ``fitted.toml`` the values that `lanewise calibrate` found.
``reading.py`` reads them. Nothing here runs anything.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from lanewise.experiment.formula import Formula
    from lanewise.experiment.metric import Metric
    from lanewise.experiment.nulls import NullModel

Override = tuple[str, str]

VERDICTS = ("P", "C", "N")
ROLES = ("predicted", "selected", "calibrated", "identity", "excluded")
REASONED_ROLES = ("selected", "identity", "excluded")
"""Roles that need a reason in words."""


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


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number and the way to get it: from a run, from a ladder, or from other quantities."""

    id: str
    unit: str
    scenario: Path | str | None = None
    """The path of a file, or TOML text."""
    overrides: tuple[Override, ...] = ()
    fits: tuple[str, ...] = ()
    """Names of the fits whose values are in force in the run."""
    metric: Metric | None = None
    ladder: Ladder | None = None
    rung: str | None = None
    formula: Formula | None = None
    note: str = ""
    seeds: int = 1
    """How many seeds its run is done with, 1 and up; what counts is their mean."""

    @property
    def is_simulated(self) -> bool:
        """Whether there is a way to get the number at all."""
        return self.scenario is not None or self.ladder is not None or self.formula is not None


@dataclass(frozen=True, kw_only=True)
class Cell(Quantity):
    """One published number and the way to simulate it."""

    published: float | None
    """None for a claim without a number, which has `between`."""
    verdict: str
    """P predictable from ceilings, C needs a calibrated parameter, N not predictable."""
    role: str
    """predicted: no fit uses it, and no choice was made with its outcome in view. selected: such a choice
    was made. calibrated: a fit uses it. identity: nothing was measured, or it is algebra of fitted values.
    excluded: it cannot be said what the model should give."""
    band_percent: float | None = None
    """Largest error that counts as reproduced, in percent of the published number."""
    band_points: float | None = None
    """The same in the unit of the cell, for changes in percent."""
    between: tuple[float, float] | None = None
    """Range in which a claim holds."""
    claim: str = ""
    """The publication's own words, for what it says in prose."""
    null: NullModel | None = None
    """What would be said of it without a simulator."""
    exact: str = ""
    """Why it could not have come out otherwise, when it could not."""
    printed_to: float | None = None
    """What the published number is rounded to, where its digits do not say so."""

    @property
    def rounding(self) -> float:
        """Half of what the last printed digit stands for, in the unit of the cell."""
        if self.printed_to is not None:
            return self.printed_to / 2
        exponent = Decimal(repr(self.published or 0.0)).normalize().as_tuple().exponent
        return 0.5 * 10.0 ** min(exponent if isinstance(exponent, int) else 0, 0)


@dataclass(frozen=True)
class KnownMiss:
    """A cell that is known to be outside its band, and what it was when that was written down."""

    cell: str
    simulated: float
    why: str


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
    home: str
    """Id of the experiment whose cells it is fitted on."""
    whole: bool = False
    """Whether it counts something, so that only whole numbers without a unit make sense."""
    borrowed: bool = False
    """Whether another experiment fits it, and this one only uses the value."""
    theirs: str = ""
    """Its name in that experiment, where the name here is another."""

    @property
    def fitted_on(self) -> tuple[str, ...]:
        """The cells it is fitted on, with the id of their experiment."""
        return tuple(f"{self.home} {cell}" for cell in self.cells)


@dataclass(frozen=True)
class FittedValue:
    """What a calibration found."""

    name: str
    parameters: tuple[str, ...]
    value: str | int
    """As a scenario would write it: with its unit, or a whole number."""
    fitted_on: tuple[str, ...]
    plus_minus: str = ""
    """Half of its confidence interval, with the same unit; empty for a whole number."""


@dataclass(frozen=True)
class Oddity:
    """Something in the publication that contradicts itself or is not stated."""

    where: str
    what: str
    reading: str
    """How it is read here; empty when it does not matter."""


@dataclass(frozen=True)
class Plot:
    """How cells become one figure: `pattern` is matched against their ids."""

    title: str
    kind: str
    """lines or bars."""
    pattern: str
    """Like ``"{x} B/{series}"``; cells whose ids do not match are not in the figure."""
    x: str
    """What the x axis shows."""


@dataclass(frozen=True)
class Experiment:
    """One published result."""

    id: str
    title: str
    source: str
    folder: Path
    cells: tuple[Cell, ...]
    values: tuple[Quantity, ...]
    """Numbers without a published counterpart that cells are computed from."""
    fits: tuple[Fit, ...]
    fitted: Mapping[str, FittedValue]
    """By the name of the fit; empty before the first calibration."""
    oddities: tuple[Oddity, ...] = ()
    plots: tuple[Plot, ...] = ()
    known_misses: Mapping[str, KnownMiss] = field(default_factory=dict)
    """By the id of the cell."""

    def null_of(self, id_: str) -> float:
        """Return what a null model may take a cell for: what was fitted or chosen on it, else its null model.

        Raises ValueError for a cell that has neither.
        """
        cell = next((cell for cell in self.cells if cell.id == id_), None)
        if cell is None:
            raise ValueError(f"there is no cell {id_!r} for a null model")
        if cell.role in ("calibrated", "selected") and cell.published is not None:
            return cell.published
        if cell.null is None:
            raise ValueError(f"{id_!r} is neither calibrated nor selected, and has no null model of its own")
        return cell.null.value(id_, self.null_of)

    def cell(self, id: str) -> Cell:  # noqa: A002  (the file says id)
        """Return the cell of that id."""
        return next(cell for cell in self.cells if cell.id == id)

    @cached_property
    def quantities(self) -> Mapping[str, Quantity]:
        """Cells and values by id."""
        return {quantity.id: quantity for quantity in (*self.cells, *self.values)}

    @property
    def own_fits(self) -> tuple[Fit, ...]:
        """The fits that this experiment does itself."""
        return tuple(fit for fit in self.fits if not fit.borrowed)

    def simulated(self, quantity: Quantity) -> Iterator[Quantity]:
        """Yield the quantities that a quantity is computed from, each once; itself when it is not."""
        if quantity.formula is None:
            yield quantity
            return
        operands = [self.quantities[id_] for id_ in quantity.formula.cells]
        yield from {leaf.id: leaf for operand in operands for leaf in self.simulated(operand)}.values()

    def fits_of(self, quantity: Quantity) -> tuple[str, ...]:
        """Return the names of the fits in force in any run behind a quantity."""
        return tuple(dict.fromkeys(name for leaf in self.simulated(quantity) for name in leaf.fits))

    def fitted_on(self, quantity: Quantity) -> tuple[str, ...]:
        """Return the cells that the parameters in force in `quantity` were fitted on, our own first."""
        in_force = self.fits_of(quantity)
        cells = dict.fromkeys(on for fit in self.fits if fit.name in in_force for on in fit.fitted_on)
        return tuple(sorted(cells, key=lambda on: not on.startswith(f"{self.id} ")))
