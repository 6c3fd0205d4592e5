"""Two runs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.cli.console import stdout
from lanewise.cli.tables import style

if TYPE_CHECKING:
    from rich.table import Table

    from lanewise.analysis.comparison import Comparison

_MOST_CHANGES = 30


def print_comparison(comparison: Comparison) -> None:
    """Print flows, ladders, and what the time of each link direction went to instead."""
    console = stdout()
    for letter, name, end in zip("AB", comparison.names, comparison.end_reasons, strict=True):
        console.print(Text.assemble((f"{letter}  ", "bold"), name, (f"   {end}", "dim")))
    console.print()
    console.print(_flows(comparison))
    if not comparison.ladders.is_empty():
        console.print(_ladders(comparison))
        console.print(_changes(comparison))
    for letter, links in (("A", comparison.only_in_a), ("B", comparison.only_in_b)):
        if links:
            console.print(f"Only {letter} has the {'link' if len(links) == 1 else 'links'} {', '.join(links)}.")


def _flows(comparison: Comparison) -> Table:
    latencies = [*comparison.flows["a_latency_ns_mean"], *comparison.flows["b_latency_ns_mean"]]
    unit, scale = style.time_scale(latencies)
    table = style.table("Flows", note="MiB/s is 2²⁰ bytes per second; ratios are B over A")
    style.words(table, "flow")
    style.numbers(table, "A MiB/s", "B MiB/s", "ratio", f"A mean {unit}", f"B mean {unit}")
    for row in comparison.flows.iter_rows(named=True):
        a, b = row["a_latency_ns_mean"], row["b_latency_ns_mean"]
        table.add_row(
            row["flow"],
            style.fixed(row["a_mib_per_s"], 1),
            style.fixed(row["b_mib_per_s"], 1),
            style.fixed(row["ratio"], 3),
            style.fixed(None if a is None else a / scale, 1),
            style.fixed(None if b is None else b / scale, 1),
        )
    total = comparison.totals.row(0, named=True)
    table.add_section()
    table.add_row("all", style.fixed(total["a"], 1), style.fixed(total["b"], 1), style.fixed(total["ratio"], 3), "", "")
    return table


def _ladders(comparison: Comparison) -> Table:
    table = style.table("Goodput of the links that both have", note="GB/s is 10⁹ bytes per second")
    style.words(table, "link", "direction")
    style.numbers(table, "A GB/s", "B GB/s", "ratio", "A in use", "B in use")
    last = None
    for row in comparison.ladders.iter_rows(named=True):
        table.add_row(
            row["link"] if row["link"] != last else "",
            row["direction"],
            style.fixed(row["a_gb_per_s"], 3),
            style.fixed(row["b_gb_per_s"], 3),
            style.fixed(row["ratio"], 3),
            style.percent(row["a_utilisation"]),
            style.percent(row["b_utilisation"]),
        )
        last = row["link"]
    return table


def _changes(comparison: Comparison) -> Table:
    left_out = max(0, comparison.changes.height - _MOST_CHANGES)
    note = "percentage points, biggest first" + (f"; {left_out} smaller ones are in --json" if left_out else "")
    table = style.table("Where the time went instead", note=note)
    style.words(table, "link", "direction", "category")
    style.numbers(table, "A", "B", "change")
    for row in comparison.changes.head(_MOST_CHANGES).iter_rows(named=True):
        table.add_row(
            row["link"],
            row["direction"],
            style.spelled(row["category"]),
            f"{row['a_percent']:.1f} %",
            f"{row['b_percent']:.1f} %",
            style.signed(row["change_points"], 1),
        )
    return table
