"""Small scenarios for pricing a finding: the part of a machine that it is about, as it is and put right.

A rig is one root port, a chain of switches, and devices below the last one, in the simulator's own words.
What a dump does not tell (buffers, latencies of the host) has the defaults of the scenario reference; both
runs of a trial share them, so they matter little to the difference. Left out: everything beside the path.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import TYPE_CHECKING

from lanewise.machine.lanes import lanes_of

if TYPE_CHECKING:
    from lanewise.machine.lanes import Lanes
    from lanewise.machine.model import LinkMode
    from lanewise.machine.own_rate import Own
    from lanewise.machine.sockets import Interconnect

_SETTLE_US = 12
_MEASURE_US = 24
_NARROW_FACTOR = 4
_PAUSES = 3
"""Pauses before measuring begins; twice as many are measured."""


@dataclass(frozen=True)
class Leaf:
    """A device below the last switch, or at the root port, and what it does."""

    link: Lanes
    direction: str = "read"
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
    sleep: tuple[str, ...] = ()
    """Entries of its `link` table; none for a link that stays awake."""
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

    def scenario(self) -> str:
        """Write the scenario file."""
        return "\n".join([*self._run(), *self._host(), *self._switches(), *self._devices()]) + "\n"

    def _run(self) -> list[str]:
        slowest = min(leaf.link.gt_s * leaf.link.width for leaf in self.leaves)
        factor = _NARROW_FACTOR if slowest < 32 else 1
        pauses = [leaf.pause_us for leaf in self.leaves if leaf.pause_us]
        if pauses:
            factor = _PAUSES * max(pauses) // _SETTLE_US
        settle, end = _SETTLE_US * factor, (_SETTLE_US + _MEASURE_US) * factor
        return [
            "[run]",
            f'warm_up = "{settle} us"',
            f'time_limit = "{end} us"',
            'relative_half_width = "0.001 %"',
        ]

    def _host(self) -> list[str]:
        root = self.uplinks[0] if self.uplinks else self.leaves[0].link
        first = 0 if self.uplinks else self.leaves[0].socket
        slots = [f"port0 = {_slot(root, first)}"]
        slots += [
            f"port{number + 1} = {_slot(leaf.link, leaf.socket)}"
            for number, leaf in enumerate(self.leaves)
            if leaf.attached_to_root or (not self.uplinks and number > 0)
        ]
        lines = [
            "[host.machine]",
            f"slots = {{ {', '.join(slots)} }}",
            *self._payload(),
            f'rcb = "{self.rcb} B"',
        ]
        if self.completion_combine is not None:
            lines.append(f'completion_combine = "{self.completion_combine} B"')
        if self.host_latency_ns is not None:
            lines.append(f'memory_latency = "{self.host_latency_ns} ns"')
        if self.forward_between_roots or self.acs_redirect:
            lines.append("peer_to_peer = true")
        return [*lines, *(self.interconnect.toml("machine") if self.interconnect else [])]

    def _switches(self) -> list[str]:
        lines = []
        for number, uplink in enumerate(self.uplinks):
            last = number == len(self.uplinks) - 1
            below = [f'port{index + 1} = "{leaf.link.word}"' for index, leaf in enumerate(self.leaves)]
            ports = below if last else [f'port1 = "{self.uplinks[number + 1].word}"']
            lines += [
                f"[switch.switch{number}]",
                f'attach = "{"machine.port0" if number == 0 else f"switch{number - 1}.port1"}"',
                f'ports = {{ port0 = "{uplink.word}", {", ".join(ports)} }}',
                *self._payload(),
            ]
            if self.acs_redirect:
                lines.append("acs_redirect = true")
        return lines

    def _devices(self) -> list[str]:
        lines = []
        for number, leaf in enumerate(self.leaves):
            at_root = leaf.attached_to_root or not self.uplinks
            root_port = number + 1 if leaf.attached_to_root or number > 0 else 0
            place = (
                f"machine.port{root_port}" if at_root else f"switch{len(self.uplinks) - 1}.port{number + 1}"
            )
            lines += [
                f"[endpoint.device{number}]",
                f'attach = "{place}"',
                f'generation = "gen{leaf.link.generation}"',
                f'width = "x{leaf.link.width}"',
                f'mrrs = "{leaf.mrrs} B"',
                f'tag_width = "{leaf.tag_bits} bits"',
                f"relaxed_ordering = {str(leaf.relaxed_ordering).lower()}",
                *(["memory_socket = 1"] if leaf.far_memory else []),
                *self._payload(),
            ]
            if leaf.interval_ns is not None:
                lines.append(f'request_interval = "{leaf.interval_ns:.3f} ns"')
            if leaf.sleep:
                lines.append(f"link = {{ {', '.join(leaf.sleep)} }}")
            if leaf.direction == "idle":
                continue
            if leaf.pause_us is not None:
                lines += [
                    "[[workload]]",
                    'kind = "mmio"',
                    f'name = "flow{number}"',
                    f'device = "device{number}"',
                    'direction = "read"',
                    f'interval = "{leaf.pause_us} us"',
                ]
                continue
            lines += [
                "[[workload]]",
                'kind = "dma"',
                f'name = "flow{number}"',
                f'device = "device{number}"',
                f'direction = "{leaf.direction}"',
                f'size = "{leaf.size} B"',
                f"outstanding = {leaf.outstanding}",
            ]
            if leaf.target is not None:
                lines.append(f'target = "device{leaf.target}"')
        return lines

    def _payload(self) -> list[str]:
        return ['mps_supported = "4 KiB"', f'mps = "{self.mps} B"']


def _slot(link: Lanes, socket: int) -> str:
    """Write a slot; which socket it is on only where that is not the first."""
    return f'{{ link = "{link.word}", socket = {socket} }}' if socket else f'"{link.word}"'


@dataclass(frozen=True)
class Trial:
    """A rig as it is and put right; the difference is what a finding costs."""

    as_is: Rig
    fixed: Rig
    what: str
    """What is compared, like "reads of host memory"."""
    quantity: str = "goodput"
    """goodput, of all flows together, or latency, the mean of one operation."""
    own: Own | None = None
    """What the only device of the trial can use at most, where that is known."""

    @property
    def most_gb_per_s(self) -> float:
        """No link carries more than its device can use."""
        leaves = self.as_is.leaves
        known = self.own is not None and len(leaves) == 1 and self.quantity == "goodput"
        return self.own.of(leaves[0].direction) if self.own is not None and known else inf


def both_ways(
    as_is: LinkMode, fixed: LinkMode, *, mps: int, mrrs: int, own: Own | None = None
) -> Trial | None:
    """Try DMA in both directions over one link, in two of its modes; None where either is not known."""
    now, then = lanes_of(as_is), lanes_of(fixed)
    if now is None or then is None:
        return None
    rig = Rig((), (Leaf(now, "both", mrrs=mrrs),), mps=mps)
    return Trial(rig, rig.with_leaves(link=then), "DMA in both directions", own=own)
