"""Logs of management controllers: each maker has its words and its way to say where it was."""

from __future__ import annotations

import json

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.machine import read_bytes


def findings(text: str) -> list[Finding]:
    return list(diagnose(read_bytes(text.encode()), cost=False).findings)


# GitHub, magic-blue-smoke/Dual-Edge-TPU-Adapter issue 77: the event log of a board of ASRock Rack.
WRAPPED = """\
 ID  |       TimeStamp      |    Sensor Name   |      Sensor Type     |               Description
======|======================|==================|======================|===============================
 36   | 04/13/2025, 03:08:16 | BIOS             | Critical Interrupt   | PCI SERR - Asserted
      |                      |                  |                      | PCI Bus number : 0
      |                      |        |                      | PCI Device number : 3, PCI Function number : 1
------|----------------------|------------------|----------------------|-------------------------------
 35   | 04/13/2025, 03:06:47 | BIOS             | System Boot          | Initiated by power up - Asserted
"""
# GitHub, ipmitool/ipmitool pull request 340: a server of Quanta, without its place before and with it after.
QUANTA = (
    "   1 |  Pre-Init  |0000198492| Critical Interrupt #0xa1 | Bus Fatal Error (Bus fatal:B5d/D03/F02) | "
    "Asserted\n"
)


@pytest.mark.parametrize(
    ("text", "place", "severity"),
    [
        (WRAPPED, "00:03.1", Severity.ERROR),
        ("\n".join(f"> {line}" for line in WRAPPED.splitlines()), "00:03.1", Severity.ERROR),
        (QUANTA, "5d:03.2", Severity.ERROR),
        ("Sensor: PCIE_ERR, PCI PERR (Bus 5E / Dev 0A / Fun 00) Assertion\n", "5e:0a.0", Severity.WARNING),
        (
            "12 | 2023/08/01 10:11:12 | critical_interrupt | bus_correctable_error - Asserted, "
            "PCIE Bus:AF Dev:00 Fun:0\n",
            "af:00.0",
            Severity.INFO,
        ),
        (
            "| Error | 2024/01/20 09:00:12 | [GPU-0011] PCIe Fatal error detected @Bus:0xE1 Dev:0x0 Func:0x0 "
            "- Assertion\r\n",
            "e1:00.0",
            Severity.ERROR,
        ),
        (
            "PCIe Non-Fatal error, Segment 0x1 Bus 0x61 Device 0x00 Function 0x1\n",
            "0001:61:00.1",
            Severity.WARNING,
        ),
        ("Bus 0x3b Dev 0x00 Func 0x0: PCIe uncorrectable error\n", "3b:00.0", Severity.ERROR),
        ("PCIe Error at Bus 59 Device 0 Function 0\n", "3b:00.0", Severity.WARNING),
        ("PCIe Error at Bus 59 Device 00 Function 0\n", "59:00.0", Severity.WARNING),
    ],
)
def test_the_place_and_the_words_are_in_one_record(text: str, place: str, severity: Severity) -> None:
    (finding,) = findings(text)
    assert (finding.bdf, finding.severity) == (place, severity)


def test_a_record_may_name_the_device() -> None:
    """Lenovo's XCC: FQXSFIO0010M."""
    text = (
        "An Uncorrectable PCIe Error has Occurred at Bus 3B Device 0 Function 0. The Vendor ID for the "
        "device is 10DE and the Device ID is 20B5. The physical slot number is 3.\n"
    )
    (device,) = read_bytes(text.encode())
    assert (device.identity.vendor_id, device.identity.device_id) == (0x10DE, 0x20B5)
    (finding,) = findings(text)
    assert (finding.bdf, finding.severity) == ("3b:00.0", Severity.ERROR)


def test_each_entry_of_one_line_of_json_counts_for_itself() -> None:
    """As Redfish has them: one of the errors was corrected."""
    entries = [
        {"Severity": severity, "Message": f"PCIe {what} Error (Bus 0x{bus} Device 0x00 Func 0x00), Assertion"}
        for severity, what, bus in (("Critical", "Fatal", "C1"), ("Warning", "Correctable", "C2"))
    ]
    found = {finding.bdf: finding.severity for finding in findings(json.dumps({"Members": entries}))}
    assert found == {"c1:00.0": Severity.ERROR, "c2:00.0": Severity.INFO}


@pytest.mark.parametrize(
    "text",
    [
        "PCIe Fatal error @Bus:0xE1 Dev:0x0 Func:0x0 - Deassertion\n",
        "Memory | Uncorrectable ECC at Bus 0x7f Dev 0x13 Func 0x2, PCIe error log\n",
        "self test: no PCIe errors found on Bus 0x3b Device 0x00 Function 0x0\n",
        "Bus 0x3b Device 0x00 Function 0x0: PCIe error count: 0\n",
        "Slot 3 occupied: Bus 0x3b Dev 0x00 Func 0x0, link x16\n",
    ],
)
def test_what_is_no_error_of_pci_express(text: str) -> None:
    log = "PCIe Correctable Error @Bus:0x01 Dev:0x0 Func:0x0\n"
    assert [finding.bdf for finding in findings(log + text)] == ["01:00.0"]
