"""Ports of small machines behind which a device is missing, as old versions of `lspci` print them."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import diagnose
from lanewise.machine import read_bytes

DESKTOP = """\
00:00.0 Host bridge: Intel Corporation Xeon E3-1200 v3 Processor DRAM Controller (rev 06)
00:01.0 PCI bridge: Intel Corporation Xeon E3-1200 v3 Processor PCI Express x16 Controller (rev 06)
\tBus: primary=00, secondary=01, subordinate=01, sec-latency=0
\tCapabilities: [a0] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #2, Speed 8GT/s, Width x8, ASPM L0s L1, Exit Latency L0s <256ns, L1 <8us
\t\t\tClockPM- Surprise- LLActRep- BwNot+ ASPMOptComp+
\t\tLnkSta:\tSpeed 8GT/s, Width x8, TrErr- Train{train} SlotClk+ DLActive- BWMgmt+ ABWMgmt+
\t\tSltSta:\tStatus: AttnBtn- PowerFlt- MRL- CmdCplt- PresDet+ Interlock-
00:1c.2 PCI bridge: Intel Corporation 8 Series/C220 Series Chipset Family PCI Express Root Port #3 (rev d4)
\tBus: primary=00, secondary=03, subordinate=03, sec-latency=0
\tCapabilities: [40] Express (v2) Root Port (Slot+), MSI 00
\t\tLnkCap:\tPort #3, Speed 5GT/s, Width x1, ASPM L0s L1, Exit Latency L0s <512ns, L1 <16us
\t\t\tClockPM- Surprise- LLActRep+ BwNot+ ASPMOptComp-
\t\tLnkSta:\tSpeed 2.5GT/s, Width x1, TrErr- Train- SlotClk+ DLActive+ BWMgmt+ ABWMgmt-
\t\tSltSta:\tStatus: AttnBtn- PowerFlt- MRL- CmdCplt- PresDet+ Interlock-
"""
CARD = """\
01:00.0 Ethernet controller: Intel Corporation 82599ES 10-Gigabit SFI/SFP+ Network Connection (rev 01)
\tCapabilities: [a0] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 5GT/s, Width x8, ASPM L0s
\t\tLnkSta:\tSpeed 5GT/s, Width x8, TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
"""
NIC = """\
03:00.0 Ethernet controller: Intel Corporation I210 Gigabit Network Connection (rev 03)
\tCapabilities: [a0] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 2.5GT/s, Width x1, ASPM L0s L1
\t\tLnkSta:\tSpeed 2.5GT/s, Width x1, TrErr- Train- SlotClk+ DLActive- BWMgmt- ABWMgmt-
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (DESKTOP + CARD + NIC, set()),
        (DESKTOP + CARD, {("device-not-listed", "00:1c.2")}),
        (DESKTOP[DESKTOP.index("00:01.0") :] + CARD, set()),
        (DESKTOP + NIC, set()),
        (DESKTOP.replace("Train{train}", "Train+") + NIC, {("link-training", "00:01.0")}),
    ],
    ids=["whole", "no NIC", "no NIC in a dump of some functions", "no card, no report of links", "trains"],
)
def test_what_is_missing_behind_a_port(text: str, found: set[tuple[str, str]]) -> None:
    machine = read_bytes(text.format(train="-").encode())
    loud = diagnose(machine, cost=False).findings
    assert {(one.rule, one.bdf) for one in loud if one.severity.value != "info"} == found
