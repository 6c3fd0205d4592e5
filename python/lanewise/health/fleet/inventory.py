"""The devices of a machine as a fleet file counts them: what each is, where it sits, which wire leads to it.

A device is what has one place: the functions of one PCI device together, their first one standing for them.
Counted are endpoints, switches, and controllers inside a root complex that move data. Left out: virtual
functions, ports, bridges to conventional PCI, and the switch inside a GPU's chip, whose wire is the GPU's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from lanewise.machine.model import ENDPOINTS, Kind
from lanewise.machine.view import View

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.machine.model import Function, Link, LinkMode, Machine

_INTEGRATED_TOO = (0x01, 0x02, 0x03, 0x0C04, 0x0C06, 0x0B, 0x12)
"""Storage, network, display, Fibre Channel, InfiniBand, co-processors, accelerators: without a link, too."""
_HOST_BRIDGE = 0x0600
_ACCELERATORS = (0x12, 0x0B)
_IN_THE_ROOT = Kind.INTEGRATED_ENDPOINT


@dataclass(frozen=True)
class Device:
    """One device of a machine."""

    machine: Machine
    functions: tuple[Function, ...]
    """Its functions, virtual ones left out, by address."""
    link: Link | None
    """The wire that it is the lower end of; None where there is none, or its port is not in the source."""

    @property
    def function(self) -> Function:
        """Its first function."""
        return self.functions[0]

    @property
    def bdf(self) -> str:
        """Address of its first function."""
        return self.function.address.short

    @property
    def name(self) -> str:
        """Vendor and device in words; what no text file may hold is a question mark."""
        return printable(self.function.name)

    @property
    def id(self) -> str | None:
        """Vendor and device like ``10de:2330``; None where the source does not say."""
        identity = self.function.identity
        return _pair(identity.vendor_id, identity.device_id)

    @property
    def subsystem(self) -> str | None:
        """The same of the subsystem."""
        identity = self.function.identity
        return _pair(identity.subsystem_vendor_id, identity.subsystem_id)

    @property
    def answers(self) -> bool:
        """Whether it does not read as ones, as devices do that are dead and still listed."""
        return not View(self.machine).is_dead(self.function)

    @property
    def link_can(self) -> LinkMode:
        """What both ends of its link can do; the device alone where the port is not in the source."""
        alone = self.function.link.capability
        return self.link.limit if self.link is not None and self.link.limit.known else alone

    @cached_property
    def path(self) -> str | None:
        """The way from the root by bridges, like ``15:01.0/00.0/02.0/00.0``; None where it is not shown.

        Ports that a source leaves out have numbers of Lanewise's own, which say nothing of a way.

        Only the first bus number is in it, because those below follow from what else is plugged in. The form
        is that of `lspci -P`.
        """
        way = self.machine.path(self.function)
        if not way or any(port.implied for port in way):
            return None
        steps = [*reversed(way[:-1]), self.function]
        return "/".join(
            [way[-1].address.short, *(f"{s.address.device:02x}.{s.address.function:x}" for s in steps)]
        )

    @cached_property
    def slots(self) -> tuple[str, ...]:
        """What its slot is called: by the kernel, on the board, and by the port above; most telling first."""
        board = self.machine.slot_of(self.function)
        port = self.link.upper.registers.slot if self.link is not None else None
        names = (
            self.function.physical_slot,
            board.name if board else None,
            str(port.number) if port is not None and port.number else None,
        )
        return tuple(dict.fromkeys(printable(name) for name in names if name))

    @property
    def kind(self) -> str:
        """Which of `CLASSES` it is of: the first that fits."""
        return next(word for word, fits in CLASSES.items() if fits(self))


CLASSES: dict[str, Callable[[Device], bool]] = {
    "gpu": lambda device: View.is_compute_gpu(device.function) and device.function.kind is not _IN_THE_ROOT,
    "network": lambda device: device.function.is_nic,
    "nvme": lambda device: device.function.is_nvme,
    "storage": lambda device: device.function.is_storage,
    "accelerator": lambda device: device.function.is_class(*_ACCELERATORS),
    "switch": lambda device: device.function.is_bridge,
    "display": lambda device: device.function.is_gpu,
    "other": lambda device: True,
}
"""Words for what devices are, in the order in which a file lists them."""


def inventory(machine: Machine) -> tuple[Device, ...]:
    """List the devices of a machine by address."""
    view = View(machine)
    together: dict[tuple[int, int, int], list[Function]] = {}
    for function in machine:
        if _counts(machine, function):
            together.setdefault(function.address.slot, []).append(function)
    return tuple(
        Device(machine, tuple(functions), _wire(view, functions[0])) for functions in together.values()
    )


def printable(text: str) -> str:
    """Return a text of a dump as a line of a file may have it."""
    return text if text.isprintable() else "".join(char if char.isprintable() else "?" for char in text)


def _counts(machine: Machine, function: Function) -> bool:
    if function.virtual or function.implied or function.is_class(_HOST_BRIDGE):
        return False
    role = machine.role(function)
    if role is Kind.UPSTREAM_PORT:
        link = machine.link_above(function)
        return link is None or machine.gpu_below(link) is None
    return role in ENDPOINTS or (not function.is_bridge and function.is_class(*_INTEGRATED_TOO))


def _wire(view: View, function: Function) -> Link | None:
    """Return the wire to a device; that of a GPU may end at the switch in its chip."""
    link = view.physical_link(function)
    if link is None or function in link.lower:
        return link
    return link if view.machine.gpu_below(link) == function else None


def _pair(vendor: int | None, device: int | None) -> str | None:
    return None if vendor is None or device is None else f"{vendor:04x}:{device:04x}"
