"""The slots of a board from the firmware's own table, and from `dmidecode`, which must agree."""

from __future__ import annotations

import tarfile
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from machine_dumps import DUMPS

from lanewise.machine import read, read_bytes
from lanewise.machine.sources.dmidecode import take
from lanewise.machine.sources.smbios import decode

if TYPE_CHECKING:
    from pathlib import Path

    from lanewise.machine.model import PhysicalSlot


def structure(kind: int, body: bytes, *strings: str, handle: int = 0x900) -> bytes:
    """Write a structure with its header and strings. 6.1.2, 6.1.3."""
    text = b"".join(string.encode() + b"\0" for string in strings) or b"\0"
    return bytes([kind, 4 + len(body), handle & 0xFF, handle >> 8]) + body + text + b"\0"


def slot(
    name: str, kind: int, width: int, usage: int, address: tuple[int, int, int, int], more: bytes = b""
) -> bytes:
    """Write a System Slot; `more` is what versions from 3.2 on have behind the address. 7.10."""
    segment, bus, device, function = address
    place = segment.to_bytes(2, "little") + bytes([bus, device << 3 | function])
    return structure(9, bytes([1, kind, width, usage, 4, 0, 0, 0x04, 0x01]) + place + more, name)


OTHER = structure(17, bytes(20), "DIMM_A1", "Example")
END = structure(127, b"")
BOARD = (
    OTHER
    + slot("PCIe Slot 1 ", 0xB6, 0x0B, 0x04, (0, 1, 0, 0))
    + slot("PCIe Slot 2", 0xBD, 0x0D, 0x03, (0, 0xFF, 0, 0))
    + OTHER
    + slot("M2_1", 0x17, 0x0A, 0x04, (0, 3, 2, 0))
    + slot("PCI1", 0x06, 0x05, 0x03, (0, 0, 0x1F, 0))
    + slot("J1", 0xA5, 0x0B, 0x04, (0, 4, 0, 0), bytes([0, 1, *range(5), 5, 0x0D, 0, 0, 0]))
)
PRINTED = """\
Handle 0x0900, DMI type 9, 17 bytes
System Slot Information
	Designation: PCIe Slot 1
	Type: x8 PCI Express 3 x16
	Current Usage: In Use
	Bus Address: 0000:01:00.0

Handle 0x0900, DMI type 9, 17 bytes
System Slot Information
	Designation: PCIe Slot 2
	Type: x16 PCI Express 4 x16
	Current Usage: Available
	Bus Address: 0000:ff:00.0

Handle 0x0900, DMI type 9, 17 bytes
System Slot Information
	Designation: M2_1
	Type: x4 M.2 Socket 3
	Current Usage: In Use
	Bus Address: 0000:03:02.0

Handle 0x0900, DMI type 9, 17 bytes
System Slot Information
	Designation: PCI1
	Type: 32-bit PCI
	Current Usage: Available
	Bus Address: 0000:00:1f.0

Handle 0x0900, DMI type 9, 27 bytes
System Slot Information
	Designation: J1
	Type: x8 PCI Express
	Current Usage: In Use
	Bus Address: 0000:04:00.0
	Data Bus Width: 0
	Peer Devices: 1
	PCI Express Generation: 5
	Slot Physical Width: x16

"""


def test_the_table_says_what_dmidecode_prints_of_it() -> None:
    printed, _ = take(PRINTED.splitlines())
    assert list(decode(BOARD + END)) == printed
    assert [str(known) for known in printed] == ["gen3 x16, x8 wired", "gen4 x16", "x4", "gen5 x16, x8 wired"]


def test_what_comes_after_the_end_is_not_read() -> None:
    assert list(decode(END + BOARD)) == []


def test_structures_of_early_versions_have_no_address() -> None:
    body = bytes([1, 0xA8, 0x0A, 0x04, 3, 1, 0, 0x04])
    (known,) = decode(structure(9, body, "PCIEX4") + END)
    assert (known.name, known.lanes, known.address, known.used) == ("PCIEX4", 4, None, True)
    (nameless,) = decode(structure(9, bytes([7]) + body[1:], "PCIEX4") + END)
    assert nameless.name == "a slot without a name"


@given(st.binary(max_size=400), st.integers(0, len(BOARD)))
def test_damage_ends_the_table(noise: bytes, at: int) -> None:
    slots: list[PhysicalSlot] = [*decode(noise), *decode(BOARD[:at]), *decode(BOARD[:at] + noise)]
    assert all(known.name for known in slots)


class TestSysfs:
    @pytest.fixture
    def copy(self, tmp_path: Path) -> Path:
        with tarfile.open(DUMPS / "qemu.sysfs.tar.gz") as archive:
            archive.extractall(tmp_path, filter="data")
        root = next(folder.parents[2] for folder in tmp_path.rglob("bus/pci/devices"))
        (root / "firmware/dmi/tables").mkdir(parents=True)
        return root

    def test_a_readable_table_puts_its_slots_on_the_machine(self, copy: Path) -> None:
        (copy / "firmware/dmi/tables/DMI").write_bytes(BOARD + END)
        machine = read(copy)
        assert machine.kinds == ("sysfs", "SMBIOS")
        assert [(known.name, known.device and known.device.short) for known in machine.slots[:3]] == [
            ("PCIe Slot 1", "01:00.0"),
            ("PCIe Slot 2", None),
            ("M2_1", "06:00.0"),
        ]
        assert machine["01:00.0"].physical_slot

    def test_without_one_nothing_is_said(self, copy: Path) -> None:
        assert (read(copy).kinds, read(copy).slots) == (("sysfs",), ())

    def test_what_dmidecode_printed_besides_is_not_doubled(self, copy: Path, tmp_path: Path) -> None:
        (copy / "firmware/dmi/tables/DMI").write_bytes(BOARD + END)
        (tmp_path / "slots.txt").write_text(PRINTED)
        assert read(copy, overlays=[tmp_path / "slots.txt"]).slots == read(copy).slots


def test_text_alone_has_none() -> None:
    assert read_bytes((DUMPS / "qemu.vvv").read_bytes()).slots == ()
