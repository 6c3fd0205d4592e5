"""Ports that a source leaves out: filtered dumps and virtual machines show a device and nothing above it.

Each such device gets a root port that matches it, on a bus of its own, so that its link can be simulated.
Left out: ports of conventional devices, and of those whose own link is not known.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.machine.lanes import lanes_of
from lanewise.machine.model import Buses, Function, Kind, Slot

if TYPE_CHECKING:
    from lanewise.machine.address import Address
    from lanewise.machine.model import Machine


def with_missing_ports(machine: Machine) -> tuple[Machine, list[str]]:
    """Put a port above each endpoint whose own is not in the source (filtered dumps, virtual machines)."""
    lonely = [
        f
        for f in machine
        if f.kind in (Kind.ENDPOINT, Kind.LEGACY_ENDPOINT)
        and not f.virtual
        and machine.link_above(f) is None
        and f.parent is None
        and lanes_of(f.link.capability) is not None
    ]
    if not lonely:
        return machine, []
    functions = dict(machine.functions)
    used = {address.slot for address in functions}
    ports: dict[tuple[int, int, int], Address] = {}
    for function in lonely:
        address = function.address
        if address.slot in ports:
            functions[address] = replace(function, parent=ports[address.slot])
            port = functions[ports[address.slot]]
            functions[port.address] = replace(port, children=(*port.children, address))
            continue
        free = next((n for n in range(0x1F, 0, -1) if (address.domain, 0xFF, n) not in used), None)
        if free is None:
            break
        used.add((address.domain, 0xFF, free))
        port = _assumed_port(function, address._replace(bus=0xFF, device=free, function=0))
        functions[port.address] = port
        ports[address.slot] = port.address
        functions[address] = replace(function, parent=port.address)
    ordered = {address: functions[address] for address in sorted(functions)}
    names = ", ".join(function.address.short for function in lonely[:6])
    note = f"the ports above {names} are not in the source; taken to match their devices"
    return replace(machine, functions=ordered), [note]


def _assumed_port(function: Function, address: Address) -> Function:
    registers = replace(
        function.registers,
        slot=Slot(),
        acs=None,
        errors=None,
        bars=None,
        cxl=None,
        sriov=None,
        resizable_bars=(),
    )
    bus = function.address.bus
    return Function(
        address=address,
        kind=Kind.ROOT_PORT,
        registers=registers,
        children=(function.address,),
        buses=Buses(0xFF, bus, bus),
    )
