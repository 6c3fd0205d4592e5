"""A machine as rules and predictions see it: which links leave their chip, which devices move data.

Rates come from the core; nothing physical is derived here. A link or register that the source does not tell
about is never a finding: rules get None and stay silent.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from lanewise.machine.function import HYPERVISORS
from lanewise.machine.lanes import Lanes, lanes_of, rate_of
from lanewise.machine.link_bandwidth import widest_mode
from lanewise.machine.model import EventKind, Kind, LinkMode
from lanewise.machine.own_rate import own_rate
from lanewise.machine.topology import (
    is_behind_own_switch,
    is_chipset_uplink,
    is_inside_amd,
    is_thunderbolt,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, KernelEvent, Link, Machine
    from lanewise.machine.own_rate import Own

_COMPUTE_CLASSES = (0x02, 0x0C06, 0x0C04, 0x01, 0x12, 0x0B)
"""Network, InfiniBand, Fibre Channel, mass storage, accelerators, co-processors."""

_FAST_GB_PER_S = 1.9
"""Devices whose link could carry this much are worth tuning. Assumed: two lanes of Gen3."""

_MODULE_GB_PER_S = 7.0
"""Links of this rate and more lead to cards and modules even where no slot is stated. Assumed: x8 of Gen3."""

_ONBOARD = re.compile(r"\b(?:on-?\s?board|embedded|integrated|LOM|LAN ?\d*)\b", re.IGNORECASE)
"""Words in the labels that firmware gives to soldered devices (SMBIOS type 41, ACPI _DSM)."""

_DETACHED_DRIVERS = frozenset(
    {"vfio-pci", "pci-stub", "pciback", "xen-pciback", "uio_pci_generic", "igb_uio", "libnvm helper"}
)
"""Drivers that hold a device for somebody else and switch it off meanwhile (Linux, drivers/vfio/pci). That of
Xen is called pciback (drivers/xen/xen-pciback/pci_stub.c), its module xen-pciback. The last two hold it for a
program that polls (DPDK, kernel/linux/igb_uio; libnvm, module/pci.c)."""

_BRIDGES = frozenset({Kind.ROOT_PORT, Kind.UPSTREAM_PORT, Kind.DOWNSTREAM_PORT})

_MANAGEMENT = frozenset({(0x1000, 0x00B2), (0x19A2, 0x0800), (0x1734, 0x1228)})
"""Broadcom's management endpoints inside PEX switches, which state mass storage as their class, and what
Fujitsu's management controllers (iRMC) show of themselves to the host, as a coprocessor (pci.ids)."""


class View:
    """What rules and predictions ask about one machine."""

    def __init__(self, machine: Machine) -> None:
        """Look at a machine."""
        self.machine = machine

    @cached_property
    def links(self) -> tuple[Link, ...]:
        """Links that are wires: those inside a chip report numbers that limit nothing."""
        return tuple(link for link in self.machine.links if self.is_wire(link))

    def is_wire(self, link: Link) -> bool:
        """Whether a link leaves the chip."""
        return not link.on_die

    @cached_property
    def live_links(self) -> tuple[Link, ...]:
        """Links whose present mode was read from the machine, not declared in a file."""
        if not self.machine.measured:
            return ()
        return tuple(link for link in self.links if link.now.known and not self.is_switched_off(link))

    def is_switched_off(self, link: Link) -> bool:
        """Whether the device sleeps so deeply that its registers say nothing (D3cold reads as ones)."""
        return link.device.registers.power_state == "D3cold"

    def is_dead(self, function: Function) -> bool:
        """Whether a function does not answer although it is not switched off."""
        registers = function.registers
        return bool(registers.no_answer) and not function.virtual and registers.power_state != "D3cold"

    def shows_device_below(self, port: Function | None) -> bool:
        """Whether a device that answers is seen below a port; a log alone shows what was once there."""
        if port is None or self.machine.kinds == ("kernel log",):
            return False
        return any(not self.is_dead(child) for child in self.machine.children(port))

    def events_at(self, address: Address, *kinds: EventKind) -> list[KernelEvent]:
        """List what a kernel log says of a function, in its order; all kinds when none is given."""
        return [event for event in self._events.get(address, ()) if not kinds or event.kind in kinds]

    def card_left(self, port: Address) -> bool:
        """Whether the card left a slot by the log, and none came since: what its port reports is of that."""
        events = self.events_at(port, EventKind.CARD_GONE, EventKind.CARD_PRESENT, EventKind.LINK_UP)
        return bool(events) and events[-1].kind is EventKind.CARD_GONE

    @cached_property
    def _events(self) -> dict[Address, list[KernelEvent]]:
        found: dict[Address, list[KernelEvent]] = {}
        for event in self.machine.events:
            if event.address is not None:
                found.setdefault(event.address, []).append(event)
        return found

    @staticmethod
    def is_thunderbolt(function: Function) -> bool:
        """Whether it is part of a Thunderbolt or USB4 controller, whose cable decides about its links."""
        return is_thunderbolt(function)

    def has_no_link(self, port: Function) -> bool:
        """Whether a port says that nothing answers at the other end of its link."""
        link = port.link
        inactive = link.data_link_active_reporting is True and link.data_link_active is False
        return not port.children and (link.status.width == 0 or inactive)

    @cached_property
    def devices(self) -> tuple[Function, ...]:
        """Endpoints whose job is moving data, on links fast enough to care; each device once."""
        return self._once_each(self.moves_data)

    @cached_property
    def devices_in_any_slot(self) -> tuple[Function, ...]:
        """The same, and those that only their slot makes slow: a drive of four lanes at one."""
        return self._once_each(lambda each: self.moves_data(each) or self._is_made_for_more(each))

    def _once_each(self, wanted: Callable[[Function], bool]) -> tuple[Function, ...]:
        found: dict[tuple[int, int, int], Function] = {}
        for function in self.machine.endpoints:
            if function.address.slot not in found and wanted(function):
                found[function.address.slot] = function
        return tuple(found.values())

    def is_device(self, function: Function) -> bool:
        """Whether a function is one of `devices`."""
        return function.address in self._addresses_of_devices

    @cached_property
    def _addresses_of_devices(self) -> frozenset[Address]:
        return frozenset(device.address for device in self.devices)

    @cached_property
    def functions_in_slot(self) -> Counter[tuple[int, int, int]]:
        """How many functions, without virtual ones, share domain, bus and device."""
        return Counter(function.address.slot for function in self.machine if not function.virtual)

    def stands_for_device(self, function: Function) -> bool:
        """Whether a function is the one of its device whose link registers count: see `Link.device`.

        A dump of single functions may leave out the first, and a tree names it without its registers.
        """
        return self._first_in_slot.get(function.address.slot) == function.address

    @cached_property
    def _first_in_slot(self) -> dict[tuple[int, int, int], Address]:
        physical = [function for function in self.machine if not function.virtual]
        telling = {
            function.address.slot: function.address for function in reversed(physical) if function.tells_link
        }
        return {function.address.slot: function.address for function in reversed(physical)} | telling

    @cached_property
    def tells_bandwidths(self) -> bool:
        """Whether the source tells what links carry in place of how they run, as hwloc does."""
        return any(function.link.bandwidth_gb_s for function in self.machine)

    def moves_data(self, function: Function) -> bool:
        """Whether a function is a GPU, a network, storage or computing device that uses a fast link."""
        rate = self.possible_rate(function)
        return self._has_data(function) and rate is not None and self.is_worth_tuning(rate)

    def _is_made_for_more(self, function: Function) -> bool:
        """Whether a function is such a device by its own end of the link."""
        link = self.physical_link(function)
        able = (link.device if link else function).link.capability
        return self._has_data(function) and able.known and self.is_worth_tuning(rate_of(able) or 0.0)

    def _has_data(self, function: Function) -> bool:
        if function.virtual or is_management(function) or is_emulated(function) or function.has_c2c:
            return False
        if (is_inside_amd(function) or self.is_in_processor(function)) and not function.is_nic:
            return False
        return self.is_data_mover(function)

    def is_in_processor(self, function: Function) -> bool:
        """Whether a function is behind a root port inside a chip, with no wire on its way: AMD's graphics."""
        way = self.machine.link_path(function)
        top = way[-1] if way else None
        inside = top is not None and all(link.on_die for link in way)
        return inside and top is not None and self.machine.role(top.upper) is Kind.ROOT_PORT

    def is_data_mover(self, function: Function) -> bool:
        """Whether a function is a GPU, a network, storage or computing device, on whatever link."""
        return self.is_compute_gpu(function) or function.is_class(*_COMPUTE_CLASSES)

    @cached_property
    def is_guest(self) -> bool:
        """Whether this is a virtual machine: some of its devices exist nowhere else."""
        return any(map(is_emulated, self.machine))

    @staticmethod
    def is_worth_tuning(gb_per_s: float) -> bool:
        """Whether a link that can carry this much is fast enough to care about what it carries."""
        return gb_per_s >= _FAST_GB_PER_S

    @staticmethod
    def is_compute_gpu(function: Function) -> bool:
        """Whether it is a GPU of NVIDIA, AMD or Intel on a link; management controllers have displays too.

        Where no source says whose it is, a 3D controller is one, and what a collective library calls a GPU.
        """
        if function.identity.vendor_id is None:
            named = any(name.startswith("GPU") for name in function.interfaces)
            return function.is_3d or (function.is_gpu and named)
        return function.is_gpu and function.identity.vendor_id in (0x10DE, 0x1002, 0x8086)

    def physical_link(self, function: Function) -> Link | None:
        """Return the nearest link above that is a wire: GPUs with a switch inside have it further up."""
        return next((link for link in self.machine.link_path(function) if self.is_wire(link)), None)

    def outer_end(self, function: Function) -> Function | None:
        """Return what tells of the link of a device whose port is not in the source: mostly itself.

        Of a GPU behind a switch in its chip it is the upstream port of that; None where that is missing, too.
        """
        if not is_behind_own_switch(function) or self.is_guest:
            return function
        steps = (step for step in self.machine.path(function) if step is not function)
        return next((s for s in steps if self.machine.role(s) is Kind.UPSTREAM_PORT), None)

    def possible(self, function: Function) -> LinkMode | None:
        """Return the mode its link can train to; its own capability where the port is not known."""
        link = self.physical_link(function)
        if link is None:
            end = self.outer_end(function)
            if end is None:
                return None
            able, now = end.link.capability, end.link.status
            # Speed may come back under load, lanes do not.
            lanes = now.width if now.known else able.width
            return LinkMode(able.gt_s, lanes) if able.known else now if now.known else None
        device, port = link.device.link.capability, link.port_can
        if link.limit.known:
            return link.limit
        if device.known or port.known:
            return link.reach
        return link.now if link.now.known else widest_mode(link)

    def possible_rate(self, function: Function) -> float | None:
        """Return what the link of a device can carry, in GB/s."""
        mode = self.possible(function)
        return None if mode is None else rate_of(mode)

    def own_rate(self, function: Function) -> Own | None:
        """Return what the wires of an adapter or the media of a drive can use; None where no source tells."""
        return own_rate(self.machine, function)

    def is_wired_on_board(self, link: Link) -> bool:
        """Whether a device is soldered, so that the board decides how many lanes it has.

        Evidence: it is the chipset; or the firmware calls it onboard, or its port states that it has no slot,
        and it is slow and of no kind that comes on modules. That a port states a slot proves nothing:
        firmware often does.
        """
        upper, device = link.upper, link.device
        if is_chipset_uplink(upper, device):
            return True
        registers = upper.registers
        without_slot = registers.slot is None and upper.kind is not None and registers.express is True
        if not without_slot and not _ONBOARD.search(device.label or ""):
            return False
        rate = rate_of(link.limit)
        module = device.is_gpu or device.is_nvme or device.is_class(0x12, 0x0B)
        return not module and rate is not None and rate < _MODULE_GB_PER_S

    def rooted(self, port: Function) -> Iterator[Function]:
        """List a root port and every Express function below it."""
        yield port
        for function in self.machine.descendants(port):
            if function.registers.express is not False and not function.virtual:
                yield function

    @cached_property
    def root_ports(self) -> tuple[Function, ...]:
        """Root ports with something below."""
        return tuple(
            function
            for function in self.machine
            if self.machine.role(function) is Kind.ROOT_PORT and function.children
        )

    def is_held_by_another(self, function: Function) -> bool:
        """Whether its driver only keeps it for a virtual machine."""
        return function.driver in _DETACHED_DRIVERS

    def passes_on(self, bridge: Function) -> bool:
        """Whether it is a bridge of Express, or one of which a dump of an ordinary user shows the header."""
        role = self.machine.role(bridge)
        unknown = role is None and bridge.is_bridge and bridge.registers.express is None
        return role in _BRIDGES or unknown

    def leaf_lanes(self, function: Function) -> Lanes | None:
        """How the link of a device can run, for a rig."""
        mode = self.possible(function)
        return None if mode is None else lanes_of(mode)

    def payload(self, function: Function, default: int = 256) -> int:
        """Return the MPS programmed into a function, or a customary one."""
        return function.transfers.mps or default

    def reads(self, function: Function, default: int = 512) -> int:
        """Return the MRRS programmed into a function, or the reset value."""
        return function.transfers.mrrs or default

    def tag_bits(self, function: Function) -> int:
        """Return the tag field in use; 8 bits where the source does not say."""
        transfers = function.transfers
        if transfers.ten_bit_tags:
            return 10
        return 5 if transfers.extended_tags is False else 8


def is_emulated(function: Function) -> bool:
    """Whether a hypervisor or the card of a cloud makes up a function: nobody can tune its registers."""
    return function.identity.vendor_id in HYPERVISORS


def is_management(function: Function) -> bool:
    """Whether a function only manages the switch or the server that it is in, whatever its class says."""
    identity = function.identity
    return (identity.vendor_id, identity.device_id) in _MANAGEMENT or (
        "management endpoint" in (identity.device_name or "").lower()
    )
