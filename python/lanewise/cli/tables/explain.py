"""Every resolved parameter and where it came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.cli.console import stdout
from lanewise.cli.tables import style

if TYPE_CHECKING:
    from lanewise.results import ExplainResult

_STYLES = {"assumed": "yellow", "calibrated": "cyan", "published": "green", "datasheet": "green"}


def print_explain(result: ExplainResult) -> None:
    """Print what the links negotiated, and then every parameter."""
    console = stdout()
    console.print(Text(result.title, style="bold"))
    console.print()
    links = style.table("Links", note="after negotiation")
    style.words(links, "link", "upper", "lower", "mode")
    style.numbers(links, "MPS")
    for link in result.links.iter_rows(named=True):
        mps = style.DASH if link["mps_bytes"] is None else f"{link['mps_bytes']} B"
        links.add_row(link["link"], link["upper"], link["lower"], f"{link['generation']} {link['width']}", mps)
    console.print(links)

    parameters = style.table("Parameters")
    style.words(parameters, "parameter", "value", "provenance", "where it came from")
    for row in result.parameters.iter_rows(named=True):
        parameters.add_row(
            Text(row["path"]), Text(row["value"]), provenance(row["provenance"]), Text(origin(row, with_place=True))
        )
    console.print(parameters)


def provenance(name: str | None) -> Text:
    """Write a provenance, coloured by how much trust it deserves."""
    return Text(name or style.DASH, style=_STYLES.get(name or "", ""))


def origin(row: dict[str, object], *, with_place: bool) -> str:
    """Write a parameter's source, the cells it was fitted on, and the place in a file that set it."""
    fitted_on = row["fitted_on"]
    pieces = [str(row["source"] or "")]
    if isinstance(fitted_on, list) and fitted_on:
        pieces.append("fitted on " + ", ".join(map(str, fitted_on)))
    if with_place and row["place"]:
        pieces.append(str(row["place"]))
    return "; ".join(piece for piece in pieces if piece)
