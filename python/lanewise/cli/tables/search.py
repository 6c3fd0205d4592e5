"""Searches in the terminal: the best trials, and how many miss which limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from lanewise.cli.console import stdout
from lanewise.study.knees import alike
from lanewise.study.trials import in_words, reasons_of
from lanewise.written import DASH, counted, plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.study.goals import Number
    from lanewise.study.search import Search
    from lanewise.study.study import StudyResult
    from lanewise.study.trials import Trial

_MOST_ROWS = 20


def print_search(result: StudyResult) -> None:
    """Print the best trials of a search: one, or those of a Pareto front; and what others miss."""
    search = result.study.search
    assert search is not None
    trials, best = result.trials, result.best
    console = stdout()
    if best:
        console.print(_table(result, search, best[:_MOST_ROWS]))
    if len(best) > _MOST_ROWS:
        console.print(f"and {len(best) - _MOST_ROWS} more: 'is_best' in the table says which.", style="dim")
    console.print(f"\n{in_words(search, trials, best)}", soft_wrap=True)
    if not best and (reasons := reasons_of(trials)):
        first, count = next(iter(reasons.items()))
        others = f", and {counted(len(reasons) - 1, 'other reason')}" if len(reasons) > 1 else ""
        runs = sum(len(trial.outcomes) for trial in trials)
        said = f"Why {counted(count, 'run')} of {runs} came to nothing{others}:\n{first}"
        console.print(said, soft_wrap=True, markup=False)


def _table(result: StudyResult, search: Search, best: Sequence[Trial]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("trial", justify="right")
    for path in result.study.parameters:
        table.add_column(path, overflow="fold")
    goals = {goal.number.text: goal.number for goal in search.goals}
    others = {limit.number.text: limit.number for limit in search.limits if limit.number.text not in goals}
    for text, number in {**goals, **others}.items():
        table.add_column(f"{text}{f' ({number.unit})' if _needs_unit(number) else ''}", justify="right")
    table.add_column("limited by", overflow="fold")
    for trial in best:
        numbers = [number.of(trial.outcomes) for number in (*goals.values(), *others.values())]
        table.add_row(
            str(trial.number),
            *(trial.parameters.get(path, DASH) for path in result.study.parameters),
            *(DASH if value is None else plain(float(f"{value:.6g}")) for value in numbers),
            alike(trial.limited_by) if trial.limited_by else DASH,
        )
    return table


def _needs_unit(number: Number) -> bool:
    return bool(number.unit) and not number.text.endswith((f"_{number.unit}", number.unit))
