"""What came of a search: its trials, the best of them, and how the best got better."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.study.goals import judge
from lanewise.written import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from lanewise.study.goals import Goal, Judged, Limit
    from lanewise.study.search import Search
    from lanewise.study.study import StudyResult
    from lanewise.study.worker import Outcome

OF_TRIALS = ("trial", "is_feasible", "is_best")
"""Columns of a search's table."""


@dataclass(frozen=True)
class Trial:
    """A point of a search with all its seeds."""

    number: int
    """From 0 on, in the order in which trials were chosen."""
    parameters: dict[str, str]
    """What the search chose: paths and values."""
    outcomes: tuple[Outcome, ...]
    """One for each seed."""
    judged: Judged

    @property
    def values(self) -> tuple[float | None, ...]:
        """Of the goals, each in its unit, the mean over the seeds; None where it was not measured."""
        return self.judged.values

    @property
    def is_feasible(self) -> bool:
        """Whether it was run and keeps all limits."""
        return self.judged.is_feasible

    @property
    def limited_by(self) -> str | None:
        """What limits it, with the first seed."""
        name = self.outcomes[0].row.get("limited_by")
        return None if name is None else str(name)


def trials_of(result: StudyResult) -> list[Trial]:
    """Return the trials of a search whose runs are all finished, in their order; none of other studies."""
    study, search = result.study, result.study.search
    if search is None:
        return []
    runs = max(len(study.seeds), 1)
    finished = {outcome.number: outcome for outcome in result.outcomes}
    found = []
    for number in range(study.size // runs):
        outcomes = tuple(
            finished[each] for each in range(number * runs, (number + 1) * runs) if each in finished
        )
        if len(outcomes) == runs:
            given = dict(outcomes[0].overrides)
            parameters = {path: given[path] for path in study.parameters if path in given}
            found.append(Trial(number, parameters, outcomes, judge(outcomes, search.goals, search.limits)))
    return found


def best_of(trials: Sequence[Trial], goals: Sequence[Goal]) -> list[Trial]:
    """Return the trials that keep all limits and that no other such one beats.

    With one goal these are the best one and those that are as good; with several the Pareto front, the best
    in the first goal first.
    """
    costs = sorted(
        (
            (cost, trial)
            for trial in trials
            if trial.is_feasible and (cost := cost_of(trial, goals)) is not None
        ),
        key=lambda each: (each[0], each[1].number),
    )
    kept: list[tuple[tuple[float, ...], Trial]] = []
    for cost, trial in costs:
        # In this order what is beaten is beaten by one before it.
        if not any(_beats(other, cost) for other, _ in kept):
            kept.append((cost, trial))
    return [trial for _, trial in kept]


def cost_of(trial: Trial, goals: Sequence[Goal]) -> tuple[float, ...] | None:
    """Return what is to be small of a trial; None where a value is missing."""
    costs = [goal.cost(value) for goal, value in zip(goals, trial.values, strict=True) if value is not None]
    return tuple(costs) if len(costs) == len(goals) else None


def history(trials: Sequence[Trial], goal: Goal) -> list[tuple[int, float]]:
    """Return at which trial a better one came, and its value in the goal, of those that keep all limits."""
    found: list[tuple[int, float]] = []
    for trial in trials:
        value = trial.values[0]
        if (
            trial.is_feasible
            and value is not None
            and (not found or goal.cost(value) < goal.cost(found[-1][1]))
        ):
            found.append((trial.number, value))
    return found


def misses(search: Search, trials: Sequence[Trial]) -> list[str]:
    """Say for each limit how many trials miss it, and how many have not been measured, the most first."""
    # Of equal counts in the order of the limits.
    counts = Counter({_missed(limit): 0 for limit in search.limits})
    for trial in trials:
        counts.update(_misses_of(search, trial))
    return [said.format(count) for said, count in counts.most_common() if count]


def _misses_of(search: Search, trial: Trial) -> Iterator[str]:
    if any(outcome.status != "done" for outcome in trial.outcomes):
        yield "{} cannot be built or failed"
        return
    lacking = {number.column for number in search.numbers if number.of(trial.outcomes) is None}
    for number in search.numbers:
        if number.column in lacking:
            yield f"{{}} without {_escaped(number.text)}"
    for limit in search.limits:
        if limit.number.column not in lacking and trial.judged.missed[limit.text]:
            yield _missed(limit)


def _missed(limit: Limit) -> str:
    return f"{_escaped(limit.text)} missed by {{}}"


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def reasons_of(trials: Sequence[Trial]) -> dict[str, int]:
    """Return why runs came to nothing, and of how many of them; the most frequent reason first."""
    errors = Counter(outcome.error for trial in trials for outcome in trial.outcomes if outcome.error)
    return dict(errors.most_common())


def in_words(search: Search, trials: Sequence[Trial], best: Sequence[Trial]) -> str:
    """Say what the best trials are, and how many miss which limit."""
    of = f"of {counted(len(trials), 'trial')}"
    if not best:
        said = f"None {of} keeps all limits" if search.limits else f"None {of} has what is asked for"
    elif len(search.goals) > 1:
        said = f"The Pareto front has {len(best)} {of}"
    else:
        said = f"The best {of}" if len(best) == 1 else f"The best {of}: {len(best)} are alike"
    kept = sum(trial.is_feasible for trial in trials)
    if best and kept < len(trials):
        said += f"; all limits are kept by {kept}"
    return "; ".join((said, *misses(search, trials))) + "."


def trial_columns(result: StudyResult) -> list[pl.Series]:
    """Return the columns `OF_TRIALS`: a row for each finished run; null until its trial is whole."""
    import polars as pl

    best = {trial.number for trial in result.best}
    known = {trial.number: trial for trial in result.trials}
    runs = max(len(result.study.seeds), 1)
    numbers = [outcome.number // runs for outcome in result.outcomes]
    return [
        pl.Series("trial", numbers, pl.Int64),
        pl.Series(
            "is_feasible",
            [known[each].is_feasible if each in known else None for each in numbers],
            pl.Boolean,
        ),
        pl.Series("is_best", [each in best if each in known else None for each in numbers], pl.Boolean),
    ]


def search_document(result: StudyResult) -> dict[str, object]:
    """Return what JSON says of a search beside its points; nothing of other studies."""
    search = result.study.search
    if search is None:
        return {}
    goals = [(goal.word, goal.number.text, goal.number.unit) for goal in search.goals]
    return {
        "search": {
            "goals": [dict(zip(("do", "number", "unit"), goal, strict=True)) for goal in goals],
            "limits": [limit.text for limit in search.limits],
            "trials": len(result.trials),
            "best": [
                {
                    "trial": trial.number,
                    "parameters": trial.parameters,
                    "values": list(trial.values),
                    "limited_by": trial.limited_by,
                }
                for trial in result.best
            ],
        }
    }


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(mine <= its for mine, its in zip(one, other, strict=True))
