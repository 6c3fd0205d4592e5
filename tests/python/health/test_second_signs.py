"""Slots and GPUs of which a second sign says that something is missing: likes, tables, other tools."""

from __future__ import annotations

from typing import Any

import pytest
from machines import NVME, function, machine

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.machine import read_bytes
from lanewise.machine.model import Address, Buses, Function, Kind, Machine, PhysicalSlot, Slot

BAY = Slot(number=1, presence=True, hot_plug=True, surprise=True)
NO_LINK: dict[str, Any] = {"data_link_active": False}


def of(rule: str, source: Machine) -> list[Finding]:
    return [finding for finding in diagnose(source, cost=False).findings if finding.rule == rule]


def bays(used: int, *, empty: int = 1, slot: Slot = BAY, link: dict[str, Any] | None = None) -> Machine:
    """Make switches with a bay each, below root ports of their own; the last ones have no link."""
    functions: list[Function] = []
    for number in range(used + empty):
        root, up, down, drive = (f"{base + number:02x}:00.0" for base in (0x10, 0x30, 0x50, 0x70))
        functions.append(function(root, Kind.ROOT_PORT))
        functions.append(function(up, Kind.UPSTREAM_PORT, parent=root))
        bare = number >= used
        functions.append(
            function(
                down,
                Kind.DOWNSTREAM_PORT,
                can="32 x4",
                now="2.5 x0" if bare else "32 x4",
                link=NO_LINK | (link or {}) if bare else {"data_link_active": True},
                parent=up,
                registers={"slot": slot},
            )
        )
        if not bare:
            functions.append(function(drive, Kind.ENDPOINT, can="32 x4", class_code=NVME, parent=down))
    return machine(*functions)


def severities(source: Machine) -> list[Severity]:
    return [finding.severity for finding in of("slot-no-link", source)]


def test_one_bay_without_a_link_among_used_ones_is_a_warning() -> None:
    assert severities(bays(3)) == [Severity.WARNING]
    assert severities(bays(2)) == [Severity.INFO]
    assert severities(bays(3, empty=2)) == [Severity.INFO, Severity.INFO]
    assert severities(bays(3, slot=BAY._replace(hot_plug=False))) == [Severity.INFO]


def test_a_link_switched_off_in_an_occupied_slot_is_a_warning() -> None:
    off = {"disabled": True}
    assert severities(bays(0, link=off)) == [Severity.WARNING]
    assert severities(bays(0, link=off, slot=BAY._replace(power_off=True))) == [Severity.INFO]
    assert severities(bays(0, link=off, slot=BAY._replace(hot_plug=False))) == [Severity.INFO]


@pytest.mark.parametrize(
    ("slot", "severity"),
    [
        (Slot(number=6, presence=False, link_changed=True), Severity.WARNING),
        (Slot(number=6, presence=False), Severity.INFO),
        (None, Severity.WARNING),
    ],
)
def test_one_slot_in_use_and_empty_counts_by_what_its_port_says(
    slot: Slot | None, severity: Severity
) -> None:
    port = function("80:02.0", Kind.ROOT_PORT, now="2.5 x0", registers={"slot": slot})
    port = Function(**{f: getattr(port, f) for f in port.__slots__} | {"buses": Buses(0x80, 0x82, 0x82)})
    used = PhysicalSlot("PCIe Slot 6", used=True, address=Address.parse("82:00.0"))
    found = of("slot-device-missing", machine(port, slots=(used,)))
    assert [(one.bdf, one.severity) for one in found] == [("82:00.0", severity)]


def test_a_slot_whose_number_is_beside_its_card_is_not_empty() -> None:
    """ASUS X99 boards write 03:03.3 for the slot whose card is 03:00.0."""
    port = function("00:02.0", Kind.ROOT_PORT, now="8 x16", can="8 x16")
    card = function("03:00.0", Kind.ENDPOINT, now="8 x16", can="8 x16", parent="00:02.0")
    used = PhysicalSlot("PCIEX16_1", used=True, address=Address.parse("03:03.3"))
    assert not of("slot-device-missing", machine(port, card, slots=(used,)))
    beside = PhysicalSlot("PCIEX16_2", used=True, address=Address.parse("00:03.0"))
    assert of("slot-device-missing", machine(port, card, slots=(beside,)))


TABLE = """\
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 470.57.02    Driver Version: 470.57.02    CUDA Version: 11.4     |
|-------------------------------+----------------------+----------------------+
| GPU  Name        Persistence-M| Bus-Id        Disp.A | Volatile Uncorr. ECC |
|===============================+======================+======================|
|   {number}  Tesla P100-PCIE...  On   | 00000000:04:00.0 Off |                    0 |
| N/A   32C    P0    25W / 250W |      0MiB / 12198MiB |      0%      Default |
"""
END = "+-------------------------------+----------------------+----------------------+\n"
GPUS = """\
04:00.0 3D controller: NVIDIA Corporation GP100GL [Tesla P100 PCIe 12GB] (rev a1)
\tCapabilities: [78] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 8GT/s (ok), Width x16 (ok)
\tKernel driver in use: nvidia

82:00.0 3D controller: NVIDIA Corporation GP100GL [Tesla P100 PCIe 12GB] (rev a1)
\tCapabilities: [78] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 8GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 8GT/s (ok), Width x16 (ok)
\tKernel driver in use: nvidia

"""


def test_a_whole_table_that_lacks_a_gpu_contradicts_the_list() -> None:
    def left_out(text: str) -> list[str]:
        return [f.bdf for f in of("sources-disagree", read_bytes((GPUS + text).encode()))]

    assert left_out(TABLE.format(number=0) + END) == ["82:00.0"]
    assert left_out(TABLE.format(number=1) + END) == []
    assert left_out(TABLE.format(number=0)) == []


def linked(*modes: tuple[str, str], most: tuple[str, str] = ("32.0", "16")) -> Machine:
    text = ""
    for number, (speed, width) in enumerate(modes):
        path = f"/sys/bus/pci/devices/0000:{0x19 + number:02x}:00.0"
        for name, value in (
            ("current_link_speed", f"{speed} GT/s PCIe"),
            ("current_link_width", width),
            ("max_link_speed", f"{most[0]} GT/s PCIe"),
            ("max_link_width", most[1]),
        ):
            text += f"==> {path}/{name} <==\n{value}\n\n"
    return read_bytes(text.encode())


def test_the_odd_one_of_many_link_files_is_a_warning() -> None:
    full = ("32.0", "16")
    for odd, severity in (
        (("32.0", "8"), Severity.WARNING),
        (("16.0", "16"), Severity.WARNING),
        (("5.0", "16"), Severity.INFO),
    ):
        (found,) = of("link-one-end", linked(*[full] * 7, odd))
        assert (found.bdf, found.severity) == ("20:00.0", severity)
    (few,) = of("link-one-end", linked(*[full] * 4, ("32.0", "8")))
    assert few.severity is Severity.INFO
