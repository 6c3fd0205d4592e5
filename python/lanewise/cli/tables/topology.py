"""A scenario's devices as a tree, each with the link above it: what is attached where, before it runs.

Neighbours whose names differ in numbers only, whose links came up alike and which have alike devices below
them share a line, and what is below the first of them is drawn once. Drawn as `scan` draws machines, without
Rich, which would take minutes for thousands of devices.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING

from lanewise.cli.tables.collapse import stem
from lanewise.cli.tables.names import range_of, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lanewise.documents import NegotiatedLink

_MOST_LINES = 60


@dataclass
class _Device:
    """A device, how its link above came up, and what is below it, each behind the name of its slot."""

    name: str
    mode: str = ""
    below: list[tuple[str, _Device]] = field(default_factory=list)
    shape: int = -1
    """Equal numbers are devices that are drawn as one where they are neighbours."""


def topology(links: Iterable[NegotiatedLink], *, most: int = _MOST_LINES) -> list[str]:
    """Return the drawing, line by line; of more than `most` lines the rest is counted."""
    lines = list(_drawn(_trees(links)))
    if len(lines) > most:
        return [
            *lines[:most],
            f"and {len(lines) - most} more lines; 'explain FILE PATTERN' shows some devices",
        ]
    return lines


def _trees(links: Iterable[NegotiatedLink]) -> list[_Device]:
    """Return the devices that have nothing above them, in the order of the links."""
    devices: dict[str, _Device] = {}
    lower = set()
    for link in links:
        above, _, slot = str(link["upper"]).partition(".")
        parent = devices.setdefault(above, _Device(above))
        child = devices.setdefault(str(link["lower"]), _Device(str(link["lower"])))
        lower.add(child.name)
        child.mode = f"{link['generation']} {link['width']}"
        parent.below.append((slot, child))
    tops = [device for name, device in devices.items() if name not in lower]
    _number_shapes(tops)
    return tops


def _number_shapes(tops: Sequence[_Device]) -> None:
    """Give devices that are alike, with all that is below them, the same number."""
    down = list(tops)
    for device in down:  # It grows on the way, so that those below come after those above.
        down.extend(child for _, child in device.below)
    numbers: dict[tuple[object, ...], int] = {}
    for device in reversed(down):
        below = tuple((slot, child.shape) for slot, child in device.below)
        device.shape = numbers.setdefault((stem(device.name), device.mode, below), len(numbers))


def _drawn(tops: Iterable[_Device]) -> Iterator[str]:
    for group in _groups([("", top) for top in tops]):
        yield f"{together([top.name for _, top in group])}{_each(group)}"
        yield from _branches(group[0][1], "")


def _branches(device: _Device, indent: str) -> Iterator[str]:
    groups = _groups(device.below)
    for number, group in enumerate(groups):
        last = number == len(groups) - 1
        slots, names = [slot for slot, _ in group], [child.name for _, child in group]
        place = range_of(slots) or slots[0] if len(slots) > 1 else slots[0]
        mark = "└─ " if last else "├─ "
        yield f"{indent}{mark}{place} → {together(names)}   {group[0][1].mode}{_each(group)}"
        yield from _branches(group[0][1], indent + ("   " if last else "│  "))


def _each(group: Sequence[tuple[str, _Device]]) -> str:
    """Say whose devices are drawn below a line that stands for several."""
    first = group[0][1]
    return f"   each as {first.name}:" if len(group) > 1 and first.below else ""


def _groups(below: Iterable[tuple[str, _Device]]) -> list[list[tuple[str, _Device]]]:
    """Put neighbours together that are alike, in the order of the ports."""
    return [list(group) for _, group in groupby(below, key=lambda each: each[1].shape)]
