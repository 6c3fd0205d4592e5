"""Long tables made short: alike rows are one, what is too long is folded, and nothing is lost."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.alike_names import stem, together
from lanewise.grouping import grouped, same_number
from lanewise.report.content import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lanewise.columns import Row

MOST_ROWS = 24
"""Of a table that stands open; the rest is folded below it."""
MOST_FOLDED = 2_000


def rows_of(
    title: str, columns: tuple[str, ...], rows: Sequence[Sequence[str]], note: str = ""
) -> list[Table]:
    """Return a table, and one that is folded for what is too long for it."""
    if len(rows) <= MOST_ROWS + 4:
        return [Table(title, columns, rows, note)] if rows else []
    rest = rows[MOST_ROWS : MOST_ROWS + MOST_FOLDED]
    left = len(rows) - MOST_ROWS - len(rest)
    more = f"{title}: {len(rest):,} more" + (f", and {left:,} that are only in --json" if left else "")
    return [Table(title, columns, rows[:MOST_ROWS], note), Table(more, columns, rest, folded=True)]


def alike_groups(
    rows: Sequence[Row], name: str, words: tuple[str, ...], numbers: tuple[str, ...]
) -> list[list[Row]]:
    """Group rows whose names differ in numbers only, with equal words, and numbers the same to a person."""
    return grouped(
        rows,
        lambda row: (stem(row[name]), *(row[word] for word in words)),
        lambda one, other: all(same_number(one[number], other[number]) for number in numbers),
    )


def alike_rows_of(
    title: str,
    columns: tuple[str, ...],
    groups: Sequence[Sequence[Row]],
    written: Callable[[Sequence[Row]], Sequence[str]],
    note: str = "",
) -> list[Table]:
    """Return a table with a row for each group; behind it, each row by itself, where groups have several."""
    tables = rows_of(title, columns, [written(group) for group in groups], note)
    rows = [written([row]) for group in groups for row in group]
    if len(rows) > len(groups):
        alone = rows[:MOST_FOLDED]
        tables.append(Table(f"{title}, each by itself: {len(alone):,}", columns, alone, folded=True))
    return tables


def called(group: Sequence[Row], name: str) -> str:
    """Return one name for the rows of a group."""
    return together(sorted(dict.fromkeys(row[name] for row in group), key=_counting))


def _counting(name: str) -> list[tuple[int, str]]:
    """Return what names are in the order of their numbers by."""
    pieces = re.split(r"(\d+)", name)
    return [(int(piece), "") if place % 2 else (0, piece) for place, piece in enumerate(pieces)]
