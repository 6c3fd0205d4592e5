"""How good the predictions are, in a few numbers, and how good the null models are on the same cells.

Only predicted cells are in the headline; selected ones are counted beside it; calibrated, identity and
excluded ones in neither. Percent and points are never averaged together: two points off a change of one
percent is a good prediction and a relative error of 200 %. A cell outside its band is a miss, and named: also
where its role is in no headline.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from lanewise.experiment.reproduced_cell import DIFFERS_FROM
from lanewise.experiment.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lanewise import documents
    from lanewise.experiment.reproduced_cell import ReproducedCell
    from lanewise.experiment.reproduction import ReproducedExperiment


@dataclass(frozen=True)
class Errors:
    """Absolute errors of some cells, all in percent or all in points, beside those of their null models."""

    simulated: tuple[float, ...]
    null: tuple[float, ...]
    """Of those that have a null model."""

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.simulated)

    @property
    def median(self) -> float | None:
        """Median of the simulated ones."""
        return median(self.simulated) if self.simulated else None

    @property
    def worst(self) -> float | None:
        """The largest of the simulated ones."""
        return max(self.simulated, default=None)

    @property
    def null_median(self) -> float | None:
        """Median of the null models."""
        return median(self.null) if self.null else None

    @property
    def null_worst(self) -> float | None:
        """The largest of the null models."""
        return max(self.null, default=None)

    def document(self) -> documents.Errors:
        """Return them for JSON."""
        return {
            "cells": self.cells,
            "median": self.median,
            "worst": self.worst,
            "null_cells": len(self.null),
            "null_median": self.null_median,
            "null_worst": self.null_worst,
        }

    def sentence(self, name: str, unit: str) -> str:
        """Say it in words: how many of what, median and worst, and the same of the null models."""
        said = f"{counted(self.cells, name)}, absolute error {_both(self.median, self.worst, unit)}"
        if not self.null:
            return f"{said}; no null model"
        of = "" if len(self.null) == self.cells else f" of {len(self.null)}"
        return f"{said} (null model{of}: {_both(self.null_median, self.null_worst, unit)})"


@dataclass(frozen=True)
class Group:
    """The cells of one role that are judged in one unit."""

    unit: str
    """% or points."""
    cells: tuple[ReproducedCell, ...]

    @property
    def all(self) -> Errors:
        """Every one of them."""
        return _errors(self.cells)

    @property
    def where_they_differ(self) -> Errors:
        """Those on which simulation and null model say different things."""
        return _errors(cell for cell in self.cells if cell.differs_from_null)

    @property
    def without_exact(self) -> Errors:
        """Those that are not exact by construction."""
        return _errors(cell for cell in self.cells if not cell.exact)

    def document(self) -> documents.ErrorGroups:
        """Return it for JSON."""
        return {
            "all": self.all.document(),
            "where_they_differ": self.where_they_differ.document(),
            "without_exact": self.without_exact.document(),
        }


@dataclass(frozen=True)
class Headline:
    """The cells of one role of some experiments."""

    role: str
    percent: Group
    points: Group
    claims: tuple[bool, ...]
    """Whether each claim that is a range holds."""
    null_claims: tuple[bool, ...]
    """Whether it would by its null model, of those that have one."""
    misses: tuple[str, ...]
    """Cells outside their band, with the id of their experiment."""

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.percent.cells) + len(self.points.cells) + len(self.claims)

    def sentences(self) -> list[str]:
        """Say it, leaving out what there is none of."""
        said = []
        for group, name in ((self.percent, "cell"), (self.points, "change")):
            if group.cells:
                said.append(group.all.sentence(f"{self.role} {name}", group.unit))
                said += _finer(group)
        if self.claims:
            hold = "holds" if len(self.claims) == 1 else "hold"
            null = f" (null model: {sum(self.null_claims)} of {len(self.null_claims)})"
            claims = counted(len(self.claims), f"{self.role} claim")
            said.append(f"{sum(self.claims)} of {claims} {hold}{null if self.null_claims else ''}")
        return said

    def document(self) -> documents.Headline:
        """Return it for JSON."""
        return {
            "percent": self.percent.document(),
            "points": self.points.document(),
            "claims": {
                "cells": len(self.claims),
                "hold": sum(self.claims),
                "null_cells": len(self.null_claims),
                "null_hold": sum(self.null_claims),
            },
            "misses": list(self.misses),
        }


@dataclass(frozen=True)
class Apart:
    """The cells of a role that is in no headline: agreeing proves nothing, but outside its band is a miss."""

    role: str
    """calibrated or identity."""
    cells: int
    """How many cells there are."""
    judged: int
    """How many of them have a band: one of which nothing can be said is a miss, too."""
    misses: tuple[str, ...]
    """Cells outside their band, with the id of their experiment."""

    def sentence(self) -> str:
        """Say how many there are, and which are outside their band."""
        name = "identity" if self.cells == 1 else "identities"
        said = name if self.role == "identity" else f"{self.role} cell{'' if self.cells == 1 else 's'}"
        outside = f"{len(self.misses)} of {self.judged} with a band outside it"
        return f"{self.cells} {said}, {outside}{': ' if self.misses else ''}{', '.join(self.misses)}"

    def document(self) -> documents.Apart:
        """Return it for JSON."""
        return {"cells": self.cells, "judged": self.judged, "misses": list(self.misses)}


def apart(experiments: Sequence[ReproducedExperiment], role: str) -> Apart:
    """Gather the cells of a role that is in no headline."""
    named = [(each.id, cell) for each in experiments for cell in each.cells if cell.role == role]
    return Apart(
        role=role,
        cells=len(named),
        judged=sum(cell.has_band for _, cell in named),
        misses=tuple(f"{id_} {cell.cell}" for id_, cell in named if cell.is_miss),
    )


def headline(experiments: Sequence[ReproducedExperiment], role: str = "predicted") -> Headline:
    """Gather the cells of one role of some experiments."""
    named = [(each.id, cell) for each in experiments for cell in each.cells if cell.role == role]
    cells = [cell for _, cell in named if cell.simulated is not None]
    claims = [cell for cell in cells if cell.between is not None]
    judged = [cell for cell in cells if cell.error is not None]
    return Headline(
        role=role,
        percent=Group("%", tuple(cell for cell in judged if not cell.is_judged_in_points)),
        points=Group("points", tuple(cell for cell in judged if cell.is_judged_in_points)),
        claims=tuple(bool(cell.within_band) for cell in claims),
        null_claims=tuple(cell.null_holds for cell in claims if cell.null_holds is not None),
        misses=tuple(f"{id_} {cell.cell}" for id_, cell in named if cell.is_miss),
    )


def _errors(cells: Iterable[ReproducedCell]) -> Errors:
    listed = list(cells)
    return Errors(
        simulated=tuple(abs(cell.error) for cell in listed if cell.error is not None),
        null=tuple(abs(cell.null_error) for cell in listed if cell.null_error is not None),
    )


def _finer(group: Group) -> list[str]:
    """Say what the easy cells hide, where there are any."""
    said = []
    differ = group.where_they_differ
    if differ.cells and differ.cells < group.all.cells:
        name = f"on which the two differ by more than {DIFFERS_FROM:g} {group.unit}"
        said.append(differ.sentence(name, group.unit).replace(f"{name}s", name))
    hard = group.without_exact
    if hard.cells and hard.cells < group.all.cells:
        name = "not exact by construction"
        said.append(hard.sentence(name, group.unit).replace(f"{name}s", name))
    return said


def _both(middle: float | None, worst: float | None, unit: str) -> str:
    assert middle is not None
    assert worst is not None
    return f"median {middle:.2f}, worst {worst:.2f} {unit}"
