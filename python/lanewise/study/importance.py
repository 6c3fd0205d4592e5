"""Which parameters matter in a search: which part of a goal's variance among its trials goes with each.

That is the correlation ratio of an analysis of variance, less what chance would give it: trials are grouped
by their values of a parameter, of many numbers by parts of their range. Source: Kelley, "An Unbiased
Correlation Ratio Measure", Proceedings of the National Academy of Sciences 21(9), 1935.

Trials lie where the search went, not evenly, and parameters may move together in them: for indices that know
causes apart there is the sample of `sobol`.
"""

from __future__ import annotations

from statistics import fmean
from typing import TYPE_CHECKING

from lanewise.study.summary import parts_of, spots

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.study.goals import Goal
    from lanewise.study.study import StudyResult

FEWEST_TRIALS = 20
"""Assumed: of fewer the groups have one or two trials each, and chance decides."""


def importances(result: StudyResult, goal: Goal) -> dict[str, float]:
    """Return the part of a goal's variance that goes with each axis, 0 to 1, the largest first.

    Trials that lack a seed have no value, and do not count. Nothing for fewer than `FEWEST_TRIALS` trials
    with the goal, and where all are equal.
    """
    seeds = max(len(result.study.seeds), 1)
    found = [spot for spot in spots(result, goal.number.column) if spot.runs == seeds]
    values = [spot.value for spot in found]
    if len(found) < FEWEST_TRIALS or min(values) == max(values):
        return {}
    parts: dict[str, float] = {}
    for axis in result.study.axes:
        groups: dict[object, list[float]] = {}
        for value, spot in parts_of(found, axis.paths[0]):
            groups.setdefault(value, []).append(spot.value)
        if len(groups) > 1:
            parts[axis.name] = correlation_ratio(list(groups.values()))
    return dict(sorted(parts.items(), key=lambda each: -each[1]))


def correlation_ratio(groups: Sequence[Sequence[float]]) -> float:
    """Return the part of the variance that lies between groups, less what chance makes of it; 0 at least.

    ValueError for groups that are all of one value.
    """
    values = [value for group in groups for value in group]
    whole = _squares(values)
    if whole == 0.0:
        raise ValueError("equal values have no variance")
    if len(values) <= len(groups):
        return 0.0
    within = sum(map(_squares, groups))
    return max(1.0 - within / whole * (len(values) - 1) / (len(values) - len(groups)), 0.0)


def _squares(values: Sequence[float]) -> float:
    mean = fmean(values)
    return sum((value - mean) ** 2 for value in values)
