"""What follows from where functions sit: kinds that no register states, links, links inside one chip.

Inference is for sources without configuration space (trees, hwloc, sysfs read by an ordinary user): there a
bridge on a root bus is taken for a root port, a bridge directly below a port for a switch's upstream port,
and so on down. Conventional PCI bridges look the same from outside; a source that states kinds is always
believed instead. Source: PCI Express Base Specification 5.0, 1.3.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.function import PORTS_TO_LINKS, Function, Kind
from lanewise.machine.link import Link
from lanewise.machine.registers import LinkMode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.machine.address import Address

_INTEL, _AMD_CPU, _AMD_GPU, _MELLANOX = 0x8086, 0x1022, 0x1002, 0x15B3
_GPU_SWITCHES = frozenset(
    {
        *((_AMD_GPU, device) for device in (0x1478, 0x1479, 0x14A0, 0x14A1)),
        *((_AMD_CPU, device) for device in (0x1470, 0x1471)),
        *((_INTEL, device) for device in (0x4FA0, 0x4FA1, 0x4FA4, 0xE2FF, 0xE2F0, 0xE2F1)),
    }
)
"""Ports of the switches inside Navi and MI100, Vega 10, Arc (pci.ids, public dumps)."""
_GPUS_WITH_SWITCH = re.compile(r"(?:^|\] )(?:Navi \d\d|Vega (?:10|12|20)|Arcturus)\b")
"""Names of AMD's GPUs whose chip has such a switch (pci.ids)."""
_ARC_INSIDE = LinkMode(2.5, 1)
"""What Intel's Arc says that it can do, behind its switch."""
_ADAPTER_BRIDGES = range(0x1974, 0x1980)
"""Ports of the switches inside ConnectX-5 to 8 and BlueField (pci.ids)."""
_HYGON = 0x1D94
_BRIDGE = 0x0604
"""The class of ports and bridges, of which a source may not show what is behind them."""
_INSIDE_INTEL = frozenset(
    {
        *range(0x37C0, 0x37DA),  # ports, QuickAssist and X722 of the C620 chipset
        *(0x0B25, 0x1212, 0x0CFE, 0x1216, 0x2710, 0x2714),  # DSA, IAA, DLB
        *(0x18A0, 0x18EE, 0x19E2, 0x1F18, 0x1F19, 0x6F54),  # QuickAssist of Atom and Xeon D
        *(0x4940, 0x4942, 0x4944, 0x4946, 0x4948),  # QuickAssist of Xeon since Sapphire Rapids
        *(0x15AA, 0x15AB, 0x15AC, 0x15AD, 0x15AE, 0x15B0),  # X552
        *(*range(0x15C2, 0x15C9), 0x15CE, 0x15E4, 0x15E5),  # X553
        *(0x1F40, 0x1F41, 0x1F45, 0x151D),  # I354, E823-L
        *(*range(0x124C, 0x1250), *range(0x188A, 0x188F), *range(0x1890, 0x189B), *range(0x579C, 0x57A0)),
    }
)
"""Functions inside Intel's processors and chipsets, whose links say 2.5 GT/s x1 or anything (pci.ids)."""


def infer(functions: Mapping[Address, Function]) -> dict[Address, Kind]:
    """Return kinds of functions that state none, from their place.

    Nothing is inferred for machines that state kinds for all bridges, and nothing from a plain list without a
    tree.
    """
    inferred: dict[Address, Kind] = {}
    if not any(function.children for function in functions.values() if function.kind is None):
        return inferred
    for function in functions.values():
        if function.parent is None:
            _infer_below(functions, function, above=None, into=inferred)
    return inferred


def _infer_below(
    functions: Mapping[Address, Function], function: Function, above: Kind | None, into: dict[Address, Kind]
) -> None:
    kind = function.kind or _kind_by_place(functions, function, above)
    if kind is not None and function.kind is None:
        into[function.address] = kind
    for child in function.children:
        _infer_below(functions, functions[child], kind, into)


def _kind_by_place(
    functions: Mapping[Address, Function], function: Function, above: Kind | None
) -> Kind | None:
    if function.registers.express is False:
        return None
    if not function.is_bridge:
        return Kind.ENDPOINT if above in PORTS_TO_LINKS else None
    if above is None:
        return Kind.ROOT_PORT if function.parent is None else None
    if above in PORTS_TO_LINKS:
        is_switch = any(functions[child].is_bridge for child in function.children)
        return Kind.UPSTREAM_PORT if is_switch else Kind.PCIE_TO_PCI_BRIDGE
    return Kind.DOWNSTREAM_PORT if above is Kind.UPSTREAM_PORT else None


def find_links(
    functions: Mapping[Address, Function], kinds: Mapping[Address, Kind | None]
) -> tuple[Link, ...]:
    """Return every link with both ends in the source; `kinds` are stated or inferred, by address."""
    links = []
    for function in functions.values():
        if kinds[function.address] not in PORTS_TO_LINKS:
            continue
        below = (functions[child] for child in function.children)
        lower = tuple(child for child in below if _speaks_express(child, kinds[child.address]))
        if lower:
            for_show = is_of_thunderbolt(function, lower[0])
            on_die = for_show or is_on_die(function, lower[0])
            tunnel = for_show and lower[0].is_bridge
            links.append(Link(upper=function, lower=lower, on_die=on_die, tunnel=tunnel))
    return tuple(links)


def is_switch_of_gpu(function: Function) -> bool:
    """Whether it is a port of a switch inside a GPU, whose link to the host sleeps as that of a GPU does."""
    return (function.identity.vendor_id, function.identity.device_id) in _GPU_SWITCHES


def is_of_thunderbolt(upper: Function, lower: Function) -> bool:
    """Whether a link is a tunnel through a Thunderbolt or USB4 cable, or inside a controller for one.

    Such links report 2.5 GT/s and some width because a register must say something; the cable decides. A
    processor's port for tunnels says so in its name. A controller on a card or in a dock has bridges; what
    hangs on them is a link like any other, unless it is a bridge of the next controller or of its own chip.
    Source: USB4 Specification 1.0, chapter 11 (PCIe tunneling).
    """
    if not is_thunderbolt(upper):
        return False
    return upper.parent is None or is_thunderbolt(lower)


def is_thunderbolt(function: Function) -> bool:
    """Whether a function is part of a Thunderbolt or USB4 controller, by its name in `pci.ids`."""
    name = function.identity.device_name or ""
    return any(word in name for word in ("Thunderbolt", "USB4", "USB Type-C Subsystem PCIe"))


def _speaks_express(function: Function, kind: Kind | None) -> bool:
    if function.registers.express is not None:
        return function.registers.express
    return kind is not None


def is_on_die(upper: Function, lower: Function) -> bool:
    """Whether both ends are in one chip, so that the registers of the link are no physical limit.

    Known: functions of AMD's processors and chipsets, FCH SATA among them; the switches inside GPUs and
    network adapters; network controllers and accelerators inside Intel's processors and chipsets.
    """
    above, below = upper.identity, lower.identity
    if above.device_id is not None and (above.vendor_id, above.device_id) in _GPU_SWITCHES:
        return below.vendor_id in (_AMD_GPU, _AMD_CPU, _INTEL)
    internal = above.vendor_id == _AMD_CPU and "Internal" in (above.device_name or "")
    if above.vendor_id is None or above.vendor_id != below.vendor_id:
        return internal and below.vendor_id == _AMD_GPU
    if above.vendor_id == _INTEL:
        inside_gpu = upper.kind is Kind.DOWNSTREAM_PORT and lower.is_class(0x03, 0x0403, 0x12)
        return inside_gpu or (below.device_id or 0) in _INSIDE_INTEL
    inside_adapter = (above.vendor_id, lower.is_bridge) == (_MELLANOX, False)
    return internal or is_inside_amd(lower) or (inside_adapter and above.device_id in _ADAPTER_BRIDGES)


def is_inside_chip(function: Function) -> bool:
    """Whether a function is on the die of a processor or chipset, so that no wire leads to it."""
    identity = function.identity
    return is_inside_amd(function) or (identity.vendor_id == _INTEL and identity.device_id in _INSIDE_INTEL)


def is_behind_own_switch(function: Function) -> bool:
    """Whether a GPU sits behind a switch in its own chip: what it says of its link is not what the slot has.

    Navi says 16 GT/s x16 in whatever slot, Arc 2.5 GT/s x1.
    """
    if not function.is_class(0x03, 0x0403, 0x12):
        return False
    vendor, link = function.identity.vendor_id, function.link.capability
    if vendor == _AMD_GPU or function.name.startswith("Advanced Micro Devices"):
        return _GPUS_WITH_SWITCH.search(function.name) is not None
    intel = vendor == _INTEL or function.name.startswith("Intel")
    return intel and function.address.bus != 0 and link == _ARC_INSIDE


def is_inside_amd(function: Function) -> bool:
    """Whether a function is in an AMD processor or chipset: AMD sells no cards under that number.

    Hygon's processors are AMD's design, and Hygon sells no cards either.
    """
    is_port = function.is_bridge or function.is_class(_BRIDGE)
    return function.identity.vendor_id in (_AMD_CPU, _HYGON) and not is_port


def is_chipset_uplink(upper: Function, lower: Function) -> bool:
    """Whether a link joins an AMD chipset to its processor or to another chipset: the board has its lanes.

    Both ends are AMD's, and the lower one is a switch that is in no GPU. Intel's is no PCI Express link.
    """
    ends = (upper.identity, lower.identity)
    both = all(end.vendor_id == _AMD_CPU for end in ends)
    return both and lower.is_bridge and (_AMD_CPU, lower.identity.device_id) not in _GPU_SWITCHES
