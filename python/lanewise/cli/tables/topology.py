"""A scenario's devices as a tree, each with the link above it: what is attached where, before it runs.

Neighbours whose names differ in numbers only, whose links came up alike and which have alike devices below
them share a line, and what is below the first of them is drawn once. Drawn as `scan` draws machines, without
Rich, which would take minutes for thousands of devices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.alike_names import range_of, together
from lanewise.draw.folding import Folding
from lanewise.draw.scenario import trees

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lanewise.documents import NegotiatedLink
    from lanewise.draw.model import Node

_MOST_LINES = 60


def topology(links: Iterable[NegotiatedLink], *, most: int = _MOST_LINES) -> list[str]:
    """Return the drawing, line by line; of more than `most` lines the rest is counted."""
    tops = trees(links)
    lines = list(_drawn(tops, Folding(tops)))
    if len(lines) > most:
        return [
            *lines[:most],
            f"and {len(lines) - most} more lines; 'explain FILE PATTERN' shows some devices",
        ]
    return lines


def _drawn(tops: Sequence[Node], folding: Folding) -> Iterator[str]:
    for group in folding.groups(tops):
        yield f"{together([top.name for top in group])}{_each(group)}"
        yield from _branches(group[0], folding, "")


def _branches(node: Node, folding: Folding, indent: str) -> Iterator[str]:
    groups = folding.groups(node.below)
    for number, group in enumerate(groups):
        last = number == len(groups) - 1
        slots, names = [child.slot for child in group], [child.name for child in group]
        place = range_of(slots) or slots[0] if len(slots) > 1 else slots[0]
        mark = "└─ " if last else "├─ "
        mode = group[0].link.mode if group[0].link else ""
        yield f"{indent}{mark}{place} → {together(names)}   {mode}{_each(group)}"
        yield from _branches(group[0], folding, indent + ("   " if last else "│  "))


def _each(group: Sequence[Node]) -> str:
    """Say whose devices are drawn below a line that stands for several."""
    first = group[0]
    return f"   each as {first.name}:" if len(group) > 1 and first.below else ""
