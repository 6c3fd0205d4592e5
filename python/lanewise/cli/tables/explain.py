"""Every resolved parameter and where it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl
from rich.text import Text

from lanewise.cli.tables import style
from lanewise.cli.tables.remarks import remarks

if TYPE_CHECKING:
    from rich.console import Group

    from lanewise.results import ExplainResult

_STYLES = {"assumed": "yellow", "calibrated": "cyan", "published": "green", "datasheet": "green"}


def print_explain(result: ExplainResult) -> None:
    """Print what the links negotiated, what the user chose, and what is claimed about hardware."""
    title = Text(f"{result.title}\n" if result.title else "", style="bold")
    style.emit(title, *remarks(result.document), _links(result), _choices(result), _claims(result))


def _links(result: ExplainResult) -> Group:
    table = style.table()
    style.words(table, "link", "upper", "lower")
    style.labels(table, "mode")
    style.numbers(table, "MPS")
    style.words(table, "limited by")
    for link in result.links.iter_rows(named=True):
        mps = style.DASH if link["mps_bytes"] is None else f"{link['mps_bytes']} B"
        mode = f"{link['generation']} {link['width']}"
        table.add_row(link["link"], link["upper"], link["lower"], mode, mps, _limits(link))
    return style.titled("Links", table, note="after negotiation")


def _limits(link: dict[str, object]) -> str:
    """Name what decided speed, width and payload size of a link; what decided several is named once.

    An end is named only where it can do less than the other.
    """
    decided: dict[str, list[str]] = {}
    for what in ("generation", "width", "mps"):
        by = str(link[f"{what}_limited_by"] or "")
        if by in ("", "both ends"):
            continue
        decided.setdefault(by.removesuffix(".mps_supported"), []).append("MPS" if what == "mps" else what)
    return "; ".join(f"{', '.join(what)}: {by}" for by, what in decided.items())


def _choices(result: ExplainResult) -> Group:
    table = style.table()
    style.labels(table, "parameter")
    style.words(table, "value", "where it was chosen")
    for row in result.parameters.filter(pl.col("role") == "choice").iter_rows(named=True):
        table.add_row(Text(row["path"]), Text(row["value"]), _short(row["place"]))
    return style.titled("Choices", table, note="the run, firmware and workloads")


def _claims(result: ExplainResult) -> Group:
    table = style.table()
    style.labels(table, "parameter")
    style.words(table, "value", at_most=22)
    style.labels(table, "provenance")
    style.words(table, "where it came from", at_least=24)
    for row in result.parameters.filter(pl.col("role") != "choice").iter_rows(named=True):
        source = Text(origin(row, with_place=True))
        table.add_row(Text(row["path"]), Text(row["value"]), provenance(row["provenance"]), source)
    return style.titled("Hardware", table, note="every value with its provenance")


def _short(place: str | None) -> str:
    """Return a place without the folders before the name of its file."""
    return (place or "").rpartition("/")[2]


def provenance(name: str | None) -> Text:
    """Write a provenance, coloured by how much trust it deserves."""
    return Text(name or style.DASH, style=_STYLES.get(name or "", ""))


def origin(row: dict[str, object], *, with_place: bool) -> str:
    """Write a parameter's source, the cells it was fitted on, and the place in a file that set it."""
    fitted_on = row["fitted_on"]
    pieces = [str(row["source"] or "")]
    if isinstance(fitted_on, list) and fitted_on:
        pieces.append("fitted on " + ", ".join(map(str, fitted_on)))
    if with_place:
        pieces.append(_short(str(row["place"] or "")))
    return "; ".join(piece for piece in pieces if piece)
