"""Changes to try: ``3b:00.0 -> gen5 x16``, ``slot 3 -> mps 512``; settings are separated by blanks or commas.

On the left an address, the number of a physical slot, or a name that the source has for the device, like
``nvme0``; on the right any of a generation or speed (``gen5``, ``PCIe 5.0``, ``32GT/s``), a width (``x16``),
``mps 512``, ``mrrs 4 KiB``, ``tags 10``, ``relaxed-ordering on``, ``aspm off``. Changes of one device add up.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.machine.address import Address
from lanewise.machine.lanes import WIDTHS
from lanewise.machine.registers import PACKET_SIZES, SPEEDS_GT_S
from lanewise.machine.ways import NO_CHANGE, Change

if TYPE_CHECKING:
    from lanewise.machine.model import Function, Machine

ARROW = re.compile(r"->|=>|→")
"""Between a place and what to change there."""
_SLOT = re.compile(r"slot[ #=]*+(\S+)", re.IGNORECASE)
_SETTING = re.compile(
    r"(?:pcie ?)?gen ?(?P<generation>[1-7])(?!\d)|pcie ?(?P<revision>[1-7])(?:\.0)?(?![\d.])"
    r"|(?P<speed>[\d.]{1,16}) ?GT/s|x(?P<width>\d+)"
    r"|mps[ =]*(?P<mps>\d+ ?(?:Ki?B?)?)(?: ?B)?\b|mrrs[ =]*(?P<mrrs>\d+ ?(?:Ki?B?)?)(?: ?B)?\b"
    r"|tags[ =]*(?P<tags>\d+)|relaxed-ordering[ =]*(?P<relaxed>on|off)|aspm[ =]*(?P<aspm>off)",
    re.IGNORECASE,
)
_TAGS = (5, 8, 10, 14)
_ALLOWED = (
    "gen1 to gen7, x1 to x32, mps and mrrs 128 to 4096, tags 5, 8, 10 or 14, relaxed-ordering on or off, "
    "acs on or off, iommu on, pass-through or off, slot N, below PORT, aspm off"
)


def parse_changes(texts: list[str], machine: Machine) -> dict[Address, Change]:
    """Read changes; InputError says what is wrong with the first that cannot be understood."""
    changes: dict[Address, Change] = {}
    for text in texts:
        arrow = ARROW.search(text)
        if arrow is None:
            raise InputError(
                f"'{text}' is not a change: write a device, '->' and settings, like '3b:00.0 -> gen5 x16'"
            )
        address = device_at(text[: arrow.start()].strip(), machine).address
        changes[address] = _both(changes.get(address, NO_CHANGE), _change(text[arrow.end() :], text))
    return changes


def _both(earlier: Change, later: Change) -> Change:
    """Add a change to another; what both say, the later one decides."""
    values = {field.name: getattr(later, field.name) for field in fields(Change)}
    return replace(earlier, **{name: value for name, value in values.items() if value is not None})


def device_at(place: str, machine: Machine) -> Function:
    """Find a device by address or name, or what is in a slot; InputError says which there are."""
    named = next((function for function in machine if place in function.interfaces), None)
    if named is not None:
        return named
    if match := _SLOT.fullmatch(place):
        return _in_slot(match[1], machine)
    function = machine.find(parse_address(place))
    below = machine.link_below(function)
    return below.device if below is not None else function


def parse_address(text: str) -> Address:
    """Read an address; InputError when it is none."""
    try:
        return Address.parse(text)
    except ValueError:
        raise InputError(f"'{text}' is not an address like 3b:00.0") from None


def _in_slot(number: str, machine: Machine) -> Function:
    known = []
    for link in machine.links:
        slot = link.upper.registers.slot
        names = {link.device.physical_slot, None if slot is None or slot.number is None else str(slot.number)}
        if number in names:
            return link.device
        known += [name for name in names if name]
    listing = ", ".join(dict.fromkeys(known)) or "no slot is numbered in this source; use an address"
    raise InputError(f"there is no device in a slot '{number}'; there are {listing}")


def _change(settings: str, text: str) -> Change:
    found = {}
    rest = settings
    for match in _SETTING.finditer(settings):
        found.update({key: value for key, value in match.groupdict().items() if value is not None})
        rest = rest.replace(match[0], " ", 1)
    if rest.strip(" ,") or not found:
        raise InputError(
            f"'{rest.strip(' ,') or settings.strip()}' in '{text}' is not a setting; there are {_ALLOWED}"
        )
    gt_s = None
    if generation := found.get("generation") or found.get("revision"):
        gt_s = SPEEDS_GT_S[int(generation) - 1]
    elif "speed" in found:
        gt_s = _one_of(found["speed"], SPEEDS_GT_S, text)
    return Change(
        gt_s=gt_s,
        width=_whole(found.get("width"), WIDTHS, text),
        mps=_size(found.get("mps"), text),
        mrrs=_size(found.get("mrrs"), text),
        relaxed_ordering=None if "relaxed" not in found else found["relaxed"].lower() == "on",
        tag_bits=_whole(found.get("tags"), _TAGS, text),
        asleep=False if "aspm" in found else None,
    )


def _size(found: str | None, text: str) -> int | None:
    """Read a size in bytes or KiB."""
    if found is None:
        return None
    number = re.match(r"\d{1,6}", found)
    factor = 1024 if "k" in found.lower() else 1
    return None if number is None else _whole(str(int(number[0]) * factor), PACKET_SIZES, text)


def _whole(found: str | None, allowed: tuple[int, ...], text: str) -> int | None:
    return None if found is None else int(_one_of(found, allowed, text))


def _one_of(found: str, allowed: tuple[float, ...], text: str) -> float:
    try:
        value = float(found)
    except ValueError:
        value = -1.0
    if value not in allowed:
        raise InputError(f"'{found}' in '{text}' is not one of {', '.join(f'{one:g}' for one in allowed)}")
    return value
