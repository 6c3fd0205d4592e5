"""Reads in flight: request size, tags and the Read Completion Boundary against bandwidth times latency."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.in_flight import READ_ROUND_TRIP_NS, REQUESTS
from lanewise.health.doctor.registry import PERFORMANCE, Bearing, Rule, rule
from lanewise.health.doctor.rig import Leaf, Rig, Trial
from lanewise.health.doctor.severity import by_loss
from lanewise.health.doctor.words import size
from lanewise.machine.model import Kind
from lanewise.machine.own_rate import largest_read
from lanewise.machine.registers import PACKET_SIZES

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

_BUSY_GB_PER_S = 12.0
"""Links from this rate on notice many small requests. Assumed: x16 of Gen3."""

_AMPLE = 2.0
"""Requests of less than the usual size are worth a note below twice what the link needs: latencies under load
are longer. Assumed."""

_HOST_LATENCY_NS = 700
"""Memory latency in the trials: with link and packet times about the round trip of `READ_ROUND_TRIP_NS`."""

_USUAL_MRRS, _LARGEST_MRRS = 512, 4096
"""Reset value and largest value of Max_Read_Request_Size, in bytes. PCIe Base 5.0 §7.5.3.4."""

MRRS = Rule(
    id="mrrs-small",
    what="The Maximum Read Request Size is so small that the reads a device can have in flight do not "
    "fill its link.",
    why="A read takes about a microsecond to answer. A device has at most tags times MRRS bytes in flight "
    "meanwhile; when that is less than bandwidth times latency, reads of host memory are slow and writes "
    "are not.",
    severity="warning where a tenth of what the device can use cannot be in flight; info where less, where "
    "hardly more can be, and on links of 12 GB/s and more",
    cost="simulated: DMA reads of host memory with the present MRRS, and with the one from 512 B on that "
    "fills the link, or that of the largest read which the device is known to make",
    fix="Raise Max_Read_Request_Size to SIZE: a driver option, the firmware setup, or until the "
    "next boot `setpci -s BDF CAP_EXP+8.w=CODE:7000`, which is SIZE.",
    references=("PCIe Base 5.0 §7.5.3.4 (Device Control)", "§2.2.6.2 (tags)"),
    not_said="Small sizes on slow links whose device has enough tags; 512 B and more where wider tags are "
    "available (see `tags-few`); GPUs and adapters of the catalog whose own reads are no larger.",
    bearing=Bearing.LIMITS_READS,
    profiles=PERFORMANCE,
)

TAGS = Rule(
    id="tags-few",
    what="Extended (8-bit) or 10-bit tags are supported and off, and the device needs them to keep its "
    "link busy.",
    why="Each outstanding read needs a tag: 32 with 5 bits, 256 with 8, 768 with 10. Bandwidth times "
    "latency over MRRS says how many a link needs.",
    severity="warning where a tenth of what the device can use cannot be in flight; info where less",
    cost="simulated: DMA reads of host memory with the present tags and with the next wider field",
    fix="Update the firmware of host and device; boot without options that keep the kernel from enabling "
    "tags. 10-bit tags need a root port that completes them; where it cannot, a larger MRRS does the same.",
    references=(
        "PCIe Base 5.0 §2.2.6.2 (Transaction Descriptor, tags)",
        "§7.5.3.4, §7.5.3.16 (Device Control, Device Control 2)",
    ),
    not_said="Devices whose tags suffice for their link; 10-bit tags that the root port cannot complete.",
    bearing=Bearing.LIMITS_READS,
    profiles=PERFORMANCE,
)

RCB = Rule(
    id="rcb-64",
    what="A device is set to another Read Completion Boundary than its root port.",
    why="The root port cuts completions at 64 or 128 bytes and says which. A device that expects 64 B "
    "loses nothing by itself; one that expects 128 B below a root port that cuts at 64 B may take valid "
    "completions for errors.",
    severity="info",
    cost="stated: none for a device at 64 B; one at 128 B below a root port that cuts at 64 B may refuse "
    "completions",
    fix="Set Read Completion Boundary in Link Control of the device to what its root port reports.",
    references=("PCIe Base 5.0 §2.3.1.1 (Data Return for Read Requests)", "§7.5.3.7 (Link Control, RCB)"),
    profiles=PERFORMANCE,
)


def in_flight_needed(view: View, function: Function) -> float | None:
    """Bytes that must be in flight to keep the link of a device busy; None when its link is unknown."""
    rate = _usable_rate(view, function)
    return None if rate is None else rate * READ_ROUND_TRIP_NS


def _usable_rate(view: View, function: Function) -> float | None:
    """Return what a device can read, in GB/s: by its link, and by its wires or media where known."""
    rate, own = view.possible_rate(function), view.own_rate(function)
    return rate if rate is None or own is None else min(rate, own.reads)


def _bandwidth_latency(view: View, function: Function) -> str:
    rate = _usable_rate(view, function) or 0.0
    needed = in_flight_needed(view, function) or 0.0
    amount = size(round(needed / 1024) * 1024)
    return f"{rate:.1f} GB/s x {READ_ROUND_TRIP_NS} ns (assumed) = {amount} in flight to fill the link"


@rule(MRRS)
def small_reads(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices whose MRRS starves them."""
    for function in view.devices:
        mrrs, needed = function.transfers.mrrs, in_flight_needed(view, function)
        if mrrs is None or needed is None:
            continue
        bits = view.tag_bits(function)
        starved = REQUESTS[bits] * mrrs < needed
        barely = mrrs < _USUAL_MRRS and REQUESTS[bits] * mrrs < _AMPLE * needed
        if mrrs >= _USUAL_MRRS and (not starved or mrrs >= _LARGEST_MRRS or _wider_field(view, function)):
            continue
        if not starved and not barely and (view.possible_rate(function) or 0.0) < _BUSY_GB_PER_S:
            continue
        # Asked last: the core is, and most devices need no answer.
        largest = largest_read(function) or _LARGEST_MRRS
        if mrrs >= largest:
            continue
        enough = min(max(_enough(needed, REQUESTS[bits]), 2 * mrrs), _packet_size(largest))
        why = "too little to hide the latency of memory" if starved else "which costs requests and tags"
        yield this.finding(
            by_loss(REQUESTS[bits] * mrrs, needed, None),
            function.address.short,
            f"{function.address.short} reads {mrrs} B at a time, {why}",
            [
                f"{function.address.short} DevCtl: MaxReadReq {mrrs} bytes, {REQUESTS[bits]} tags "
                f"({function.name})",
                _bandwidth_latency(view, function),
                f"{REQUESTS[bits]} tags x {mrrs} B = {size(REQUESTS[bits] * mrrs)} at most",
            ],
            fix=_remedy(this, enough),
            trial=_read_trial(view, function, bits, mrrs, bits, enough),
        )


def _packet_size(reads: int) -> int:
    """Return the smallest size that Device Control can say and that lets reads through whole."""
    return next((size for size in PACKET_SIZES if size >= reads), _LARGEST_MRRS)


def _remedy(this: Rule, enough: int) -> str:
    """Name the size that fills the link, and its code in Device Control."""
    code = f"{PACKET_SIZES.index(enough):x}000"
    return this.fix.replace("CODE", code).replace("SIZE", size(enough))


def _enough(needed: float, tags: int) -> int:
    """Return the smallest MRRS that fills the link, and no less than the usual one."""
    sizes = (size for size in (_USUAL_MRRS, 1024, 2048) if tags * size >= needed)
    return next(sizes, _LARGEST_MRRS)


@rule(TAGS)
def few_tags(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices that lack tags."""
    for function in view.devices:
        transfers, needed = function.transfers, in_flight_needed(view, function)
        if needed is None or transfers.mrrs is None:
            continue
        wider = _wider_field(view, function)
        bits = view.tag_bits(function)
        if wider is None or REQUESTS[bits] * transfers.mrrs >= needed:
            continue
        yield this.finding(
            by_loss(REQUESTS[bits] * transfers.mrrs, needed, None),
            function.address.short,
            f"{function.address.short} has {REQUESTS[bits]} tags and needs {round(needed / transfers.mrrs)} "
            "to fill its link",
            [
                f"{function.address.short} DevCtl: {_tag_words(function)} ({function.name})",
                _bandwidth_latency(view, function),
                f"{REQUESTS[bits]} tags x {transfers.mrrs} B = "
                f"{size(REQUESTS[bits] * transfers.mrrs)} at most",
            ],
            trial=_read_trial(view, function, bits, transfers.mrrs, wider, transfers.mrrs),
        )


def _wider_field(view: View, function: Function) -> int | None:
    """Return the next wider tag field that the device could use and does not."""
    transfers = function.transfers
    if transfers.extended_tags is False and transfers.extended_tags_supported:
        return 8
    if transfers.ten_bit_tags is False and transfers.ten_bit_tags_requester:
        way = view.machine.path(function)
        if way and all(port.transfers.ten_bit_tags_completer for port in way):
            return 10
    return None


def _tag_words(function: Function) -> str:
    transfers = function.transfers
    words = [f"ExtTag{'+' if transfers.extended_tags else '-'}"]
    if transfers.ten_bit_tags_requester is not None:
        words.append(f"10BitTagReq{'+' if transfers.ten_bit_tags else '-'}")
    return ", ".join([*words, f"MaxReadReq {transfers.mrrs} bytes"])


def _read_trial(
    view: View, function: Function, bits: int, mrrs: int, new_bits: int, new_mrrs: int
) -> Trial | None:
    lanes = view.leaf_lanes(function)
    if lanes is None:
        return None
    leaf = Leaf(lanes, "read", outstanding=64, mrrs=mrrs, tag_bits=bits)
    as_is = Rig((), (leaf,), mps=view.payload(function), host_latency_ns=_HOST_LATENCY_NS)
    fixed = replace(as_is, leaves=(replace(leaf, mrrs=new_mrrs, tag_bits=new_bits),))
    return Trial(as_is, fixed, "DMA reads of host memory", own=view.own_rate(function))


@rule(RCB)
def completion_boundaries(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices whose boundary differs from their root port's."""
    for function in view.devices:
        way = view.machine.path(function)
        if not way or view.machine.role(way[-1]) is not Kind.ROOT_PORT:
            continue
        root, own = way[-1].link.rcb_bytes, function.link.rcb_bytes
        if root is None or own is None or root == own:
            continue
        yield this.finding(
            Severity.INFO,
            function.address.short,
            f"{function.address.short} expects completions cut at {own} B, its root port cuts at {root} B",
            [
                f"{function.address.short} LnkCtl: RCB {own} bytes ({function.name})",
                f"{way[-1].address.short} LnkCtl: RCB {root} bytes ({way[-1].name})",
            ],
            cost="none: it takes completions cut at 128 B, too"
            if own < root
            else "none, or failed reads: it may refuse completions cut at 64 B",
        )
