"""Dumps of ordinary users show the header of each function and no capabilities: what it says still counts."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import diagnose
from lanewise.machine import read_bytes

DUMP = """\
00:00.0 Host bridge: Intel Corporation Xeon E7 v3/Xeon E5 v3 DMI2 (rev 01)
\tControl: I/O- Mem- BusMaster- SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx-
00:02.0 PCI bridge: Intel Corporation Xeon E7 v3/Xeon E5 v3 PCI Express Root Port 2 (rev 01)
\tControl: I/O+ Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+
\tBus: primary=00, secondary=03, subordinate=03, sec-latency=0
\tMemory behind bridge: 92000000-920fffff [size=1M] [32-bit]
\tPrefetchable memory behind bridge: 0000000000000000-0000000000000000 [disabled] [64-bit]
\tCapabilities: <access denied>
\tKernel driver in use: pcieport

03:00.0 {name}
\tControl: I/O- Mem+ BusMaster+ SpecCycle- MemWINV- VGASnoop- ParErr- Stepping- SERR- FastB2B- DisINTx+
\tRegion 0: Memory at 92000000 (64-bit, non-prefetchable) [size=16K]
\tCapabilities: <access denied>
\tKernel driver in use: {driver}
"""
NVME = ("Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM173X", "nvme")
NIC = ("Ethernet controller: Realtek Semiconductor Co., Ltd. RTL8111/8168/8411 PCI Express", "r8169")
OPEN = "Memory behind bridge: 92000000-920fffff [size=1M] [32-bit]"


@pytest.mark.parametrize(
    ("device", "before", "after", "found"),
    [
        (NVME, "rev 01", "rev 01", set()),
        (NVME, "I/O- Mem+ BusMaster+", "I/O- Mem- BusMaster-", {("configuration-lost", "03:00.0")}),
        (NIC, "I/O- Mem+ BusMaster+", "I/O- Mem+ BusMaster-", set()),
        (NVME, "I/O- Mem+ BusMaster+", "I/O- Mem+ BusMaster-", {("configuration-lost", "03:00.0")}),
        (NVME, "I/O+ Mem+ BusMaster+", "I/O+ Mem+ BusMaster-", {("dma-blocked", "00:02.0")}),
        (NVME, "I/O+ Mem+ BusMaster+", "I/O+ Mem- BusMaster+", {("bridge-window-closed", "00:02.0")}),
        (NVME, OPEN, "Memory behind bridge: [disabled] [32-bit]", {("bridge-window-closed", "00:02.0")}),
    ],
    ids=["whole", "reset", "idle NIC", "no DMA", "bridge without DMA", "bridge without memory", "no window"],
)
def test_headers_alone(device: tuple[str, str], before: str, after: str, found: set[tuple[str, str]]) -> None:
    text = DUMP.format(name=device[0], driver=device[1]).replace(before, after)
    loud = [
        one
        for one in diagnose(read_bytes(text.encode()), cost=False).findings
        if one.severity.value != "info"
    ]
    assert {(one.rule, one.bdf) for one in loud} == found
