"""What a run rests on: values that no specification fixes, and how far each moves the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.cli.tables import style
from lanewise.written import gain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from lanewise.rests_on import Dependence
    from lanewise.results import RunResult

_MOST_PATHS = 2
"""So many parameters of a value are named; how many more there are is said."""


def rests_on(result: RunResult) -> Iterator[RenderableType]:
    """Print the values that move a run, the strongest first; nothing where none was varied."""
    found = result.rests_on
    if found is None:
        return
    if found.effects:
        table = style.table()
        style.words(table, "parameter")
        style.labels(table, "provenance")
        style.numbers(table, "value", "tried", "goodput", "latency")
        for effect in found.effects:
            for row, moved in enumerate((effect.lower, effect.higher)):
                head = (_named(effect), effect.provenance, effect.value) if row == 0 else ("", "", "")
                changes = map(gain, (moved.goodput_percent, moved.latency_percent))
                table.add_row(*head, moved.value, *changes)
        note = "changes of the goodput of all data, and of the mean latency of the largest flow"
        yield style.titled("What the result rests on", table, note=note)
    yield from found.said(result.assumptions.height)
    yield ""


def _named(effect: Dependence) -> str:
    more = len(effect.paths) - _MOST_PATHS
    named = ", ".join(effect.paths[:_MOST_PATHS])
    return named if more <= 0 else f"{named} and {more} more"
