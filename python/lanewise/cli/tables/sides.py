"""Several sides, or measurements, side by side: a column for each, or lines where that is too wide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.measure import Measurement
from rich.text import Text

from lanewise.alike_names import stem, together
from lanewise.cli.console import stdout
from lanewise.cli.tables import style
from lanewise.cli.tables.explained import explained
from lanewise.grouping import grouped, same_number
from lanewise.side_by_side.several import LETTERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.console import Group, RenderableType
    from rich.table import Table

    from lanewise.documents import CompareSidesLink
    from lanewise.results import RunResult
    from lanewise.side_by_side.found import Found
    from lanewise.side_by_side.rows import Row
    from lanewise.side_by_side.several import SideBySide

_MOST_ROWS = 80
_MOST_SAID = 24
_MOST_NAMED = 6
_WIDEST_WHAT, _WIDEST_VALUE = 22, 40
_Line = tuple[str, str, "Sequence[float | None]", "Sequence[float | None]"]
"""Name, direction, values and ratios of a row."""


def print_sides(comparison: SideBySide) -> None:
    """Print what the sides are, their rows, and what differs."""
    style.emit(*_pieces(comparison))


def _pieces(comparison: SideBySide) -> Iterator[RenderableType]:
    yield from _heads(comparison)
    yield ""
    yield from _tables(comparison)
    if comparison.links:
        yield _links(comparison)
    alone = [
        (letter, only) for number, letter in _letters(comparison) if (only := comparison.only_in(number))
    ]
    yield from (Text(f"Only {letter} has {_listed(only)}.") for letter, only in alone)
    if alone:
        yield ""
    if comparison.said:
        yield _said(comparison)
    for each, (_, letter) in zip(comparison.explanations, _letters(comparison)[1:], strict=True):
        if each is not None:
            yield from explained(each, "A", letter, several=True)
    if comparison.are_runs:
        yield Text("Where the time of each link went: compare two of them alone.", style="dim")
    for note in comparison.notes:
        yield Text(f"Note: {note}.", style="dim")


def _letters(comparison: SideBySide) -> list[tuple[int, str]]:
    return list(enumerate(LETTERS[: len(comparison.sides)]))


def _heads(comparison: SideBySide) -> Iterator[RenderableType]:
    for side, (number, letter) in zip(comparison.sides, _letters(comparison), strict=True):
        if side.measurement is not None:
            measured = side.measurement
            what = " ".join(filter(None, (measured.tool, measured.version)))
            where = f", on {measured.host}" if measured.host else ""
            end = f"{what}{', simulated' if measured.simulated else ''}{where}"
        else:
            end = "" if side.run is None else side.run.end_reason
        yield Text.assemble((f"{letter}  ", "bold"), side.name, (f"   {end}", "dim"))
        if side.run is not None and side.run.limited_by is not None:
            yield Text(f"   {side.run.limited_by}.")
        spread = comparison.spread(number)
        if number and spread is not None and not comparison.are_runs and spread.rows > 1:
            yield Text(
                f"   Of A: median {spread.median:.3f} of {spread.rows} rows, from {spread.lowest:.3f} "
                f"({spread.lowest_row}) to {spread.highest:.3f} ({spread.highest_row})."
            )


def _tables(comparison: SideBySide) -> Iterator[RenderableType]:
    """Yield what rows reached: bytes, operations where there are no bytes, latencies."""
    shared = comparison.shared
    bytes_ = [row for row in shared if row.quantity == "gb_per_s" and _any(row, "gb_per_s")]
    lines = [_line(row, comparison, "gb_per_s", 1.0) for row in bytes_]
    if comparison.are_runs:
        totals = [None if run is None else run.goodput_gb_per_s for run in _runs(comparison)]
        ratios = [None if not totals[0] or total is None else total / totals[0] for total in totals]
        total = ("all data", "", totals, ratios)
    else:
        total = None
    title = "Flows" if comparison.are_runs else "Bandwidth"
    if lines:
        yield _table(title, f"{style.GB_PER_S}; ratios are to A", lines, comparison, total)
    counted = [row for row in shared if row not in bytes_ and _any(row, "operations_per_s")]
    if counted:
        lines = [_line(row, comparison, "operations_per_s", 1.0) for row in counted]
        yield _table("Operations", "a second; ratios are to A", lines, comparison)
    timed = [row for row in shared if sum(value is not None for value in _values(row, "latency_ns_mean")) > 1]
    if timed:
        unit, scale = style.time_scale(value for row in timed for value in _values(row, "latency_ns_mean"))
        lines = [_line(row, comparison, "latency_ns_mean", scale) for row in timed]
        yield _table("Mean latency", f"{unit}; ratios are to A, less is faster", lines, comparison)


def _runs(comparison: SideBySide) -> list[RunResult | None]:
    return [side.run for side in comparison.sides]


def _any(row: Row, quantity: str) -> bool:
    return any(_values(row, quantity))


def _values(row: Row, quantity: str) -> list[float | None]:
    return [row.value(number, quantity) for number in range(len(row.sides))]


def _line(row: Row, comparison: SideBySide, quantity: str, scale: float) -> _Line:
    values = [None if value is None else value / scale for value in _values(row, quantity)]
    ratios = [row.ratio(number, quantity) for number, _ in _letters(comparison)]
    first = row.first
    twice = sum(other.first.name == first.name for other in comparison.shared) > 1
    name = f"{first.name} {first.target}" if twice and first.target else first.name
    return name, first.direction or "", values, ratios


def _table(
    title: str, note: str, lines: list[_Line], comparison: SideBySide, total: _Line | None = None
) -> Group:
    """Return a table with a column for each side, or with a line where that is wider than the terminal."""
    groups = grouped(
        lines,
        lambda line: (stem(line[0]), line[1]),
        lambda one, other: all(same_number(a, b) for a, b in zip(one[2], other[2], strict=True)),
    )
    shown = [(together([line[0] for line in group]), *group[0][1:]) for group in groups[:_MOST_ROWS]]
    left = sum(len(group) for group in groups[_MOST_ROWS:])
    if any(len(group) > 1 for group in groups):
        note += "; \N{MULTIPLICATION SIGN}N: each of N alike"
    if left:
        note += f"; --json has {left} more"
    ends = [] if total is None else [total]
    wide = _wide(shown, ends, comparison)
    console = stdout()
    options = console.options.update(max_width=1_000)
    if Measurement.get(console, options, wide).minimum > console.width:
        wide = _long(shown, ends, comparison)
    return style.titled(title, wide, note=note)


def _wide(lines: Sequence[_Line], totals: Sequence[_Line], comparison: SideBySide) -> Table:
    letters = [letter for _, letter in _letters(comparison)]
    table = style.table()
    style.words(table, "what", at_most=40)
    style.labels(table, "direction")
    style.numbers(table, *letters, *(f"{letter}/A" for letter in letters[1:]))
    for number, (name, way, values, ratios) in enumerate((*lines, *totals)):
        if number == len(lines) and lines:
            table.add_section()
        table.add_row(Text(name), way, *map(_number, values), *map(_ratio, ratios[1:]))
    return table


def _long(lines: Sequence[_Line], totals: Sequence[_Line], comparison: SideBySide) -> Table:
    table = style.table()
    style.words(table, "what", at_most=40)
    style.labels(table, "direction", "side")
    style.numbers(table, "value", "ratio")
    for number, (name, way, values, ratios) in enumerate((*lines, *totals)):
        if number == len(lines) and lines:
            table.add_section()
        told = [
            (letter, value, ratio)
            for (_, letter), value, ratio in zip(_letters(comparison), values, ratios, strict=True)
            if value is not None
        ]
        for place, (letter, value, ratio) in enumerate(told):
            shown = "" if letter == "A" else _ratio(ratio)
            table.add_row(Text("" if place else name), "" if place else way, letter, _number(value), shown)
    return table


def _number(value: float | None) -> str:
    """Write a number with three decimals, and with three digits where it is small."""
    if value is None or value >= 0.1 or value == 0:
        return style.fixed(value, 3 if value is None or value < 1e5 else 0)
    return f"{value:.3g}" if value >= 1e-4 else f"{value:.2e}"


def _ratio(ratio: float | None) -> str:
    return style.fixed(ratio, 3 if ratio is None or ratio < 100 else 0)


def _links(comparison: SideBySide) -> Group:
    """Return the links that several runs have, alike ones together."""
    by_link: dict[str, list[CompareSidesLink]] = {}
    for link in comparison.links:
        by_link.setdefault(link["link"], []).append(link)
    groups = grouped(
        by_link.values(),
        lambda link: (stem(link[0]["link"]), *(row["direction"] for row in link)),
        lambda one, other: all(
            same_number(a, b)
            for row, alike in zip(one, other, strict=True)
            for a, b in zip(row["gb_per_s"], alike["gb_per_s"], strict=True)
        ),
    )
    lines: list[_Line] = []
    for group in groups:
        name = together([link[0]["link"] for link in group])
        lines += [(name, row["direction"], row["gb_per_s"], row["ratio"]) for row in group[0]]
    busy = [line for line in lines if any(line[2])]
    return _table("Goodput of links", f"{style.GB_PER_S}; ratios are to A", busy, comparison)


def _said(comparison: SideBySide) -> Group:
    """Return what outputs say differently."""
    letters = [letter for _, letter in _letters(comparison)]
    table = style.table()
    widest = max(8, (stdout().width - _WIDEST_WHAT) // len(letters) - 2)
    style.words(table, "what", at_most=_WIDEST_WHAT)
    style.words(table, *letters, at_least=4, at_most=min(widest, _WIDEST_VALUE))
    for said in comparison.said[:_MOST_SAID]:
        rows = "" if said.rows is None else f" ({said.rows} row{'' if said.rows == 1 else 's'})"
        values = [style.DASH if value is None else value for value in said.values]
        table.add_row(Text(f"{said.what}{rows}"), *map(Text, values))
    left = len(comparison.said) - _MOST_SAID
    note = "as they say it; what of it matters was not tried"
    if left > 0:
        note += f"; --json has {left} more"
    return style.titled("What the outputs say differently", table, note=note)


def _listed(found: Sequence[Found]) -> str:
    names = [_called(one) for one in found]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"{', '.join(names[:_MOST_NAMED])}{more}"


def _called(one: Found) -> str:
    rate = "" if one.gb_per_s is None else f" ({_number(one.gb_per_s)} GB/s)"
    return f"{one.name}{rate}"
