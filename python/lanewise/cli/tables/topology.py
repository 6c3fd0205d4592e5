"""A scenario's devices as a tree, each with the link above it: what is attached where, before it runs.

Devices of one kind of name on neighbouring ports whose links came up alike share a line. Drawn as `scan`
draws machines, without Rich, which would take minutes for thousands of devices.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanewise.cli.tables.names import range_of, together

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lanewise.documents import NegotiatedLink

_MOST_LINES = 60
_GROUP = re.compile(r"\[?\d*\]?$")


@dataclass
class _Device:
    """A device, and what is below it: the slot above, the device, and how the link came up."""

    name: str
    below: list[tuple[str, _Device, str]] = field(default_factory=list)

    def shape(self) -> tuple[object, ...]:
        """Return what has to be equal for two devices to be drawn as one."""
        return tuple((slot, _stem(device.name), mode, device.shape()) for slot, device, mode in self.below)


def topology(links: Iterable[NegotiatedLink], *, most: int = _MOST_LINES) -> list[str]:
    """Return the drawing, line by line; of more than `most` lines the rest is counted."""
    devices: dict[str, _Device] = {}
    tops: dict[str, _Device] = {}
    lower = set()
    for link in links:
        above, _, slot = str(link["upper"]).partition(".")
        parent = devices.setdefault(above, _Device(above))
        child = devices.setdefault(str(link["lower"]), _Device(str(link["lower"])))
        lower.add(child.name)
        mode = f"{link['generation']} {link['width']}"
        parent.below.append((slot, child, mode))
    for name, device in devices.items():
        if name not in lower:
            tops[name] = device
    lines = [line for top in tops.values() for line in (top.name, *_branches(top, ""))]
    if len(lines) > most:
        return [
            *lines[:most],
            f"and {len(lines) - most} more lines; 'explain FILE PATTERN' shows some devices",
        ]
    return lines


def _branches(device: _Device, indent: str) -> Iterator[str]:
    groups = _groups(device.below)
    for number, group in enumerate(groups):
        last = number == len(groups) - 1
        slots, names = [slot for slot, *_ in group], [child.name for _, child, _ in group]
        mode = group[0][2]
        place = range_of(slots) or slots[0] if len(slots) > 1 else slots[0]
        mark = "└─ " if last else "├─ "
        yield f"{indent}{mark}{place} → {together(names)}   {mode}"
        yield from _branches(group[0][1], indent + ("   " if last else "│  "))


def _groups(below: Sequence[tuple[str, _Device, str]]) -> list[list[tuple[str, _Device, str]]]:
    """Put neighbours together that are alike, in the order of the ports."""
    groups: list[list[tuple[str, _Device, str]]] = []
    key: tuple[object, ...] | None = None
    for slot, child, mode in below:
        own = (_stem(child.name), mode, child.shape())
        if own == key:
            groups[-1].append((slot, child, mode))
        else:
            groups.append([(slot, child, mode)])
        key = own
    return groups


def _stem(name: str) -> str:
    return _GROUP.sub("", name)
