"""How good the predictions are, in a few numbers: cells in percent, changes in points, claims that hold.

Calibrated and excluded cells are in none of them. Percent and points are never averaged together: two
points off a change of one percent is a good prediction and a relative error of 200 %.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from lanewise.experiment.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.experiment.reproduction import ReproducedExperiment


@dataclass(frozen=True)
class Headline:
    """Errors of the predicted cells of some experiments."""

    errors_percent: tuple[float, ...]
    """Absolute, of cells judged in percent."""
    errors_points: tuple[float, ...]
    """Absolute, of cells judged in points."""
    claims: tuple[bool, ...]
    """Whether each claim that is a range holds."""
    outside: int
    """Predicted cells outside their band."""

    @property
    def cells(self) -> int:
        """How many predicted cells there are."""
        return len(self.errors_percent) + len(self.errors_points) + len(self.claims)

    def sentences(self) -> list[str]:
        """Say it, leaving out what there is none of."""
        said = []
        if self.errors_percent:
            said.append(
                f"{counted(len(self.errors_percent), 'predicted cell')}, absolute error "
                f"median {median(self.errors_percent):.2f} %, worst {max(self.errors_percent):.2f} %"
            )
        if self.errors_points:
            said.append(
                f"{counted(len(self.errors_points), 'predicted change')}, "
                f"median {median(self.errors_points):.2f}, worst {max(self.errors_points):.2f} points"
            )
        if self.claims:
            hold = "holds" if len(self.claims) == 1 else "hold"
            said.append(f"{sum(self.claims)} of {counted(len(self.claims), 'claim')} {hold}")
        return said


def headline(experiments: Sequence[ReproducedExperiment]) -> Headline:
    """Gather the predicted cells of some experiments."""
    return Headline(
        errors_percent=tuple(error for each in experiments for error in each.predicted_abs_errors_percent),
        errors_points=tuple(error for each in experiments for error in each.predicted_abs_errors_points),
        claims=tuple(holds for each in experiments for holds in each.claims),
        outside=sum(cell.within_band is False for each in experiments for cell in each.predicted),
    )
