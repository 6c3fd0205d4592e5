"""Reads blocks of pcapng, and the record before each packet, as the reference page tells them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

RECORD = struct.Struct(">BBHHBBQQQQQHHHHHHHH")


@dataclass
class Interface:
    link_type: int
    options: dict[int, bytes]


@dataclass
class Packet:
    interface: int
    ns: int
    options: dict[int, bytes]
    kind: int
    flags: int
    channel: int
    at_ticks: int
    span_ticks: int
    issued_at_ticks: int
    ready_at_ticks: int
    address: int
    sequence: int | None
    tag: int | None
    length_bytes: int | None
    header_credits: int | None
    data_credits: int | None
    queue_depth: int | None
    link: int
    waits: list[tuple[int, int]]
    content: bytes


def read(path: Path) -> tuple[dict[int, bytes], list[Interface], list[Packet]]:
    """Return the options of the section, interfaces and packets."""
    data, at = path.read_bytes(), 0
    section: dict[int, bytes] = {}
    interfaces: list[Interface] = []
    packets: list[Packet] = []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert length % 4 == 0
        assert struct.unpack_from("<I", data, at + length - 4) == (length,)
        body = data[at + 8 : at + length - 4]
        at += length
        if kind == 0x0A0D0D0A:
            assert struct.unpack_from("<IHHQ", body) == (0x1A2B3C4D, 1, 0, 2**64 - 1)
            section = _options(body[16:])
        elif kind == 1:
            link_type, zero, most = struct.unpack_from("<HHI", body)
            assert (zero, most) == (0, 0)
            interfaces.append(Interface(link_type, _options(body[8:])))
        else:
            assert kind == 6
            packets.append(_packet(body))
    return section, interfaces, packets


def _packet(body: bytes) -> Packet:
    interface, high, low, captured, length = struct.unpack_from("<IIIII", body)
    assert captured == length
    data = body[20 : 20 + length]
    options = _options(body[20 + (length + 3) // 4 * 4 :])
    version, kind, size, flags, channel, parts, *numbers = RECORD.unpack_from(data)
    assert version == 1
    assert size == RECORD.size + 9 * parts
    waits = [struct.unpack_from(">BQ", data, RECORD.size + 9 * part) for part in range(parts)]
    times, some, (link, zero) = numbers[:5], numbers[5:11], numbers[11:]
    assert zero == 0
    maybe = [None if number == 0xFFFF else number for number in some]
    return Packet(
        interface, high << 32 | low, options, kind, flags, channel, *times, *maybe, link, waits, data[size:]
    )


def _options(data: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while True:
        code, length = struct.unpack_from("<HH", data, at)
        if code == 0:
            assert (length, at + 4) == (0, len(data))
            return found
        found[code] = data[at + 4 : at + 4 + length]
        at += 4 + (length + 3) // 4 * 4
