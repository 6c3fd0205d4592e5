"""What the points of a study say together: means over seeds with intervals, what moves most, the best."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING

from lanewise.experiment.spread import half_width
from lanewise.study.points import SEED
from lanewise.written import plain, with_unit

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import polars as pl

    from lanewise.study.study import StudyResult

_MOST_PARTS = 10
"""Of a parameter's range in a sample."""
_FEWEST_OF_PART = 20
"""Spots, but where there are only two parts. Assumed: means of fewer are more chance than parameter."""


@dataclass(frozen=True)
class Spot:
    """The runs of one combination of parameters, over its seeds."""

    parameters: dict[str, object]
    value: float
    """Mean over the seeds."""
    half_width: float | None
    """Of its 95 % interval; None with one seed, and where several points of a sample are the same."""
    limited_by: str | None
    """Of the first seed."""
    runs: int
    units: Mapping[str, str] = field(default_factory=dict)
    """Of parameters that are numbers, by path."""

    def written(self, path: str) -> str:
        """Write a parameter, with its unit."""
        return with_unit(self.parameters[path], self.units.get(path))


@dataclass(frozen=True)
class Effect:
    """How far a number moves with one parameter, all others the same: the mean over their combinations."""

    path: str
    least: tuple[object, float]
    """The value of the parameter with the least, and the mean there."""
    most: tuple[object, float]
    unit: str = ""
    """Of the parameter, if it is a number."""
    left_out: int = 0
    """Spots that are not compared: another value of the parameter has none with the same others."""

    @property
    def span(self) -> float:
        """From the least to the most."""
        return self.most[1] - self.least[1]


def spots(result: StudyResult, number: str) -> list[Spot]:
    """Return a spot for each combination of parameters with a run that is done, in the order of points."""
    import polars as pl

    paths = result.study.parameters
    table = result.table.filter((pl.col("status") == "done") & pl.col(number).is_not_null())
    groups = table.partition_by(paths, maintain_order=True) if paths else [table] * bool(table.height)
    has_seeds = SEED in result.study.paths
    return [_spot(group, paths, number, result.units, has_seeds=has_seeds) for group in groups]


def effects(
    found: Sequence[Spot],
    paths: Sequence[str],
    *,
    is_sample: bool = False,
    apart: Callable[[str], Sequence[str]] | None = None,
) -> list[Effect]:
    """Return what each parameter moves, the one that moves most first.

    Means are over those combinations of the others that every value of the parameter has: where some points
    cannot be built, or are not finished, means over all would compare different others. A parameter without
    such a combination has no effect that could be told. `apart` gives the parameters of other axes than its
    own. In a sample hardly two points have the same value of a parameter: then the mean is over parts of its
    range with as many points each, and a value is the text of such a part.
    """
    made = []
    for path in paths:
        known = [spot for spot in found if spot.parameters[path] is not None]
        compared = known if is_sample else _compared(known, path, apart)
        by: dict[object, list[float]] = {}
        for value, spot in (
            parts_of(compared, path) if is_sample else ((spot.parameters[path], spot) for spot in compared)
        ):
            by.setdefault(value, []).append(spot.value)
        means = [(value, fmean(values)) for value, values in by.items()]
        if len(means) > 1:
            made.append(
                Effect(
                    path,
                    min(means, key=lambda each: each[1]),
                    max(means, key=lambda each: each[1]),
                    known[0].units.get(path, ""),
                    len(known) - len(compared),
                )
            )
    return sorted(made, key=lambda effect: -effect.span)


def _compared(known: Sequence[Spot], path: str, apart: Callable[[str], Sequence[str]] | None) -> list[Spot]:
    """Return the spots of those combinations of other parameters that every value of this one has."""
    values = {spot.parameters[path] for spot in known}
    groups: dict[tuple[object, ...], list[Spot]] = {}
    of_other_axes = None if apart is None else apart(path)
    for spot in known:
        others = (
            [each for each in spot.parameters if each != path] if of_other_axes is None else of_other_axes
        )
        groups.setdefault(tuple(spot.parameters[each] for each in others), []).append(spot)
    whole = (group for group in groups.values() if {spot.parameters[path] for spot in group} == values)
    return [spot for group in whole for spot in group]


def not_told(found: Sequence[Spot], paths: Sequence[str], told: Sequence[Effect]) -> list[str]:
    """Return the parameters that vary, and of which no effect could be told."""
    known = {effect.path for effect in told}
    varying = [path for path in paths if len({spot.parameters[path] for spot in found} - {None}) > 1]
    return [path for path in varying if path not in known]


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Return which points no other one beats in both: the first number large, the second small."""
    order = sorted(range(len(points)), key=lambda index: (-points[index][0], points[index][1]))
    kept, best = [], math.inf
    for index in order:
        if points[index][1] < best:
            kept.append(index)
            best = points[index][1]
    return kept


def parts_of(found: Sequence[Spot], path: str) -> list[tuple[object, Spot]]:
    """Give each spot the part of a parameter's range that it is in, or its value where they are few or texts.

    Parts have about as many spots each, 20 or more; equal values are in one. Spots without the parameter have
    None.
    """
    numbers = sorted(value for spot in found if isinstance(value := spot.parameters[path], int | float))
    count = max(2, min(_MOST_PARTS, len(numbers) // _FEWEST_OF_PART))
    is_text = any(isinstance(spot.parameters[path], str) for spot in found)
    if is_text or len(set(numbers)) <= count:
        return [(spot.parameters[path], spot) for spot in found]
    part_of: dict[object, int] = {}
    for place, value in enumerate(numbers):
        part_of.setdefault(value, place * count // len(numbers))
    ends: dict[int, tuple[float, float]] = {}
    for value in numbers:
        part = part_of[value]
        ends[part] = (ends.get(part, (value, value))[0], value)
    names: dict[object, object] = {
        value: f"{plain(ends[part][0])} to {with_unit(ends[part][1], found[0].units.get(path))}"
        for value, part in part_of.items()
    }
    return [(names.get(spot.parameters[path]), spot) for spot in found]


def _spot(
    group: pl.DataFrame, paths: Sequence[str], number: str, units: Mapping[str, str], *, has_seeds: bool
) -> Spot:
    values = [float(value) for value in group[number]]
    first = group.row(0, named=True)
    return Spot(
        {path: first[path] for path in paths},
        fmean(values),
        half_width(values) if has_seeds else None,
        first["limited_by"],
        len(values),
        units,
    )
