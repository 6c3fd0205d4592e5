"""The catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.cli.tables import style
from lanewise.cli.tables.explain import origin, provenance

if TYPE_CHECKING:
    from lanewise.results import PartsResult


def print_parts(result: PartsResult) -> None:
    """Print one line per part."""
    table = style.table()
    style.labels(table, "part", "kind")
    style.words(table, "title")
    for row in result.parts.iter_rows(named=True):
        table.add_row(row["part"], row["kind"], Text(row["title"]))
    style.emit(style.titled("Parts", table, note="'lanewise parts NAME' shows one with its sources"))


def print_part(result: PartsResult) -> None:
    """Print one part with every parameter and its source."""
    part = result.document["parts"][0]
    table = style.table()
    style.words(table, "parameter")
    style.words(table, "value", at_most=22)
    style.labels(table, "provenance")
    style.words(table, "source")
    for row in result.parameters.iter_rows(named=True):
        source = Text(origin(row, with_place=False))
        table.add_row(Text(row["path"]), Text(row["value"]), provenance(row["provenance"]), source)
    style.emit(style.titled(part["name"], table, note=f"{part['title']} ({part['kind']})"))
