"""macOS, ``system_profiler SPPCIDataType`` and ``SPNVMeDataType``: cards and drives, how their link runs.

``Slot: Slot-1@3,0,0`` ends in bus, device and function in decimal; behind bridges the way is given without
the numbers of buses, and the address is made up. What a link could do is not told, so nothing says whether it
should run better. Links of Thunderbolt are tunnels whose registers are for show, and are not taken.

Drives are listed a second time by model, without a slot: they count where no card of the text is a drive.
Drives of Apple's own chips have no link there, and are left out. Source: system_profiler of macOS 10.13 to
15, outputs of real machines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Kind
from lanewise.machine.registers import LinkMode
from lanewise.machine.sources.documents import documents_of, objects_of, text_at
from lanewise.machine.sources.made_up import made_up_address
from lanewise.machine.sources.numbers import line_rate, natural, whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanewise.machine.assembly import Reading
    from lanewise.machine.said import IdentityNumber

LOOKS_LIKE = re.compile(
    r"^[ \t>]{0,16}(?:Slot: [\w .-]{1,40}@\d{1,3},\d{1,2},\d\b|TRIM Support: (?:Yes|No)[ \t]*$)", re.MULTILINE
)
"""The slot of a card, or what only a drive has."""
JSON_SIGNS = re.compile(r'"(?:SPPCIDataType|sppci_slot_name|SPNVMeDataType|spnvme_linkwidth)"\s*:')
_PLACE = re.compile(r"[^@]{0,40}@(\d{1,3}),(\d{1,2}),(\d)$")
_SPEED = re.compile(r"(\d{1,3}(?:\.\d)?) GT/s")
_HEAD = re.compile(r"[ \t>]{0,8}(\S[^\n]{0,100}):[ \t]*$")
_NVME = 0x010802
_CLASSES = (
    ("NVM", _NVME),
    ("nvme", _NVME),
    ("SATA", 0x010601),
    ("ahci", 0x010601),
    ("Ethernet", 0x020000),
    ("ethernet", 0x020000),
    ("VGA", 0x030000),
    ("vga", 0x030000),
    ("Display", 0x038000),
    ("GPU", 0x030000),
)
"""Parts of the words for a type, and classes that matter here."""
_NUMBERS: tuple[tuple[str, IdentityNumber], ...] = (
    ("Vendor ID", "vendor_id"),
    ("Device ID", "device_id"),
    ("Subsystem Vendor ID", "subsystem_vendor_id"),
    ("Subsystem ID", "subsystem_id"),
)


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all cards in a text."""
    card: dict[str, str] = {}
    drives: list[dict[str, str]] = []
    before = len(into.drafts)
    for line in [*lines, "end:"]:
        key, colon, value = (part.strip(" \t>") for part in line.partition(": "))
        if _HEAD.match(line):
            _card(card, into)
            drives += [card] if "TRIM Support" in card else []
            card = {"heading": line.strip(" \t>:")}
        elif colon:
            card.setdefault(key, value)
    _drives(drives, into)
    if len(into.drafts) > before:
        into.kinds.append("system_profiler")


def read_document(document: str, into: Reading) -> None:
    """Read all cards in JSON."""
    drives: list[dict[str, str]] = []
    before = len(into.drafts)
    for found in documents_of(document):
        for one in objects_of(found):
            if "sppci_slot_name" in one:
                _card(
                    {
                        "heading": text_at(one, "_name"),
                        "Type": text_at(one, "sppci_device_type"),
                        "Slot": text_at(one, "sppci_slot_name"),
                        "Vendor ID": text_at(one, "sppci_vendor-id"),
                        "Device ID": text_at(one, "sppci_device-id"),
                        "Subsystem Vendor ID": text_at(one, "sppci_subsystem-vendor-id"),
                        "Subsystem ID": text_at(one, "sppci_subsystem-id"),
                        "Link Width": text_at(one, "sppci_link-width"),
                        "Link Speed": text_at(one, "sppci_link-speed"),
                    },
                    into,
                )
            if "spnvme_linkwidth" in one:
                drives.append(
                    {
                        "Model": text_at(one, "device_model"),
                        "Link Width": text_at(one, "spnvme_linkwidth"),
                        "Link Speed": text_at(one, "spnvme_linkspeed"),
                    }
                )
    _drives(drives, into)
    if len(into.drafts) > before:
        into.kinds.append("system_profiler")


def _card(card: Mapping[str, str], into: Reading) -> None:
    slot = card.get("Slot", "")
    if "@" not in slot or not card.get("Vendor ID"):
        return
    place = _PLACE.match(slot)
    if place is not None and int(place[1]) < 256 and int(place[2]) < 32 and int(place[3]) < 8:
        draft = into.draft(Address(0, int(place[1]), int(place[2]), int(place[3])))
    else:
        draft = into.draft(made_up_address(into))
        into.note("addresses of devices behind bridges are made up: macOS prints no bus numbers")
    identity = draft.identity
    for key, field in _NUMBERS:
        number = whole(card.get(key), 16)
        if number is not None:
            identity[field] = number & 0xFFFF
    words = card.get("Type", "")
    identity["class_code"] = next((code for part, code in _CLASSES if part in words), None)
    draft.function["physical_slot"] = slot.partition("@")[0]
    if "Thunderbolt" in slot:
        into.note("links of Thunderbolt devices are tunnels: what their registers say is not taken")
    elif (status := _status(card)) is not None:
        draft.kind = Kind.ENDPOINT
        draft.link["status"] = status


def _drives(drives: Sequence[Mapping[str, str]], into: Reading) -> None:
    """Add drives by their models, unless there are cards that are the same drives."""
    if any(draft.identity.get("class_code") == _NVME for draft in into.drafts.values()):
        return
    for drive in drives:
        if (status := _status(drive)) is not None:
            draft = into.draft(made_up_address(into))
            draft.kind = Kind.ENDPOINT
            draft.identity["class_code"], draft.identity["device_name"] = _NVME, drive.get("Model")
            draft.link["status"] = status
            into.note(
                "addresses of drives are made up, and one in a Thunderbolt enclosure looks like any other: "
                "'system_profiler SPPCIDataType' beside it tells them apart"
            )


def _status(card: Mapping[str, str]) -> LinkMode | None:
    speed = _SPEED.match(card.get("Link Speed", ""))
    width = natural(card.get("Link Width", "").removeprefix("x"))
    return LinkMode(line_rate(speed[1]) if speed else None, width) if width else None
