"""Kernel logs of machines that are no servers of one make: short texts of our own in the form of such logs."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.finding import Diagnosis, Finding
from lanewise.machine import read_bytes


def diagnosis(text: str) -> Diagnosis:
    return diagnose(read_bytes(text.encode()), cost=False)


def found(text: str, rule: str) -> list[Finding]:
    return [finding for finding in diagnosis(text).findings if finding.rule == rule]


# GitHub, open-power/snap issue 536: POWER stops a whole host bridge, not only one device below it.
@pytest.mark.parametrize(
    "line", ["Fenced PHB#2 detected, location: N/A", "dead PHB#2 detected", "PHB#2 failure detected"]
)
def test_what_power_stops_is_lost_until_it_is_back(line: str) -> None:
    """The line that says that it is back has no number, and is about what was stopped last."""
    stopped = f"[   12.5] EEH: {line}\n"
    (lost,) = found(stopped, "device-lost")
    assert lost.severity is Severity.ERROR
    assert "a PCI device of domain 0002 was stopped by the host" in lost.title
    (back,) = found(f"{stopped}[   13.5] EEH: Recovery successful.\n", "device-lost")
    assert back.severity is Severity.WARNING
