"""The odd one among devices that are the same: another speed, payload, node or capability than the rest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from lanewise.doctor import alike
from lanewise.doctor.finding import Finding, Severity
from lanewise.doctor.registry import Bearing, Rule, rule
from lanewise.doctor.words import size
from lanewise.machine.model import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator

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
    "where each register by itself may be in order.",
    severity="warning for less speed, fewer lanes, smaller payloads or reads, and a missing capability; of "
    "two devices, for a smaller BAR of a GPU that cannot be resized and a port for RDMA at a quarter of the "
    "other's rate; info for other differences, for a link of which hwloc knows nothing, and where the slot "
    "explains them, unless it is that of one of four and more adapters for RDMA, uplinks of switches, or "
    "GPUs that drive no display or share a switch",
    cost="stated: work spread over all of them waits for this one",
    fix="Compare the slot, riser and firmware setting of BDF with those of the others; swap it with one of "
    "them and see whether the difference goes with the card or stays with the slot.",
    references=("PCIe Base 5.0 §7.5.3 (PCI Express Capability)",),
    not_said="Two devices that differ, without a third to compare, unless one has far less; differences "
    "without a clear majority; what `link-width`, `link-speed`, `link-downgraded` and `mps-mismatch` tell "
    "of; links of GPUs "
    "that are all idle.",
    bearing=Bearing.LIMITS,
)


_RESIZE = (
    "The window of this GPU to its memory was left small: switch Above 4G Decoding and Resizable BAR on in "
    "the firmware setup, for this slot, too, and see that the range for 64-bit addresses (MMIO High Size) "
    "holds all GPUs. Then look at what the kernel could not place: `dmesg | grep -e BDF -e 'BAR '`. If the "
    "others keep theirs, compare the firmware of the cards (`nvidia-smi -q | grep -i vbios`)."
)

_MANY = 4
"""GPUs of a server, or adapters for RDMA, of a kind that have slots alike: hosts are built for so many.
Assumed."""

_WITH_DISPLAY = 0x0300
"""VGA controllers, as which cards for workstations and desktops call themselves."""

_PAIR = 2

_FAR_LESS = 4
"""A port that carries so many times less than that of an equal adapter has another cable or fell back."""

_ROM = 6

_ROUNDING = 0.02
"""By how much two ends of one link differ that run alike: hwloc rounds."""

_ITS_OWN = re.compile(r":.*|(?<!\s)\s++\S*\d.*")
"""What follows the name of a capability: its state, a serial number."""


class _Trait(NamedTuple):
    """What devices of a kind are compared by."""

    what: str
    value: Callable[[View, Function], Hashable]
    words: Callable[[Hashable], str]
    worse: Callable[[Hashable, Hashable], bool]
    """Whether a value is a loss against the usual one."""
    fewest: int = alike.FEWEST
    """Devices that it takes to call one of them odd."""
    of_two: Callable[[View, Function, Hashable, Hashable], Severity | None] | None = None
    """How bad the worse value is where only two devices are compared; None: two say nothing."""


@rule(ODD)
def odd_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find what differs: one finding per difference, at the first device that has it."""
    for members in alike.groups(view):
        equals = alike.of_one_capability(members)
        for trait in _TRAITS:
            for compared in equals if trait in _OF_LINKS else [members]:
                yield from _compared(view, this, compared, trait)
        for compared in equals:
            yield from _missing_capabilities(view, this, compared)
    yield from _other_class(view, this)
    for members in alike.uplinks(view):
        for trait in _OF_LINKS:
            yield from _compared(view, this, members, trait, uplinks=True)


def _compared(
    view: View, this: Rule, members: list[Function], trait: _Trait, *, uplinks: bool = False
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
        if trait.value is _top_speed and _runs_odd(view, members, member):
            continue
        # Ports that are alike, each with a switch that is alike, were built alike: what one lacks is set so.
        equal = uplinks or _is_of_a_server(view, member) or member.does_rdma
        many = len(members) >= _MANY and equal
        loss = trait.worse(value, usual) and (many or not _slot_explains(view, member, trait))
        yield this.finding(
            Severity.WARNING if loss else Severity.INFO,
            bdf,
            f"odd {trait.what} at {bdf}: {trait.words(value)}; {len(alike_ones)} of {len(members)} devices "
            f"of its kind have {trait.words(usual)}",
            [
                f"{bdf} {trait.what}: {trait.words(value)} ({member.name})",
                *(f"{other.address.short} {trait.what}: {trait.words(usual)}" for other in alike_ones[:2]),
            ],
            fix=_RESIZE if trait.value is _memory and member.is_gpu and trait.worse(value, usual) else None,
        )


def _of_two(view: View, this: Rule, members: list[Function], trait: _Trait) -> Iterator[Finding]:
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
                f"odd class at {bdf}: {member.identity.subclass:04x}; its likes have {usual:04x}",
                [
                    f"{bdf} {member.identity.class_name or 'class'} ({member.name})",
                    f"{good.address.short} {good.identity.class_name or 'class'} ({good.name})",
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
            f"odd capabilities at {bdf}: {', '.join(lacking[:4])} missing, which its likes have",
            [
                f"{bdf} has {len(lists[member.address])} capabilities, {len(members) - len(odd)} of "
                f"{len(members)} devices of its kind have {len(usual)} ({member.name})"
            ],
        )


def _bandwidth(view: View, function: Function) -> Hashable:
    """Return what hwloc tells of a link, in GB/s; 0 where it does not know that of this one."""
    if function.address.function or not any(one.link.bandwidth_gb_s for one in view.machine):
        return None
    link = view.machine.link_above(function)
    ends = (function, *((link.upper,) if link is not None else ()))
    return min((end.link.bandwidth_gb_s for end in ends if end.link.bandwidth_gb_s), default=0.0)


def _own_bandwidth(view: View, function: Function) -> Hashable:
    """Return what hwloc tells of a device's own end, where the port above says something else."""
    link, own = view.machine.link_above(function), function.link.bandwidth_gb_s
    port = link.upper.link.bandwidth_gb_s if link is not None else None
    return own if own and port and abs(own - port) > _ROUNDING * own else None


def _slower(value: Hashable, usual: Hashable) -> bool:
    return isinstance(value, float) and isinstance(usual, float) and 0 < value < usual


def _gb_per_s(value: Hashable) -> str:
    return f"{value:.1f} GB/s" if value and isinstance(value, float) else "unknown"


def _gt_per_s(value: Hashable) -> str:
    return f"{value:g}GT/s" if isinstance(value, float) else "?"


def _speed(view: View, function: Function) -> Hashable:
    return None if function.link.bandwidth_gb_s else alike.link_speed(view, function)


def _top_speed(view: View, function: Function) -> Hashable:
    """Return the most that a GPU of a server and its slot can do together, in GT/s."""
    if function.address.function or function.link.bandwidth_gb_s or not _is_of_a_server(view, function):
        return None
    link = view.machine.link_above(function)
    if link is None:
        return function.link.capability.gt_s
    return link.limit.gt_s if view.is_wire(link) else None


def _runs_odd(view: View, members: list[Function], member: Function) -> bool:
    """Whether the speed at which its link runs is odd, too, and says the same."""
    found = alike.odd_ones(members, lambda one: _speed(view, one))
    return found is not None and member in found[0]


def _width(view: View, function: Function) -> Hashable:
    if function.link.bandwidth_gb_s:
        return None
    link = view.machine.link_above(function)
    if function.address.function or (link is not None and not view.is_wire(link)):
        return None
    if function.link.said_of_width == "downgraded" and function.link.capability.width is None:
        # `link-downgraded` tells of it.
        return None
    if link is None:
        return function.link.status.width or None
    return None if link.below_width else link.now.width or None


def _slot_explains(view: View, function: Function, trait: _Trait) -> bool:
    """Whether a link runs at the most that its port can do (`device-above-slot` says so)."""
    link = view.machine.link_above(function)
    if link is None or trait.value not in (_speed, _width):
        return False
    if trait.value is _speed:
        return link.port_can.gt_s is not None and link.now.gt_s == link.port_can.gt_s
    return link.port_can.width is not None and link.now.width == link.port_can.width


def _is_of_a_server(view: View, function: Function) -> bool:
    """Whether a GPU is of a kind that servers have in equal slots: without a display, or below a switch.

    Boards of workstations have slots of 16 and of 8 lanes for the same cards.
    """
    if not view.is_compute_gpu(function):
        return False
    link = view.physical_link(function)
    shared = link is not None and link.upper.kind is Kind.DOWNSTREAM_PORT
    return shared or not function.is_class(_WITH_DISPLAY)


def _less(value: Hashable, usual: Hashable) -> bool:
    return isinstance(value, int | float) and isinstance(usual, int | float) and value < usual


def _never(_value: Hashable, _usual: Hashable) -> bool:
    return False


def _bytes(value: Hashable) -> str:
    return f"{value} B"


def _functions(view: View, function: Function) -> Hashable:
    """Count the functions of a device; the ports of an adapter are one each."""
    if function.address.function or not view.machine.measured:
        return None
    slot = function.address.slot
    return sum(other.address.slot == slot and not other.virtual for other in view.machine)


def _memory(_view: View, function: Function) -> Hashable:
    """Return how much memory the BARs of a device show in all, where every size is known."""
    sizes = [bar.size for bar in function.registers.bars or () if not bar.io and bar.index < _ROM]
    return None if not sizes or None in sizes else sum(one or 0 for one in sizes)


def _bar1(view: View, function: Function) -> Hashable:
    """Return the BAR through which a GPU shows its memory, unless registers tell that BARs differ."""
    told = len({_memory(view, one) for one in view.machine if one.is_gpu and one.health}) > 1
    return None if function.health is None or told else function.health.bar1_bytes


def _smaller_window(_view: View, function: Function, _value: Hashable, _theirs: Hashable) -> Severity | None:
    """Say what a smaller window means: a choice of firmware, or, where it cannot be resized, a fault."""
    if not function.is_gpu:
        return None
    return Severity.INFO if function.registers.resizable_bars else Severity.WARNING


def _noted(_view: View, _function: Function, _value: Hashable, _theirs: Hashable) -> Severity | None:
    return Severity.INFO


def _slower_wire(_view: View, function: Function, value: Hashable, theirs: Hashable) -> Severity | None:
    far = isinstance(value, int) and isinstance(theirs, int) and _FAR_LESS * value <= theirs
    return Severity.WARNING if far and function.does_rdma else Severity.INFO


def _flag(read: Callable[[Function], Hashable]) -> Callable[[View, Function], Hashable]:
    return lambda _view, function: None if function.address.function else read(function)


def _aspm(function: Function) -> Hashable:
    enabled = function.link.aspm_enabled
    return None if enabled is None else " ".join(enabled) or "off"


def _sign(value: Hashable) -> str:
    return "on" if value else "off"


def _named(bits: frozenset[str] | None) -> str | None:
    return None if bits is None else " ".join(sorted(bits)) or "none"


def _virtual_functions(function: Function) -> int | None:
    sriov = function.registers.sriov
    if sriov is None or sriov.enabled is None:
        return None
    return (sriov.count or 0) if sriov.enabled else 0


def _is_off(value: Hashable, _usual: Hashable) -> bool:
    return value is False


def _subsystem(view: View, function: Function) -> Hashable:
    identity = function.identity
    if not view.machine.measured or identity.subsystem_id is None:
        return identity.subsystem_name if view.machine.measured else None
    return f"{identity.subsystem_vendor_id or 0:04x}:{identity.subsystem_id:04x}"


def _payload(view: View, function: Function) -> Hashable:
    """Return the payload, unless the port has another one: `mps-mismatch` tells of that."""
    link = view.machine.link_above(function)
    mps = function.transfers.mps
    return None if link is not None and link.upper.transfers.mps not in (None, mps) else mps


_OF_LINKS = (
    _Trait(
        "link speed",
        _speed,
        _gt_per_s,
        _less,
    ),
    _Trait("link width", _width, lambda value: f"x{value}", _less),
    _Trait("link bandwidth", _bandwidth, _gb_per_s, _slower, of_two=_noted),
    _Trait("bandwidth of its end of the link", _own_bandwidth, _gb_per_s, _slower, of_two=_noted),
)
_TRAITS = (
    *_OF_LINKS,
    _Trait("top speed of GPU and slot", _top_speed, _gt_per_s, _less, fewest=_MANY),
    _Trait("MaxPayload", _payload, _bytes, _less),
    _Trait("MaxReadReq", lambda _, function: function.transfers.mrrs, _bytes, _less),
    _Trait("ExtTag", _flag(lambda function: function.transfers.extended_tags), _sign, _is_off, of_two=_noted),
    _Trait("RlxdOrd", _flag(lambda function: function.transfers.relaxed_ordering), _sign, _never),
    _Trait("AtomicOps", _flag(lambda function: function.transfers.atomics_enabled), _sign, _never),
    _Trait("ASPM", _flag(_aspm), str, _never),
    _Trait("number of functions", _functions, str, _less),
    _Trait("memory of BARs", _memory, lambda value: size(int(str(value))), _less, of_two=_smaller_window),
    _Trait("BAR1", _bar1, lambda value: size(int(str(value))), _less),
    _Trait(
        "network speed",
        lambda _, function: function.port_mbit_s,
        lambda value: f"{int(str(value)) / 1000:g} Gbit/s",
        _less,
        of_two=_slower_wire,
    ),
    _Trait("GPUDirect", _flag(lambda function: function.gpu_direct), _sign, _never),
    _Trait("ECC", _flag(lambda function: function.health and function.health.ecc), _sign, _never),
    _Trait("errors reported", _flag(lambda function: _named(function.transfers.reports)), str, _never),
    _Trait("errors masked", _flag(lambda function: _named(function.errors.uncorrectable_mask)), str, _never),
    _Trait(
        "fatal errors", _flag(lambda function: _named(function.errors.uncorrectable_severity)), str, _never
    ),
    _Trait(
        "corrected errors masked",
        _flag(lambda function: _named(function.errors.correctable_mask)),
        str,
        _never,
    ),
    _Trait("NoSnoop", _flag(lambda function: function.transfers.no_snoop), _sign, _never),
    _Trait("LTR", _flag(lambda function: function.transfers.ltr), _sign, _never),
    _Trait("10-bit tags", _flag(lambda function: function.transfers.ten_bit_tags), _sign, _never),
    _Trait(
        "slot power limit",
        _flag(lambda function: function.transfers.slot_power_limit_w),
        lambda value: f"{value:g} W",
        _never,
    ),
    _Trait("virtual functions", lambda _, function: _virtual_functions(function), str, _never),
    _Trait(
        "power limit",
        _flag(lambda function: function.health and function.health.power_limit_w),
        lambda value: f"{value} W",
        _never,
    ),
    _Trait("NUMA node", lambda _, function: function.numa_node, str, _never, fewest=4),
    _Trait("revision", lambda _, function: function.identity.revision, lambda value: f"{value:02x}", _never),
    _Trait("firmware", lambda _, function: function.firmware, str, _never),
)
