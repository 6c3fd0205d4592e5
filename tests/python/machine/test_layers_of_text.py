"""Texts that name some functions and tell of them: `inxi`, link files, AMD's tools, macOS, Talos, Redfish.

Forms are those that the tools print (`inxi` 2.3 to 3.3.38, ROCm 4.3 to 7.2, macOS 10.13 to 15, Talos 1.5,
Redfish of AMI, Dell and HPE); values are made up.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import diagnose
from lanewise.machine import read, read_bytes
from lanewise.machine.model import LinkMode

if TYPE_CHECKING:
    from pathlib import Path

    from lanewise.machine.model import Machine

INXI = """\
Graphics:
  Device-1: ASPEED Graphics Family vendor: Super Micro driver: ast v: kernel ports: active: VGA-1
    empty: none bus-ID: 04:00.0 chip-ID: 1a03:2000 class-ID: 0300
  Device-2: NVIDIA GA102GL [A40] driver: nvidia v: 580.82.09 alternate: nvidiafb,nouveau
    arch: Ampere process: TSMC n7 (7nm) built: 2020-2023 pcie: gen: 1
    speed: 2.5 GT/s lanes: 16 link-max: gen: 4 speed: 16 GT/s bus-ID: ca:00.0 chip-ID: 10de:2235
    class-ID: 0302
  Device-3: Webcam type: USB driver: uvcvideo bus-ID: 1-1.6:6 chip-ID: 5986:02d2 class-ID: 0e02
  Display: unspecified server: N/A driver: gpu: ast tty: 80x40
Network:
  Device-1: QLogic FastLinQ QL41000 vendor: Gigabyte driver: qede v: kernel
    pcie: gen: 3 speed: 8 GT/s lanes: 4 link-max: lanes: 8 port: N/A bus-ID: 0b:00.0
    chip-ID: 1077:8070 class-ID: 0200
  IF: eno1 state: up speed: 10000 Mbps duplex: full mac: b4:2e:99:3f:74:7c
  Device-2: Intel 82599ES 10-Gigabit driver: ixgbe v: kernel pcie: gen: 2
    speed: 5 GT/s lanes: 8 port: 7020 bus-ID: 18:00.0 chip-ID: 8086:10fb class-ID: 0200
  Device-3: Broadcom BCM4360 driver: N/A modules: bcma pcie: speed: Unknown lanes: 63 link-max: gen: 1
    speed: 2.5 GT/s bus-ID: 01:00.0 chip-ID: 14e4:43a0 class-ID: 0280
Drives:
  ID-1: /dev/nvme0n1 maj-min: 259:3 vendor: Samsung speed: 63.2 Gb/s lanes: 4
"""
OLD_INXI = """\
Graphics:  Card-1: Intel 2nd Generation Core Processor Family Integrated Graphics Controller
           bus-ID: 00:02.0 chip-ID: 8086:0116
           Card-2: Advanced Micro Devices [AMD/ATI] Whistler [Radeon HD 6730M/6770M/7690M XT]
           bus-ID: 01:00.0 chip-ID: 1002:6740
           Display Server: X.Org 1.17.4 drivers: intel (unloaded: modesetting,fbdev,vesa)
"""

SYS = "/sys/bus/pci/devices/0000:01:00.0"
FILES = {
    "current_link_speed": "8.0 GT/s PCIe",
    "current_link_width": "4",
    "max_link_speed": "16.0 GT/s PCIe",
    "max_link_width": "4",
}
TAIL = "".join(f"==> {SYS}/{name} <==\n{value}\n\n" for name, value in FILES.items())
GREP = "".join(f"{SYS}/{name}:{value}\n" for name, value in FILES.items())
WAY = "/sys/devices/pci0000:00/0000:00:01.0"
TREE = (
    "".join(
        f"{WAY}/{folder}{name}:{value}\n"
        for folder, width in (("", "4"), ("0000:01:00.0/", "4"))
        for name, value in {**FILES, "max_link_width": "8" if folder == "" else width}.items()
    )
    + f"{WAY}/0000:01:00.0/class:0x010802\n{WAY}/0000:01:00.0/vendor:0x144d\n"
)

AMD = """\
GPU: 0
    ASIC:
        MARKET_NAME: MI300X
        VENDOR_ID: 0x1002
        DEVICE_ID: 0x74A1
    BUS:
        BDF: 0000:0c:00.0
        MAX_PCIE_WIDTH: 16
        MAX_PCIE_SPEED: 32 GT/s
        PCIE_INTERFACE_VERSION: Gen 5
        SLOT_TYPE: OAM
    NUMA:
        NODE: 1
GPU: 1
    BUS:
        BDF: 0000:22:00.0
        MAX_PCIE_LANES: 16
        MAX_PCIE_SPEED: 32 GT/s
        SLOT_TYPE: OAM
GPU: 0
    PCIE:
        WIDTH: 8
        SPEED: 32 GT/s
        BANDWIDTH: N/A
        REPLAY_COUNT: 5
        REPLAY_ROLL_OVER_COUNT: 0
LINK TYPE TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 SELF         XGMI
0000:22:00.0 XGMI         SELF
"""
ROCM_BUS = """\
=============================== PCI Bus ID ===============================
GPU[0]\t\t: PCI Bus: 0000:43:00.0
GPU[1]\t\t: PCI Bus: 0000:23:00.0
"""
ROCM_TOPOLOGY = """\
========================= Weight between two GPUs =========================
       GPU0         GPU1         GPU2
GPU0   0            15           40
GPU1   15           0            40
GPU2   40           40           0
======================== Link Type between two GPUs ========================
       GPU0         GPU1         GPU2
GPU0   0            XGMI         PCIE
GPU1   XGMI         0            PCIE
GPU2   PCIE         PCIE         0
================================ Numa Nodes ================================
GPU[0]\t\t: (Topology) Numa Node: 0
GPU[1]\t\t: (Topology) Numa Node: 1
"""
ROCM_JSON = {
    "card0": {"PCI Bus": "0000:63:00.0", "Device ID": "0x738c", "pcie clock level": "0 (16.0GT/s x16)"},
    "card1": {"PCI Bus": "0000:e3:00.0", "(Topology) Numa Node": "1"},
    "system": {"(Topology) Link type between DRM devices 0 and 1": "XGMI"},
}
AMD_JSON: Any = [
    {
        "gpu": 0,
        "asic": {"market_name": "Navi 23", "device_id": "0x73ff"},
        "bus": {"bdf": "0000:0b:00.0", "max_pcie_width": 16, "slot_type": "CEM"},
        "pcie": {"width": 8, "speed": {"value": 16, "unit": "GT/s"}, "replay_count": "N/A"},
    }
]

MAC = """\
PCI:

    AMD Radeon Pro W5700X:

      Name: display
      Type: VGA compatible controller
      Bus: PCI
      Slot: Slot-1@7,0,0
      Vendor ID: 0x1002
      Device ID: 0x7310
      Link Width: x16
      Link Speed: 8.0 GT/s
      Link Status: Link up

    ExpressCard:

      Type: USB controller
      Slot: Internal@0,28,4/0,0/2,0/0,0
      Vendor ID: 0x8086
      Device ID: 0x15c1

    pci1d0f,61:

      Type: NVM Express Controller
      Slot: Thunderbolt@195,0,0
      Vendor ID: 0x1d0f
      Device ID: 0x0061
      Link Width: x4
      Link Speed: 2.5 GT/s
"""
MAC_JSON = {
    "SPPCIDataType": [
        {
            "_name": "display",
            "sppci_device_type": "sppci_vga",
            "sppci_slot_name": "Slot-1@7,0,0",
            "sppci_vendor-id": "0x1002",
            "sppci_device-id": "0x7310",
            "sppci_link-width": "x16",
            "sppci_link-speed": "8.0 GT/s",
        }
    ]
}
MAC_DRIVES = """\
NVMExpress:

    Apple SSD Controller:

        APPLE SSD AP0512R:

          TRIM Support: Yes
          Model: APPLE SSD AP0512R
          BSD Name: disk0

    Generic SSD Controller:

        Samsung SSD 980 PRO 1TB:

          TRIM Support: Yes
          Model: Samsung SSD 980 PRO 1TB
          Link Width: x1
          Link Speed: 8.0 GT/s
          BSD Name: disk3
          Volumes:
            EFI:
              BSD Name: disk3s1
"""
MAC_DRIVES_JSON = {
    "SPNVMeDataType": [
        {
            "_name": "NVMExpress",
            "_items": [
                {
                    "_name": "Samsung SSD 980 PRO 1TB",
                    "device_model": "Samsung SSD 980 PRO 1TB",
                    "spnvme_linkwidth": "x1",
                    "spnvme_linkspeed": "8.0 GT/s",
                }
            ],
        }
    ]
}
TALOS = """\
node: 172.20.0.5
metadata:
    namespace: hardware
    type: PCIDevices.hardware.talos.dev
    id: 0000:01:00.0
spec:
    class: Mass storage controller
    vendor: Samsung Electronics Co Ltd
    product: NVMe SSD Controller PM9A1/PM9A3/980PRO
    class_id: "0x01"
    subclass_id: "0x08"
    vendor_id: "0x144d"
    product_id: "0xa80a"
    driver: nvme
---
node: 172.20.0.6
metadata:
    type: PCIDevices.hardware.talos.dev
    id: 0000:02:00.0
spec:
    vendor_id: "0x8086"
"""
TALOS_TABLE = """\
$ talosctl -n 10.0.0.5 get pcidevices
NODE       NAMESPACE   TYPE        ID             VERSION   CLASS                       SUBCLASS                    VENDOR              PRODUCT
10.0.0.5   hardware    PCIDevice   0000:00:00.0   1         Bridge                      Host bridge                 Intel Corporation   82G33/G31/P35/P31 Express DRAM Controller
10.0.0.5   hardware    PCIDevice   0000:00:01.0   1         Display controller          VGA compatible controller
10.0.0.5   hardware    PCIDevice   0000:00:03.0   1         Unclassified device                                     Red Hat, Inc.       Virtio RNG
10.0.0.5   hardware    PCIDevice   0000:01:00.0   1         Mass storage controller     Non-Volatile memory controller   Samsung Electronics Co Ltd   NVMe SSD Controller PM9A1/PM9A3/980PRO
10.0.0.6   hardware    PCIDevice   0000:02:00.0   1         Bridge                      PCI bridge
"""  # noqa: E501


def device(name: str, **more: Any) -> dict[str, Any]:
    """Write a device of Redfish that runs on eight of its sixteen lanes."""
    return {
        "@odata.type": "#PCIeDevice.v1_9_0.PCIeDevice",
        "@odata.id": f"/redfish/v1/Chassis/1/PCIeDevices/{name}",
        "Id": name,
        "Manufacturer": "Broadcom",
        "Model": "BCM57508",
        "PCIeInterface": {"LanesInUse": 8, "MaxLanes": 16, "MaxPCIeType": "Gen4", "PCIeType": "Gen4"},
        **more,
    }


SLOT = {"Lanes": 16, "PCIeType": "Gen5", "Location": {"PartLocation": {"ServiceLabel": "PCIe 3"}}}
FUNCTION = {
    "@odata.type": "#PCIeFunction.v1_3_0.PCIeFunction",
    "FunctionId": 1,
    "VendorId": "0x14e4",
    "DeviceId": "0x1801",
    "ClassCode": "0x020000",
    "Links": {"PCIeDevice": {"@odata.id": "/redfish/v1/Chassis/1/PCIeDevices/59-0"}},
}
SLOTS = {
    "@odata.type": "#PCIeSlots.v1_4_1.PCIeSlots",
    "Slots": [
        {"Lanes": 8, "PCIeType": "Gen4", "SlotType": "FullLength", "Status": {"State": "Absent"}},
        {"Lanes": 16, "Status": {"State": "Enabled"}, "Location": SLOT["Location"]},
    ],
}


def machine_of(text: str) -> Machine:
    return read_bytes(text.encode())


def findings(machine: Machine) -> set[tuple[str, str]]:
    return {(f.rule, f.bdf) for f in diagnose(machine, cost=False).findings}


class TestInxi:
    def test_links(self) -> None:
        machine = machine_of(INXI)
        assert machine.kinds == ("inxi",)
        assert [f.address.short for f in machine] == ["01:00.0", "04:00.0", "0b:00.0", "18:00.0", "ca:00.0"]
        gpu, nic = machine["ca:00.0"], machine["0b:00.0"]
        assert (gpu.link.status, gpu.link.capability) == (LinkMode(2.5, 16), LinkMode(16, 16))
        assert (nic.link.status, nic.link.capability) == (LinkMode(8, 4), LinkMode(8, 8))
        assert (gpu.driver, gpu.identity.device_id, gpu.is_gpu) == ("nvidia", 0x2235, True)
        assert machine["18:00.0"].link.capability == LinkMode(5, 8), "nothing else was said of its most"
        assert (machine["01:00.0"].driver, machine["01:00.0"].driver_known) == (None, True)
        assert findings(machine) == {
            ("gpu-link-idle", "ca:00.0"),
            ("link-one-end", "0b:00.0"),
            ("driver-missing", "01:00.0"),
        }

    def test_without_the_most_nothing_is_known_of_it(self) -> None:
        machine = machine_of(INXI.replace("link-max:", "other:"))
        assert machine["18:00.0"].link.capability == LinkMode()

    def test_before_it_told_links(self) -> None:
        machine = machine_of(OLD_INXI)
        assert [f.identity.device_id for f in machine] == [0x0116, 0x6740]
        assert not diagnose(machine, cost=False).examined


class TestLinkFiles:
    @pytest.mark.parametrize(
        "text", [TAIL, GREP, f"$ tail -v {SYS}/*_link_*\n{TAIL}", TAIL.replace("\n", "\r\n")]
    )
    def test_one_end(self, text: str) -> None:
        machine = machine_of(text)
        drive = machine["01:00.0"]
        assert (drive.link.status, drive.link.capability) == (LinkMode(8, 4), LinkMode(16, 4))
        (finding,) = diagnose(machine, cost=False).findings
        assert "the other end of its link has no more" in finding.title, "nobody said that it is no port"
        assert any("class" in note for note in machine.notes)

    def test_the_way_to_it_is_a_tree(self) -> None:
        machine = machine_of(TREE)
        (link,) = machine.links
        assert (link.name, link.now, link.limit) == ("00:01.0 -> 01:00.0", LinkMode(8, 4), LinkMode(16, 4))
        assert link.device.is_nvme
        assert findings(machine) == {("link-speed", "01:00.0")}

    def test_buses_of_bridges_are_a_tree_too(self) -> None:
        bridge = "/sys/bus/pci/devices/0000:00:01.0"
        text = f"{GREP}{bridge}/secondary_bus_number:1\n{bridge}/class:0x060400\n"
        assert machine_of(text)["01:00.0"].parent == machine_of(text)["00:01.0"].address


class TestAmd:
    def test_text(self) -> None:
        machine = machine_of(AMD)
        gpu = machine["0c:00.0"]
        assert (gpu.link.status, gpu.link.capability) == (LinkMode(32, 8), LinkMode(32, 16))
        assert "MI300X" in gpu.name
        assert (gpu.numa_node, gpu.errors.counter("correctable.Replay")) == (1, 5)
        assert machine.own_links(gpu, machine["22:00.0"]) == "XGMI"
        assert ("link-one-end", "0c:00.0") in findings(machine)

    @pytest.mark.parametrize("text", [ROCM_BUS + ROCM_TOPOLOGY, ROCM_TOPOLOGY + ROCM_BUS])
    def test_rocm_smi(self, text: str) -> None:
        machine = machine_of(text)
        assert [(f.address.short, f.numa_node) for f in machine] == [("23:00.0", 1), ("43:00.0", 0)]
        assert machine.own_links(machine["23:00.0"], machine["43:00.0"]) == "XGMI"
        assert len(machine.relations) == 1
        assert not diagnose(machine, cost=False).examined

    def test_a_topology_alone(self) -> None:
        machine = machine_of(ROCM_TOPOLOGY)
        assert [(r.first, r.second, r.path) for r in machine.relations] == [("GPU0", "GPU1", "XGMI")]

    def test_json(self) -> None:
        machine = machine_of(json.dumps(AMD_JSON))
        card = machine["0b:00.0"]
        assert card.link.status == LinkMode(16, 8)
        assert card.link.capability == LinkMode(), "that of a switch inside the card, for all we know"
        assert any("switch inside" in note for note in machine.notes)
        rocm = machine_of(json.dumps(ROCM_JSON))
        assert rocm["63:00.0"].link.status == LinkMode(), "a level that power management asks for is no state"
        assert rocm.own_links(rocm["63:00.0"], rocm["e3:00.0"]) == "XGMI"


class TestRedfish:
    def test_a_device_in_its_slot(self) -> None:
        machine = machine_of(json.dumps([device("59-0", Slot=SLOT), FUNCTION]))
        (link,) = machine.links
        assert (link.upper.implied, link.limit, link.now) == (True, LinkMode(16, 16), LinkMode(16, 8))
        assert link.device.address.short == "3b:00.1"
        assert (link.device.identity.device_id, link.device.is_nic) == (0x1801, True)
        assert findings(machine) == {("link-width", "3b:00.1")}

    @pytest.mark.parametrize(
        ("name", "address"), [("59-0", "3b:00.0"), ("00_D4_00", "d4:00.0"), ("59-0-1", "3b:00.0")]
    )
    def test_addresses_in_identifiers(self, name: str, address: str) -> None:
        assert [f.address._replace(function=0).short for f in machine_of(json.dumps(device(name)))] == [
            address
        ]

    def test_several_documents_without_addresses(self) -> None:
        text = "\n".join(json.dumps(one) for one in (device("DE07A000"), device("GPU1"), SLOTS))
        machine = machine_of(text)
        assert len(machine) == 2
        assert any("made up" in note for note in machine.notes)
        assert [(slot.name, slot.used, slot.lanes) for slot in machine.slots] == [
            ("slot 0", False, 8),
            ("PCIe 3", True, 16),
        ]
        assert {rule for rule, _ in findings(machine)} == {"link-one-end"}

    def test_idle_gpus(self) -> None:
        idle = {"LanesInUse": 16, "MaxLanes": 16, "MaxPCIeType": "Gen5", "PCIeType": "Gen1"}
        gpu = device("24-0", Manufacturer="NVIDIA Corporation", Model="H100 80GB HBM3", PCIeInterface=idle)
        assert findings(machine_of(json.dumps(gpu))) == {("gpu-link-idle", "18:00.0")}

    @pytest.mark.parametrize("value", [None, "x", -4, [], {}, 1e99, "Gen99"])
    def test_values_that_make_no_sense(self, value: object) -> None:
        interface = {"LanesInUse": value, "MaxLanes": value, "MaxPCIeType": value, "PCIeType": value}
        machine = machine_of(json.dumps(device("59-0", PCIeInterface=interface, Slot=value, Id=value)))
        assert all(f.link.status == f.link.capability == LinkMode() for f in machine)


class TestMac:
    def test_text(self) -> None:
        machine = machine_of(MAC)
        card = machine["07:00.0"]
        assert (card.link.status, card.physical_slot, card.is_gpu) == (LinkMode(8, 16), "Slot-1", True)
        assert machine["c3:00.0"].link.status == LinkMode(), "a tunnel"
        assert len(machine) == 3

    def test_json(self) -> None:
        assert machine_of(json.dumps(MAC_JSON))["07:00.0"].link.status == LinkMode(8, 16)

    @pytest.mark.parametrize("text", [MAC_DRIVES, json.dumps(MAC_DRIVES_JSON)])
    def test_drives_have_a_link_and_no_slot(self, text: str) -> None:
        (drive,) = machine_of(text)
        assert (drive.link.status, drive.is_nvme) == (LinkMode(8, 1), True)
        assert drive.identity.device_name == "Samsung SSD 980 PRO 1TB"

    def test_drives_that_are_cards_too_count_once(self) -> None:
        card = "    pci144d,a80a:\n\n      Type: NVM Express Controller\n      Slot: Slot-2@5,0,0\n"
        card += "      Vendor ID: 0x144d\n      Device ID: 0xa80a\n"
        card += "      Link Width: x1\n      Link Speed: 8.0 GT/s\n"
        (drive,) = machine_of(card + MAC_DRIVES)
        assert (str(drive.address), drive.link.status) == ("0000:05:00.0", LinkMode(8, 1))

    def test_how_it_runs_is_no_statement_about_its_health(self) -> None:
        assert not diagnose(machine_of(MAC), cost=False).examined


def test_talos() -> None:
    machine = machine_of(TALOS)
    (drive,) = machine
    assert (drive.is_nvme, drive.driver, machine.hostname) == (True, "nvme", "172.20.0.5")
    assert any("several nodes" in note for note in machine.notes)


def test_talos_as_a_table() -> None:
    machine = machine_of(TALOS_TABLE)
    assert [str(f.address) for f in machine] == [
        "0000:00:00.0",
        "0000:00:01.0",
        "0000:00:03.0",
        "0000:01:00.0",
    ]
    bridge, display, random, drive = machine
    assert (bridge.identity.class_name, bridge.identity.vendor_name) == ("Host bridge", "Intel Corporation")
    assert (display.identity.class_name, display.identity.device_name) == ("VGA compatible controller", None)
    assert (random.identity.vendor_name, random.identity.device_name) == ("Red Hat, Inc.", "Virtio RNG")
    assert (drive.is_nvme, machine.hostname) == (True, "10.0.0.5")
    assert any("several nodes" in note for note in machine.notes)


def test_devices_whose_kind_is_not_told_may_hide_a_short_link() -> None:
    """Status 0 is for machines of which enough was readable, and here it was not."""
    short = "".join(
        f"==> /sys/bus/pci/devices/0000:01:00.0/{name} <==\n{value}\n\n"
        for name, value in {
            "current_link_speed": "16.0 GT/s PCIe",
            "current_link_width": "8",
            "max_link_speed": "32.0 GT/s PCIe",
            "max_link_width": "16",
        }.items()
    )
    assert not diagnose(machine_of(short), cost=False).examined
    # A port or a device at its best: a short link would be seen at either.
    full = short.replace("16.0 GT/s PCIe", "32.0 GT/s PCIe").replace("<==\n8\n", "<==\n16\n")
    assert diagnose(machine_of(full), cost=False, profile="provisioning").examined


ALL = [INXI, OLD_INXI, TAIL, GREP, TREE, AMD, ROCM_BUS, ROCM_TOPOLOGY, MAC, MAC_DRIVES, TALOS, TALOS_TABLE]
DOCUMENTS: list[Any] = [AMD_JSON, ROCM_JSON, MAC_JSON, [device("59-0", Slot=SLOT), FUNCTION, SLOTS]]


@pytest.mark.parametrize("text", [*ALL, *map(json.dumps, DOCUMENTS)])
def test_what_breaks_off_never_breaks_us(text: str) -> None:
    step = max(len(text) // 40, 1)
    for end in range(0, len(text), step):
        try:
            machine_of(text[:end])
        except InputError:
            continue


@pytest.mark.parametrize(
    "text", [INXI, TAIL, GREP, AMD, ROCM_BUS, MAC, TALOS, TALOS_TABLE, *map(json.dumps, DOCUMENTS)]
)
def test_on_top_of_lspci(text: str, tmp_path: Path) -> None:
    alone = machine_of(text)
    lines = [f"{f.address} Class [{0xFF:04x}]: Vendor Device (rev 01)" for f in alone if not f.implied]
    (tmp_path / "lspci.txt").write_text("\n".join(lines).replace("Class [00ff]", "Unclassified device"))
    (tmp_path / "more.txt").write_text(text)
    machine = read(tmp_path / "lspci.txt", overlays=[tmp_path / "more.txt"])
    assert [f.address for f in machine] == [f.address for f in alone if not f.implied]
    for function in machine:
        assert function.link.status == alone[function.address].link.status
    assert set(alone.kinds) <= set(machine.kinds)


@pytest.mark.parametrize(
    "text",
    [
        "bus-ID: somewhere chip-ID: unknown",
        "==> /etc/passwd <==\nroot\n",
        "/sys/class/net/eth0/device/current_link_speed:8.0 GT/s PCIe\n",
        "GPU[0] : Temperature: 30\n",
        '{"PCIeInterface": ',
        '{"gpu": 0, "bdf": 1}',
        "Slot: left@right\nVendor ID: 1\n",
        "type: PCIDevices\nid: 0000:01:00.0\n",
    ],
)
def test_what_only_looks_like_it_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        machine_of(text)
