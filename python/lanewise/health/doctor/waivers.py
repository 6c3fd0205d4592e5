"""Findings that are known and accepted: waived by a file, with a reason, for a device, until a day.

A waived finding is shown as such and fails no check. Waivers that have expired or that match nothing are
findings of their own, so that the file does not outlive its reasons. Nobody asks the clock here: the day is
an argument.
"""

from __future__ import annotations

from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from lanewise.health.doctor.file_rules import EXPIRED, UNMATCHED
from lanewise.health.doctor.finding import Severity, Waived
from lanewise.health.fleet.inventory import Device
from lanewise.health.fleet.model import EVERY, Who
from lanewise.machine.address import Address
from lanewise.machine.sources.made_up import MADE_UP_DOMAIN
from lanewise.machine.view import View

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from lanewise.health.doctor.finding import Finding
    from lanewise.health.doctor.registry import Rule
    from lanewise.health.fleet.model import Waiver
    from lanewise.machine.model import Machine

RULES = (EXPIRED, UNMATCHED)


def waive(
    findings: Iterable[Finding], waivers: Iterable[Waiver], machine: Machine, today: date
) -> list[Finding]:
    """Return the findings, waived where a waiver holds, and findings about waivers that do nothing.

    A finding about several devices is waived when each of them is, by one waiver or several.
    """
    waivers = tuple(waivers)
    used: set[Waiver] = set()
    result = []
    for finding in findings:
        by = _waivers_of(finding, waivers, machine)
        used.update(waiver for some in by for waiver in some)
        holding = [next((w for w in some if not w.expired(today)), None) for some in by]
        first = holding[0]
        if first is not None and None not in holding:
            until = first.until.isoformat() if first.until else None
            result.append(replace(finding, waived=Waived(first.reason, until, _place(first))))
        else:
            result.append(finding)
    for waiver in waivers:
        if waiver.expired(today):
            result.append(_about(EXPIRED, waiver, f"expired on {waiver.until}", still=waiver in used))
        elif waiver not in used:
            result.append(_about(UNMATCHED, waiver, "matches no finding", still=False))
    return result


def _waivers_of(finding: Finding, waivers: tuple[Waiver, ...], machine: Machine) -> list[list[Waiver]]:
    """Return, for each device that a finding is about, the waivers that are for it."""
    mine = [waiver for waiver in waivers if waiver.rule in (finding.rule, *finding.subsumes)]
    return [[w for w in mine if _is_for(w, finding, bdf, machine)] for bdf in (finding.bdf, *finding.also)]


def _is_for(waiver: Waiver, finding: Finding, bdf: str, machine: Machine) -> bool:
    address = Address.find(bdf)
    if waiver.at is not None and waiver.at != address:
        return False
    absent = finding.absent
    if absent is not None:
        return (waiver.slot is None or waiver.slot in absent.slots) and _covers(waiver.who, absent.who)
    function = machine.functions.get(address) if address is not None else None
    if function is None:
        return waiver.slot is None and waiver.who in (Who(), Who(ids=(EVERY,)))
    link = View(machine).physical_link(function)
    device = Device(machine, (function,), link)
    # A device without an address is called by its name, in findings as in waivers.
    names = function.interfaces if function.address.domain >= MADE_UP_DOMAIN else ()
    return (waiver.slot is None or waiver.slot in (*device.slots, *names)) and waiver.who.describes(device)


def _covers(waived: Who, absent: Who) -> bool:
    """Whether devices that are not there are among those that a waiver names."""
    return (
        (
            not waived.ids
            or EVERY in waived.ids
            or any(fnmatchcase(one, pattern) for one in absent.ids for pattern in waived.ids)
        )
        and (waived.name is None or waived.name == absent.name)
        and (waived.kind is None or waived.kind == absent.kind)
    )


def _about(rule: Rule, waiver: Waiver, what: str, *, still: bool) -> Finding:
    where = [str(waiver.who)] if waiver.who != Who() else []
    where += [waiver.at.short] if waiver.at else []
    where += [f"slot {waiver.slot}"] if waiver.slot else []
    evidence = [f"{_place(waiver)}: rule = {waiver.rule}, {', '.join(where)}", f"reason: {waiver.reason}"]
    if still:
        evidence.append("what it waived is still found")
    title = f"the waiver of {waiver.rule} for {', '.join(where)} {what}"
    return rule.finding(Severity.INFO, "", title, evidence)


def _place(waiver: Waiver) -> str:
    return f"{waiver.file}:{waiver.line}"
