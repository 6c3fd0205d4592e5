"""Slots that have a card and no link: never up, training without end, or without power."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.machine.model import PORTS_TO_LINKS, EventKind, Kind, Slot

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

_RESERVED = 2 << 20
"""Bytes that Linux keeps free for each kind of memory below a port with hot plug (`hpmmiosize`)."""
_FEW = 3
"""Ports of one switch that show how presence works there. Assumed."""

NO_LINK = Rule(
    id="slot-no-link",
    what="A slot says that a card is in it, and its port has no link.",
    why="A card that does not train is in no list of devices. Only its port shows it, by Presence Detect "
    "State without a link.",
    severity="warning where a second sign says that there is a card: windows set up for it, a link that "
    "came or went, an attention lamp, ports of the same switch whose presence is right, all other slots of "
    "the kind in use, a link switched off in a slot with hot plug, the firmware's table, the kernel log; "
    "info without one, because some boards tie Presence Detect of empty bays, and where the firmware's "
    "table calls the slot free or the firmware set up nothing for a root port without hot plug",
    cost="stated: the device in the slot is missing",
    fix="Reseat what is in the slot, check its power cable and riser; try the card in another slot and "
    "another card in this one.",
    references=("PCIe Base 5.0 §7.5.3.11 (Slot Status)", "§7.5.3.8 (Link Status)", "§4.2.5 (LTSSM)"),
    not_said="Ports that contain an error (see `dpc-triggered`), that train (see `link-training`), or whose "
    "link went down, as the log says (see `link-lost`); Thunderbolt and USB4.",
)

_LOOK = (
    "Many boards tie Presence Detect, so that a free slot looks like this. `dmidecode -t slot` decides "
    "(Current Usage: In Use or Available), or a look into the slot. If a card is in it, reseat it and check "
    "its power cable and riser; if there is none, nothing needs to be done."
)

_FREE = (
    "Nothing, if the slot is free: many boards tie Presence Detect. If a card is in it, reseat it and check "
    "its power cable and riser."
)

_ENABLE = (
    "This link is disabled: by firmware setup, hot plug or a tool. Switch the slot on in the "
    "firmware setup, or here: `setpci -s BDF CAP_EXP+10.w=0:10`, then `echo 1 > /sys/bus/pci/rescan`. If it "
    "goes off again, read why in the log (`dmesg | grep BDF`)."
)

TRAINING = Rule(
    id="link-training",
    what="The link of a port trains and does not come up.",
    why="Training takes some milliseconds. A port that is found training and has no link tries again and "
    "again: something answers at the other end, but the two do not agree.",
    severity="warning",
    cost="stated: the device at the other end is missing",
    fix="Reseat the card; look at riser, cable and retimer; limit the port to 2.5 GT/s and see whether "
    "it trains (`setpci -s BDF CAP_EXP+30.w=1:f; setpci -s BDF CAP_EXP+10.w=20:20`); update firmware of "
    "host and card.",
    references=("PCIe Base 5.0 §7.5.3.8 (Link Status, Link Training)", "§4.2.5 (LTSSM)"),
    not_said="Ports without a sign of a card, some of which always say that they are training.",
)

POWER_FAULT = Rule(
    id="slot-power-fault",
    what="The power controller of a slot saw a fault.",
    why="The slot was overloaded or its supply failed; the controller switches the card off, and a card that "
    "is still there may have lost its state.",
    severity="error where no device is behind the port; warning where one works",
    cost="stated: the card may be without power",
    fix="Take the card out and look for damage; check its own power cable and what the slot may deliver; try "
    "another card in the slot. The bit stays until it is cleared: `setpci -s BDF CAP_EXP+1a.w=2`.",
    references=("PCIe Base 5.0 §7.5.3.11 (Slot Status, Power Fault Detected)", "§6.7.1.8 (Power Controller)"),
    bearing=Bearing.DISTURBS,
)


@rule(NO_LINK)
def occupied_slots(view: View, this: Rule) -> Iterable[Finding]:
    """Find slots whose card is not there."""
    for port, slot in _ports_without_link(view):
        if not slot.presence or port.link.training or view.is_thunderbolt(port):
            continue
        if _is_told_by_the_log(view, port):
            continue
        if port.registers.dpc is not None and port.registers.dpc.triggered:
            continue
        signs, against = list(_signs(view, port, slot)), _what_speaks_against(view, port, slot)
        bdf = port.address.short
        off = bool(port.link.disabled)
        if off and slot.hot_plug and not slot.power_off:
            signs.append(f"{bdf} is a slot with hot plug, whose power is not off")
        what = f"link disabled at {bdf}" if off else f"no link at {bdf}"
        yield this.finding(
            Severity.WARNING if signs and against is None else Severity.INFO,
            bdf,
            f"{what}, although {_slot_words(slot)} "
            + ("is occupied" if signs and against is None else "says that a card is in it"),
            [
                _link_line(port),
                f"{bdf} SltSta: PresDet+",
                *([f"{bdf} LnkCtl: Disabled+"] if off else []),
                *signs,
                *([against] if against is not None else []),
            ],
            fix=_ENABLE if off else _FREE if against is not None else None if signs else _LOOK,
            cost="none, if the slot is free" if against is not None else None,
        )


@rule(TRAINING)
def training_links(view: View, this: Rule) -> Iterable[Finding]:
    """Find links that never come up."""
    for port in view.machine:
        slot = port.registers.slot or Slot()
        if view.machine.role(port) not in PORTS_TO_LINKS or port.children or not port.link.training:
            continue
        if slot.presence is False or view.is_thunderbolt(port):
            continue
        signs = list(_signs(view, port, slot))
        if not slot.presence and not signs:
            continue
        bdf = port.address.short
        presence = [f"{bdf} SltSta: PresDet+"] if slot.presence else []
        yield this.finding(
            Severity.WARNING,
            bdf,
            f"the link of {bdf} keeps training and does not come up",
            [f"{_link_line(port)}, Train+", *presence, *signs],
        )


@rule(POWER_FAULT)
def power_faults(view: View, this: Rule) -> Iterable[Finding]:
    """Find slots that lost their power, by register or by the log."""
    addresses = {
        e.address: None for e in view.machine.events if e.kind is EventKind.POWER_FAULT and e.address
    }
    addresses |= {
        port.address: None
        for port in view.machine
        if port.registers.slot is not None and port.registers.slot.power_fault
    }
    for address in addresses:
        port = view.machine.functions.get(address)
        slot = port.registers.slot if port is not None else None
        works = port is not None and bool(port.children)
        yield this.finding(
            Severity.WARNING if works else Severity.ERROR,
            address.short,
            f"power fault at {_slot_words(slot)} of {address.short}"
            + (", whose device is there" if works else ""),
            [
                *(
                    [f"{address.short} SltSta: PowerFlt+ ({port.name})"]
                    if port and slot and slot.power_fault
                    else []
                ),
                *(event.line for event in view.events_at(address, EventKind.POWER_FAULT)[:4]),
            ],
        )


def _is_told_by_the_log(view: View, port: Function) -> bool:
    """Whether the last line about the link of a port says that it is down (`link-lost`)."""
    down = (EventKind.LINK_DOWN, EventKind.CARD_GONE, EventKind.NO_LINK)
    events = view.events_at(port.address, *down, EventKind.LINK_UP, EventKind.CARD_PRESENT)
    return bool(events) and events[-1].kind in down


def _ports_without_link(view: View) -> Iterator[tuple[Function, Slot]]:
    for port in view.machine:
        if view.machine.role(port) in PORTS_TO_LINKS and view.has_no_link(port):
            yield port, port.registers.slot or Slot()


def _signs(view: View, port: Function, slot: Slot) -> Iterator[str]:
    """List what else says that there is a card, in words."""
    bdf = port.address.short
    windows = [window for window in port.registers.windows or () if window.size]
    if _are_for_a_device(view, port, slot):
        yield f"{bdf} has windows for a device: " + ", ".join(
            f"{window.first:x}-{window.last:x}" for window in windows
        )
    if slot.link_changed:
        yield f"{bdf} SltSta: Changed: LinkState+ (a link came or went)"
    if slot.attention in ("on", "blink") and not slot.power_off:
        yield f"{bdf} SltCtl: AttnInd {slot.attention.capitalize()}"
    if port.link.bandwidth_managed:
        yield f"{bdf} LnkSta: BWMgmt+ (a link was tried and changed)"
    if "SDES" in (port.errors.uncorrectable_status or ()):
        yield f"{bdf} UESta: SDES+ (the link went down by surprise)"
    yield from _what_siblings_say(view, port)
    for physical in view.machine.slots:
        if physical.used and physical.address == port.address:
            yield f"dmidecode: {physical.name} is in use"
    for event in view.events_at(port.address, EventKind.RETRAINED, EventKind.RETRAIN_FAILED)[:3]:
        yield event.line


def _are_for_a_device(view: View, port: Function, slot: Slot) -> bool:
    """Whether firmware or kernel made more room below a port than they do for an empty one."""
    room = _room(port)
    if not room:
        return False
    if not slot.hot_plug:
        return True
    others = [other for other in _siblings(view, port) if view.has_no_link(other)]
    return room > 2 * _RESERVED and all(_room(other) < room for other in others)


def _room(port: Function) -> int:
    return sum(window.size for window in port.registers.windows or ())


def _siblings(view: View, port: Function) -> list[Function]:
    """List ports of the same make beside a port: of one switch, or root ports of one kind."""
    who = (port.identity.vendor_id, port.identity.device_id, port.identity.device_name)
    return [
        other
        for other in view.machine
        if other.parent == port.parent
        and other.address != port.address
        and other.address.domain == port.address.domain
        and (other.identity.vendor_id, other.identity.device_id, other.identity.device_name) == who
        and other.registers.slot is not None
    ]


def _what_siblings_say(view: View, port: Function) -> Iterator[str]:
    """Say how presence works at ports of the same make: free ones without it, or all others in use.

    A board wires the bays of drives otherwise than its card slots: only free slots of the same kind tell.
    """
    siblings = _siblings(view, port)
    bays = _bays_alike(view, port)
    free = [other for other in _likes_of(view, port) if _is_free(view, other)]
    used = [s for s in siblings if view.machine.link_below(s) is not None]
    if free:
        yield f"{free[0].address.short} of the same make is free and says PresDet-"
    elif len(used) >= _FEW and len(used) == len(siblings):
        yield f"all {len(used)} other ports of its make have a device"
    elif len(bays) >= _FEW and all(view.machine.link_below(bay) is not None for bay in bays):
        yield f"all {len(bays)} other slots like it (hot plug, x{port.link.capability.width}) have a device"


def _bays_alike(view: View, port: Function) -> list[Function]:
    """List slots with hot plug that a machine has elsewhere and that are alike: make, lanes and kind of slot.

    Where a free one was among them its presence would tell nothing; a board has none free but this one.
    """
    if port.registers.slot is None or not port.registers.slot.hot_plug or not port.link.capability.width:
        return []
    who = (port.identity.vendor_id, port.identity.device_id, port.kind, port.link.capability)
    return [
        other
        for other in view.machine
        if other.address != port.address
        and (other.identity.vendor_id, other.identity.device_id, other.kind, other.link.capability) == who
        and other.registers.slot is not None
        and _kind_of_slot(other) == _kind_of_slot(port)
    ]


def _likes_of(view: View, port: Function) -> list[Function]:
    return [other for other in _siblings(view, port) if _kind_of_slot(other) == _kind_of_slot(port)]


def _is_free(view: View, port: Function) -> bool:
    """Whether a port has no link and says that nothing is in its slot: there presence is right."""
    slot = port.registers.slot
    return view.has_no_link(port) and slot is not None and slot.presence is False


def _kind_of_slot(port: Function) -> tuple[object, ...]:
    """Return what a board fixes of a slot: hot plug, who switches its power, its latch."""
    slot = port.registers.slot or Slot()
    return (slot.hot_plug, slot.surprise, slot.power_controller, slot.latch_sensor)


def _what_speaks_against(view: View, port: Function, slot: Slot) -> str | None:
    """Say what shows that nothing is in a slot, although its port says that a card is in it."""
    buses = port.buses
    for physical in view.machine.slots:
        address = physical.address
        behind = address is not None and buses is not None and buses.secondary == address.bus
        if physical.used is False and (physical.address == port.address or behind):
            return f"dmidecode: {physical.name.strip()} is available (Bus Address {address})"
    kinds = {window.prefetchable for window in port.registers.windows or ()}
    shows = any(_is_free(view, other) for other in _likes_of(view, port))
    at_root = view.machine.role(port) is Kind.ROOT_PORT
    if at_root and slot.hot_plug is False and kinds == {True, False} and not _room(port) and not shows:
        return (
            f"{port.address.short} has no windows: the firmware found nothing in it at the start, and it "
            "takes no card later (HotPlug-)"
        )
    return None


def _slot_words(slot: Slot | None) -> str:
    return f"slot {slot.number}" if slot is not None and slot.number else "the slot"


def _link_line(port: Function) -> str:
    link = port.link
    active = {True: ", DLActive+", False: ", DLActive-", None: ""}[link.data_link_active]
    return f"{port.address.short} LnkSta: Width x{link.status.width}{active} ({port.name})"
