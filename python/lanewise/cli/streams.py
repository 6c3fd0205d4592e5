"""Standard output and error as they really are: closed, or with an encoding that lacks some characters.

Tables use a few characters beyond ASCII. Where the encoding has none for them, as in a locale of decades ago,
tables get the nearest ASCII and JSON gets escapes, which mean the same.
"""

from __future__ import annotations

import codecs
import os
import sys
from io import TextIOWrapper
from itertools import pairwise
from pathlib import Path

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


def prepare(arguments: list[str]) -> None:
    """Make standard output and error fit to be written to, whatever they are."""
    # A process started with closed streams has None in their place.
    sys.stdout = sys.stdout or _nowhere()
    sys.stderr = sys.stderr or _nowhere()
    codecs.register_error("nearest", _nearest)
    codecs.register_error("escaped", _escaped)
    _set_errors(sys.stdout, "escaped" if _ask_for_json(arguments) else "nearest")
    _set_errors(sys.stderr, "nearest")


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
