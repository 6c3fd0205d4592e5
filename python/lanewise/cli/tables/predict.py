"""What devices should reach: a table for each group of devices that are alike."""

from __future__ import annotations

import re
from math import floor, log10
from typing import TYPE_CHECKING

from rich.text import Text

from lanewise.cli.tables import style

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Group, RenderableType

    from lanewise.health.predict import Prediction, Row
    from lanewise.health.predict.measured import MeasuredElsewhere

_MOST_ADDRESSES = 8


def print_prediction(prediction: Prediction) -> None:
    """Print predictions, devices that are alike together."""
    style.emit(*_pieces(prediction))


def _pieces(prediction: Prediction) -> Iterator[RenderableType]:
    yield style.heading(prediction.source or "this machine", style.GB_PER_S)
    for change in prediction.changes:
        yield Text(f"What if: {change}")
    yield ""
    for alike in prediction.alike:
        yield _table(alike)
    yield from _not_settled(prediction.rows)
    yield from measured_elsewhere(prediction.measured_elsewhere)
    for text in prediction.assumptions:
        yield Text(f"Assumed: {text}.", style="dim")
    for note in prediction.notes:
        yield Text(f"Note: {note}.", style="dim")
    if _has_pairs(prediction.rows):
        yield Text(
            "Note: --peers says what pairs of devices reach, and which adapter is for which GPU.", style="dim"
        )


def _not_settled(rows: tuple[Row, ...]) -> Iterator[Text]:
    """Say what a tilde means, where there is one."""
    widths = [
        width
        for row in rows
        for width, has_settled in (
            (row.alone_half_width_percent, row.alone_has_settled),
            (row.together_half_width_percent, row.together_has_settled),
        )
        if not has_settled
    ]
    if widths:
        yield Text(
            "~ had not settled when the time simulated was over: known to \N{PLUS-MINUS SIGN}"
            f"{max(filter(None, widths)):.0f} % at worst (95 %); --json has each.\n"
        )


def measured_elsewhere(kinds: list[MeasuredElsewhere]) -> Iterator[RenderableType]:
    """Say how far such predictions were from what others measured."""
    if not kinds:
        return
    table = style.table()
    style.words(table, "kind of case", at_least=20)
    style.numbers(table, "cells", "median")
    style.labels(table, "eight in ten")
    for each in kinds:
        middle = f"{each.low_percent:.0f} to {each.high_percent:.0f} %"
        table.add_row(str(each.kind), str(each.cells), f"{each.median_percent:.0f} %", middle)
    yield style.titled(
        "Measured elsewhere, in percent of what is simulated", table, note="no value was chosen from these"
    )


def _rate(value: float | None, has_settled: bool, digits: int = 2) -> str:
    """Write a rate; one that has not settled with a tilde and two figures, as more are not known."""
    if not value or has_settled:
        return style.fixed(value, digits)
    decimals = 1 - floor(log10(value))
    return f"~{style.fixed(round(value, decimals), max(0, decimals))}"


def _has_pairs(rows: tuple[Row, ...]) -> bool:
    """Whether a GPU has another device to move data with."""
    return len({row.bdf for row in rows}) > 1 and any(row.benchmark == "host to device" for row in rows)


def _table(alike: list[list[Row]]) -> Group:
    table = style.table()
    style.words(table, "\nbenchmark")
    style.numbers(table, "ceiling\nGB/s", "alone\nGB/s", "all at\nonce")
    style.words(table, "\nbound by")
    first = alike[0]
    for row in first:
        bound = re.sub(rf"\bthe ([a-zA-Z ]{{1,40}}) of {re.escape(row.bdf)}", r"its \1", row.binding)
        if row.latency_ns is not None:
            table.add_row(
                row.benchmark, style.DASH, f"{row.latency_ns / 1e3:.1f} us", style.DASH, Text(bound)
            )
            continue
        name = row.benchmark
        if row.frames_per_s:
            name = f"{name}, {_rate(row.frames_per_s / 1e6, row.alone_has_settled, 1)} M/s"
        table.add_row(
            name,
            style.fixed(row.ceiling_gb_per_s, 2),
            _rate(row.alone_gb_per_s, row.alone_has_settled),
            _rate(row.together_gb_per_s, row.together_has_settled),
            Text(bound),
        )
    addresses = [rows[0].bdf for rows in alike]
    shown = ", ".join(addresses[:_MOST_ADDRESSES])
    if len(addresses) > _MOST_ADDRESSES:
        shown += f" and {len(addresses) - _MOST_ADDRESSES} more"
    count = f"{len(alike)}x " if len(alike) > 1 else ""
    return style.titled(f"{shown}  {count}{first[0].device}", table, note=first[0].link)
