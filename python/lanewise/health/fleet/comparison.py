"""Holds a machine against a fleet file: what is there, what is not, what sits elsewhere.

Each device belongs to the first entry that describes it. Within an entry, devices are given places by slot
and path together, then by slot, then by path, then by address where neither tells; what is left is paired in
order, and has moved if a place that the machine could show says something else. Paths whose root bus the
machine does not have say nothing: its buses are numbered otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.health.fleet.inventory import inventory

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.health.fleet.inventory import Device
    from lanewise.health.fleet.model import Count, FleetFile, Spot
    from lanewise.machine.model import Machine


@dataclass(frozen=True)
class Seated:
    """A device of an entry, and its place, where the entry has one for it."""

    device: Device
    spot: Spot | None = None
    moved: bool = False
    """Whether it is known to be in another place than that one."""


@dataclass(frozen=True)
class Kept:
    """What a machine has of one entry."""

    entry: Count
    seated: tuple[Seated, ...]
    vacant: tuple[Spot, ...] = ()
    """Places with no device of the entry."""
    surplus: tuple[Device, ...] = ()
    """Devices beyond the count."""
    silent: tuple[Device, ...] = ()
    """Devices that are listed and do not answer: they are not there."""

    @property
    def present(self) -> int:
        """How many are there."""
        return len(self.seated) + len(self.surplus)


@dataclass(frozen=True)
class Comparison:
    """A machine beside what should be in it."""

    file: FleetFile
    machine: Machine
    kept: tuple[Kept, ...]
    unlisted: tuple[Device, ...]
    """Devices that no entry describes."""

    def in_place_of(self, spot: Spot) -> Device | None:
        """Return the device of another entry, or of none, that sits where one is missing."""
        return next((device for device in self._too_many() if _sits(device, spot)), None)

    def _too_many(self) -> tuple[Device, ...]:
        others = (device for kept in self.kept for device in (*kept.silent, *kept.surplus))
        return (*others, *self.unlisted)


def compare(machine: Machine, file: FleetFile) -> Comparison:
    """Hold a machine against a fleet file."""
    of: dict[int, list[Device]] = {number: [] for number in range(len(file.counts))}
    unlisted = []
    for device in inventory(machine):
        number = next((n for n, entry in enumerate(file.counts) if entry.who.describes(device)), None)
        if number is None:
            unlisted += [device] if device.answers else []
        else:
            of[number].append(device)
    roots = {function.address.short for function in machine.roots}
    buses = {root.rpartition(":")[0] for root in roots}
    kept = tuple(_seat(entry, of[number], buses) for number, entry in enumerate(file.counts))
    return Comparison(file, machine, kept, tuple(unlisted))


def _seat(entry: Count, devices: list[Device], buses: set[str]) -> Kept:
    silent = tuple(device for device in devices if not device.answers)
    devices = [device for device in devices if device.answers]
    spots, waiting = list(entry.spots), list(devices)
    seated: list[Seated] = []
    ways: tuple[Callable[[Device, Spot], bool], ...] = (_exactly, _in_slot, _on_path, _at_address)
    for fits in ways:
        for spot in list(spots):
            device = next((device for device in waiting if fits(device, spot)), None)
            if device is not None:
                seated.append(Seated(device, spot))
                spots.remove(spot)
                waiting.remove(device)
    # Devices without a place of their own take the free ones in order, as far as the count goes.
    while spots and waiting:
        device, spot = waiting.pop(0), spots.pop(0)
        seated.append(Seated(device, spot, moved=_contradicts(device, spot, buses)))
    free = max(entry.count - len(seated), 0)
    seated += [Seated(device) for device in waiting[:free]]
    seated.sort(key=lambda one: one.device.function.address)
    return Kept(entry, tuple(seated), tuple(spots), tuple(waiting[free:]), silent)


def _exactly(device: Device, spot: Spot) -> bool:
    return _in_slot(device, spot) and _on_path(device, spot)


def _in_slot(device: Device, spot: Spot) -> bool:
    return spot.slot is not None and spot.slot in device.slots


def _on_path(device: Device, spot: Spot) -> bool:
    return spot.path is not None and spot.path == device.path


def _at_address(device: Device, spot: Spot) -> bool:
    """Go by the address where nothing better tells."""
    tells = (spot.slot is not None and device.slots) or (spot.path is not None and device.path is not None)
    return not tells and spot.at is not None and spot.at == device.function.address


def _sits(device: Device, spot: Spot) -> bool:
    return _in_slot(device, spot) or _on_path(device, spot) or _at_address(device, spot)


def _contradicts(device: Device, spot: Spot, buses: set[str]) -> bool:
    """Whether a device is known to be elsewhere: numbers of buses that do not exist here tell nothing."""
    if spot.slot is not None and device.slots:
        return True
    if spot.path is not None and device.path is not None:
        root = spot.path.partition("/")[0].rpartition(":")[0]
        same_below = spot.path.partition("/")[2] == device.path.partition("/")[2]
        return root in buses or not same_below
    return spot.at is not None and spot.slot is None and spot.path is None
