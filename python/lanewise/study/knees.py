"""Where along an axis another thing becomes the limit: the knee of a curve, with its reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from lanewise.study.points import SEED

if TYPE_CHECKING:
    import polars as pl

    from lanewise.study.study import StudyResult

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
    """Return the knees along every numeric parameter, in the order of the table; seeds are no such parameter.

    With several seeds, the first one speaks.
    """
    import polars as pl

    table = result.table.filter(pl.col("status") == "done")
    paths = [path for axis in result.study.axes for path in axis.paths]
    if SEED in table.columns and table.height:
        table = table.filter(pl.col(SEED) == table[SEED][0])
    found = []
    for path in paths:
        if not table.schema[path].is_numeric():
            continue
        others = [other for other in paths if other != path]
        groups = table.partition_by(others, maintain_order=True) if others else [table]
        for group in groups:
            found += _along(group.sort(path), path, others)
    return found


def _along(group: pl.DataFrame, path: str, others: list[str]) -> list[Knee]:
    found = []
    rows = [row for row in group.iter_rows(named=True) if row["limited_by"] is not None]
    for one, two in pairwise(rows):
        limits = alike(one["limited_by"]), alike(two["limited_by"])
        if limits[0] != limits[1]:
            at = tuple((other, one[other]) for other in others)
            found.append(Knee(path, at, one[path], two[path], *limits))
    return found
