"""Devices that could do more than the slot or port that they are in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PERFORMANCE, Bearing, Rule, rule
from lanewise.health.doctor.rig import both_ways
from lanewise.health.doctor.rules.split import empty_beside
from lanewise.health.doctor.words import SOLDERED, listed, port_words
from lanewise.machine.lanes import rate_of
from lanewise.machine.model import Kind
from lanewise.machine.topology import is_chipset_uplink

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.health.doctor.rig import Trial
    from lanewise.machine.model import Function, Link
    from lanewise.machine.view import View

ABOVE_SLOT = Rule(
    id="device-above-slot",
    what="A device could use more lanes or more speed than the port that it is plugged into has.",
    why="Nothing is broken, and no register calls it an error, but the device cannot reach what its box "
    "says. Moving it to a better slot is the cheapest upgrade there is.",
    severity="info",
    cost="simulated: the link alone, DMA both ways, as the slot allows and as the device could",
    fix="Use a slot with the generation and lanes of the device, if the machine has one free; otherwise "
    "expect what the slot can carry.",
    references=("PCIe Base 5.0 §7.5.3.6 (Link Capabilities)", "§4.2.6.3 (Configuration)"),
    not_said="Devices slower than 1.9 GB/s, where it rarely matters; links inside a chip.",
    bearing=Bearing.EXPLAINS,
    profiles=PERFORMANCE,
)


@rule(ABOVE_SLOT)
def devices_above_their_slot(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices that their slot limits."""
    if not view.machine.measured:
        return
    for link in view.links:
        if not _matters(view, link):
            continue
        port, device = link.upper.link.capability, link.device.link.capability
        limit, could = rate_of(link.reach), rate_of(device)
        if limit is None or could is None or could <= limit:
            continue
        beside = _split_off(view, link)
        yield this.finding(
            Severity.INFO,
            link.device.address.short,
            f"{link.device.address.short} could run at {device}, but its slot is {port}",
            [
                f"{link.device.address.short} LnkCap: {device} ({link.device.name})",
                f"{port_words(link.upper)} LnkCap: {port} ({link.upper.name})",
                *_as_the_firmware_says(view, link),
                *(
                    f"{port.address.short} LnkCap: {port.link.capability}; nothing behind it"
                    for port in beside
                ),
            ],
            fix=_fix(view, link, this, beside),
            trial=_trial(view, link),
        )


def _as_the_firmware_says(view: View, link: Link) -> Iterable[str]:
    slot = view.machine.slot_of(link.device)
    if slot is not None:
        yield f"dmidecode: {slot.name}: {slot}"


_ENCLOSED = (
    "Nothing: the slot is that of a Thunderbolt or USB4 controller, which has no more lanes. In a slot of "
    "the machine itself the device would reach more."
)


def _split_off(view: View, link: Link) -> list[Function]:
    """Return empty ports that may have lanes of the same slot; none where the board decides."""
    if view.is_thunderbolt(link.upper) or view.is_wired_on_board(link):
        return []
    return empty_beside(view, link)


def _fix(view: View, link: Link, this: Rule, beside: list[Function]) -> str | None:
    if view.is_thunderbolt(link.upper):
        return _ENCLOSED
    if view.is_wired_on_board(link):
        return SOLDERED
    better = _better_slots(view, link, this)
    split = _split_words(view, link, beside)
    return f"{better or this.fix} {split}" if split else better


def _split_words(view: View, link: Link, beside: list[Function]) -> str:
    """Say where the rest of a slot's lanes may be; empty where nothing points to a slot that is split."""
    lanes, slot = link.upper.link.capability.width or 0, view.machine.slot_of(link.device)
    if beside:
        own = "has" if len(beside) == 1 else "have"
        return (
            f"If {listed(beside)}, empty beside {port_words(link.upper)}, {own} lanes of the same slot, the "
            "slot is split: give it all of them in the firmware setup (PCIe bifurcation)."
        )
    if slot is not None and slot.lanes is not None and lanes and slot.lanes > lanes:
        return (
            f"The firmware says that {slot.name} has x{slot.lanes} wired, and its port has x{lanes}: look at "
            "PCIe bifurcation in the firmware setup."
        )
    return ""


def _better_slots(view: View, link: Link, this: Rule) -> str | None:
    """Name the slots that are free and carry more of what the device could do; None when there are none."""
    device, limit = link.device.link.capability, rate_of(link.reach) or 0.0
    better = [
        slot
        for slot in view.machine.slots
        if slot.used is False and (rate_of(slot.carries(device)) or 0.0) > limit
    ]
    if not better:
        return None
    names = ", ".join(f"{slot.name} ({slot})" for slot in better)
    return f"{this.fix} Free and better, if its firmware is right: {names}."


def _matters(view: View, link: Link) -> bool:
    device = link.device
    could = rate_of(device.link.capability)
    if could is None or not view.is_worth_tuning(could) or device.has_c2c:
        return False
    if view.machine.role(device) is Kind.UPSTREAM_PORT and not is_chipset_uplink(link.upper, device):
        return True
    gpu = view.machine.gpu_below(link)
    return (gpu is not None and view.is_compute_gpu(gpu)) or device.is_class(
        0x01, 0x02, 0x0C04, 0x0C06, 0x0B, 0x12
    )


def _trial(view: View, link: Link) -> Trial | None:
    mps, mrrs = view.payload(link.device), view.reads(link.device)
    return both_ways(
        link.reach, link.device.link.capability, mps=mps, mrrs=mrrs, own=view.own_rate(link.device)
    )
