"""What TOML writes: values for overrides and files we make, whole scenarios from dictionaries.

The standard library only reads TOML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, TypeAlias, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

Path: TypeAlias = tuple[str | int, ...]
"""Keys from the outermost table inwards; numbers from 0 of elements of a list of tables."""

_HEADED = 2
"""Keys of a path down to which every table has a heading: ``[host.server]``."""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def inline(value: object) -> str:
    """Write a value on one line: text, truth, number, list or table of such; TypeError for anything else."""
    match value:
        case str():
            # JSON's escapes are TOML's too, once non-ASCII text is left as it is.
            return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
        case bool():
            return "true" if value else "false"
        case Integral():
            return str(int(value))
        case Real():
            return repr(float(value))
        case list() | tuple():
            return f"[{', '.join(map(inline, value))}]"
        case Mapping():
            return f"{{ {', '.join(f'{_key(key)} = {inline(item)}' for key, item in value.items())} }}"
        case _:
            raise TypeError(f"TOML has no {type(value).__name__}")


def short(number: float, digits: int = 6) -> int | float:
    """Return a number with so many significant digits, whole ones without a point: as people write it."""
    value = float(f"{number:.{digits}g}")
    return int(value) if value.is_integer() else value


def override(value: object) -> str:
    """Write the value of an override: text as it is, anything else as TOML."""
    return value if isinstance(value, str) else inline(value)


def document(
    tables: Mapping[str, object],
    *,
    head: Sequence[str] = (),
    notes: Mapping[Path, str] | None = None,
    above: Mapping[Path, Sequence[str]] | None = None,
    headed: AbstractSet[Path] = frozenset(),
    spread: AbstractSet[Path] = frozenset(),
) -> str:
    """Write a whole file; TypeError as `inline`.

    Tables have headings, those in tables (``[host.server]``) and in lists (``[[workload]]``) too; what lies
    deeper stands on one line, except for the paths in `headed`, and for lists whose paths without numbers are
    in `spread`: each of their elements has a line.

    Comments: `head` before everything, with a blank line behind where its last text is empty; `notes` beside
    a key or a heading, those of a section such as ``[run]`` above it; the lines of `above` above a key, or
    above an element of a list, whose path ends in its number from 0.
    """
    before = [f"# {text}".rstrip() for text in head]
    if before and not head[-1]:
        before[-1] = ""
    body = _Writer(notes or {}, above or {}, headed, spread).table((), tables)
    return "\n".join([*before, "\n".join(body).strip()]) + "\n"


class _Writer:
    def __init__(
        self,
        notes: Mapping[Path, str],
        above: Mapping[Path, Sequence[str]],
        headed: AbstractSet[Path],
        spread: AbstractSet[Path],
    ) -> None:
        self.notes = notes
        self.above = above
        self.headed = headed | {path[:size] for path in headed for size in range(len(path))}
        self.spread = spread

    def table(self, path: Path, table: Mapping[str, object]) -> list[str]:
        """Write what stands below the heading of a table, the tables in it last."""
        lines, deeper = [], []
        for key, value in table.items():
            inner = (*path, _text(key))
            if isinstance(value, Mapping) and (len(inner) <= _HEADED or inner in self.headed):
                deeper += self._headed(inner, value)
            elif not path and _has_heading(value):
                for number, each in enumerate(value):
                    place = (*inner, number)
                    deeper += ["", *self._above(place), f"[[{_key(key)}]]", *self.table(place, each)]
            else:
                lines += self._entry(inner, len(path), value)
        return lines + deeper

    def _entry(self, path: Path, size: int, value: object) -> list[str]:
        """Write a value on one line; with notes within it, each of its own below a dotted key."""
        noted = any(len(other) > len(path) and other[: len(path)] == path for other in self.notes)
        if isinstance(value, Mapping) and noted:
            return [
                line for key, each in value.items() for line in self._entry((*path, _text(key)), size, each)
            ]
        key = ".".join(map(_key, path[size:]))
        if isinstance(value, list | tuple) and tuple(k for k in path if isinstance(k, str)) in self.spread:
            return [*self._above(path), f"{key} = [", *(f"    {inline(each)}," for each in value), "]"]
        return [*self._above(path), f"{key} = {inline(value)}{self._note(path)}"]

    def _headed(self, path: Path, table: Mapping[str, object]) -> list[str]:
        lines = self.table(path, table)
        # A table of nothing but tables needs no heading, unless it is a component.
        own = not table or lines[0] != ""
        if own or len(path) == _HEADED:
            heading = ".".join(map(_key, path))
            if len(path) < _HEADED and path in self.notes:
                return ["", f"# {self.notes[path]}", f"[{heading}]", *lines]
            return ["", f"[{heading}]{self._note(path)}", *lines]
        return lines

    def _note(self, path: Path) -> str:
        return f"      # {self.notes[path]}" if path in self.notes else ""

    def _above(self, path: Path) -> list[str]:
        return [f"# {text}" for text in self.above.get(path, ())]


def _has_heading(value: object) -> TypeGuard[list[Mapping[str, object]]]:
    """Whether this is a list of nothing but tables."""
    of_tables = isinstance(value, list | tuple) and all(isinstance(each, Mapping) for each in value)
    return of_tables and bool(value)


def _key(key: object) -> str:
    text = _text(key)
    return text if _BARE.fullmatch(text) else inline(text)


def _text(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"TOML has no key {key!r}")
    return key
