"""What others say of a link of which registers are missing: `lspci` behind LnkSta, the kernel at boot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor import alike
from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.health.doctor.rules.one_end import ONE_END, lonely_devices
from lanewise.health.doctor.severity import FEW_LANES, by_loss, payload_share
from lanewise.health.doctor.words import who
from lanewise.machine.address import Address
from lanewise.machine.lanes import rate_of
from lanewise.machine.model import IDLE_GPU_GT_S, EventKind, LinkMode
from lanewise.machine.registers import SPEEDS_GT_S
from lanewise.machine.topology import is_inside_chip

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lanewise.machine.model import Function, KernelEvent
    from lanewise.machine.view import View

_SLOT_OF_AN_ADAPTER = 8
"""Lanes of slots for adapters; the processor's have had more than 2.5 GT/s since 2008."""

DOWNGRADED = Rule(
    id="link-downgraded",
    what="`lspci` calls a link downgraded, and what it compared that with is not in the source.",
    why="After speed and width, `lspci` says whether they are what that end can do. Snippets that keep only "
    "LnkSta keep that word. If the slot has no more, nothing is wrong: then the port says `ok`.",
    severity="warning where the port at the other end is called downgraded too, for lanes where most "
    "devices of the kind have more, and for lanes where no port is in the source; info otherwise, "
    "and for devices whose own wires or media need no more",
    cost="stated: not known without LnkCap",
    fix="Take the whole dump (`sudo lspci -vvv`), or keep LnkCap as well: `lspci -vv | grep -P "
    '"^[0-9a-f]|LnkCap:|LnkSta:"`. A card that should have more: reseat it, look at risers and bifurcation.',
    references=("pciutils, ls-caps.c (cap_express_link_rate)", "PCIe Base 5.0 §7.5.3.8 (Link Status)"),
    not_said="GPUs at 2.5 or 5 GT/s and full width; `overdriven` and `strange`, which say that LnkCap is "
    "wrong; ports whose device is reported.",
    bearing=Bearing.EXPLAINS,
)

LIMITED = Rule(
    id="bandwidth-limited",
    what="The kernel says at boot that a device could do more than its path to the host carries.",
    why="Linux names the link that limits: `63.008 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe "
    "x8 link`. A slot with fewer lanes than the card is not a fault; fewer lanes than the slot has are.",
    severity="warning where the link carries less than its port can, or less than for others of the kind, "
    "or a quarter of the device's lanes where the port is not known, or for an adapter that runs all of its "
    "eight and more lanes at 2.5 GT/s; info otherwise",
    cost="stated: the device cannot reach what it could",
    fix="Reseat the card, look at riser and bifurcation; if its slot has no more, use another one.",
    references=("Linux, drivers/pci/pci.c (__pcie_print_link_status)",),
    not_said="Functions inside processors and chipsets; devices behind a Thunderbolt or USB4 cable, whose "
    "links say 2.5 GT/s; GPUs that were idle at that time; links of which the dump says the same (see "
    "`link-width`, `link-speed`, `device-above-slot`).",
    bearing=Bearing.EXPLAINS,
)


@rule(DOWNGRADED)
def downgraded_links(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices that `lspci` calls downgraded."""
    ports = [f for f in view.machine if _is_port(f) and f.link.status.known]
    for function in view.machine:
        link, bdf = function.link, function.address.short
        if _is_port(function) or not view.stands_for_device(function) or not link.status.known:
            continue
        lanes = link.said_of_width == "downgraded" and link.capability.width is None
        speed = link.said_of_speed == "downgraded" and link.capability.gt_s is None
        if function.is_gpu and (link.status.gt_s or 0.0) <= IDLE_GPU_GT_S:
            speed = False
        if not (lanes or speed):
            continue
        agreeing = [port for port in ports if _agrees(port, link.status, lanes=lanes, speed=speed)]
        silent = not any(port.link.said_of_width for port in ports)
        wider = _wider_likes(view, function) if lanes and silent else []
        what = " and ".join(word for word, said in (("width", lanes), ("speed", speed)) if said)
        fault = bool(agreeing or wider or (lanes and not ports)) and not _is_enough(view, function)
        yield this.finding(
            Severity.WARNING if fault else Severity.INFO,
            bdf,
            f"the link of {bdf} runs at {link.status}, and lspci calls its {what} downgraded"
            + ("" if agreeing or wider or not ports else ", as its slot may be"),
            [
                f"{bdf} LnkSta: {_as_said(function)} ({function.name})",
                *(f"{port.address.short} LnkSta: {_as_said(port)} ({port.name})" for port in agreeing[:2]),
                *(f"{one.address.short}, of its kind, has x{one.link.status.width}" for one in wider[:2]),
            ],
        )


def _is_enough(view: View, function: Function) -> bool:
    """Whether a device that is known uses no more than its link carries now, whatever both ends could do."""
    own, now = view.own_rate(function), rate_of(function.link.status)
    if own is None or now is None:
        return False
    return by_loss(now * payload_share(view.payload(function)), own.of("write"), own) is Severity.INFO


def _wider_likes(view: View, function: Function) -> list[Function]:
    """List devices of the same kind that have more lanes, where most of them do."""
    likes = next((each for each in alike.groups(view) if function in each), [])
    wider = [one for one in likes if (one.link.status.width or 0) > (function.link.status.width or 0)]
    return wider if len(likes) >= alike.FEWEST and 2 * len(wider) > len(likes) else []


def _is_port(function: Function) -> bool:
    return function.is_bridge or function.is_class(0x0604)


def _agrees(port: Function, mode: LinkMode, *, lanes: bool, speed: bool) -> bool:
    """Whether a port in this mode is called downgraded too: then both ends could do more."""
    said = port.link
    both_lanes = not lanes or said.said_of_width == "downgraded"
    both_speed = not speed or said.said_of_speed == "downgraded"
    return said.status == mode and both_lanes and both_speed


def _as_said(function: Function) -> str:
    link, now = function.link, function.link.status
    speed, width = (f" ({said})" if said else "" for said in (link.said_of_speed, link.said_of_width))
    return f"Speed {now.gt_s:g}GT/s{speed}, Width x{now.width}{width}"


@rule(LIMITED)
def limited_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices that the kernel says are held back; each once."""
    alone = view.machine.kinds == ("kernel log",)
    told = _told_by_one_end(view) if alone else {}
    latest = {e.address: e for e in view.machine.events if e.kind is EventKind.LIMITED and e.address}
    tunnels = _tunnels(view, latest)
    for address, event in latest.items():
        function = view.machine.functions.get(address)
        if event.now is None or event.able is None or address.function or _is_told(view, function, event):
            continue
        if event.port in tunnels and event.now.gt_s == SPEEDS_GT_S[0]:
            continue
        if function is not None and (is_inside_chip(function) or _is_on_die(view, function)):
            continue
        lanes = (event.now.width or 0, event.able.width or 0)
        gpu = function is not None and function.is_gpu
        if gpu and lanes[0] == lanes[1] and (event.now.gt_s or 0.0) <= IDLE_GPU_GT_S:
            continue
        port = view.machine.functions.get(event.port) if event.port is not None else None
        is_fault = event.port not in tunnels and _is_fault(view, function, event, port)
        severity = Severity.WARNING if is_fault else Severity.INFO
        if alone and _is_left_to_one_end(event, function, severity, told.get(address)):
            continue
        yield this.finding(
            severity,
            address.short,
            f"the path from {address.short} to the host carries {event.now}; the device can do {event.able}",
            [event.line, *who(address.short, function)],
        )


def _is_on_die(view: View, function: Function) -> bool:
    """Whether the link above is no wire: the kernel names what its registers say, which means nothing."""
    link = view.machine.link_above(function)
    return link is not None and link.on_die


def _told_by_one_end(view: View) -> dict[Address, Severity]:
    """Return devices of which `link-one-end` speaks, with how bad it finds them."""
    found = ((Address.find(finding.bdf), finding.severity) for finding in lonely_devices(view, ONE_END))
    return {address: severity for address, severity in found if address is not None}


def _is_left_to_one_end(
    event: KernelEvent, function: Function | None, severity: Severity, told: Severity | None
) -> bool:
    """Whether `link-one-end` judges the same lines of a log that stands alone, and no milder.

    The links of such a log come from these lines. Of a device below the limiting port that rule says what
    there is to say. A limit further up is no link of the device; and where the bridges are missing, as from a
    log whose beginning is lost, nothing says that it is one.
    """
    below = function is not None and event.port is not None and function.parent == event.port
    return (below and severity is Severity.INFO) or (told is not None and told.rank >= severity.rank)


def _is_told(view: View, function: Function | None, event: KernelEvent) -> bool:
    """Whether the dump has the registers of the link that limits, and they agree with the kernel."""
    if function is None or event.now is None or view.machine.kinds == ("kernel log",):
        return False
    for link in view.machine.link_path(function):
        if link.upper.address == event.port and link.limit.known and link.now.known:
            same_width = event.now.width == link.now.width
            slept = view.machine.gpu_below(link) is not None
            return same_width and (slept or event.now.gt_s == link.now.gt_s)
    return False


def _is_fault(view: View, function: Function | None, event: KernelEvent, port: Function | None) -> bool:
    assert event.now is not None
    assert event.able is not None
    ends = [one for one in (function, port) if one is not None]
    if any(view.is_thunderbolt(step) for end in ends for step in (end, *view.machine.path(end))):
        # Links in a Thunderbolt cable are made up of packets, and say 2.5 GT/s whatever it carries.
        return False
    now, able_rate = rate_of(event.now), rate_of(event.able)
    own = view.own_rate(function) if function is not None else None
    # What its own ports need is less than the device's link: where they lose little, nothing is wrong.
    if (
        own is not None
        and now is not None
        and able_rate is not None
        and by_loss(now, able_rate, own) is not Severity.WARNING
    ):
        return False
    width, full = event.now.width or 0, event.able.width or 0
    link = view.machine.link_below(port) if port is not None else None
    if link is not None and link.limit.known and link.now.known:
        return width < (link.limit.width or 0) or (event.now.gt_s or 0.0) < (link.limit.gt_s or 0.0)
    if port is not None and port.link.capability.known:
        able = port.link.capability
        return width < min(able.width or 0, full)
    if function is not None and _has_likes_in_full(view, function):
        return True
    return width * FEW_LANES <= full or _fell_back(function, event)


def _tunnels(view: View, limited: Mapping[Address, KernelEvent]) -> set[Address]:
    """Return ports that limit a Thunderbolt device: a log may not tell that others are behind it, too."""
    return {
        event.port
        for address, event in limited.items()
        if event.port is not None
        and (function := view.machine.functions.get(address)) is not None
        and view.is_thunderbolt(function)
    }


def _has_likes_in_full(view: View, function: Function) -> bool:
    """Whether there is another of its kind of which the kernel says nothing; not of what no source names."""
    identity = function.identity
    return identity.device_id is not None and any(
        other.address != function.address
        and other.kind == function.kind
        and (other.identity.vendor_id, other.identity.device_id) == (identity.vendor_id, identity.device_id)
        and not view.events_at(other.address, EventKind.LIMITED)
        and other.address.function == function.address.function
        for other in view.machine
    )


def _fell_back(function: Function | None, event: KernelEvent) -> bool:
    """Whether an adapter has all of its lanes, as in a slot of its size, at the first speed there was.

    Thunderbolt states that speed, too, and four lanes.
    """
    now, able = event.now or LinkMode(), event.able or LinkMode()
    wide = now.width == able.width and (now.width or 0) >= _SLOT_OF_AN_ADAPTER
    slow = now.gt_s == SPEEDS_GT_S[0] and (able.gt_s or 0.0) >= SPEEDS_GT_S[2]
    return wide and slow and function is not None and function.is_nic
