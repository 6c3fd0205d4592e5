"""A scenario with notes, for people who read what a program wrote: TOML with comments."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanewise import toml

if TYPE_CHECKING:
    from collections.abc import Mapping
    from collections.abc import Set as AbstractSet

    from lanewise.scenario.tables import Scenario


@dataclass(frozen=True)
class Annotated:
    """A scenario and what its readers should know about its values."""

    document: Scenario
    head: tuple[str, ...] = ()
    """Sentences before everything."""
    notes: Mapping[toml.Path, str] = field(default_factory=dict)
    """Beside a key, or a heading."""
    headed: AbstractSet[toml.Path] = frozenset()
    """Tables within tables that have headings of their own; others stand on one line."""

    def to_toml(self) -> str:
        """Write it as a file that ``lanewise run`` reads."""
        head = [comment(text) for text in self.head]
        notes = {path: comment(text) for path, text in self.notes.items()}
        return toml.document(self.document, head=head, notes=notes, headed=self.headed)


def comment(text: str) -> str:
    """Return text that can stand in a comment: one line, no control characters, at most 100 of them."""
    return "".join(character if character.isprintable() else " " for character in text)[:100]


def printable(text: str) -> str:
    """Return text from outside as a value: no control characters, at most 200 characters."""
    return "".join(character if character.isprintable() else " " for character in text)[:200]
