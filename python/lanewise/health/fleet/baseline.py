"""Writes a fleet file from a machine: what is there and how it is set, to be expected of its siblings.

Of what changes without a fault, the file says what should be: the speed of a link is the one that both of its
ends can do, because GPUs that are idle lower theirs; its width is the one that it runs at, because lanes do
not come and go, unless most of its kind have more. Where a device sits is said by the name of its slot and by
its path from the root, so that one file serves machines whose buses are numbered otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise import toml
from lanewise.errors import InputError
from lanewise.health.fleet.inventory import CLASSES, inventory, printable
from lanewise.health.fleet.model import FORMAT
from lanewise.health.fleet.settings import HOST_SETTINGS, SETTINGS
from lanewise.health.fleet.values import link_text
from lanewise.machine.registers import LinkMode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.health.fleet.inventory import Device
    from lanewise.health.fleet.values import Value
    from lanewise.machine.model import Machine

_HEAD = """\
What should be in a machine: `lanewise doctor --expect FILE` says what is missing, extra, moved, slower,
narrower or set otherwise. Written by `lanewise scan --baseline` from
{source}

Edit it as you like: a key that is not here is not looked at. An entry needs `count`, and `id`, `name` or
`class`; so `places` may go where it does not matter which slot a device is in, and a file of nothing but
counts is fine. A place is found by its slot, else by its path (as `lspci -P` prints it), and by `at`, the
address, only where an entry or a dump has neither: bus numbers differ from machine to machine.
[[waiver]] entries may stand here, too. All keys: docs/reference/fleet-files.md
"""
_UNLISTED = 'devices that no entry describes; "ignore" lets them pass'

_SECOND = re.compile(r"-\d+$")


@dataclass(frozen=True)
class _Kind:
    """Devices that are the same but for their places."""

    devices: tuple[Device, ...]
    slots: Counter[str]
    """How many devices of the machine have each name that the board gives slots."""

    @property
    def first(self) -> Device:
        return self.devices[0]

    @property
    def title(self) -> str:
        """What stands above its entry."""
        return printable(self.first.function.identity.class_name or self.first.kind)

    def entry(self) -> dict[str, object]:
        """Return its table of the file."""
        stated = [_stated(device, self._lanes(device)) for device in self.devices]
        common = _common(stated)
        first = self.first
        entry: dict[str, object] = {"what": first.name, "count": len(self.devices)}
        if first.id is not None:
            entry["id"] = first.id
        else:
            entry |= {"name": first.name} if _is_named(first) else {}
            entry["class"] = first.kind
        if first.subsystem is not None:
            entry["subsystem"] = first.subsystem
        places = [
            _spot(device, self.slots) | {key: value for key, value in own.items() if key not in common}
            for device, own in zip(self.devices, stated, strict=True)
        ]
        return {**entry, **common, "places": places}

    def _lanes(self, device: Device) -> int | None:
        """Return the lanes that a device should have: its own, or those of most of its kind if it could."""
        widths = Counter(other.link.now.width for other in self.devices if other.link is not None)
        usual, number = widths.most_common(1)[0] if widths else (None, 0)
        if device.link is None or not device.link.below_width or 2 * number <= len(self.devices):
            return None
        return (
            usual if (device.link.now.width or 0) < (usual or 0) <= (device.link.limit.width or 0) else None
        )

    def remarks(self) -> Iterator[str]:
        """Say where the file asks for something else than what ran while it was written."""
        idle = [device for device in self.devices if _below(device) == "idle"]
        if idle:
            runs = sorted({f"{device.link.now.gt_s:g}" for device in idle if device.link})
            yield (
                f"link: {_of(idle, self.devices)} ran at {' or '.join(runs)} GT/s, as idle GPUs do; "
                "the speed is what both ends can do"
            )
        for device in self.devices:
            if _below(device) == "slow" and device.link is not None:
                yield (
                    f"link: {device.bdf} ran at {link_text(device.link.now)}, slower than both ends can; "
                    "a fault, or write what it should run at"
                )
            elif self._lanes(device) is not None and device.link is not None:
                yield (
                    f"link: {device.bdf} ran on x{device.link.now.width}, and most of its kind on "
                    f"x{self._lanes(device)}; most likely a fault"
                )
            elif _below(device) == "narrow" and device.link is not None:
                yield (
                    f"link: {device.bdf} has x{device.link.now.width} of x{device.link.limit.width} "
                    f"lanes that "
                    "both ends can do; as the board is wired, or a fault"
                )


def baseline(machine: Machine) -> str:
    """Return the text of a fleet file that the machine itself fits.

    Raises InputError where the source lists no function: a file that expects nothing would let everything
    pass, and what is missing from such a source nobody would see.
    """
    devices = tuple(device for device in inventory(machine) if device.answers)
    if not machine.functions:
        what = " and ".join(machine.kinds) or "the source"
        raise InputError(
            f"'{machine.source}': {what} lists no device that a baseline could expect; "
            "take it from 'sudo lspci -vvv', a copy of /sys/bus/pci, or 'nvidia-smi -q'"
        )
    slots = Counter(_board_name(name) for device in devices for name in device.slots[:1])
    kinds = _kinds(devices, slots)
    host = {
        key: setting.shape.write(value)
        for key, setting in HOST_SETTINGS.items()
        if (value := setting.read(machine)) is not None
    }
    tables: dict[str, object] = {"format": FORMAT, "unlisted": "report"}
    tables |= {"host": host} if host else {}
    above: dict[toml.Path, Sequence[str]] = {}
    for number, kind in enumerate(kinds):
        above |= {("count", number): [kind.title], ("count", number, "places"): list(kind.remarks())}
    return toml.document(
        {**tables, "count": [kind.entry() for kind in kinds]},
        head=[*_HEAD.format(source=_source(machine)).splitlines(), ""],
        notes={("unlisted",): _UNLISTED},
        above=above,
        spread={("count", "places")},
    )


def remarks(machine: Machine) -> list[str]:
    """Say what a person should look at before a machine becomes the measure of others."""
    devices = inventory(machine)
    dead = [device.bdf for device in devices if not device.answers]
    bad = [d.bdf for d in devices if d.answers and _below(d) in ("slow", "narrow")]
    said = [f"no answer from {_listed(dead)}, left out of the file"] if dead else []
    if bad:
        links = f"links below what both of their ends can do: {_listed(bad)}"
        said.append(f"{links}; the file has a comment at each")
    return said


def _listed(bdfs: list[str], most: int = 8) -> str:
    return ", ".join(bdfs[:most]) + (f" and {len(bdfs) - most} more" if len(bdfs) > most else "")


def _source(machine: Machine) -> str:
    from lanewise import __version__

    host = f", host {machine.hostname}" if machine.hostname else ""
    return printable(f"{machine.source or 'this machine'}{host} (lanewise {__version__})")


def _kinds(devices: tuple[Device, ...], slots: Counter[str]) -> list[_Kind]:
    """Put alike devices together; GPUs first, then networks, drives, and so on."""
    groups: dict[tuple[str, str, str], list[Device]] = {}
    for device in devices:
        key = (device.kind, device.id or device.name, device.subsystem or "")
        groups.setdefault(key, []).append(device)
    order = list(CLASSES)

    def place(key: tuple[str, str, str]) -> tuple[bool, int]:
        """Put kinds of which only the class is known behind others, whose devices they describe too."""
        first = groups[key][0]
        return first.id is None and not _is_named(first), order.index(key[0])

    return [_Kind(tuple(groups[key]), slots) for key in sorted(groups, key=place)]


def _is_named(device: Device) -> bool:
    identity = device.function.identity
    return bool(identity.vendor_name or identity.device_name)


def _stated(device: Device, lanes: int | None) -> dict[str, object]:
    """Return what the file says of a device; `lanes` in place of its own where given."""
    found: dict[str, object] = {}
    runs = should_run(device)
    link = link_text(LinkMode(runs.gt_s, lanes or runs.width))
    if link:
        found["link"] = link
    for key, setting in SETTINGS.items():
        value: Value | None = setting.read(device)
        if value is not None and not _says_nothing(device, key, value):
            found[key] = setting.shape.write(value)
    return found


def _says_nothing(device: Device, key: str, value: Value) -> bool:
    """Leave out what goes without saying, and how switches would read if they did."""
    return (key == "functions" and value == 1) or (
        device.function.is_bridge and key in ("mrrs", "relaxed_ordering", "driver")
    )


def should_run(device: Device) -> LinkMode:
    """Return how the link of a device should run: the speed of both ends, the lanes that it has.

    The speed is that of now where the port above is not in the source, or is told to stay slow, unless the
    device is a GPU, which may be idle.
    """
    link, machine = device.link, device.machine
    now = link.now if link is not None else device.function.link.status
    if not machine.measured or not now.known or not device.link_can.known:
        return LinkMode()
    target = link.upper.link.target_gt_s if link is not None else 0.0
    chosen = target is not None and target < (device.link_can.gt_s or 0.0)
    if chosen and not device.function.is_gpu:
        return now
    return LinkMode(max(device.link_can.gt_s or 0.0, now.gt_s or 0.0), now.width)


def _below(device: Device) -> str:
    """Say how a link runs below what both ends can do: idle, slow or narrow; empty when it does not."""
    link = device.link
    if link is None or not link.now.known or not device.machine.measured:
        return ""
    if link.below_width:
        return "narrow"
    if device.machine.is_idle_gpu(link):
        return "idle"
    return "slow" if link.below_speed else ""


def _common(stated: list[dict[str, object]]) -> dict[str, object]:
    """Return what holds for all devices of a kind, in the order of the keys."""
    first = stated[0]
    return {key: value for key, value in first.items() if all(other.get(key) == value for other in stated)}


def _board_name(slot: str) -> str:
    """Return the name that the board gave a slot: the kernel calls the second of one name ``7-1``."""
    return _SECOND.sub("", slot)


def _spot(device: Device, slots: Counter[str]) -> dict[str, object]:
    """Return where a device sits."""
    spot: dict[str, object] = {}
    if device.slots and slots[_board_name(device.slots[0])] == 1:
        spot["slot"] = device.slots[0]
    if device.path is not None:
        spot["path"] = device.path
    return {**spot, "at": device.bdf}


def _of(some: list[Device], all_: tuple[Device, ...]) -> str:
    return "it" if len(all_) == 1 else "all" if len(some) == len(all_) else f"{len(some)} of {len(all_)}"
