"""What all records are made of: flags (``This+ That-``), speeds and widths, times."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, cast

from lanewise.machine.registers import LinkMode
from lanewise.machine.sources.numbers import line_rate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.machine.said import Said

_SPEED = re.compile(r"Speed ([\d.,]+) ?GT/s")
_WIDTH = re.compile(r"Width x(\d+)")
_PER_SECOND = {"s": 1.0, "ms": 1e3, "us": 1e6, "ns": 1e9}

POWERS = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
"""Powers of two of the units that sizes are printed in."""


def has_flags(text: str) -> bool:
    """Whether there is a flag in a text."""
    return bool(_flags(text))


def set_bits(text: str) -> frozenset[str]:
    """Return the names of the flags that are set: of registers of errors, mostly none."""
    if "+" not in text:
        return frozenset()
    return frozenset(flag for flag, is_set in _flags(text).items() if is_set)


def copy_flags(text: str, into: Said, **names: str) -> None:
    """Copy flags (``This+ That-``) to fields, where the text has them."""
    cast("dict[str, bool]", into).update(flags(text, **names))


def flags(text: str, **names: str) -> dict[str, bool]:
    """Return flags by the fields that they are for, where the text has them."""
    known = _flags(text)
    return {field: known[flag] for field, flag in names.items() if flag in known}


@lru_cache(maxsize=1024)
def _flags(text: str) -> Mapping[str, bool]:
    """Return the flags of a text; of one that is there twice, whether any of the two is set.

    Ports of a switch and functions of a device say the same: one text in ten is another one.
    """
    plain = text.replace(",", " ").replace(";", " ").replace(":", " ").replace(")", " ")
    found: dict[str, bool] = {}
    for word in plain.split():
        if word[-1] in "+-" and len(word) > 1:
            found[word[:-1]] = word[-1] == "+" or found.get(word[:-1], False)
    return found


@lru_cache(maxsize=1024)
def link_mode(text: str) -> LinkMode:
    """Read ``Speed 8GT/s, Width x16``."""
    speed, width = _SPEED.search(text), _WIDTH.search(text)
    return LinkMode(line_rate(speed[1] if speed else None), int(width[1]) if width else None)


def seconds(number: str, unit: str) -> float:
    """Return a time in seconds."""
    return float(number) / _PER_SECOND[unit]
