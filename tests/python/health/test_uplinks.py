"""Uplinks of switches: one fault is one finding, with what mends it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from machines import function, machine

from lanewise.health.doctor import diagnose
from lanewise.machine.model import Kind, LinkMode, Machine


def switch(port: str, can: str, now: str, leaf: str, blind: str | None = None) -> Machine:
    """Make a switch with four drives; `blind` is the address of an end whose capability is not known."""
    functions = [
        function("00:01.0", Kind.ROOT_PORT, can=port, now=now),
        function("01:00.0", Kind.UPSTREAM_PORT, can=can, now=now, parent="00:01.0"),
    ]
    for number in range(4):
        below = f"02:{number:02x}.0"
        functions += [
            function(below, Kind.DOWNSTREAM_PORT, can=leaf, parent="01:00.0"),
            function(f"{3 + number:02x}:00.0", Kind.ENDPOINT, can=leaf, parent=below),
        ]
    return machine(
        *(
            replace(
                each,
                registers=each.registers._replace(link=each.registers.link._replace(capability=LinkMode())),
            )
            if each.address.short == blind
            else each
            for each in functions
        )
    )


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (switch("16 x16", "16 x16", "16 x8", "16 x4"), {"link-width"}),
        (switch("16 x16", "16 x16", "8 x16", "16 x4"), {"link-speed"}),
        (switch("16 x16", "16 x16", "16 x8", "16 x4", blind="00:01.0"), {"link-one-end"}),
        (switch("16 x16", "16 x16", "8 x16", "16 x4", blind="00:01.0"), {"link-one-end"}),
        (switch("16 x8", "16 x16", "16 x8", "16 x4"), {"device-above-slot"}),
        (switch("8 x16", "16 x16", "8 x16", "16 x4"), {"device-above-slot"}),
        (switch("16 x8", "16 x8", "16 x8", "16 x4"), {"switch-oversubscribed"}),
        (switch("16 x16", "16 x8", "16 x8", "16 x4"), {"switch-oversubscribed"}),
        # Too many below even a whole uplink: these are two things to mend.
        (switch("16 x16", "16 x16", "16 x8", "16 x8"), {"link-width", "switch-oversubscribed"}),
    ],
)
def test_an_uplink_that_is_slow_itself_is_one_finding(made: Machine, found: set[str]) -> None:
    assert {finding.rule for finding in diagnose(made, cost=False).findings} == found


def test_how_many_share_an_uplink_is_said_of_what_the_switch_can_do() -> None:
    findings = diagnose(switch("16 x16", "16 x16", "16 x8", "16 x8"), cost=False).findings
    [shared] = [finding for finding in findings if finding.rule == "switch-oversubscribed"]
    assert shared.title == "4 devices below 01:00.0 share its upstream link, 2.0 to 1"
    assert shared.evidence[0] == (
        "00:01.0 -> 01:00.0: 16GT/s x16, 31.5 GB/s after coding (runs at 16GT/s x8)"
    )
