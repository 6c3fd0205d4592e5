"""What a report says explains the difference between two runs: what differs, and what each of it brings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.report.content import Section
from lanewise.report.rows import rows_of
from lanewise.written import DASH, fixed

if TYPE_CHECKING:
    from lanewise.side_by_side.explained import Explanation, Outcome, Tried

_MOST_NAMES = 6


def explained_section(explanation: Explanation | None, a: str = "A", b: str = "B") -> Section:
    """Return the section; without anything in it where nothing was looked for, or nothing differs."""
    title = "What explains the difference"
    if explanation is None:
        return Section(title)
    unit, digits = explanation.measure.unit, explanation.measure.digits
    sentences = [f"{explanation.sentence}."]
    if explanation.not_tried is not None and explanation.tried:
        sentences.append(f"Not tried: {explanation.not_tried}.")
    columns = (
        "what differs",
        f"in {a}",
        f"in {b}",
        f"#{a} with only this as in {b}",
        f"#{b} with only this as in {a}",
        "#share of the difference, alone",
    )

    def number(outcome: Outcome | None) -> str:
        return fixed(None if outcome is None else explanation.measure.of(outcome), digits)

    rows = [
        (
            *_words(each),
            number(each.alone),
            number(each.without),
            DASH if each.share is None else f"{100 * each.share:.0f} %",
        )
        for each in explanation.tried
    ]
    note = f"{unit}: {number(explanation.a)} in {a}, {number(explanation.b)} in {b}"
    return Section(title, sentences=sentences, tables=rows_of("What differs", columns, rows, note))


def _words(tried: Tried) -> tuple[str, str, str]:
    columns = zip(*tried.difference.lines, strict=True)
    names, in_a, in_b = (
        ", ".join(column[:_MOST_NAMES])
        + (f" and {len(column) - _MOST_NAMES} more" if len(column) > _MOST_NAMES else "")
        for column in columns
    )
    return names, in_a, in_b
