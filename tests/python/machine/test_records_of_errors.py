"""Errors in records that are no kernel log, and in dumps in which lines of other texts stand."""

from __future__ import annotations

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import diagnose
from lanewise.machine import read_bytes

RECORDS = """\
No Memory errors.

PCIe AER events:
1 2024-05-02 11:20:31 +0200 0000:0b:00.0 Corrected error: Receiver Error, Bad TLP
2 2024-05-02 11:20:32 +0200 0000:0b:00.0 Corrected error: Bad TLP
3 2024-05-03 01:02:03 +0200 0000:d9:01.0 Corrected error: Advisory Non-Fatal, BIT15
4 2024-05-04 01:02:03 +0200 0000:5e:00.0 Uncorrected (Fatal) error: Surprise Down TLP Header: 04000001
5 2024-05-04 01:02:04 +0200 0000:5e:00.0 Uncorrected (Non-Fatal) error: Completion Timeout
"""
DRIVE = "65:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1\n"


def findings(text: str) -> dict[str, str]:
    return {finding.rule: finding.title for finding in diagnose(read_bytes(text.encode())).findings}


def test_records_of_rasdaemon_are_errors_of_devices() -> None:
    machine = read_bytes(RECORDS.encode())
    assert (machine.kinds, len(machine)) == (("ras-mc-ctl",), 3)
    errors = machine["0b:00.0"].errors
    assert (errors.counter("correctable.BadTLP"), errors.counter("correctable.RxErr")) == (2, 1)
    assert machine["5e:00.0"].errors.counter("fatal.SDES") == 1
    assert findings(RECORDS) == {
        "link-errors": "link errors happened at some time at 0b:00.0",
        "uncorrectable-errors": "uncorrectable errors at 5e:00.0: read without an answer (CmpltTO), "
        "link down by surprise (SDES)",
    }


def test_a_summary_of_rasdaemon_names_no_device() -> None:
    with pytest.raises(InputError, match="does not say of which devices: 'ras-mc-ctl --errors' does"):
        read_bytes(b"PCIe AER events summary:\n\t4 Corrected errors: Bad TLP\n")


def test_lines_of_a_diff_inside_a_function_are_no_part_of_the_register_before() -> None:
    """Of two sides the newer counts; bits of one register are never those of another."""
    dump = (
        f"{DRIVE}\tCapabilities: [100 v2] Advanced Error Reporting\n"
        "\t\tUESta:\tDLP- SDES- TLP- FCP- CmpltTO- CmpltAbrt- UnxCmplt- RxOF- MalfTLP- ECRC- UnsupReq-\n"
        "-\t\tCESta:\tRxErr- BadTLP- BadDLLP+ Rollover- Timeout- AdvNonFatalErr-\n"
        "+\t\tCESta:\tRxErr+ BadTLP- BadDLLP+ Rollover- Timeout- AdvNonFatalErr-\n"
        "\t\tCEMsk:\tRxErr- BadTLP- BadDLLP- Rollover- Timeout- AdvNonFatalErr+\n"
    )
    errors = read_bytes(dump.encode())["65:00.0"].errors
    assert errors.uncorrectable_status == frozenset()
    assert errors.correctable_status == {"RxErr", "BadDLLP"}


def test_what_a_log_says_below_a_list_is_no_capability() -> None:
    """Then the list still is one, and its revision says that the device does not answer."""
    dead = "03:00.0 Co-processor: Intel Corporation DH895XCC Series QAT (rev ff)\n"
    assert "device-dead" in findings(
        f"{dead}\n syslog\n kernel: [2260339.545137] icp_qa_al err: no response\n"
    )


def test_a_bar_of_the_port_of_a_board_is_no_fault() -> None:
    """Ports of some host controllers have one that is as large as their windows."""
    line = "[    3.252518] pci {}: BAR 0: failed to assign [mem size 0x100000000 64bit pref]\n"
    assert findings(line.format("0000:00:00.0")) == {}
    assert "bar-unassigned" in findings(line.format("0001:00:00.0"))


def test_an_accelerator_that_its_driver_gave_up_could_not_be_started() -> None:
    line = "[   72.993269] habanalabs 0000:1a:00.0: Failed to initialize hl2. Device is NOT usable !\n"
    assert findings(line) == {"device-lost": "1a:00.0 could not be started"}


def test_a_heading_names_the_function_whose_body_stands_below() -> None:
    body = (
        "\tCapabilities: [80] Express (v2) Downstream Port (Slot+), IntMsgNum 0\n"
        "\t\tLnkCap:\tPort #3, Speed 5GT/s, Width x1, ASPM L0s L1, Exit Latency L0s <2us, L1 unlimited\n"
        "\t\tLnkSta:\tSpeed 2.5GT/s, Width x1\n"
    )
    link = read_bytes(f"=== 6.18.50  0001:02:03.0\n{body}".encode())["0001:02:03.0"].link
    assert (str(link.status), str(link.capability)) == ("2.5GT/s x1", "5GT/s x1")
