"""What to do about a file that cannot be read: the name that was meant, or the verb that takes it."""

from __future__ import annotations

import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_UNREADABLE = re.compile(r"cannot read `(?P<path>.*)`: (?P<why>No such file or directory|Is a directory)")


def add_hints(diagnostics: Iterable[Mapping[str, Any]]) -> str:
    """Return the hint for the file that a scenario could not be read from; empty where there is none."""
    for diagnostic in diagnostics:
        found = _UNREADABLE.fullmatch(diagnostic["message"])
        if found is not None:
            path = Path(found["path"])
            return _about_a_folder() if found["why"].startswith("Is a") else _about_a_name(path)
    return ""


def _about_a_folder() -> str:
    return "\nhint: a scenario is a file; 'lanewise compare' takes run folders, 'lanewise scan' a copied /sys"


def _about_a_name(path: Path) -> str:
    """Offer the file of the same folder, or the example, whose name is nearest."""
    try:
        files = [each.name for each in path.parent.iterdir() if each.is_file()]
    except OSError:
        return ""
    near = get_close_matches(path.name, files, n=1)
    if near:
        return f"\nhint: did you mean '{path.with_name(near[0])}'?"
    from lanewise.examples import examples

    if path.stem in examples():
        return f"\nhint: 'lanewise new {path.stem}' copies the example of this name"
    return ""
