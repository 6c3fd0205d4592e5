"""Which socket a device is on, and what joins the sockets of a machine.

A dump tells NUMA nodes of devices, not links between processors. How many and how fast they are follows from
who made the root ports and from their fastest generation, which is that of the processor; the catalog has the
numbers, with their sources, in its sets of defaults (``catalog/defaults-*.toml``) and in host parts.

That devices reach one link of AMD's and all of Intel's is assumed: peers across the sockets of a dual
EPYC 9005 move 51.0 GB/s (voipmonitor/rtx6kpro, ``hardware/pcie-bandwidth.md``), which is 64 B of every 80 B
on one link. Leaves out: more than two sockets; what the firmware makes of the links' speed and number.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.machine.explained import explained, gb_per_s, whole_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Machine
    from lanewise.scenario.tables import Endpoint, Host, HostInterconnect, Provenance

_AMD, _INTEL = 0x1022, 0x8086
_LINE = 64


@dataclass(frozen=True)
class Interconnect:
    """The link from one socket to the other, each way."""

    rate_gb_per_s: float
    line_overhead: int
    """Bytes that go with every line of 64 B."""
    source: str
    provenance: Provenance
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
                "provenance": self.provenance,
                "source": self.source,
            },
            "links": {"value": 1, "provenance": "assumed", "source": "`rate` is what peers have of them"},
            "line_overhead": {
                "value": f"{self.line_overhead} B",
                "provenance": self.overhead_provenance,
                "source": self.overhead_source,
            },
        }


_OLDER = {_AMD: "amd-naples", _INTEL: "intel-broadwell-ep"}
"""Parts that stand for processors of Gen3 and older, of which sets of defaults say nothing."""
_OTHER = 0
_MAKERS = {_AMD: "amd", _INTEL: "intel", _OTHER: "other"}
_OLDEST_SET, _NEWEST = 4, 5
"""The generations of root ports of which there are sets of defaults by maker."""


def found_sockets(machine: Machine) -> Mapping[Address, int]:
    """Find the socket of every function whose NUMA node is known, counted from 0.

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
    ports = machine.host_ports
    generation = max((port.link.capability.generation or 0 for port in ports), default=0)
    vendors = {port.identity.vendor_id for port in ports}
    vendor = next((vendor for vendor in (_AMD, _INTEL) if vendor in vendors), _OTHER)
    return _of(vendor, min(generation, _NEWEST))


def _of(vendor: int, generation: int) -> Interconnect:
    """Return what the catalog says joins processors of a maker and generation."""
    link = f"gen{max(generation, 3)} x16"
    host: Host = {"slots": {"near": {"link": link}, "far": {"link": link, "socket": 1}}}
    if vendor in _OLDER and generation < _OLDEST_SET:
        host["part"] = _OLDER[vendor]
    else:
        host["maker"] = _MAKERS[vendor]
    device: Endpoint = {"attach": "machine.near", "generation": "gen3", "width": "x16"}
    said = explained({"host": {"machine": host}, "endpoint": {"device": device}})
    rate, links, overhead = (
        said[f"machine.interconnect.{key}"] for key in ("rate", "links", "line_overhead")
    )
    whole, spent = gb_per_s(rate["value"]), whole_bytes(overhead["value"])
    assert whole is not None
    assert spent is not None
    count = int(links["value"])
    one = rate["source"] if count == 1 else f"one of {count}: {rate['source']}"
    return Interconnect(
        whole / count, spent, one, rate["provenance"], overhead["provenance"], overhead["source"]
    )


def across_sockets(machine: Machine, first: Function, second: Function) -> bool:
    """Whether two devices are known to be on different sockets."""
    one, other = machine.sockets.get(first.address), machine.sockets.get(second.address)
    return one is not None and other is not None and one != other
