"""What limits a scenario, proven: candidates by what each would bring ten times larger."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.cli.tables import style
from lanewise.cli.tables.rests_on import rests_on
from lanewise.written import decimals, gain

if TYPE_CHECKING:
    from rich.console import Group

    from lanewise.results import WhyResult


def print_why(result: WhyResult) -> None:
    """Print the verdict, the ranking behind it, and what the result rests on where that was tried."""
    ranking = [_ranking(result)] if result.larger.height else []
    style.emit(Text(f"{result.verdict}."), "", *ranking, *rests_on(result))


def _ranking(result: WhyResult) -> Group:
    moves_bytes = bool((result.larger["goodput_before_gb_per_s"] > 0).any())
    counted, usual = ("goodput_{}_gb_per_s", 3) if moves_bytes else ("operations_{}_per_s", 0)
    columns = [counted.format(word) for word in ("before", "after")]
    digits = decimals((value for name in columns for value in result.larger[name]), usual)
    table = style.table()
    style.words(table, "ten times larger")
    style.numbers(table, "its share", "before", "after", "brings")
    for row in result.larger.iter_rows(named=True):
        table.add_row(
            row["what"],
            style.percent(row["share"]) if row["share"] else style.DASH,
            *(style.fixed(row[name], digits) for name in columns),
            gain(row["gain_percent"]),
        )
    unit = "GB/s (10⁹ bytes/s) of all data" if moves_bytes else "operations a second"
    note = f"{unit}; its share: of the time, in the unchanged run"
    if result.larger["kind"].str.ends_with("_latency").any():
        note += "; of a latency, a tenth"
    return style.titled("What would bring more", table, note=note)
