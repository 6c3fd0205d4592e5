"""Files of sysfs that a text shows without their paths are those of the device that it names before."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import diagnose
from lanewise.machine import read_bytes
from lanewise.machine.registers import LinkMode

if TYPE_CHECKING:
    from lanewise.machine.model import Machine

COUNTERS = (
    "RxErr 12\nBadTLP 402\nBadDLLP 33\nRollover 1\nTimeout 63\nNonFatalErr 0\nCorrIntErr 0\nHeaderOF 0\n"
    "TOTAL_ERR_COR 511\n"
)
FATAL = "Undefined 0\nDLP 2\nSDES 0\nTOTAL_ERR_FATAL 2\n"
WORDS = (
    "Receiver Error 12\nBad TLP 402\nBad DLLP 33\nRELAY_NUM Rollover 1\nReplay Timer Timeout 63\n"
    "Advisory Non-Fatal 0\nCorrected Internal Error 0\nHeader Log Overflow 0\nTOTAL_ERR_COR 511\n"
)
DRIVE = "65:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller PM9A1\n"
CARD = "02:00.0 Ethernet controller: Intel Corporation Ethernet Controller X550 (rev 01)\n"
FILE = "/sys/bus/pci/devices/0000:65:00.0/aer_dev_correctable"


def read(text: str) -> Machine:
    return read_bytes(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        f"$ lspci -s 65:00.0\n{DRIVE}--- aer_dev_correctable ---\n{COUNTERS}",
        f"$ lspci -s 65:00.0\n{DRIVE}==> aer_dev_correctable <==\n{COUNTERS}\n==> aer_dev_fatal <==\n{FATAL}",
        f"{DRIVE}\tLnkSta:\tSpeed 16GT/s, Width x4\n\naer_dev_correctable:\n{COUNTERS}",
        f"root@box:/sys/bus/pci/devices/0000:65:00.0# cat aer_dev_correctable\n{COUNTERS}",
        f"# cat {FILE[:-11]}{{correctable,fatal}}\n{COUNTERS}{FATAL}",
        f"=== 0000:65:00.0 ===\naer_dev_correctable:\n  {COUNTERS.replace(' ', ': ')}",
        f"0000:65:00.0\n{COUNTERS}",
        f"==> {FILE} <==\n{COUNTERS}",
        f"==> {FILE} <==\n{WORDS}",
        "".join(f"{FILE}:{line}\n" for line in COUNTERS.splitlines()),
        f"{CARD}RxErr 0\nBadTLP 0\nTOTAL_ERR_COR 0\n{DRIVE}{COUNTERS}",
    ],
)
def test_counters_are_of_the_device_that_is_named_before(text: str) -> None:
    machine = read(text)
    errors = machine["65:00.0"].errors
    assert (errors.counter("correctable.BadTLP"), errors.counter("correctable.Timeout")) == (402, 63)
    assert errors.counter("correctable.TOTAL") == 511
    assert machine.not_understood.count == 0
    said = [finding for finding in diagnose(machine).findings if finding.rule == "link-errors"]
    assert [finding.title.split(" (")[0] for finding in said] == ["511 correctable errors counted at 65:00.0"]


def test_the_last_line_of_counters_says_which_file_it_was() -> None:
    errors = read(f"0000:65:00.0\n{COUNTERS}{FATAL}")["65:00.0"].errors
    assert (errors.counter("fatal.DLP"), errors.counter("correctable.DLP")) == (2, None)


def test_a_total_alone_does_not_say_which_errors() -> None:
    errors = read(f"{FILE}:TOTAL_ERR_COR 7\n")["65:00.0"].errors
    assert errors.counter("correctable.WithoutDetails") == 7


def test_of_several_devices_in_a_list_none_is_taken() -> None:
    """What follows the dump of a whole machine is of one that nobody named."""
    machine = read(f"$ lspci\n{CARD}{DRIVE}\n$ cat aer_dev_correctable\n{COUNTERS}")
    assert all(function.errors.counters is None for function in machine)
    assert "one device is not named" in machine.notes[0]


def test_a_kernel_log_names_no_device_for_counters() -> None:
    line = "[   12.345678] pcieport 0000:00:1c.0: AER: enabled with IRQ 122\n"
    machine = read(f"{DRIVE}{line}{COUNTERS}")
    assert machine["65:00.0"].errors.counter("correctable.TOTAL") == 511


def test_counters_without_any_device_are_refused_and_said() -> None:
    with pytest.raises(InputError, match=r"\(511 in all\) stand where one device is not named"):
        read(COUNTERS)


def test_words_that_look_like_counters_are_none() -> None:
    """Settings and results of other tools have numbers behind the same words."""
    machine = read(f"{DRIVE}Timeout 30\nTLP 4\n\n$ cat aer_dev_correctable\n{COUNTERS}")
    assert machine["65:00.0"].errors.counter("correctable.Timeout") == 63


def test_link_files_below_the_folder_of_a_device() -> None:
    values = {
        "current_link_speed": "8.0 GT/s PCIe",
        "max_link_speed": "16.0 GT/s PCIe",
        "current_link_width": "4",
        "max_link_width": "4",
    }
    shown = "".join(f"$ cat {name}\n{value}\n" for name, value in values.items())
    link = read(f"$ cd /sys/bus/pci/devices/0000:65:00.0\n{shown}")["65:00.0"].link
    assert (str(link.status), str(link.capability)) == ("8GT/s x4", "16GT/s x4")


IN_ONE = "/sys/bus/pci/devices/0000:01:00.0"


@pytest.mark.parametrize(
    "command",
    [
        f"$ cat {IN_ONE}/{{current,max}}_link_{{speed,width}}",
        f"# cat {IN_ONE}/current_link_speed {IN_ONE}/current_link_width {IN_ONE}/max_link_{{speed,width}}",
    ],
)
def test_link_files_of_one_command_are_in_its_order(command: str) -> None:
    (drive,) = read(f"{command}\n8.0 GT/s PCIe\n2\n16.0 GT/s PCIe\n4\n")
    assert (drive.link.status, drive.link.capability) == (LinkMode(8, 2), LinkMode(16, 4))


def test_a_line_that_is_no_value_ends_the_files_of_a_command() -> None:
    (drive,) = read(f"$ cat {IN_ONE}/current_link_{{speed,width}}\n8.0 GT/s PCIe\ncat: no such file\n4\n")
    assert drive.link.status == LinkMode(8)
