"""Files with parts of one's own that a scenario names: they decide results as the scenario does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.scenario_text import written_tables

if TYPE_CHECKING:
    from collections.abc import Iterable

ENDING = ".toml"
"""How the name of a part ends that is in a file."""


def part_files(name: str, text: str, overrides: Iterable[tuple[str, str]] = ()) -> dict[str, str]:
    """Return the texts of the files that a scenario names as parts, by their names in it.

    `name` is the path of the scenario, in whose folder they lie. A file that cannot be read is left out: the
    core says what is wrong with it.
    """
    named = [value.strip(" \"'") for path, value in overrides if path.endswith(".part")]
    if ENDING in text:
        tables = [table for table in written_tables(text).values() if isinstance(table, dict)]
        components = [each for table in tables for each in table.values() if isinstance(each, dict)]
        named += [part for each in components if isinstance(part := each.get("part"), str)]
    found = {}
    for part in dict.fromkeys(part for part in named if part.endswith(ENDING)):
        try:
            found[part] = (Path(name).parent / part).read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue
    return found
