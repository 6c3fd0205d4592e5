"""What explains the difference between two runs: what differs, and what each of it brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.cli.console import stdout
from lanewise.cli.tables import style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import RenderableType

    from lanewise.side_by_side.explained import Explanation, Outcome, Tried

_NUMBERS = 30
"""Columns of a terminal that numbers take, and what is between columns."""
_MOST_ROWS = 12
_MOST_NAMES = 3


def explained(
    explanation: Explanation, a: str = "A", b: str = "B", *, several: bool = False
) -> Iterator[RenderableType]:
    """Yield the answer, and a row for each thing that differs; `a` and `b` are the letters of the sides.

    With `several`, there are others besides.
    """
    title = f"What explains the difference from {a} to {b}" if several else "What explains the difference"
    unit, digits = explanation.measure.unit, explanation.measure.digits
    yield Text.assemble((f"{title}   ", "bold"), f"{explanation.sentence}.")
    if explanation.not_tried is not None and explanation.tried:
        yield Text(f"Not tried: {explanation.not_tried}.", style="dim")
    if not explanation.tried:
        yield ""
        return
    tried = any(each.alone is not None for each in explanation.tried) and len(explanation.tried) > 1
    table = style.table()
    room = max(32, stdout().width - _NUMBERS)
    style.words(table, "\nwhat differs", at_least=10, at_most=room // 2)
    style.words(table, f"\nin {a}", f"\nin {b}", at_least=5, at_most=room // 4)
    if tried:
        style.numbers(table, "only\nthis", "without\nit", "\nshare")
    for each in explanation.tried[:_MOST_ROWS]:
        numbers = (
            _number(each.alone, explanation, digits),
            _number(each.without, explanation, digits),
            _share(each),
        )
        table.add_row(*_words(each), *(numbers if tried else ()))
    note = ""
    if tried:
        ends = (_number(side, explanation, digits) for side in (explanation.a, explanation.b))
        note = (
            f"{unit[0].upper()}{unit[1:]}: {a} {next(ends)}, {b} {next(ends)}. Only this: {a} with it as in "
            f"{b}. Without it: {b} with it as in {a}. Share: of the difference, what it brings alone."
        )
    left = len(explanation.tried) - _MOST_ROWS
    if left > 0:
        note += f"{' ' if note else ''}--json has {left} more."
    yield style.noted(table, note)


def _number(outcome: Outcome | None, explanation: Explanation, digits: int) -> str:
    return style.fixed(None if outcome is None else explanation.measure.of(outcome), digits)


def _share(tried: Tried) -> str:
    return (
        style.DASH
        if tried.share is None
        else f"{abs(share) if abs(share := 100 * tried.share) < 0.5 else share:.0f} %"
    )


def _words(tried: Tried) -> tuple[str, str, str]:
    """Return names and values: those of alike components as one, and of many the first."""
    lines = tried.difference.lines
    if len(lines) > _MOST_NAMES + 1:
        more = len(lines) - _MOST_NAMES
        lines = [*lines[:_MOST_NAMES], (f"and {more} more", "", "")]
    names, in_a, in_b = (", ".join(filter(None, column)) for column in zip(*lines, strict=True))
    return names, in_a, in_b
