"""Machines in order that look as if they were not: soldered chipsets, links inside chips, default values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from machines import GPU, NIC, function, machine, pair

from lanewise.doctor import Finding, Severity, diagnose
from lanewise.machine.model import Function, Kind, Machine
from lanewise.predicting import predict

SATA = 0x010601


def named(one: Function, vendor: int, device: int, name: str = "Device") -> Function:
    """Give a function the numbers of a real one."""
    return replace(one, identity=replace(one.identity, vendor_id=vendor, device_id=device, device_name=name))


def numbered(numbers: dict[str, tuple[int, int]], *functions: Function, **more: Any) -> Machine:
    """Put functions together, each with vendor and device by its address."""
    return machine(*(named(f, *numbers.get(f.address.short, (0x1234, 0x1))) for f in functions), **more)


def loud(one: Machine) -> list[Finding]:
    return [f for f in diagnose(one, cost=False).findings if f.severity is not Severity.INFO]


def x570(*, chipset: str = "16 x4", drive: str = "16 x4") -> Machine:
    """An X570 board: the chipset could do x8 and is wired with x4; a drive and SATA ports are behind it."""
    return numbered(
        {
            "00:01.2": (0x1022, 0x1483),
            "02:00.0": (0x1022, 0x57AD),
            "03:01.0": (0x1022, 0x57A3),
            "03:09.0": (0x1022, 0x57A4),
            "05:00.0": (0x1022, 0x7901),
        },
        function("00:01.2", Kind.ROOT_PORT, can="16 x8", now=chipset),
        function("02:00.0", Kind.UPSTREAM_PORT, can="16 x8", now=chipset, parent="00:01.2"),
        function("03:01.0", Kind.DOWNSTREAM_PORT, can="16 x4", now=drive, parent="02:00.0"),
        function("04:00.0", Kind.ENDPOINT, can="16 x4", now=drive, parent="03:01.0"),
        function("03:09.0", Kind.DOWNSTREAM_PORT, can="16 x16", parent="02:00.0"),
        function("05:00.0", Kind.ENDPOINT, can="16 x16", class_code=SATA, parent="03:09.0"),
    )


def test_a_soldered_chipset_on_fewer_lanes_is_no_fault() -> None:
    assert loud(x570()) == []
    (finding,) = [f for f in diagnose(x570(), cost=False).findings if f.rule == "link-width"]
    assert "Reseat" not in finding.fix


def test_a_drive_behind_the_chipset_that_lost_lanes_is() -> None:
    assert [f.bdf for f in loud(x570(drive="16 x1"))] == ["04:00.0"]


def test_sata_ports_inside_a_chip_are_no_wire() -> None:
    board = x570()
    assert diagnose(board, cost=False).links == 2
    assert {row.bdf for row in predict(board, together=False).rows} == {"04:00.0"}


def mi100(slot: str) -> Machine:
    """An MI100 in a slot: the switch in its chip shows links that are none."""
    return numbered(
        {"01:00.0": (0x1002, 0x14A0), "02:00.0": (0x1002, 0x14A1), "03:00.0": (0x1002, 0x738C)},
        function("00:01.0", Kind.ROOT_PORT, can=slot),
        function("01:00.0", Kind.UPSTREAM_PORT, can="16 x16", now=slot, parent="00:01.0"),
        function("02:00.0", Kind.DOWNSTREAM_PORT, can="16 x16", parent="01:00.0"),
        function("03:00.0", Kind.ENDPOINT, can="16 x16", class_code=0x120000, parent="02:00.0"),
    )


def test_the_switch_inside_a_gpu_does_not_hide_its_slot() -> None:
    found = {f.rule: f for f in diagnose(mi100("8 x16"), cost=False).findings}
    assert found["device-above-slot"].bdf == "01:00.0"
    assert "device-above-slot" not in {f.rule for f in diagnose(mi100("16 x16"), cost=False).findings}
    assert diagnose(mi100("8 x16"), cost=False).links == 1


@pytest.mark.parametrize("label", ["Onboard - Ethernet", "Embedded LOM 1 Port 1", "Integrated NIC 1"])
def test_what_firmware_calls_onboard_cannot_be_reseated(label: str) -> None:
    board = pair(can="5 x4", now="5 x2", port={"can": "5 x4"}, class_code=NIC, label=label)
    assert loud(board) == []
    card = pair(can="8 x8", now="8 x4", port={"can": "8 x8"}, class_code=GPU, vendor=0x10DE, label="SLOT 3")
    assert [f.rule for f in loud(card)] == ["link-width"]


def test_power_saving_as_firmware_sets_it_fails_no_machine() -> None:
    asleep = {"aspm_enabled": ("L1",), "exit_latency_l1_s": 16e-6}
    nic = pair(can="8 x8", port={"can": "8 x8", "link": asleep}, link=asleep, class_code=NIC)
    two = machine(*nic, *(function("00:02.0", Kind.ROOT_PORT, numa_node=1),))
    for one in (nic, two):
        assert loud(one) == []
        assert "aspm-enabled" in {f.rule for f in diagnose(one, cost=False).findings}


def test_small_payloads_of_a_drive_are_a_note() -> None:
    drive = pair(port={"transfers": {"mps": 128}}, transfers={"mps": 128})
    assert loud(drive) == []
    assert "mps-small" in {f.rule for f in diagnose(drive, cost=False).findings}


def adapter(*, now: str) -> Machine:
    """Make an adapter of four gigabit ports in a slot of Gen2 x4."""
    port = function("00:01.0", Kind.ROOT_PORT, can="5 x4", now=now)
    ports = [
        function(f"01:00.{n}", Kind.ENDPOINT, can="5 x4", now=now, class_code=NIC, parent="00:01.0")
        for n in range(4)
    ]
    i350 = (0x8086, 0x1521, "I350 Gigabit Network Connection")
    return machine(port, *(named(one, *i350) for one in ports))


def test_lanes_that_no_wire_could_fill_are_a_note_and_cost_nothing() -> None:
    (narrow,) = [f for f in diagnose(adapter(now="5 x2")).findings if f.rule == "link-width"]
    assert narrow.severity is Severity.INFO
    assert narrow.cost is not None
    assert narrow.cost.gb_per_s == 0
    (starved,) = [f for f in diagnose(adapter(now="2.5 x1")).findings if f.rule == "link-width"]
    assert starved.severity is Severity.WARNING
    assert starved.cost is not None
    assert starved.cost.compared is not None
    assert starved.cost.compared.fixed == pytest.approx(2 * 4 * 0.125), "four ports, both ways"


def test_lanes_that_no_media_could_fill_cost_what_the_media_lose() -> None:
    drive = pair(port={"can": "32 x4"}, can="32 x4", now="16 x4", model="SAMSUNG MZQL23T8HCLS-00A07")
    (slow,) = [f for f in diagnose(drive).findings if f.rule == "link-speed"]
    assert slow.severity is Severity.INFO, "6.5 GB/s go through Gen4 x4, too"
    half = pair(can="16 x4", now="8 x4", model="SAMSUNG MZQL23T8HCLS-00A07")
    (slow,) = [f for f in diagnose(half).findings if f.rule == "link-speed"]
    assert slow.severity is Severity.WARNING
    assert slow.cost is not None
    assert slow.cost.compared is not None
    assert slow.cost.compared.fixed == pytest.approx(6.5 + 3.5)


def test_the_dearest_warning_comes_first() -> None:
    both = machine(
        function("00:01.0", Kind.ROOT_PORT, can="16 x4"),
        function("01:00.0", Kind.ENDPOINT, can="16 x4", now="16 x2", parent="00:01.0"),
        function("00:02.0", Kind.ROOT_PORT, can="16 x16"),
        function("02:00.0", Kind.ENDPOINT, can="16 x16", now="16 x4", class_code=NIC, parent="00:02.0"),
    )
    loud_ones = [f for f in diagnose(both).findings if f.severity is Severity.WARNING]
    assert [f.bdf for f in loud_ones] == ["02:00.0", "01:00.0"]
