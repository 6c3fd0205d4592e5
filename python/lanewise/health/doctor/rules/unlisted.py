"""Links that are up and lead to nothing: a device that trains, and that the kernel did not list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.machine.model import PORTS_TO_LINKS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.health.doctor.finding import Finding
    from lanewise.machine.model import Function
    from lanewise.machine.view import View

_FEWEST = 3
"""Ports with a device that show that the source is whole, and not cut down to some functions. Assumed.
One is enough beside a host bridge: none of 469 public dumps has such a bare port."""

_HOST_BRIDGE = 0x0600

_SHARE = 2
"""Ports with a device for each without one, where there are several without: a filtered dump
lacks devices behind most. Assumed; whole dumps of 30 machines in order lack none."""

UNLISTED = Rule(
    id="device-not-listed",
    what="The link of an occupied slot is up, and no device is listed behind its port.",
    why="A card that trains and does not answer the kernel's first reads, or that was removed from the "
    "kernel's list after it failed, is not in any list of devices. Only its port tells: the link is active, "
    "and the bus below is empty.",
    severity="warning",
    cost="stated: the device in the slot is missing",
    fix="Look for the device in the log (`dmesg | grep -e BDF -e 'not ready'`), then scan again: `echo 1 > "
    "/sys/bus/pci/devices/BDF/rescan`. If it stays away: cold start, reseat the card, update its firmware.",
    references=("PCIe Base 5.0 §7.5.3.8 (Data Link Layer Link Active)", "§7.5.3.11 (Slot Status)"),
    not_said="Sources that lack devices behind more than a third of such ports, or that show few and "
    "no host bridge: shortened dumps; slots whose link is down, which count as empty; Thunderbolt and USB4.",
    bearing=Bearing.DISTURBS,
)


@rule(UNLISTED)
def unlisted_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find ports with a link and no device, where most other ports with a link have one."""
    if not view.machine.measured:
        return
    live = [port for port in view.machine if _is_live(view, port)]
    bare = [port for port in live if not port.children]
    having = len(live) - len(bare)
    if _is_whole(view):
        ports = [port for port in view.machine if view.machine.role(port) in PORTS_TO_LINKS]
        having = sum(bool(port.children) for port in ports)
    elif having < _FEWEST:
        return
    if not having or (len(bare) > 1 and having < _SHARE * len(bare)):
        return
    for port in bare:
        slot, bdf = port.registers.slot, port.address.short
        name = f"slot {slot.number}" if slot is not None and slot.number else "the slot"
        yield this.finding(
            Severity.WARNING,
            bdf,
            f"no device behind {bdf}, although {name} is occupied and its link is up",
            [
                f"{bdf} LnkSta: {port.link.status}, DLActive+; SltSta: PresDet+ ({port.name})",
                f"{having} other ports have a device",
            ],
        )


def _is_whole(view: View) -> bool:
    """Whether a source has what nobody asks for by name: the processor's own host bridge."""
    return any(function.is_class(_HOST_BRIDGE) for function in view.machine)


def _is_live(view: View, port: Function) -> bool:
    """Whether a port says that there is a card, and that its link is up."""
    slot, link = port.registers.slot, port.link
    return (
        view.machine.role(port) in PORTS_TO_LINKS
        and slot is not None
        and slot.presence is True
        and link.data_link_active is True
        and bool(link.status.width)
        and not view.is_thunderbolt(port)
    )
