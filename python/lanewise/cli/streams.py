"""Standard output and error as they really are: closed, or with an encoding that lacks some characters.

Names, titles and messages come from files that anybody may have written, and a terminal obeys what it is
sent. So no control character leaves the program but line ends, tabs and what our own tables colour with: this
is the one place where the others are taken out, of tables, of messages and of all else that is printed.

Tables use a few characters beyond ASCII. Where the encoding has none for them, as in a locale of decades ago,
tables get the nearest ASCII and JSON gets escapes, which mean the same.
"""

from __future__ import annotations

import codecs
import os
import re
import sys
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

_NEAREST = {
    "\N{PLUS-MINUS SIGN}": "+-",
    "\N{EN DASH}": "-",
    "\N{EM DASH}": "-",
    "\N{MINUS SIGN}": "-",
    "\N{HORIZONTAL ELLIPSIS}": "...",
    "\N{MULTIPLICATION SIGN}": "x",
    "\N{MICRO SIGN}": "u",
    "\N{GREEK SMALL LETTER MU}": "u",
    "\N{SECTION SIGN}": "sec. ",
    "\N{RIGHTWARDS ARROW}": "->",
    "\N{SUPERSCRIPT NINE}": "^9",
    "\N{SUPERSCRIPT SIX}": "^6",
    "\N{SUPERSCRIPT TWO}": "^2",
    "\N{SUPERSCRIPT ZERO}": "0",
    "\N{NO-BREAK SPACE}": " ",
    "\N{MIDDLE DOT}": ".",
    "\N{BOX DRAWINGS LIGHT HORIZONTAL}": "-",
    "\N{BOX DRAWINGS LIGHT VERTICAL}": "|",
    "\N{BOX DRAWINGS LIGHT VERTICAL AND RIGHT}": "+",
    "\N{BOX DRAWINGS LIGHT UP AND RIGHT}": "+",
}


_CONTROLS = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]|\r(?!\n)"
)
"""Control characters (C0 without line ends and tabs, DEL, C1), and those that turn the direction of text."""


def without_controls(text: str) -> str:
    """Return a text with a mark in place of each character that a terminal would obey."""
    return _CONTROLS.sub("\N{REPLACEMENT CHARACTER}", text)


class Shown:
    """A stream that takes out control characters; in JSON it escapes them, which means the same."""

    def __init__(self, stream: IO[str], *, json: bool) -> None:
        """Wrap a stream."""
        self.stream = stream
        self._json = json
        self.was_written_to = False

    def write(self, text: str) -> int:
        """Write a text; returns how much of it, as streams do."""
        self.was_written_to = True
        if self._json:
            shown = _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
        else:
            shown = without_controls(text)
        self.stream.write(shown)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts one after another."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        """Leave everything else to the stream."""
        return getattr(self.stream, name)


def unwrapped(stream: IO[str]) -> IO[str]:
    """Return the stream itself, for callers that take out control characters before colouring."""
    return stream.stream if isinstance(stream, Shown) else stream


def prepare(arguments: list[str]) -> None:
    """Make standard output and error fit to be written to, whatever they are."""
    # A process started with closed streams has None in their place.
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    codecs.register_error("nearest", _nearest)
    codecs.register_error("escaped", _escaped)
    json = _ask_for_json(arguments)
    _set_errors(sys.stdout, "escaped" if json else "nearest")
    _set_errors(sys.stderr, "nearest")
    sys.stdout = cast("Any", Shown(sys.stdout, json=json))
    sys.stderr = cast("Any", Shown(sys.stderr, json=False))


def print_json(document: str) -> None:
    """Print a document that is JSON already."""
    sys.stdout.write(document + "\n")


def _ask_for_json(arguments: list[str]) -> bool:
    formats = [value for option, value in pairwise(arguments) if option == "--format"]
    return any(word in ("--json", "--format=json", "--format=sarif") for word in arguments) or any(
        value in ("json", "sarif") for value in formats
    )


def _nowhere() -> TextIOWrapper:
    return Path(os.devnull).open("w", encoding="utf-8")


def _set_errors(stream: object, errors: str) -> None:
    if isinstance(stream, TextIOWrapper):
        stream.reconfigure(errors=errors)


def _nearest(error: UnicodeError) -> tuple[str, int]:
    """Write what the encoding lacks with ASCII that a person reads as the same."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_NEAREST.get(c, "?") for c in error.object[error.start : error.end]), error.end


def _escaped(error: UnicodeError) -> tuple[str, int]:
    """Write what the encoding lacks as JSON escapes."""
    assert isinstance(error, UnicodeEncodeError)
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    pairs = (units[at : at + 2] for at in range(0, len(units), 2))
    return "".join(f"\\u{pair.hex()}" for pair in pairs), error.end
