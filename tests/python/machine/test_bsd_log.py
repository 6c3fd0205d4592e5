"""Boot logs of OpenBSD and NetBSD: the tree, names and drivers, and what NetBSD says of ports."""

from __future__ import annotations

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import diagnose
from lanewise.machine import read_bytes
from lanewise.machine.model import Kind, LinkMode, Machine

NETBSD = """\
[     1.000000] NetBSD 10.0 (GENERIC) #0: Thu Mar 28 08:33:33 UTC 2024
[     1.003801] pci0 at mainbus0 bus 0: configuration mode 1
[     1.003801] pci0: i/o space, memory space enabled, rd/line, rd/mult, wr/inv ok
[     1.003801] ppb0 at pci0 dev 1 function 0: Intel Xeon E5 v4 PCIe Root Port (rev. 0x01)
[     1.003801] ppb0: PCI Express capability version 2 <Root Port of PCI-E Root Complex> x4 @ 8.0GT/s
[     1.003801] ppb0: link is x2 @ 8.0GT/s
[     1.003801] pci1 at ppb0 bus 5
[     1.003801] nvme0 at pci1 dev 0 function 0: Western Digital (SanDisk) WD Blue SN550 NVMe SSD (rev. 0x01)
[     1.003801] nvme0: NVMe 1.4
[     1.003801] vendor 10ec product 8125 (ethernet network, revision 0x05) at pci0 dev 28 function 0 not \
configured
[     1.003801] ld0 at nvme0 nsid 1
"""
OPENBSD = """\
OpenBSD 7.4 (GENERIC.MP) #1397: Tue Oct 10 09:02:37 MDT 2023
acpipci0 at acpi0 PCI0: 0x00000010 0x00000011 0x00000000
pci0 at mainbus0 bus 0
pchb0 at pci0 dev 0 function 0 "Intel Core 6G Host" rev 0x07
ppb0 at pci0 dev 1 function 0 "Intel Core 6G PCIE" rev 0x07: msi
pci1 at ppb0 bus 1
nvme0 at pci1 dev 0 function 0 "Samsung SM981/PM981 NVMe" rev 0x00: msix, NVMe 1.3
vendor "AMD", unknown product 0x145a (class instrumentation unknown subclass 0x00, rev 0x00) at pci1 dev 0 \
function 1 not configured
pci2 at mainbus0 bus 255
"Intel Xeon-D Cache" rev 0x01 at pci2 dev 12 function 0 not configured
"""


def machine_of(text: str) -> Machine:
    machine = read_bytes(text.encode())
    assert machine.kinds[0] == "boot log of BSD"
    return machine


def test_netbsd_has_the_tree_and_links_at_ports() -> None:
    machine = machine_of(NETBSD)
    (link,) = machine.links
    assert (link.name, link.upper.kind, link.now) == ("00:01.0 -> 05:00.0", Kind.ROOT_PORT, LinkMode(8.0, 2))
    assert link.port_can == LinkMode(8.0, 4)
    drive = machine["05:00.0"]
    assert (drive.driver, drive.interfaces, drive.identity.revision) == ("nvme", ("nvme0",), 1)
    assert drive.identity.class_code == 0x010802
    assert "(SanDisk) WD Blue SN550 NVMe SSD" in drive.name


def test_numbers_are_looked_up_where_a_kernel_has_no_names() -> None:
    adapter = machine_of(NETBSD)["00:1c.0"]
    assert (adapter.identity.vendor_id, adapter.identity.device_id) == (0x10EC, 0x8125)
    assert "RTL8125" in adapter.name
    assert (adapter.driver, adapter.driver_known, adapter.identity.class_code) == (None, True, 0x020000)


def test_openbsd_has_the_tree() -> None:
    machine = machine_of(OPENBSD)
    assert [function.address.short for function in machine] == [
        *("00:00.0", "00:01.0", "01:00.0", "01:00.1", "ff:0c.0"),
    ]
    assert [link.name for link in machine.links] == ["00:01.0 -> 01:00.0"]
    assert machine["01:00.0"].name == "Samsung SM981/PM981 NVMe"
    assert machine["01:00.1"].identity.device_id == 0x145A


def test_a_second_root_bus_of_one_number_is_of_another_domain() -> None:
    """Boards with several host controllers count buses of each from zero."""
    machine = machine_of(
        'pci0 at pciecam0\nppb0 at pci0 dev 0 function 0 "Broadcom BCM2711" rev 0x20\npci1 at ppb0 bus 1\n'
        'xhci0 at pci1 dev 0 function 0 "VIA VL805 xHCI" rev 0x01: intx, xHCI 1.0\n'
        'pci2 at dwpcie0\nnvme0 at pci2 dev 0 function 0 "Samsung PM9A1 NVMe" rev 0x00: msix\n'
    )
    assert [str(function.address) for function in machine] == ["0000:00:00.0", "0000:01:00.0", "0001:00:00.0"]


@pytest.mark.parametrize(
    ("lines", "rule", "title"),
    [
        ("nvme0: unable to enable controller", "device-lost", "05:00.0 could not be started"),
        ("nvme0: UNRECOVERED READ ERROR (02/81) sqid:3 cid:121 cdw0:0", "drive-errors", "a read or write"),
        ("re0: watchdog timeout", "device-timeout", "re0 did not answer its driver in time"),
    ],
)
def test_what_drivers_say_is_of_the_device_that_has_that_name(lines: str, rule: str, title: str) -> None:
    diagnosis = diagnose(read_bytes(f"{NETBSD}[ 20.1] {lines}\n".encode()), cost=False)
    (finding,) = (finding for finding in diagnosis.findings if finding.rule == rule)
    assert finding.title.startswith(title)


def test_freebsd_has_no_addresses_and_tells_of_drives_by_name() -> None:
    log = (
        "pcib1: <ACPI PCI-PCI bridge> at device 1.0 on pci0\n"
        "pci1: <ACPI PCI bus> on pcib1\n"
        "nvme0: <Generic NVMe Device> mem 0xdf000000-0xdf003fff at device 0.0 on pci1\n"
    )
    with pytest.raises(InputError, match="boot log of FreeBSD, which is not read"):
        read_bytes(log.encode())
    lost = f"{log}nvme0: Resetting controller due to a timeout and possible hot unplug.\n"
    (finding,) = diagnose(read_bytes(lost.encode()), cost=False).findings
    assert (finding.rule, finding.title) == ("device-lost", "nvme0 stopped answering")
    slow = (
        f"{log}ixl0: PCI Express Bus: Speed 5.0GT/s Width x4\n"
        "ixl0: PCI-Express bandwidth available for this device may be insufficient for optimal performance.\n"
    )
    (finding,) = diagnose(read_bytes(slow.encode()), cost=False).findings
    assert finding.rule == "device-reduced"
    assert finding.title.startswith("ixl0 does less than it could")


def test_a_boot_log_is_not_enough_to_say_that_nothing_is_wrong() -> None:
    diagnosis = diagnose(read_bytes(OPENBSD.encode()), cost=False)
    assert not diagnosis.findings
    assert not diagnosis.examined
