"""What to try on a machine before anything is simulated, as people write it.

Beside changes of one device (`machine_change`) there are

- ``all -> mrrs 4096``: any change, of every device that moves data;
- ``3b:00.0 -> acs off``, or of a switch, or of all: whether the switch ports above it redirect peers;
- ``all -> iommu on``, ``pass-through`` or ``off``: whether the IOMMU translates the addresses of devices;
- ``3b:00.0 -> slot 4`` or ``-> below 40:01.0``: the device in an empty slot, or below an empty port;
- ``3b:00.0 <-> 9b:00.0``: two devices, each where the other is.

Moves, exchanges, ACS and the IOMMU are done in the order in which they are written; settings of devices come
after all of them. A payload size or a number of tags that registers on the way do not allow is refused for a
device that is named, and is the most that they allow for each of all (`possible`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.health.predict.machine_change import ARROW, device_at, parse_address, parse_changes
from lanewise.health.predict.possible import as_far_as_possible, refuse_impossible
from lanewise.machine.model import Acs, Kind
from lanewise.machine.moves import exchanged, moved
from lanewise.machine.view import View

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Machine
    from lanewise.machine.ways import Change

_EXCHANGE = re.compile(r"<->|<=>|↔")
_ACS = re.compile(r"\bacs[ =]*(on|off)\b", re.IGNORECASE)
_IOMMU = re.compile(r"\biommu[ =]*(on|off|pass-?through|pt)\b", re.IGNORECASE)
_BELOW = re.compile(r"\bbelow +([^\s,]+)", re.IGNORECASE)
_SLOT = re.compile(r"(?:\bto +)?\bslot[ #=]*+([^\s,]+)", re.IGNORECASE)
_REDIRECT = frozenset({"ReqRedir", "CmpltRedir"})
_EVERYTHING = "all"


NO_ORDER = "relaxed ordering moves nothing here: in these benchmarks no packet waits for the order of others"
"""A note where a change of Relaxed Ordering changes no number."""


@dataclass
class WhatIf:
    """A machine as it is to be tried."""

    machine: Machine
    changes: dict[Address, Change] = field(default_factory=dict)
    """Of single devices and the links above them."""
    translates: bool | None = None
    """Whether the IOMMU is tried; None where no change is about it."""
    notes: tuple[str, ...] = ()
    """What was tried in place of what was asked for, a sentence each."""

    def without_order(self) -> dict[Address, Change] | None:
        """Return the changes without those of Relaxed Ordering; None where none is about it."""
        if all(change.relaxed_ordering is None for change in self.changes.values()):
            return None
        return {address: replace(change, relaxed_ordering=None) for address, change in self.changes.items()}


def parse_what_if(texts: Iterable[str], machine: Machine) -> WhatIf:
    """Read and do changes; InputError says what is wrong with the first that cannot be understood."""
    tried = WhatIf(machine)
    settings: list[tuple[str, bool]] = []
    for text in texts:
        if _EXCHANGE.search(text):
            tried.machine = exchanged(tried.machine, *_ends(text, tried.machine))
        else:
            settings += _apply(tried, text)
    tried.changes = parse_changes([text for text, _ in settings], tried.machine)
    for text, is_of_all in settings:
        if not is_of_all:
            refuse_impossible(parse_changes([text], tried.machine), tried.machine, text)
    tried.changes, tried.notes = as_far_as_possible(tried.changes, tried.machine)
    return tried


def _ends(text: str, machine: Machine) -> list[Function]:
    """Return the two devices of an exchange."""
    first, second = _EXCHANGE.split(text, maxsplit=1)
    second, comma, settings = second.partition(",")
    if comma:
        raise InputError(
            f"'{text}': an exchange has no settings: write '{settings.strip()}' as another --what-if, for "
            "the device that it is meant for"
        )
    return [device_at(place.strip(), machine) for place in (first, second)]


def _apply(tried: WhatIf, text: str) -> list[tuple[str, bool]]:
    """Do what changes the machine; return what is left, a text for each device, and if it is for all."""
    arrow = ARROW.search(text)
    if arrow is None:
        return [(text, False)]
    place, right = text[: arrow.start()].strip(), text[arrow.end() :]
    if match := _ACS.search(right):
        right = right.replace(match[0], " ", 1)
        tried.machine = _with_acs(tried.machine, _places(place, tried.machine), on=match[1].lower() == "on")
    if match := _IOMMU.search(right):
        right = right.replace(match[0], " ", 1)
        if place != _EVERYTHING:
            raise InputError(
                f"'{text}': there is one IOMMU for all devices; write '{_EVERYTHING} -> {match[0]}'"
            )
        tried.translates = match[1].lower() == "on"
        tried.machine = _with_iommu(tried.machine, translates=tried.translates)
    if match := _BELOW.search(right) or _SLOT.search(right):
        right = right.replace(match[0], " ", 1)
        if place == _EVERYTHING:
            raise InputError(f"'{text}': one device goes to one place")
        port = _empty_slot(match[1], tried.machine) if match.re is _SLOT else _port(match[1], tried.machine)
        tried.machine = moved(tried.machine, device_at(place, tried.machine), port)
    if not right.strip(" ,") and right != text[arrow.end() :]:
        return []
    if place != _EVERYTHING:
        return [(f"{place} -> {right.strip()}", False)]
    return [(f"{device.address.short} -> {right.strip()}", True) for device in View(tried.machine).devices]


def _places(place: str, machine: Machine) -> list[Function]:
    """Return the switch ports that a place stands for: of a switch its own, of a device those above it."""
    ports = [function for function in machine if machine.role(function) is Kind.DOWNSTREAM_PORT]
    if place == _EVERYTHING:
        found = ports
    else:
        at = _port(place, machine) if _is_address(place) else device_at(place, machine)
        if machine.role(at) is Kind.UPSTREAM_PORT:
            found = [port for port in ports if port.parent == at.address]
        else:
            way = {step.address for step in (at, *machine.path(at))}
            found = [port for port in ports if port.address in way]
    if not found:
        raise InputError(f"no port of a switch is at or above '{place}', so there is no ACS to change")
    return found


def _is_address(place: str) -> bool:
    try:
        parse_address(place)
    except InputError:
        return False
    return True


def _port(text: str, machine: Machine) -> Function:
    return machine.find(parse_address(text))


def _empty_slot(number: str, machine: Machine) -> Function:
    """Return the empty port of a slot; InputError says which there are."""
    slots: dict[str, list[Function]] = {}
    for port in machine.empty_ports:
        if port.registers.slot is not None and port.registers.slot.number is not None:
            slots.setdefault(str(port.registers.slot.number), []).append(port)
    if number not in slots:
        known = ", ".join(slots) or "none with a number; name a port, as in 'below 40:01.0'"
        raise InputError(f"there is no empty slot '{number}'; empty slots are {known}")
    if len(slots[number]) > 1:
        ports = [port.address.short for port in slots[number]]
        raise InputError(
            f"empty ports {', '.join(ports)} all have slot number '{number}'; name one, as in "
            f"'below {ports[0]}'"
        )
    return slots[number][0]


def _with_acs(machine: Machine, ports: list[Function], *, on: bool) -> Machine:
    functions = dict(machine.functions)
    for port in ports:
        acs = port.registers.acs or Acs()
        enabled = (acs.enabled or frozenset()) - _REDIRECT | (_REDIRECT if on else frozenset())
        registers = port.registers._replace(acs=acs._replace(enabled=enabled))
        functions[port.address] = replace(port, registers=registers)
    return replace(machine, functions=functions)


def _with_iommu(machine: Machine, *, translates: bool) -> Machine:
    kind = "DMA" if translates else "identity"
    return replace(
        machine,
        functions={function.address: replace(function, iommu_type=kind) for function in machine},
    )
