"""Text in pictures: cleaned of what no picture can show, as wide as it will be, cut to what fits, wrapped.

Widths are those of Helvetica and of fonts made to its measures (Arial, Liberation Sans); of bold letters and
of what is not in ASCII they are near. A picture states them with each text, so that other fonts are fitted.
Source: Adobe's font metrics of Helvetica.
"""

from __future__ import annotations

from math import fsum
from unicodedata import category, east_asian_width

_WIDTHS: dict[str, int] = {
    char: thousandths
    for thousandths, chars in (
        (191, "'"),
        (222, "ijl"),
        (260, "|"),
        (278, " !,./:;I[\\]ft\N{MIDDLE DOT}"),
        (333, "()-`r"),
        (334, "{}"),
        (355, '"'),
        (389, "*"),
        (469, "^"),
        (500, "Jcksvxyz"),
        (556, "#$0123456789?L_abdeghnopqu\N{EN DASH}"),
        (584, "+<=>~\N{MULTIPLICATION SIGN}"),
        (611, "FTZ"),
        (667, "&ABEKPSVXY"),
        (722, "CDHNRUw"),
        (778, "GOQ"),
        (833, "Mm"),
        (889, "%"),
        (944, "W"),
        (1000, "\N{HORIZONTAL ELLIPSIS}\N{LEFTWARDS ARROW}\N{RIGHTWARDS ARROW}"),
        (1015, "@"),
    )
    for char in chars
}
"""Widths in thousandths of the size of the letters."""
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_UNSHOWN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_LONGEST = 400
"""Characters of one text that are looked at: names in hostile files have no limit."""
_SLACK = 0.01
"""Rounding of sums."""
_BOLD = 1.07
"""How much wider bold letters are."""


def clean(text: str) -> str:
    """Return a text without what XML or a screen cannot show: it may come from anybody's dump."""
    cut = text[:_LONGEST]
    shown = "".join("\N{REPLACEMENT CHARACTER}" if category(char) in _UNSHOWN else char for char in cut)
    return " ".join(shown.split()) + (_ELLIPSIS if len(text) > _LONGEST else "")


def width(text: str, size: float, *, bold: bool = False) -> float:
    """Return about how wide a text is in letters of a size, in the unit of the size."""
    return fsum(map(_of_em, text)) * size * (_BOLD if bold else 1.0)


def fitted(text: str, most: float, size: float, *, bold: bool = False) -> str:
    """Return a text as it is, or its beginning with an ellipsis where it is wider than `most`."""
    if width(text, size, bold=bold) <= most + _SLACK:
        return text
    room = most - width(_ELLIPSIS, size, bold=bold)
    end = 0
    while end < len(text) and (room := room - width(text[end], size, bold=bold)) >= 0:
        end += 1
    return text[:end].rstrip() + _ELLIPSIS


def wrapped(text: str, most: float, size: float) -> list[str]:
    """Return a text as lines that fit, broken at spaces; a word that does not fit is cut."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and width(longer, size) <= most:
            lines[-1] = longer
        else:
            lines.append(fitted(word, most, size))
    return lines


def _of_em(char: str) -> float:
    """Return the width of a character as a part of the size of its font."""
    if char in _WIDTHS:
        return _WIDTHS[char] / 1000
    if east_asian_width(char) in "WF":
        return 1.0
    return 0.7 if char.isupper() or ord(char) > 0x2000 else 0.556
