"""Texts that show who is below whom: `lstopo` on the console, ESXi, and `lshw` in other languages.

Forms: hwloc 1.8 to 2.12, ESXi 5.5 to 8.0, lshw B.02.19 with the translations of lshw and of Ubuntu; the names
and numbers are made up.
"""

from __future__ import annotations

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import diagnose
from lanewise.machine import read_bytes
from lanewise.machine.model import Kind, LinkMode, Machine

PLAIN = """\
Machine (251GB total)
  Package L#0
    NUMANode L#0 (P#0 125GB)
    L3 L#0 (35MB)
      L2 L#0 (256KB) + L1d L#0 (32KB) + L1i L#0 (32KB) + Core L#0
        PU L#0 (P#0)
    HostBridge
      PCIBridge
        PCI 01:00.0 (NVMExp)
          Block(Disk) "nvme0n1"
      PCIBridge
        PCIBridge
          PCIBridge
            PCI 08:00.0 (3D)
              CoProc(OpenCL) "opencl0d0"
          PCIBridge
            PCI 09:00.0 (3D)
          PCIBridge
  Package L#1
    NUMANode L#1 (P#1 126GB)
    HostBridge L#5
      PCIBridge
        PCI 81:00.0 (InfiniBand)
          Net "ib0"
          OpenFabrics "mlx5_0"
"""
VERBOSE = """\
Machine L#0 (P#0 local=129GB total=129GB DMIProductName="X" Backend=Linux)
  Package L#0 (P#0 total=63GB CPUModel="x")
    NUMANode L#0 (P#0 local=63GB total=63GB)
    HostBridge L#0 (buses=0000:[80-81])
      PCIBridge L#13 (busid=0000:80:02.0 id=8086:2f04 class=0604(PCIBridge) link=15.75GB/s \
buses=0000:[81-81])
        PCI L#11 (busid=0000:81:00.0 id=144d:a80a class=0108(NVMExp) link=7.88GB/s PCISlot=87-1)
          Block(Disk) L#9 (Size=3710937500 SectorSize=512 LinuxDeviceID=259:2) "nvme1n1"
"""
VERSION_1 = """\
Machine (P#0 total=65861500KB)
  NUMANode L#0 (P#0 local=32925148KB total=32925148KB)
    Socket L#0 (P#0)
    Bridge Host->PCI L#9 (P#2 buses=0000:[80-81])
      Bridge PCI->PCI (P#524320 busid=0000:80:02.0 id=8086:2f04 class=0604(PCI_B) buses=0000:[81-81])
        PCI 8086:2701 (P#528384 busid=0000:81:00.0 class=0108(NVMExp) PCISlot=801)
  NUMANode L#1 (P#1 local=32925148KB)
"""
ESXI = """\
0000:02:00.1
   Address: 0000:02:00.1
   Segment: 0x0000
   Bus: 0x02
   VMkernel Name: vmnic5
   Vendor Name: Intel Corporation
   Vendor ID: 0x8086
   Device ID: 0x1528
   SubVendor ID: 0x103c
   SubDevice ID: 0x192d
   Device Class: 0x0200
   Device Class Name: Ethernet controller
   Programming Interface: 0x00
   Spawned Bus: 0x00
   Module Name: ixgbe
   Slot Description: CPU1 SLOT2 PCI-E 3.0 X4 (IN X8 SLOT)
   Passthru Capable: true
   Parent Device: PCI 0:0:1:1

0000:00:01.1
   Address: 0000:00:01.1
   Segment: 0x0000
   VMkernel Name:
   Vendor ID: 0x8086
   Device ID: 0x6f03
   Device Class: 0x0604
   Spawned Bus: 0x02
   Module Name: None
   Passthru Capable: false
"""
ESXI_TABLE = """\
Segm:Bu:De.F Vend:Dvid Subv:Subd ISA/irq/Vect P M Module       Name
0000:04:00.0 8086:1533 1043:8557 255/   /     A V igbn         vmnic0
0000:06:00.0 1d6a:d108 1d6a:0001 255/   /     A V              vmnic2
0000:00:1f.0 8086:a1c1 1043:8557               A V
"""
ESXI_LSPCI = """\
0000:04:00.0 Network controller Ethernet controller: Intel Corporation I210 Gigabit Connection [vmnic0]
0000:00:1f.2 Mass storage controller SATA controller: Intel Corporation Lynx Point AHCI Controller [vmhba0]
"""
LSHW = """\
     *-pci:0
          {description}: Host bridge
          {product}: Xeon E7 v4/Xeon E5 v4/Xeon E3 v4/Xeon D DMI2
          {vendor}: Intel Corporation
          {physical}: 100
          {bus}: pci@0000:00:00.0
          {version}: 01
        *-pci
             {description}: PCI bridge
             {product}: Xeon E7 v4/Xeon E5 v4/Xeon E3 v4/Xeon D PCI Express Root Port 1
             {vendor}: Intel Corporation
             {physical}: 1
             {bus}: pci@0000:00:01.0
             {version}: 01
             {capabilities}: pci msi pciexpress pm normal_decode bus_master cap_list
             {configuration}: driver=pcieport
           *-network {unclaimed}
                {description}: {interface}
                {product}: I350 Gigabit Network Connection
                {vendor}: Intel Corporation
                {physical}: 0
                {bus}: pci@0000:01:00.0
                {logical}: eno1
                {version}: 01
                {serial}: aa:bb:cc:dd:ee:ff
                {capabilities}: pm msi msix pciexpress bus_master cap_list
                {configuration}: broadcast=yes driver=igb driverversion=5.6.0 firmware=1.63 latency=0
"""
KEYS = ("description", "product", "vendor", "physical", "bus", "logical", "version", "serial")
KEYS += ("capabilities", "configuration", "unclaimed", "interface")
LANGUAGES = {
    "English": "description|product|vendor|physical id|bus info|logical name|version|serial|capabilities|"
    "configuration||Ethernet interface",
    "German": "Beschreibung|Produkt|Hersteller|Physische ID|Bus-Informationen|Logischer Name|Version|"
    "Seriennummer|Fähigkeiten|Konfiguration||Ethernet interface",
    "French": "description|produit|fabricant|identifiant matériel|information bus|nom logique|version|"
    "numéro de série|fonctionnalités|configuration|NON-RÉCLAMÉ|Interface réseau sans fil",
    "Spanish": "descripción|producto|fabricante|id físico|información del bus|nombre lógico|versión|serie|"
    "capacidades|configuración|NO RECLAMADO|Interfaz inalámbrica",
    "Chinese": "描述|产品|供应商|物理 ID|总线信息|逻辑名称|版本|序列号|功能|配置||以太网接口",
}
BUSINFO = """\
Bus info          Device      Class          Description
========================================================
                              system         Server
pci@0000:3b:00.0  enp59s0     network        Ethernet Controller XL710 for 40GbE QSFP+
pci@0000:3f:00.0              network        Ethernet Connection X722
pci@0000:01:00.0  /dev/nvme0  storage        NVMe SSD Controller PM9A1
pci@0000:00:01.0              bridge         Sky Lake-E PCI Express Root Port A
virtio@0          ens3        network        Ethernet interface
"""


def machine_of(text: str) -> Machine:
    return read_bytes(text.encode())


class TestLstopo:
    def test_plain(self) -> None:
        machine = machine_of(PLAIN)
        drive, gpu, nic = machine["01:00.0"], machine["08:00.0"], machine["81:00.0"]
        assert machine.kinds == ("lstopo",)
        assert (drive.is_nvme, gpu.is_gpu, nic.interfaces) == (True, True, ("ib0", "mlx5_0"))
        assert [f.numa_node for f in (drive, gpu, nic)] == [0, 0, 1]
        assert len(machine.switches) == 1
        assert machine.root_port(gpu) == machine.root_port(machine["09:00.0"])
        assert all(f.implied for f in machine if f.is_bridge)
        assert not diagnose(machine, cost=False).examined

    def test_verbose(self) -> None:
        machine = machine_of(VERBOSE)
        drive = machine["81:00.0"]
        assert (drive.parent, drive.numa_node) == (machine["80:02.0"].address, 0)
        assert (drive.link.bandwidth_gb_s, drive.physical_slot) == (7.88, "87-1")
        assert (drive.identity.device_id, machine["80:02.0"].identity.device_id) == (0xA80A, 0x2F04)
        assert machine.role(machine["80:02.0"]) is Kind.ROOT_PORT

    def test_version_1(self) -> None:
        machine = machine_of(VERSION_1)
        drive = machine["81:00.0"]
        assert (drive.identity.device_id, drive.is_nvme, drive.numa_node) == (0x2701, True, 0)
        assert drive.parent == machine["80:02.0"].address

    @pytest.mark.parametrize(
        "text", ["Machine (8GB)\n  HostBridge\n    PCI 8086:1521\n", "PCI Express\nPCIBridge of the board\n"]
    )
    def test_without_addresses_it_is_refused(self, text: str) -> None:
        with pytest.raises(InputError):
            machine_of(text)


class TestEsxi:
    def test_list(self) -> None:
        machine = machine_of(ESXI)
        nic = machine["02:00.1"]
        assert (nic.is_nic, nic.driver, nic.interfaces) == (True, "ixgbe", ("vmnic5",))
        assert (nic.parent, nic.identity.subsystem_id) == (machine["00:01.1"].address, 0x192D)
        assert nic.physical_slot == "CPU1 SLOT2 PCI-E 3.0 X4 (IN X8 SLOT)"
        assert (machine["00:01.1"].driver, machine["00:01.1"].driver_known) == (None, True)
        assert not diagnose(machine, cost=False).examined

    def test_table(self) -> None:
        machine = machine_of(ESXI_TABLE)
        assert [(f.address.short, f.identity.device_id, f.driver, f.interfaces) for f in machine] == [
            ("00:1f.0", 0xA1C1, None, ()),
            ("04:00.0", 0x1533, "igbn", ("vmnic0",)),
            ("06:00.0", 0xD108, None, ("vmnic2",)),
        ]

    def test_its_lspci_says_each_class_twice(self) -> None:
        machine = machine_of(ESXI_LSPCI)
        assert machine["04:00.0"].is_nic
        assert machine["00:1f.2"].is_class(0x0106)


class TestLshw:
    @pytest.mark.parametrize("language", LANGUAGES)
    def test_any_language(self, language: str) -> None:
        words = dict(zip(KEYS, LANGUAGES[language].split("|"), strict=True))
        machine = machine_of(LSHW.format(**words))
        nic, port = machine["01:00.0"], machine["00:01.0"]
        assert machine.kinds == ("lshw",)
        assert nic.parent == port.address
        assert (nic.driver, nic.firmware, nic.interfaces) == ("igb", "1.63", ("eno1",))
        assert (nic.name, nic.is_nic) == ("Intel Corporation I350 Gigabit Network Connection", True)
        assert (nic.registers.express, port.is_class(0x0604)) == (True, True)
        assert machine["00:00.0"].is_class(0x0600)

    def test_table(self) -> None:
        machine = machine_of(BUSINFO)
        assert [f.address.short for f in machine] == ["00:01.0", "01:00.0", "3b:00.0", "3f:00.0"]
        nic, drive = machine["3b:00.0"], machine["01:00.0"]
        assert (nic.is_nic, nic.interfaces, drive.is_nvme) == (True, ("enp59s0",), True)
        assert nic.identity.device_name == "Ethernet Controller XL710 for 40GbE QSFP+"
        assert all(f.link.status == LinkMode() for f in machine)

    def test_short_has_no_addresses_and_says_what_has(self) -> None:
        text = (
            "H/W path       Device      Class          Description\n/0/100/1c.1/0  wlan0   network   RT5390\n"
        )
        with pytest.raises(InputError, match="lshw -businfo"):
            machine_of(text)

    def test_what_esxcfg_info_prints_is_not_read_and_says_what_is(self) -> None:
        text = "   \\==+Hardware Info : \n      |----Product Name.......................PowerEdge R630\n"
        with pytest.raises(InputError, match="esxcli hardware pci list"):
            machine_of(text)
        with pytest.raises(InputError, match="has nothing in it that is read as a PCI device"):
            machine_of("# a page\n\n| a | b |\n|------|-----|\n| 1... | 2 |\n")


@pytest.mark.parametrize("text", [PLAIN, VERBOSE, VERSION_1, ESXI, ESXI_TABLE, BUSINFO])
def test_what_breaks_off_never_breaks_us(text: str) -> None:
    for end in range(0, len(text), max(len(text) // 40, 1)):
        try:
            machine_of(text[:end])
        except InputError:
            continue


# As the web pages of issues show trees of `lspci -tv` that stand between paragraphs: runs of blanks are one.
COLLAPSED = r"""
-[0000:00]-+-00.0 Host Bridge
           +-01.0-[01]--+-00.0 GPU
           | \-00.1 Audio Device of the GPU
           \-1d.0-[03]----00.0 NVMe SSD
"""


def test_a_tree_that_lost_blanks_keeps_the_functions_of_a_device_together() -> None:
    tree = {str(f.address): f.parent and str(f.parent) for f in read_bytes(COLLAPSED.encode())}
    assert tree["0000:01:00.1"] == tree["0000:01:00.0"] == "0000:00:01.0"
    assert "0000:00:00.1" not in tree
    whole = COLLAPSED.replace("| \\-", "|            \\-")
    assert {str(f.address): f.parent and str(f.parent) for f in read_bytes(whole.encode())} == tree
