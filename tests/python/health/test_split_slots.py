"""Slots that may be split: what registers show is said, and what they do not is said to be unknown."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from machines import GPU, NIC, function, machine, pair

from lanewise.health.doctor import Finding, diagnose
from lanewise.machine.model import Address, Identity, Kind, Machine, PhysicalSlot

GRAPHICS: dict[str, Any] = {"class_code": GPU, "vendor": 0x10DE}


def finding(made: Machine, rule: str) -> Finding | None:
    found = [each for each in diagnose(made, cost=False).findings if each.rule == rule]
    assert len(found) < 2
    return found[0] if found else None


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (pair(port={"can": "16 x16"}), True),
        (pair(port={"can": "16 x8"}), True),
        (pair(port={"can": "16 x4"}), False),
        # A port without a slot has what the board gives it.
        (pair(port={"can": "16 x16", "registers": {"slot": None}}), False),
        # Adapters with fewer lanes than their slot are what one buys.
        (pair(port={"can": "16 x16"}, can="16 x8", class_code=NIC), False),
    ],
)
def test_a_drive_in_a_slot_with_more_lanes_may_be_one_of_several(made: Machine, *, expected: bool) -> None:
    assert (finding(made, "slot-lanes-unused") is not None) == expected


def test_what_the_firmware_says_of_the_slot_stands_beside_it() -> None:
    drive = Address.parse("01:00.0")
    slot = PhysicalSlot("SLOT5", lanes=16, generation=4, used=True, device=drive)
    found = finding(replace(pair(port={"can": "16 x16"}), slots=(slot,)), "slot-lanes-unused")
    assert found is not None
    assert found.title == "1 drive leaves lanes of its slot unused: 01:00.0"
    assert list(found.evidence) == [
        "01:00.0 LnkCap: 16GT/s x4 (Example Device); 00:01.0 LnkCap: 16GT/s x16",
        "dmidecode: SLOT5: gen4 x16",
    ]


def test_a_virtual_machine_has_no_slots_to_split() -> None:
    guest = pair(port={"can": "16 x16"})
    made_up = function("00:02.0", Kind.CONVENTIONAL, class_code=0x030000)
    made_up = replace(made_up, identity=Identity(0x030000, 0x1B36, 0x0100))
    assert finding(machine(*guest, made_up), "slot-lanes-unused") is None


def split(*beside: tuple[str, str, bool]) -> Machine:
    """Make a GPU of 16 lanes below a port of eight, with ports beside: address, mode, whether one is used."""
    functions = [
        function("00:01.0", Kind.ROOT_PORT, can="16 x8"),
        function("01:00.0", Kind.ENDPOINT, can="16 x16", now="16 x8", parent="00:01.0", **GRAPHICS),
    ]
    for number, (bdf, mode, is_used) in enumerate(beside, 2):
        functions.append(function(bdf, Kind.ROOT_PORT, can=mode))
        if is_used:
            functions.append(function(f"{number:02x}:00.0", Kind.ENDPOINT, can=mode, parent=bdf))
    return machine(*functions)


@pytest.mark.parametrize(
    ("beside", "empty"),
    [
        ([("00:01.1", "16 x8", False)], "00:01.1"),
        ([("00:01.1", "16 x4", False), ("00:01.2", "16 x4", False)], "00:01.1, 00:01.2"),
        # The other half is in use, has another number, or is not all that is missing.
        ([("00:01.1", "16 x8", True)], None),
        ([("00:02.0", "16 x8", False)], None),
        ([("00:01.1", "16 x4", False)], None),
        ([], None),
    ],
)
def test_empty_ports_beside_one_that_has_half_of_the_lanes_are_named(
    beside: list[tuple[str, str, bool]], empty: str | None
) -> None:
    found = finding(split(*beside), "device-above-slot")
    assert found is not None
    assert ("bifurcation" in found.fix) == (empty is not None)
    if empty is not None:
        assert f"If {empty}, empty beside 00:01.0, " in found.fix
        for bdf in empty.split(", "):
            assert any(line.startswith(f"{bdf} LnkCap: ") for line in found.evidence)


@pytest.mark.parametrize(("lanes", "expected"), [(16, True), (8, False), (None, False)])
def test_a_slot_that_has_more_lanes_than_its_port_is_said_to(lanes: int | None, *, expected: bool) -> None:
    slot = PhysicalSlot("SLOT1", lanes=lanes, generation=4, used=True, device=Address.parse("01:00.0"))
    found = finding(replace(split(), slots=(slot,)), "device-above-slot")
    assert found is not None
    assert ("SLOT1 has x16 wired, and its port has x8" in found.fix) == expected
