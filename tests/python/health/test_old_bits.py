"""Bits that are older than the last reset, links that wake, and wireless adapters are notes."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.machine import read_bytes

NETWORK = """\
05:00.0 {what}
\tControl: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+
\tCapabilities: [70] Express (v2) Endpoint, MSI 01
\t\tDevSta:\tCorrErr- UncorrErr{non} FatalErr- UnsuppReq- AuxPwr+ TransPend-
\t\tLnkCap:\tPort #0, Speed 2.5GT/s, Width x1, ASPM L0s L1, Latency L0 unlimited, L1 <64us
\t\tLnkSta:\tSpeed 2.5GT/s, Width x1, TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
\tCapabilities: [100 v1] Advanced Error Reporting
\t\tUESta:\tDLP- SDES- TLP- FCP{fcp} CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP- ECRC- UnsupReq- ACSViol-
\t\tUEMsk:\tDLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP- ECRC- UnsupReq- ACSViol-
\t\tUESvrt:\tDLP+ SDES+ TLP- FCP+ CmpltTO- CmpltAbrt- UnxCmplt- RxOF+ MalfTLP+ ECRC- UnsupReq- ACSViol-
\t\tCESta:\tRxErr+ BadTLP{bad} BadDLLP+ Rollover{bad} Timeout- NonFatalErr-
"""
WIRED = "Ethernet controller [0200]: Realtek RTL8111/8168B PCI Express Gigabit Ethernet [10ec:8168]"
WIRELESS = "Network controller [0280]: Intel Corporation PRO/Wireless 5100 AGN [8086:4237]"
PORT = """\
00:1c.3 PCI bridge [0604]: Intel Corporation 8 Series PCI Express Root Port 4 [8086:9c16]
\tBus: primary=00, secondary=07, subordinate=07, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #4, Speed 5GT/s, Width x1, ASPM L0s L1, Exit Latency L0s <1us, L1 <16us
\t\t\tClockPM- Surprise- LLActRep+ BwNot+ ASPMOptComp-
\t\tLnkSta:\tSpeed 2.5GT/s, Width x1
\t\t\tTrErr- Train+ SlotClk+ DLActive{active} BWMgmt+ ABWMgmt-
07:00.0 Network controller [0280]: Qualcomm Atheros QCA9565 [168c:0036]
\tCapabilities: [70] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 2.5GT/s, Width x1, ASPM L0s L1, Exit Latency L0s <4us, L1 <64us
\t\tLnkSta:\tSpeed 2.5GT/s, Width x1
\t\t\tTrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
"""


def severity_of(rule: str, text: str) -> Severity:
    found = diagnose(read_bytes(text.encode()), cost=False).findings
    return next(finding.severity for finding in found if finding.rule == rule)


@pytest.mark.parametrize(("non", "severity"), [("-", Severity.INFO), ("+", Severity.WARNING)])
def test_latched_bits_without_one_in_device_status_are_old(non: str, severity: Severity) -> None:
    text = NETWORK.format(what=WIRED, non=non, fcp="+", bad="-")
    assert severity_of("uncorrectable-errors", text) is severity


@pytest.mark.parametrize("active", ["+", "-"])
def test_a_port_that_trains_is_a_warning(active: str) -> None:
    assert severity_of("link-inactive", PORT.format(active=active)) is Severity.WARNING


@pytest.mark.parametrize(("what", "severity"), [(WIRELESS, Severity.INFO), (WIRED, Severity.WARNING)])
def test_damaged_packets_of_wireless_adapters_are_a_note(what: str, severity: Severity) -> None:
    text = NETWORK.format(what=what, non="-", fcp="-", bad="+")
    assert severity_of("link-errors", text) is severity
