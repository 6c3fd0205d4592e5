"""A scenario with all that it needs, so that it can be simulated again wherever its files are now.

Beside its text, that is the texts of files with parts of one's own: they decide results as the scenario does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, TypeAlias

from lanewise.inputs import MOST_SCENARIO_BYTES, read_file
from lanewise.scenario_text import written_tables

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

ENDING = ".toml"
"""How the name of a part ends that is in a file."""

Override: TypeAlias = tuple[str, str]


@dataclass(frozen=True)
class KeptScenario:
    """A scenario as it is simulated."""

    name: str
    """What messages call it."""
    text: str
    part_files: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Texts of the files of parts, by the names that the scenario or an override has for them."""

    @classmethod
    def of(cls, name: str, text: str, overrides: Iterable[Override] = ()) -> KeptScenario:
        """Return a text with the files of parts that it names, beside the path that `name` is."""
        return cls(name, text, part_files(name, text, overrides))

    @property
    def source(self) -> str | tuple[str, dict[str, str]]:
        """What the core takes."""
        return (self.text, dict(self.part_files)) if self.part_files else self.text


def part_files(name: str, text: str, overrides: Iterable[Override] = ()) -> dict[str, str]:
    """Return the texts of the files that a scenario names as parts, by their names in it.

    `name` is the path of the scenario, in whose folder they lie; a text that is in no file, like ``<text>``,
    has no folder. A file that cannot be read is left out: the core says what is wrong with it.
    """
    if name.startswith("<"):
        return {}
    named = [_plain(value) for path, value in overrides if _is_of_a_part(path)]
    if ENDING in text:
        named += [
            part for each in _components(written_tables(text)) if isinstance(part := each.get("part"), str)
        ]
    found = {}
    for part in dict.fromkeys(part for part in named if part.endswith(ENDING)):
        try:
            content = read_file(Path(name).parent / part, MOST_SCENARIO_BYTES)
            if len(content) <= MOST_SCENARIO_BYTES:
                found[part] = content.decode()
        except (OSError, ValueError):
            continue
    return found


def as_files(
    kept: KeptScenario, overrides: Sequence[Override], taken: Iterable[str]
) -> tuple[KeptScenario, tuple[Override, ...]]:
    """Return a scenario and its overrides as they can lie in one folder, whose files have names of their own.

    Part files keep their names where these are of files below the folder, and get others where they are not:
    a file may lie above it, or be called as one of those `taken`.
    """
    used = {*taken, *filter(_is_below, kept.part_files)}
    renamed = {}
    for name in kept.part_files:
        if name in taken or not _is_below(name):
            renamed[name] = _free(PureWindowsPath(name).name, used)
            used.add(renamed[name])
    text = kept.text
    for name, new in renamed.items():
        for quote in "\"'":
            text = text.replace(f"{quote}{name}{quote}", f"{quote}{new}{quote}")
    files = {renamed.get(name, name): content for name, content in kept.part_files.items()}
    return KeptScenario(kept.name, text, files), with_names(overrides, renamed)


def with_names(overrides: Iterable[Override], renamed: Mapping[str, str]) -> tuple[Override, ...]:
    """Return overrides with other names of part files."""
    return tuple(
        (path, renamed.get(_plain(value), value) if _is_of_a_part(path) else value)
        for path, value in overrides
    )


def put_names(tables: Mapping[str, object], renamed: Mapping[str, str]) -> None:
    """Give part files other names in a scenario that is written as tables."""
    for each in _components(tables):
        if isinstance(part := each.get("part"), str) and part in renamed:
            each["part"] = renamed[part]


def _components(tables: Mapping[str, object]) -> list[dict[str, object]]:
    kinds = [table for table in tables.values() if isinstance(table, dict)]
    return [each for kind in kinds for each in kind.values() if isinstance(each, dict)]


def _is_of_a_part(path: str) -> bool:
    return path.endswith(".part")


def _plain(value: str) -> str:
    """Return the text that an override gives, with or without quotes."""
    return value.strip(" \"'")


def _is_below(name: str) -> bool:
    """Whether a name is that of a file in the folder or in one below, on any system."""
    folders = PurePosixPath(name).parts[:-1]
    return "\\" not in name and ":" not in name and not any("." in each or "/" in each for each in folders)


def _free(name: str, used: Iterable[str]) -> str:
    """Return a name that is not used yet."""
    number, found = 1, name
    while found in used:
        number += 1
        found = f"{name.removesuffix(ENDING)}-{number}{ENDING}"
    return found
