"""What a tool says of the health of GPUs that it calls by number, and which GPUs those are.

Tools number GPUs as their driver does, by address. A list of the same tool may say which address a number
has, or the other source knows the GPUs; alone, the GPUs that are named are the machine, at made-up addresses.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Function, Identity, Kind
from lanewise.machine.kernel_event import LONGEST_LINE, EventKind, KernelEvent
from lanewise.machine.sources.made_up import MADE_UP_DOMAIN

if TYPE_CHECKING:
    from lanewise.machine.model import Machine

_RANK = ("OK", "Warning", "Critical")
_MOST_WORDS = 6
_INTEL = 0x8086
_MAKERS = {0x10DE: ("NVIDIA Corporation", "nvidia"), _INTEL: ("Intel Corporation", None)}


@dataclass
class Told:
    """What a text says of each GPU, by number."""

    tool: str
    vendor: int
    asks_for: str
    """What prints addresses beside its numbers."""
    addresses: dict[int, Address] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)
    health: dict[int, str] = field(default_factory=dict)
    why: dict[int, list[str]] = field(default_factory=dict)

    def say(self, gpu: int, health: str | None, why: str = "") -> None:
        """Keep the worst that is said of a GPU, and the words about what is wrong."""
        if health is not None:
            self.health[gpu] = max(health, self.health.get(gpu, "OK"), key=_RANK.index)
        words = self.why.setdefault(gpu, [])
        if (test := why.partition(":")[0]) != why and test in words:
            words.remove(test)
        if why and health != "OK" and why not in words and len(words) < _MOST_WORDS:
            words.append(why)


def put_on(machine: Machine, told: Told) -> Machine:
    """Say of each GPU how it is; alone, the GPUs that are named are the machine."""
    places, guessed = _places(machine, told)
    functions = dict(machine.functions)
    events = list(machine.events)
    notes = list(machine.notes)
    for gpu, address in places.items():
        known = functions.get(address) or _function(address, told, gpu)
        name = f"GPU{gpu}"
        functions[address] = replace(
            known,
            stated_health=told.health.get(gpu) or known.stated_health,
            interfaces=known.interfaces if name in known.interfaces else (*known.interfaces, name),
        )
        if told.health.get(gpu, "OK") != "OK":
            line = f"{told.tool}: {'; '.join(told.why.get(gpu) or [told.health[gpu]])}"
            events.append(
                KernelEvent(EventKind.CALLED_UNHEALTHY, line[:LONGEST_LINE], address, name=name, number=gpu)
            )
    if guessed:
        notes.append(guessed)
    return replace(
        machine, functions=dict(sorted(functions.items())), events=tuple(events), notes=tuple(notes)
    )


def _places(machine: Machine, told: Told) -> tuple[dict[int, Address], str]:
    """Return the address of each GPU that is told of, and a note where one is a guess or made up."""
    gpus = [f for f in machine if f.is_gpu and f.identity.vendor_id == told.vendor and not f.virtual]
    # What is on the first bus is in a processor or chipset, and no card that such a tool counts.
    gpus = [f for f in gpus if f.address.bus != 0 or told.vendor != _INTEL]
    by_name = {name: f.address for f in machine for name in f.interfaces if name.startswith("GPU")}
    places, note = {}, ""
    for gpu in sorted({*told.health, *told.addresses}):
        address = told.addresses.get(gpu) or by_name.get(f"GPU{gpu}")
        if address is None and gpu < len(gpus):
            address = gpus[gpu].address
            note = f"'{told.tool}' names GPUs by number: they are taken in the order of their addresses"
        if address is None:
            address = Address(MADE_UP_DOMAIN, gpu >> 5 & 0xFF, gpu & 0x1F, 0)
            note = f"addresses of GPUs are made up: '{told.asks_for}' beside it prints them"
        places[gpu] = address
    return places, note


def _function(address: Address, told: Told, gpu: int) -> Function:
    maker, driver = _MAKERS[told.vendor]
    identity = Identity(
        class_code=0x030200, vendor_id=told.vendor, vendor_name=maker, device_name=told.names.get(gpu)
    )
    return Function(
        address, kind=Kind.ENDPOINT, identity=identity, driver=driver, driver_known=driver is not None
    )
