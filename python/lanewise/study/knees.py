"""Where along an axis another thing becomes the limit: the knee of a curve, with its reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from lanewise.study.measures import GOODPUT
from lanewise.study.points import SEED
from lanewise.study.summary import spots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.study.study import Study, StudyResult
    from lanewise.study.summary import Spot

_NUMBERED = re.compile(r"\[\d+\]")


@dataclass(frozen=True)
class Knee:
    """Two neighbouring points of an axis that different things limit."""

    path: str
    """The parameter along which."""
    others: tuple[tuple[str, object], ...]
    """Of the other parameters, their values there."""
    before: object
    """The last value with the one limit."""
    after: object
    """The first value with the other."""
    limit_before: str
    limit_after: str


def alike(name: str) -> str:
    """Return a limit's name without the number of its device, of which one or another may be the first."""
    return _NUMBERED.sub("[*]", name)


def knees(result: StudyResult) -> list[Knee]:
    """Return the knees along every axis of numbers, in the order of the axes; seeds are no such axis.

    Along parameters that vary together the first one of numbers speaks. With several seeds, the first one.
    """
    found = spots(result, GOODPUT)
    made = []
    for axis in result.study.axes:
        numeric = [path for path in axis.paths if path != SEED and result.table.schema[path].is_numeric()]
        if not numeric:
            continue
        path = numeric[0]
        others = apart(result.study, path)
        for one, two in changes(found, path, others):
            at = tuple((other, one.parameters[other]) for other in others)
            limits = alike(str(one.limited_by)), alike(str(two.limited_by))
            made.append(Knee(path, at, one.parameters[path], two.parameters[path], *limits))
    return made


def apart(study: Study, path: str) -> list[str]:
    """Return the parameters of all axes but the one that varies a path."""
    return [other for axis in study.axes if path not in axis.paths for other in axis.paths if other != SEED]


def changes(found: Sequence[Spot], path: str, others: Sequence[str]) -> list[tuple[Spot, Spot]]:
    """Return neighbours along a parameter of numbers that different things limit, all `others` the same.

    Spots at which the parameter does not vary, and those that nothing limits, are no neighbours.
    """
    groups: dict[tuple[object, ...], list[tuple[float, Spot]]] = {}
    for spot in found:
        value = spot.parameters[path]
        if isinstance(value, int | float) and spot.limited_by is not None:
            key = tuple(spot.parameters[other] for other in others)
            groups.setdefault(key, []).append((value, spot))
    return [
        (one, two)
        for group in groups.values()
        for (_, one), (_, two) in pairwise(sorted(group, key=lambda each: each[0]))
        if alike(str(one.limited_by)) != alike(str(two.limited_by))
    ]
