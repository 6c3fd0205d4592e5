"""Ways from devices to the root, link by link: which are known, what their ends can do, and what they do.

A link trains in the simulator as it does in reality, to what both ends can do; one that runs below that is
forced to what it runs at, except idle GPUs, which speed up under load. Links inside one chip are as fast as
the link to the chip, because their registers are for show. Left out: conventional PCI.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lanewise.machine.lanes import WIDTHS
from lanewise.machine.link_bandwidth import widest_mode
from lanewise.machine.model import ENDPOINTS, Kind, LinkMode
from lanewise.machine.topology import is_inside_amd

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lanewise.machine.address import Address
    from lanewise.machine.chipset import Chipset
    from lanewise.machine.model import Function, Link, Machine


@dataclass(frozen=True, slots=True)
class Change:
    """What to take instead of what the machine says, for one function and the link above it."""

    gt_s: float | None = None
    """Speed of the link above, GT/s: both ends are taken to be able to do it."""
    width: int | None = None
    """Lanes of the link above: both ends are taken to have them."""
    mps: int | None = None
    """Bytes, for this function and for every port above it."""
    mrrs: int | None = None
    """Bytes."""
    relaxed_ordering: bool | None = None
    tag_bits: int | None = None
    """5, 8, 10 or 14."""
    asleep: bool | None = None
    """False for a link above that never sleeps."""

    def applied_to(self, mode: LinkMode) -> LinkMode:
        """Return a mode with speed and width of the change, where it has them."""
        return LinkMode(self.gt_s or mode.gt_s, self.width or mode.width)


NO_CHANGE = Change()

_TUNNELS = (
    "tunnels of Thunderbolt and USB4 carry what Gen3 x4 does, at most: controllers, and what else is on the "
    "cable, leave less"
)

_CHIPSET = LinkMode(8.0, 4)
"""DMI 3.0, which joins an Intel chipset to its processor."""


class Modes(NamedTuple):
    """What the ends of a link can do, and what it is forced to where it does not do that."""

    upper: LinkMode
    lower: LinkMode
    forced: LinkMode | None


class Ways:
    """The ways of one machine, with some of its links changed."""

    def __init__(self, machine: Machine, changes: Mapping[Address, Change]) -> None:
        """Take the machine and what to take instead of what it says."""
        self.machine = machine
        self.changes = changes
        self.assumed: set[str] = set()
        """What was taken for granted so far, in sentences."""

    def choose(self, endpoints: Iterable[Address | str] | None) -> list[Function]:
        """Return those of the endpoints whose links to the root are all known; of all when None."""
        wanted = self._all() if endpoints is None else [self.machine[address] for address in endpoints]
        links = ((function, self.machine.link_above(function)) for function in wanted)
        chosen = {function.address: function for function, link in links if self._complete(link)}
        return list(chosen.values())

    def modes(self, link: Link) -> Modes | None:
        """Return what a link can do and is forced to; None when nothing says how fast or wide it is."""
        if link.on_die:
            return self._inside(link)
        change = self.changes.get(link.device.address, NO_CHANGE)
        upper, lower = self._able(link.upper, link), self._able(link.device, link)
        if upper is None or lower is None:
            return None
        forced = self._forced(link, upper, lower)
        return Modes(
            change.applied_to(upper),
            change.applied_to(lower),
            None if forced is None else change.applied_to(forced),
        )

    def has_switch(self, link: Link) -> bool:
        """Whether the lower end is a switch, perhaps with endpoints beside its upstream port."""
        return any(self.machine.role(function) is Kind.UPSTREAM_PORT for function in link.lower)

    def above_switch(self, link: Link) -> Link | None:
        """Return the link above the switch that a link hangs on; None at a root port."""
        above = self.machine.parent(link.upper)
        return None if above is None else self.machine.link_above(above)

    def chipset_above(self, link: Link) -> Chipset | None:
        """Return the chipset that the root port above a link is part of; None for the processor's own."""
        chipset = self.machine.chipset
        return chipset if chipset is not None and link.upper in chipset else None

    def _all(self) -> list[Function]:
        """Return one endpoint of every device, and all of those beside a switch's upstream port."""
        links = self.machine.links
        first = [link.device for link in links if self._takes_part(link)]
        beside = [function for link in links if self.has_switch(link) for function in link.lower]
        return [function for function in [*first, *beside] if self.machine.role(function) in ENDPOINTS]

    def _takes_part(self, link: Link) -> bool:
        """Whether a link is physical, or inside a chip behind a physical one or behind the chipset's own.

        What is inside an AMD chip has no wire that could say how fast it is: its SATA ports least of all.
        """
        if link.on_die and is_inside_amd(link.device) and not link.device.is_nic:
            return False
        return not link.on_die or self._physical_above(link) is not None or link.device.is_nic

    def _complete(self, link: Link | None) -> bool:
        """Whether speed and width are known of this link and all above it."""
        while link is not None:
            if self.modes(link) is None:
                return False
            if self.machine.parent(link.upper) is None:
                if (chipset := self.chipset_above(link)) is not None:
                    uplink = f"Gen{chipset.uplink.generation} x{chipset.uplink.width}"
                    self.assumed.add(
                        f"devices on the {chipset.name} share its link, DMI: {uplink}, as no dump shows"
                    )
                return self.machine.role(link.upper) is Kind.ROOT_PORT
            link = self.above_switch(link)
        return False

    def _physical_above(self, link: Link) -> Link | None:
        """Return the nearest physical link above one inside a chip."""
        above: Link | None = link
        while above is not None and above.on_die:
            above = self.above_switch(above)
        return above

    def _inside(self, link: Link) -> Modes:
        """Give a link inside a chip a mode that does not limit it: that of the physical link above."""
        physical = self._physical_above(link)
        modes = None if physical is None else self.modes(physical)
        mode = _CHIPSET if modes is None else modes.lower
        inside = "links inside a chip carry what the link to the chip does"
        alone = "links inside a chip to which no other leads carry what DMI of Gen3 x4 does"
        self.assumed.add(_TUNNELS if link.tunnel else alone if modes is None else inside)
        return Modes(mode, mode, None)

    def _able(self, end: Function, link: Link) -> LinkMode | None:
        """Return what an end can do; where no source says, it can do what the link does."""
        said = link.port_can if end is link.upper else end.link.capability
        able = _usable(said)
        if able is not None:
            return able
        now = _usable(link.now) or widest_mode(link)
        if now is not None and _usable(link.now) is None:
            self.assumed.add(
                "a link of which only the bandwidth is known has the most lanes that make it: up to 16, "
                "of a drive 4"
            )
        awake = _usable(link.device.link.capability)
        if now is not None and awake is not None and self.machine.gpu_below(link) is not None:
            self.assumed.add("a slow GPU behind a port whose capability is not known is taken to be idle")
            return LinkMode(min(awake.gt_s or 0, said.gt_s or awake.gt_s or 0), now.width)
        if now is not None:
            self.assumed.add("an end whose capability is not known is taken to support what its link runs at")
        return now

    def _forced(self, link: Link, upper: LinkMode, lower: LinkMode) -> LinkMode | None:
        """Return what a link runs at below what its ends can do; a slow GPU is taken to be idle."""
        asleep = self.machine.is_slow_as_idle_gpus(link)
        if not link.below_width and (asleep or not link.below_speed):
            return None
        now = _usable(link.now)
        if now is None:
            return None
        if link.contradiction:
            self.assumed.add(
                "a link that reports more than its ends support is taken to run at what they support"
            )
        gt_s, width = min(upper.gt_s or 0, lower.gt_s or 0), min(upper.width or 0, lower.width or 0)
        return LinkMode(gt_s if asleep else min(now.gt_s or 0, gt_s), min(now.width or 0, width))


def _usable(mode: LinkMode) -> LinkMode | None:
    """Return a mode that scenarios can express: the next narrower one for widths such as x12."""
    if mode.generation is None or not mode.width:
        return None
    return LinkMode(mode.gt_s, max(width for width in WIDTHS if width <= mode.width))
