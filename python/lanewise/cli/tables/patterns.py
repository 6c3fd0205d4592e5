"""Patterns that choose what `explain` shows, and what is said where none fits."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MOST_LISTED = 12


def is_like(text: str, pattern: str) -> bool:
    """Match as a shell does, except that `[3]` in a name is itself."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def nothing_like(what: str, names: Iterable[str], patterns: Sequence[str]) -> str:
    """Say that no name fits, and what was perhaps meant; `names` are those of components."""
    known = list(dict.fromkeys(names))
    said = f"no {what} matches {' or '.join(map(repr, patterns))}"
    change = next((pattern for pattern in patterns if "=" in pattern), None)
    if change is not None:
        return f"{said}; a change is an option: --set '{change}'"
    begun = next((pattern for pattern in patterns if any(name.startswith(pattern) for name in known)), None)
    if begun is not None:
        return f"{said}; did you mean '{begun}*'?"
    listed = ", ".join(known[:_MOST_LISTED]) + (", ..." if len(known) > _MOST_LISTED else "")
    return f"{said}; components are {listed}"
