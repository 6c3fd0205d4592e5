"""The one look that all tables share, and the few ways numbers are written."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from string import ascii_lowercase
from typing import TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Group
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from lanewise.cli.console import stdout
from lanewise.written import DASH, counted, fixed, percent, shares_in_words, signed, spelled, time_scale

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import Console, RenderableType
    from rich.table import Column

__all__ = [
    "DASH",
    "GB_PER_S",
    "Remarks",
    "counted",
    "emit",
    "fixed",
    "heading",
    "labels",
    "noted",
    "numbers",
    "percent",
    "shares_in_words",
    "signed",
    "spelled",
    "table",
    "time_scale",
    "titled",
    "words",
]
GB_PER_S = "GB/s is 10⁹ bytes/s"
"""Said once in every output that has rates."""
_WIDEST = 1_000
"""No table needs more columns."""


def table() -> Table:
    """Return an empty table: a line under the headings, two spaces between columns, nothing else."""
    return Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0), pad_edge=False)


class Remarks:
    """Sentences that rows refer to by a letter, each written once, below the table."""

    def __init__(self) -> None:
        """Begin without any."""
        self._marks: dict[str, str] = {}

    def mark(self, remark: str) -> str:
        """Return the letter of a remark: a to z, then aa, ab and so on; nothing for an empty one."""
        if not remark:
            return ""
        if remark not in self._marks:
            letters = ascii_lowercase
            before, last = divmod(len(self._marks), len(letters))
            self._marks[remark] = (letters[before - 1] if before else "") + letters[last]
        return self._marks[remark]

    @property
    def are_any(self) -> bool:
        """Whether a row has referred to one."""
        return bool(self._marks)

    def below(self) -> Table:
        """Return them as lines to stand below their table."""
        lines = Table.grid(padding=(0, 2, 0, 0))
        lines.add_column(no_wrap=True)
        lines.add_column()
        for remark, mark in self._marks.items():
            lines.add_row(mark, Text(remark))
        return lines


def heading(text: str, *notes: str) -> Text:
    """Return the first line of an output, with notes behind it."""
    shown = Text(text, style="bold")
    if notes:
        shown.append(f"   {'; '.join(notes)}", style="dim not bold")
    return shown


def titled(title: str, table: Table, *, note: str = "", remarks: Remarks | None = None) -> Group:
    """Put a title above a table, a note behind the title; remarks and an empty line below."""
    _keep_whole(table)
    below: list[RenderableType] = ["", remarks.below()] if remarks is not None and remarks.are_any else []
    return Group(heading(title, *([note] if note else [])), table, *below, "")


def noted(table: Table, note: str) -> Group:
    """Put a note above a table that has its title elsewhere, and an empty line below."""
    _keep_whole(table)
    return Group(*([Text(note, style="dim")] if note else []), table, "")


def _keep_whole(table: Table) -> None:
    """Give columns that never wrap the width of their longest cell: no number is cut."""
    for column in table.columns:
        if column.no_wrap:
            lines = (line for cell in (column.header, *column.cells) for line in str(cell).split("\n"))
            column.min_width = max(map(cell_len, lines))


def numbers(into: Table, *headings: str) -> None:
    """Add right-aligned columns."""
    for heading in headings:
        into.add_column(heading, justify="right", no_wrap=True)


def labels(into: Table, *headings: str) -> None:
    """Add left-aligned columns of short words, which never wrap."""
    for heading in headings:
        into.add_column(heading, no_wrap=True)


def words(into: Table, *headings: str, at_least: int = 8, at_most: int | None = None) -> None:
    """Add left-aligned columns that wrap when they must, or when they are wider than `at_most`."""
    for heading in headings:
        into.add_column(heading, overflow="fold", min_width=at_least, max_width=at_most)


def emit(*renderables: RenderableType) -> None:
    """Print to stdout; into a file or a pipe without the spaces that pad lines."""
    console = stdout()
    if console.is_terminal:
        _print(console, renderables)
        return
    with console.capture() as capture:
        _print(console, renderables)
    console.file.write("\n".join(line.rstrip() for line in capture.get().split("\n")))


def _print(console: Console, renderables: Iterable[RenderableType]) -> None:
    """Print each; of what is wider than the terminal the columns are closer together, then below each other.

    A table that is wider all the same is not cut, and the terminal wraps its lines.
    """
    shown = console.width
    unbounded = console.options.update(max_width=_WIDEST)

    def least(renderable: RenderableType) -> int:
        return Measurement.get(console, unbounded, renderable).minimum

    for renderable in renderables:
        for piece in _fitted(renderable, shown, least):
            console.width = max(shown, least(piece))
            console.print(piece)


def _fitted(
    renderable: RenderableType, width: int, least: Callable[[RenderableType], int]
) -> Iterator[RenderableType]:
    """Give a renderable as it is, or its parts, of which tables that are too wide come as several."""
    parts = renderable.renderables if isinstance(renderable, Group) else [renderable]
    tables = [part for part in parts if isinstance(part, Table) and part.box is box.SIMPLE_HEAD]
    if least(renderable) > width:
        for table in tables:
            table.padding = (0, 0, 0, 0)
    if least(renderable) <= width:
        yield renderable
        return
    for part in parts:
        if part in tables and isinstance(part, Table):
            yield from _below_each_other(part, width, least)
        else:
            yield part


def _below_each_other(
    table: Table, width: int, least: Callable[[RenderableType], int]
) -> Iterator[RenderableType]:
    """Give a table in pieces that are narrow enough, each with the columns that say what a row is."""
    columns = list(table.columns)
    keys = columns[: _keys(columns)]
    piece = list(keys)
    for column in columns[len(keys) :]:
        if len(piece) > len(keys) and least(_with_columns(table, [*piece, column])) > width:
            yield _with_columns(table, piece)
            yield ""
            piece = list(keys)
        piece.append(column)
    yield _with_columns(table, piece)


def _keys(columns: Sequence[Column]) -> int:
    """Return how many columns, from the first, say what a row is: those before two columns of numbers."""
    is_number = [column.justify == "right" for column in columns]
    runs = (at for at in range(1, len(columns) - 1) if is_number[at] and is_number[at + 1])
    return next(runs, 1)


def _with_columns(whole: Table, columns: Sequence[Column]) -> Table:
    """Return a table with some of its columns."""
    some = copy(whole)
    some.columns = [replace(column, _index=at) for at, column in enumerate(columns)]
    return some
