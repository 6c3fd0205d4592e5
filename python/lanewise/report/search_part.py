"""What a report says of a search: what it was after, the best trials, how it came to them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.report.content import NUMBER, Section
from lanewise.report.rows import rows_of
from lanewise.report.search_figures import front, heading, importance, progress, with_unit_of
from lanewise.study.importance import importances
from lanewise.study.knees import alike
from lanewise.study.trials import history, in_words
from lanewise.written import DASH, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.report.content import Table
    from lanewise.report.plots import Figure
    from lanewise.study.search import Search
    from lanewise.study.study import StudyResult
    from lanewise.study.trials import Trial

_MOST_PAIRS = 3
"""Of three goals or more, those with the first one."""


def search_facts(search: Search) -> Iterator[tuple[str, str]]:
    """Give what a search asks, as facts of a part."""
    yield "search", "; ".join(f"{goal.word} {goal.number.text}" for goal in search.goals)
    if search.limits:
        yield "limits", ", ".join(limit.text for limit in search.limits)
    yield "trials", f"{search.trials}, {search.batch} at a time, seed {search.seed}"


def search_sections(result: StudyResult, *, drawn: bool) -> list[Section]:
    """Return what is said of a search beside its points; nothing of other studies."""
    search = result.study.search
    if search is None:
        return []
    trials, best = result.trials, result.best
    figures = list(_figures(result, search)) if drawn and trials else []
    return [
        Section(
            "The best",
            sentences=[in_words(search, trials, best)],
            tables=_table(result, search, best),
            figures=figures,
        ),
        Section("What mattered", figures=list(_importance(result, search)) if drawn else []),
    ]


def search_tiles(result: StudyResult) -> Iterator[tuple[str, str]]:
    """Give the best value of each goal, and where."""
    search = result.study.search
    best = result.best
    for at, goal in enumerate(search.goals if search is not None and best else ()):
        first = min(best, key=lambda trial, at=at, goal=goal: goal.cost(trial.values[at] or 0.0))  # type: ignore[misc]
        where = ", ".join(f"{path}={value}" for path, value in first.parameters.items())
        yield (
            f"{plain(_short(first.values[at]))} {goal.number.unit}".strip(),
            f"best {goal.number.text}: {where}",
        )


def _figures(result: StudyResult, search: Search) -> Iterator[Figure]:
    if len(search.goals) == 1:
        yield progress(result.trials, search, history(result.trials, search.goals[0]))
    for other in range(1, min(len(search.goals), _MOST_PAIRS + 1)):
        yield front(result.trials, result.best, search, (0, other))


def _importance(result: StudyResult, search: Search) -> Iterator[Figure]:
    for goal in search.goals:
        found = importances(result, goal)
        if len(found) > 1:
            yield importance(goal, found)


def _table(result: StudyResult, search: Search, best: Sequence[Trial]) -> list[Table]:
    paths = result.study.parameters
    goals = {goal.number.column for goal in search.goals}
    limits = [number for number in search.numbers if number.column not in goals]
    headings = (*map(heading, search.goals), *(with_unit_of(number) for number in limits))
    columns = ("trial", *paths, *(f"{NUMBER}{each}" for each in headings), "limited by")
    rows = [
        (
            str(trial.number),
            *(trial.parameters.get(path, DASH) for path in paths),
            *(plain(_short(value)) for value in trial.values),
            *(plain(_short(number.of(trial.outcomes))) for number in limits),
            DASH if trial.limited_by is None else alike(trial.limited_by),
        )
        for trial in best
    ]
    return rows_of("The best trials" if len(search.goals) == 1 else "The Pareto front", columns, rows)


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.6g}")
