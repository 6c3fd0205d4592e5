"""Tools that few people use: libvirt's, SONiC's, ESXi's, the Open Compute Project's, and those of other GPUs.

Forms are those that the tools print; values are made up.
"""

from __future__ import annotations

import contextlib
import json

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import diagnose
from lanewise.machine import read_bytes
from lanewise.machine.model import Kind, Machine

NODEDEV = """\
<device>
  <name>pci_0000_af_00_0</name>
  <path>/sys/devices/pci0000:ae/0000:ae:00.0/0000:af:00.0</path>
  <parent>pci_0000_ae_00_0</parent>
  <driver>
    <name>vfio-pci</name>
  </driver>
  <capability type='pci'>
    <class>0x030200</class>
    <domain>0</domain>
    <bus>175</bus>
    <slot>0</slot>
    <function>0</function>
    <product id='0x1eb8'>TU104GL [Tesla T4]</product>
    <vendor id='0x10de'>NVIDIA Corporation</vendor>
    <iommuGroup number='85'>
      <address domain='0x0000' bus='0xaf' slot='0x00' function='0x0'/>
    </iommuGroup>
    <numa node='1'/>
    <pci-express>
      <link validity='cap' port='0' speed='8' width='16'/>
      <link validity='sta' speed='2.5' width='8'/>
    </pci-express>
  </capability>
</device>
"""
VIRTUAL = """\
# virsh nodedev-dumpxml pci_0000_81_10_1
<device>
  <name>pci_0000_81_10_1</name>
  <capability type='pci'>
    <domain>0</domain>
    <bus>129</bus>
    <slot>16</slot>
    <function>1</function>
    <product id='0x1515'>X540 Ethernet Controller Virtual Function</product>
    <vendor id='0x8086'>Intel Corporation</vendor>
    <capability type='phys_function'>
      <address domain='0x0000' bus='0x81' slot='0x00' function='0x1'/>
    </capability>
  </capability>
</device>
"""
VMKCHDEV = """\
[root@esx:~] vmkchdev -l
0000:00:00.0 8086:2020 8086:7270 vmkernel
0000:3b:00.0 10de:1eb8 10de:12a2 passthru
0000:60:00.0 8086:1572 8086:0008 vmkernel vmnic2
"""
SONIC = """\
admin@sonic:~$ sudo pcieutil pcie-aer correctable
+---------------------+-----------+-----------+
| AER - CORRECTABLE   |   00:01.0 |   01:00.0 |
|                     |    0x6f02 |    0xb960 |
+=====================+===========+===========+
| RxErr               |         0 |         4 |
+---------------------+-----------+-----------+
| BadTLP              |         0 |       620 |
+---------------------+-----------+-----------+
| TOTAL_ERR_COR       |         0 |       624 |
+---------------------+-----------+-----------+
"""
CRAWLED = {
    "0000:00:01.0": {
        "vendor_id": "8086",
        "device_id": "1901",
        "class_id": "060400",
        "express_type": "root_port",
        "cur_speed": "2.5GT/s",
        "cur_width": 4,
        "capable_speed": "8GT/s",
        "capable_width": 16,
        "aer": {"device": {"aer_dev_correctable": {"BadTLP": 3, "NonFatalErr": 1, "TOTAL_ERR_COR": 4}}},
    }
}
HL_SMI = """\
+-----------------------------------------------------------------------------+
| HL-SMI Version:                              hl-1.15.1-fw-49.0.0.0          |
|-------------------------------+----------------------+----------------------+
| AIP  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncor-Events|
|===============================+======================+======================|
|   0  HL-225              N/A  | 0000:33:00.0     N/A |                   0  |
| N/A   26C   N/A    94W / 600W |    768MiB / 98304MiB |     0%           N/A |
"""


def read(text: str) -> Machine:
    return read_bytes(text.encode())


@pytest.mark.parametrize("text", [NODEDEV, f"$ virsh nodedev-dumpxml x\n```\n{NODEDEV}{VIRTUAL}```\n"])
def test_libvirt_tells_both_modes_of_a_link(text: str) -> None:
    function = read(text)["af:00.0"]
    assert (str(function.link.status), str(function.link.capability)) == ("2.5GT/s x8", "8GT/s x16")
    assert (function.driver, function.numa_node, function.iommu_group) == ("vfio-pci", 1, 85)
    assert function.identity.device_id == 0x1EB8
    assert "link-one-end" in {finding.rule for finding in diagnose(read(text)).findings}


def test_libvirt_tells_whose_a_virtual_function_is() -> None:
    function = read(VIRTUAL)["81:10.1"]
    assert function.virtual
    assert str(function.physical_function) == "0000:81:00.1"


@pytest.mark.parametrize("end", range(0, len(NODEDEV), 97))
def test_what_breaks_off_never_breaks_us(end: int) -> None:
    with contextlib.suppress(InputError):
        read(NODEDEV[:end])


def test_vmkchdev_has_numbers_and_names() -> None:
    machine = read(VMKCHDEV)
    assert machine["3b:00.0"].identity.device_id == 0x1EB8
    assert machine["60:00.0"].interfaces == ("vmnic2",)
    assert len(machine) == 3


def test_counters_in_a_table_are_of_the_devices_that_head_it() -> None:
    machine = read(SONIC)
    assert machine["01:00.0"].errors.counter("correctable.BadTLP") == 620
    assert machine["00:01.0"].errors.counter("correctable.TOTAL") == 0
    assert [finding.title for finding in diagnose(machine).findings] == [
        "624 correctable errors counted at 01:00.0"
    ]


def test_pcicrawler() -> None:
    port = read(f"$ pcicrawler -j\n{json.dumps(CRAWLED, indent=1)}")["00:01.0"]
    assert (port.kind, str(port.link.status), str(port.link.capability)) == (
        Kind.ROOT_PORT,
        "2.5GT/s x4",
        "8GT/s x16",
    )
    assert (port.errors.counter("correctable.BadTLP"), port.errors.counter("correctable.AdvNonFatalErr")) == (
        3,
        1,
    )


def test_a_table_of_another_maker_is_none_of_nvidia() -> None:
    machine = read(HL_SMI)
    function = machine["33:00.0"]
    assert (machine.kinds, function.identity.device_name, function.driver) == (("hl-smi",), "HL-225", None)
    assert function.identity.vendor_id is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Fault class : fault.io.pciex.bus-linkerr-corr 33%\n", "looks like faults of illumos"),
        ("System Configuration:  Joyent  i86pc\n", "looks like output of prtconf"),
        ('nvme0 at pci4 dev 0 function 0 "Samsung" rev 0x00: msix\n', "none that places its buses"),
        ("BusDevFun  VendorId   DeviceId\n00.00.00   0x1d87     0x3566\n", "as U-Boot or a UEFI shell"),
        ("DEVPKEY_PciDevice_CurrentLinkWidth   UInt32   8\n", "properties of devices of Windows"),
        ("CA 'mlx5_0'\n\tCA type: MT4123\n", "tells of ports of InfiniBand"),
    ],
)
def test_what_is_not_read_is_named(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read(text)


MLXLINK = """\
$ sudo mlxlink -d {name} --port_type PCIE -c

PCIe Operational (Enabled) Info
-------------------------------
Depth, pcie index, node                            : 0, 0, 0
Link Speed Active (Enabled)                        : 8G-Gen 3 (32G-Gen 5)
Link Width Active (Enabled)                        : 4X (16X)
Device Status                                      : N/A

Management PCIe Timers Counters Info
------------------------------------
dl down                                            : 3

Management PCIe Performance Counters Info
-----------------------------------------
RX Errors                                          : 12
TX Errors                                          : 0
CRC Error dllp                                     : 51
CRC Error tlp                                      : 8
"""
MST = """\
MST devices:
------------
/dev/mst/mt4129_pciconf0         - PCI configuration cycles access.
                                   domain:bus:dev.fn=0000:a1:00.0 addr.reg=88 data.reg=92
                                   Chip revision is: 00
"""


class TestMlxlink:
    @pytest.mark.parametrize(
        ("before", "name"), [("", "a1:00.0"), ("", "0000:a1:00.0"), (MST, "/dev/mst/mt4129_pciconf0")]
    )
    def test_the_command_names_the_adapter(self, before: str, name: str) -> None:
        machine = read_bytes((before + MLXLINK.format(name=name)).encode())
        (adapter,) = machine
        assert adapter.address.short == "a1:00.0"
        assert (str(adapter.link.status), str(adapter.link.capability)) == ("8GT/s x4", "32GT/s x16")
        findings = {f.rule: f for f in diagnose(machine, cost=False).findings}
        assert findings["link-one-end"].bdf == "a1:00.0"
        assert findings["link-errors"].evidence == ("a1:00.0 by mlxlink: 8 BadTLP, 51 BadDLLP",)

    def test_other_links_of_the_adapter_are_left_out(self) -> None:
        inner = (
            MLXLINK.format(name="a1:00.0").replace(": 0, 0, 0", ": 3, 0, 0").replace("4X (16X)", "2X (2X)")
        )
        both = read_bytes((MLXLINK.format(name="a1:00.0") + inner).encode())
        assert str(both["a1:00.0"].link.status) == "8GT/s x4"
        with pytest.raises(InputError, match="mlxlink"):
            read_bytes(inner.encode())

    @pytest.mark.parametrize(
        "before", ["", MST.replace("_pciconf0", "_pciconf1"), MST + MST.replace("a1:", "b1:")]
    )
    def test_a_name_that_nothing_or_more_explains_is_no_device(self, before: str) -> None:
        with pytest.raises(InputError, match="mlxlink"):
            read_bytes((before + MLXLINK.format(name="/dev/mst/mt4129_pciconf0")).encode())

    def test_goes_on_top_of_lspci(self) -> None:
        lspci = "a1:00.0 Ethernet controller: Mellanox Technologies MT2910 Family [ConnectX-7]\n\n"
        machine = read_bytes((lspci + MLXLINK.format(name="a1:00.0")).encode())
        assert machine["a1:00.0"].identity.device_name == "MT2910 Family [ConnectX-7]"
        assert str(machine["a1:00.0"].link.status) == "8GT/s x4"
        left = " ".join(text for _, text in machine.not_understood.samples)
        assert not any(word in left for word in ("Link", "Depth", "CRC")), left


ADAPTERS = """\
PS C:\\> Get-NetAdapterHardwareInfo

Name                           Segment Bus Device Function Slot NumaNode PcieLinkSpeed PcieLinkWidth Version
----                           ------- --- ------ -------- ---- -------- ------------- ------------- -------
SLOT 7 Port 1                        0  94      0        1    7        1      8.0 GT/s             4 1.1
Ethernet 4                           0 177     31        0             0       Unknown
Onboard                              2   6      0        0    0               2.5 GT/s             1 1.1

The adapter in slot 7 is slow:       0   1      0        0    7        1      8.0 GT/s             4 1.1
"""


class TestAdaptersOfWindows:
    def test_numbers_are_decimal_and_cells_may_be_empty(self) -> None:
        machine = read_bytes(ADAPTERS.encode())
        assert {f.address.short: str(f.link.status) for f in machine} == {
            "5e:00.1": "8GT/s x4",
            "b1:1f.0": "? x?",
            "0002:06:00.0": "2.5GT/s x1",
        }
        slow = machine["5e:00.1"]
        assert (slow.physical_slot, slow.numa_node, slow.interfaces) == ("7", 1, ("SLOT 7 Port 1",))
        assert (machine["b1:1f.0"].physical_slot, machine["b1:1f.0"].numa_node) == (None, 0)
        assert machine["0002:06:00.0"].numa_node is None

    def test_what_a_script_has_as_a_comment(self) -> None:
        rows = [f"#\t{line}" for line in ADAPTERS.splitlines()[2:6]]
        machine = read_bytes("\n".join(rows).encode())
        assert str(machine["5e:00.1"].link.status) == "8GT/s x4"

    @pytest.mark.parametrize("row", ["Bad  0 256 0 0", "Bad  0   1 32 0", "no row", ""])
    def test_rows_that_are_none(self, row: str) -> None:
        heading = "\n".join(ADAPTERS.splitlines()[2:4])
        with pytest.raises(InputError):
            read_bytes(f"{heading}\n{row}\n".encode())
