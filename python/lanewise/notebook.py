"""What a notebook shows of a result: a heading, sentences, and tables whose headings say the unit.

Of a table of thousands of rows the first stand there, and how many more there are.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from lanewise.units import unit_of, without_unit

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

MOST_ROWS = 20
"""Of a table that are shown."""
_DASH = "\N{EN DASH}"


def html(title: str, sentences: Iterable[str] = (), tables: Iterable[tuple[str, pl.DataFrame]] = ()) -> str:
    """Return a piece of a page; texts are escaped, empty tables left out."""
    parts = [
        f"<h4>{escape(title)}</h4>",
        *(f"<p>{escape(sentence)}</p>" for sentence in sentences if sentence),
    ]
    for name, table in tables:
        if table.height:
            parts.append(_table(name, table))
    return f'<div class="lanewise">{"".join(parts)}</div>'


def _table(name: str, table: pl.DataFrame) -> str:
    heads = "".join(
        f'<th style="text-align:left">{escape(_heading(column))}</th>' for column in table.columns
    )
    rows = "".join(_row(row) for row in table.head(MOST_ROWS).rows())
    rest = table.height - MOST_ROWS
    more = f"<p>and {rest:,} more; the attribute has them all</p>" if rest > 0 else ""
    caption = f'<caption style="text-align:left">{escape(name)}</caption>'
    return f"<table>{caption}<thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _heading(column: str) -> str:
    unit = unit_of(column)
    words = without_unit(column).replace("_", " ")
    return f"{words}, {unit}" if unit and unit != "1" else words


def _row(values: Sequence[object]) -> str:
    return f"<tr>{''.join(map(_cell, values))}</tr>"


def _cell(value: object) -> str:
    side = "right" if isinstance(value, int | float) and not isinstance(value, bool) else "left"
    return f'<td style="text-align:{side}">{escape(_text(value))}</td>'


def _text(value: object) -> str:
    match value:
        case None:
            return _DASH
        case bool():
            return "yes" if value else "no"
        case int():
            return f"{value:,}"
        case float():
            return f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
        case list():
            return ", ".join(map(_text, value))
        case _:
            return str(value)
