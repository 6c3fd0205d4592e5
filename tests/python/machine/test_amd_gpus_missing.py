"""GPUs that AMD's tools leave out, or of which they tell nothing. The forms are those of amd-smi 24 to 26."""

from __future__ import annotations

from lanewise.health.doctor import diagnose
from lanewise.machine import read_bytes

BUSES = ("05", "26", "46", "65")
LSPCI = """\
{}:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Aqua Vanjaram [1002:74a1]
\tCapabilities: [64] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM L0s L1
\t\tLnkSta:\tSpeed 32GT/s, Width x16
\tKernel driver in use: amdgpu

"""
BLOCK = """\
GPU: {index}
    BUS:
        BDF: 0000:{bus}:00.0
        MAX_PCIE_WIDTH: 16
        MAX_PCIE_SPEED: 32 GT/s
        SLOT_TYPE: OAM
    PCIE:
        WIDTH: {width}
        SPEED: {speed}
"""


def told(*buses: str, silent: str = "") -> str:
    """Return what `amd-smi static` and `metric` print of GPUs on these buses."""
    return "".join(
        BLOCK.format(index=index, bus=bus, width="N/A", speed="N/A")
        if bus == silent
        else BLOCK.format(index=index, bus=bus, width=16, speed="32 GT/s")
        for index, bus in enumerate(buses)
    )


def loud(text: str) -> list[tuple[str, str]]:
    findings = diagnose(read_bytes(text.encode()), cost=False).findings
    return [(one.rule, one.bdf) for one in findings if one.severity.value != "info"]


def test_a_gpu_that_the_tool_does_not_list() -> None:
    dump = "".join(map(LSPCI.format, BUSES))
    assert loud(dump + told(*BUSES)) == []
    assert loud(dump + told(*BUSES[:3])) == [("sources-disagree", "65:00.0")]


def test_a_gpu_of_whose_link_the_tool_tells_nothing() -> None:
    assert loud(told(*BUSES)) == []
    assert loud(told(*BUSES, silent="46")) == [("gpu-health", "46:00.0")]


def test_a_driver_that_is_not_there() -> None:
    text = "ERROR:root:Driver not initialized (amdgpu not found in modules)\n"
    assert loud(text) == [("gpu-unreachable", "")]
