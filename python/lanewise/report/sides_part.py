"""What a report says of several sides, or of measurements: rows that belong together, and what differs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.report.content import Part, Section
from lanewise.report.explained_part import explained_section
from lanewise.report.rows import rows_of
from lanewise.side_by_side.several import LETTERS
from lanewise.written import DASH, fixed, significant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.report.content import Table
    from lanewise.side_by_side.rows import Row
    from lanewise.side_by_side.several import SideBySide

_TITLES = {
    "gb_per_s": ("Bandwidth", "GB/s; ratios are to A"),
    "operations_per_s": ("Operations", "a second; ratios are to A"),
    "latency_ns_mean": ("Mean latency", "ns; ratios are to A, less is faster"),
}


def sides_part(comparison: SideBySide) -> Part:
    """Return what a report says of several sides."""
    letters = LETTERS[: len(comparison.sides)]
    sections = [
        Section(
            "In short",
            sentences=list(_short(comparison)),
            answers=list(zip(letters, comparison.names, strict=True)),
        ),
        Section("Side by side", tables=[table for name in _TITLES for table in _tables(comparison, name)]),
        Section("Links", tables=_links(comparison)),
        Section("Only one has it", tables=_alone(comparison)),
        Section("What the outputs say differently", tables=_said(comparison)),
    ]
    for letter, each in zip(letters[1:], comparison.explanations, strict=True):
        section = explained_section(each, "A", letter)
        title = f"{section.title} from A to {letter}"
        sections.append(Section(title, sentences=section.sentences, tables=section.tables))
    sections.append(Section("Notes", sentences=[f"{note}." for note in comparison.notes]))
    return Part(
        title=f"{len(letters)} sides, compared",
        facts=[(letter, _what(comparison, number)) for number, letter in enumerate(letters)],
        sections=[section for section in sections if section.says_something],
    )


def _what(comparison: SideBySide, number: int) -> str:
    side = comparison.sides[number]
    if side.measurement is None:
        return f"{side.name}, simulated"
    measured = side.measurement
    words = (f"{side.name}, {measured.tool}", measured.version, measured.host and f"on {measured.host}")
    return " ".join(word for word in words if word)


def _short(comparison: SideBySide) -> Iterator[str]:
    for number, (letter, side) in enumerate(zip(LETTERS, comparison.sides, strict=False)):
        if side.run is not None:
            limit = side.run.limited_by or "nothing was found to limit it"
            yield f"{letter} moves {side.run.goodput_gb_per_s:.3f} GB/s of data. {limit}."
        spread = comparison.spread(number)
        if number and spread is not None and spread.rows > 1:
            yield (
                f"{letter} of A: median {spread.median:.3f} of {spread.rows} rows, from "
                f"{spread.lowest:.3f} ({spread.lowest_row}) to {spread.highest:.3f} ({spread.highest_row})."
            )


def _tables(comparison: SideBySide, quantity: str) -> list[Table]:
    title, note = _TITLES[quantity]
    rows = [
        _cells(row, comparison, quantity)
        for row in comparison.shared
        if quantity in ("latency_ns_mean", row.quantity) and _says(row, quantity)
    ]
    return rows_of(title, _columns(comparison, "row", "direction"), rows, note)


def _says(row: Row, quantity: str) -> bool:
    return sum(row.value(number, quantity) is not None for number in range(len(row.sides))) > 1


def _columns(comparison: SideBySide, *words: str) -> tuple[str, ...]:
    letters = LETTERS[: len(comparison.sides)]
    return (*words, *(f"#{letter}" for letter in letters), *(f"#{letter}/A" for letter in letters[1:]))


def _cells(row: Row, comparison: SideBySide, quantity: str) -> tuple[str, ...]:
    numbers = range(len(comparison.sides))
    values = (row.value(number, quantity) for number in numbers)
    return (
        row.first.name,
        row.first.direction or DASH,
        *(DASH if value is None else significant(value) for value in values),
        *(fixed(row.ratio(number, quantity), 3) for number in numbers[1:]),
    )


def _links(comparison: SideBySide) -> list[Table]:
    rows = [
        (
            link["link"],
            link["direction"],
            *(fixed(rate, 3) for rate in link["gb_per_s"]),
            *(fixed(ratio, 3) for ratio in link["ratio"][1:]),
        )
        for link in comparison.links
        if any(link["gb_per_s"])
    ]
    columns = _columns(comparison, "link", "direction")
    return rows_of("Goodput of links that several have", columns, rows, "GB/s; ratios are to A")


def _alone(comparison: SideBySide) -> list[Table]:
    rows = [
        (letter, one.name, one.direction or DASH, DASH if one.gb_per_s is None else significant(one.gb_per_s))
        for number, letter in enumerate(LETTERS[: len(comparison.sides)])
        for one in comparison.only_in(number)
    ]
    return rows_of("Rows of one side", ("side", "row", "direction", "#GB/s"), rows)


def _said(comparison: SideBySide) -> list[Table]:
    rows = [
        (
            said.what if said.rows is None else f"{said.what} ({said.rows} rows)",
            *(DASH if value is None else value for value in said.values),
        )
        for said in comparison.said
    ]
    letters = tuple(LETTERS[: len(comparison.sides)])
    return rows_of("As they say it; not tried", ("what", *letters), rows)
