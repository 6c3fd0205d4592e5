"""Ports that a source leaves out: filtered dumps and virtual machines show a device and nothing above it.

Each such device gets a root port that matches it, so that its link can be simulated. The port is marked as
implied (`Function.implied`) and is at the NUMA node of its device; its address says nothing. Left out: ports
of conventional devices, and of those whose own link is not known, as of GPUs behind a switch in their chip.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.lanes import lanes_of
from lanewise.machine.model import ENDPOINTS, Buses, Function, Kind, Slot
from lanewise.machine.view import View

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.machine.model import Machine

_MOST_NAMES = 6


def with_missing_ports(machine: Machine) -> tuple[Machine, list[str]]:
    """Put a port above each endpoint whose own is not in the source (filtered dumps, virtual machines)."""
    devices: dict[tuple[int, int, int], list[Function]] = {}
    view = View(machine)
    for function in machine:
        if _is_lonely(machine, function) and view.outer_end(function) is function:
            devices.setdefault(function.address.slot, []).append(function)
    if not devices:
        return machine, []
    functions = dict(machine.functions)
    places = {domain: _free_places(machine, domain) for domain in machine.domains}
    for (domain, _, _), below in devices.items():
        place = next(places[domain], None)
        if place is None:
            # Thousands of devices and no bridge: no machine, and no address left for its ports.
            break
        functions[place] = _assumed_port(below, place)
        functions.update((function.address, replace(function, parent=place)) for function in below)
    ordered = {address: functions[address] for address in sorted(functions)}
    names = [function.address.short for below in devices.values() for function in below]
    listed = ", ".join(names[:_MOST_NAMES])
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    note = (
        f"the ports above {listed}{more} are not in the source; taken to match their devices, and ways "
        "between these go by NUMA node alone"
    )
    return replace(machine, functions=ordered), [note]


def _is_lonely(machine: Machine, function: Function) -> bool:
    return (
        function.kind in ENDPOINTS
        and not function.virtual
        and function.parent is None
        and machine.link_above(function) is None
        and (lanes_of(function.link.capability) or lanes_of(function.link.status)) is not None
    )


def _free_places(machine: Machine, domain: int) -> Iterator[Address]:
    """Go through the addresses of a domain where no device is, from the end; there is one for each device."""
    used = {address.slot for address in machine.functions}
    for bus, device in product(range(0xFF, -1, -1), range(0x1F, -1, -1)):
        if (domain, bus, device) not in used:
            yield Address(domain, bus, device, 0)


def _assumed_port(below: Sequence[Function], address: Address) -> Function:
    """Make the port of a device from its first function."""
    registers = below[0].registers._replace(
        slot=Slot(),
        acs=None,
        errors=None,
        bars=None,
        cxl=None,
        sriov=None,
        resizable_bars=(),
    )
    bus = below[0].address.bus
    return Function(
        address=address,
        kind=Kind.ROOT_PORT,
        registers=registers,
        children=tuple(function.address for function in below),
        buses=Buses(address.bus, bus, bus),
        numa_node=next((each.numa_node for each in below if each.numa_node is not None), None),
        implied=True,
    )
