"""More than two sides, or sides that are benchmarks' outputs: rows that belong together, and their ratios.

All ratios are to the first side, A. What only one side has is kept, without a ratio.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Literal

import polars as pl

from lanewise.notebook import html
from lanewise.output_format import stamped
from lanewise.side_by_side.rows import QUANTITIES
from lanewise.written import in_short

if TYPE_CHECKING:
    from collections.abc import Mapping

    import altair as alt

    from lanewise.documents import (
        CompareSidesLink,
        CompareSidesRow,
        CompareSidesSaid,
        CompareSidesSide,
    )
    from lanewise.results import RunResult
    from lanewise.side_by_side.explained import Explanation
    from lanewise.side_by_side.found import Found
    from lanewise.side_by_side.rows import Row
    from lanewise.side_by_side.said import Said
    from lanewise.tools.instruments.measurement import Measurement

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""What sides are called: so many there may be."""


@dataclass(frozen=True, eq=False)
class Side:
    """A run or a measurement."""

    name: str
    """What it is called."""
    run: RunResult | None = None
    measurement: Measurement | None = None
    """What it was read from, or written as: None for a run whose flows are compared."""

    @property
    def what(self) -> Literal["run", "measurement"]:
        """Which of both it is."""
        return "measurement" if self.run is None else "run"


@dataclass(frozen=True)
class Spread:
    """How the rows of a side compare with those of the first."""

    rows: int
    median: float
    lowest: float
    lowest_row: str
    highest: float
    highest_row: str


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Several sides, or sides that were measured. Ratios are to the first."""

    sides: tuple[Side, ...]
    rows: tuple[Row, ...]
    """What was matched, and what only one side has."""
    said: tuple[Said, ...] = ()
    """What outputs of benchmarks say differently about how they were made."""
    explanations: tuple[Explanation | None, ...] = ()
    """Of each side after the first what explains its difference; None where it is not two runs."""
    notes: tuple[str, ...] = ()
    """What was left unread or could not be matched, a sentence each."""

    @property
    def names(self) -> tuple[str, ...]:
        """What each side is called."""
        return tuple(side.name for side in self.sides)

    @property
    def runs(self) -> tuple[RunResult, ...]:
        """The runs among the sides."""
        return tuple(side.run for side in self.sides if side.run is not None)

    @property
    def are_runs(self) -> bool:
        """Whether all sides are runs."""
        return all(side.run is not None for side in self.sides)

    @property
    def shared(self) -> list[Row]:
        """Rows that several sides have."""
        return [row for row in self.rows if row.is_shared]

    def only_in(self, number: int) -> list[Found]:
        """Return what only one side has."""
        return [side for row in self.rows if not row.is_shared and (side := row.sides[number]) is not None]

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per row and side that has it: what it reached, and its ratio to the first side."""
        rows = [
            {
                "row": row.first.name,
                "side": LETTERS[number],
                "name": side.name,
                "direction": side.direction,
                "target": side.target,
                "size_bytes": side.size_bytes,
                "queue_depth": side.queue_depth,
                "workers": side.workers,
                **{quantity: getattr(side, quantity) for quantity in QUANTITIES},
                "latency_ns_p99": side.latency_ns_p99,
                "compared": row.quantity,
                "ratio": row.ratio(number),
            }
            for row in self.rows
            for number, side in enumerate(row.sides)
            if side is not None
        ]
        words = ("row", "side", "name", "direction", "target", "compared")
        counts = ("size_bytes", "queue_depth", "workers")
        numbers = (*QUANTITIES, "latency_ns_p99", "ratio")
        schema = {
            name: pl.String if name in words else pl.Int64 if name in counts else pl.Float64
            for name in (*words[:5], *counts, *numbers[:-1], "compared", "ratio")
        }
        assert set(schema) == {*words, *counts, *numbers}
        return pl.DataFrame(rows, schema=schema)

    @cached_property
    def links(self) -> list[CompareSidesLink]:
        """Directions of links that several runs have: goodput and use of each side."""
        if len(self.runs) < 2:
            return []
        found: dict[tuple[str, str], list[tuple[float, float] | None]] = {}
        for number, side in enumerate(self.sides):
            table = () if side.run is None else side.run.links.iter_rows(named=True)
            for row in table:
                values = found.setdefault((row["link"], row["direction"]), [None] * len(self.sides))
                values[number] = (row["goodput_gb_per_s"], row["utilisation"])
        links: list[CompareSidesLink] = []
        for (link, direction), values in found.items():
            if sum(value is not None for value in values) > 1:
                rates = [None if value is None else value[0] for value in values]
                links.append(
                    {
                        "link": link,
                        "direction": direction,
                        "gb_per_s": rates,
                        "utilisation": [None if value is None else value[1] for value in values],
                        "ratio": [_over(rate, rates[0]) for rate in rates],
                    }
                )
        return links

    def spread(self, number: int) -> Spread | None:
        """Return how the rows of a side compare with those of the first; None where none can be."""
        ratios = [
            (ratio, row.first.name)
            for row in self.rows
            if row.quantity != "latency_ns_mean" and (ratio := row.ratio(number)) is not None
        ]
        if not ratios:
            return None
        (lowest, lowest_row), (highest, highest_row) = min(ratios), max(ratios)
        return Spread(
            len(ratios), median(ratio for ratio, _ in ratios), lowest, lowest_row, highest, highest_row
        )

    def beyond(self, percent: float) -> str | None:
        """Say which sides differ from the first by more than so much; None where none does.

        Of two runs the total goodput is compared, of others each row that both have.
        """
        said = []
        for number in range(1, len(self.sides)):
            if (why := self._beyond(number, percent)) is not None:
                said.append(f"{LETTERS[number]}: {why}")
        return "; ".join(said) or None

    def _beyond(self, number: int, percent: float) -> str | None:
        base, own = self.sides[0].run, self.sides[number].run
        if base is not None and own is not None:
            from lanewise.comparison import compare_runs

            return compare_runs(base, own, names=(self.names[0], self.names[number])).beyond(percent)
        rows = [(row, ratio) for row in self.rows if (ratio := row.ratio(number)) is not None]
        if not rows:
            return "nothing of it is compared"
        wide = [(abs(ratio - 1), row, ratio) for row, ratio in rows if abs(100 * (ratio - 1)) > percent]
        if not wide:
            return None
        _, row, ratio = max(wide, key=lambda each: each[0])
        return (
            f"{len(wide)} of {len(rows)} rows differ by more than {percent:g} %, most of all "
            f"{row.first.name}: {ratio:.3f} of A"
        )

    def plot(self) -> alt.TopLevelMixin:
        """Draw the ratio of each row to the first side as an Altair chart.

        Raises `lanewise.InputError` when the extra ``report`` is not installed, or nothing can be compared.
        """
        from lanewise.plotting import sides_chart

        called = {letter: f"{letter}: {name}" for letter, name in zip(LETTERS, self.names, strict=False)}
        return sides_chart(called, self.table)

    def __repr__(self) -> str:
        """Say what is compared."""
        return in_short(self, *map("{} {}".format, LETTERS, self.names))

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the names, and all rows."""
        said = [f"{letter}: {name}" for letter, name in zip(LETTERS, self.names, strict=False)]
        said += [each.sentence for each in self.explanations if each is not None]
        return html("Comparison", said, [("Rows", self.table)])

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the comparison as JSON text."""
        return json.dumps(stamped(self.document), indent=indent, ensure_ascii=False)

    @property
    def document(self) -> Mapping[str, object]:
        """The comparison as JSON has it."""
        document: dict[str, object] = {
            "sides": [_side(side, letter) for side, letter in zip(self.sides, LETTERS, strict=False)],
            "rows": [self._row(row) for row in self.rows],
            "links": self.links,
            "said": [_said(each) for each in self.said],
            "explained": [None if each is None else each.document() for each in (None, *self.explanations)],
            "notes": list(self.notes),
        }
        return document

    def _row(self, row: Row) -> CompareSidesRow:
        first = row.first
        return {
            "name": first.name,
            "direction": first.direction,
            "size_bytes": first.size_bytes,
            "compared": row.quantity,
            "sides": [
                None
                if side is None
                else {
                    "name": side.name,
                    "target": side.target,
                    "queue_depth": side.queue_depth,
                    "workers": side.workers,
                    "alike": side.alike,
                    "gb_per_s": side.gb_per_s,
                    "operations_per_s": side.operations_per_s,
                    "latency_ns_mean": side.latency_ns_mean,
                    "latency_ns_p99": side.latency_ns_p99,
                }
                for side in row.sides
            ],
            "ratio": [row.ratio(number) for number in range(len(row.sides))],
        }


def _over(own: float | None, base: float | None) -> float | None:
    return None if not base or own is None else own / base


def _side(side: Side, letter: str) -> CompareSidesSide:
    run, measurement = side.run, side.measurement
    return {
        "letter": letter,
        "name": side.name,
        "what": side.what,
        "end_reason": None if run is None else run.document["end_reason"],
        "limited_by": None if run is None else run.limited_by,
        "goodput_gb_per_s": None if run is None else run.goodput_gb_per_s,
        "tool": None if measurement is None else measurement.tool,
        "version": None if measurement is None else measurement.version,
        "host": None if measurement is None else measurement.host,
    }


def _said(said: Said) -> CompareSidesSaid:
    return {"what": said.what, "values": list(said.values), "rows": said.rows}
