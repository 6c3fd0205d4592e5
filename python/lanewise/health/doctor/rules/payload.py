"""Maximum Payload Size: inconsistent along a path, or smaller than the path allows."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PERFORMANCE, PROVISIONING, Bearing, Rule, rule
from lanewise.health.doctor.rig import Leaf, Rig, Trial
from lanewise.health.doctor.severity import DRIVE_SHARE, by_loss, payload_share
from lanewise.health.doctor.words import who
from lanewise.machine.model import EventKind, Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, KernelEvent, Link
    from lanewise.machine.own_rate import Own
    from lanewise.machine.view import View

MISMATCH = Rule(
    id="mps-mismatch",
    what="The two ends of a link, or the ports of a switch, have different Maximum Payload Sizes, and the "
    "larger one will be used.",
    why="A packet with more payload than its receiver is set to is a Malformed TLP, a fatal error: the "
    "transfer is lost, and often the device with it. It shows after hot plug, after a device was reset or "
    "reloaded under a running kernel, or with firmware that sets some functions and forgets others.",
    severity="error",
    cost="stated: transfers with payloads above the smaller size fail",
    fix="Boot with `pci=pcie_bus_safe` (one value for each hierarchy), or set Device Control of both ends "
    "to the smaller value; after a device was reloaded, remove it and rescan the bus.",
    references=(
        "PCIe Base 5.0 §2.2.2 (payload rules)",
        "§7.5.3.4 (Device Control)",
        "§6.2.7 (Malformed TLP)",
        "Linux, drivers/pci/probe.c (pci_configure_mps)",
    ),
    not_said="What a kernel log says of devices whose registers are in the source. Devices below their port "
    "whose MRRS is no larger than their MPS: Linux sets them so in performance mode, and no completion can "
    "be too large then.",
    bearing=Bearing.DISTURBS,
    profiles=PROVISIONING,
)

SMALL = Rule(
    id="mps-small",
    what="Every function below a root port supports a larger Maximum Payload Size than is set.",
    why="Each packet carries at most MPS of payload and always about 24 bytes of header and framing: 128 "
    "B wastes 16 % of the link, 256 B 9 %, 512 B 5 %.",
    severity="warning where a device that moves data on a link of 1.9 GB/s or more loses a tenth of what its "
    "wires, media or link can do; info otherwise, as for most drives",
    cost="simulated: DMA writes to host memory by the device that loses most, with its present payload size "
    "and with the one that all support",
    fix="Let the kernel set it: boot with `pci=pcie_bus_safe` (or `pci=pcie_bus_perf`), or look for "
    "Maximum Payload Size in the firmware setup.",
    references=("PCIe Base 5.0 §7.5.3.3 and §7.5.3.4 (Device Capabilities, Device Control)",),
    not_said="Hierarchies in which one function supports no more: the smallest decides; memory behind CXL, "
    "whose data are in flits; GPUs that reach their host over NVLink-C2C.",
    bearing=Bearing.LIMITS,
    profiles=PERFORMANCE,
)

_DIFFER = re.compile(
    r"Max Payload Size (\d{1,5}), but upstream (?:0000:)?([0-9a-f:.]{7,16}) set to (\d{1,5})"
)
_NOT_SET = re.compile(r"can't set Max Payload Size to (\d{1,5})")
"""Linux, drivers/pci/probe.c (pci_configure_mps)."""


@rule(MISMATCH)
def mismatched_payloads(view: View, this: Rule) -> Iterable[Finding]:
    """Find links whose ends disagree, and switches whose ports do."""
    for upper, lower, reads in (*_ends(view), *_inside_switches(view)):
        above, below = upper.transfers.mps, lower.transfers.mps
        if above is None or below is None or above == below:
            continue
        if below < above and reads is not None and reads <= below:
            continue
        larger, smaller = (lower, upper) if below > above else (upper, lower)
        yield this.finding(
            Severity.ERROR,
            lower.address.short,
            f"{larger.address.short} sends payloads of up to {max(above, below)} B, and "
            f"{smaller.address.short} takes no more than {min(above, below)} B",
            [_mps_line(upper), _mps_line(lower)],
        )
    for function in view.machine:
        mps, most = function.transfers.mps, function.transfers.mps_supported
        if view.has_no_link(function):
            # Nothing is there to send to, and firmware leaves in such ports what it pleases.
            continue
        if mps is not None and most is not None and mps > most and not function.virtual:
            bdf = function.address.short
            yield this.finding(
                Severity.ERROR, bdf, f"{bdf} is set to {mps} B, and can do {most} B", [_mps_line(function)]
            )
    yield from _told_by_the_kernel(view, this)


def _told_by_the_kernel(view: View, this: Rule) -> Iterator[Finding]:
    """Tell of devices that the kernel could not set as the port above them, where no register tells."""
    told: dict[Address, KernelEvent] = {}
    for event in view.machine.events:
        if event.kind is EventKind.PAYLOADS_DIFFER and event.address is not None:
            told[event.address] = event
    for address, event in told.items():
        function, bdf = view.machine.functions.get(address), address.short
        if function is not None and function.transfers.mps is not None:
            continue
        if (differ := _DIFFER.search(event.line)) is not None:
            what = f"{bdf} is set to payloads of {differ[1]} B, and {differ[2]} above it to {differ[3]} B"
        else:
            sizes = _NOT_SET.search(event.line)
            size = f" of {sizes[1]} B" if sizes is not None else ""
            what = f"{bdf} does not take payloads{size}, to which the port above it is set"
        yield this.finding(Severity.ERROR, bdf, what, [event.line, *who(bdf, function)])


def _ends(view: View) -> Iterator[tuple[Function, Function, int | None]]:
    """List both ends of every link, and how much the lower one reads at a time, where it says."""
    for link in view.machine.links:
        # A packet that is too large is an error inside a chip, too.
        if link.on_die and (link.tunnel or link.upper.kind is not Kind.DOWNSTREAM_PORT):
            continue
        for function in _governing(link):
            yield link.upper, function, function.transfers.mrrs


def _inside_switches(view: View) -> Iterator[tuple[Function, Function, int | None]]:
    """List the ports of switches that lead to something, with the most that is read below them at a time."""
    for switch in view.machine.switches:
        for port in switch.downstream:
            reads = [
                f.transfers.mrrs for f in view.machine.descendants(port) if not f.is_bridge and not f.virtual
            ]
            known = [read for read in reads if read is not None]
            if known:
                yield switch.upstream, port, max(known) if len(known) == len(reads) else None


def _governing(link: Link) -> tuple[Function, ...]:
    """Functions whose setting counts: all of a device, but only the first of an ARI device (§7.5.3.4)."""
    functions = tuple(function for function in link.lower if not function.virtual)
    return functions[:1] if functions and functions[0].registers.ari else functions


def _mps_line(function: Function) -> str:
    transfers = function.transfers
    text = f"{function.address.short} DevCtl: MaxPayload {transfers.mps} bytes"
    if transfers.mps_supported is not None:
        text += f"; DevCap: MaxPayload {transfers.mps_supported} bytes"
    return f"{text} ({function.name})"


@rule(SMALL)
def small_payloads(view: View, this: Rule) -> Iterable[Finding]:
    """Find hierarchies that could use larger payloads."""
    for port in view.root_ports:
        below = view.machine.link_below(port)
        if below is None or not view.is_wire(below):
            continue
        members = [
            function
            for function in view.rooted(port)
            if view.machine.role(function) is not None and function.transfers.mps is not None
        ]
        if len(members) < 2 or any(function.transfers.mps_supported is None for function in members):
            continue
        if any(map(view.is_dead, view.machine.descendants(port))):
            # Nobody knows what a device takes that does not answer.
            continue
        used = min(function.transfers.mps or 0 for function in members)
        possible = min(function.transfers.mps_supported or 0 for function in members)
        if used >= possible or max(function.transfers.mps or 0 for function in members) > used:
            continue
        busy = [function for function in members if function in view.devices]
        ends = [f for f in members if view.machine.role(f) in (Kind.ENDPOINT, Kind.LEGACY_ENDPOINT)]
        leaves = busy or [f for f in ends if not (f.is_cxl_memory or f.has_c2c)]
        if not leaves:
            continue
        # One setting for all: what it costs is told of the device that loses most.
        losses = {device.address: _loss(view, device, used, possible) for device in leaves}
        most = max(leaves, key=lambda device: losses[device.address])
        others = [device for device in leaves if device is not most]
        noticed = any(losses[device.address].noticed for device in busy)
        yield this.finding(
            Severity.WARNING if noticed else Severity.INFO,
            most.address.short,
            f"payloads of {used} B below {port.address.short}, where everything supports {possible} B",
            [
                *map(_mps_line, [port, most, *others[:2]]),
                f"{len(members)} functions in this hierarchy, none below {possible} bytes",
            ],
            trial=_trial(view, most, used, possible),
            also=[device.address.short for device in others],
        )


def _trial(view: View, device: Function, used: int, possible: int) -> Trial | None:
    lanes = view.leaf_lanes(device)
    if lanes is None:
        return None
    as_is = Rig((), (Leaf(lanes, "write"),), mps=used)
    fixed = replace(as_is, mps=possible)
    return Trial(as_is, fixed, "DMA writes to host memory", own=view.own_rate(device))


class _Loss(NamedTuple):
    """What a device that writes to memory loses by smaller payloads; the greater, the worse."""

    noticed: bool
    gb_per_s: float


def _loss(view: View, device: Function, used: int, possible: int) -> _Loss:
    """Return the loss of one device; a drive's media are slower than its link."""
    rate = view.possible_rate(device) or 0.0
    own: Own | float | None = view.own_rate(device)
    if own is None and device.is_nvme:
        own = DRIVE_SHARE * rate
    now, fixed = rate * payload_share(used), rate * payload_share(possible)
    most = fixed if own is None else own if isinstance(own, float) else own.of("write")
    return _Loss(by_loss(now, fixed, own) is Severity.WARNING, min(fixed, most) - min(now, most))
