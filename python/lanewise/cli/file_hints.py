"""What to do about a file that cannot be read: the name that was meant, or the verb that takes it."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.documents import Mistake

_UNREADABLE = re.compile(r"cannot read `(?P<path>.*)`: (?P<why>No such file or directory|Is a directory)")


def add_hints(diagnostics: Iterable[Mistake]) -> str:
    """Return the hint for the file that a scenario could not be read from; empty where there is none."""
    hints = (_about(found)[1] for found in map(_unreadable, diagnostics) if found is not None)
    return next((f"\nhint: {hint}" for hint in hints if hint), "")


def completed(diagnostic: Mistake) -> Mistake:
    """Return a diagnostic of a file that cannot be read with its path and hint; any other as it is."""
    found = _unreadable(diagnostic)
    if found is None:
        return diagnostic
    path, hint = _about(found)
    return {**diagnostic, "path": str(path), "hint": hint or diagnostic["hint"]}


def _unreadable(diagnostic: Mistake) -> re.Match[str] | None:
    return _UNREADABLE.fullmatch(diagnostic["message"])


def _about(found: re.Match[str]) -> tuple[Path, str]:
    path = Path(found["path"])
    return path, _about_a_folder() if found["why"].startswith("Is a") else _about_a_name(path)


def _about_a_folder() -> str:
    return "a scenario is a file; 'lanewise compare' takes run folders, 'lanewise scan' a copied /sys"


def _about_a_name(path: Path) -> str:
    """Offer the file of the same folder, or the example, whose name is nearest."""
    try:
        files = [each.name for each in path.parent.iterdir() if each.is_file()]
    except OSError:
        return ""
    near = get_close_matches(path.name, files, n=1)
    if near:
        return f"did you mean '{path.with_name(near[0])}'?"
    from lanewise.examples import examples

    if path.stem in examples():
        return f"'lanewise new {path.stem}' copies the example of this name"
    return ""
