"""What a search is after: numbers of a trial that are to be large or small, and limits that it has to keep.

    goodput                                   a short word, or a column of the table
    p99_us                                    the same in a unit
    max links.utilisation where link=sw0      what `--metric` takes
    lanes<=96, p99 < 200 us                   limits: several with commas between them

A trial is a point with all its seeds: its numbers are means over them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.quantity import size_of
from lanewise.study.axes import in_base_unit, number_of
from lanewise.study.lanes import LANES
from lanewise.study.measures import GOODPUT, NUMBERS, TAIL, Measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanewise.study.worker import Outcome

_TIMES = {unit: float(size_of("ns") / size_of(unit)) for unit in ("ns", "us", "ms")}
"""What a column in ns is multiplied with."""
_LATENCIES = {"mean": "latency_ns_mean", "p99": TAIL}
_WORDS = {
    "goodput": (GOODPUT, 1.0, "GB/s"),
    GOODPUT: (GOODPUT, 1.0, "GB/s"),
    "operations": ("operations_per_s", 1.0, "1/s"),
    "operations_per_s": ("operations_per_s", 1.0, "1/s"),
    **{word: (column, 1.0, "ns") for word, column in _LATENCIES.items()},
    **{column: (column, 1.0, "ns") for column in _LATENCIES.values()},
    **{
        f"{word}_{unit}": (column, scale, unit)
        for word, column in _LATENCIES.items()
        for unit, scale in _TIMES.items()
    },
    **{word: (word, 1.0, "lanes") for word in LANES},
}
_SHORT = ("goodput", "operations", "mean_us", "p99_us")
"""Those that messages name beside `LANES`."""

_LIMIT = re.compile(r"(?P<number>[^<>]*?)\s*(?P<sign><=|>=|<|>)\s*(?P<bound>[^<>=]+)")

NOT_DONE = 1000.0
"""By how much a trial without all its numbers misses, where 1 is a limit missed by its own size: no limit is
missed by more."""


@dataclass(frozen=True)
class Number:
    """A number of a trial."""

    text: str
    """As it is written."""
    column: str
    """Of the study's table."""
    scale: float = 1.0
    """What the column is multiplied with."""
    unit: str = ""

    @classmethod
    def parse(cls, text: str) -> Number:
        """Read one; InputError says what is wrong with it."""
        text = text.strip()
        if text in _WORDS:
            return cls(text, *_WORDS[text])
        try:
            return cls(text, Measure.parse(text).name)
        except InputError as error:
            raise InputError(f"{error}; short words are {', '.join(_SHORT)}") from error

    @property
    def measure(self) -> str | None:
        """What the study has to keep for it beside what every study has."""
        return None if self.column in NUMBERS else self.column

    def of(self, outcomes: Sequence[Outcome]) -> float | None:
        """Return the mean over the runs of a trial; None where one of them has no such number."""
        values = [outcome.row.get(self.column) for outcome in outcomes if outcome.status == "done"]
        known = [float(value) for value in values if isinstance(value, int | float)]
        return fmean(known) * self.scale if known and len(known) == len(outcomes) else None


@dataclass(frozen=True)
class Goal:
    """A number that is to be as large as can be, or as small."""

    number: Number
    is_maximized: bool

    @property
    def word(self) -> str:
        """What is done with it."""
        return "maximize" if self.is_maximized else "minimize"

    def cost(self, value: float) -> float:
        """Return what is to be small."""
        return -value if self.is_maximized else value


@dataclass(frozen=True)
class Limit:
    """What a trial has to keep."""

    text: str
    number: Number
    sign: str
    bound: float
    """In the unit of the number."""

    @classmethod
    def parse(cls, text: str) -> Limit:
        """Read one; InputError says what is wrong with it."""
        found = _LIMIT.fullmatch(text.strip())
        if found is None or not found["number"]:
            raise InputError(
                f"'{text.strip()}' is not a limit: write NUMBER<=BOUND, like 'lanes<=96' or 'p99<200 us'"
            )
        number = Number.parse(found["number"])
        return cls(text.strip(), number, found["sign"], _bound(found["bound"], number, text.strip()))

    def keeps(self, value: float) -> bool:
        """Whether a value keeps the limit."""
        match self.sign:
            case "<":
                return value < self.bound
            case "<=":
                return value <= self.bound
            case ">":
                return value > self.bound
        return value >= self.bound

    def missed_by(self, value: float | None) -> float:
        """Return by how much a value misses the limit, as a part of the bound; 0 where it keeps it."""
        if value is None:
            return NOT_DONE
        if self.keeps(value):
            return 0.0
        # A value on a bound that it has to stay off misses it by the least.
        return min(max(abs(value - self.bound) / (abs(self.bound) or 1.0), 1e-12), NOT_DONE)


def parse_limits(texts: Sequence[str]) -> list[Limit]:
    """Read limits, several of which may stand in one text with commas between them."""
    found = []
    for text in texts:
        parts: list[str] = []
        for piece in text.split(","):
            # A comma before which nothing is compared belongs to a number: 'where link=sw0, direction=up'.
            if parts and not _LIMIT.fullmatch(parts[-1].strip()):
                parts[-1] += f",{piece}"
            else:
                parts.append(piece)
        found += [Limit.parse(part) for part in parts]
    return found


@dataclass(frozen=True)
class Judged:
    """What a trial is worth."""

    values: tuple[float | None, ...]
    """Of the goals."""
    missed: Mapping[str, float]
    """By how much it misses each limit, 0 where it keeps it; 'done' is whether it has all its numbers."""

    @property
    def is_feasible(self) -> bool:
        """Whether all limits are kept."""
        return not any(self.missed.values())


def judge(outcomes: Sequence[Outcome], goals: Sequence[Goal], limits: Sequence[Limit]) -> Judged:
    """Say what a trial is worth, by the outcomes of its runs."""
    values = tuple(goal.number.of(outcomes) for goal in goals)
    missed = {limit.text: limit.missed_by(limit.number.of(outcomes)) for limit in limits}
    return Judged(values, {"done": NOT_DONE if None in values else 0.0, **missed})


def _bound(text: str, number: Number, said: str) -> float:
    found = number_of(text)
    if found is None:
        raise InputError(f"'{said}': a bound is a number, with or without a unit; found '{text.strip()}'")
    value, unit = found
    if not unit or unit == number.unit:
        return float(value)
    own, given = in_base_unit(f"1 {number.unit}") if number.unit else None, in_base_unit(text)
    if own is None or given is None or own[1] != given[1]:
        has = f"is in {number.unit}" if number.unit else "has the unit of its column"
        raise InputError(f"'{said}': {number.text} {has}; found '{unit}'")
    return float(given[0] / own[0])
