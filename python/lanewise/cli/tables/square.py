"""Tables with a row and a column for each of some devices, in parts where the terminal is too narrow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.cli.console import stdout
from lanewise.cli.tables import style

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import RenderableType

SAME = "X"
"""In the cell of a device with itself, as `nvidia-smi topo -m` prints it."""

_GAP = 2
"""Columns of the terminal after each of a table's."""


def square(
    title: str,
    note: str,
    rows: Sequence[str],
    columns: Sequence[str],
    cell: Callable[[int, int], str],
) -> Iterator[RenderableType]:
    """Make a matrix; `cell` has the text of a row and a column, both by number."""
    cells = [[cell(row, column) for column in range(len(columns))] for row in range(len(rows))]
    widest = max((len(text) for values in (columns, *cells) for text in values), default=1)
    label = max(map(len, rows), default=0) + _GAP
    most = max(1, (stdout().width - label) // (widest + _GAP))
    for first in range(0, len(columns), most):
        table = style.table()
        style.labels(table, "")
        style.numbers(table, *columns[first : first + most])
        for name, values in zip(rows, cells, strict=True):
            table.add_row(name, *values[first : first + most])
        yield style.titled(title, table, note=note) if first == 0 else style.titled("", table)
