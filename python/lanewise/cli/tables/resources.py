"""Shared resources of a run that matter: those much in use, and those that others waited for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.cli.tables import style
from lanewise.grouping import grouped

if TYPE_CHECKING:
    from collections.abc import Iterator

    import polars as pl
    from rich.console import RenderableType

    from lanewise.columns import Row

_MUCH = 0.2
"""Part of the time that a resource is in use from which on it is worth a line."""
_WAITING = 0.5
"""How many others wait at a time, from which on it is."""
_SAME = 0.01
_MOST = 12


def resources(table: pl.DataFrame) -> Iterator[RenderableType]:
    """Print them by use, those alike on one line; nothing when none matters."""
    matter = [row for row in table.iter_rows(named=True) if _matters(row)]
    matter.sort(key=lambda row: -row["utilisation"])
    groups = grouped(matter, lambda row: (row["kind"], row["limit"]), _close)
    if not groups:
        return
    shown = style.table()
    style.words(shown, "resource")
    style.labels(shown, "there is")
    style.numbers(shown, "in use", "wait, mean ns", "waiting")
    for group in groups[:_MOST]:
        row = group[0]
        more = f" and {len(group) - 1} alike" if len(group) > 1 else ""
        shown.add_row(
            row["resource"] + more,
            row["limit"],
            style.percent(row["utilisation"]),
            style.fixed(row["waited_ns_mean"], 1),
            style.fixed(row["waiting_mean"], 2),
        )
    left = sum(map(len, groups[_MOST:])) + table.height - len(matter)
    note = f"{left} that matter less are in --json" if left else ""
    yield style.titled("Shared resources", shown, note=note)


def _matters(row: Row) -> bool:
    return row["utilisation"] >= _MUCH or (row["waiting_mean"] or 0.0) >= _WAITING


def _close(one: Row, other: Row) -> bool:
    return bool(abs(one["utilisation"] - other["utilisation"]) <= _SAME)
