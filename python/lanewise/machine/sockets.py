"""Which socket a device is on, and what joins the sockets of a machine.

A dump tells NUMA nodes of devices, not links between processors. How many and how fast they are follows from
who made the root ports and from their fastest generation, which is that of the processor:

======  ==========================================================  ===================
maker   generation 3, 4 and 5                                       rate each way
======  ==========================================================  ===================
AMD     one Infinity Fabric link of 16 lanes at 9.5, 18, 32 GT/s    19, 36, 64 GB/s
Intel   two QPI at 9.6 GT/s, three UPI at 11.2 and at 16 GT/s       38.4, 67.2, 96 GB/s
======  ==========================================================  ===================

Sources: AnandTech on EPYC 7000 (2017-06-20) for 37.9 GB/s both ways; AMD and Intel product pages for the
rest. That devices reach one link of AMD's and all of Intel's is assumed: peers across the sockets of a dual
EPYC 9005 move 51.0 GB/s (voipmonitor/rtx6kpro, ``hardware/pcie-bandwidth.md``), which is 64 B of every 80 B
on one link. Leaves out: more than two sockets; what the firmware makes of the links' speed and number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.machine.model import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Machine
    from lanewise.scenario.tables import HostInterconnect, Provenance

_AMD, _INTEL = 0x1022, 0x8086
_LINE = 64


@dataclass(frozen=True)
class Interconnect:
    """The link from one socket to the other, each way."""

    rate_gb_per_s: float
    line_overhead: int
    """Bytes that go with every line of 64 B."""
    name: str
    source: str
    overhead_provenance: Provenance
    overhead_source: str

    @property
    def payload_gb_per_s(self) -> float:
        """What it carries of data."""
        return self.rate_gb_per_s * _LINE / (_LINE + self.line_overhead)

    def table(self) -> HostInterconnect:
        """Make the `interconnect` table of a host."""
        return {
            "rate": {
                "value": f"{self.rate_gb_per_s:g} GB/s",
                "provenance": "assumed",
                "source": self.source,
            },
            "links": {"value": 1, "provenance": "assumed", "source": "`rate` is what peers have of them"},
            "line_overhead": {
                "value": f"{self.line_overhead} B",
                "provenance": self.overhead_provenance,
                "source": self.overhead_source,
            },
        }


_MEASURED = "51.0 GB/s between peers across sockets of a dual EPYC 9005, voipmonitor/rtx6kpro"
_LINES = (
    "processors read 51.1 GB/s over three UPI links (62.4), 34.4 over two (41.6), 29.7 to 30.4 over two QPI "
    "links (38.4): 64 of every 80 B are data; Intel MLC outputs in public files"
)
_AMD_RATES = {4: (36.0, "18 GT/s"), 5: (64.0, "32 GT/s")}
_INTEL_RATES = {4: (67.2, "three UPI links at 11.2 GT/s"), 5: (96.0, "three UPI links at 16 GT/s")}


def sockets_of(machine: Machine) -> Mapping[Address, int]:
    """Return the socket of every function whose NUMA node is known, counted from 0.

    Empty for machines with one node. With more than two nodes the lower half is taken for the first of two
    sockets: sub-NUMA clustering, nodes per socket.
    """
    nodes = sorted(
        {node.index for node in machine.numa_nodes if node.cpus != ""}
        | {function.numa_node for function in machine if function.numa_node is not None}
    )
    if len(nodes) < 2:
        return {}
    half = (len(nodes) + 1) // 2
    socket = {node: int(position >= half) for position, node in enumerate(nodes)}
    return {
        function.address: socket[function.numa_node]
        for function in machine
        if function.numa_node in socket and function.numa_node is not None
    }


def interconnect_of(machine: Machine) -> Interconnect:
    """Return what joins the sockets of a machine, going by its root ports."""
    ports = [function for function in machine if machine.role(function) is Kind.ROOT_PORT]
    generation = max((port.link.capability.generation or 0 for port in ports), default=0)
    if any(port.identity.vendor_id == _AMD for port in ports):
        rate, speed = _AMD_RATES.get(min(generation, 5), (19.0, "9.5 GT/s"))
        name = "Infinity Fabric link"
        source = f"one Infinity Fabric link of 16 lanes at {speed}"
        return Interconnect(rate, 16, name, source, "calibrated", _MEASURED)
    if any(port.identity.vendor_id == _INTEL for port in ports):
        rate, what = _INTEL_RATES.get(min(generation, 5), (38.4, "two QPI links at 9.6 GT/s"))
        return Interconnect(rate, 16, what, what, "published", _LINES)
    source = "three links of 20.8 GB/s, as between Xeon Scalable processors"
    return Interconnect(62.4, 16, "links between sockets", source, "assumed", _LINES)


def across_sockets(machine: Machine, first: Function, second: Function) -> bool:
    """Whether two devices are known to be on different sockets."""
    sockets = sockets_of(machine)
    one, other = sockets.get(first.address), sockets.get(second.address)
    return one is not None and other is not None and one != other
