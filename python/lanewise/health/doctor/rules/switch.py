"""Switches, and chipsets, whose upstream link carries less than what hangs below."""

from __future__ import annotations

from math import fsum
from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PERFORMANCE, Bearing, Rule, rule
from lanewise.health.doctor.rig import Leaf, Rig, Trial
from lanewise.health.doctor.words import listed
from lanewise.machine.lanes import lanes_of, rate_of
from lanewise.machine.link_bandwidth import widest_mode
from lanewise.machine.model import LinkMode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lanewise.machine.model import Function, Link, Switch
    from lanewise.machine.view import View

_NOTICEABLE = 1.2
"""Ratios below this are rounding between generations. Assumed."""

_MOST_SIMULATED = 16
_SEVERAL = 2

_ASLEEP_GT_S = 5.0
"""The most that sleeping links run at, as those of idle GPUs do."""
_FAR = 4
"""So many times faster are links below an uplink that is not by design. Assumed: two generations."""

OVERSUBSCRIBED = Rule(
    id="switch-oversubscribed",
    what="The links below a switch carry more together than its upstream link.",
    why="Each device reaches its full rate alone; all of them together share the upstream link. For "
    "drives that are never busy at once, and for GPUs that talk to each other below the switch, this is a "
    "sensible design; for backups, checkpoints and scans it is the bottleneck.",
    severity="info",
    cost="simulated: every device writes to host memory at once, against the sum of what each could do alone",
    fix="Spread the busiest devices over several switches or root ports, or use a switch with a wider "
    "upstream link. If they rarely work at once, leave it.",
    references=("PCIe Base 5.0 §1.3.3 (Switch)",),
    not_said="Uplinks that would carry enough if they ran as the switch can (see `link-width`, `link-speed`, "
    "`link-one-end`, `device-above-slot`); empty ports, placeholders and management functions below the "
    "switch; the switch inside a GPU.",
    bearing=Bearing.EXPLAINS,
    profiles=PERFORMANCE,
)

CHIPSET = Rule(
    id="chipset-oversubscribed",
    what="The devices on an Intel chipset carry more together than its link to the processor, DMI.",
    why="Slots and M.2 sockets of a board look alike, but those of the chipset share one link with each "
    "other and with the board's SATA, USB and network ports. No register shows this link, so tools list such "
    "devices like those of the processor. Each reaches its full rate alone; a mirror, a stripe or a copy "
    "from drive to drive does not.",
    severity="info",
    cost="simulated: every device writes to host memory at once, against the sum of what each could do alone",
    fix="Move the busiest device to a slot or an M.2 socket of the processor: the manual of the board says "
    "which those are. If they rarely work at once, leave it.",
    references=("Intel chipset datasheets (Direct Media Interface)",),
    not_said="Chipsets that are not in the catalog (`lanewise parts`, intel-pch), among them those in the "
    "package of a mobile processor; AMD's, which are switches; what is at SATA and USB ports.",
    bearing=Bearing.EXPLAINS,
    profiles=PERFORMANCE,
)

UPLINK = Rule(
    id="uplink-slow",
    what="The upstream link of a switch runs at 2.5 or 5 GT/s above links that run four times as fast.",
    why="A switch trains its upstream link once and keeps it. A switch this much slower than the devices "
    "below it sleeps or has fallen back: no board is built that way.",
    severity="warning",
    cost="stated: everything below the switch shares what is left of its upstream link",
    fix="Take the dump again under load. If it stays so: reseat the riser or cable of the switch, update its "
    "firmware, look for a speed limit of its slot in the firmware setup.",
    references=("PCIe Base 5.0 §7.5.3.8 (Link Status)", "§4.2.6.4.3 (Recovery.Speed)"),
    not_said="Uplinks whose registers say what both ends can do (see `link-speed`); the switch inside a GPU.",
    bearing=Bearing.LIMITS,
)


@rule(UPLINK)
def slow_uplinks(view: View, this: Rule) -> Iterable[Finding]:
    """Find switches that hang on a link which is asleep or degraded."""
    for switch in view.machine.switches:
        above, below = view.physical_link(switch.upstream), _below(view, switch)
        if above is None or above.device is not switch.upstream or above.limit.known:
            continue
        if not _is_far_slower(above, below):
            continue
        bdf = switch.upstream.address.short
        yield this.finding(
            Severity.WARNING,
            bdf,
            f"slow uplink of the switch {bdf}: {_mode(above)}, asleep or degraded",
            [
                f"{above.name}: {_mode(above)} ({switch.upstream.name})",
                *(f"{link.name}: {_mode(link)} ({link.device.name})" for link in below[:4]),
            ],
            also=[link.device.address.short for link in below],
        )


def _below(view: View, switch: Switch) -> list[Link]:
    return [link for link in map(view.machine.link_below, switch.downstream) if link and _busy(view, link)]


def _is_far_slower(above: Link, below: list[Link]) -> bool:
    """Whether an uplink of which no more is known runs at a fraction of the speed of the links below."""
    up, fastest = _mode(above).gt_s, max((_mode(link).gt_s or 0.0 for link in below), default=0.0)
    return up is not None and up <= _ASLEEP_GT_S and fastest >= _FAR * up


@rule(OVERSUBSCRIBED)
def oversubscribed_switches(view: View, this: Rule) -> Iterable[Finding]:
    """Find switches with more below than above."""
    for switch in view.machine.switches:
        above = view.physical_link(switch.upstream)
        below = _below(view, switch)
        if above is None or above.device is not switch.upstream:
            continue
        if not above.limit.known and _is_far_slower(above, below):
            continue
        uplink = _built(above)
        bdf = switch.upstream.address.short
        runs_at = "" if above.now in (uplink, LinkMode()) else f" (runs at {above.now})"
        yield from _oversubscribed(
            view,
            this,
            uplink,
            below,
            bdf,
            f"below {bdf} share its upstream link",
            f"{above.upper.address.short} -> {bdf}: {{}}{runs_at}",
            switch.downstream,
        )


@rule(CHIPSET)
def oversubscribed_chipset(view: View, this: Rule) -> Iterable[Finding]:
    """Find chipsets with more below than above."""
    chipset = view.machine.chipset
    if chipset is None:
        return
    below = [link for link in map(view.machine.link_below, chipset.ports) if link and _busy(view, link)]
    yield from _oversubscribed(
        view,
        this,
        chipset.uplink,
        below,
        chipset.bridge.address.short,
        f"on the {chipset.name} share its link to the processor",
        f"{chipset.name}, DMI: {{}} ({chipset.part})",
        chipset.ports,
    )


def _oversubscribed(
    view: View,
    this: Rule,
    uplink: LinkMode,
    below: list[Link],
    bdf: str,
    shared: str,
    above: str,
    ports: Sequence[Function],
) -> Iterable[Finding]:
    """Say it of several devices that can use more together than the link above them carries.

    `shared` says what they share, `above` is the line of evidence on it, with a place for what it carries.
    """
    up_rate = rate_of(uplink)
    total = fsum(rate for rate in (rate_of(_mode(link)) for link in below) if rate)
    used = fsum(_usable(view, link) or 0.0 for link in below)
    if len(below) < _SEVERAL or up_rate is None or used < _NOTICEABLE * up_rate:
        return
    lines = [
        above.format(f"{uplink}, {up_rate:.1f} GB/s after coding"),
        *(
            f"{link.upper.address.short} -> {link.device.address.short}: {_mode(link)} ({link.device.name})"
            for link in below
        ),
        f"together {total:.1f} GB/s below, {up_rate:.1f} GB/s above",
    ]
    empty = [port for port in ports if view.machine.link_below(port) is None]
    if empty:
        lines.append(f"{len(empty)} more ports are empty: {listed(empty)}")
    yield this.finding(
        Severity.INFO,
        bdf,
        f"{len(below)} devices {shared}, {total / up_rate:.1f} to 1",
        lines,
        trial=_trial(view, uplink, below),
        also=[link.device.address.short for link in below],
    )


def _busy(view: View, link: Link) -> bool:
    """Whether anything below a port moves data; placeholders and management functions do not."""
    functions = (*link.lower, *(f for lower in link.lower for f in view.machine.descendants(lower)))
    return view.is_wire(link) and any(map(view.moves_data, functions))


def _mode(link: Link) -> LinkMode:
    """Return what a link can do: idle links count with their full speed, hwloc's with their bandwidth."""
    if link.limit.known:
        return link.limit
    return link.now if link.now.known else widest_mode(link) or link.now


def _built(uplink: Link) -> LinkMode:
    """Return what the upstream port of a switch can do: an uplink that does less has findings of its own.

    Those say what to do about a bad cable or a small slot, and more switches are not it. Where the source
    does not tell what the switch can do, it is as it runs.
    """
    can = uplink.device.link.capability
    return can if can.known else _mode(uplink)


def _usable(view: View, link: Link) -> float | None:
    """Return what a device can write, in GB/s: no more than its wires or media, where known."""
    rate, own = rate_of(_mode(link)), view.own_rate(link.device)
    return rate if rate is None or own is None else min(rate, own.writes)


def _trial(view: View, uplink: LinkMode, below: list[Link]) -> Trial | None:
    up = lanes_of(uplink)
    mps = min(view.payload(link.device) for link in below)
    leaves = tuple(leaf for link in below[:_MOST_SIMULATED] if (leaf := _leaf(view, link, mps)))
    if up is None or len(leaves) < _SEVERAL:
        return None
    as_is = Rig((up,), leaves, mps=mps)
    alone = Rig((), leaves, mps=mps)
    return Trial(as_is, alone, "all devices writing to host memory at once")


def _leaf(view: View, link: Link, mps: int) -> Leaf | None:
    """Return a device that writes as fast as its link lets it, and no faster than its wires or media."""
    lanes, own = lanes_of(_mode(link)), view.own_rate(link.device)
    if lanes is None:
        return None
    return Leaf(lanes, "write", interval_ns=None if own is None else mps / own.writes)
