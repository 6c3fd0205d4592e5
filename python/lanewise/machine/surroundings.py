"""What is known of a machine beside its functions: slots of the board, NUMA nodes, relations of devices.

``None`` always means: this source does not say.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.machine.registers import SPEEDS_GT_S, LinkMode

if TYPE_CHECKING:
    from lanewise.machine.address import Address
    from lanewise.machine.function import Function


@dataclass(frozen=True, slots=True)
class Switch:
    """A switch: one upstream port and the downstream ports on its internal bus."""

    upstream: Function
    downstream: tuple[Function, ...]


@dataclass(frozen=True, slots=True)
class NumaNode:
    """A NUMA node of the host."""

    index: int
    cpus: str | None = None
    """A list like ``0-15,64-79``."""
    cpu_vendor: str | None = None
    """As its processors identify themselves, like ``AuthenticAMD``."""


@dataclass(frozen=True, slots=True)
class Relation:
    """How a vendor's tool relates two devices: `nvidia-smi topo -m`, or links in an NCCL topology."""

    first: str
    """Name in that tool, like ``GPU0``, ``NIC1``, ``mlx5_0``."""
    second: str
    path: str
    """Links of their own: ``NV``, ``XGMI``, ``XL`` (Xe Link). Paths: ``PIX`` (one switch), ``PXB`` (several),
    ``PHB`` (host bridge), ``NODE``, ``SYS``."""
    links: int | None = None
    """Number of NVLinks or XGMI links; lanes of Xe Link."""
    first_address: Address | None = None
    second_address: Address | None = None


@dataclass(frozen=True, slots=True)
class PhysicalSlot:
    """A slot of the board as the firmware describes it, which may be wrong. SMBIOS 3.7, 7.10."""

    name: str
    """As it is printed on the board, or meant to be."""
    kind: str | None = None
    """``PCI Express 3 x16``, ``M.2 Socket 3``, ``OCP NIC 3.0 ...``."""
    lanes: int | None = None
    """Lanes that are wired."""
    connector_lanes: int | None = None
    """Lanes that the connector has room for."""
    generation: int | None = None
    used: bool | None = None
    """Whether something is in it."""
    address: Address | None = None
    """As the firmware says: of what is in it, or of the port above."""
    device: Address | None = None
    """The first function of what is in it, where the address led to one."""

    def carries(self, device: LinkMode) -> LinkMode:
        """Return what a device can do in it; unknown where the slot's lanes or generation are."""
        if not self.lanes or not self.generation or self.generation > len(SPEEDS_GT_S):
            return LinkMode()
        speed = SPEEDS_GT_S[self.generation - 1]
        return LinkMode(min(device.gt_s or speed, speed), min(device.width or self.lanes, self.lanes))

    def __str__(self) -> str:
        """Like ``gen3 x16, x8 wired``, as far as it is known."""
        known = [f"gen{self.generation}"] if self.generation else []
        size = self.connector_lanes or self.lanes
        known += [f"x{size}"] if size else []
        wired = f", x{self.lanes} wired" if self.lanes and self.lanes != size else ""
        return (" ".join(known) or self.kind or "unknown") + wired


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Two sources, or two captures in one, that say different things of one function."""

    address: Address
    what: str
    """``lanes``, ``speed``, ``most lanes``, ``most speed``, ``NUMA node``, ``listed``, ``device``."""
    first: str
    """What the source that was given first says, like ``lspci text: x16``."""
    second: str
    """What the other one says."""
    less: bool = False
    """Whether the second one says less than the first; of two captures in one file, either."""


@dataclass(frozen=True, slots=True)
class NotUnderstood:
    """Lines that a reader could make nothing of."""

    count: int = 0
    samples: tuple[tuple[int, str], ...] = ()
    """The first few of different shapes: line number from 1, and the line, cut to 120 characters."""
