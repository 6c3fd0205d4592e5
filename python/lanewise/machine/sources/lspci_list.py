"""`lspci -m`, `-mm` and `-vmm`: the output that is made for programs.

One line for each function with quoted fields, or a block of ``Key:<tab>value`` lines. Numbers stand alone
with ``-n`` and in brackets behind the name with ``-nn``. Neither tells who is below whom, nor links. The
older ``-vm`` calls the address ``Device`` and the device too; the first of the two counts. Source: pciutils,
``lspci.c`` (show_machine), read for the format only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.draft import Draft
from lanewise.machine.sources.numbers import natural, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading
    from lanewise.machine.said import IdentityName, IdentityNumber

_ADDRESS = r"((?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[01][0-9a-fA-F]\.[0-7])"
_LINE = re.compile(rf'^[ \t>|]{{0,8}}{_ADDRESS} (".*)$')
_SLOT = re.compile(rf"^[ \t>|]{{0,8}}(?:Slot|Device):[ \t]*{_ADDRESS}\s*$")
_FIELD = re.compile(r'"((?:[^"\\]++|\\[\s\S])*+)(?:"|\\?\Z)|-([rp])([0-9a-fA-F]{2})')
_ESCAPED = re.compile(r"\\(.)")
_NUMBER = re.compile(r"(?:^|\[)([0-9a-fA-F]{4})\]?$")

LOOKS_LIKE_LIST = re.compile(
    rf'^[ \t>|]{{0,8}}(?:{_ADDRESS} "[^"\n]*" "|(?:Slot|Device):[ \t]*{_ADDRESS}\s*$)', re.MULTILINE
)
"""A line of ``-mm``, or the first of a block of ``-vmm``."""

_NUMBERS: dict[str, IdentityNumber] = {
    "class": "class_code",
    "vendor": "vendor_id",
    "device": "device_id",
    "svendor": "subsystem_vendor_id",
    "sdevice": "subsystem_id",
}
_NAMES: dict[str, IdentityName] = {
    "class": "class_name",
    "vendor": "vendor_name",
    "device": "device_name",
    "sdevice": "subsystem_name",
}


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all functions of a list."""
    draft: Draft | None = None
    for number, line in enumerate(lines, start=1):
        one_line, slot = _LINE.match(line), _SLOT.match(line)
        if one_line is not None:
            into.add(_from_line(Address.parse(one_line[1]), one_line[2]))
            draft = None
        elif slot is not None and (draft is None or not line.lstrip(" \t>|").startswith("Device")):
            draft = Draft(Address.parse(slot[1]))
            into.add(draft)
        elif not line.strip(" \t>|"):
            draft = None
        elif draft is None or not _record(draft, line):
            into.not_understood(number, line)
    into.kinds.append("lspci list")


def _from_line(address: Address, text: str) -> Draft:
    """Read ``"class" "vendor" "device" -r02 -p01 "subsystem vendor" "subsystem"``; options stand anywhere."""
    draft = Draft(address)
    quoted = []
    for match in _FIELD.finditer(text):
        if match[2] == "r":
            draft.identity["revision"] = int(match[3], 16)
        elif match[2] == "p":
            draft.interface = int(match[3], 16)
        else:
            quoted.append(_ESCAPED.sub(r"\1", match[1]))
    for field, value in zip(("class", "vendor", "device", "svendor", "sdevice"), quoted, strict=False):
        _identify(draft, field, value)
    _finish_class(draft)
    return draft


def _record(draft: Draft, line: str) -> bool:
    """Read a line of a block; whether it is one."""
    key, colon, value = line.strip(" \t>|").partition(":")
    key, value = key.lower(), value.strip()
    if not colon or not value:
        return False
    function = draft.function
    if key in _NUMBERS:
        _identify(draft, key, value)
    elif key == "rev":
        draft.identity["revision"] = whole(value, 16)
    elif key == "progif":
        draft.interface = whole(value, 16)
    elif key == "driver":
        function["driver"], function["driver_known"] = value, True
    elif key == "numanode":
        function["numa_node"] = natural(value)
    elif key == "iommugroup":
        function["iommu_group"] = natural(value)
    elif key == "physlot":
        function["physical_slot"] = value
    elif key == "label":
        function["label"] = value
    elif key not in ("module", "dtnode"):
        return False
    _finish_class(draft)
    return True


def _identify(draft: Draft, field: str, value: str) -> None:
    """Take a name, a number, or a name with its number in brackets."""
    number = _NUMBER.search(value)
    if number is not None:
        code = int(number[1], 16)
        draft.identity[_NUMBERS[field]] = code << 8 if field == "class" else code
        value = value[: number.start()].strip()
    if value and field in _NAMES:
        draft.identity[_NAMES[field]] = value


def _finish_class(draft: Draft) -> None:
    code = draft.identity.get("class_code")
    if code is not None and draft.interface:
        draft.identity["class_code"] = code & ~0xFF | draft.interface
