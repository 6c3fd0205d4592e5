"""Correctable errors of functions other than the first: root ports beside each other, ports of adapters."""

from __future__ import annotations

from dataclasses import replace

from machines import NIC, function, machine

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Finding
from lanewise.machine import read_bytes
from lanewise.machine.model import Errors, Kind

DAMAGED = """\
[  {at}.716440] pcieport 0000:{place}: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)
[  {at}.716441] pcieport 0000:{place}: AER:   device [8086:9d15] error status/mask=00000001/00002000
[  {at}.716443] pcieport 0000:{place}: AER:    [ 0] RxErr
"""


def of_a_log(*places: str, times: int) -> list[Finding]:
    text = "".join(DAMAGED.format(at=100 + n, place=place) for n in range(times) for place in places)
    found = diagnose(read_bytes(text.encode()), cost=False).findings
    return [finding for finding in found if finding.rule == "link-errors"]


def told(found: list[Finding]) -> list[tuple[str, Severity, str]]:
    return [(finding.bdf, finding.severity, finding.title.split(" at ")[0]) for finding in found]


def test_each_root_port_of_a_chipset_has_a_link_of_its_own() -> None:
    words = "120 correctable errors counted"
    assert told(of_a_log("00:1c.0", "00:1c.5", times=120)) == [
        ("00:1c.0", Severity.WARNING, words),
        ("00:1c.5", Severity.WARNING, words),
    ]
    assert [finding.bdf for finding in of_a_log("40:03.1", times=120)] == ["40:03.1"]


def test_the_ports_of_an_adapter_log_the_errors_of_their_one_link() -> None:
    words = "120 correctable errors counted"
    assert told(of_a_log("5f:00.1", times=120)) == [("5f:00.1", Severity.WARNING, words)]
    assert told(of_a_log("5f:00.0", "5f:00.1", times=120)) == [("5f:00.0", Severity.WARNING, words)]


def test_bits_and_counters_of_a_second_port_belong_to_the_link_above_it() -> None:
    port = function("5d:00.0", Kind.ROOT_PORT)
    first = function("5f:00.0", Kind.ENDPOINT, class_code=NIC, parent="5d:00.0")
    for errors, severity in (
        (Errors(correctable_status=frozenset({"BadTLP", "Rollover"})), Severity.WARNING),
        (Errors(correctable_status=frozenset({"BadTLP"})), Severity.INFO),
        (Errors(counters=(("correctable.BadTLP", 90_000),)), Severity.WARNING),
        (Errors(correctable_status=frozenset({"AdvNonFatalErr"})), None),
    ):
        second = function("5f:00.1", Kind.ENDPOINT, class_code=NIC, parent="5d:00.0")
        second = replace(second, registers=second.registers._replace(errors=errors))
        found = [f for f in diagnose(machine(port, first, second)).findings if f.rule == "link-errors"]
        assert [(f.bdf, f.severity) for f in found] == ([("5f:00.1", severity)] if severity else [])
