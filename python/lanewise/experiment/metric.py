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

from lanewise.columns import RUN_TABLES
from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanewise.results import RunResult


class MetricError(InputError):
    """A run has no such number."""


REDUCTIONS = ("sum", "mean", "min", "max")

SINGLE = "single"
"""Reduction of an instrument's metric that only one instrument may report."""

_TRUTHS = {"true": True, "false": False}


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

    def check(self) -> None:
        """Raise MetricError where no run has such a table or column, no numbers in it, or no such values."""
        columns = RUN_TABLES.get(self.table)
        if columns is None:
            raise MetricError(f"a run has no table '{self.table}'; it has {', '.join(RUN_TABLES)}")
        for column in (self.column, *self.where):
            if column not in columns:
                known = ", ".join(columns)
                raise MetricError(f"table '{self.table}' has no column '{column}'; it has {known}")
        if not columns[self.column].is_numeric():
            numbers = ", ".join(name for name, kind in columns.items() if kind.is_numeric())
            raise MetricError(
                f"column '{self.column}' of '{self.table}' has no numbers; those that have are {numbers}"
            )
        for column, allowed in self.where.items():
            self._values(column, columns[column], allowed)

    def _values(
        self, column: str, kind: pl.DataType | type[pl.DataType], texts: Sequence[str]
    ) -> list[str] | list[bool] | list[int] | list[float]:
        """Return values as a column has them; MetricError for those that it cannot have."""
        if kind == pl.String:
            return list(texts)
        if kind == pl.Boolean:
            return self._truths(column, texts)
        if not kind.is_numeric():
            raise MetricError(f"column '{column}' of '{self.table}' has lists, and no condition")
        what = "whole number from 0 on" if kind.is_integer() else "number"
        try:
            values = [int(text) for text in texts] if kind.is_integer() else [float(text) for text in texts]
            return pl.Series(values, dtype=kind, strict=True).to_list()
        except (ValueError, OverflowError, TypeError, pl.exceptions.PolarsError):
            found = " or ".join(texts)
            raise MetricError(
                f"column '{column}' of '{self.table}' has no '{found}': each of its values is a {what}"
            ) from None

    def _truths(self, column: str, texts: Sequence[str]) -> list[bool]:
        wrong = [text for text in texts if text not in _TRUTHS]
        if wrong:
            found = " or ".join(wrong)
            raise MetricError(
                f"column '{column}' of '{self.table}' has no '{found}': each of its values is true or false"
            )
        return [_TRUTHS[text] for text in texts]

    def read(self, result: RunResult) -> float:
        """Return the number; MetricError when the run has no such table, column or row."""
        self.check()
        table = result.tables[self.table]
        # Masks, because the filter of a frame plans a query each time: a reproduction reads 1,600 metrics.
        counted = pl.repeat(value=True, n=table.height, dtype=pl.Boolean, eager=True)
        if self.instrument is not None:
            counted = (table["workload"] == self.instrument) | (table["kind"] == self.instrument)
        candidates = counted
        for column, allowed in self.where.items():
            kind = RUN_TABLES[self.table][column]
            counted = counted & table[column].is_in(self._values(column, kind, allowed))
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
            asked = ", ".join(f"{name}={' or '.join(values)}" for name, values in self.where.items())
            return f"no row of '{self.table}' has a {self.column}{f' where {asked}' if asked else ''}"
        if candidates.is_empty():
            known = dict.fromkeys([*table.get_column("workload"), *table.get_column("kind")])
            return f"the run has no instrument '{self.instrument}'; it has {', '.join(known) or 'none'}"
        names = ", ".join(dict.fromkeys(candidates.get_column("metric")))
        return f"'{self.instrument}' reports no '{self.where['metric'][0]}'; it reports {names}"


def _no_metric(text: str) -> str:
    allowed = ", ".join(REDUCTIONS)
    return f"'{text}' is no metric: write '<{allowed}> <table>.<column>' or '<instrument>: <its metric>'"
