"""Functions inside processors and chipsets: what their link registers say costs nothing."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.machine import read_bytes
from lanewise.machine.model import Address

LOG = """\
[    0.000000] Linux version 5.15.0-generic
[    5.1] pci 0000:30:00.0: [{port}] type 01 class 0x060400
[    5.2] pci 0000:33:00.0: [{device}] type 00 class {kind}
[    5.3] pci 0000:33:00.0: enabling Extended Tags
[    5.4] pci 0000:33:00.0: {limit}
"""
NARROW = (
    "4.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x1 link at 0000:30:00.0 "
    "(capable of 64.000 Gb/s with 5.0 GT/s PCIe x16 link)"
)
CHIPSET = (
    "63.012 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x4 link at 0000:00:01.2 "
    "(capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)"
)


def loud(port: str, device: str, kind: str, limit: str) -> set[str]:
    text = LOG.format(port=port, device=device, kind=kind, limit=limit)
    findings = diagnose(read_bytes(text.encode()), cost=False).findings
    return {one.rule for one in findings if one.severity is not Severity.INFO}


@pytest.mark.parametrize(
    ("port", "device", "kind", "limit"),
    [
        ("8086:37c3", "8086:37c8", "0x0b4000", NARROW),
        ("8086:18a9", "8086:18ee", "0x0b4000", NARROW),
        ("8086:6f50", "8086:15ad", "0x020000", NARROW),
        ("1022:57a4", "1022:1485", "0x130000", CHIPSET),
        ("1022:57a4", "1022:149c", "0x0c0330", CHIPSET),
        ("1022:57a4", "1022:7901", "0x010601", CHIPSET),
        ("1d94:1484", "1d94:7901", "0x010601", NARROW),
    ],
)
def test_links_that_are_no_wires_limit_nothing(port: str, device: str, kind: str, limit: str) -> None:
    assert loud(port, device, kind, limit) == set()


def test_a_card_in_the_same_place_is_limited() -> None:
    assert loud("8086:2030", "1000:005d", "0x010400", NARROW) == {"bandwidth-limited"}


def test_a_network_controller_inside_a_processor_has_no_wire() -> None:
    text = """\
00:02.2 PCI bridge [0604]: Intel Corporation Xeon D PCI Express Root Port 2 [8086:6f06] (rev 03)
\tBus: primary=00, secondary=03, subordinate=03, sec-latency=0
\tCapabilities: [90] Express (v2) Root Port (Slot-), MSI 00
\t\tLnkCap:\tPort #7, Speed 8GT/s, Width x4, ASPM L1
\t\tLnkSta:\tSpeed 2.5GT/s, Width x1

03:00.0 Ethernet controller [0200]: Intel Corporation Ethernet Connection X552 10 GbE SFP+ [8086:15ac]
\tCapabilities: [a0] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x4, ASPM L0s L1
\t\tLnkSta:\tSpeed 2.5GT/s, Width x1
"""
    machine = read_bytes(text.encode())
    link = machine.link_above(machine[Address.parse("03:00.0")])
    assert link is not None
    assert link.on_die
    assert not [one for one in diagnose(machine, cost=False).findings if one.severity is not Severity.INFO]
