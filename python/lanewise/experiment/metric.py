"""Which number of a result a cell of an experiment is about.

Two ways to write one:

``"<reduction> <table>.<column>"``, as in ``"sum flows.goodput_mib_per_s"``: a column of a table of the run.
`where` keeps the rows whose columns have the given values.

``"[<reduction>] <instrument>: <metric>"``, as in ``"smartflow: throughput 512 B (Mb/s)"``: a number of an
instrument under the name that the instrument gives it. The instrument is named by its workload or its kind.
Without a reduction exactly one instrument must report it; with one, as in ``"sum perftest: BW average
(MiB/s)"``, all instruments that do are reduced.
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

SINGLE = "single"
"""Reduction of an instrument's metric that only one instrument may report."""


@dataclass(frozen=True)
class Metric:
    """One number of a run's tables."""

    reduction: str
    table: str
    column: str
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Columns, and the values of them that count."""
    instrument: str | None = None
    """Workload or kind of the instruments that count; all without one."""

    @classmethod
    def parse(cls, text: str, where: Mapping[str, str | Sequence[str]] | None = None) -> Metric:
        """Read a metric; ValueError says what is wrong with it. `where` is for columns of tables only."""
        before, colon, name = text.partition(": ")
        if colon:
            return cls._of_instrument(text, before.split(), name)
        reduction, _, place = text.partition(" ")
        table, _, column = place.partition(".")
        if reduction not in REDUCTIONS or not table or not column:
            raise ValueError(_no_metric(text))
        allowed_values = {
            name: (values,) if isinstance(values, str) else tuple(values)
            for name, values in (where or {}).items()
        }
        return cls(reduction, table, column, allowed_values)

    @classmethod
    def _of_instrument(cls, text: str, words: list[str], name: str) -> Metric:
        reduction = words.pop(0) if len(words) == 2 else SINGLE
        if len(words) != 1 or reduction not in (*REDUCTIONS, SINGLE):
            raise ValueError(_no_metric(text))
        return cls(reduction, "instruments", "value", {"metric": (name.strip(),)}, words[0])

    def read(self, result: RunResult) -> float:
        """Return the number; MetricError when the run has no such table, column or row."""
        table = result.tables.get(self.table)
        if table is None:
            raise MetricError(f"a run has no table '{self.table}'; it has {', '.join(result.tables)}")
        missing = [column for column in (self.column, *self.where) if column not in table.columns]
        if missing:
            known = ", ".join(table.columns)
            raise MetricError(f"table '{self.table}' has no column '{missing[0]}'; it has {known}")
        # Masks, because the filter of a frame plans a query each time: a reproduction reads 1,600 metrics.
        counted = pl.repeat(value=True, n=table.height, dtype=pl.Boolean, eager=True)
        if self.instrument is not None:
            counted = (table["workload"] == self.instrument) | (table["kind"] == self.instrument)
        candidates = counted
        for column, allowed in self.where.items():
            counted = counted & table[column].is_in(list(allowed))
        values = table[self.column].filter(counted).drop_nulls()
        if values.is_empty():
            raise MetricError(self._nothing_found(table, table.filter(candidates)))
        if self.reduction == SINGLE:
            if len(values) > 1:
                reporting = ", ".join(table["workload"].filter(counted))
                raise MetricError(f"several instruments report '{self.where['metric'][0]}': {reporting}")
            return float(values[0])
        return float(getattr(values, self.reduction)())

    def _nothing_found(self, table: pl.DataFrame, candidates: pl.DataFrame) -> str:
        if self.instrument is None:
            return f"no row of '{self.table}' has a {self.column} where {dict(self.where)}"
        if candidates.is_empty():
            known = dict.fromkeys([*table.get_column("workload"), *table.get_column("kind")])
            return f"the run has no instrument '{self.instrument}'; it has {', '.join(known) or 'none'}"
        names = ", ".join(dict.fromkeys(candidates.get_column("metric")))
        return f"'{self.instrument}' reports no '{self.where['metric'][0]}'; it reports {names}"


def _no_metric(text: str) -> str:
    allowed = ", ".join(REDUCTIONS)
    return f"'{text}' is no metric: write '<{allowed}> <table>.<column>' or '<instrument>: <its metric>'"
