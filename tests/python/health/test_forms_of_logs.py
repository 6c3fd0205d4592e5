"""Kernel logs of machines that are no servers of one make: short texts of our own in the form of such logs."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Diagnosis, Finding
from lanewise.machine import read_bytes


def diagnosis(text: str) -> Diagnosis:
    return diagnose(read_bytes(text.encode()), cost=False)


def found(text: str, rule: str) -> list[Finding]:
    return [finding for finding in diagnosis(text).findings if finding.rule == rule]


# GitHub, open-power/snap issue 536: POWER stops a whole host bridge, not only one device below it.
@pytest.mark.parametrize(
    "line", ["Fenced PHB#2 detected, location: N/A", "dead PHB#2 detected", "PHB#2 failure detected"]
)
def test_what_power_stops_is_lost_until_it_is_back(line: str) -> None:
    """The line that says that it is back has no number, and is about what was stopped last."""
    stopped = f"[   12.5] EEH: {line}\n"
    (lost,) = found(stopped, "device-lost")
    assert lost.severity is Severity.ERROR
    assert "a PCI device of domain 0002 was stopped by the host" in lost.title
    (back,) = found(f"{stopped}[   13.5] EEH: Recovery successful.\n", "device-lost")
    assert back.severity is Severity.WARNING


# Linux, drivers/pci/probe.c (pci_configure_mps): where the kernel leaves payload sizes to the firmware, and
# where a device cannot do what its port is set to.
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("Max Payload Size 128, but upstream 0000:02:01.0 set to 256", "payloads of 128 B, and 02:01.0 above"),
        ("can't set Max Payload Size to 512", "does not take payloads of 512 B"),
    ],
)
def test_the_kernel_tells_of_payload_sizes_that_differ(line: str, words: str) -> None:
    text = f'[    1.25] pci 0000:03:00.0: {line}; if necessary, use "pci=pcie_bus_safe" and report a bug\n'
    (differs,) = found(text, "mps-mismatch")
    assert (differs.severity, differs.bdf) == (Severity.ERROR, "03:00.0")
    assert words in differs.title
    set_later = "[    2.5] pci 0000:03:00.0: Max Payload Size set to 128 (was 256, max 256)\n"
    bridge = "[    1.1] pci 0000:03:00.0: [8086:1533] type 00 class 0x020000\n"
    assert not found(bridge + text + set_later, "mps-mismatch")


# Linux, drivers/iommu: amd/iommu.c (iommu_print_event), intel/dmar.c (qi_check_fault).
@pytest.mark.parametrize(
    "line",
    [
        "iommu ivhd0: AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device=0000:43:00.0 address=0x1000f5a10]",
        "AMD-Vi: Event logged [IOTLB_INV_TIMEOUT device=43:00.0 address=0x00000001000f5a10]",
        "DMAR: VT-d detected Invalidation Time-out Error: SID 4300",
    ],
)
def test_a_device_that_does_not_answer_the_iommu_was_not_blocked(line: str) -> None:
    (late,) = diagnosis(f"[   50.25] {line}\n").findings
    assert (late.rule, late.severity, late.bdf) == ("device-timeout", Severity.WARNING, "43:00.0")
    assert "did not answer the IOMMU in time, once" in late.title


def test_an_iommu_that_waits_for_itself_is_late() -> None:
    (late,) = found("[   50.25] AMD-Vi: Completion-Wait loop timed out\n" * 3, "device-timeout")
    assert "AMD-Vi did not answer" in late.title


# Linux, drivers/iommu/arm/arm-smmu-v3 before 6.14 (arm_smmu_evtq_thread): numbers in place of a device.
def test_an_event_record_of_an_smmu_is_a_blocked_access() -> None:
    text = """\
[    1.25] pci 0000:03:00.0: [8086:1533] type 00 class 0x020000
[    7.25] arm-smmu-v3 arm-smmu-v3.0.auto: event 0x10 received:
[    7.25] arm-smmu-v3 arm-smmu-v3.0.auto: \t0x0000030000000010
"""
    (blocked,) = found(text, "dma-fault")
    assert blocked.severity is Severity.WARNING
    assert not found(text.replace("0x10 r", "0x24 r"), "dma-fault")
