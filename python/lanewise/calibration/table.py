"""A table of measurements as a person writes one, in CSV or TOML: one row for each thing that was measured.

CSV has the names of the columns in its first line; lines that begin with ``#`` are remarks. TOML has a list
of tables ``[[row]]`` with the same names as keys. Here rows are texts: what they mean is said in
``measured.py``.
"""

from __future__ import annotations

import csv
import io
import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MOST_BYTES = 4 << 20
"""Of a file of measurements. Assumed: a table that a person writes has some kilobytes."""

MOST_ROWS = 10_000
"""Of a table. Assumed: each is at least one run, again and again."""

_ROWS = "row"
_ROW_LINE = re.compile(r"^\s*\[\[\s*row\s*\]\]")


class TableError(InputError):
    """A table of measurements cannot be used; the text lists every mistake."""


@dataclass(frozen=True)
class TableRow:
    """One row, as it is written."""

    line: int
    """From 1."""
    values: Mapping[str, str]
    """By the name of the column; none where nothing stands there."""


@dataclass(frozen=True)
class DataTable:
    """A file of measurements."""

    name: str
    """Of the file, as it was given."""
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]

    def at(self, row: TableRow) -> str:
        """Say where a row is."""
        return f"{self.name}:{row.line}"


def read_table(name: str, text: str) -> DataTable:
    """Read a table; TableError says where it is none."""
    table = _of_toml(name, text) if name.lower().endswith(".toml") else _of_csv(name, text)
    if not table.rows:
        raise TableError(f"'{name}' has no rows: it needs at least one measurement")
    if len(table.rows) > MOST_ROWS:
        raise TableError(f"'{name}' has {len(table.rows):,} rows; at most {MOST_ROWS:,} are read")
    return table


def _of_csv(name: str, text: str) -> DataTable:
    head = next((line for line in text.splitlines() if _counts(line)), "")
    separator = max(",;\t", key=head.count)
    problems: list[str] = []
    columns: list[str] = []
    rows: list[TableRow] = []
    for line, cells in _csv_lines(text, separator):
        if not columns:
            columns = [cell.strip() for cell in cells]
            problems += _wrong_heads(name, line, columns)
            continue
        if len(cells) > len(columns):
            problems.append(
                f"{name}:{line}: {len(cells)} values for {len(columns)} columns; a value with a "
                f"'{separator}' in it stands in double quotes"
            )
            continue
        pairs = zip(columns, cells, strict=False)
        rows.append(TableRow(line, {column: cell.strip() for column, cell in pairs if cell.strip()}))
    if problems:
        raise TableError("\n".join(problems))
    return DataTable(name, tuple(columns), tuple(rows))


def _csv_lines(text: str, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the line and the cells of each row that is no remark."""
    reader = csv.reader(io.StringIO(text), delimiter=separator, skipinitialspace=True)
    before = 0
    try:
        for cells in reader:
            line, before = before + 1, reader.line_num
            if any(cell.strip() for cell in cells) and not cells[0].lstrip().startswith("#"):
                yield line, cells
    except csv.Error as error:
        raise TableError(f"line {reader.line_num} is no row of CSV: {error}") from error


def _counts(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _wrong_heads(name: str, line: int, columns: list[str]) -> Iterator[str]:
    for number, column in enumerate(columns, start=1):
        if not column:
            yield f"{name}:{line}: column {number} has no name"
        elif columns.index(column) < number - 1:
            yield f"{name}:{line}: two columns are called '{column}'"


def _of_toml(name: str, text: str) -> DataTable:
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise TableError(f"'{name}' is not TOML: {error}") from error
    entries = document.pop(_ROWS, None)
    if document or not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        found = ", ".join(f"'{key}'" for key in document) or "no list of tables [[row]]"
        raise TableError(
            f"'{name}' has {found}; a file of measurements has a table [[row]] for each, nothing else"
        )
    starts = [number for number, line in enumerate(text.splitlines(), start=1) if _ROW_LINE.match(line)]
    lines = starts if len(starts) == len(entries) else range(1, len(entries) + 1)
    rows = tuple(
        TableRow(line, dict(_flat(name, line, entry))) for line, entry in zip(lines, entries, strict=True)
    )
    columns = tuple(dict.fromkeys(column for row in rows for column in row.values))
    return DataTable(name, columns, rows)


def _flat(name: str, line: int, entry: Mapping[str, object], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield the values of a table, those of tables in it under dotted names."""
    for key, value in entry.items():
        path = f"{before}{key}"
        if isinstance(value, dict):
            yield from _flat(name, line, value, f"{path}.")
        elif isinstance(value, bool):
            yield path, "true" if value else "false"
        elif isinstance(value, str | int | float):
            yield path, str(value)
        else:
            raise TableError(f"{name}:{line}: '{path}' is neither a text nor a number")
