"""What the kernel log tells of devices and links that were lost, and nothing else in a dump."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.loss_words import LOSSES, NOT_STARTED, what_happened
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.health.doctor.rules.driver_log import by_device, whom
from lanewise.health.doctor.words import sign, who
from lanewise.machine.kernel_event import FAILED_START
from lanewise.machine.model import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, KernelEvent
    from lanewise.machine.view import View

_OF_SLOTS = (
    EventKind.LINK_DOWN,
    EventKind.LINK_UP,
    EventKind.CARD_GONE,
    EventKind.CARD_PRESENT,
    EventKind.PLANNED,
    EventKind.NO_LINK,
    EventKind.RECOVERED,
)
_MOST_LINES = 4
_OFTEN = 3
"""Times that a link goes down by itself from which on it will again. Assumed: once may be a reset."""
_FROM_SLEEP = re.compile(r"D3|Switch to D0")
_ASLEEP = re.compile(rf"{_FROM_SLEEP.pattern}|after resume")
_OF_USB = "xhci_hcd "
_NO_ROOM = (
    *("can't reserve", "selected_regions", "scsih_probe", "error -12", "error -16", "No bus number"),
    *("is 0M @ 0x0", "resize PCIe BARs"),
)
"""In lines of devices that were given no addresses or buses, or whose addresses something else has."""

_START_IT = (
    "Read what its driver says before that (`dmesg`). A driver that is older than the device, firmware that "
    "does not fit the driver, and a host that lacks what the device needs (interrupts, memory, power) fail "
    "like this: update kernel or driver, and the firmware of the device, then switch the machine off and on. "
    "If that is no help, reseat the device, look at its power, and try another slot or machine."
)
_WAKE_IT = (
    "Switch the machine off and on. If it happens again, keep the device awake (`echo on > "
    "/sys/bus/pci/devices/BDF/power/control; echo 0 > /sys/bus/pci/devices/BDF/d3cold_allowed`; of vfio-pci "
    "`disable_idle_d3=1`), and update firmware of host and device. A device that is away all the same has "
    "lost its power or its link: look at its power, cable and riser, then replace it."
)
_OF_A_DRIVE = re.compile(r"\bnvme")
_SLEEP_OF_A_DRIVE = (
    "switch link power saving off (`pcie_aspm=off`)",
    "switch power saving of link and drive off (`pcie_aspm=off nvme_core.default_ps_max_latency_us=0`)",
)
"""What the fix of a lost device says of power saving, and what it says of a drive. Source: Linux,
drivers/nvme/host/pci.c (nvme_warn_reset), which advises both."""

_NOTHING_FOUND = (
    "If nothing is in that slot or socket, leave it. Otherwise look at cable and power of the device, and at "
    "the device tree of the board: its regulator, its reset line, its lanes, and a lower `max-link-speed`. "
    "Compare with a log after a cold start."
)

LOST = Rule(
    id="device-lost",
    what="The kernel log says that a device was lost: a GPU fell off the bus (Xid 79), a drive's "
    "controller is down or had to be reset, the firmware of a network or storage adapter stopped, a device "
    "did not come back from a reset.",
    why="The device stopped answering while it was in use. What ran on it failed, and most do not come back "
    "before the next cold start.",
    severity="error; warning when a later line says that it works again, and for a GPU that fell off the "
    "bus in an earlier boot of the log; info for a device that went away with its card",
    cost="stated: the device is out of service, and what ran on it was lost",
    fix="Look at power and temperature of the device at that time, at its cables and riser. Reseat it, "
    "update its firmware, switch link power saving off (`pcie_aspm=off`) and see whether it happens again. "
    "If it does, replace it.",
    references=(
        "NVIDIA, XID Errors (79: GPU has fallen off the bus; 167: PCIe fatal timeout)",
        "NVM Express Base 2.0 §3.1.4.6 (Controller Status)",
    ),
    not_said="Other lines before the last boot of the log; Xids that are not about the bus (see "
    "`gpu-error`); devices that do not answer in the dump either (see `device-dead`).",
    bearing=Bearing.DISTURBS,
)

LINK_LOST = Rule(
    id="link-lost",
    what="The kernel log says that the link of a slot went down, or did not come up.",
    why="A link that goes down by itself takes its device out of the machine, whatever it was doing. It may "
    "come back, and go down again.",
    severity="error when the link stayed down with the card in its slot; warning when the card left, when "
    "the link did not come up, when the dump shows the device all the same, or when it went down three times "
    "and more with its card in the slot; info when the log says that it came back, and for a host controller "
    "of a chip without firmware, whose slot may be empty",
    cost="stated: the device behind it is gone, or was for a time",
    fix="Reseat the card and its cable; look at errors of the port, and at what happened to power at that "
    "time; rescan: `echo 1 > /sys/bus/pci/rescan`.",
    references=("PCIe Base 5.0 §6.7 (Hot-Plug)", "§7.5.3.11 (Slot Status)"),
    not_said="Slots that were switched off on purpose; Thunderbolt and USB4, whose cables are pulled; "
    "links that "
    "containment brought back.",
    bearing=Bearing.DISTURBS,
)

RETRAINED = Rule(
    id="link-retrained",
    what="The kernel had to retrain a link at 2.5 GT/s because it did not come up otherwise.",
    why="Linux tries this with links whose two ends do not agree on a speed. A link that comes up this way "
    "stays slow; one that fails even then leaves its device out of the machine.",
    severity="error when even that failed and nothing is behind the port; warning when it came up; info when "
    "the slot is empty",
    cost="stated: the link runs at 2.5 GT/s, or not at all",
    fix="Reseat the card; look at riser, cable and retimer; update firmware of host and card. Then a cold "
    "start: the kernel's limit stays until then.",
    references=("Linux, drivers/pci/quirks.c (pcie_failed_link_retrain)", "PCIe Base 5.0 §4.2.5 (LTSSM)"),
    bearing=Bearing.LIMITS,
)


@rule(LOST)
def lost_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices that the log says were lost: one finding for each."""
    for place, events in by_device(view).items():
        losses = [event for event in events if event.kind in LOSSES]
        address = whom(view, losses[-1]) if losses else None
        function = view.machine.functions.get(address) if address else None
        here = function or view.machine.named(place)
        if here is not None and view.is_dead(here):
            continue
        before = [event for event in events if event.kind is EventKind.GPU_LOST_BEFORE]
        if before and not losses:
            yield _lost_before(this, place, before)
        if not losses:
            continue
        went, again = _went_with_its_card(view, losses), _works_again(view, events, function)
        worst = min(losses, key=lambda event: list(LOSSES).index(event.kind))
        xid = f" (Xid {worst.number})" if worst.kind is EventKind.GPU_LOST and worst.number else ""
        tail = ", as when a card or cable is pulled" if went else "; it works again" if again else ""
        severity = Severity.WARNING if again else Severity.ERROR
        yield this.finding(
            Severity.INFO if went else severity,
            place,
            f"{_subject(view, place, worst)} {what_happened(worst)}{xid}{tail}",
            [
                *(event.line for event in _first_of_each_kind(losses)),
                *who(place, function),
                *([f"{len(losses)} lines of that kind in the log"] if len(losses) > _MOST_LINES else []),
            ],
            fix=_remedy(view, losses),
            cost="what ran on it at that time failed" if again and not went else None,
        )


def _lost_before(this: Rule, place: str, before: list[KernelEvent]) -> Finding:
    """Tell of a GPU that was lost before the last boot: it works now as far as the log says."""
    xid = f" (Xid {before[-1].number})" if before[-1].number else ""
    return this.finding(
        Severity.WARNING,
        place,
        f"{place} fell off the bus in an earlier boot{xid}, and may again",
        [event.line for event in before[-_MOST_LINES:]],
    )


def _subject(view: View, place: str, loss: KernelEvent) -> str:
    """Name what was lost: of a port that tells of nobody, what is below it."""
    at_a_port = "AER: " in loss.line and whom(view, loss) == loss.address and "pcieport" in loss.line
    return f"what is below {place}" if at_a_port else place


def _remedy(view: View, losses: list[KernelEvent]) -> str | None:
    """Say what to do where a device lacks addresses, did not start or wake, or is a drive; else None."""
    # That the start failed follows from what the lines before say.
    causes = [event for event in losses if FAILED_START not in event.line] or losses
    if all(any(words in event.line for words in _NO_ROOM) for event in causes):
        return (
            "Nothing points to a fault of the card: what it needs is taken or was not given. See what has "
            "it (`grep -i -e pci -e reserved /proc/iomem`, `dmesg | grep -e 'BAR ' -e reserve -e "
            "conflict`). Update firmware of host and card, switch on decoding above 4 GB in the setup, or "
            "start Linux with `pci=realloc` (addresses) or `pci=hpbussize=8` (buses of hot-plug slots). A "
            "virtual machine needs a larger 64-bit MMIO window from its host."
        )
    if all(what_happened(event) == NOT_STARTED for event in losses):
        return _START_IT
    if (sleeper := _only_slept(view, losses)) is not None:
        return _WAKE_IT.replace("BDF", str(sleeper))
    if any(_OF_A_DRIVE.search(event.line) for event in losses):
        return LOST.fix.replace(*_SLEEP_OF_A_DRIVE)
    return None


def _only_slept(view: View, losses: list[KernelEvent]) -> Address | None:
    """Return a device of which no more is known than that it does not wake; not a part of a lost GPU."""
    address = losses[-1].address
    asleep = all(e.kind is EventKind.NO_RETURN and _ASLEEP.search(e.line) for e in losses)
    if address is None or not asleep:
        return None
    gpus = (e.address for e in view.machine.events if e.kind is EventKind.GPU_LOST and e.address is not None)
    return address if all(gpu.slot != address.slot for gpu in gpus) else None


def _first_of_each_kind(events: list[KernelEvent]) -> list[KernelEvent]:
    first = {event.kind: event for event in reversed(events)}
    rest = [event for event in events if event not in first.values()]
    return [*first.values(), *rest][:_MOST_LINES]


def _works_again(view: View, events: list[KernelEvent], function: Function | None) -> bool:
    """Whether a later line says so, or the device failed to return or start and has its driver now."""
    if events[-1].kind is EventKind.RECOVERED:
        return True
    only_return = all(
        e.kind is EventKind.NO_RETURN or FAILED_START in e.line for e in events if e.kind in LOSSES
    )
    return only_return and function is not None and bool(function.driver) and function.link.status.known


def _went_with_its_card(view: View, losses: list[KernelEvent]) -> bool:
    """Whether devices that are no longer listed only did not wake after their card or cable was pulled.

    What is part of a Thunderbolt controller, or behind one, goes with its cable, and the controller with what
    is on it; its USB ports are found dead before they are taken out. A log lists all that was ever there.
    """
    if all(event.address is not None and view.card_left(event.address) for event in losses):
        return True
    others = [e for e in losses if not _did_not_wake(e)]
    if any(_OF_USB not in e.line or not _is_unplugged(view, e) for e in others):
        return False
    there = [view.machine.functions.get(event.address) for event in losses if event.address is not None]
    behind = [one is not None and any(map(view.is_thunderbolt, view.machine.path(one))) for one in there]
    if behind and all(behind) and view.machine.kinds == ("kernel log",):
        return True
    gone = not others and any(event.kind is EventKind.CARD_GONE for event in view.machine.events)
    by_log = view.machine.kinds == ("kernel log",)
    return gone and (by_log or all(event.address not in view.machine.functions for event in losses))


def _did_not_wake(event: KernelEvent) -> bool:
    return event.kind is EventKind.NO_RETURN and _FROM_SLEEP.search(event.line) is not None


def _is_unplugged(view: View, event: KernelEvent) -> bool:
    """Whether another part of a Thunderbolt controller did not wake either, as when the cable is gone."""
    return any(
        _did_not_wake(other)
        and other.address not in (None, event.address)
        and (function := view.machine.functions.get(other.address)) is not None
        and view.is_thunderbolt(function)
        for other in view.machine.events
    )


@rule(LINK_LOST)
def lost_links(view: View, this: Rule) -> Iterable[Finding]:
    """Find slots whose link went, and say whether it came back."""
    ports: dict[Address, list[KernelEvent]] = {}
    for event in view.machine.events:
        if event.address is not None and event.kind in _OF_SLOTS:
            ports.setdefault(event.address, []).append(event)
    for address, events in ports.items():
        port = view.machine.functions.get(address)
        kinds = [event.kind for event in events]
        downs = [e for e in events if e.kind in (EventKind.LINK_DOWN, EventKind.CARD_GONE, EventKind.NO_LINK)]
        if not downs or EventKind.PLANNED in kinds or (port is not None and view.is_thunderbolt(port)):
            continue
        bdf = address.short
        severity, title = _outcome(view, port, bdf, events)
        yield this.finding(
            severity,
            bdf,
            title,
            [*(event.line for event in events[-_MOST_LINES:]), *(_slot_lines(port) if port else [])],
        )
    for event in view.machine.events:
        if event.kind is EventKind.NOTHING_FOUND and event.name is not None:
            no_start = FAILED_START in event.line or "initialize host" in event.line
            yield this.finding(
                Severity.INFO,
                event.name,
                f"the host controller {event.name} did not start: nothing in its slot can be used"
                if no_start
                else f"the link of the host controller {event.name} did not come up: nothing is in its slot, "
                "or what is there does not start",
                [event.line],
                fix=_NOTHING_FOUND,
                cost="none where the slot is empty",
            )


def _slot_lines(port: Function) -> list[str]:
    bdf, slot = port.address.short, port.registers.slot
    present = slot.presence if slot is not None else None
    said = "" if present is None else f"{bdf} SltSta: PresDet{sign(present)}"
    runs = f"{bdf} LnkSta: {port.link.status} ({port.name})" if port.link.status.known else ""
    return [line for line in (runs, said) if line]


def _outcome(view: View, port: Function | None, bdf: str, events: list[KernelEvent]) -> tuple[Severity, str]:
    """Tell what became of a link by the last line about it, and by what the dump shows below its port."""
    last = events[-1].kind
    if last in (EventKind.LINK_UP, EventKind.CARD_PRESENT, EventKind.RECOVERED):
        times = _times_by_itself(events)
        if times >= _OFTEN:
            return Severity.WARNING, f"the link of {bdf} went down {times} times by itself and came back"
        return Severity.INFO, f"the link of {bdf} went down some time ago and came back"
    if view.shows_device_below(port):
        return (
            Severity.WARNING,
            f"the link of {bdf} went down, says the log, but the dump shows its device",
        )
    kinds = {event.kind for event in events[-_MOST_LINES:]}
    left = port is not None and view.card_left(port.address)
    if EventKind.NO_LINK in kinds and not left:
        return Severity.WARNING, f"the link of {bdf} did not come up"
    if left or EventKind.CARD_GONE in kinds:
        return Severity.WARNING, f"the link of {bdf} went down: its card left the slot"
    return Severity.ERROR, f"the link of {bdf} went down and did not come back"


def _times_by_itself(events: list[KernelEvent]) -> int:
    """Count how often a link went down with its card in the slot: taking it out has a line of its own."""
    kinds = [event.kind for event in events]
    return kinds.count(EventKind.LINK_DOWN) - kinds.count(EventKind.CARD_GONE)


@rule(RETRAINED)
def retrained_links(view: View, this: Rule) -> Iterable[Finding]:
    """Find links that came up slow or not at all."""
    kinds = (EventKind.RETRAINED, EventKind.RETRAIN_FAILED)
    for address in dict.fromkeys(e.address for e in view.machine.events if e.kind in kinds and e.address):
        events, bdf = view.events_at(address, *kinds), address.short
        port = view.machine.functions.get(address)
        link = view.machine.link_below(port) if port is not None else None
        slot = port.registers.slot if port is not None else None
        failed = events[-1].kind is EventKind.RETRAIN_FAILED
        empty = link is None and slot is not None and slot.presence is False
        by_log = view.machine.kinds == ("kernel log",)
        well = not by_log and link is not None and link.now.known and not link.below_speed
        if empty:
            severity, how = Severity.INFO, "and it is empty"
        elif well:
            severity, how = Severity.WARNING, "and it is at full speed in the dump"
        elif by_log and not failed:
            severity, how = Severity.WARNING, "and does not say how it runs since"
        elif failed and (link is None or by_log):
            severity, how = Severity.ERROR, "and it did not come up even so"
        elif link is None and port is not None:
            severity, how = Severity.WARNING, "and nothing is listed behind it"
        else:
            severity, how = Severity.WARNING, "and it stays slow"
        yield this.finding(
            severity,
            bdf,
            f"the kernel forced the link of {bdf} to 2.5GT/s, {how}",
            [*(event.line for event in events[:_MOST_LINES]), *who(bdf, port)],
        )
