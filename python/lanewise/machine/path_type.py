"""How two devices of a machine reach each other, in the words of `nvidia-smi topo -m`.

======  =====================================================================
word    the way between the two
======  =====================================================================
PIX     at most one switch
PXB     several switches, no host bridge
PHB     two root ports of one host bridge
NODE    two host bridges of one NUMA node
SYS     two NUMA nodes, by what joins them
======  =====================================================================

A host bridge is a root bus: the ports with its bus number. Where a source leaves root ports out, as NCCL's
files do, it is a NUMA node. Switches inside a GPU do not count. Devices of which no source tells the NUMA
node are taken to be at one. Source: legend of `nvidia-smi topo -m`, and `nvmlGpuTopologyLevel_t` of NVML's
reference.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from lanewise.machine.model import Kind

if TYPE_CHECKING:
    from lanewise.machine.model import Function, Machine


class PathType(StrEnum):
    """The way between two devices, shortest first."""

    PIX = "PIX"
    PXB = "PXB"
    PHB = "PHB"
    NODE = "NODE"
    SYS = "SYS"

    @property
    def rank(self) -> int:
        """How far it is, counted from 0."""
        return tuple(PathType).index(self)

    @property
    def meaning(self) -> str:
        """Say it in a few words."""
        return _MEANINGS[self]

    @property
    def below_root(self) -> bool:
        """Whether a switch joins the two, so that the root complex need not."""
        return self in (PathType.PIX, PathType.PXB)


_MEANINGS = {
    PathType.PIX: "one switch",
    PathType.PXB: "several switches",
    PathType.PHB: "two root ports of a host bridge",
    PathType.NODE: "two host bridges of a NUMA node",
    PathType.SYS: "two NUMA nodes",
}


def path_type(machine: Machine, first: Function, second: Function) -> PathType:
    """Say how two devices reach each other over PCI Express; links of their own do not count."""
    if first.address.slot == second.address.slot:
        return PathType.PIX
    if meeting_bridge(machine, first, second) is not None:
        return PathType.PIX if _switches_between(machine, first, second) <= 1 else PathType.PXB
    nodes = numa_node(machine, first), numa_node(machine, second)
    tops = _top(machine, first), _top(machine, second)
    told = not any(top.implied for top in tops)
    one_bus = (tops[0].address.domain, tops[0].address.bus) == (tops[1].address.domain, tops[1].address.bus)
    if told and one_bus:
        return PathType.PHB
    if None not in nodes and nodes[0] != nodes[1]:
        return PathType.SYS
    return PathType.NODE if told or None in nodes else PathType.PHB


def meeting_bridge(machine: Machine, first: Function, second: Function) -> Function | None:
    """Return the lowest bridge above both; None where only the root complex joins them."""
    above = {bridge.address for bridge in machine.path(second)}
    return next((bridge for bridge in machine.path(first) if bridge.address in above), None)


def numa_node(machine: Machine, function: Function) -> int | None:
    """Return the NUMA node of a device: its own, or that of the nearest bridge above that has one."""
    steps = (function, *machine.path(function))
    return next((step.numa_node for step in steps if step.numa_node is not None), None)


def _switches_between(machine: Machine, first: Function, second: Function) -> int:
    """Count switches on the way from one device up to the bridge where they meet, and down to the other."""
    ways = [{bridge.address: bridge for bridge in machine.path(function)} for function in (first, second)]
    meeting = meeting_bridge(machine, first, second)
    apart = [
        bridge for way, other in (ways, ways[::-1]) for bridge in way.values() if bridge.address not in other
    ]
    met = [] if meeting is None else [meeting]
    return sum(_is_switch(machine, bridge) for bridge in (*met, *apart))


def _is_switch(machine: Machine, bridge: Function) -> bool:
    """Whether a bridge is the upstream port of a switch that is not inside a GPU."""
    if machine.role(bridge) is not Kind.UPSTREAM_PORT:
        return False
    link = machine.link_above(bridge)
    return link is None or machine.gpu_below(link) is None


def _top(machine: Machine, function: Function) -> Function:
    return (function, *machine.path(function))[-1]
