"""The odd one among devices that are the same: another speed, payload, node or capability than the rest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.health.doctor import alike, traits
from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.in_flight import carried_by
from lanewise.health.doctor.link_traits import MANY, OF_LINKS, Trait, is_of_a_server, speed, top_speed, width
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.health.doctor.severity import by_loss, payload_share
from lanewise.health.doctor.traits import PAYLOAD, READS
from lanewise.machine.lanes import rate_of

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

ODD = Rule(
    id="odd-one-out",
    what="One of several devices of the same kind differs from the others: speed, lanes, payload, read size, "
    "NUMA node, BARs, a capability, which errors it reports, firmware, BAR1 and ECC of GPUs, speed of "
    "network ports; or the uplink of "
    "one of several switches of the same kind.",
    why="Machines are bought with the same device several times, and work that is spread over them waits for "
    "the slowest. What one of them has and the others have not is a fault more often than an intention, even "
    "though each register by itself may be right.",
    severity="warning for less speed, fewer lanes, smaller payloads or reads, and a missing capability; of "
    "two devices, for a smaller BAR of a GPU that cannot be resized and a port for RDMA at a quarter of the "
    "other's rate; info for other differences, for a link, payloads or reads that carry all that its "
    "device's own wires or media need, for a device of which hwloc knows nothing, and where the slot "
    "explains the difference, unless it is the slot of one of four and more adapters for RDMA, uplinks of "
    "switches, or GPUs that drive no display or share a switch",
    cost="stated: work spread over all of them waits for this one",
    fix="Compare the slot, riser and firmware setting of BDF with those of the others; swap it with one of "
    "them and see whether the difference goes with the card or stays with the slot.",
    references=("PCIe Base 5.0 §7.5.3 (PCI Express Capability)",),
    not_said="Two devices that differ, without a third to compare, unless one has far less; differences "
    "without a clear majority; what `link-width`, `link-speed`, `link-downgraded` and `mps-mismatch` "
    "report; links of GPUs that are all idle.",
    bearing=Bearing.LIMITS,
)


_RESIZE = (
    "The window of this GPU to its memory was left small: switch Above 4G Decoding and Resizable BAR on in "
    "the firmware setup, for this slot, too, and see that the range for 64-bit addresses (MMIO High Size) "
    "holds all GPUs. Then look at what the kernel could not place: `dmesg | grep -e BDF -e 'BAR '`. If the "
    "others keep theirs, compare the firmware of the cards (`nvidia-smi -q | grep -i vbios`)."
)

_PAIR = 2

_ITS_OWN = re.compile(r":.*|(?<!\s)\s++\S*\d.*")
"""What follows the name of a capability: its state, a serial number."""


@rule(ODD)
def odd_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find what differs: one finding per difference, at the first device that has it."""
    for members in alike.groups(view):
        equals = alike.of_one_capability(members)
        for trait in traits.TRAITS:
            for compared in equals if trait in OF_LINKS else [members]:
                yield from _compared(view, this, compared, trait)
        for compared in equals:
            yield from _missing_capabilities(view, this, compared)
    yield from _other_class(view, this)
    yield from _without_list(view, this)
    for members in alike.uplinks(view):
        for trait in OF_LINKS:
            yield from _compared(view, this, members, trait, uplinks=True)


def _compared(
    view: View, this: Rule, members: list[Function], trait: Trait, *, uplinks: bool = False
) -> Iterator[Finding]:
    found = alike.odd_ones(members, lambda member: trait.value(view, member))
    if found is None or len(members) < trait.fewest:
        if len(members) == _PAIR and trait.of_two is not None:
            yield from _of_two(view, this, members, trait)
        return
    odd, usual = found
    for member in odd:
        value, bdf = trait.value(view, member), member.address.short
        alike_ones = [other for other in members if trait.value(view, other) == usual]
        if trait.value is top_speed and _runs_odd(view, members, member):
            continue
        # Ports that are alike, each with a switch that is alike, were built alike: what one lacks is set so.
        equal = uplinks or is_of_a_server(view, member) or member.does_rdma
        many = len(members) >= MANY and equal
        loss = trait.worse(value, usual) and (many or not _slot_explains(view, member, trait))
        felt = _is_felt(view, member, alike_ones[0]) if trait in OF_LINKS else True
        if trait.what in (PAYLOAD, READS):
            felt = _is_size_felt(view, member, trait.what, value, usual)
        loss = loss and felt
        yield this.finding(
            Severity.WARNING if loss else Severity.INFO,
            bdf,
            f"odd {trait.what} at {bdf}: {trait.words(value)}; {len(alike_ones)} of {len(members)} devices "
            f"of its kind have {trait.words(usual)}",
            [
                f"{bdf} {trait.what}: {trait.words(value)} ({member.name})",
                *(f"{other.address.short} {trait.what}: {trait.words(usual)}" for other in alike_ones[:2]),
            ],
            fix=_RESIZE if trait.value is traits.memory and member.is_gpu and loss else None,
        )


def _runs_odd(view: View, members: list[Function], member: Function) -> bool:
    """Whether the speed at which its link runs is odd, too, and says the same."""
    found = alike.odd_ones(members, lambda one: speed(view, one))
    return found is not None and member in found[0]


def _is_felt(view: View, member: Function, usual: Function) -> bool:
    """Whether a device that is known can use what a link like that of its likes would give it."""
    own = view.own_rate(member)
    links = [view.machine.link_above(one) for one in (member, usual)]
    now, then = (rate_of(link.now) if link is not None else None for link in links)
    if own is None or now is None or then is None:
        return True
    share = payload_share(view.payload(member))
    return by_loss(now * share, then * share, own) is Severity.WARNING


def _is_size_felt(view: View, member: Function, what: str, now: Hashable, usual: Hashable) -> bool:
    """Whether a device whose wires or media are known moves less with packets of one size than of another."""
    own = view.own_rate(member)
    rate = view.possible_rate(member) or rate_of(member.link.status)
    if own is None or rate is None or not isinstance(now, int) or not isinstance(usual, int):
        return True
    if what == PAYLOAD:
        return by_loss(rate * payload_share(now), rate * payload_share(usual), own) is Severity.WARNING
    few, many = (min(rate, carried_by(view, member, size)) for size in (now, usual))
    return by_loss(few, many, own, "read") is Severity.WARNING


def _slot_explains(view: View, function: Function, trait: Trait) -> bool:
    """Whether a link runs at the most that its port can do (`device-above-slot` says so)."""
    link = view.machine.link_above(function)
    if link is None or trait.value not in (speed, width):
        return False
    if trait.value is speed:
        return link.port_can.gt_s is not None and link.now.gt_s == link.port_can.gt_s
    return link.port_can.width is not None and link.now.width == link.port_can.width


def _of_two(view: View, this: Rule, members: list[Function], trait: Trait) -> Iterator[Finding]:
    """Find the one of two that has less; which of them is odd, two alone do not tell."""
    values = [(member, trait.value(view, member)) for member in members]
    for (member, value), (other, theirs) in (values, values[::-1]):
        if value is None or theirs in (None, value) or not trait.worse(value, theirs) or not trait.of_two:
            continue
        severity = trait.of_two(view, member, value, theirs)
        if severity is not None:
            bdf = member.address.short
            yield this.finding(
                severity,
                bdf,
                f"{trait.what} of two alike: {trait.words(value)} at {bdf}, {trait.words(theirs)} at "
                f"{other.address.short}",
                [
                    f"{bdf} {trait.what}: {trait.words(value)} ({member.name})",
                    f"{other.address.short} {trait.what}: {trait.words(theirs)} ({other.name})",
                ],
            )


def _other_class(view: View, this: Rule) -> Iterator[Finding]:
    """Find a device that calls itself something else than its likes: its firmware did not start."""
    groups: dict[Hashable, list[Function]] = {}
    for function in view.machine if view.machine.measured else ():
        identity = function.identity
        if identity.device_id is not None and not function.virtual and not function.is_bridge:
            key = (identity.vendor_id, identity.device_id, function.address.function)
            groups.setdefault(key, []).append(function)
    for members in groups.values():
        found = alike.odd_ones(members, lambda member: member.identity.subclass)
        if found is None:
            continue
        odd, usual = found
        good = next(member for member in members if member.identity.subclass == usual)
        if not view.is_data_mover(good):
            continue
        for member in odd:
            bdf = member.address.short
            yield this.finding(
                Severity.WARNING,
                bdf,
                f"odd class at {bdf}: {member.identity.subclass:04x}; others of its kind have {usual:04x}",
                [
                    f"{bdf} {member.identity.class_name or 'class'} ({member.name})",
                    f"{good.address.short} {good.identity.class_name or 'class'} ({good.name})",
                ],
            )


def _without_list(view: View, this: Rule) -> Iterator[Finding]:
    """Find a device that says it has no list of capabilities, beside an equal one that has it."""
    listing: dict[Hashable, Function] = {}
    bare: list[tuple[Hashable, Function]] = []
    for function in view.machine:
        identity, registers = function.identity, function.registers
        key = (identity.vendor_id, identity.device_id, identity.device_name, function.address.function)
        if function.virtual or view.is_dead(function) or (identity.device_id is None and not key[2]):
            continue
        if registers.capability_list and registers.capabilities:
            listing.setdefault(key, function)
        elif registers.capability_list is False:
            bare.append((key, function))
    for of_kind, function in bare:
        if (whole := listing.get(of_kind)) is not None:
            bdf, other = function.address.short, whole.address.short
            yield this.finding(
                Severity.WARNING,
                bdf,
                f"{bdf} has no list of capabilities any more, which {other} of its kind has",
                [
                    f"{bdf} Status: Cap- ({function.name})",
                    f"{other} Status: Cap+, {len(whole.registers.capabilities)} capabilities",
                ],
            )


def _missing_capabilities(view: View, this: Rule, members: list[Function]) -> Iterator[Finding]:
    """Find a device that lacks a capability of its likes: other firmware, or registers that are not there."""
    lists = {
        member.address: frozenset(_ITS_OWN.sub("", name) for name in member.registers.capabilities)
        for member in members
    }
    if any(not names for names in lists.values()):
        return
    found = alike.odd_ones(members, lambda member: lists[member.address])
    if found is None:
        return
    odd, usual = found
    assert isinstance(usual, frozenset)
    for member in odd:
        lacking = sorted(usual - lists[member.address])
        if not lacking:
            continue
        bdf = member.address.short
        yield this.finding(
            Severity.WARNING,
            bdf,
            f"odd capabilities at {bdf}: {', '.join(lacking[:4])} missing, which others of its kind have",
            [
                f"{bdf} has {len(lists[member.address])} capabilities, {len(members) - len(odd)} of "
                f"{len(members)} devices of its kind have {len(usual)} ({member.name})"
            ],
        )
