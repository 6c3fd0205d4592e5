"""Devices below their own capability whose port is not in the source: slot or fault cannot be told apart."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.health.doctor import alike
from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.health.doctor.rig import both_ways
from lanewise.health.doctor.severity import FEW_LANES, by_loss, payload_share
from lanewise.health.doctor.words import port_words
from lanewise.machine.lanes import rate_of
from lanewise.machine.model import ENDPOINTS, IDLE_GPU_GT_S, Kind, LinkMode
from lanewise.machine.registers import SPEEDS_GT_S
from lanewise.machine.topology import is_inside_chip, is_switch_of_gpu, is_thunderbolt
from lanewise.machine.view import is_emulated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.health.doctor.rig import Trial
    from lanewise.machine.model import Function
    from lanewise.machine.view import View

_MODULE = re.compile(r"\bSXM\d?\b|\bOAM\b")
"""In the names of GPUs that are modules of a baseboard."""

_FAR_FASTER = 2
"""A device of the same kind that carries so many times more has a slot or a cable that this one has not."""

_WIDE = 8
"""Lanes from which a slot is the processor's or a switch's: chipsets have slots of four. Assumed."""

_NARROW, _MANY = 4, 6
"""Lanes, and devices that can do the same, from which on one that does less is no matter of slots."""

_HOST_ADAPTERS = (0x0104, 0x0107, 0x0C04)
"""RAID, SAS and Fibre Channel controllers, which servers have."""

_SERVER_DRIVE = re.compile(
    r"datacenter|data center|\bDC\b|enterprise|\bU\.[23]\b|E[13]\.[SL]|2\.5\""
    r"|PM17[2-5]\d|PM9[AD]3|\bC[DM]\d|Ultrastar",
    re.IGNORECASE,
)
"""In the names of drives for bays, which are wired alike (pci.ids)."""

_MAKERS_OF_GPUS = (0x10DE, 0x1002)
"""Whose functions beside the first one of a device are on a card with a GPU."""

_DRIVERS_OF_GPUS = ("nvidia", "nouveau", "amdgpu", "radeon", "xe")
"""They tell what a device is where nothing else does."""

_LINKED = ENDPOINTS | {Kind.UPSTREAM_PORT, None}

ONE_END = Rule(
    id="link-one-end",
    what="A device runs below what it can do, and what its port can do is not in the source.",
    why="A dump of one device shows one end of its link. Fewer lanes or less speed than the device has are "
    "normal if the slot has no more, and a fault if it has; only the other end shows which.",
    severity="warning for at most a quarter of the device's lanes outside virtual machines, for any missing "
    "lane of a GPU that is a module (SXM, OAM), and where a device of the same kind in the source runs in "
    "full at twice the rate: of adapters for RDMA, SAS, RAID or Fibre Channel, GPUs without a display and "
    "drives for bays, of switches of eight lanes and more, and for less speed of all on eight lanes and "
    "more; warning for 2.5 GT/s of 8 and more on eight lanes, or of a drive for bays; warning for the odd "
    "one of six and more that can do the same, in files that do not say what the devices are; info otherwise",
    cost="simulated: the link alone, DMA both ways, as the link runs and as the device could",
    fix="Take the dump of the whole machine (`sudo lspci -vvv`), or look at LnkCap of the port: `sudo lspci "
    "-vvv -s $(basename $(dirname $(readlink -f /sys/bus/pci/devices/BDF)))`. A card that should have more "
    "lanes in that slot: reseat it, look at risers and at bifurcation in the firmware setup. Inside a "
    "virtual machine only the host knows: take the dump there.",
    references=("PCIe Base 5.0 §7.5.3.6 (Link Capabilities)", "§7.5.3.8 (Link Status)"),
    not_said="Functions inside processors and chipsets; "
    "GPUs, their sound and their switches at 2.5 or 5 GT/s and full width, as idle ones are; "
    "GPUs behind a switch in "
    "their chip, whose link with the slot is the switch's; devices slower than 1.9 GB/s; "
    "Thunderbolt and USB4, whose tunnels report 2.5 GT/s whatever they carry.",
    bearing=Bearing.EXPLAINS,
)


@rule(ONE_END)
def lonely_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices that run below their capability, where nothing is known of the port above."""
    for function in view.machine:
        if not (view.machine.measured and view.stands_for_device(function) and _is_lower_end(view, function)):
            continue
        could, now = _could(view, function), _now(view, function)
        full, rate = rate_of(could), rate_of(now)
        if full is None or rate is None or rate >= full or not view.is_worth_tuning(full):
            continue
        lanes_missing = (now.width or 0) < (could.width or 0)
        if not lanes_missing and _is_speed_clear(view, function, now):
            continue
        bdf = function.address.short
        few = (now.width or 0) * FEW_LANES <= (could.width or 0) and not view.is_guest
        few = few or (lanes_missing and _is_module(function))
        twin = _faster_twin(view, function, rate)
        few = few or (twin is not None and _has_equal_slots(view, function, now, could))
        few = few or _is_odd_among_many(view, function, now, could)
        few = few or _fell_back(view, function, now, could)
        yield this.finding(
            Severity.WARNING if few and _is_missed(view, function, rate, full) else Severity.INFO,
            bdf,
            f"{bdf} {_less(function, now, could)}: {_other_end(view, function)} has no more, or something is "
            "wrong",
            [
                f"{bdf} LnkCap: {could}; now {now} ({function.name})",
                *([f"{twin.address.short}, of its kind, runs at {_now(view, twin)}"] if twin else []),
                _missing(view, function),
            ],
            trial=_trial(view, function),
            fix=_ON_FREEBSD if "pciconf" in view.machine.kinds else None,
        )


_ON_FREEBSD = (
    "Take the dump with `pciconf -lvbBc` as root: `-B` tells which port is above a device. Or install "
    "pciutils (`pkg install pciutils`) and take it with `lspci -vvv`. A card that should have more lanes in "
    "that slot: reseat it, look at risers and at bifurcation in the firmware setup."
)


def _is_missed(view: View, function: Function, rate: float, full: float) -> bool:
    """Whether a device has a use for what it lost: a port of 1 Gb/s has none for four lanes."""
    own, share = view.own_rate(function), payload_share(view.payload(function))
    return own is None or by_loss(rate * share, full * share, own) is Severity.WARNING


def _faster_twin(view: View, function: Function, rate: float) -> Function | None:
    """Return a device of the same kind that runs in full and carries twice as much; none for guests."""
    if view.is_guest:
        return None
    for other in _likes(view, function):
        theirs = rate_of(_now(view, other))
        if theirs is not None and theirs == rate_of(_could(view, other)) and theirs >= _FAR_FASTER * rate:
            return other
    return None


def _likes(view: View, function: Function) -> list[Function]:
    """Return devices of the same kind; of a switch, the uplinks of its likes of whose port nobody tells."""
    if view.machine.role(function) is not Kind.UPSTREAM_PORT:
        return next((group for group in alike.groups(view) if function in group), [])
    return [
        other
        for other in view.machine
        if view.machine.role(other) is Kind.UPSTREAM_PORT
        and other.identity == function.identity
        and _is_lower_end(view, other)
    ]


def _fell_back(view: View, function: Function, now: LinkMode, could: LinkMode) -> bool:
    """Whether it runs at the first speed there was where no slot for it is so slow.

    Small boards have such slots for modules, and Thunderbolt states that speed: of four lanes at most.
    """
    first = now.gt_s == SPEEDS_GT_S[0] and (could.gt_s or 0.0) >= SPEEDS_GT_S[2]
    if not first or _may_sleep(function) or view.is_guest:
        return False
    return (now.width or 0) >= _WIDE or _is_of_a_bay(function)


def _is_odd_among_many(view: View, function: Function, now: LinkMode, could: LinkMode) -> bool:
    """Whether nearly all of many devices that can do the same run in full, where nothing says what they are.

    Link files alone name addresses. Devices at the end of a link have number 0, on a bus of their own.
    """
    if function.identity.class_code is not None or (could.width or 0) < _NARROW or view.is_guest:
        return False
    if now.width == could.width and (now.gt_s or 0.0) <= IDLE_GPU_GT_S:
        return False
    likes = [
        other
        for other in view.machine
        if other.link.capability == could and _is_at_an_end(other) and other.identity.class_code is None
    ]
    below = [other for other in likes if other.link.status.known and other.link.status != could]
    return len(likes) >= _MANY and function in below and alike.is_rare(len(below), len(likes))


def _is_at_an_end(function: Function) -> bool:
    address = function.address
    return address.bus != 0 and not address.device and not address.function and not function.children


def _is_of_a_bay(function: Function) -> bool:
    """Whether a drive is of a kind that is made for bays of servers."""
    names = f"{function.identity.device_name} {function.identity.subsystem_name} {function.model}"
    return function.is_nvme and _SERVER_DRIVE.search(names) is not None


def _has_equal_slots(view: View, function: Function, now: LinkMode, could: LinkMode) -> bool:
    """Whether machines have slots alike for devices of this kind, or a slot as wide is alike by itself."""
    if now.width == could.width and (now.width or 0) >= _WIDE:
        return True
    if view.machine.role(function) is Kind.UPSTREAM_PORT and (could.width or 0) >= _WIDE:
        return True
    if function.does_rdma or function.is_class(*_HOST_ADAPTERS):
        return True
    if _is_of_a_bay(function):
        return True
    return view.is_compute_gpu(function) and (function.is_3d or function.is_class(0x12))


def _is_module(function: Function) -> bool:
    """Whether a GPU is a module of a baseboard, which wires all of its lanes."""
    return function.is_gpu and bool(_MODULE.search(function.name))


def _is_lower_end(view: View, function: Function) -> bool:
    """Whether a function is the lower end of a link whose upper end is not known."""
    if function.virtual or (function.is_bridge and function.kind is not Kind.UPSTREAM_PORT):
        return False
    if view.machine.role(function) not in _LINKED or is_inside_chip(function):
        return False
    if is_thunderbolt(function) or is_emulated(function) or view.outer_end(function) is not function:
        return False
    link = view.machine.link_above(function)
    if link is not None and link.on_die:
        return False
    return link is None if function.parent is None else link is not None and not link.port_can.known


def _less(function: Function, now: LinkMode, could: LinkMode) -> str:
    """Say what it lacks: of a GPU that may sleep the lanes alone."""
    if _may_sleep(function) and function.idle is not False and (now.gt_s or 0.0) <= IDLE_GPU_GT_S:
        return f"runs on x{now.width} of x{could.width} lanes"
    return f"runs at {now} and could do {could}"


def _may_sleep(function: Function) -> bool:
    """Whether its link goes down to a low speed when nothing is to do: that of a GPU, or of its switch.

    Sound and USB of a card have its link too, where a text lists them and not the GPU.
    """
    beside = function.address.function > 0 and function.identity.vendor_id in _MAKERS_OF_GPUS
    driven = function.identity.class_code is None and function.driver in _DRIVERS_OF_GPUS
    return function.is_gpu or is_switch_of_gpu(function) or beside or driven


def _other_end(view: View, function: Function) -> str:
    """Name what is at the other end: of a device without a known kind, that may be above or below."""
    known = view.machine.role(function) is not None or function.identity.class_code is not None
    return "its slot" if known else "the other end of its link"


def _missing(view: View, function: Function) -> str:
    """Say why nothing is known of the port."""
    link = view.machine.link_above(function)
    if link is None:
        where = "on the host, and this is a guest" if view.is_guest else "not in the source"
        return f"the port above {function.address.short} is {where}"
    if link.upper.link.capability.known:
        return f"{link.upper.address.short} is a port that the hypervisor makes up ({link.upper.name})"
    return f"the source does not say what {port_words(link.upper)} can do"


def _is_speed_clear(view: View, function: Function, now: LinkMode) -> bool:
    """Whether less speed needs no guess: a GPU sleeps, or both ends tell their speed (see `link-speed`)."""
    link = view.machine.link_above(function)
    slow = _may_sleep(function) and (now.gt_s or 0.0) <= IDLE_GPU_GT_S
    return (slow and function.idle is not False) or (link is not None and link.limit.gt_s is not None)


def _now(view: View, function: Function) -> LinkMode:
    """Return how its link runs, by either end."""
    link = view.machine.link_above(function)
    return function.link.status if link is None else link.now


def _could(view: View, function: Function) -> LinkMode:
    """Return what it could do as far as is known: a port may state its speed and not its lanes."""
    link = view.machine.link_above(function)
    return function.link.capability if link is None else link.reach


def _trial(view: View, function: Function) -> Trial | None:
    could, now = _could(view, function), _now(view, function)
    if _may_sleep(function):
        # An idle GPU's speed comes back under load; its lanes do not.
        now = LinkMode(could.gt_s, now.width)
    own = view.own_rate(function)
    return both_ways(now, could, mps=view.payload(function), mrrs=view.reads(function), own=own)
