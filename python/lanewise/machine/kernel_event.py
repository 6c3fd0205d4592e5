"""What a kernel log says of devices, slots and links that fail, as typed events in the order of the log.

Models the lines that tell of the bus, of a device lost on it, and of errors that a GPU or its driver reports.
Errors of Advanced Error Reporting are counted and kept with their functions (`registers.Errors`). Left out:
what other drivers say of their own matters.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanewise.machine.address import Address
    from lanewise.machine.registers import LinkMode


FAILED_START = "failed with error -"
"""In the line of a driver that could not start a device; it may have been loaded again since."""
MOST_SEARCHED = 500
"""Characters of a line that are looked at: kernels cut theirs at about a thousand, and say it early."""
LONGEST_LINE = 200
"""Characters that are kept of a line."""


class EventKind(StrEnum):
    """What happened."""

    GPU_LOST = "a GPU fell off the bus"
    GPU_LOST_BEFORE = "a GPU fell off the bus in an earlier boot"
    GPU_ERROR_BEFORE = "a GPU reported an error in an earlier boot"
    CONTROLLER_DOWN = "a drive stopped answering"
    DEVICE_FAILED = "a device could not be brought up, or was given up"
    HEALTH_LOST = "the firmware of an adapter stopped answering"
    TIMED_OUT = "a device did not answer its driver in time"
    ACCESS_FAILED = "reads or writes of a drive failed"
    RUNS_WITH_LESS = "a driver runs a device with less than it can do"
    NO_RETURN = "a device did not come back from a reset or from sleep"
    WAITS = "the kernel waits for a device after a reset or sleep"
    RECOVERED = "a device works again"
    LINK_DOWN = "the link of a slot went down"
    LINK_UP = "the link of a slot came up"
    CARD_GONE = "the card left a slot"
    CARD_PRESENT = "a card came into a slot"
    PLANNED = "a slot was switched off"
    POWER_FAULT = "the power of a slot failed"
    NO_LINK = "the link of an occupied slot did not come up"
    NOTHING_FOUND = "the link of a host controller did not come up"
    CONTROLLER_UP = "the link of a host controller came up"
    CONTAINED = "a port contained an error"
    RETRAINED = "the kernel retrained a link at 2.5 GT/s"
    RETRAIN_FAILED = "a link did not train even at 2.5 GT/s"
    LIMITED = "a device could do more than its path to the host carries"
    NO_SPACE = "there was no address space for a BAR"
    PAYLOADS_DIFFER = "a device could not be given the payload size of the port above it"
    IOMMU = "how the IOMMU treats devices"
    NO_GPUS = "a tool found no GPU, or fewer than there are"
    FEWER_DRIVES = "a tool lists fewer drives than there are"
    GPU_ERROR = "a GPU, or a switch between GPUs, reported an error"
    COMPLAINED = "a driver reported an error of its device"
    CALLED_UNHEALTHY = "a tool calls a device unhealthy"
    DMA_BLOCKED = "the IOMMU blocked an access of a device to memory"
    INTERRUPT_BLOCKED = "the IOMMU blocked an interrupt of a device"


@dataclass(frozen=True, slots=True)
class KernelEvent:
    """One line of a kernel log that tells of the bus."""

    kind: EventKind
    line: str
    """As it was read, without what stands before the message."""
    address: Address | None = None
    """The function that it is about: a port, for events of links and slots."""
    name: str | None = None
    """By which the line calls the device where it gives no address, like ``nvme0``."""
    number: int | None = None
    """Of a BAR; code of an Xid or, of an NVSwitch, an SXid; milliseconds that the kernel has waited."""
    now: LinkMode | None = None
    """The mode that limits a device."""
    able: LinkMode | None = None
    """What that device could do."""
    port: Address | None = None
    """The port above the link that limits it."""
    sender: Address | None = None
    """The device that reported the error after which a port, at `address`, reset what is below it."""


@dataclass(frozen=True, slots=True)
class KernelLog:
    """What one kernel log says."""

    events: tuple[KernelEvent, ...] = ()
    """Since the last boot in the log, in its order; before them what became of GPUs in earlier ones."""
    counters: tuple[tuple[Address, tuple[tuple[str, int], ...]], ...] = ()
    """Errors counted, by function, as `registers.Errors.counters`."""

    def __bool__(self) -> bool:
        """Whether it says anything of the bus."""
        return bool(self.events or self.counters)
