"""VMware ESXi: ``esxcli hardware pci list``, the `lspci` of its shell, and ``vmkchdev -l``.

A block of ``Key: value`` lines per function, headed by its address; ``Parent Device: PCI 0:174:0:0`` is the
port above, in decimal, and ``Spawned Bus`` the bus behind a bridge. The `lspci` of ESXi has one line a
function, with the name of the class and behind it what the kernel calls the device, ``[vmnic4]``. `vmkchdev`
has numbers, and who owns a function: the kernel, which calls it by a name, or a guest. None of them tells of
links. Source: ESXi 5.5 to 8.0, outputs of real machines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Buses
from lanewise.machine.sources.numbers import natural, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading
    from lanewise.machine.draft import Draft
    from lanewise.machine.said import IdentityNumber

_FUNCTION = r"[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
LOOKS_LIKE = re.compile(
    rf"^[ \t>]{{0,16}}Address: {_FUNCTION}[ \t]*$"
    r"(?=[^\0]{0,600}?^[ \t>]{0,16}(?:Segment|VMkernel Name|Passthru))",
    re.MULTILINE,
)
"""The address of a function, and soon after what only ESXi says."""
_IDS = r"[0-9a-f]{4}:[0-9a-f]{4}"
LOOKS_LIKE_TABLE = re.compile(
    r"^[ \t>]{0,16}(?:\w[\w:.]{4,16} Vend:Dvid Subv:Subd\b"
    rf"|{_FUNCTION} {_IDS} {_IDS} (?:vmkernel|passthru)\b)",
    re.MULTILINE,
)
"""The heading of ``lspci -p``, or a row of ``vmkchdev -l``."""
_NUMBER = r"([0-9a-f]{4})"
_ROW = re.compile(rf"[ \t>]{{0,16}}({_FUNCTION}) {_NUMBER}:{_NUMBER} {_NUMBER}:{_NUMBER}(?: (.{{0,80}}))?$")
_KERNEL_NAME = re.compile(r"(?:vmnic|vmhba|vmgfx)\d{1,4}$")
_OWNED = re.compile(r"(?:vmkernel|passthru)\b(.{0,80})")
_PARENT = re.compile(r"PCI (\d{1,5}):(\d{1,3}):(\d{1,2}):(\d)$")
_HEAD = re.compile(rf"[ \t>]{{0,16}}({_FUNCTION})[ \t]*$")
_BRIDGE = 0x0604
_NUMBERS: dict[str, IdentityNumber] = {
    "Vendor ID": "vendor_id",
    "Device ID": "device_id",
    "SubVendor ID": "subsystem_vendor_id",
    "SubDevice ID": "subsystem_id",
    "Revision ID": "revision",
}
_NO_NAMES = ("", "None", "N/A")


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all functions of a list."""
    draft: Draft | None = None
    for line in lines:
        head = _HEAD.match(line)
        key, colon, value = (part.strip(" \t>") for part in line.partition(": "))
        if head is not None:
            draft = into.draft(Address.parse(head[1]))
        elif key == "Address" and re.fullmatch(_FUNCTION, value):
            draft = into.draft(Address.parse(value))
        elif draft is not None and colon:
            _take(draft, key, value)
    into.shows_tree = True
    into.kinds.append("esxcli")


def read_table(lines: Sequence[str], into: Reading) -> None:
    """Read ``lspci -p`` of ESXi: numbers, and the module and name of the kernel in the last columns.

    Rows of ``vmkchdev -l`` have the owner and the kernel's name behind the numbers, and no module.
    """
    for line in lines:
        row = _ROW.match(line.rstrip())
        if row is None:
            continue
        draft = into.draft(Address.parse(row[1]))
        vendor, device, subsystem_vendor, subsystem = (int(row[place], 16) for place in range(2, 6))
        draft.identity |= {
            "vendor_id": vendor,
            "device_id": device,
            "subsystem_vendor_id": subsystem_vendor,
            "subsystem_id": subsystem,
        }
        _, owner, last = (row[6] or "").partition(" V ")
        if (kept := _OWNED.match(row[6] or "")) is not None:
            for word in filter(_KERNEL_NAME.match, kept[1].split()):
                draft.add_interface(word)
        for word in last.split() if owner else ():
            if _KERNEL_NAME.match(word):
                draft.add_interface(word)
            else:
                draft.function["driver"] = word
        draft.function["driver_known"] = bool(owner)
    into.kinds.append("esxcli")


def _take(draft: Draft, key: str, value: str) -> None:
    identity, function = draft.identity, draft.function
    number, said = whole(value, 0 if value.startswith("0x") else 10), value not in _NO_NAMES
    if key in _NUMBERS and number is not None:
        identity[_NUMBERS[key]] = number
    elif key == "Device Class" and number is not None:
        identity["class_code"] = number << 8
    elif key == "Programming Interface" and (code := identity.get("class_code")) is not None:
        identity["class_code"] = code | (number or 0) & 0xFF
    elif key == "VMkernel Name" and said:
        draft.add_interface(value)
    elif key == "Module Name":
        function["driver"], function["driver_known"] = value if said else None, True
    elif key == "Slot Description" and said:
        function["physical_slot"] = value
    elif key == "NUMA Node":
        function["numa_node"] = natural(value)
    else:
        _place(draft, key, value, number)


def _place(draft: Draft, key: str, value: str, number: int | None) -> None:
    """Take what tells who is below whom."""
    parent = _PARENT.match(value) if key == "Parent Device" else None
    if parent is not None:
        domain, bus, device, function = (int(part) for part in parent.groups())
        draft.parent = Address(domain, bus & 0xFF, device & 31, function & 7)
    elif key == "Spawned Bus" and number and (draft.identity.get("class_code") or 0) >> 8 == _BRIDGE:
        draft.buses = Buses(draft.address.bus, number & 0xFF, number & 0xFF)
