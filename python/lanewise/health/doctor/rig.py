"""Small scenarios for pricing a finding: the part of a machine that it is about, as it is and put right.

A rig is one root port, a chain of switches, and devices below the last one, in the simulator's own words.
What a dump does not tell (buffers, latencies of the host) has the defaults of the scenario reference; both
runs of a trial share them, so they matter little to the difference. Left out: everything beside the path.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Literal, TypeAlias, cast

from lanewise.machine.lanes import lanes_of
from lanewise.scenario.text import scenario_text

if TYPE_CHECKING:
    from lanewise.health.doctor.pair_rig import PairRig
    from lanewise.machine.lanes import Lanes
    from lanewise.machine.model import LinkMode
    from lanewise.machine.own_rate import Own
    from lanewise.machine.sockets import Interconnect
    from lanewise.scenario.tables import (
        Endpoint,
        EndpointLink,
        Host,
        HostSlot,
        Run,
        Scenario,
        Sourced,
        Switch,
        SwitchPort,
        Workload,
    )

Source: TypeAlias = tuple[str, tuple[tuple[str, str], ...]]
"""The text of a scenario, and what to change on top of it: paths and values."""

_SETTLE_US = 12
_MEASURE_US = 24
_NARROW_FACTOR = 4
_LARGEST = "4 KiB"
"""Payload that every port of a rig supports: what is set decides."""
_PAUSES = 3
"""Pauses before measuring begins; twice as many are measured."""


@dataclass(frozen=True)
class Leaf:
    """A device below the last switch, or at the root port, and what it does."""

    link: Lanes
    direction: Literal["read", "write", "both", "idle"] = "read"
    size: int = 65536
    outstanding: int = 16
    mrrs: int = 512
    tag_bits: int = 8
    relaxed_ordering: bool = False
    target: int | None = None
    """Number of the device whose memory is used; None is the host's."""
    attached_to_root: bool = False
    """Below a second root port of its own, beside the switches."""
    pause_us: int | None = None
    """In place of DMA, the CPU reads a register of it once in so many microseconds."""
    sleep: EndpointLink | None = field(default=None, hash=False)
    """Its `link` table; None for a link that stays awake."""
    interval_ns: float | None = None
    """Least time between two of its requests, for devices that are slower than their link."""
    socket: int = 0
    """Socket of the root port of its own."""
    far_memory: bool = False
    """Whether its buffers are in the memory of the other socket."""


@dataclass(frozen=True)
class Rig:
    """One path of a machine: the links above the devices, from the root port down, and the devices."""

    uplinks: tuple[Lanes, ...]
    leaves: tuple[Leaf, ...]
    mps: int = 256
    rcb: int = 64
    completion_combine: int | None = None
    """Largest completion the host makes, in bytes; the scenario's default when None."""
    acs_redirect: bool = False
    host_latency_ns: int | None = None
    """From a read request to its data at the root port; the scenario's default when None."""
    forward_between_roots: bool = False
    interconnect: Interconnect | None = None
    """What joins the sockets; the scenario's default when None."""

    def with_leaves(self, **changes: object) -> Rig:
        """Return the rig with something changed at every device."""
        return replace(self, leaves=tuple(replace(leaf, **changes) for leaf in self.leaves))  # type: ignore[arg-type]

    def source(self) -> Source:
        """Return the text of its scenario; nothing is changed on top of it."""
        return scenario_text(self.scenario()), ()

    def scenario(self) -> Scenario:
        """Make the scenario."""
        return {
            "run": self._run(),
            "host": {"machine": self._host()},
            "switch": {f"switch{number}": self._switch(number) for number in range(len(self.uplinks))},
            "endpoint": {
                f"device{number}": self._endpoint(number, leaf) for number, leaf in enumerate(self.leaves)
            },
            "workload": [
                _workload(number, leaf) for number, leaf in enumerate(self.leaves) if leaf.direction != "idle"
            ],
        }

    def _run(self) -> Run:
        slowest = min(leaf.link.gt_s * leaf.link.width for leaf in self.leaves)
        factor = _NARROW_FACTOR if slowest < 32 else 1
        pauses = [leaf.pause_us for leaf in self.leaves if leaf.pause_us]
        if pauses:
            factor = _PAUSES * max(pauses) // _SETTLE_US
        settle, end = _SETTLE_US * factor, (_SETTLE_US + _MEASURE_US) * factor
        return {"warm_up": f"{settle} us", "time_limit": f"{end} us", "relative_half_width": "0.001 %"}

    def _host(self) -> Host:
        root = self.uplinks[0] if self.uplinks else self.leaves[0].link
        first = 0 if self.uplinks else self.leaves[0].socket
        slots = {"port0": _slot(root, first)}
        for number, leaf in enumerate(self.leaves):
            if leaf.attached_to_root or (not self.uplinks and number > 0):
                slots[f"port{number + 1}"] = _slot(leaf.link, leaf.socket)
        host: Host = {
            "slots": slots,
            "mps_supported": _LARGEST,
            "mps": f"{self.mps} B",
            "rcb": f"{self.rcb} B",
        }
        if self.completion_combine is not None:
            host["completion_combine"] = f"{self.completion_combine} B"
        if self.host_latency_ns is not None:
            host["memory_latency"] = f"{self.host_latency_ns} ns"
        if self.forward_between_roots or self.acs_redirect:
            host["peer_to_peer"] = True
        if self.interconnect is not None:
            host["interconnect"] = self.interconnect.table()
        return host

    def _switch(self, number: int) -> Switch:
        ports: dict[str, str | Sourced | SwitchPort] = {"port0": self.uplinks[number].word}
        if number == len(self.uplinks) - 1:
            ports |= {f"port{index + 1}": leaf.link.word for index, leaf in enumerate(self.leaves)}
        else:
            ports["port1"] = self.uplinks[number + 1].word
        switch: Switch = {
            "attach": "machine.port0" if number == 0 else f"switch{number - 1}.port1",
            "ports": ports,
            "mps_supported": _LARGEST,
            "mps": f"{self.mps} B",
        }
        if self.acs_redirect:
            switch["acs_redirect"] = True
        return switch

    def _endpoint(self, number: int, leaf: Leaf) -> Endpoint:
        at_root = leaf.attached_to_root or not self.uplinks
        root_port = number + 1 if leaf.attached_to_root or number > 0 else 0
        endpoint: Endpoint = {
            "attach": f"machine.port{root_port}"
            if at_root
            else f"switch{len(self.uplinks) - 1}.port{number + 1}",
            "generation": f"gen{leaf.link.generation}",
            "width": f"x{leaf.link.width}",
            "mrrs": f"{leaf.mrrs} B",
            "tag_width": f"{leaf.tag_bits} bits",
            "relaxed_ordering": leaf.relaxed_ordering,
            "mps_supported": _LARGEST,
            "mps": f"{self.mps} B",
        }
        if leaf.far_memory:
            endpoint["memory_socket"] = 1
        if leaf.interval_ns is not None:
            endpoint["request_interval"] = f"{leaf.interval_ns:.3f} ns"
        if leaf.sleep is not None:
            endpoint["link"] = leaf.sleep
        return endpoint


def _workload(number: int, leaf: Leaf) -> Workload:
    flow, device = f"flow{number}", f"device{number}"
    if leaf.pause_us is not None:
        return {
            "kind": "mmio",
            "name": flow,
            "device": device,
            "direction": "read",
            "interval": f"{leaf.pause_us} us",
        }
    return {
        "kind": "dma",
        "name": flow,
        "device": device,
        "direction": cast("Literal['read', 'write', 'both']", leaf.direction),
        "size": f"{leaf.size} B",
        "outstanding": leaf.outstanding,
        "target": "memory" if leaf.target is None else f"device{leaf.target}",
    }


def _slot(link: Lanes, socket: int) -> str | Sourced | HostSlot:
    """Write a slot; which socket it is on only where that is not the first."""
    return {"link": link.word, "socket": socket} if socket else link.word


@dataclass(frozen=True)
class Trial:
    """A rig as it is and put right; the difference is what a finding costs."""

    as_is: Rig | PairRig
    fixed: Rig | PairRig
    what: str
    """What is compared, like "reads of host memory"."""
    quantity: str = "goodput"
    """goodput, of all flows together, or latency, the mean of one operation."""
    own: Own | None = None
    """What the only device of the trial can use at most, where that is known."""

    @property
    def most_gb_per_s(self) -> float:
        """No link carries more than its device can use."""
        if self.own is None or not isinstance(self.as_is, Rig) or self.quantity != "goodput":
            return inf
        leaves = self.as_is.leaves
        return self.own.of(leaves[0].direction) if len(leaves) == 1 else inf


def both_ways(
    as_is: LinkMode, fixed: LinkMode, *, mps: int, mrrs: int, own: Own | None = None
) -> Trial | None:
    """Try DMA in both directions over one link, in two of its modes; None where either is not known.

    That is what the link carries, not what its device reaches: packets and engines are those of no certain
    part, and of the device only the rates in `own` are known. `lanewise predict` simulates the device.
    """
    now, then = lanes_of(as_is), lanes_of(fixed)
    if now is None or then is None:
        return None
    rig = Rig((), (Leaf(now, "both", mrrs=mrrs),), mps=mps)
    return Trial(rig, rig.with_leaves(link=then), "link alone, both ways", own=own)
