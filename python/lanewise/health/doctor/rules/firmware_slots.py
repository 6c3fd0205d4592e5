"""Slots that the firmware found a card in, and in which nothing is listed."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.machine.address import Address
from lanewise.machine.model import PORTS_TO_LINKS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Function, PhysicalSlot
    from lanewise.machine.view import View

MISSING = Rule(
    id="slot-device-missing",
    what="The firmware found a card in a slot when it started (`dmidecode`: Current Usage: In Use), and no "
    "device "
    "is listed at the slot's address.",
    why="The firmware looks at its slots at every start. A card that it saw then and that is in no list now "
    "was lost since then, or never answered the kernel. Its port may look like that of an empty slot.",
    severity="warning where the bus of the slot is there and empty, and the firmware is right about most "
    "other slots; for one slot alone, where its port reports presence or saw a link come or go; info "
    "otherwise",
    cost="stated: the device in the slot is missing",
    fix="Look into the slot: is there a card? If so, scan again (`echo 1 > /sys/bus/pci/rescan`), read the "
    "log (`dmesg | grep -e BDF -e pciehp`), then reseat the card and start cold. If there is none, the "
    "firmware's table is wrong, or the card has been taken out since then.",
    references=("SMBIOS 3.7 §7.10 (System Slots, Current Usage, Bus Number)",),
    not_said="Slots that share an address with another one, or whose address is on the bus of a card that is "
    "listed, and tables that are wrong about most slots, as on boards whose firmware was copied.",
    bearing=Bearing.DISTURBS,
)


@rule(MISSING)
def missing_in_slots(view: View, this: Rule) -> Iterable[Finding]:
    """Find slots in use whose address nobody has."""
    claims = Counter(slot.address for slot in view.machine.slots if slot.address is not None)
    used = [slot for slot in view.machine.slots if slot.used and slot.address and claims[slot.address] == 1]
    missing = [slot for slot in used if slot.device is None and _is_vacant(view, slot)]
    alone = len(used) == 1
    if not missing or (2 * len(missing) > len(used) and not alone):
        return
    for slot in missing:
        assert slot.address is not None
        port, bdf = _port_to(view, slot), slot.address.short
        clear = port is not None and (not alone or _had_a_card(port))
        link = f"{port.address.short} LnkSta: {port.link.status} ({port.name})" if port is not None else ""
        yield this.finding(
            Severity.WARNING if clear else Severity.INFO,
            bdf,
            f"nothing is listed at {bdf}, where the firmware found a card in {slot.name}",
            [
                f"dmidecode: {slot.name} ({slot}): In Use, Bus Address {slot.address}",
                *([link] if link else []),
                *([f"{len(used) - len(missing)} other slots in use have their device"] if not alone else []),
            ],
            also=[port.address.short] if port is not None else [],
        )


def _had_a_card(port: Function) -> bool:
    """Whether a port does not say that its slot is empty, or that a link came or went in it."""
    slot = port.registers.slot
    return slot is None or slot.presence is not False or bool(slot.link_changed)


def _is_vacant(view: View, slot: PhysicalSlot) -> bool:
    """Whether no function has the bus and device of a slot's address, and none is where its card would be.

    The one device on the bus of a link has number 0. Some firmware writes another number of that bus.
    """
    address = slot.address
    if address is None:
        return False
    card = Address(address.domain, address.bus, 0, 0).slot
    listed = [f for f in view.machine if f.address.slot in (address.slot, card)]
    return not any(f.address.slot == address.slot or f.parent is not None for f in listed)


def _port_to(view: View, slot: PhysicalSlot) -> Function | None:
    """Return the port that leads to the bus of a slot, if nothing is below it."""
    address = slot.address
    for port in view.machine:
        leads = port.buses is not None and address is not None and port.buses.secondary == address.bus
        if leads and port.address.domain == (address.domain if address else 0) and not port.children:
            return port if view.machine.role(port) in PORTS_TO_LINKS else None
    return None
