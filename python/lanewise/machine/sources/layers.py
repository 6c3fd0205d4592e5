"""What a source without a tree tells of functions by address: a machine of its own, or more of another one.

`nvidia-smi -q`, `inxi`, link files of sysfs and their like list some devices and neither bridges nor
registers. Alone they are a machine without a tree. On top of another source they fill in what that one does
not say, and nothing of what it says is changed; devices that it does not list are named in a note, and so are
those that are other devices there.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from lanewise.machine.function import Identity
from lanewise.machine.sources import disagreements, link_files

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lanewise.machine.address import Address
    from lanewise.machine.assembly import Reading
    from lanewise.machine.function import Function
    from lanewise.machine.model import Disagreement, Machine, Relation

_MOST_NAMES = 4
_STATES = ("performance_state", "idle")
"""What belongs to the moment at which a link was looked at."""
_FILLED = (
    "kind",
    "driver",
    "numa_node",
    "local_cpus",
    "iommu_group",
    "physical_slot",
    "model",
    "firmware",
    "health",
    "stated_health",
)
"""What is taken of a function besides its identity, its registers and its names."""


def put_on(machine: Machine, reading: Reading) -> Machine:
    """Fill in what a machine does not say; without a function in it, it is what was read."""
    told = reading.machine(machine.source)
    if not machine.functions:
        return replace(
            told, relations=(*machine.relations, *told.relations), notes=_joined(machine.notes, told.notes)
        )
    functions = dict(machine.functions)
    absent: list[Address] = []
    others: list[Address] = []
    found: list[Disagreement] = []
    for address, function in told.functions.items():
        mine = functions.get(address)
        if function.implied:
            continue
        if mine is None:
            absent.append(address)
        elif _are_two_devices(mine.identity, function.identity):
            others.append(address)
        else:
            functions[address] = _filled(mine, function)
            found += disagreements.between(machine, mine, told, function)
    found += disagreements.of_lists(machine, told, whole=reading.lists_all_gpus)
    what = " and ".join(told.kinds)
    if all(machine.functions[address].identity.class_code for address in told.functions.keys() & functions):
        told = replace(told, notes=tuple(note for note in told.notes if note != link_files.NO_CLASS))
    notes = [
        *told.notes,
        *_said(absent, f"'{what}' describes devices that the source does not list"),
        *_said(others, f"'{what}' describes other devices than the source has at these addresses"),
    ]
    return replace(
        machine,
        functions=functions,
        kinds=_joined(machine.kinds, told.kinds),
        hostname=machine.hostname or told.hostname,
        relations=(*machine.relations, *_addressed(told.relations, functions)),
        slots=machine.slots or told.slots,
        events=(*machine.events, *told.events),
        disagreements=(*machine.disagreements, *found),
        notes=_joined(machine.notes, notes),
    )


def _addressed(relations: Sequence[Relation], functions: Mapping[Address, Function]) -> Iterator[Relation]:
    """Find the devices of relations by their names, where those do not say their addresses."""
    of = {name: address for address, function in functions.items() for name in function.interfaces}
    for relation in relations:
        first = relation.first_address or of.get(relation.first)
        second = relation.second_address or of.get(relation.second)
        yield replace(relation, first_address=first, second_address=second)


def _joined(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _said(addresses: list[Address], words: str) -> list[str]:
    if not addresses:
        return []
    more = f" and {len(addresses) - _MOST_NAMES} more" if len(addresses) > _MOST_NAMES else ""
    return [f"{words}: {', '.join(a.short for a in addresses[:_MOST_NAMES])}{more}"]


def _are_two_devices(mine: Identity, theirs: Identity) -> bool:
    """Whether two sources name different devices; a number that one does not say contradicts nothing."""
    return any(
        None not in (one, other) and one != other
        for one, other in ((mine.vendor_id, theirs.vendor_id), (mine.device_id, theirs.device_id))
    )


def _filled(mine: Function, theirs: Function) -> Function:
    identity = {
        field.name: getattr(theirs.identity, field.name)
        for field in fields(Identity)
        if getattr(mine.identity, field.name) is None
    }
    speeds = {speed for speed in (mine.link.status.gt_s, theirs.link.status.gt_s) if speed is not None}
    taken = (*_FILLED, *_STATES) if len(speeds) < 2 else _FILLED
    more = {name: getattr(theirs, name) for name in taken if getattr(mine, name) is None}
    registers = _merged(mine.registers, theirs.registers)
    if theirs.errors.counters:
        counters = dict(theirs.errors.counters) | dict(mine.errors.counters or ())
        registers = registers._replace(errors=registers.errors._replace(counters=tuple(counters.items())))
    return replace(
        mine,
        identity=replace(mine.identity, **identity),
        registers=registers,
        interfaces=tuple(dict.fromkeys((*mine.interfaces, *theirs.interfaces))),
        driver_known=mine.driver_known or theirs.driver_known,
        **more,
    )


def _merged(mine: Any, theirs: Any) -> Any:
    """Return `mine` with gaps filled; groups of registers, which are named tuples, field by field."""
    if mine is None or mine == ():
        return theirs
    if theirs is not None and hasattr(mine, "_fields"):
        return type(mine)(*map(_merged, mine, theirs))
    return mine
