"""Configuration space to registers: our own decoder of the bytes that `lspci -xxx` and sysfs show.

Models the header (7.5.1), the list of capabilities below 256 bytes and the extended list above, both with a
guard against lists that bite their own tail. Registers beyond the bytes at hand are left unsaid. Leaves out
what `registers` leaves out. Source: PCI Express Base Specification 5.0, 7.5 to 7.9; bytes are little-endian.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine import express_capability, extended_capabilities
from lanewise.machine.model import Buses, Kind
from lanewise.machine.registers import Bar, Window

if TYPE_CHECKING:
    from lanewise.machine.draft import Draft

HEADER_BYTES = 64
"""What an ordinary user may read."""
LEGACY_BYTES = 256
EXTENDED_BYTES = 4096

_CARDBUS = 2
"""Header layout of CardBus bridges, whose capabilities start elsewhere (PC Card Standard 8.0, 4.5)."""
_CAPABILITY_LIST = 0x10
"""In Status: there is a list of capabilities, so something above the header is no ones. 7.5.1.1.4."""
_POWER_MANAGEMENT, _MSI, _EXPRESS, _MSI_X = 0x01, 0x05, 0x10, 0x11
_CAPABILITY_NAMES = {
    0x01: "Power Management",
    0x03: "Vital Product Data",
    0x05: "MSI",
    0x07: "PCI-X",
    0x08: "HyperTransport",
    0x09: "Vendor Specific",
    0x0D: "Subsystem",
    0x10: "Express",
    0x11: "MSI-X",
    0x12: "SATA HBA",
    0x13: "Advanced Features",
    0x14: "Enhanced Allocation",
}
_ERROR_BITS = {8: "ParErr", 11: ">TAbort", 12: "<TAbort", 13: "<MAbort", 14: ">SERR", 15: "<PERR"}
"""Bits of Status that say something went wrong, named as `lspci` does. 7.5.1.1.4."""
_SECONDARY_BITS = {**_ERROR_BITS, 14: "<SERR"}
"""The same of a bridge's Secondary Status, which tells that it received an error message. 7.5.1.3.7."""


class Bytes:
    """Bytes with little-endian reads; what lies beyond the end reads as None."""

    __slots__ = ("data",)

    def __init__(self, data: bytes) -> None:
        """Wrap what is there."""
        self.data = data

    def __len__(self) -> int:
        """Count the bytes at hand."""
        return len(self.data)

    def read(self, offset: int, size: int) -> int | None:
        """Read `size` bytes, or None when they are not all there."""
        piece = self.data[offset : offset + size]
        return int.from_bytes(piece, "little") if len(piece) == size else None

    def word(self, offset: int) -> int | None:
        """Read 16 bits."""
        return self.read(offset, 2)

    def dword(self, offset: int) -> int | None:
        """Read 32 bits."""
        return self.read(offset, 4)


def decode(data: bytes, into: Draft) -> None:
    """Read all that `data` holds into a draft. All ones: a function that did not answer."""
    space = Bytes(data)
    if len(data) >= HEADER_BYTES and not data[:HEADER_BYTES].strip(b"\xff"):
        into.registers["no_answer"] = ("configuration space: all ones",)
        return
    if len(data) < HEADER_BYTES or data[:4] == b"\xff\xff\xff\xff":
        return
    _header(space, into)
    if len(data) <= HEADER_BYTES:
        return
    if (
        len(data) >= LEGACY_BYTES
        and data[6] & _CAPABILITY_LIST
        and not data[0x40:LEGACY_BYTES].strip(b"\xff")
    ):
        into.registers["no_answer"] = ("configuration space: all ones from 0x40 on",)
        return
    names = []
    into.registers["capability_list"] = bool(data[6] & _CAPABILITY_LIST)
    into.registers["express"] = False
    for identifier, offset in _capabilities(space):
        names.append(_CAPABILITY_NAMES.get(identifier, f"{identifier:02x}h"))
        if identifier == _EXPRESS:
            express_capability.decode(space, offset, into)
        elif identifier == _POWER_MANAGEMENT:
            state = space.word(offset + 4)
            into.registers["power_state"] = None if state is None else ("D0", "D1", "D2", "D3hot")[state & 3]
        elif identifier in (_MSI, _MSI_X):
            _interrupts(identifier, space.word(offset + 2), into)
    if into.kind is None:
        into.kind = _kind_without_express(into)
    for identifier, offset in _extended_capabilities(space):
        names.append(extended_capabilities.decode(identifier, space, offset, into))
    if into.kind in (Kind.INTEGRATED_ENDPOINT, Kind.EVENT_COLLECTOR):
        # Some have link capabilities although they have no link.
        into.link = {}
    into.registers["capabilities"] = tuple(names)


def _interrupts(identifier: int, control: int | None, into: Draft) -> None:
    """Read Message Control of MSI (7.7.1.2) or MSI-X (7.7.2.2), of which one is on at most."""
    if control is None:
        return
    on = bool(control & (0x8000 if identifier == _MSI_X else 1))
    into.registers["interrupts"] = bool(into.registers.get("interrupts")) or on
    if identifier == _MSI_X:
        into.registers["interrupts_masked"] = on and bool(control & 0x4000)


def _header(space: Bytes, into: Draft) -> None:
    identity, data = into.identity, space.data
    identity["vendor_id"], identity["device_id"] = space.word(0), space.word(2)
    identity["revision"] = data[8]
    identity["class_code"] = int.from_bytes(data[9:12], "little")
    command, status = space.word(4) or 0, space.word(6) or 0
    into.registers["memory_enabled"] = bool(command & 2)
    into.registers["bus_master"] = bool(command & 4)
    into.registers["wire_interrupts_off"] = bool(command & 0x400)
    if data[15] & 0xC0 == 0x80:
        into.registers["self_test"] = data[15] & 0xF
    into.registers["status"] = frozenset(name for bit, name in _ERROR_BITS.items() if status >> bit & 1)
    layout = data[14] & 0x7F
    if layout in (1, _CARDBUS):
        into.buses = Buses(primary=data[0x18], secondary=data[0x19], subordinate=data[0x1A])
        control = space.word(0x3E)
        into.registers["secondary_reset"] = None if control is None else bool(control & 0x40)
        if layout == 1:
            below = space.word(0x1E) or 0
            into.registers["secondary_status"] = frozenset(
                name for bit, name in _SECONDARY_BITS.items() if below >> bit & 1
            )
            into.registers["windows"] = _windows(data)
    elif layout == 0:
        identity["subsystem_vendor_id"] = space.word(0x2C) or None
        identity["subsystem_id"] = space.word(0x2E) or None
    count = {0: 6, 1: 2, _CARDBUS: 1}.get(layout, 0)
    into.bars = _bars(space, count, memory=bool(command & 2), io=bool(command & 1))


def _windows(data: bytes) -> tuple[Window, ...]:
    """Read what memory a bridge passes on: bases and limits in steps of 1 MiB. 7.5.1.3.8 to .10."""
    windows = []
    for at, prefetchable in ((0x20, False), (0x24, True)):
        base, limit = (int.from_bytes(data[place : place + 2], "little") for place in (at, at + 2))
        first, last = (base & 0xFFF0) << 16, (limit & 0xFFF0) << 16 | 0xFFFFF
        if prefetchable and base & 0xF == 1:
            first |= int.from_bytes(data[0x28:0x2C], "little") << 32
            last |= int.from_bytes(data[0x2C:0x30], "little") << 32
        windows.append(Window.of(first, last, prefetchable=prefetchable))
    return tuple(windows)


def _bars(space: Bytes, count: int, *, memory: bool, io: bool) -> list[Bar]:
    """Read base address registers; sizes are not in configuration space."""
    bars, index = [], 0
    while index < count:
        low = space.dword(0x10 + 4 * index) or 0
        if low == 0xFFFFFFFF:
            low = 0
        if low & 1:
            if low & ~3:
                bars.append(Bar(index, low & ~3, io=True, disabled=not io))
        else:
            wide = low >> 1 & 3 == 2 and index + 1 < count
            high = (space.dword(0x14 + 4 * index) or 0) if wide else 0
            address = (low & ~0xF) | high << 32
            if low or high:
                bars.append(
                    Bar(index, address or None, bits64=wide, prefetchable=bool(low & 8), disabled=not memory)
                )
            index += wide
        index += 1
    return bars


def _kind_without_express(draft: Draft) -> Kind:
    """Name a function without a PCI Express capability by its class and header."""
    if draft.buses is not None:
        return Kind.CONVENTIONAL_BRIDGE
    return Kind.HOST_BRIDGE if (draft.identity["class_code"] or 0) >> 8 == 0x0600 else Kind.CONVENTIONAL


def _capabilities(space: Bytes) -> list[tuple[int, int]]:
    """List capabilities as (identifier, offset). 7.5.1.1.11."""
    found: list[tuple[int, int]] = []
    if not (space.word(6) or 0) & 0x10:
        return found
    seen: set[int] = set()
    offset = space.data[0x14 if space.data[0x0E] & 0x7F == _CARDBUS else 0x34] & ~3
    while offset >= HEADER_BYTES and offset not in seen:
        seen.add(offset)
        entry = space.word(offset)
        if entry is None or entry & 0xFF == 0xFF:
            break
        found.append((entry & 0xFF, offset))
        offset = entry >> 8 & ~3
    return found


def _extended_capabilities(space: Bytes) -> list[tuple[int, int]]:
    """List extended capabilities as (identifier, offset). 7.6.3."""
    found: list[tuple[int, int]] = []
    seen: set[int] = set()
    offset = LEGACY_BYTES
    while offset >= LEGACY_BYTES and offset not in seen:
        seen.add(offset)
        header = space.dword(offset)
        if header is None or header in (0, 0xFFFFFFFF):
            break
        found.append((header & 0xFFFF, offset))
        offset = header >> 20 & ~3
    return found
