"""The slots of a board from the tables of its firmware, as Linux shows them to root (``/sys/firmware/dmi``).

Decodes System Slots (type 9) into what `dmidecode` prints of them, so that a live machine needs no other
tool: name, type, lanes wired, usage, address, and from version 3.4 on generation and the lanes of the
connector. Left out: every other structure, slots of conventional PCI, MXM and mini cards, peer groups. A
table that is not there, not readable or damaged is no table, without a word: ordinary users have none.
Source: System Management BIOS Reference Specification 3.7 (DSP0134), 6.1.2 (structure header), 6.1.3
(strings) and 7.10 (System Slots).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.model import PhysicalSlot
from lanewise.machine.sources.dmidecode import NO_BUS, connector_and_generation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.machine.sources.files import Files

_TABLE = "firmware/dmi/tables/DMI"
_MOST_BYTES = 1 << 20
"""Assumed: tables of large servers have some tens of KiB."""
_HEADER_BYTES = 4
_PEER_BYTES = 5
_SYSTEM_SLOT = 9
_END = 127
_USED = {0x03: False, 0x04: True}
"""Current usage: available, in use. 7.10.3."""

_SIZES = ("", " x1", " x2", " x4", " x8", " x16")
_KINDS = {
    first + place: f"PCI Express{generation}{size}"
    for first, generation in ((0xA5, ""), (0xAB, " 2"), (0xB1, " 3"), (0xB8, " 4"), (0xBE, " 5"))
    for place, size in enumerate(_SIZES)
} | {
    0x14: "M.2 Socket 1-DP",
    0x15: "M.2 Socket 1-SD",
    0x16: "M.2 Socket 2",
    0x17: "M.2 Socket 3",
    0x1F: "PCI Express 2 SFF-8639 (U.2)",
    0x20: "PCI Express 3 SFF-8639 (U.2)",
    0x24: "PCI Express 4 SFF-8639 (U.2)",
    0x25: "PCI Express 5 SFF-8639 (U.2)",
    0x26: "OCP NIC 3.0 Small Form Factor (SFF)",
    0x27: "OCP NIC 3.0 Large Form Factor (LFF)",
    0x28: "OCP NIC Prior to 3.0",
    0xC4: "PCI Express 6+",
    0xC5: "EDSFF E1",
    0xC6: "EDSFF E3",
}
"""Slot types. 7.10.1."""
_LANES = {0x08: 1, 0x09: 2, 0x0A: 4, 0x0B: 8, 0x0C: 12, 0x0D: 16, 0x0E: 32}
"""Slot data bus width and slot physical width. 7.10.2."""


def slots(files: Files) -> list[PhysicalSlot]:
    """Return the slots of PCI Express in a sysfs; none where the table is not there or not readable."""
    return list(decode(files.data(_TABLE, _MOST_BYTES) or b""))


def decode(table: bytes) -> Iterator[PhysicalSlot]:
    """Decode a table: structures one after the other, each followed by its strings and two zeros."""
    at = 0
    while at + _HEADER_BYTES <= len(table):
        kind, length = table[at], table[at + 1]
        end = table.find(b"\0\0", at + length)
        if kind == _END or length < _HEADER_BYTES or end < 0:
            return
        if kind == _SYSTEM_SLOT:
            yield from _slot(table[at : at + length], table[at + length : end].split(b"\0"))
        at = end + 2


def _slot(data: bytes, strings: list[bytes]) -> Iterator[PhysicalSlot]:
    """Decode one structure; those of early versions are shorter."""
    kind = _KINDS.get(_byte(data, 0x05))
    if kind is None:
        return
    connector, generation = connector_and_generation(kind)
    # A peer group is longer, and what follows is as much further back.
    newest = 0x13 + _PEER_BYTES * _byte(data, 0x12)
    yield PhysicalSlot(
        name=_string(strings, _byte(data, 0x04)) or "a slot without a name",
        kind=kind,
        lanes=_LANES.get(_byte(data, 0x06)),
        connector_lanes=_LANES.get(_byte(data, newest + 1)) or connector,
        generation=(_byte(data, newest) if kind.startswith("PCI Express") else None) or generation,
        used=_USED.get(_byte(data, 0x07)),
        address=_address(data),
    )


def _address(data: bytes) -> Address | None:
    """Return segment, bus, device and function; None where firmware has none for an empty slot. 7.10.8."""
    if len(data) <= 0x10 or data[0x0F] == NO_BUS:
        return None
    segment = int.from_bytes(data[0x0D:0x0F], "little")
    return Address(segment, data[0x0F], data[0x10] >> 3, data[0x10] & 7)


def _string(strings: list[bytes], number: int) -> str:
    """Return a string by its number from 1; 0 is none."""
    return strings[number - 1].decode("utf-8", "replace").strip() if 0 < number <= len(strings) else ""


def _byte(data: bytes, offset: int) -> int:
    """Return a field, or 0, which says nothing in all of them."""
    return data[offset] if offset < len(data) else 0
