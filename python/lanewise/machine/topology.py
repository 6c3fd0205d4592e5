"""What follows from where functions sit: kinds that no register states, links, links inside one chip.

Inference is for sources without configuration space (trees, hwloc, sysfs read by an ordinary user): there a
bridge on a root bus is taken for a root port, a bridge directly below a port for a switch's upstream port,
and so on down. Conventional PCI bridges look the same from outside; a source that states kinds is always
believed instead. Source: PCI Express Base Specification 5.0, 1.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.model import PORTS_TO_LINKS, Function, Kind, Link

if TYPE_CHECKING:
    from lanewise.machine.model import Address, Machine

_INTEL, _AMD_CPU, _AMD_GPU = 0x8086, 0x1022, 0x1002
_AMD_GPU_SWITCH = frozenset({0x1478, 0x1479})
"""Upstream and downstream port of the switch inside Vega and Navi GPUs (pci.ids)."""
_INTEL_GPU_SWITCH = frozenset({0x4FA0, 0x4FA1, 0x4FA4, 0xE2FF, 0xE2F0, 0xE2F1})
"""Upstream and downstream ports of the switch inside Arc GPUs (pci.ids)."""
_X722 = range(0x37C0, 0x37DA)
"""Ports and functions of the network controller inside the C620 chipset (pci.ids)."""


def infer(machine: Machine) -> dict[Address, Kind]:
    """Return kinds of functions that state none, from their place.

    Nothing is inferred for machines that state kinds for all bridges, and nothing from a plain list without a
    tree.
    """
    inferred: dict[Address, Kind] = {}
    if not any(function.children for function in machine if function.kind is None):
        return inferred
    for root in machine.roots:
        _infer_below(machine, root, above=None, into=inferred)
    return inferred


def _infer_below(machine: Machine, function: Function, above: Kind | None, into: dict[Address, Kind]) -> None:
    kind = function.kind or _kind_by_place(machine, function, above)
    if kind is not None and function.kind is None:
        into[function.address] = kind
    for child in machine.children(function):
        _infer_below(machine, child, kind, into)


def _kind_by_place(machine: Machine, function: Function, above: Kind | None) -> Kind | None:
    if function.registers.express is False:
        return None
    if not function.is_bridge:
        return Kind.ENDPOINT if above in PORTS_TO_LINKS else None
    if above is None:
        return Kind.ROOT_PORT if function.parent is None else None
    if above in PORTS_TO_LINKS:
        is_switch = any(child.is_bridge for child in machine.children(function))
        return Kind.UPSTREAM_PORT if is_switch else Kind.PCIE_TO_PCI_BRIDGE
    return Kind.DOWNSTREAM_PORT if above is Kind.UPSTREAM_PORT else None


def find_links(machine: Machine) -> tuple[Link, ...]:
    """Return every link with both ends in the source."""
    links = []
    for function in machine:
        if machine.role(function) not in PORTS_TO_LINKS:
            continue
        lower = tuple(child for child in machine.children(function) if _speaks_express(machine, child))
        if lower:
            links.append(Link(upper=function, lower=lower, on_die=is_on_die(function, lower[0])))
    return tuple(links)


def _speaks_express(machine: Machine, function: Function) -> bool:
    if function.registers.express is not None:
        return function.registers.express
    return machine.role(function) is not None


def is_on_die(upper: Function, lower: Function) -> bool:
    """Whether both ends are in one chip, so that the registers of the link are no physical limit.

    Known: AMD's internal bridges to functions of the same chip, the switch inside AMD and Intel GPUs, the
    X722 network controller inside Intel chipsets.
    """
    above, below = upper.identity, lower.identity
    if above.vendor_id is None or above.vendor_id != below.vendor_id:
        return (
            above.vendor_id == _AMD_CPU
            and below.vendor_id == _AMD_GPU
            and "Internal" in (above.device_name or "")
        )
    if above.vendor_id == _AMD_CPU:
        return "Internal" in (above.device_name or "") or lower.is_class(0x13)
    if above.vendor_id == _AMD_GPU:
        return above.device_id in _AMD_GPU_SWITCH
    if above.vendor_id == _INTEL:
        return above.device_id in _INTEL_GPU_SWITCH or (below.device_id or 0) in _X722
    return False
