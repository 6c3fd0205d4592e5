"""Names of many components written as few: a range of them, or the first and how many are alike."""

from __future__ import annotations

import re
from itertools import product
from math import prod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_DASH = "\N{EN DASH}"
_TIMES = "\N{MULTIPLICATION SIGN}"
_COUNTING = re.compile(r"(\d+)(?=[\].\[]|$)")
"""A number of a component: at the end of its name or key, or in brackets; not part of an address."""
_NUMBER = re.compile(r"(?<=_)[0-9a-f]{2}(?=_|\b)|\d+")
"""Decimal numbers, and bus and device of an address as names of scanned devices have them: `gpu_b7_00_0`."""


def stem(name: str) -> str:
    """Return a name without its numbers: what names of alike things have in common."""
    return _NUMBER.sub("#", name)


def together(names: Sequence[str]) -> str:
    """Write several names as one: a range and how many they are, or the first "and 2 alike"."""
    if len(names) == 1:
        return names[0]
    span = range_of(names)
    return f"{span} {_TIMES}{len(names)}" if span else f"{names[0]} and {len(names) - 1} alike"


def range_of(names: Sequence[str]) -> str | None:
    """Write names that count up as one, those of several groups with two ranges; None for others."""
    pieces = [_COUNTING.split(name) for name in names]
    first, last = pieces[0], pieces[-1]
    # Every second piece is a number.
    if any(len(each) != len(first) or each[::2] != first[::2] for each in pieces):
        return None
    counting = [at for at in range(1, len(first), 2) if first[at] != last[at]]
    ranges = [range(int(first[at]), int(last[at]) + 1) for at in counting]
    # Not by len(), which refuses numbers of twenty digits.
    if prod(max(each.stop - each.start, 0) for each in ranges) != len(names):
        return None
    for each, numbers in zip(pieces, product(*ranges), strict=True):
        if any(int(each[at]) != number for at, number in zip(counting, numbers, strict=True)):
            return None
    spans = {at: f"{first[at]}{_DASH}{last[at]}" for at in counting}
    return "".join(spans.get(at, piece) for at, piece in enumerate(first))
