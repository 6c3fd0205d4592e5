"""Two runs side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.alike_names import together
from lanewise.cli.tables import collapse, style
from lanewise.cli.tables.explained import explained
from lanewise.written import decimals

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Group, RenderableType

    from lanewise.comparison import Comparison

_MOST_CHANGES = 30


def print_comparison(comparison: Comparison) -> None:
    """Print flows, ladders, and what the time of each link direction went to instead."""
    style.emit(*_pieces(comparison))


def _pieces(comparison: Comparison) -> Iterator[RenderableType]:
    for letter, name, end, limit in zip(
        "AB", comparison.names, comparison.end_reasons, comparison.limits, strict=True
    ):
        yield Text.assemble((f"{letter}  ", "bold"), name, (f"   {end}", "dim"))
        if limit is not None:
            yield Text(f"   {limit}.")
    explanation = comparison.explanation
    if explanation is not None and not explanation.tried:
        yield Text(f"{explanation.sentence}.", style="yellow")
        explanation = None
    yield ""
    yield _flows(comparison)
    if not comparison.operations_without_bytes.is_empty():
        yield _operations(comparison)
    if not comparison.ladders.is_empty():
        yield _ladders(comparison)
        yield _changes(comparison)
    for letter, links in (("A", comparison.only_in_a), ("B", comparison.only_in_b)):
        if links:
            yield f"Only {letter} has the {'link' if len(links) == 1 else 'links'} {', '.join(links)}."
    if explanation is not None:
        if comparison.only_in_a or comparison.only_in_b:
            yield ""
        yield from explained(explanation)


def _flows(comparison: Comparison) -> Group:
    moving = list(comparison.flows_to_show.iter_rows(named=True))
    unit, scale = style.time_scale(row[f"{side}_latency_ns_mean"] for row in moving for side in "ab")
    table = style.table()
    style.words(table, "\nflow")
    style.labels(table, "\ndirection")
    style.numbers(
        table, "A\nMiB/s", "B\nMiB/s", "\nratio", f"A mean\nlatency {unit}", f"B mean\nlatency {unit}"
    )
    groups = collapse.compared_flows(moving)
    for group in groups:
        row = group[0]
        a, b = (
            None if value is None else value / scale
            for value in (row["a_latency_ns_mean"], row["b_latency_ns_mean"])
        )
        digits = decimals((value for value in (a, b) if value is not None), 2)
        table.add_row(
            together([each["flow"] for each in group]),
            row["direction"],
            style.fixed(row["a_mib_per_s"], 1),
            style.fixed(row["b_mib_per_s"], 1),
            style.fixed(row["ratio"], 3),
            style.fixed(a, digits),
            style.fixed(b, digits),
        )
    total = comparison.totals.row(0, named=True)
    sums = style.fixed(total["a"], 1), style.fixed(total["b"], 1), style.fixed(total["ratio"], 3)
    table.add_section()
    table.add_row("all data", "", *sums, "", "")
    note = "MiB/s is 2²⁰ bytes/s; ratios are B over A" + _each(groups)
    return style.titled("Flows", table, note=note)


def _operations(comparison: Comparison) -> Group:
    """Return flows that no rate of bytes says anything about, like frames of a game."""
    table = style.table()
    style.words(table, "flow")
    style.labels(table, "direction", "of")
    style.numbers(table, "A /s", "B /s", "ratio")
    for row in comparison.operations_without_bytes.iter_rows(named=True):
        rates = (style.fixed(row[f"{side}_per_s"], 1) for side in "ab")
        table.add_row(row["flow"], row["direction"], row["counted"], *rates, style.fixed(row["ratio"], 3))
    return style.titled("Operations without bytes", table)


def _ladders(comparison: Comparison) -> Group:
    table = style.table()
    style.words(table, "\nlink")
    style.labels(table, "\ndirection")
    style.numbers(table, "A\nGB/s", "B\nGB/s", "\nratio", "A\nin use", "B\nin use")
    groups = collapse.compared_links(comparison.ladders.iter_rows(named=True))
    for group in groups:
        name = together([link[0]["link"] for link in group])
        for number, row in enumerate(group[0]):
            table.add_row(
                "" if number else name,
                row["direction"],
                style.fixed(row["a_gb_per_s"], 3),
                style.fixed(row["b_gb_per_s"], 3),
                style.fixed(row["ratio"], 3),
                style.percent(row["a_utilisation"]),
                style.percent(row["b_utilisation"]),
            )
    note = "GB/s is 10⁹ bytes/s" + _each(groups)
    return style.titled("Goodput of the links that both have", table, note=note)


def _changes(comparison: Comparison) -> Group | str:
    if comparison.changes.is_empty():
        return "No link direction that both have spent its time differently.\n"
    groups = collapse.changes(comparison.changes.iter_rows(named=True))
    rows = [(row, group, number == 0) for group in groups for number, row in enumerate(group[0])]
    left_out = sum(len(group) for _, group, _ in rows[_MOST_CHANGES:])
    table = style.table()
    style.words(table, "\nlink")
    style.labels(table, "\ndirection", "\ncategory")
    style.numbers(table, "A\n%", "B\n%", "change\npoints")
    for row, group, is_first in rows[:_MOST_CHANGES]:
        side = together([each[0]["link"] for each in group]), row["direction"]
        table.add_row(
            *(side if is_first else ("", "")),
            style.spelled(row["category"]),
            style.fixed(row["a_percent"], 1),
            style.fixed(row["b_percent"], 1),
            style.signed(row["change_points"], 1),
        )
    note = "shares of each link direction, biggest change first" + _each(groups)
    if left_out:
        note += f"; --json has {left_out} smaller ones"
    return style.titled("Where the time went instead", table, note=note)


def _each(groups: Sequence[Sequence[object]]) -> str:
    """Say what a name with a number behind it means, where there is one."""
    return "; \N{MULTIPLICATION SIGN}N: each of N alike" if any(len(group) > 1 for group in groups) else ""
