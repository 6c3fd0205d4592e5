"""A report as Markdown, for tickets and pages of projects: sentences and tables, without pictures."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.report.content import Page, Part, Section, Table

_SPECIAL = re.compile(r"([\\`*\[\]<>|~&$]|(?<![^\W_])_|_(?![^\W_]))")
"""What Markdown would take for its own; an underscore within a word it does not."""
_BEGINS = re.compile(r"^(\d*)([-+=#.):])")
"""What a line must not begin with, unless it is a heading, a list or a rule."""
_BLANK = re.compile(r"\s+")


def markdown(page: Page) -> str:
    """Return the text of the report."""
    return "\n".join(_lines(page)).rstrip("\n") + "\n"


def _lines(page: Page) -> Iterator[str]:
    yield from (f"# {escaped(page.title)}", "")
    for note in page.notes:
        yield from (_line(note), "")
    for part in page.parts:
        yield from _part(part, titled=part.title != page.title, depth="##" if len(page.parts) == 1 else "###")
    yield f"Made by Lanewise {escaped(page.version)}. GB/s is 10⁹ bytes per second."


def _part(part: Part, *, titled: bool, depth: str) -> Iterator[str]:
    if titled:
        yield from (f"## {escaped(part.title)}", "")
    yield from (f"- **{escaped(number)}** {escaped(what)}" for number, what in part.tiles)
    if part.tiles:
        yield ""
    for section in part.sections:
        yield from _section(section, depth)
    if part.facts:
        yield from (f"{depth} Run", "")
        yield from (f"- {escaped(name)}: {escaped(value)}" for name, value in part.facts)
        yield ""


def _section(section: Section, depth: str) -> Iterator[str]:
    yield from (f"{depth} {escaped(section.title)}", "")
    for question, answer in section.answers:
        yield from (f"**{escaped(question)}** {escaped(answer)}", "")
    for sentence in section.sentences:
        yield from (_line(sentence), "")
    for table in section.tables:
        yield from _table(table)
    for name, text in section.texts:
        yield from (f"{escaped(name)}:", "", *_fenced(text), "")


def _table(table: Table) -> Iterator[str]:
    if table.folded:
        yield from (f"<details><summary>{_in_html(table.title)}</summary>", "")
    else:
        note = f" ({escaped(table.note)})" if table.note else ""
        yield from (f"**{escaped(table.title)}**{note}", "")
    yield _row([name for name, _ in table.headings])
    yield f"|{'|'.join('---:' if is_number else '---' for _, is_number in table.headings)}|"
    yield from (_row(row) for row in table.rows)
    yield ""
    if table.folded:
        yield from ("</details>", "")


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


def _fenced(text: str) -> Iterator[str]:
    """Yield a text between fences longer than any in it."""
    longest = max(map(len, re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    yield from (f"{fence}toml", *text.rstrip("\n").split("\n"), fence)


def escaped(text: str) -> str:
    """Write a text in one line, so that nothing of it is taken for Markdown or HTML."""
    return _SPECIAL.sub(r"\\\1", _BLANK.sub(" ", text).strip())


def _line(text: str) -> str:
    return _BEGINS.sub(r"\1\\\2", escaped(text))


def _in_html(text: str) -> str:
    from html import escape

    return escape(_BLANK.sub(" ", text))
