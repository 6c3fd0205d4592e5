"""Slots whose lanes may have to be split: carriers of several devices show one of them until then."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PERFORMANCE, Bearing, Rule, rule
from lanewise.health.doctor.words import listed, port_words
from lanewise.machine.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lanewise.machine.model import Function, Link
    from lanewise.machine.view import View

_PARTS = 2
"""A drive with this part of a port's lanes, or less, may be one of several."""

UNUSED = Rule(
    id="slot-lanes-unused",
    what="The port of an NVMe drive has twice the lanes of the drive, or more.",
    why="Nothing is wrong where the drive is alone. But a carrier card for several drives needs the slot "
    "split (bifurcation, as x4x4x4x4), and until the firmware does that, only the drive on the first lanes "
    "shows: the others are in no dump, and nothing reports them.",
    severity="info",
    cost="stated: none if the drive is alone in its slot",
    fix="If the carrier or riser holds more drives than show: split the slot in the firmware setup (PCIe "
    "bifurcation). If there is one drive, nothing.",
    references=("PCIe Base 5.0 §7.5.3.6 (Link Capabilities)", "§4.2.6.3 (Configuration)"),
    not_said="Cards other than drives, which often have fewer lanes than their slot: two x8 cards on one "
    "riser look like one. Drives whose port states no slot; virtual machines.",
    bearing=Bearing.EXPLAINS,
    profiles=PERFORMANCE,
)


@rule(UNUSED)
def slots_with_unused_lanes(view: View, this: Rule) -> Iterable[Finding]:
    """Find drives that leave lanes of their slot unused; all of a machine are one finding."""
    if not view.machine.measured or view.is_guest:
        return
    found = [link for link in view.live_links if _leaves_lanes(view, link)]
    if not found:
        return
    drives = [link.device for link in found]
    more = "drive leaves" if len(found) == 1 else "drives leave"
    yield this.finding(
        Severity.INFO,
        drives[0].address.short,
        f"{len(found)} {more} lanes of {'its slot' if len(found) == 1 else 'their slots'} unused: "
        f"{listed(drives)}",
        list(_lines(view, found)),
        also=[drive.address.short for drive in drives[1:]],
    )


def _leaves_lanes(view: View, link: Link) -> bool:
    port, drive = link.port_can.width, link.device.link.capability.width
    if not link.device.is_nvme or link.upper.registers.slot is None or view.is_thunderbolt(link.upper):
        return False
    return port is not None and drive is not None and port >= _PARTS * drive


def _lines(view: View, links: list[Link]) -> Iterator[str]:
    for link in links:
        yield (
            f"{link.device.address.short} LnkCap: {link.device.link.capability} ({link.device.name}); "
            f"{port_words(link.upper)} LnkCap: {link.upper.link.capability}"
        )
        slot = view.machine.slot_of(link.device)
        if slot is not None:
            yield f"dmidecode: {slot.name}: {slot}"


def empty_beside(view: View, link: Link) -> list[Function]:
    """List empty ports of the same device that with this one have the lanes that the device below could use.

    Ports of one device number share a group of lanes, which firmware splits among them. That these lanes go
    to one slot, no register says.
    """
    upper, could = link.upper, link.device.link.capability.width or 0
    lanes = upper.link.capability.width or 0
    beside = [
        port
        for port in view.machine
        if port.address.slot == upper.address.slot and port.address > upper.address and _is_empty(view, port)
    ]
    taken = []
    for port in beside:
        if not lanes or lanes >= could:
            break
        taken.append(port)
        lanes += port.link.capability.width or 0
    return taken if lanes == could else []


def _is_empty(view: View, port: Function) -> bool:
    is_port = view.machine.role(port) in (Kind.ROOT_PORT, Kind.DOWNSTREAM_PORT)
    return is_port and not port.children and bool(port.link.capability.width)
