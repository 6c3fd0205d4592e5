"""Devices that are the same product: what one of them does not share with the others is worth a look.

Alike are functions of one vendor, device, subsystem and class with the same function number. Virtual
functions, those that a hypervisor makes up, and those that do not answer are left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.model import ENDPOINTS, Kind
from lanewise.machine.view import is_emulated, is_management

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function
    from lanewise.machine.view import View

_MOST_ODD = 4
"""One in so many may be odd, rounded up; more are another half, not the odd ones. Assumed."""

FEWEST = 3
"""Of two that differ, neither is the odd one without a third to compare."""


def is_rare(odd: int, known: int) -> bool:
    """Whether so few of so many are something else that they are the odd ones, not another part of a plan."""
    return known >= FEWEST and odd > 0 and _MOST_ODD * odd <= known + 1


def groups_of_any_size(
    view: View, *, bridges: bool = False, integrated: bool = False
) -> list[list[Function]]:
    """Return devices that move data, by what they are.

    With `bridges`, also what NVSwitches are like; with `integrated`, also what is in the root complex and has
    no link.
    """
    kinds = (*ENDPOINTS, Kind.INTEGRATED_ENDPOINT) if integrated else tuple(ENDPOINTS)
    found: dict[Hashable, list[Function]] = {}
    for function in view.machine:
        if _counts(view, function, kinds) or (bridges and _joins_gpus(view, function)):
            identity = function.identity
            key = (
                identity.vendor_id,
                identity.device_id,
                identity.subsystem_vendor_id,
                identity.subsystem_id,
                # A list without numbers names the board, and that tells two of them apart as well.
                identity.subsystem_name if identity.subsystem_id is None else None,
                identity.class_code,
                identity.device_name,
                function.address.function,
            )
            found.setdefault(key, []).append(function)
    return list(found.values())


def groups(view: View) -> list[list[Function]]:
    """Return devices that have another of their kind beside them."""
    return [members for members in groups_of_any_size(view) if len(members) > 1]


def of_one_capability(members: list[Function]) -> list[list[Function]]:
    """Split devices that may be different boards by what their own links can do.

    Of one board, one that can do less than the others is odd in that very thing; of boards that the source
    does not tell apart, a card of eight lanes beside others of sixteen is another product. Those whose
    capability nobody tells stay with the most.
    """
    identity = members[0].identity
    if identity.subsystem_id is not None or identity.subsystem_name:
        return [members]
    found: dict[Hashable, list[Function]] = {}
    for member in members:
        can = member.link.capability
        found.setdefault((can.gt_s, can.width) if can.known else None, []).append(member)
    unknown = found.pop(None, [])
    if not found:
        return [unknown]
    max(found.values(), key=len).extend(unknown)
    return list(found.values())


def uplinks(view: View) -> list[list[Function]]:
    """Return upstream ports of switches of one kind, where there are several; none of those inside chips."""
    found: dict[Hashable, list[Function]] = {}
    for switch in view.machine.switches:
        function, link = switch.upstream, view.machine.link_above(switch.upstream)
        if link is None or not view.is_wire(link) or view.is_dead(function) or is_emulated(function):
            continue
        identity = function.identity
        beside = (link.upper.kind, link.upper.identity.vendor_id, link.upper.identity.device_id)
        key = (identity.vendor_id, identity.device_id, identity.device_name, *beside)
        found.setdefault(key, []).append(function)
    return [members for members in found.values() if len(members) > 1]


def odd_ones(
    members: list[Function], value: Callable[[Function], Hashable]
) -> tuple[list[Function], Hashable] | None:
    """Return what differs from a clear majority, and what that says; None where there is none."""
    values = [(member, value(member)) for member in members]
    known = [(member, said) for member, said in values if said is not None]
    if len(known) < FEWEST:
        return None
    counts: dict[Hashable, int] = {}
    for _, said in known:
        counts[said] = counts.get(said, 0) + 1
    usual = max(counts, key=lambda said: counts[said])
    odd = [member for member, said in known if said != usual]
    if not is_rare(len(odd), len(known)):
        return None
    return odd, usual


def slow_gpus(view: View) -> set[Address]:
    """Return GPUs whose link runs slower than those of their likes: they are not idle with all the others."""
    slow: set[Address] = set()
    for members in groups(view):
        found = odd_ones(members, lambda member: link_speed(view, member))
        if found is not None and members[0].is_gpu:
            odd, usual = found
            assert isinstance(usual, float)
            slow |= {member.address for member in odd if (link_speed(view, member) or 0.0) < usual}
    return slow


def link_speed(view: View, function: Function) -> float | None:
    """Return the speed of a link in GT/s where no other rule tells of it: of GPUs, or without a limit."""
    link = view.machine.link_above(function)
    if not view.stands_for_device(function) or (link is not None and not view.is_wire(link)):
        return None
    if function.is_gpu and function.idle:
        # A GPU that has nothing to do while its likes work lowers its speed, as it should.
        return None
    if link is None:
        return function.link.status.gt_s
    told = link.below_speed and not view.machine.is_slow_as_idle_gpus(link)
    return None if told else link.now.gt_s


def _joins_gpus(view: View, function: Function) -> bool:
    """Whether it is an NVSwitch or its like: an endpoint that calls itself a bridge of no known kind."""
    return view.machine.role(function) in ENDPOINTS and function.is_class(0x0680) and not function.virtual


def _counts(view: View, function: Function, kinds: tuple[Kind, ...]) -> bool:
    if function.is_bridge or function.virtual or is_emulated(function) or is_management(function):
        return False
    if view.is_dead(function) or function.identity.class_code is None:
        return False
    kind = view.machine.role(function)
    if kind not in kinds and not (kind is None and function.registers.express is not False):
        return False
    return view.is_compute_gpu(function) or function.is_class(0x01, 0x02, 0x0C06, 0x0C04, 0x0B, 0x12)
