"""Values of a fleet file: how each is written, what is allowed, and what it means.

Sizes carry their unit, as everywhere in our files: ``"256 B"``, ``"128 GiB"``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from lanewise.machine.lanes import WIDTHS
from lanewise.machine.registers import SPEEDS_GT_S, LinkMode
from lanewise.quantity import kind_of, size_of
from lanewise.toml import inline

if TYPE_CHECKING:
    from collections.abc import Callable

Value: TypeAlias = str | int | bool | tuple[str, ...] | tuple[tuple[str, int], ...]
"""As it is compared: sizes in bytes, lists in the order of their words."""

_UNITS = {unit: int(size_of(unit)) for unit in ("B", "KiB", "MiB", "GiB", "TiB")}
"""Those in which sizes are written; all that the core knows are read."""
_SIZE = re.compile(r"(\d+) ?([A-Za-z]+)")
_LINK = re.compile(r"(?:(?:gen ?(?P<generation>\d+)|(?P<gt_s>[\d.]+) ?GT/s))?[ ,]*(?:x(?P<width>\d+))?", re.I)
_BAR = re.compile(r"bar[0-5]")


@dataclass(frozen=True)
class Shape:
    """One way to write a value: what is allowed in words, and the way from TOML and back."""

    allowed: str
    read: Callable[[object], Value]
    """Raises ValueError for what is of the right type and means nothing, TypeError for another type."""
    write: Callable[[Any], object]
    """Returns what TOML can write."""


def _size(value: object) -> int:
    if not isinstance(value, str):
        raise TypeError
    match = _SIZE.fullmatch(value.strip())
    if match is None or kind_of(match[2]) != "bytes":
        raise ValueError
    return int(int(match[1]) * size_of(match[2]))


def size_text(number: int) -> str:
    """Write bytes with the largest unit that leaves a whole number."""
    unit = next((unit for unit in reversed(_UNITS) if number and number % _UNITS[unit] == 0), "B")
    return f"{number // _UNITS[unit]} {unit}"


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _whole(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError
    if value < 0:
        raise ValueError
    return value


def _truth(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _words(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(word, str) for word in value):
        raise TypeError
    return tuple(sorted(value))


def _sizes(value: object) -> tuple[tuple[str, int], ...]:
    if not isinstance(value, dict):
        raise TypeError
    if not all(_BAR.fullmatch(name) for name in value):
        raise ValueError
    return tuple(sorted((name, _size(size)) for name, size in value.items()))


def _choice(*words: str) -> Callable[[object], str]:
    def read(value: object) -> str:
        if _word(value) not in words:
            raise ValueError
        return str(value)

    return read


def _size_texts(value: tuple[tuple[str, int], ...]) -> dict[str, str]:
    return {name: size_text(size) for name, size in value}


def _as_it_is(value: Value) -> Value:
    return value


BYTES = Shape('a size with its unit, like "256 B"', _size, size_text)
TEXT = Shape("a text", _word, _as_it_is)
WHOLE = Shape("a whole number from 0 on", _whole, _as_it_is)
TRUTH = Shape("true or false", _truth, _as_it_is)
WORDS = Shape("a list of texts", _words, _as_it_is)
BARS = Shape('a table of sizes by BAR, like { bar2 = "128 GiB" }', _sizes, _size_texts)
_IOMMU = ("off", "passthrough", "translated", "on")
IOMMU = Shape(f"one of {', '.join(_IOMMU)}", _choice(*_IOMMU), _as_it_is)


def plain(shape: Shape, value: Value) -> str:
    """Write a value for a sentence: as in the file, without quotes."""
    return inline(shape.write(value)).replace('"', "") if value not in ("", ()) else "none"


LINK_ALLOWED = (
    f"a speed of {', '.join(f'{speed:g}' for speed in SPEEDS_GT_S)} GT/s (or gen1 to "
    f"gen{len(SPEEDS_GT_S)}) and "
    f'a width of {", ".join(f"x{width}" for width in WIDTHS)}, or one of both, like "16 GT/s x8"'
)


def link_mode(value: object) -> LinkMode:
    """Read a link like ``32 GT/s x16``, ``gen5``, ``x16``; ValueError and TypeError as a shape."""
    if not isinstance(value, str):
        raise TypeError
    match = _LINK.fullmatch(value.strip())
    if match is None or not value.strip():
        raise ValueError
    speed: float | None = None
    if match["generation"]:
        if not 0 < int(match["generation"]) <= len(SPEEDS_GT_S):
            raise ValueError
        speed = SPEEDS_GT_S[int(match["generation"]) - 1]
    elif match["gt_s"]:
        speed = float(match["gt_s"])
        if speed not in SPEEDS_GT_S:
            raise ValueError
    width = int(match["width"]) if match["width"] else None
    if width is not None and width not in WIDTHS:
        raise ValueError
    return LinkMode(speed, width)


def link_text(mode: LinkMode) -> str:
    """Write a link as the file has it; empty where neither speed nor width is known."""
    parts = [f"{mode.gt_s:g} GT/s"] if mode.gt_s else []
    return " ".join([*parts, *([f"x{mode.width}"] if mode.width else [])])
