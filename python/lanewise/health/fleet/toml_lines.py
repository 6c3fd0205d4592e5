"""On which line of a TOML text each key, table and element of a list stands; `tomllib` does not tell.

Walks over a text that `tomllib` has read before, so that nothing is judged here. Leaves out: dates with a
blank in them, which are passed over like any other word.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from typing import TypeAlias

Place: TypeAlias = tuple[str | int, ...]
"""Keys and numbers of list elements from 0, outermost first: ``("count", 0, "places", 2, "at")``."""

_BLANK = re.compile(r"(?:[ \t\r\n]+|#[^\n]*)*")
_KEY = re.compile(r"[ \t]*(?:\"((?:[^\"\\\n]|\\.)*)\"|'([^'\n]*)'|([A-Za-z0-9_-]+))[ \t]*(\.)?")
_TEXT = re.compile(r'"""(?:[^\\]|\\.)*?"""+|\'\'\'.*?\'\'\'+|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'', re.DOTALL)
_WORD = re.compile(r"[^,\]}\n#]*")


def lines_of(text: str) -> dict[Place, int]:
    """Return the line, counted from 1, of everything in a text that is TOML."""
    return _Walk(text).lines


def line_at(lines: dict[Place, int], place: Place) -> int:
    """Return the line of a place, of the first table of a list, or of what is around it; 1 for the file."""
    if place not in lines and (*place, 0) in lines:
        return lines[(*place, 0)]
    while place and place not in lines:
        place = place[:-1]
    return lines.get(place, 1)


class _Walk:
    """One way through a text, from its beginning to its end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.ends = [match.start() for match in re.finditer("\n", text)]
        """Where each line ends."""
        self.lines: dict[Place, int] = {}
        self.elements: dict[Place, int] = {}
        """How many tables each list of tables has so far."""
        self._statements()

    def _statements(self) -> None:
        table: Place = ()
        while self._skip():
            if self._takes("[["):
                table = self._place(self._keys())
                table = (*table, self.elements.get(table, 0))
                self.elements[table[:-1]] = int(table[-1]) + 1
                self._note(table)
                self._takes("]]")
            elif self._takes("["):
                table = self._place(self._keys())
                self._note(table)
                self._takes("]")
            else:
                self._pair(table)

    def _place(self, keys: list[str]) -> Place:
        """Return where a header leads: into the last table of each list on the way."""
        place: Place = ()
        for key in keys[:-1]:
            place = (*place, key)
            if place in self.elements:
                place = (*place, self.elements[place] - 1)
        return (*place, keys[-1])

    def _pair(self, table: Place) -> None:
        start = self.position
        place = (*table, *self._keys())
        self._note(place, start)
        self._takes("=")
        self._value(place)

    def _value(self, place: Place) -> None:
        self._skip()
        if self._takes("["):
            number = 0
            while self._skip() and not self._takes("]"):
                self._note((*place, number))
                self._value((*place, number))
                number += 1
                self._skip()
                self._takes(",")
        elif self._takes("{"):
            while self._skip() and not self._takes("}"):
                self._pair(place)
                self._skip()
                self._takes(",")
        else:
            match = _TEXT.match(self.text, self.position) or _WORD.match(self.text, self.position)
            # A character that no value begins with is passed over, so that every walk ends.
            self.position = max(match.end() if match else 0, self.position + 1)

    def _keys(self) -> list[str]:
        keys = []
        while match := _KEY.match(self.text, self.position):
            keys.append(next(part for part in match.groups()[:3] if part is not None))
            self.position = match.end()
            if match[4] is None:
                break
        if not keys:
            self.position += 1
        return keys or [""]

    def _skip(self) -> bool:
        """Go past blanks and comments; whether anything is left."""
        match = _BLANK.match(self.text, self.position)
        self.position = match.end() if match else self.position
        return self.position < len(self.text)

    def _takes(self, mark: str) -> bool:
        found = self.text.startswith(mark, self.position)
        self.position += len(mark) if found else 0
        return found

    def _note(self, place: Place, position: int | None = None) -> None:
        at = self.position if position is None else position
        self.lines.setdefault(place, bisect_left(self.ends, at) + 1)
