"""The table of what drivers print, what they say in common words, and whom a line without address means."""

from __future__ import annotations

import re

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.machine import read_bytes
from lanewise.machine.sources import driver_lines
from lanewise.machine.sources.driver_lines import DriverLine, table

ROWS = sorted({row for rows in table().values() for row in rows})


def findings(*lines: str, first: str = "") -> list[Finding]:
    shown = (THERE, first, *lines)
    text = "".join(stamped(line, number) for number, line in enumerate(shown) if line)
    return [f for f in diagnose(read_bytes(text.encode()), cost=False).findings if f.rule in RULES]


THERE = "pci 0000:00:1c.0: [8086:a340] type 01 class 0x060400 PCIe Root Port"
RULES = ("device-lost", "device-timeout", "driver-error", "device-reduced")


def stamped(line: str, number: int) -> str:
    """Return a line as `dmesg -r` prints it where it has an urgency, or as `dmesg` does."""
    urgency, _, message = line.rpartition(">") if line.startswith("<") else ("", "", line)
    return f"{urgency}{'>' if urgency else ''}[   22.{number:06}] {message}\n"


def filled(message: str) -> str:
    """Return a message as a kernel prints it."""
    return re.sub(r"%[-+ #0]*[\d.]*(?:hh?|ll?|z)?[diuxXcsp][eRfMU]?", "7", message)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.driver}-{row.message[:40]}")
def test_each_row_is_found_in_the_line_of_its_driver(row: DriverLine) -> None:
    said = driver_lines.said(f"{row.driver} 0000:81:00.0: {filled(row.message)}")
    assert said is not None
    assert said.driver == row.driver
    if row.driver.lower() not in row.message.lower():
        assert driver_lines.said(f"somebody 0000:81:00.0: {filled(row.message)}") is None


def test_rows_have_a_source_and_words_enough_to_tell() -> None:
    assert len(ROWS) > 400
    assert all(row.source.count("/") and not row.source.endswith("/") for row in ROWS)
    assert all(len(row.sign) >= 7 for row in ROWS)


@pytest.mark.parametrize(
    ("message", "line", "is_found"),
    [
        ("%s lost (%d left)", "a lost (7 left)", True),
        ("%s lost (%d left)", " lost (7 left)", False),
        ("%s lost (%d left)", "\n lost (7 left)", False),
        ("%s lost (%d left)", f"a lost ({'7' * 61} left)", False),
        ("%s lost (%d left)", f"{'a' * 99} lost ({'7' * 60} left)", True),
        ("error code: %d", "error code: 7", True),
        ("error code: %d", "error code: ", False),
        ("%d", "7", True),
        ("%d", "", False),
    ],
)
def test_a_gap_is_filled_at_an_end_of_a_message_too(message: str, line: str, is_found: bool) -> None:
    assert bool(re.search(driver_lines.pattern_of(message), line)) is is_found


@pytest.mark.parametrize(
    ("line", "bdf", "severity"),
    [
        ("aacraid 0000:04:00.0: IOP reset failed", "04:00.0", Severity.ERROR),
        (
            "megaraid_sas 0000:03:00.0: Init cmd return status FAILED for SCSI host 0",
            "03:00.0",
            Severity.ERROR,
        ),
        ("megaraid_sas 0000:03:00.0: Failed from megasas_init_fw 6539", "03:00.0", Severity.ERROR),
        ("qla2xxx [0000:af:00.6]-00b6:5: HW State: FAILED.", "af:00.6", Severity.ERROR),
        ("tg3 0000:02:00.0: phy probe failed, err -19", "02:00.0", Severity.ERROR),
        ("tg3 0000:02:00.0: Problem fetching invariants of chip, aborting", "02:00.0", Severity.ERROR),
        (
            "r8169 0000:05:00.0: unknown chip XID fcf, contact r8169 maintainers (see MAINTAINERS file)",
            "05:00.0",
            Severity.ERROR,
        ),
        ("i40e 0000:5f:00.1: Rebuild AdminQ failed, err -EIO aq_err OK", "5f:00.1", Severity.ERROR),
        ("bnx2x 0000:86:00.0 eth2: MC assert!", "86:00.0", Severity.ERROR),
        (
            "zpci: 000d:00:00.0: Automatic recovery failed; operator intervention is required",
            "000d:00:00.0",
            Severity.ERROR,
        ),
        (
            "r8169 0000:05:00.0 enp5s0: rtl_rxtx_empty_cond == 0 (loop: 42, delay: 100).",
            "05:00.0",
            Severity.WARNING,
        ),
        ("sfc 0000:3b:00.0 ens1f0: MC command 0x2a inlen 16 mode 1 timed out", "3b:00.0", Severity.ERROR),
    ],
)
def test_lines_of_failing_devices(line: str, bdf: str, severity: Severity) -> None:
    assert [(f.bdf, f.severity) for f in findings(line)] == [(bdf, severity)]


@pytest.mark.parametrize(
    "line",
    [
        "ionic 0000:b1:00.0: device firmware heartbeat lost",
        "myri10ge 0000:05:00.0: unable to reset the board",
        "enic 0000:62:00.0: vNIC dev open failed, device not responding",
        "bfa 0000:0c:00.0: IOC hardware error, adapter is dead",
        "<3>qedf 0000:3b:00.2: Recovery from a hardware error failed",
    ],
)
def test_common_words_of_a_driver_that_no_row_has(line: str) -> None:
    assert [f.severity for f in findings(line)] == [Severity.WARNING]
    assert [f.rule for f in findings(line)] == ["driver-error"]


@pytest.mark.parametrize(
    "line",
    [
        "ionic 0000:b1:00.0: Direct firmware load for ionic.bin failed with error -2",
        "mpt3sas 0000:01:00.0: can't disable ASPM; OS doesn't have ASPM control",
        "qla2xxx [0000:05:00.0]-5837:7: Async-login failed: handle=1 pid=2 comp_status=31 iop0=3",
        "mlx5_core 0000:01:00.0: mlx5_cmd_out_err:800:(pid 7): ACCESS_REG(0x805) op_mod(0x1) failed",
        "bnxt_en 0000:c1:00.0 (unnamed net_device) (uninitialized): Device requests max timeout of 100 "
        "seconds, may trigger hung task watchdog",
        "smartpqi 0000:5c:00.0: RAID IU Timeout enabled",
        "ioatdma 0000:00:04.0: channel error register unreachable",
        "igb 0000:04:00.0: PHY reset is blocked due to SOL/IDER session.",
        "nvme 0000:01:00.0: AER:   Error of this Agent is reported first",
        "snd_hda_intel 0000:00:1f.3: azx_get_response timeout, switching to polling mode: last cmd=0x1",
        "i915 0000:00:02.0: [drm] Failed to load DMC firmware i915/skl_dmc_ver1_27.bin.",
        "intel_vpu 0000:00:0b.0: probe with driver intel_vpu failed with error -2",
        "<6>qedf 0000:3b:00.2: Recovery from a hardware error failed",
        "mlx5_core 0000:01:00.0: probe with driver mlx5_core failed with error -517",
    ],
)
def test_what_drivers_say_on_machines_in_order(line: str) -> None:
    assert findings(line) == []


def test_a_port_called_by_its_name_is_the_device_that_was_given_it() -> None:
    renamed = "bnx2x 0000:86:00.0 enp134s0f0: renamed from eth0"
    line = "bnx2x: [bnx2x_mc_assert:736(enp134s0f0)]MC assert!"
    assert [f.bdf for f in findings(line, first=renamed)] == ["86:00.0"]
    assert [f.bdf for f in findings(line)] == ["enp134s0f0"]


def test_a_driver_without_address_means_its_only_device() -> None:
    one, two = "aacraid 0000:04:00.0: enabling device", "aacraid 0000:05:00.0: enabling device"
    line = "aacraid: Host adapter is dead (or got a PCI error) -3"
    assert [f.bdf for f in findings(line, first=one)] == ["04:00.0"]
    assert [f.bdf for f in findings(two, line, first=one)] == ["aacraid"]


@pytest.mark.parametrize(
    ("failure", "healed", "severity"),
    [
        (
            "be2net 0000:0c:00.0: Error detected in the adapter",
            "Adapter recovery successful",
            Severity.WARNING,
        ),
        ("bfa 0000:0c:00.0: IOC hardware error", "IOC reset completed", Severity.INFO),
    ],
)
def test_what_is_healed_later_counts_less(failure: str, healed: str, severity: Severity) -> None:
    after = f"{failure.partition(': ')[0]}: {healed}"
    (before,) = findings(failure)
    (found,) = findings(failure, after)
    assert (found.severity, before.severity == severity) == (severity, False)
    assert "works again" in found.title
