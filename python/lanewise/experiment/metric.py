"""Which number of a result a cell of an experiment is about.

A metric is written ``"<reduction> <table>.<column>"``, for example ``"sum flows.goodput_mib_per_s"``.
`where` keeps the rows whose columns have the given values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanewise.results import RunResult


class MetricError(InputError):
    """A run has no such number."""


REDUCTIONS = ("sum", "mean", "min", "max")


@dataclass(frozen=True)
class Metric:
    """One number of a run's tables."""

    reduction: str
    table: str
    column: str
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Columns, and the values of them that count."""

    @classmethod
    def parse(cls, text: str, where: Mapping[str, str | Sequence[str]] | None = None) -> Metric:
        """Read ``"sum flows.goodput_mib_per_s"``; ValueError says what is wrong with it."""
        reduction, _, place = text.partition(" ")
        table, _, column = place.partition(".")
        if reduction not in REDUCTIONS or not table or not column:
            allowed = ", ".join(REDUCTIONS)
            raise ValueError(f"'{text}' is no metric: write '<{allowed}> <table>.<column>'")
        allowed_values = {
            name: (values,) if isinstance(values, str) else tuple(values)
            for name, values in (where or {}).items()
        }
        return cls(reduction, table, column, allowed_values)

    def read(self, result: RunResult) -> float:
        """Return the number; MetricError when the run has no such table, column or row."""
        table = result.tables.get(self.table)
        if table is None:
            raise MetricError(f"a run has no table '{self.table}'; it has {', '.join(result.tables)}")
        missing = [column for column in (self.column, *self.where) if column not in table.columns]
        if missing:
            raise MetricError(f"table '{self.table}' has no column '{missing[0]}'")
        rows = table.filter(*(pl.col(column).is_in(values) for column, values in self.where.items()))
        values = rows.get_column(self.column).drop_nulls()
        if values.is_empty():
            raise MetricError(f"no row of '{self.table}' has a {self.column} where {self.where}")
        return float(getattr(values, self.reduction)())
