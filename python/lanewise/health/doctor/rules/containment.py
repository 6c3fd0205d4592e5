"""Downstream Port Containment: triggered, or missing where cards are pulled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PROVISIONING, Rule, rule
from lanewise.health.doctor.words import listed
from lanewise.machine.model import EventKind
from lanewise.machine.topology import is_thunderbolt

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.address import Address
    from lanewise.machine.view import View

TRIGGERED = Rule(
    id="dpc-triggered",
    what="A port has contained an error and keeps its link down, or the kernel log says that it did.",
    why="Downstream Port Containment takes the link down on a fatal error so that no damaged data gets "
    "further. Until software clears it, everything below the port is gone.",
    severity="error; warning when the link came back; info when the log says that the card left the slot",
    cost="stated: the devices below the port are out of service",
    fix="Read the reason in the kernel log (`dmesg | grep -i dpc`), repair it, then clear DPC Trigger "
    "Status or rescan.",
    references=("PCIe Base 5.0 §6.2.10 (Downstream Port Containment)", "§7.9.15 (DPC capability)"),
    profiles=PROVISIONING,
)

ABSENT = Rule(
    id="dpc-off",
    what="Cards may be pulled without notice from a slot whose port can contain errors, and containment "
    "is off.",
    why="Without containment a surprise removal can end in a fatal error of the whole machine rather than "
    "of one drive.",
    severity="info",
    cost="stated: robustness, not bandwidth",
    fix="Let firmware hand DPC over to the kernel (_OSC), or boot with `pcie_ports=dpc-native`.",
    references=("PCIe Base 5.0 §6.2.10 (Downstream Port Containment)", "§6.7 (Hot-Plug, async removal)"),
    not_said="Ports without hot plug, empty slots, and ports without the capability; Thunderbolt and USB4, "
    "whose own protocol reports a cable that is pulled.",
    profiles=PROVISIONING,
)


@rule(TRIGGERED)
def contained_ports(view: View, this: Rule) -> Iterable[Finding]:
    """Find ports that are shut, by register, and ports that were, by the log."""
    told = set()
    for port in view.machine:
        dpc = port.registers.dpc
        if dpc is not None and dpc.triggered:
            told.add(port.address)
            yield this.finding(
                Severity.ERROR,
                port.address.short,
                f"{port.address.short} holds its link down after an error",
                [
                    f"{port.address.short} DpcSta: Trigger+ ({port.name})",
                    *(event.line for event in view.events_at(port.address, EventKind.CONTAINED)[-2:]),
                ],
            )
    contained = {e.address: None for e in view.machine.events if e.kind is EventKind.CONTAINED and e.address}
    for address in contained:
        if address in told:
            continue
        events = view.events_at(address, EventKind.CONTAINED, EventKind.RECOVERED)
        alive = view.shows_device_below(view.machine.functions.get(address))
        back = alive or events[-1].kind is EventKind.RECOVERED
        pulled = view.card_left(address) and _came_first(view, address)
        tail = " and took its link down" + (", as when a card is pulled" if pulled else "")
        yield this.finding(
            Severity.INFO if pulled else Severity.WARNING if back else Severity.ERROR,
            address.short,
            f"{address.short} contained an error" + ("; its link came back" if back else tail),
            [event.line for event in events[-4:]],
        )


def _came_first(view: View, port: Address) -> bool:
    """Whether a card left the slot before its port contained anything."""
    kinds = [event.kind for event in view.events_at(port, EventKind.CARD_GONE, EventKind.CONTAINED)]
    return kinds[0] is EventKind.CARD_GONE


@rule(ABSENT)
def uncontained_slots(view: View, this: Rule) -> Iterable[Finding]:
    """Say once where containment is off."""
    ports = [
        port
        for port in view.machine
        if port.registers.dpc is not None
        and port.registers.dpc.trigger == "off"
        and port.registers.slot is not None
        and port.registers.slot.surprise
        and view.machine.link_below(port) is not None
        and not is_thunderbolt(port)
    ]
    if not ports:
        return
    yield this.finding(
        Severity.INFO,
        ports[0].address.short,
        f"containment is off at {len(ports)} hot-plug slot{'s' if len(ports) > 1 else ''} in use",
        [f"{port.address.short} DpcCtl: Trigger:0, SltCap: Surprise+ ({port.name})" for port in ports[:4]]
        + ([f"and {listed(ports[4:])}"] if len(ports) > 4 else []),
        also=[port.address.short for port in ports[1:]],
    )
