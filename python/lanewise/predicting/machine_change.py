"""Changes to try: ``3b:00.0 -> gen5 x16``, ``slot 3 -> mps 512``; settings are separated by blanks or commas.

On the left an address, or the number of a physical slot; on the right any of a generation or speed (``gen5``,
``32GT/s``), a width (``x16``), ``mps 512``, ``mrrs 4096``, ``tags 10``, ``relaxed-ordering on``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.machine.address import Address
from lanewise.machine.lanes import WIDTHS
from lanewise.machine.registers import SPEEDS_GT_S
from lanewise.machine.ways import Change

if TYPE_CHECKING:
    from lanewise.machine.model import Function, Machine

_SETTING = re.compile(
    r"gen(?P<generation>[1-7])|(?P<speed>[\d.]+) ?GT/s|x(?P<width>\d+)|"
    r"mps[ =](?P<mps>\d+)|mrrs[ =](?P<mrrs>\d+)"
    r"|tags[ =](?P<tags>\d+)|relaxed-ordering[ =](?P<relaxed>on|off)",
    re.IGNORECASE,
)
_SIZES = (128, 256, 512, 1024, 2048, 4096)
_TAGS = (5, 8, 10, 14)
_ALLOWED = (
    "gen1 to gen7, x1 to x32, mps and mrrs 128 to 4096, tags 5, 8, 10 or 14, relaxed-ordering on or off"
)


def parse_changes(texts: list[str], machine: Machine) -> dict[Address, Change]:
    """Read changes; InputError says what is wrong with the first that cannot be understood."""
    changes = {}
    for text in texts:
        place, arrow, settings = text.partition("->")
        if not arrow:
            raise InputError(
                f"'{text}' is no change: write a device, '->' and settings, like '3b:00.0 -> gen5 x16'"
            )
        for function in _devices(place.strip(), machine):
            changes[function.address] = _change(settings, text)
    return changes


def _devices(place: str, machine: Machine) -> list[Function]:
    """Find the device, or what is in a slot."""
    if match := re.fullmatch(r"slot\s+(\S+)", place, re.IGNORECASE):
        return [_in_slot(match[1], machine)]
    function = machine.find(parse_address(place))
    below = machine.link_below(function)
    return [below.device if below is not None else function]


def parse_address(text: str) -> Address:
    """Read an address; InputError when it is none."""
    try:
        return Address.parse(text)
    except ValueError:
        raise InputError(f"'{text}' is no address like 3b:00.0") from None


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
            f"'{rest.strip(' ,') or settings.strip()}' in '{text}' is no setting; there are {_ALLOWED}"
        )
    gt_s = None
    if "generation" in found:
        gt_s = SPEEDS_GT_S[int(found["generation"]) - 1]
    elif "speed" in found:
        gt_s = _one_of(found["speed"], SPEEDS_GT_S, text)
    return Change(
        gt_s=gt_s,
        width=_whole(found.get("width"), WIDTHS, text),
        mps=_whole(found.get("mps"), _SIZES, text),
        mrrs=_whole(found.get("mrrs"), _SIZES, text),
        relaxed_ordering=None if "relaxed" not in found else found["relaxed"].lower() == "on",
        tag_bits=_whole(found.get("tags"), _TAGS, text),
    )


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
