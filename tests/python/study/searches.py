"""Searches over formulas instead of simulations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.study import searching
from lanewise.study.study import Study, StudyResult
from lanewise.study.worker import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lanewise.study.points import Point
    from lanewise.study.search import Search

AXES = ("a.n=1..40", "b.n=1..40", "c.n=x,y,z")


class StandIn:
    """A runner that knows a formula, and answers in an order of its own."""

    def __init__(
        self, formula: Callable[[Mapping[str, str]], Mapping[str, float] | None], turn: int = 1
    ) -> None:
        self.ran: list[int] = []
        self._formula = formula
        self._turn = turn
        self._points: list[Point] = []

    @property
    def left(self) -> int:
        return len(self._points)

    def give(self, points: Iterable[Point]) -> None:
        self._points += points

    def take(self, timeout_s: float | None = None) -> list[Outcome]:
        point = self._points.pop(self._turn % len(self._points))
        self.ran.append(point.number)
        row = self._formula(dict(point.overrides))
        if row is None:
            return [Outcome(point.number, "refused", {}, "x", overrides=point.overrides)]
        return [Outcome(point.number, "done", dict(row), overrides=point.overrides)]

    def end(self) -> None:
        pass


def hill(values: Mapping[str, str]) -> Mapping[str, float]:
    """Highest at a = 31, b = 12, c = y: 100."""
    a, b = int(values["a.n"]), int(values["b.n"])
    return {"goodput_gb_per_s": 100.0 - abs(a - 31) - 2.0 * abs(b - 12) - 15.0 * (values["c.n"] != "y")}


def searched(
    search: Search,
    formula: Callable[[Mapping[str, str]], Mapping[str, float] | None] = hill,
    axes: Sequence[str] = AXES,
    turn: int = 1,
    seeds: tuple[int, ...] = (),
) -> StudyResult:
    asked = Study("made", "", tuple(axes), seeds, metrics=search.measures, search=search)
    found = searching.run_search(asked, StandIn(formula, turn), {}, None, None)
    return StudyResult(asked, [found[number] for number in sorted(found)])


def chosen(result: StudyResult) -> list[dict[str, str]]:
    return [trial.parameters for trial in result.trials]


def two_ways(values: Mapping[str, str]) -> Mapping[str, float]:
    """What is good for one number is bad for the other, but for b, whose best value is 40."""
    a, b = int(values["a.n"]), int(values["b.n"])
    return {"goodput_gb_per_s": a + b / 40, "operations_per_s": a * a - b / 40}
