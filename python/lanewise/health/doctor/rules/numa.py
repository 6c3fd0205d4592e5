"""Devices and the NUMA node they belong to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PERFORMANCE, Rule, rule
from lanewise.health.doctor.rig import Leaf, Rig, Trial
from lanewise.health.doctor.words import listed
from lanewise.machine.sockets import interconnect_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

NUMA = Rule(
    id="numa-unknown",
    what="A fast device of a machine with several NUMA nodes belongs to none, or to one without processors.",
    why="The kernel places interrupts, queues and buffers near a device when firmware tells where it is "
    "attached. Otherwise they may end up on the other socket, and every access crosses the link between "
    "sockets.",
    severity="info",
    cost="simulated: one 4 KiB read of the own socket's memory and of the other's, over the link that "
    "processors of this make and age have",
    fix="Update firmware so that ACPI describes the node (_PXM); until then bind software to the right "
    "node (`numactl`, IRQ affinity).",
    references=("ACPI 6.5 §6.2.15 (_PXM)", "Linux, Documentation/ABI/testing/sysfs-bus-pci (numa_node)"),
    not_said="Machines with one node, and sources that do not show nodes.",
    profiles=PERFORMANCE,
)


ANOTHER = Rule(
    id="numa-mismatch",
    what="A device is said to be on another NUMA node than the port above it.",
    why="A link leads to one socket, so what hangs below a port is on the port's node. If firmware says "
    "something else about a device, the kernel places its interrupts, queues and buffers on the wrong node, "
    "and every access crosses the link between sockets.",
    severity="info",
    cost="simulated: one 4 KiB read of the own socket's memory and of the other's, over the link that "
    "processors of this make and age have",
    fix="Update firmware, whose ACPI tables name the node (_PXM). Until then write the node of the port: "
    "`echo "
    "NODE > /sys/bus/pci/devices/BDF/numa_node`, and restart what uses the device.",
    references=("ACPI 6.5 §6.2.15 (_PXM)", "Linux, Documentation/ABI/testing/sysfs-bus-pci (numa_node)"),
    not_said="Devices or ports without a node (see `numa-unknown`); devices on slow links.",
    profiles=PERFORMANCE,
)


@rule(ANOTHER)
def devices_on_another_node(view: View, this: Rule) -> Iterable[Finding]:
    """Find fast devices whose node is not that of the port above."""
    for function in view.devices:
        port = view.machine.parent(function)
        if port is None or port.implied or port.numa_node is None:
            continue
        if function.numa_node in (None, port.numa_node):
            continue
        bdf = function.address.short
        yield this.finding(
            Severity.INFO,
            bdf,
            f"{bdf} is said to be on NUMA node {function.numa_node}, and the port above it on "
            f"{port.numa_node}",
            [_line(function), _line(port)],
            fix=this.fix.replace("NODE", str(port.numa_node)),
            trial=_trial(view, function),
        )


@rule(NUMA)
def homeless_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find fast devices without a node."""
    nodes = {function.numa_node for function in view.machine} - {None}
    if len(nodes | {node.index for node in view.machine.numa_nodes}) < 2 or not nodes:
        return
    empty = {node.index for node in view.machine.numa_nodes if node.cpus == ""}
    lost = [f for f in view.devices if f.numa_node is None or f.numa_node in empty]
    if not lost:
        return
    yield this.finding(
        Severity.INFO,
        lost[0].address.short,
        f"{listed(lost)} {'belongs' if len(lost) == 1 else 'belong'} to no NUMA node with processors",
        [_line(function) for function in lost[:8]],
        trial=_trial(view, lost[0]),
        also=[function.address.short for function in lost[1:]],
    )


def _line(function: Function) -> str:
    node = "-1" if function.numa_node is None else str(function.numa_node)
    return f"{function.address.short} numa_node: {node} ({function.name})"


def _trial(view: View, function: Function) -> Trial | None:
    lanes = view.leaf_lanes(function)
    if lanes is None:
        return None
    leaf = Leaf(lanes, "read", size=4096, outstanding=1, mrrs=view.reads(function))
    near = Rig((), (leaf,), mps=view.payload(function), interconnect=interconnect_of(view.machine))
    far = near.with_leaves(far_memory=True)
    return Trial(far, near, "a 4 KiB read of host memory", quantity="latency")
