"""What all records are made of: flags (``This+ That-``), speeds and widths, times."""

from __future__ import annotations

import re

from lanewise.machine.registers import LinkMode
from lanewise.machine.sources.numbers import line_rate

_SPEED = re.compile(r"Speed ([\d.,]+) ?GT/s")
_WIDTH = re.compile(r"Width x(\d+)")
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}

POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
"""Powers of two of the units that sizes are printed in."""


def flags_in(text: str) -> dict[str, bool]:
    """Read ``This+ That-``; no regular expression, because most of the time of reading went there."""
    found = {}
    for token in text.replace(",", " ").replace(";", " ").split():
        word = token if token[-1] in "+-" else token.rstrip(")")
        if word[-1:] in ("+", "-"):
            name = word[:-1].rpartition(":")[2]
            if name:
                found[name] = word[-1] == "+"
    return found


def has_flags(text: str) -> bool:
    """Whether there is a flag in a text."""
    return bool(flags_in(text))


def set_bits(text: str) -> frozenset[str]:
    """Return the names of the flags that are set."""
    return frozenset(name for name, is_set in flags_in(text).items() if is_set)


def copy_flags(flags: dict[str, bool], into: dict[str, object], **names: str) -> None:
    """Copy flags to fields, where the line has them."""
    for field, flag in names.items():
        if flag in flags:
            into[field] = flags[flag]


def link_mode(text: str) -> LinkMode:
    """Read ``Speed 8GT/s, Width x16``."""
    speed, width = _SPEED.search(text), _WIDTH.search(text)
    return LinkMode(line_rate(speed[1] if speed else None), int(width[1]) if width else None)


def seconds(number: str, unit: str) -> float:
    """Return a time in seconds."""
    return float(number) / _PER_SECOND[unit]
