"""Names from numbers and numbers from names, with the packaged list and the machine's own."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from machine_dumps import DUMPS
from typer.testing import CliRunner

from lanewise.cli.commands import app
from lanewise.errors import InputError
from lanewise.machine import pci_ids, read
from lanewise.machine.pci_ids import PciIds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LIST = """\
# A comment.
1234  Example Corporation
\t0001  Example Card
# A comment between devices.
\t0002  Other Card
\t\t1234 0001  A subsystem
1b36  Red Hat, Inc.
\t0008  QEMU PCIe Host bridge
6900  Red Hat, Inc.

# Classes
C 01  Mass storage controller
\t08  Non-Volatile memory controller
\t\t02  NVM Express
C 02  Network controller
\t00  Ethernet controller
"""


class TestLookUp:
    def test_devices_behind_a_comment(self) -> None:
        ids = PciIds(LIST.encode())
        assert ids.vendor(0x1234) == "Example Corporation"
        assert ids.device(0x1234, 2) == "Other Card"
        assert ids.device(0x1234, 3) is None
        assert ids.device(0x9999, 1) is None

    def test_a_subsystem_is_no_device(self) -> None:
        ids = PciIds(LIST.encode())
        assert ids.device_by_name(0x1234, "A subsystem") is None
        assert ids.device_by_name(0x1234, "Other Card") == 2

    @pytest.mark.parametrize("name", ["Example Card", "ExampleCard", "Example  Card"])
    def test_lists_of_other_years_have_other_blanks(self, name: str) -> None:
        assert PciIds(LIST.encode()).device_by_name(0x1234, name) == 1

    def test_a_name_that_two_devices_have_but_for_blanks_is_nobodys(self) -> None:
        twice = LIST.replace("0002  Other Card", "0002  Exam pleCard")
        assert PciIds(twice.encode()).device_by_name(0x1234, "ExampleCard") is None

    def test_classes(self) -> None:
        ids = PciIds(LIST.encode())
        assert ids.class_name(0x0108) == "Non-Volatile memory controller"
        assert ids.class_name(0x0180) == "Mass storage controller"
        assert ids.class_name(0x7700) is None
        assert ids.class_by_name("Ethernet controller") == 0x0200
        assert ids.class_by_name("NVM Express") is None

    def test_a_vendor_with_two_numbers(self) -> None:
        ids = PciIds(LIST.encode())
        assert ids.split("Red Hat, Inc. QEMU PCIe Host bridge") == (
            [0x1B36, 0x6900],
            "Red Hat, Inc.",
            "QEMU PCIe Host bridge",
        )
        assert ids.split("Nobody Knows Card") == ([], None, "Nobody Knows Card")

    def test_former_names(self) -> None:
        assert PciIds(LIST.encode()).split("PLX Technology, Inc. PEX 8747")[0] == [0x10B5]


class TestPackagedList:
    def test_knows_vendors_devices_and_classes(self) -> None:
        ids = pci_ids.packaged()
        assert ids.vendor(0x10DE) == "NVIDIA Corporation"
        assert ids.device(0x8086, 0x10D3) == "82574L Gigabit Network Connection"
        assert ids.class_name(0x0604) == "PCI bridge"

    @pytest.mark.parametrize(
        ("vendor", "device", "words"),
        [
            (0x10DE, 0x26BA, "[L20]"),
            (0x1002, 0x74A1, "[Instinct MI300X]"),
            (0x10DE, 0x2901, "[B200]"),
            (0x10DE, 0x2BB5, "[RTX PRO 6000 Blackwell Server Edition]"),
            (0x15B3, 0x1023, "[ConnectX-8]"),
        ],
    )
    def test_knows_devices_of_these_years(self, vendor: int, device: int, words: str) -> None:
        assert words in (pci_ids.packaged().device(vendor, device) or "")

    def test_says_of_when_it_is(self) -> None:
        licence = pci_ids.PACKAGED.with_suffix("").with_suffix(".ids.LICENSE").read_text()
        assert pci_ids.packaged().version >= "2026.07.31"
        assert f"version {pci_ids.packaged().version}" in licence

    def test_says_whose_it_is(self) -> None:
        assert "3-clause BSD License" in gzip.decompress(pci_ids.PACKAGED.read_bytes())[:2000].decode()
        assert "Martin Mares" in pci_ids.PACKAGED.with_suffix("").with_suffix(".ids.LICENSE").read_text()

    @pytest.mark.parametrize("name", ["qemu.vvv", "qemu.xxxx", "qemu.nnDvvv", "qemu.sysfs.tar.gz"])
    def test_serves_where_the_machine_has_none(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(pci_ids, "ON_THE_MACHINE", ())
        pci_ids.load.cache_clear()
        try:
            machine = read(DUMPS / name)
        finally:
            pci_ids.load.cache_clear()
        assert machine["04:00.0"].name == "Intel Corporation 82574L Gigabit Network Connection"
        assert machine["04:00.0"].identity.vendor_id == 0x8086
        assert machine["04:00.0"].identity.device_id == 0x10D3


def dated(version: str, name: str = "Card of another year") -> bytes:
    head = f"#\n#\tList of PCI IDs\n#\n#\tVersion: {version}\n#\n"
    return f"{head}8086  Intel Corporation\n\t10d3  {name}\nC 02  Network controller\n".encode()


class TestOtherLists:
    @pytest.fixture(autouse=True)
    def forget(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
        monkeypatch.setenv("LANEWISE_PCI_IDS", "")
        monkeypatch.setattr(pci_ids, "ON_THE_MACHINE", (tmp_path / "none", tmp_path / "pci.ids"))
        pci_ids.load.cache_clear()
        yield
        pci_ids.load.cache_clear()

    def test_a_newer_one_on_the_machine_is_used_and_said(self, tmp_path: Path) -> None:
        (tmp_path / "pci.ids").write_bytes(dated("2999.01.01"))
        machine = read(DUMPS / "qemu.sysfs.tar.gz")
        assert machine["04:00.0"].name == "Intel Corporation Card of another year"
        assert f"names are from {tmp_path / 'pci.ids'}, version 2999.01.01" in machine.notes

    @pytest.mark.parametrize(
        "content", [dated("2019.01.01"), b"", b"\x1f\x8b broken", b"# Version: 2999.01.01\n"]
    )
    def test_older_and_damaged_ones_are_not(self, tmp_path: Path, content: bytes) -> None:
        (tmp_path / "pci.ids").write_bytes(content)
        machine = read(DUMPS / "qemu.sysfs.tar.gz")
        assert machine["04:00.0"].name == "Intel Corporation 82574L Gigabit Network Connection"
        assert not any("names are from" in note for note in machine.notes)

    @pytest.mark.parametrize("packed", [False, True])
    def test_the_one_that_is_named_is_used_whatever_its_age(self, tmp_path: Path, packed: bool) -> None:
        content = dated("2001.01.01")
        (tmp_path / "own").write_bytes(gzip.compress(content) if packed else content)
        result = CliRunner().invoke(
            app, ["--pci-ids", str(tmp_path / "own"), "scan", str(DUMPS / "qemu.sysfs.tar.gz")]
        )
        assert result.exit_code == 0
        assert "Card of another year" in result.stdout

    @pytest.mark.parametrize("content", [b"lspci", gzip.compress(dated("2024.01.01"), mtime=0)[:60], None])
    def test_what_is_named_and_no_list_is_refused(self, tmp_path: Path, content: bytes | None) -> None:
        if content is not None:
            (tmp_path / "own").write_bytes(content)
        with pytest.raises(InputError, match="list of PCI IDs"):
            pci_ids.use(tmp_path / "own")
