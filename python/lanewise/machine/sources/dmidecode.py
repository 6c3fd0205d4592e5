"""`dmidecode`: the slots of a board as its firmware describes them, put on top of another source.

A slot has a name as it is printed on the board, lanes that are wired and lanes that its connector has room
for (``x8 PCI Express 3 x16``), and an address: that of what is in it or, on other boards, of the port above.
Empty slots are kept, because a card may move there. Left out: slots of conventional PCI, and all other
structures. Firmware is copied from one board to the next, tables and all; registers that say something else
are right.
Source: System Management BIOS Reference Specification 3.7 (DSP0134), 7.10; dmidecode 2.12 to 3.6,
``dmidecode.c``, read for the wording only.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.machine.address import Address
from lanewise.machine.function import PORTS_TO_LINKS, Kind
from lanewise.machine.model import PhysicalSlot
from lanewise.machine.sources.numbers import natural
from lanewise.machine.sources.wrapping import FUNCTION

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lanewise.machine.model import Function, Machine

_HANDLE = re.compile(r"[ \t>|]*Handle 0x[0-9A-Fa-f]{4,8}, DMI type (\d+), \d+ bytes\.?\s*$")
_PREAMBLE = re.compile(
    r"[ \t>|]*(?:# dmidecode [\d.]+|Getting SMBIOS data from |SMBIOS [\d.]+ present|Table at 0x|"
    r"\d+ structures occupying |# SMBIOS implementations newer|# fully supported by )"
)
_ENDS = re.compile(rf"[ \t>|]*(?:$|```|{FUNCTION} )")
"""An empty line, the end of a block of Markdown, and the first line of a function by `lspci`."""
_SYSTEM_SLOT = 9
_BRIDGE = 0x06
_TYPE = re.compile(r"(?:x(\d+) |32-bit )?((?:PCI Express|M\.2|OCP|EDSFF|CXL|MXM).*)$")
_CONNECTOR = re.compile(r" x(\d+)$")
_GENERATION = re.compile(r"PCI Express (\d)\b")
_USED = {"In Use": True, "Available": False}
_MOST_SLOTS = 1024
"""Assumed: large servers have some tens."""
NO_BUS = 0xFF
"""Of empty slots, where the firmware has no bus for them."""


def take(lines: Sequence[str]) -> tuple[list[PhysicalSlot], set[int]]:
    """Return the slots in a text, and which of its lines `dmidecode` printed.

    Raises InputError for more slots than any board has.
    """
    slots: list[PhysicalSlot] = []
    taken: set[int] = set()
    structure: dict[str, str] | None = None
    for number, line in enumerate(lines):
        handle = _HANDLE.match(line)
        if handle is not None or (structure is not None and _ENDS.match(line)):
            slots += _slot(structure)
            structure = None
            if len(slots) > _MOST_SLOTS:
                raise InputError(f"there are more than {_MOST_SLOTS:,} slots, which no board has")
        if handle is not None:
            structure = {"structure": handle[1]}
        elif structure is not None:
            key, _, value = line.strip(" \t>|").partition(": ")
            structure.setdefault(key, value.strip())
        elif not _PREAMBLE.match(line):
            continue
        taken.add(number)
    return [*slots, *_slot(structure)], taken


def _slot(structure: dict[str, str] | None) -> list[PhysicalSlot]:
    """Return the slot that a structure describes, if it is one of PCI Express."""
    if structure is None or natural(structure["structure"]) != _SYSTEM_SLOT:
        return []
    kind = _TYPE.match(structure.get("Type", ""))
    if kind is None:
        return []
    connector, generation = connector_and_generation(kind[2])
    width, newest = structure.get("Slot Physical Width", ""), structure.get("PCI Express Generation")
    return [
        PhysicalSlot(
            name=structure.get("Designation", "").strip() or "a slot without a name",
            kind=kind[2],
            lanes=natural(kind[1]),
            connector_lanes=natural(width.removeprefix("x")) or connector,
            generation=natural(newest) or generation,
            used=_USED.get(structure.get("Current Usage", "")),
            address=_address(structure.get("Bus Address", "")),
        )
    ]


def connector_and_generation(kind: str) -> tuple[int | None, int | None]:
    """Return the lanes that a connector has room for and the generation, as far as its kind names them."""
    connector, generation = _CONNECTOR.search(kind), _GENERATION.match(kind)
    return natural(connector[1] if connector else None), natural(generation[1] if generation else None)


def _address(text: str) -> Address | None:
    try:
        address = Address.parse(text)
    except ValueError:
        return None
    return None if address.bus == NO_BUS else address


def put_on(machine: Machine, slots: Iterable[PhysicalSlot]) -> Machine:
    """Say of each slot what is in it, and of each device which slot that is, where addresses tell.

    Slots that the machine knows already, by name and address, are taken from here.
    """
    devices: dict[tuple[int, int, int], list[Function]] = {}
    for function in machine:
        devices.setdefault(function.address.slot, []).append(function)
    found = [(slot, _inside(machine, slot, devices)) for slot in slots]
    claims = Counter(device.address.slot for _, device in found if device is not None)
    functions = dict(machine.functions)
    known = []
    for slot, device in found:
        if device is None or claims[device.address.slot] > 1:
            known.append(slot)
            continue
        known.append(replace(slot, device=device.address))
        for function in devices[device.address.slot]:
            name = function.physical_slot or slot.name
            functions[function.address] = replace(function, physical_slot=name)
    told = {(slot.name, slot.address) for slot in known}
    earlier = [slot for slot in machine.slots if (slot.name, slot.address) not in told]
    return replace(machine, functions=functions, slots=(*earlier, *known))


def _inside(
    machine: Machine, slot: PhysicalSlot, devices: Mapping[tuple[int, int, int], Sequence[Function]]
) -> Function | None:
    """Return the device in a slot; None when it is empty, or its address is one of the chipset's own."""
    if slot.address is None or slot.address.slot not in devices:
        return None
    function = machine.functions.get(slot.address, devices[slot.address.slot][0])
    role = machine.role(function)
    if role in PORTS_TO_LINKS:
        link = machine.link_below(function)
        return None if link is None or link.on_die else link.device
    own = role is Kind.INTEGRATED_ENDPOINT or (role is not Kind.UPSTREAM_PORT and function.is_class(_BRIDGE))
    return None if own or function.registers.express is False else function
