"""`lshw` as JSON and as text: the same machine out of both."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lanewise.errors import InputError
from lanewise.machine import read_bytes
from lanewise.machine.model import Machine

FUNCTION = {"class": "bridge", "claimed": True, "width": 32, "clock": 33000000}
EXPRESS = {"pci": True, "pciexpress": "PCI Express", "msi": "Message Signalled Interrupts"}


def node(businfo: str, description: str, product: str, **more: Any) -> dict[str, Any]:
    vendor = more.pop("vendor", "Intel Corporation")
    return {
        **FUNCTION,
        "id": more.pop("id", "device"),
        "description": description,
        "product": product,
        "vendor": vendor,
        "businfo": businfo,
        **more,
    }


DRIVE = node(
    "pci@0000:01:00.0",
    "NVMe device",
    "Samsung SSD 980 PRO 1TB",
    vendor="Samsung Electronics Co Ltd",
    id="nvme",
    logicalname="/dev/nvme0",
    configuration={"driver": "nvme", "latency": "0"},
    capabilities=EXPRESS,
    children=[{"id": "namespace", "businfo": "nvme@0:1", "logicalname": "/dev/nvme0n1"}],
)
NIC = node(
    "pci@0000:02:00.0",
    "Ethernet interface",
    "82599ES 10-Gigabit SFI/SFP+ Network Connection [8086:10FB]",
    vendor="Intel Corporation [8086]",
    id="network",
    logicalname="eth3",
    configuration={"driver": "ixgbe", "firmware": '0x8000047d "x"'},
    capabilities=EXPRESS,
)


def port(businfo: str, bus: str, below: dict[str, Any]) -> dict[str, Any]:
    return node(
        businfo,
        "PCI bridge",
        "Xeon E7 v2 PCI Express Root Port 1a",
        id="pci:0",
        handle=f"PCIBUS:0000:{bus}",
        configuration={"driver": "pcieport"},
        capabilities=EXPRESS,
        children=[below],
    )


HOST = node(
    "pci@0000:00:00.0",
    "Host bridge",
    "Xeon E7 v2 DMI2",
    id="pci",
    handle="PCIBUS:0000:00",
    children=[port("pci@0000:00:01.0", "01", DRIVE), port("pci@0000:00:02.0", "02", NIC)],
)
SYSTEM = {"id": "rig", "class": "system", "children": [{"id": "core", "children": [HOST]}]}

TEXT = """\
rig
    description: Server
  *-core
     *-pci
          description: Host bridge
          product: Xeon E7 v2 DMI2
          vendor: Intel Corporation
          bus info: pci@0000:00:00.0
        *-pci:0
             description: PCI bridge
             product: Xeon E7 v2 PCI Express Root Port 1a
             vendor: Intel Corporation
             bus info: pci@0000:00:01.0
             capabilities: pci pciexpress msi
             configuration: driver=pcieport
           *-nvme
                description: NVMe device
                product: Samsung SSD 980 PRO 1TB
                vendor: Samsung Electronics Co Ltd
                bus info: pci@0000:01:00.0
                logical name: /dev/nvme0
                capabilities: nvme pciexpress msix
                configuration: driver=nvme latency=0
              *-namespace
                   bus info: nvme@0:1
                   logical name: /dev/nvme0n1
        *-pci:1
             description: PCI bridge
             product: Xeon E7 v2 PCI Express Root Port 1a
             vendor: Intel Corporation
             bus info: pci@0000:00:02.0
             capabilities: pci pciexpress msi
             configuration: driver=pcieport
           *-network DISABLED
                description: Ethernet interface
                product: 82599ES 10-Gigabit SFI/SFP+ Network Connection [8086:10FB]
                vendor: Intel Corporation [8086]
                bus info: pci@0000:02:00.0
                logical name: eth3
                capabilities: pm msi pciexpress
                configuration: driver=ixgbe
"""


def as_json(document: Any) -> Machine:
    return read_bytes(json.dumps(document, indent=2).encode())


@pytest.mark.parametrize(
    "machine",
    [as_json(SYSTEM), as_json([SYSTEM]), read_bytes(json.dumps(SYSTEM).encode()), read_bytes(TEXT.encode())],
    ids=["object", "array", "one line", "text"],
)
def test_tree_names_drivers_and_interfaces(machine: Machine) -> None:
    assert machine.kinds == ("lshw",)
    assert [str(f.address) for f in machine] == [
        "0000:00:00.0",
        "0000:00:01.0",
        "0000:00:02.0",
        "0000:01:00.0",
        "0000:02:00.0",
    ]
    drive, nic = machine["01:00.0"], machine["02:00.0"]
    assert drive.is_nvme
    assert (drive.model, drive.driver, drive.interfaces) == ("Samsung SSD 980 PRO 1TB", "nvme", ("nvme0",))
    assert str(drive.parent) == "0000:00:01.0"
    assert nic.is_nic
    assert (nic.identity.vendor_id, nic.identity.device_id) == (0x8086, 0x10FB)
    assert (nic.driver, nic.interfaces) == ("ixgbe", ("eth3",))
    assert [link.name for link in machine.links] == ["00:01.0 -> 01:00.0", "00:02.0 -> 02:00.0"]
    assert machine.parent(machine["00:01.0"]) is None


def test_what_breaks_off_is_read_up_to_there() -> None:
    whole = json.dumps(SYSTEM, indent=2)
    cut = whole[: whole.index("Ethernet interface")]
    assert len(read_bytes(cut.encode())) == 5 - ('"pci@0000:02:00.0"' not in cut)


def test_depth_and_strange_values_are_no_matter() -> None:
    deep = '{"children": [' * 5000 + '{"businfo": "pci@0000:01:00.0"}'
    with pytest.raises(InputError):
        read_bytes(deep.encode())
    strange = {
        "businfo": "pci@zz:00.0",
        "children": [{"businfo": "pci@0000:03:00.0", "handle": "PCIBUS:x:y"}],
    }
    assert [f.address.short for f in as_json(strange)] == ["03:00.0"]


def test_lspci_says_more_than_lshw() -> None:
    lspci = "01:00.0 Non-Volatile memory controller [0108]: Example Drive [1234:0002]\n\n"
    machine = read_bytes((json.dumps(SYSTEM, indent=2) + "\n\n" + lspci).encode())
    assert "lshw" not in machine.kinds


def test_json_without_functions_is_not_one() -> None:
    with pytest.raises(InputError):
        as_json({"id": "rig", "children": []})


def test_german_and_numbers_without_leading_zeros() -> None:
    """As lshw prints them in a German forum: device 0x0204 is ``1106:204``."""
    text = """\
     *-pci:0
          Beschreibung: Host bridge
          Produkt: K8M800 Host Bridge [1106:204]
          Hersteller: VIA Technologies, Inc. [1106]
          Physische ID: 100
          Bus-Informationen: pci@0000:00:00.0
          Version: 00
          Breite: 32 bits
          Takt: 66MHz
          Konfiguration: driver=agpgart-amd64 latency=8
          Ressourcen: irq:0 memory:e8000000-efffffff
        *-network DEAKTIVIERT
             Beschreibung: Ethernet interface
             Produkt: RTL8101E/RTL8102E PCI Express Fast Ethernet controller [10EC:8136]
             Hersteller: Realtek Semiconductor Co., Ltd. [10EC]
             Physische ID: 0
             Bus-Informationen: pci@0000:09:00.0
             Logischer Name: eth0
             Seriennummer: a0:48:1c:1b:0c:09
             Kapazität: 100Mbit/s
             Fähigkeiten: pm msi pciexpress bus_master cap_list ethernet physical
             Konfiguration: broadcast=yes driver=r8169 firmware=N/A latency=0 link=no
"""
    bridge, nic = read_bytes(text.encode())
    assert (bridge.identity.vendor_id, bridge.identity.device_id) == (0x1106, 0x0204)
    assert bridge.identity.device_name == "K8M800 Host Bridge"
    assert (nic.identity.device_id, nic.driver, nic.interfaces) == (0x8136, "r8169", ("eth0",))


# GitHub, mafredri/asustor-platform-driver issue 26: a mail, where GitHub hid what looks like mail addresses.
HIDDEN = """\
  *-pci
       description: Host bridge
       bus info: {at}00:00.0
     *-pci:0
          description: PCI bridge
          bus info: {at}00:1c.4
        *-sata
             description: SATA controller
             product: ASM1061 Serial ATA Controller
             bus info: {at}05:00.0
"""


def test_addresses_that_github_hid_in_a_mail_are_read() -> None:
    shown, hidden = (read_bytes(HIDDEN.format(at=at).encode()) for at in ("pci@0000:", "***@***.***:"))
    assert hidden == shown
    assert [address.short for address in hidden.functions] == ["00:00.0", "00:1c.4", "05:00.0"]


def test_xml_without_a_pci_device_is_refused_with_how_to_have_them() -> None:
    with pytest.raises(InputError, match="no PCI device is; of lshw 'sudo lshw -xml' has them"):
        read_bytes(b"<list>\n<node id='x'><businfo>usb@1:4</businfo></node>\n</list>\n")
