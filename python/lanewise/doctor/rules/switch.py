"""Switches whose upstream link carries less than what hangs below."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.doctor.finding import Finding, Severity
from lanewise.doctor.registry import PERFORMANCE, Bearing, Rule, rule
from lanewise.doctor.rig import Leaf, Rig, Trial
from lanewise.doctor.words import listed
from lanewise.machine.lanes import lanes_of, rate_of
from lanewise.machine.link_bandwidth import widest_mode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Link, LinkMode, Switch
    from lanewise.machine.view import View

_NOTICEABLE = 1.2
"""Ratios below this are rounding between generations. Assumed."""

_MOST_SIMULATED = 16

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
    not_said="Empty ports, placeholders and management functions below the switch; the switch inside a GPU.",
    bearing=Bearing.EXPLAINS,
    profiles=PERFORMANCE,
)


@rule(OVERSUBSCRIBED)
def oversubscribed_switches(view: View, this: Rule) -> Iterable[Finding]:
    """Find switches with more below than above."""
    for switch in view.machine.switches:
        above = view.physical_link(switch.upstream)
        below = [
            link for link in map(view.machine.link_below, switch.downstream) if link and _busy(view, link)
        ]
        if above is None or above.device is not switch.upstream or len(below) < 2:
            continue
        uplink = _mode(above)
        rates = [rate_of(_mode(link)) for link in below]
        used = sum(_usable(view, link) or 0.0 for link in below)
        up_rate, sum_rate = rate_of(uplink), sum(rate for rate in rates if rate)
        if up_rate is None or used < _NOTICEABLE * up_rate:
            continue
        ratio = sum_rate / up_rate
        yield this.finding(
            Severity.INFO,
            switch.upstream.address.short,
            f"{len(below)} devices below {switch.upstream.address.short} share its upstream link, "
            f"{ratio:.1f} to 1",
            _evidence(view, switch, above, below, sum_rate),
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


def _usable(view: View, link: Link) -> float | None:
    """Return what a device can write, in GB/s: no more than its wires or media, where known."""
    rate, own = rate_of(_mode(link)), view.own_rate(link.device)
    return rate if rate is None or own is None else min(rate, own.writes)


def _evidence(view: View, switch: Switch, above: Link, below: list[Link], total: float) -> list[str]:
    up = rate_of(_mode(above)) or 0.0
    lines = [
        f"{above.upper.address.short} -> {switch.upstream.address.short}: {_mode(above)}, {up:.1f} GB/s "
        "after coding",
        *(
            f"{link.upper.address.short} -> {link.device.address.short}: {_mode(link)} ({link.device.name})"
            for link in below
        ),
        f"together {total:.1f} GB/s below, {up:.1f} GB/s above",
    ]
    empty = [port for port in switch.downstream if view.machine.link_below(port) is None]
    if empty:
        lines.append(f"{len(empty)} more ports are empty: {listed(empty)}")
    return lines


def _trial(view: View, uplink: LinkMode, below: list[Link]) -> Trial | None:
    up = lanes_of(uplink)
    mps = min(view.payload(link.device) for link in below)
    leaves = tuple(leaf for link in below[:_MOST_SIMULATED] if (leaf := _leaf(view, link, mps)))
    if up is None or len(leaves) < 2:
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
