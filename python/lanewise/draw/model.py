"""What a picture of a topology shows: devices as a tree, the link above each, and how much it is in use.

Scenarios (`lanewise.draw.scenario`) and machines (`lanewise.draw.machine`) become a `Topology`;
`lanewise.draw.folding` draws alike branches once, and `lanewise.draw.svg` draws. Words of a picture are made
where its topology is made: here is nothing of registers or parameters. Leaves out: what joins two devices
besides PCI Express, which is a line of `notes`.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator


class State(StrEnum):
    """How a link is."""

    UP = "up"
    """As fast and wide as both ends can."""
    BELOW = "below"
    """Slower or narrower than both ends can."""
    ASLEEP = "asleep"
    """Idle or switched off to save power: slow until there is something to do."""
    DOWN = "down"
    """Something is there, and there is no link to it."""
    EMPTY = "empty"
    """Nothing is there."""
    INSIDE = "inside"
    """Within one chip, or a tunnel through a cable: its registers are for show."""
    UNKNOWN = "unknown"
    """No source says."""
    WIRE = "wire"
    """No PCI Express: the way of an adapter to its drives."""


class Sort(StrEnum):
    """What a device is, as far as its colour tells."""

    HOST = "host"
    SWITCH = "switch"
    GPU = "gpu"
    NETWORK = "network"
    STORAGE = "storage"
    DEVICE = "device"
    EMPTY = "empty"
    """A slot or port with nothing in it."""
    MORE = "more"
    """Devices that are counted and not drawn."""


@dataclass(frozen=True, slots=True)
class Link:
    """A link above a device."""

    name: str
    """By which its use is known: in scenarios the name of the device below, as in results."""
    mode: str = ""
    """How it came up, like ``gen3 x16``; empty when no source says."""
    lanes: int | None = None
    """How many it runs on."""
    state: State = State.UP
    could: str = ""
    """What both ends can do, where it is below that: ``gen4 x16``."""
    why: str = ""
    """What decided it, in words."""


@dataclass(frozen=True, slots=True)
class LinkUse:
    """What went over a link in a run, each way: goodput in 10⁹ B/s, and the share of time in use, 0 to 1."""

    upstream_gb_per_s: float
    """Payload towards the host, 10⁹ B/s."""
    downstream_gb_per_s: float
    """Payload away from the host, 10⁹ B/s."""
    upstream: float
    """Share of the time in use, 0 to 1."""
    downstream: float
    """Share of the time in use, 0 to 1."""

    @property
    def most(self) -> float:
        """Share of the time that its busier direction was in use, 0 to 1."""
        return max(self.upstream, self.downstream)


@dataclass(slots=True, eq=False)
class Node:
    """A box of the picture, the link above it, and what is below it in the order of the ports."""

    name: str
    """By which it is known: a component of a scenario, or an address. Equal names are allowed."""
    head: str = ""
    """First line in its box; its name when empty."""
    detail: str = ""
    """Second line: its part, or its address."""
    about: tuple[str, ...] = ()
    """More lines for whoever points at it."""
    sort: Sort = Sort.DEVICE
    alike: Hashable = None
    """Equal for devices that may be drawn as one, besides links, slots and what is below."""
    slot: str = ""
    """Port of what is above, which it is at."""
    slot_alike: Hashable = None
    """Equal for slots that count as the same when branches with them are drawn as one."""
    link: Link | None = None
    """Link above; None for what is a part of the thing above it."""
    below: list[Node] = field(default_factory=list)
    count: int = 1
    """How many devices a box of `Sort.MORE` or `Sort.EMPTY` stands for."""

    def walk(self) -> Iterator[Node]:
        """Go through the node and all below it, depth first, in the order of the ports."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting.extend(reversed(node.below))


@dataclass(frozen=True, slots=True)
class Topology:
    """A whole picture: what has nothing above it, in order."""

    title: str
    """What stands above the picture."""
    tops: tuple[Node, ...]
    """Hosts, and whatever hangs on none."""
    notes: tuple[str, ...] = ()
    """Lines below the picture: networks, what joins GPUs, what is not shown."""

    def without_free(self) -> Topology:
        """Return the same without slots and ports that have nothing in them."""
        tops = tuple(_without_free(top) for top in self.tops)
        return replace(self, tops=tops)

    def walk(self) -> Iterator[Node]:
        """Go through all nodes, depth first."""
        for top in self.tops:
            yield from top.walk()


def _without_free(top: Node) -> Node:
    """Copy a tree, level by level, without what is free."""
    copied = replace(top, below=[])
    waiting = [(top, copied)]
    for node, copy in waiting:  # It grows on the way.
        kept = [(below, replace(below, below=[])) for below in node.below if below.sort is not Sort.EMPTY]
        copy.below = [below for _, below in kept]
        waiting.extend(kept)
    return copied
