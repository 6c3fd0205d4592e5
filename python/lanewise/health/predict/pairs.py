"""Pairs of devices that move data to each other: the way between them, and what it carries, simulated.

Packets of two devices below a switch turn round in it. They go up to the root port and back where ACS
redirects them at the port above the device that sends them, and where the IOMMU translates its addresses, as
no switch knows these. Both ways are simulated for such pairs; the machine is set up for one of them. Pairs
that are alike are run once.

Left out: that the IOMMU looks translations of peers up, devices with translations of their own (ATS), and
redirection of completions alone. Sources: PCIe Base 6.3 §6.12.3 (ACS P2P Request Redirect); Linux,
Documentation/core-api/dma-api-howto.rst (`dma_map_resource`: a peer's registers behind an IOMMU).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from lanewise.health.predict.pair_benchmarks import large, small
from lanewise.health.predict.simulator import latency_of
from lanewise.machine.path_type import meeting_bridge, path_type
from lanewise.machine.scenario import switch_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.documents import PredictPeersPair
    from lanewise.health.predict.benchmarks import Benchmark
    from lanewise.health.predict.pair_benchmarks import Overrides
    from lanewise.health.predict.simulator import Simulator
    from lanewise.machine.model import Function, Machine

RedirectedBy: TypeAlias = Literal["ACS", "IOMMU"]

TRANSLATING = frozenset({"DMA", "DMA-FQ"})
"""Types of IOMMU groups whose addresses are translated (Linux, sysfs-kernel-iommu_groups)."""


MODULES = (
    "GPUs of this kind come with links of their own, which the source does not show: what they copy to "
    "each other goes over these, and 'nvidia-smi topo -m' as an overlay tells which"
)
"""Said where pairs of such GPUs are simulated over PCI Express."""

_REFUSED = re.compile(r"\bGeForce RTX [45]0[5-9]0\b")


def refused_by_the_driver(gpus: Iterable[Function]) -> list[str]:
    """Say of which GPUs NVIDIA's driver refuses peer access, whatever the links between them could carry.

    Of a pair only: one alone has no peer. Source: NVIDIA/nccl issue 1127 (GeForce RTX 4090); public output of
    `nvidia-smi topo -p2p` of two GeForce RTX 5090: GNS, GPU not supported (noonghunna/club-3090 issue 1124).
    """
    names = [gpu.identity.device_name or "" for gpu in gpus]
    refused = sorted({found[0] for name in names if (found := _REFUSED.search(name))})
    if not refused or len(names) < 2:
        return []
    return [
        f"NVIDIA's driver refuses peer access between GPUs of the kind {', '.join(refused)}: unless it is a "
        "changed one, what they copy to each other goes by way of host memory, not at the rates to peers"
    ]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A device that moves data by itself, the one whose memory it is, and what the way between them carries.

    Rates are payload, 10⁹ B/s, and None where they were not simulated. Those called direct and redirected are
    of pairs that a switch joins, None for others.
    """

    device: str
    """Address of the one that moves the data."""
    peer: str
    """Address of the one whose memory is written or read."""
    path: str
    """PIX, PXB, PHB, NODE or SYS."""
    own_links: str | None
    """Links of their own that they use instead of PCI Express, like ``NVLink``; then nothing is simulated."""
    redirected_by: RedirectedBy | None
    """What sends packets through the root port although a switch joins the two."""
    write_gb_per_s: float | None
    read_gb_per_s: float | None
    latency_ns: float | None
    """Mean of a write of 4 KiB, one after another, ns."""
    write_direct_gb_per_s: float | None
    read_direct_gb_per_s: float | None
    latency_direct_ns: float | None
    write_redirected_gb_per_s: float | None
    read_redirected_gb_per_s: float | None
    latency_redirected_ns: float | None
    write_binding: str | None
    """What limits the writes."""
    read_binding: str | None
    kind_of_case: str | None
    """As of a row of a prediction."""

    @property
    def slower_gb_per_s(self) -> float:
        """The smaller of both rates; 0 where none is known."""
        return min(self.write_gb_per_s or 0.0, self.read_gb_per_s or 0.0)

    def document(self) -> PredictPeersPair:
        """Return the pair as JSON has it."""
        return cast("PredictPeersPair", dict(vars(self)))


@dataclass(frozen=True)
class _Way:
    """What one way between two devices carries."""

    write: float | None = None
    read: float | None = None
    latency: float | None = None
    write_binding: str | None = None
    read_binding: str | None = None
    kind_of_case: str | None = None


_NONE = _Way()


def pair_of(simulator: Simulator, device: Function, peer: Function) -> Pair:
    """Simulate a pair; without rates where links of their own join the two, or the way is not known."""
    machine = simulator.machine
    kind = path_type(machine, device, peer)
    own = machine.own_links(device, peer)
    by = redirected_by(machine, device, peer)
    direct = redirected = _NONE
    if own is not None:
        found = _NONE
    elif kind.below_root:
        direct = _way(simulator, device, peer, redirection(machine, device, peer, redirect=False))
        redirected = _way(simulator, device, peer, redirection(machine, device, peer, redirect=True))
        found = redirected if by else direct
    else:
        found = _way(simulator, device, peer, ())
    return Pair(
        device=device.address.short,
        peer=peer.address.short,
        path=kind.value,
        own_links=own,
        redirected_by=by,
        write_gb_per_s=found.write,
        read_gb_per_s=found.read,
        latency_ns=found.latency,
        write_direct_gb_per_s=direct.write,
        read_direct_gb_per_s=direct.read,
        latency_direct_ns=direct.latency,
        write_redirected_gb_per_s=redirected.write,
        read_redirected_gb_per_s=redirected.read,
        latency_redirected_ns=redirected.latency,
        write_binding=found.write_binding,
        read_binding=found.read_binding,
        kind_of_case=found.kind_of_case,
    )


def redirected_by(machine: Machine, device: Function, peer: Function) -> RedirectedBy | None:
    """Say what sends a device's packets for its peer up to the root port; None where nothing has to."""
    meeting = meeting_bridge(machine, device, peer)
    if meeting is None or device.address.slot == peer.address.slot:
        return None
    if device.iommu_type in TRANSLATING:
        return "IOMMU"
    way = (device, *machine.path(device))
    port = way[way.index(meeting) - 1]
    acs = port.registers.acs
    return "ACS" if acs is not None and "ReqRedir" in (acs.enabled or ()) else None


def redirection(machine: Machine, device: Function, peer: Function, *, redirect: bool) -> Overrides:
    """Say for the switch that joins two devices, and those above it, whether they send peers up.

    These are overrides of the scenario; a bridge has to be above both.
    """
    meeting = meeting_bridge(machine, device, peer)
    assert meeting is not None
    return tuple(
        (f"{switch_name(bridge)}.acs_redirect", str(redirect).lower())
        for bridge in (meeting, *machine.path(meeting))
        if any(switch.upstream is bridge for switch in machine.switches)
    )


def as_found(machine: Machine, benchmark: Benchmark) -> Benchmark:
    """Return a benchmark with packets of peers on the way that this machine sends them.

    A switch of a scenario redirects all of its ports or none, that of a machine each for itself. Where both
    devices write at the same time, either of them that is redirected takes the other along.
    """
    device, peer = benchmark.function, benchmark.peer
    if peer is None or meeting_bridge(machine, device, peer) is None:
        return benchmark
    ways = [(device, peer), *([(peer, device)] if benchmark.beside else [])]
    redirect = any(redirected_by(machine, *way) is not None for way in ways)
    way = redirection(machine, device, peer, redirect=redirect)
    return replace(benchmark, overrides=(*benchmark.overrides, *way))


def _way(simulator: Simulator, device: Function, peer: Function, overrides: Overrides) -> _Way:
    write = simulator.row(large(device, peer, "write", overrides))
    read = simulator.row(large(device, peer, "read", overrides))
    one = simulator.alone(small(device, peer, overrides))
    if write is None or read is None or one is None:
        return _NONE
    rates = (write.alone_gb_per_s, read.alone_gb_per_s, latency_of(one))
    return _Way(*rates, write.binding, read.binding, write.kind_of_case)
