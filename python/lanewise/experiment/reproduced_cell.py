"""One published number beside the simulated one and beside what a null model says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

if TYPE_CHECKING:
    from lanewise import documents
    from lanewise.experiment.definition import KnownMiss

DIFFERS_FROM = 0.5
"""Percent, or points, by which simulation and null model are apart where they count as different."""

KNOWN_WITHIN = 0.01
"""A known miss has moved when it is further from its known figure than this share, and than its interval."""


@dataclass(frozen=True)
class ReproducedCell:
    """One published number beside the simulated one."""

    cell: str
    unit: str
    published: float | None
    """None for a claim without a number."""
    simulated: float | None
    """None for a cell that nothing simulates."""
    verdict: str
    role: str
    fitted_on: tuple[str, ...]
    band_percent: float | None
    band_points: float | None
    between: tuple[float, float] | None
    claim: str
    computed_as: str
    """What it is computed from, for a cell that no single run gives."""
    note: str
    null: float | None = None
    """What its null model says; None without one."""
    null_model: str = ""
    """That model in words."""
    exact: str = ""
    """Why it could not have come out otherwise, when it could not."""
    known_miss: KnownMiss | None = None
    half_width: float | None = None
    """Half of the confidence interval of the mean over seeds, in the unit of the cell; None for one seed."""
    seeds: int = 1
    """Seeds that it is the mean of."""

    @property
    def error_percent(self) -> float | None:
        """Simulated over published, less one, in percent; None without a number to compare with."""
        return self._percent(self.simulated)

    @property
    def error_points(self) -> float | None:
        """Simulated less published, in the unit of the cell."""
        return self._points(self.simulated)

    @property
    def within_band(self) -> bool | None:
        """Whether the error is at most the band, or the claim holds; None without an error or a band."""
        return self._fits(self.simulated)

    @property
    def is_judged_in_points(self) -> bool:
        """Whether its error is a difference: of a change in percent, a percentage would mislead."""
        return self.band_points is not None

    @property
    def error(self) -> float | None:
        """The error as the cell is judged, in percent or in points; None for a claim."""
        return self._judged(self.simulated)

    @property
    def null_error(self) -> float | None:
        """The error of the null model, judged as the cell is."""
        return self._judged(self.null)

    @property
    def null_holds(self) -> bool | None:
        """Whether a claim would hold by the null model; None without one."""
        return self._fits(self.null)

    @property
    def differs_from_null(self) -> bool:
        """Whether the simulation says something else than the null model."""
        if self.error is None or self.null_error is None:
            return False
        return abs(self.error - self.null_error) > DIFFERS_FROM

    @property
    def has_band(self) -> bool:
        """Whether it says how far from the published number it may be."""
        return any(band is not None for band in (self.band_percent, self.band_points, self.between))

    @property
    def is_miss(self) -> bool:
        """Whether it counts and is not within its band: outside, or so that it cannot be said."""
        return self.role != "excluded" and self.has_band and not self.within_band

    @property
    def surprise(self) -> str:
        """What is not as it is known, in words: a miss that is new, has moved or is gone; empty otherwise."""
        known = self.known_miss
        if known is None:
            return "is outside its band" if self.is_miss else ""
        if not self.is_miss or self.simulated is None:
            return "is a known miss and inside its band now: take it out of misses.toml"
        tolerance = max(KNOWN_WITHIN * abs(known.simulated), self.half_width or 0.0)
        if abs(self.simulated - known.simulated) > tolerance:
            return f"is a known miss at {known.simulated:g} and now {self.simulated:.6g} {self.unit}"
        return ""

    @property
    def contract_band_percent(self) -> float | None:
        """The band in percent of the published number, whatever it is written in."""
        if self.band_points is not None and self.published:
            return 100 * self.band_points / abs(self.published)
        return self.band_percent

    def _percent(self, value: float | None) -> float | None:
        if value is None or not self.published:
            return None
        return 100 * (value / self.published - 1)

    def _points(self, value: float | None) -> float | None:
        if value is None or self.published is None:
            return None
        return value - self.published

    def _judged(self, value: float | None) -> float | None:
        if self.is_judged_in_points:
            return self._points(value)
        return self._percent(value) if self.band_percent is not None else None

    def _fits(self, value: float | None) -> bool | None:
        if self.between is not None and value is not None:
            return self.between[0] <= value <= self.between[1]
        if self.band_points is None and self.band_percent is None:
            return None
        error, band = self._judged(value), self.band_percent if self.band_points is None else self.band_points
        return None if error is None or band is None else abs(error) <= band

    def document(self) -> documents.ReproduceExperimentCell:
        """Return the cell as the JSON contract has it."""
        return {
            "cell": self.cell,
            "unit": self.unit,
            "published": self.published,
            "simulated": self.simulated,
            "half_width": self.half_width,
            "seeds": self.seeds,
            "error_percent": self.error_percent,
            "null": self.null,
            "null_error": self.null_error,
            "null_model": self.null_model,
            "verdict": cast("Literal['P', 'C', 'N']", self.verdict),
            "role": cast("Literal['predicted', 'selected', 'calibrated', 'identity', 'excluded']", self.role),
            "fitted_on": list(self.fitted_on),
            "band_percent": self.contract_band_percent,
            "within_band": self.within_band,
            "error_points": self.error_points if self.is_judged_in_points else None,
            "band_points": self.band_points,
            "between": None if self.between is None else list(self.between),
            "exact": self.exact,
            "known_miss": self.known_miss is not None,
            "claim": self.claim,
            "computed_as": self.computed_as,
            "note": self.note,
        }


@dataclass(frozen=True)
class SimulatedValue:
    """A number that cells are computed from, and that the publication does not give."""

    id: str
    unit: str
    simulated: float
    note: str

    def document(self) -> documents.ReproduceExperimentValue:
        """Return the value for JSON."""
        return {"id": self.id, "unit": self.unit, "simulated": self.simulated, "note": self.note}
