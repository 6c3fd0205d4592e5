"""What is wrong with the PCI Express of a machine, what it costs, and what to do.

    from lanewise.health.doctor import diagnose
    from lanewise.machine import read

    for finding in diagnose(read("lspci.txt")).findings:
        print(finding.severity, finding.headline, finding.cost)

Rules (`rules/`) look at a machine through a `View` and yield findings; `examination` applies them all. Trials
are priced by running the simulator on the part of the machine that a finding is about (`rig`, `pricing`). The
rules are imported when they are applied, so that the command line can name severities at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Cost as Cost
from lanewise.health.doctor.finding import Diagnosis as Diagnosis
from lanewise.health.doctor.finding import Finding as Finding
from lanewise.health.doctor.finding import Profile as Profile
from lanewise.health.doctor.finding import Severity as Severity

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from lanewise.health.fleet.model import FleetFile
    from lanewise.machine.model import Machine


def diagnose(
    machine: Machine,
    *,
    cost: bool = True,
    profile: Profile = Profile.ALL,
    fleet: Iterable[FleetFile] = (),
    today: date | None = None,
    keep_costs: bool = False,
) -> Diagnosis:
    """Apply every rule of a profile to a machine, and price what can be simulated; worst first.

    The files of `fleet` say what should be in it and which findings are waived; waivers hold on the day
    `today`, which is that of the clock, in UTC, when it is None. With `keep_costs`, what earlier checks of
    this process have simulated is not simulated again.
    """
    from lanewise.health.doctor import coverage
    from lanewise.health.doctor.devices import named
    from lanewise.health.doctor.examination import examine, rules
    from lanewise.health.doctor.files import Files
    from lanewise.machine.view import View

    view = View(machine)
    findings, simulations = list(examine(view, profile)), 0
    files = Files(tuple(fleet))
    findings = files.with_expectations(findings, machine)
    if cost:
        from lanewise.health.doctor.pricing import priced

        findings, simulations = priced(findings, keep=keep_costs)
    findings = files.waive(findings, machine, today)
    readable = coverage.readable(view)
    missing = coverage.missing(view, profile, readable)
    said = f"not enough to say that nothing is wrong: {missing}" if missing else coverage.unseen(view)
    lack = (said,) if said else ()
    # What the last note says need not be said before it.
    repeated = (machine.breaks_off,) if machine.breaks_off else machine.left_out
    notes = (note for note in machine.notes if note not in repeated)
    findings = sorted(named(findings, view), key=Finding.order)
    return Diagnosis(
        source=machine.source,
        findings=tuple(findings),
        functions=sum(not function.implied for function in machine),
        links=len(view.links),
        rules=len(rules(profile)) + len(files.rules),
        simulations=simulations,
        notes=(*notes, *machine.contradictions, *lack),
        examined=not missing,
        missing=missing,
        readable=tuple((one.what, one.known, one.of) for one in readable),
        profile=profile,
        expected=files.expected,
        file_rules=files.rules,
    )
