"""What is wrong with the PCI Express of a machine, what it costs, and what to do.

    from lanewise.doctor import diagnose
    from lanewise.machine import read

    for finding in diagnose(read("lspci.txt")).findings:
        print(finding.severity, finding.title, finding.cost)

Rules (`rules/`) look at a machine through a `View` and yield findings; `examination` applies them all. Trials
are priced by running the simulator on the part of the machine that a finding is about (`rig`, `pricing`). The
rules are imported when they are applied, so that the command line can name severities at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.doctor.finding import Cost as Cost
from lanewise.doctor.finding import Diagnosis as Diagnosis
from lanewise.doctor.finding import Finding as Finding
from lanewise.doctor.finding import Severity as Severity

if TYPE_CHECKING:
    from lanewise.machine.model import Function, Machine


BLIND = "the source says nothing about links, payloads or errors; 'sudo lspci -vvv' does, where there are any"
_HOST_BRIDGE = 0x0600


def diagnose(machine: Machine, *, cost: bool = True) -> Diagnosis:
    """Apply every rule to a machine, and price what can be simulated unless told not to; worst first."""
    from lanewise.doctor.examination import examine, rules
    from lanewise.machine.view import View

    findings, simulations = list(examine(View(machine))), 0
    if cost:
        from lanewise.doctor.pricing import priced

        findings, simulations = priced(findings)
    examined = any(map(_says_something, machine))
    findings.sort(key=lambda finding: -finding.severity.rank)
    return Diagnosis(
        source=machine.source,
        findings=tuple(findings),
        functions=len(machine),
        links=sum(not link.on_die for link in machine.links),
        rules=len(rules()),
        simulations=simulations,
        notes=(*machine.notes, *machine.contradictions, *([] if examined else [BLIND])),
        examined=examined,
    )


def _says_something(function: Function) -> bool:
    """Whether rules find anything to look at; host bridges claim links that go nowhere."""
    link = function.link
    known = function.registers.express or link.status.known or link.capability.known
    return bool(known) and not function.is_class(_HOST_BRIDGE)
