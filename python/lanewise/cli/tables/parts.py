"""The catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.cli.console import stdout
from lanewise.cli.tables import style
from lanewise.cli.tables.explain import origin, provenance

if TYPE_CHECKING:
    from lanewise.results import PartsResult


def print_parts(result: PartsResult) -> None:
    """Print one line per part."""
    table = style.table("Parts", note="'lanewise parts NAME' shows one with its sources")
    style.words(table, "part", "kind", "title")
    for row in result.parts.iter_rows(named=True):
        table.add_row(row["part"], row["kind"], Text(row["title"]))
    stdout().print(table)


def print_part(result: PartsResult) -> None:
    """Print one part with every parameter and its source."""
    console = stdout()
    part = result.document["parts"][0]
    console.print(Text(f"{part['title']} ({part['kind']})", style="bold"))
    table = style.table(part["name"])
    style.words(table, "parameter", "value", "provenance", "source")
    for row in result.parameters.iter_rows(named=True):
        table.add_row(
            Text(row["path"]), Text(row["value"]), provenance(row["provenance"]), Text(origin(row, with_place=False))
        )
    console.print(table)
