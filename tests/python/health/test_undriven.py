"""Devices that nothing drives, in lists with ``-k`` and in whole dumps."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.machine import read_bytes

HOST = """\
00:00.0 Host bridge [0600]: Intel Corporation Ice Lake IEH [8086:09a2] (rev 20)
\tSubsystem: Intel Corporation Device [8086:7270]
00:11.5 SATA controller [0106]: Intel Corporation C620 Series [8086:a1d2] (rev 11)
\tKernel driver in use: ahci
00:1f.4 SMBus [0c05]: Intel Corporation Device [8086:1bc9] (rev 11)
\tKernel driver in use: i801_smbus
04:00.0 VGA compatible controller [0300]: ASPEED Technology, Inc. ASPEED Graphics Family [1a03:2000] (rev 52)
\tSubsystem: ASPEED Technology, Inc. ASPEED Graphics Family [1a03:2000]
05:00.0 Ethernet controller [0200]: Intel Corporation I350 Gigabit Network Connection [8086:1521] (rev 01)
\tKernel driver in use: igb
\tKernel modules: igb
"""
GPU = """\
{bus:02x}:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)
\tSubsystem: NVIDIA Corporation Device [10de:16c1]
"""
DRIVEN = GPU + "\tKernel driver in use: nvidia\n"
DRIVE = """\
81:00.0 Non-Volatile memory controller [0108]: Samsung Electronics Co Ltd PM9A3 [144d:a80a]
\tSubsystem: Samsung Electronics Co Ltd Device [144d:a811]
"""
DESKTOP = HOST.replace("04:00.0", "00:02.0").replace(
    "ASPEED Technology, Inc. ASPEED", "Intel Corporation UHD"
)
DESKTOP = DESKTOP.replace("1a03:2000] (rev 52)", "8086:a780] (rev 04)")


def undriven(text: str) -> list[Finding]:
    return [f for f in diagnose(read_bytes(text.encode()), cost=False).findings if f.rule == "driver-missing"]


def test_one_of_eight_in_a_list_has_no_driver_line() -> None:
    whole = HOST + "".join(DRIVEN.format(bus=0x10 + number) for number in range(8))
    assert undriven(whole) == []
    odd = whole.replace(DRIVEN.format(bus=0x14), GPU.format(bus=0x14))
    (found,) = undriven(odd)
    assert (found.severity, found.bdf) == (Severity.WARNING, "14:00.0")
    assert "7 of 8 devices of its kind have nvidia" in found.title


def test_a_list_from_which_lines_were_left_out_says_nothing() -> None:
    gpus = "".join(DRIVEN.format(bus=0x10 + number) for number in range(3)) + GPU.format(bus=0x14)
    assert undriven(gpus) == []
    assert undriven(HOST + gpus.replace("13:00.0", "--\n13:00.0") + "--\n" + DRIVE) == []
    assert undriven(HOST.replace("\tKernel driver in use: ", "\tDriver: ") + gpus[: gpus.index("\t")]) == []


@pytest.mark.parametrize("device", [GPU.format(bus=0x17), DRIVE])
def test_a_whole_kind_without_a_driver(device: str) -> None:
    (found,) = undriven(HOST + device)
    assert (found.severity, found.bdf) == (Severity.WARNING, device[:7])


def test_gpus_without_a_driver_are_said_together() -> None:
    (found,) = undriven(HOST + "".join(GPU.format(bus=0x10 + number) for number in range(8)))
    assert (found.severity, found.bdf, len(found.also)) == (Severity.WARNING, "10:00.0", 7)


@pytest.mark.parametrize(
    "text",
    [
        DESKTOP + GPU.format(bus=0x01),
        HOST + GPU.format(bus=0x17).replace("3D controller [0302]", "VGA compatible controller [0300]"),
        HOST + DRIVE.replace("Non-Volatile memory controller [0108]", "SATA controller [0106]"),
    ],
)
def test_what_may_be_idle_on_purpose_is_a_note(text: str) -> None:
    assert [f.severity for f in undriven(text)] == [Severity.INFO]


def test_what_is_held_for_a_virtual_machine_is_no_fault() -> None:
    held = DRIVEN.format(bus=0x17).replace("nvidia", "vfio-pci")
    assert [f for f in undriven(HOST + held) if f.severity is not Severity.INFO] == []


INXI = """\
System:
  Host: nas1 Kernel: 6.1.0-18-amd64 arch: x86_64 bits: 64
Network:
  Device-1: Intel 82599ES 10-Gigabit SFI/SFP+ Network vendor: Intel driver: ixgbe
    v: kernel pcie: speed: 5 GT/s lanes: 8 port: 6020 bus-ID: 05:00.0
    chip-ID: 8086:10fb
  IF: enp5s0f0 state: up speed: 10000 Mbps duplex: full mac: 00:1b:21:00:00:01
  Device-2: Intel 82599ES 10-Gigabit SFI/SFP+ Network vendor: Intel driver: {}
    pcie: speed: 5 GT/s lanes: 8 port: 6000 bus-ID: 05:00.1
    chip-ID: 8086:10fb
  Device-3: Intel I210 Gigabit Network driver: igb v: kernel pcie:
    speed: 2.5 GT/s lanes: 1 port: 5000 bus-ID: 07:00.0 chip-ID: 8086:1533
"""


def test_a_port_of_an_adapter_in_a_list_without_classes() -> None:
    assert undriven(INXI.format("ixgbe")) == []
    (found,) = undriven(INXI.format("N/A"))
    assert (found.severity, found.bdf) == (Severity.WARNING, "05:00.1")


HBA = """\
82:00.0 Serial Attached SCSI controller [0107]: Broadcom / LSI SAS3008 Fusion-MPT SAS-3 [1000:0097]
\tSubsystem: Broadcom / LSI SAS9300-8i [1000:30e0]
"""


@pytest.mark.parametrize(
    ("modules", "severity"), [("\tKernel modules: mpt3sas\n", Severity.WARNING), ("", Severity.INFO)]
)
def test_an_adapter_whose_module_is_there_and_does_not_drive_it(modules: str, severity: Severity) -> None:
    (found,) = undriven(HOST + HBA + modules)
    assert (found.bdf, found.severity) == ("82:00.0", severity)
    assert undriven(HOST + HBA + modules + "\tKernel driver in use: mpt3sas\n") == []
