"""Severity follows what a device can use: gigabit ports do not need the lanes that their card has."""

from __future__ import annotations

from dataclasses import replace

import pytest
from machines import GPU, NIC, function, machine

from lanewise.health.doctor import Severity, diagnose
from lanewise.machine.adapters import port_of
from lanewise.machine.model import Kind, LinkMode, Machine

I350 = "I350 Gigabit Network Connection"


def cards(name: str, *modes: str, can: str = "5 x4", blind: bool = False) -> Machine:
    """Make cards of four network functions, each in its own slot; of `blind` ones no capability is known."""
    functions = []
    for place, now in enumerate(modes, 1):
        port = f"00:{place:02x}.0"
        functions.append(function(port, Kind.ROOT_PORT, can="8 x8", now=now))
        for number in range(4):
            one = function(
                f"{place:02x}:00.{number}",
                Kind.ENDPOINT,
                can=can,
                now=now,
                class_code=NIC,
                vendor=0x8086,
                parent=port,
            )
            functions.append(replace(one, identity=replace(one.identity, device_name=name)))
    if blind:
        functions = [
            replace(
                one,
                registers=one.registers._replace(
                    link=one.registers.link._replace(capability=LinkMode(), said_of_width=None)
                ),
            )
            for one in functions
        ]
    return machine(*functions)


def severities(made: Machine) -> dict[str, Severity]:
    return {finding.rule: finding.severity for finding in diagnose(made, cost=False).findings}


@pytest.mark.parametrize(
    ("made", "found"),
    [
        (cards(I350, "5 x2"), {"link-width": Severity.INFO}),
        (cards(I350, "2.5 x4"), {"link-speed": Severity.INFO}),
        # One lane of Gen1 carries a quarter of a gigabyte, the four ports half of one.
        (cards(I350, "2.5 x1"), {"link-width": Severity.WARNING, "link-speed": Severity.WARNING}),
        (cards("An adapter that nobody knows", "5 x2"), {"link-width": Severity.WARNING}),
        (cards(I350, "5 x4", "5 x4", "5 x2", blind=True), {"odd-one-out": Severity.INFO}),
        (cards(I350, "5 x4", "5 x4", "2.5 x1", blind=True), {"odd-one-out": Severity.WARNING}),
        (
            cards("An adapter that nobody knows", "5 x4", "5 x4", "5 x2", blind=True),
            {"odd-one-out": Severity.WARNING},
        ),
    ],
)
def test_a_link_that_carries_all_that_its_ports_use_is_a_note(
    made: Machine, found: dict[str, Severity]
) -> None:
    assert severities(made) == found


def test_lanes_that_a_gpu_misses_are_a_warning() -> None:
    gpu = machine(
        function("00:01.0", Kind.ROOT_PORT, can="32 x16", now="32 x8"),
        function(
            "01:00.0",
            Kind.ENDPOINT,
            can="32 x16",
            now="32 x8",
            class_code=GPU,
            vendor=0x10DE,
            parent="00:01.0",
        ),
    )
    assert severities(gpu)["link-width"] is Severity.WARNING


@pytest.mark.parametrize(("now", "severity"), [("5 x2", Severity.INFO), ("2.5 x1", Severity.WARNING)])
def test_what_lspci_calls_downgraded_is_a_note_where_it_is_enough(now: str, severity: Severity) -> None:
    whole = cards(I350, now, blind=True)
    said = {
        address: replace(
            one,
            registers=one.registers._replace(
                link=one.registers.link._replace(said_of_width="downgraded", said_of_speed="ok")
            ),
        )
        for address, one in whole.functions.items()
    }
    assert severities(replace(whole, functions=said))["link-downgraded"] is severity


@pytest.mark.parametrize(
    ("name", "gbit_per_s"),
    [
        (I350, 1),
        ("82576 Gigabit Network Connection", 1),
        ("NetXtreme BCM5752 Gigabit Ethernet PCI Express", 1),
        ("DH8900CC Series Gigabit Fiber Network Connection", 1),
        ("82545GM Gigabit  Ethernet Controller", 1),
        ("500 Series Chipset Family GbE Controller (Consumer)", 1),
        ("NetXtreme II BCM57840 10/20 Gigabit Ethernet", 20),
        ("BCM57840 NetXtreme II 10/20-Gigabit Ethernet", 20),
        ("NetXtreme II BCM57810 10 Gigabit Ethernet", 10),
    ],
)
def test_a_name_that_says_more_than_a_gigabit_is_no_gigabit_adapter(name: str, gbit_per_s: float) -> None:
    made = cards(name, "5 x4")
    port = port_of(made, made["01:00.0"])
    assert port is not None
    assert 8 * port.gb_per_s == gbit_per_s
