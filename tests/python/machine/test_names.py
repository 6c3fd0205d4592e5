"""Names from numbers and numbers from names, with the packaged list and the machine's own."""

from __future__ import annotations

import pytest
from machine_dumps import DUMPS

from lanewise.machine import pci_ids, read
from lanewise.machine.pci_ids import PciIds

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

    def test_says_whose_it_is(self) -> None:
        import gzip

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
