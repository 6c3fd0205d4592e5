"""Branches that are alike put together, for drawings: neighbours with equal devices, links and what is below.

One rule for the tree that `explain` prints and for pictures. What "equal" means, the maker of the nodes
says (`Node.alike`, `Node.slot_alike`); a rule may refuse to put two branches together that look the same,
because their links are in use differently.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    from lanewise.draw.model import Node


class Folding:
    """Which devices of a topology are alike, with all that is below them."""

    def __init__(self, tops: Iterable[Node], same: Callable[[Node, Node], bool] | None = None) -> None:
        """Look at the trees below `tops`; `same` has the last word about two nodes that look alike."""
        self._same = same
        self._shapes: dict[int, int] = {}
        down = list(tops)
        for node in down:  # It grows on the way, so that those below come after those above.
            down.extend(node.below)
        numbers: dict[Hashable, int] = {}
        for node in reversed(down):
            below = tuple((child.slot_alike, self._shapes[id(child)]) for child in node.below)
            link = node.link
            how = None if link is None else (link.mode, link.state, link.could)
            key = (node.alike, node.sort, how, below)
            self._shapes[id(node)] = numbers.setdefault(key, len(numbers))

    def groups(self, nodes: Sequence[Node]) -> list[list[Node]]:
        """Put neighbours together that are alike, in their order."""
        found: list[list[Node]] = []
        for node in nodes:
            if found and self.alike(found[-1][0], node):
                found[-1].append(node)
            else:
                found.append([node])
        return found

    def alike(self, one: Node, other: Node) -> bool:
        """Whether two branches may be drawn as one."""
        if self._shapes[id(one)] != self._shapes[id(other)]:
            return False
        return self._same is None or all(map(self._same, one.walk(), other.walk()))
