"""What goes on top of a machine: `dmidecode`, `nvme list`, `ethtool -i`."""

from __future__ import annotations

import io
import json
import tarfile
from typing import TYPE_CHECKING

import pytest
from machine_dumps import DUMPS

from lanewise.errors import InputError
from lanewise.health.doctor import diagnose
from lanewise.machine import read, read_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

    from lanewise.machine.model import Machine

LSPCI = (DUMPS / "qemu.nnDvvv").read_text()
"""NVMe at 01:00.0 (below 00:01.0) and at 06:00.0; network adapters at 04:00.0 and 81:00.0."""

SLOT = """\
Handle 0x{handle:04X}, DMI type 9, 24 bytes
System Slot Information
	Designation: {name}
	Type: {kind}
	Current Usage: {usage}
	Length: Long
	ID: {handle}
	Characteristics:
		3.3 V is provided
		PME signal is supported
	Bus Address: {address}
	Data Bus Width: 0
	Peer Devices: 0

"""
HEAD = "# dmidecode 3.5\nGetting SMBIOS data from sysfs.\nSMBIOS 3.5.0 present.\n\n"
MEMORY = (
    "Handle 0x1100, DMI type 17, 92 bytes\nMemory Device\n\tTotal Width: 72 bits\n\tData Width: 64 bits\n\n"
)


def slots(*described: tuple[str, str, str, str]) -> str:
    """Write what `dmidecode` prints of slots: name, type, usage and address of each."""
    return (
        HEAD
        + MEMORY
        + "".join(
            SLOT.format(handle=0x900 + number, name=name, kind=kind, usage=usage, address=address)
            for number, (name, kind, usage, address) in enumerate(described)
        )
    )


BOARD = slots(
    ("PCIe Slot 1", "x8 PCI Express 3 x16", "In Use", "0000:01:00.0"),
    ("PCIe Slot 2", "x16 PCI Express 4 x16", "Available", "0000:ff:00.0"),
    ("M2_1", "x4 M.2 Socket 3", "In Use", "0000:03:02.0"),
    ("PCI1", "32-bit PCI", "Available", "0000:00:1f.0"),
)


def table(*rows: str) -> str:
    """Write what `nvme list` prints: cells, given between bars, below headings and a rule."""
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    cells.insert(1, ["-" * width for width in widths])
    lines = (
        " ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells
    )
    return "\n".join(lines) + "\n"


def plain(second: str) -> str:
    """Write a list of two drives, the second of a model."""
    return table(
        "Node | SN | Model | Namespace | Usage | Format | FW Rev",
        "/dev/nvme0n1 | S001 | Samsung SSD 990 PRO | 1 | 1.00  TB /   1.00  TB | 512   B +  0 B | 4B2QJXD7",
        f"/dev/nvme1n1 | S002 | {second} | 1 | 1.00  TB /   1.00  TB | 512   B +  0 B | 4B2QJXD7",
    )


LOUD = table(
    "Device | SN | MN | FR | TxPort | Address | Slot | Subsystem | Namespaces",
    "nvme0 | S001 | KIOXIA KCD6XLUL3T84 | 0105 | pcie | 0000:06:00.0 | | nvme-subsys0 | nvme0n1",
    "nvme1 | S002 | Samsung SSD 990 PRO | 4B2QJXD7 | pcie | 0000:01:00.0 | | nvme-subsys1 | nvme1n1",
    "nvme2 | S003 | Linux | 6.8.0 | tcp | traddr=192.0.2.1 | | nvme-subsys2 | nvme2n1",
)
ADAPTER = """\
$ ethtool -i ens5f0
driver: mlx5_core
version: 6.8.0
firmware-version: 22.39.1002 (MT_0000000359)
expansion-rom-version:{blank}
bus-info: 0000:81:00.0
supports-statistics: yes
supports-priv-flags: yes
""".format(blank=" ")
BRIDGE = "driver: bridge\nversion: 2.3\nfirmware-version: N/A\nexpansion-rom-version: \nbus-info: N/A\n"


def beside(*texts: str) -> Machine:
    """Read texts pasted one after the other behind `lspci`."""
    return read_bytes("\n".join([LSPCI, *texts]).encode())


class TestSlots:
    def test_are_those_of_pci_express_free_ones_among_them(self) -> None:
        machine = beside(BOARD)
        assert [(s.name, s.lanes, s.connector_lanes, s.generation, s.used) for s in machine.slots] == [
            ("PCIe Slot 1", 8, 16, 3, True),
            ("PCIe Slot 2", 16, 16, 4, False),
            ("M2_1", 4, None, None, True),
        ]
        assert machine.kinds == ("lspci text", "dmidecode")

    def test_hold_the_device_whose_address_they_have_or_that_of_its_port(self) -> None:
        machine = beside(BOARD)
        assert [slot.device and slot.device.short for slot in machine.slots] == ["01:00.0", None, "06:00.0"]
        assert machine["01:00.0"].physical_slot == "PCIe Slot 1"
        slot = machine.slot_of(machine["06:00.0"])
        assert slot is not None
        assert slot.name == "M2_1"
        assert machine.slot_of(machine["04:00.0"]) is None

    def test_a_card_with_a_switch_is_in_the_slot_with_all_behind_it(self) -> None:
        machine = beside(slots(("RISER", "x16 PCI Express 4 x16", "In Use", "0000:00:02.0")))
        slot = machine.slot_of(machine["06:00.0"])
        assert slot is not None
        assert slot.device == machine["02:00.0"].address

    def test_the_lines_are_understood_and_what_lspci_says_stays(self) -> None:
        machine, alone = beside(BOARD), read_bytes(LSPCI.encode())
        assert machine.not_understood.count == 0
        assert {f.address: f.registers for f in machine} == {f.address: f.registers for f in alone}

    @pytest.mark.parametrize(
        "address",
        ["0000:00:00.0", "0000:7f:00.0", "0000:ff:1f.7", "ffff:ff:1f.7", "nonsense", "0000:00:1f.3"],
    )
    def test_an_address_of_the_chipset_or_of_nothing_is_of_no_device(self, address: str) -> None:
        machine = beside(slots(("SLOT9", "x8 PCI Express 3 x8", "Available", address)))
        assert [(slot.name, slot.device) for slot in machine.slots] == [("SLOT9", None)]
        assert not any(f.physical_slot == "SLOT9" for f in machine)

    def test_old_firmware_counts_bits_where_lanes_are_meant(self) -> None:
        (slot,) = beside(slots(("PEG Slot", "32-bit PCI Express", "In Use", "0000:01:00.0"))).slots
        assert (slot.kind, slot.lanes, slot.device is not None) == ("PCI Express", None, True)

    def test_two_slots_with_one_address_are_not_told_apart(self) -> None:
        one = ("x8 PCI Express 3 x8", "In Use", "0000:01:00.0")
        assert [slot.device for slot in beside(slots(("A", *one), ("B", *one))).slots] == [None, None]

    def test_newer_firmware_says_size_and_generation_apart(self) -> None:
        text = slots(("J1", "x8 PCI Express", "In Use", "0000:01:00.0")).replace(
            "\tPeer Devices: 0\n",
            "\tPeer Devices: 0\n\tPCI Express Generation: 5\n\tSlot Physical Width: x16\n",
        )
        (slot,) = beside(text).slots
        assert (slot.lanes, slot.connector_lanes, slot.generation) == (8, 16, 5)
        assert str(slot) == "gen5 x16, x8 wired"

    def test_names_are_found_where_lspci_lists_functions_and_no_more(self) -> None:
        bare = "\n".join(line for line in LSPCI.splitlines() if line[:1].isdigit())
        machine = read_bytes(f"{bare}\n\n{BOARD}".encode())
        assert machine["01:00.0"].physical_slot == "PCIe Slot 1"

    def test_beside_lshw(self) -> None:
        node = '{"businfo": "pci@0000:01:00.0", "description": "NVMe device", "handle": "PCI:0000:01:00.0"}'
        machine = read_bytes(f"[{node}]\n\n{BOARD}".encode())
        assert machine.kinds == ("lshw", "dmidecode")
        assert machine["01:00.0"].physical_slot == "PCIe Slot 1"

    def test_other_structures_are_nothing_that_was_not_understood(self) -> None:
        machine = beside(HEAD + MEMORY)
        assert (machine.kinds, machine.slots, machine.not_understood.count) == (("lspci text",), (), 0)

    def test_a_name_of_the_kernel_stays(self) -> None:
        text = LSPCI.replace("0000:01:00.0 ", "0000:01:00.0 ", 1)
        at = text.index("\n", text.index("0000:01:00.0 ")) + 1
        machine = read_bytes(f"{text[:at]}\tPhysical Slot: 7\n{text[at:]}\n{BOARD}".encode())
        assert machine["01:00.0"].physical_slot == "7"

    def test_the_doctor_names_a_free_slot_that_is_better(self) -> None:
        port = (
            "00:01.0 PCI bridge: Intel Corporation Device 0001 (prog-if 00 [Normal decode])\n"
            "\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0\n"
            "\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00\n"
            "\t\tLnkCap:\tPort #1, Speed 8GT/s, Width x8, ASPM not supported\n"
            "\t\tLnkSta:\tSpeed 8GT/s, Width x8\n"
            "01:00.0 Ethernet controller: Mellanox Technologies MT2892 Family [ConnectX-6 Dx]\n"
            "\tCapabilities: [40] Express (v2) Endpoint, MSI 00\n"
            "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM not supported\n"
            "\t\tLnkSta:\tSpeed 8GT/s, Width x8\n\n"
        )
        found = diagnose(read_bytes((port + BOARD).encode()), cost=False).findings
        (finding,) = [f for f in found if f.rule == "device-above-slot"]
        assert "dmidecode: PCIe Slot 1: gen3 x16, x8 wired" in finding.evidence
        assert "PCIe Slot 2 (gen4 x16)" in finding.fix
        worse = BOARD.replace("x16 PCI Express 4 x16", "x4 PCI Express 4 x4")
        found = diagnose(read_bytes((port + worse).encode()), cost=False).findings
        (finding,) = [f for f in found if f.rule == "device-above-slot"]
        assert "Slot 2" not in finding.fix

    def test_scan_lists_them(self, lanewise: Callable[..., Result], tmp_path: Path) -> None:
        (tmp_path / "slots.txt").write_text(BOARD)
        result = lanewise("scan", DUMPS / "qemu.vvv", "--with", tmp_path / "slots.txt")
        assert "PCIe Slot 1  gen3 x16, x8 wired  01:00.0 QEMU NVM Express Controller" in result.stdout
        assert "PCIe Slot 2  gen4 x16            free" in result.stdout
        assert max(map(len, result.stdout.splitlines())) <= 100


class TestDrives:
    def test_addresses_tell_them(self) -> None:
        machine = beside(LOUD)
        assert (machine["06:00.0"].model, machine["06:00.0"].firmware) == ("KIOXIA KCD6XLUL3T84", "0105")
        assert machine["01:00.0"].model == "Samsung SSD 990 PRO"
        assert machine["01:00.0"].interfaces == ("nvme1",)
        assert machine.notes == ()
        assert machine.not_understood.count == 0

    def test_rows_narrower_than_their_heading(self) -> None:
        heading, rule, *rows = LOUD.splitlines()
        wide = [line[:6] + filler * 7 + line[6:] for line, filler in ((heading, " "), (rule, "-"))]
        machine = beside("\n".join([*wide, *rows]) + "\n")
        assert (machine["06:00.0"].model, machine["06:00.0"].firmware) == ("KIOXIA KCD6XLUL3T84", "0105")
        assert (machine["01:00.0"].model, machine["01:00.0"].interfaces) == (
            "Samsung SSD 990 PRO",
            ("nvme1",),
        )

    def test_names_tell_them_where_the_source_knows_names(self, tmp_path: Path) -> None:
        (tmp_path / "nvme.txt").write_text(plain("KIOXIA KCD6XLUL3T84"))
        machine = read(DUMPS / "qemu.sysfs.tar.gz", overlays=[tmp_path / "nvme.txt"])
        (first,) = (f for f in machine if "nvme0" in f.interfaces)
        assert (first.address.short, first.model) == ("01:00.0", "QEMU NVMe Ctrl")
        assert "nvme list" in machine.kinds

    def test_drives_of_one_model_need_no_names(self) -> None:
        machine = beside(plain("Samsung SSD 990 PRO"))
        assert {f.model for f in machine if f.is_nvme} == {"Samsung SSD 990 PRO"}

    def test_a_table_that_lost_its_rule(self) -> None:
        heading, _, *rows = plain("Samsung SSD 990 PRO").splitlines()
        for between in ("", "\n"):
            machine = beside("\n".join(["$ nvme list", heading + between, *rows]))
            assert {(f.model, f.firmware) for f in machine if f.is_nvme} == {
                ("Samsung SSD 990 PRO", "4B2QJXD7")
            }

    def test_others_cannot_be_told_apart_and_that_is_said(self) -> None:
        machine = beside(plain("KIOXIA KCD6XLUL3T84"))
        assert {f.model for f in machine if f.is_nvme} == {None}
        assert any("nvme list -v" in note for note in machine.notes)

    def test_json_plain_and_verbose(self) -> None:
        flat = {
            "Devices": [
                {"NameSpace": 1, "DevicePath": f"/dev/nvme{n}n1", "Firmware": "1.0", "ModelNumber": "Drive X"}
                for n in range(2)
            ]
        }
        deep = {
            "Devices": [
                {
                    "HostNQN": "nqn.example",
                    "Subsystems": [
                        {
                            "Subsystem": "nvme-subsys0",
                            "Controllers": [
                                {
                                    "Controller": "nvme0",
                                    "ModelNumber": "Drive Y",
                                    "Firmware": "2.0",
                                    "Transport": "pcie",
                                    "Address": "0000:06:00.0",
                                    "Namespaces": [{"NameSpace": "nvme0n1"}],
                                }
                            ],
                        }
                    ],
                }
            ]
        }
        machine = beside(json.dumps(flat, indent=2))
        assert {f.model for f in machine if f.is_nvme} == {"Drive X"}
        assert machine.not_understood.count == 0
        machine = beside(json.dumps(deep))
        assert (machine["06:00.0"].model, machine["01:00.0"].model) == ("Drive Y", None)

    def test_damaged_json_is_no_list(self) -> None:
        text = '{"Devices": [{"ModelNumber": "X", "DevicePath": "/dev/nvme0n1"'
        assert {f.model for f in beside(text) if f.is_nvme} == {None}
        deep = '{"Devices": ' + "[" * 100_000 + '"ModelNumber"'
        assert len(beside(deep)) == len(beside())


class TestAdapters:
    def test_driver_firmware_and_name(self) -> None:
        text = LSPCI.replace("\tKernel driver in use: e1000e\n", "")
        nic = read_bytes(f"{text}\n{ADAPTER}{BRIDGE}".encode())["81:00.0"]
        assert (nic.firmware, nic.interfaces) == ("22.39.1002 (MT_0000000359)", ("ens5f0",))

    def test_several_without_anything_between_and_without_a_command(self) -> None:
        one = ADAPTER.partition("\n")[2]
        machine = beside(one + BRIDGE + one.replace("81:00.0", "04:00.0").replace("22.39", "20.36"))
        assert machine["81:00.0"].firmware == "22.39.1002 (MT_0000000359)"
        assert machine["04:00.0"].firmware == "20.36.1002 (MT_0000000359)"
        assert machine["04:00.0"].interfaces == ()
        assert machine.not_understood.count == 0


class TestTogether:
    def test_all_in_one_file(self) -> None:
        machine = beside(BOARD, LOUD, ADAPTER)
        assert machine.kinds == ("lspci text", "dmidecode", "nvme list", "ethtool")
        assert machine.not_understood.count == 0

    def test_in_an_archive_with_and_without_lspci(self) -> None:
        members = {"report/dmidecode": BOARD, "report/sos_commands/nvme/nvme_list_-v": LOUD}
        file = io.BytesIO()
        with (
            tarfile.open(DUMPS / "qemu.sysfs.tar.gz") as source,
            tarfile.open(fileobj=file, mode="w") as both,
        ):
            for member in source:
                both.addfile(member, source.extractfile(member) if member.isfile() else None)
            for name, text in members.items():
                info = tarfile.TarInfo(name)
                info.size = len(text)
                both.addfile(info, io.BytesIO(text.encode()))
        machine = read_bytes(file.getvalue())
        assert machine.kinds == ("sysfs", "dmidecode", "nvme list")
        assert [slot.name for slot in machine.slots] == ["PCIe Slot 1", "PCIe Slot 2", "M2_1"]

    @pytest.mark.parametrize("text", [BOARD, LOUD, ADAPTER], ids=["dmidecode", "nvme list", "ethtool"])
    def test_alone_they_are_no_machine(self, text: str) -> None:
        with pytest.raises(InputError, match="beside 'lspci -vvv'"):
            read_bytes(text.encode())
