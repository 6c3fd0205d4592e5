"""What a report says, before it is known how it looks: parts of sections, tables and figures.

Texts are plain: what is written out (`html`, `markdown`) escapes them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.report.plots import Figure


@dataclass(frozen=True)
class Table:
    """Rows of texts below headings."""

    title: str
    columns: tuple[str, ...]
    """Headings; of a column of numbers it begins with `NUMBER`."""
    rows: Sequence[Sequence[str]]
    note: str = ""
    folded: bool = False
    """Whether it is shown when it is asked for."""

    @property
    def headings(self) -> list[tuple[str, bool]]:
        """Each heading, and whether numbers are below it."""
        return [(name.removeprefix(NUMBER), name.startswith(NUMBER)) for name in self.columns]


NUMBER = "#"
"""What the heading of a column of numbers begins with."""


@dataclass(frozen=True)
class Section:
    """Something that a part says under one heading."""

    title: str
    sentences: Sequence[str] = ()
    figures: Sequence[Figure] = ()
    tables: Sequence[Table] = ()
    answers: Sequence[tuple[str, str]] = ()
    """Questions with what the results say to them."""
    texts: Sequence[tuple[str, str]] = ()
    """Texts as they are in a file, each behind its name; shown when they are asked for."""

    @property
    def says_something(self) -> bool:
        """Whether anything stands below the heading."""
        return any((self.sentences, self.figures, self.tables, self.answers, self.texts))


@dataclass(frozen=True)
class Part:
    """A run, a comparison or a measurement."""

    title: str
    facts: Sequence[tuple[str, str]] = ()
    """What it is about, each with its name."""
    tiles: Sequence[tuple[str, str]] = ()
    """The numbers that matter most, each with what it is."""
    sections: Sequence[Section] = ()
    folded: bool = False


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    parts: Sequence[Part]
    version: str
    notes: Sequence[str] = field(default=())
    """What a reader has to know of all of it."""
