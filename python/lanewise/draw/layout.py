"""Where the boxes of a picture are: a tree that grows to the right, a column for each level, leaves stacked.

A box is as tall as all that is below it, so that every link is a straight line, with room for words above and
under it. Alike branches are one box. A picture that would still be taller than `MOST_ROWS` leaves shows the
first few branches of each device and counts the others. Lengths are in CSS pixels.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanewise.alike_names import range_of
from lanewise.draw.model import Node, Sort
from lanewise.draw.wording import clean, fitted, width

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lanewise.draw.folding import Folding
    from lanewise.draw.model import Topology

MOST_ROWS = 240
_MOST_LEVELS = 16
"""Levels of switches below each other that are drawn; buses allow 256."""
_MOST_BRANCHES = (64, 32, 16, 8, 4, 2)
"""Branches of one device that are drawn in a picture that is too tall, in the order of trying."""
PAGE = 980.0
"""Width that a picture keeps to, where its levels allow."""
HEAD, DETAIL, LABEL = 12.0, 10.5, 10.5
"""Sizes of letters: first and second line of a box, ports and links."""
_CAPS = (230.0, 190.0, 160.0, 135.0, 110.0, 90.0)
"""Widest text in a box; the first with which a picture keeps to the page is taken."""
PADDING, _GAP = 9.0, 11.0
_WIDEST_PORT = 90.0
_MOST_NAMED = 4
_ONE_LINE, _TWO_LINES = 26.0, 39.0
_SHORTEST_LINK, _BARE_LINK = 64.0, 18.0


@dataclass(slots=True, eq=False)
class Box:
    """A box in its place, and the link to the left of it."""

    group: list[Node]
    """Devices that it stands for, alike with all below them; the first one's are drawn below."""
    total: int
    """Devices that it stands for in the whole picture: those in the group, for each that its parent is."""
    level: int
    above: Box | None = None
    below: list[Box] = field(default_factory=list)
    head: str = ""
    detail: str = ""
    slot: str = ""
    labels: tuple[str, str] = ("", "")
    """Words above and under the link."""
    x: float = 0.0
    y: float = 0.0
    w: float = 0.0
    h: float = 0.0

    @property
    def node(self) -> Node:
        """The device, or the first of several."""
        return self.group[0]

    @property
    def middle(self) -> float:
        """Height at which its link arrives."""
        return self.y + self.h / 2

    @property
    def badge(self) -> str:
        """Like ``x8`` with a multiplication sign, where it stands for several of its parent."""
        count = len(self.group) * self.node.count
        return f"\N{MULTIPLICATION SIGN}{count:,}" if count > 1 and self.node.sort is not Sort.MORE else ""


@dataclass(frozen=True, slots=True)
class Layout:
    """All boxes, and how much room they take."""

    boxes: tuple[Box, ...]
    w: float
    h: float


def layout(
    topology: Topology, folding: Folding, labels: Callable[[Sequence[Node]], tuple[str, str]]
) -> Layout:
    """Place what a topology has; `labels` gives the words above and under the link of a group of devices."""
    tops = _boxes(topology, folding, None)
    for most in _MOST_BRANCHES:
        if sum(not box.below for box in _all(tops)) <= MOST_ROWS:
            break
        tops = _boxes(topology, folding, most)
    boxes = tuple(_all(tops))
    for box in boxes:
        _name(box)
        box.labels = labels(box.group) if box.node.link is not None else ("", "")
    for cap in _CAPS:
        wide = _columns(boxes, cap)
        if wide <= PAGE:
            break
    return Layout(boxes, wide, _rows(tops))


def _boxes(topology: Topology, folding: Folding, most: int | None) -> list[Box]:
    """Return the boxes of what has nothing above it, with those below; of many branches the first `most`."""

    def of(nodes: Sequence[Node], above: Box | None) -> list[Box]:
        level, total = (above.level + 1, above.total) if above else (0, 1)
        groups = folding.groups(nodes) if level < _MOST_LEVELS else []
        shown = groups if most is None or len(groups) <= most else groups[: most - 1]
        drawn = sum(map(len, shown))
        found = [Box(group, total * len(group) * group[0].count, level, above) for group in shown]
        if drawn < len(nodes):
            more = _more(nodes[drawn:])
            found.append(Box([more], total * more.count, level, above))
        return found

    tops = of(topology.tops, None)
    waiting = list(tops)
    for box in waiting:  # It grows on the way.
        if box.node.below:
            box.below = of(box.node.below, box)
            waiting.extend(box.below)
    return tops


def _more(nodes: Sequence[Node]) -> Node:
    """Return a box for devices that are counted and not drawn."""
    devices = sum(below.count for node in nodes for below in node.walk())
    return Node("", f"and {devices:,} more", sort=Sort.MORE, count=devices)


def _all(tops: Sequence[Box]) -> Iterator[Box]:
    waiting = list(reversed(tops))
    while waiting:
        box = waiting.pop()
        yield box
        waiting.extend(reversed(box.below))


def _name(box: Box) -> None:
    box.head = clean(_spanned([node.head or node.name for node in box.group]))
    box.detail = clean(_details(box.group))
    box.slot = clean(_spanned([node.slot for node in box.group]))


def _details(group: Sequence[Node]) -> str:
    """Write second lines as one; what follows their names in all of them is written once."""
    rests = {node.detail.removeprefix(node.name) for node in group}
    if len(group) == 1 or len(rests) > 1 or rests == {group[0].detail}:
        return _spanned([node.detail for node in group], most=_MOST_NAMED)
    rest = rests.pop()
    return _spanned([node.name for node in group], most=_MOST_NAMED) + (f"{rest} each" if rest else "")


def _spanned(names: list[str], most: int = 1) -> str:
    """Write names of alike things as one: what they all are, a range, or the first ones."""
    if len(set(names)) == 1:
        return names[0]
    # A range of addresses is read as one of functions.
    span = None if ":" in names[0] else range_of(names)
    return span or ", ".join(names[:most]) + (" \N{HORIZONTAL ELLIPSIS}" if len(names) > most else "")


def _columns(boxes: Sequence[Box], cap: float) -> float:
    """Place boxes in columns by their level, texts cut to `cap`; return the width of all."""
    levels = max((box.level for box in boxes), default=0) + 1
    texts, ports, links = ([0.0] * (levels + 1) for _ in range(3))
    for box in boxes:
        head = min(width(box.head, HEAD, bold=True), cap) + _badge_room(box)
        texts[box.level] = max(texts[box.level], head, min(width(box.detail, DETAIL), cap))
        words = max(width(label, LABEL) for label in box.labels)
        needed = max(words + 16, _SHORTEST_LINK) if box.node.link else _BARE_LINK
        links[box.level] = max(links[box.level], needed)
        if box.level and box.slot:
            ports[box.level - 1] = max(ports[box.level - 1], _port_room(box))
    left, wide, x = [], [], 0.0
    for level in range(levels):
        x += links[level] if level else 0.0
        left.append(x)
        wide.append(texts[level] + 2 * PADDING + ports[level])
        x += wide[-1]
    for box in boxes:
        box.x, box.w = left[box.level], wide[box.level]
    return x


def _rows(tops: Sequence[Box]) -> float:
    """Stack the leaves, and make boxes above them as tall as what is below; return the height of all."""
    y = 0.0
    waiting = [(box, False) for box in reversed(tops)]
    while waiting:
        box, is_done = waiting.pop()
        least = _TWO_LINES if box.detail else _ONE_LINE
        if box.below and not is_done:
            box.y = y
            waiting.append((box, True))
            waiting.extend((child, False) for child in reversed(box.below))
        elif box.below:
            box.h = max(least, box.below[-1].y + box.below[-1].h - box.y)
            y = max(y, box.y + box.h + _GAP)
        else:
            box.y, box.h = y, least
            y += least + _GAP
    return max(0.0, y - _GAP)


def shown(text: str, box: Box, size: float, *, bold: bool = False) -> str:
    """Cut a line of a box to the room that it has: all but ports and the badge."""
    ports = max((_port_room(below) for below in box.below if below.slot), default=0.0)
    return fitted(text, box.w - 2 * PADDING - ports - (_badge_room(box) if bold else 0.0), size, bold=bold)


def port(box: Box) -> str:
    """Return the name of the port that a box is at, cut to the room that it has."""
    return fitted(box.slot, _WIDEST_PORT, LABEL)


def _port_room(box: Box) -> float:
    return min(width(box.slot, LABEL), _WIDEST_PORT) + 10


def _badge_room(box: Box) -> float:
    return width(box.badge, LABEL) + 16 if box.badge else 0.0
