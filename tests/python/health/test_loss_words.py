"""What titles say of devices that were lost: by the line, and at the device that it is about."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.machine import read_bytes

FATAL = "AER: Uncorrectable (Fatal) error message received from 0000:"


def findings(*lines: str) -> list[Finding]:
    text = "".join(f"[    2.{number:06}] {line}\n" for number, line in enumerate(lines))
    return list(diagnose(read_bytes(text.encode()), cost=False).findings)


def only(rule: str, *lines: str) -> Finding:
    (found,) = [finding for finding in findings(*lines) if finding.rule == rule]
    return found


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("igb 0000:02:00.0 enp2s0: PCIe link lost", "02:00.0 lost its link"),
        (
            "xe 0000:03:00.0: [drm] CRITICAL: Xe has declared device 0000:03:00.0 as wedged.",
            "03:00.0 hangs, and its driver uses it no more (wedged)",
        ),
        ("amdgpu 0000:0b:00.0: amdgpu: GPU reset(1) failed", "0b:00.0 could not be reset"),
        ("amdgpu 0000:83:00.0: amdgpu: GPU reset end with ret = -110", "83:00.0 could not be reset"),
        (
            "nouveau 0000:01:00.0: init failed with -5",
            "01:00.0 could not be started",
        ),
        (
            "Unable to determine the device handle for GPU 0000:0B:00.0: Unknown Error",
            "0b:00.0 cannot be reached by nvidia-smi",
        ),
        (
            "PCI 0002:01:00.0#00fd: EEH: Invoking aacraid->error_detected(IO frozen)",
            "0002:01:00.0 was stopped by the host after an error (EEH)",
        ),
    ],
)
def test_a_title_says_what_the_line_says(line: str, title: str) -> None:
    found = only("device-lost", line)
    assert (found.title, found.severity) == (title, Severity.ERROR)


def test_the_device_is_named_that_a_port_could_not_recover() -> None:
    lines = (f"pcieport 0000:00:1c.0: {FATAL}01:00.0", "pcieport 0000:00:1c.0: AER: device recovery failed")
    assert only("device-lost", *lines).bdf == "01:00.0"
    alone = only("device-lost", lines[1])
    assert (alone.bdf, alone.title.split(" did")[0]) == ("00:1c.0", "what is below 00:1c.0")
    again = "pcieport 0000:00:1c.0: AER: device recovery successful"
    assert only("device-lost", *lines, again).severity is Severity.WARNING


def test_powerpc_tells_of_a_device_and_is_none() -> None:
    failed = (
        "EEH: This PCI device has failed 1 times in the last hour and will be permanently disabled after 5 "
        "failures."
    )
    device = "PCI 0002:01:00.0#00fd: EEH: Invoking aacraid->error_detected(IO frozen)"
    assert only("device-lost", failed, device).bdf == "0002:01:00.0"
    assert "EEH could" not in only("device-lost", failed).title


def test_a_wait_counts_that_has_no_end() -> None:
    waits = [f"nvidia 0000:01:00.0: not ready {2**n - 1}ms after bus reset; waiting" for n in range(10, 16)]
    assert only("device-lost", *waits).bdf == "01:00.0"
    there = "pci 0000:01:00.0: [10de:2330] type 00 class 0x030200 PCIe Endpoint"
    assert not findings(there, *waits, "nvidia 0000:01:00.0: ready 40000ms after bus reset")
    assert not findings(there, *waits[:2])
    over = "nvidia 0000:01:00.0: not ready 65535ms after bus reset; giving up"
    assert "giving up" in only("device-lost", *waits, over).evidence[0]


def test_what_goes_away_with_its_card_is_a_note() -> None:
    wait = "pcieport 0000:3a:00.0: not ready 32767ms after Switch to D0; waiting"
    pulled = findings("pcieport 0000:04:04.0: pciehp: Slot(4): Card not present", wait)
    assert {f.bdf: f.severity for f in pulled} == {"3a:00.0": Severity.INFO, "04:04.0": Severity.WARNING}
    assert not any("unknown device" in line or "LnkSta: ?" in line for f in pulled for line in f.evidence)


def test_a_wireless_adapter_that_joins_a_network_again_is_a_note() -> None:
    crash = "iwlwifi 0000:03:00.0: Microcode SW error detected.  Restarting 0x2000000."
    assert only("driver-error", crash).severity is Severity.WARNING
    assert "Microcode SW error detected" in only("driver-error", crash).title
    assert only("driver-error", crash, "wlan0: associated").severity is Severity.INFO


def test_blocked_interrupts_count_by_their_reason() -> None:
    said = "DMAR: [INTR-REMAP] Request device [{}] fault index 0x88 [fault reason {}"
    of_format = said.format("0x64:0x00.5", "0x25] Blocked a compatibility format interrupt request")
    assert (only("dma-fault", of_format).bdf, only("dma-fault", of_format).severity) == (
        "64:00.5",
        Severity.WARNING,
    )
    board = of_format.replace("0x64:0x00.5", "f0:1f.7")
    assert only("dma-fault", board).severity is Severity.INFO
    other = said.format("64:00.5", "0x22] Present field in the IRTE entry is clear")
    assert only("dma-fault", other).severity is Severity.INFO
    assert only("dma-fault", *[other] * 10).severity is Severity.WARNING


def test_an_xid_after_another_one_is_as_bad_as_that() -> None:
    line = "NVRM: Xid (PCI:0000:dc:00): 45, pid=1, name=python3, Ch 00000001 caused by previous Xid {}"
    link, program = only("gpu-error", line.format(149)), only("gpu-error", line.format(31))
    assert (link.severity, program.severity) == (Severity.WARNING, Severity.INFO)
    assert "Xid 149" in link.title


def test_what_a_log_alone_does_not_know_it_does_not_say() -> None:
    line = "pcieport 10001:80:02.0: broken device, retraining non-functional downstream link at 2.5GT/s"
    title = only("link-retrained", line).title
    assert "dump" not in title
    told = findings(f"pcieport 0000:00:1c.0: {FATAL}01:00.0")
    assert told
    assert not any("WithoutDetails" in finding.title for finding in told)


def test_what_a_driver_says_stands_in_the_title() -> None:
    line = "amdgpu 0000:68:00.0: {1}uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT) detected!"
    assert "uncorrectable hardware error(ERREVENT_ATHUB_INTERRUPT)" in only("driver-error", line).title


def test_a_heartbeat_that_was_late_is_told_at_the_gpu() -> None:
    late = "NVRM: GPU0 _kgspRpcRecvPoll: GSP RM heartbeat timed out"
    assert only("device-timeout", late, "nvidia 0000:05:00.0: Enabling HDA controller").bdf == "05:00.0"
    assert "GPU0" in only("device-timeout", late).title


def test_a_driver_that_did_not_start_matters_by_what_its_device_moves() -> None:
    failed = "{}: probe of 0000:05:00.0 failed with error -5"
    listed = "pci 0000:05:00.0: [1022:15e4] type 00 class {} PCIe Endpoint"
    for driver, code, severity in (
        ("nouveau", None, Severity.WARNING),
        ("iwlwifi", None, Severity.INFO),
        ("example", None, Severity.INFO),
        ("example", "0x118000", Severity.INFO),
        ("example", "0x020000", Severity.WARNING),
        ("iwlwifi", "0x028000", Severity.INFO),
    ):
        lines = [listed.format(code)] if code else []
        assert only("driver-error", *lines, failed.format(driver)).severity is severity
    assert not [
        f for f in findings(listed.format("0x0b4000"), failed.format("c6xx")) if f.rule == "driver-error"
    ]
