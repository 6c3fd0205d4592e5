"""Names of many components written as few: a range of them, or the first and how many are alike."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_DASH = "\N{EN DASH}"
_TIMES = "\N{MULTIPLICATION SIGN}"
_NUMBERED = re.compile(r"(.*?)(\d+)(\]?)")


def together(names: Sequence[str]) -> str:
    """Write several names as one: a range and how many they are, or the first "and 2 alike"."""
    if len(names) == 1:
        return names[0]
    span = range_of(names)
    return f"{span} {_TIMES}{len(names)}" if span else f"{names[0]} and {len(names) - 1} alike"


def range_of(names: Sequence[str]) -> str | None:
    """Write names that differ in a number which goes up by one; None when they do not."""
    parts = [match.groups() for name in names if (match := _NUMBERED.fullmatch(name))]
    if len(parts) != len(names):
        return None
    (before, first, after), (_, last, _) = parts[0], parts[-1]
    numbers = [int(number) for _, number, _ in parts]
    if any((one, end) != (before, after) for one, _, end in parts):
        return None
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))):
        return None
    return f"{before}{first}{_DASH}{last}{after}"
