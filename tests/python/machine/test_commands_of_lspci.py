"""Commands about one device, whose filters dropped its first line, in one text with `lspci` lists."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import diagnose
from lanewise.machine import read_bytes

LIST = """\
$ lspci
00:00.0 Host bridge: Intel Corporation 8th Gen Core Processor Host Bridge/DRAM Registers (rev 07)
11:00.0 VGA compatible controller: NVIDIA Corporation GP107 [GeForce GTX 1050 Ti] (rev a1)
12:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM981/PM981/PM983
"""
NARROW = """\
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM L0s L1, Exit Latency L0s <1us, L1 <4us
\t\tLnkSta:\tSpeed 8GT/s (ok), Width x4 (downgraded)
"""


@pytest.mark.parametrize(
    "command",
    [
        "$ sudo lspci -vvv -s 11:00.0 | grep Lnk",
        "user@box:~$ lspci -s 0000:11:00.0 -vv | egrep 'LnkCap|LnkSta'",
        "# /usr/bin/lspci -vvs '11:00.0' | grep -i lnk",
        "```sh\nlspci -vvv -s 11:00.0 | grep Lnk\n```\n\nprints\n\n```",
    ],
)
def test_lines_about_a_link_are_of_the_device_of_the_command(command: str) -> None:
    machine = read_bytes(f"{LIST}\n{command}\n{NARROW}".encode())
    assert str(machine["11:00.0"].link.capability) == "8GT/s x16"
    assert str(machine["11:00.0"].link.status) == "8GT/s x4"
    assert machine["11:00.0"].identity.device_name == "GP107 [GeForce GTX 1050 Ti]"
    assert not machine["12:00.0"].link.status.known
    narrow = [f for f in diagnose(machine, cost=False).findings if f.rule == "link-one-end"]
    assert [finding.bdf for finding in narrow] == ["11:00.0"]


def test_each_command_has_its_own_lines() -> None:
    second = "\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x2 (downgraded)\n"
    text = f"{LIST}\n$ lspci -vvs 11:00.0 | grep Lnk\n{NARROW}$ lspci -vvs 12:00.0 | grep LnkSta\n{second}"
    machine = read_bytes(text.encode())
    assert str(machine["11:00.0"].link.status) == "8GT/s x4"
    assert str(machine["12:00.0"].link.status) == "2.5GT/s x2"
    assert len(list(machine)) == 3


@pytest.mark.parametrize(
    "between",
    ["$ ssh other\n", "root@other:~# dmesg\n", "and 12:00.0 (not this one)\n", "no output\n\n13:00.0\n"],
)
def test_lines_behind_something_else_are_of_no_device(between: str) -> None:
    text = f"{LIST}\n$ lspci -vv -s 11:00.0 | grep Foo\n{between}{NARROW}"
    machine = read_bytes(text.encode())
    assert not any(f.link.status.known for f in machine)
    assert any("no device is named" in note for note in machine.notes)


def test_a_command_before_a_whole_function_says_nothing_more() -> None:
    whole = f"{LIST.splitlines()[2]}\n{NARROW}"
    alone = read_bytes(whole.encode())
    named = read_bytes(f"$ sudo lspci -vvv -s 11:00.0\n{whole}".encode())
    assert (named.functions, named.notes) == (alone.functions, alone.notes)


def test_a_gpu_known_by_its_driver_alone_may_be_idle() -> None:
    idle = NARROW.replace("8GT/s (ok), Width x4 (downgraded)", "2.5GT/s (downgraded), Width x16 (ok)")
    text = f"{LIST}\n$ lspci -vvk -s 13:00.0 | grep -E 'Lnk|driver'\n{idle}\tKernel driver in use: {{}}\n"
    for driver, slow in (("nvidia", []), ("vfio-pci", ["13:00.0"])):
        findings = diagnose(read_bytes(text.format(driver).encode()), cost=False).findings
        assert [f.bdf for f in findings if f.rule == "link-one-end"] == slow
