"""Findings in the forms that pipelines read: SARIF 2.1.0 for code scanning, JUnit XML for test reports."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from lanewise.doctor.finding import Severity

if TYPE_CHECKING:
    from lanewise.doctor.finding import Diagnosis, Finding

_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif(diagnosis: Diagnosis) -> str:
    """Write SARIF: one run, every rule, a result for each finding with addresses as logical locations."""
    from lanewise import __version__
    from lanewise.doctor.examination import rules

    driver = {
        "name": "lanewise doctor",
        "version": __version__,
        "rules": [
            {
                "id": rule.id,
                "shortDescription": {"text": rule.what},
                "fullDescription": {"text": rule.why},
                "help": {"text": rule.fix},
            }
            for rule in rules()
        ],
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "results": [_result(diagnosis, finding) for finding in diagnosis.findings],
            }
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _result(diagnosis: Diagnosis, finding: Finding) -> dict[str, Any]:
    return {
        "ruleId": finding.rule,
        "level": _LEVELS[finding.severity],
        "message": {
            "text": "\n".join([finding.title, *finding.evidence, *_cost(finding), f"fix: {finding.fix}"])
        },
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": quote(diagnosis.source or "/sys/bus/pci")}},
                "logicalLocations": [
                    {"fullyQualifiedName": bdf, "kind": "resource"} for bdf in (finding.bdf, *finding.also)
                ],
            }
        ],
    }


def junit(diagnosis: Diagnosis, fail_on: Severity) -> str:
    """Write JUnit XML: a test case for each rule, failed by findings of at least `fail_on`."""
    from lanewise.doctor.examination import rules

    cases = []
    failures = 0
    for rule in rules():
        found = [finding for finding in diagnosis.findings if finding.rule == rule.id]
        bad = [finding for finding in found if finding.severity.rank >= fail_on.rank]
        failures += bool(bad)
        lines = [f'  <testcase classname="lanewise.doctor" name={quoteattr(rule.id)}>']
        if bad:
            text = "\n\n".join(map(_text, bad))
            lines.append(
                f"    <failure type={quoteattr(max(bad, key=lambda f: f.severity.rank).severity)} "
                f"message={quoteattr(bad[0].title)}>{escape(text)}</failure>"
            )
        rest = [finding for finding in found if finding not in bad]
        if rest:
            lines.append(f"    <system-out>{escape(chr(10).join(map(_text, rest)))}</system-out>")
        cases += [*lines, "  </testcase>"]
    head = (
        f"<testsuite name={quoteattr(f'lanewise doctor {diagnosis.source}')} "
        f'tests="{len(rules())}" failures="{failures}" errors="0">'
    )
    return "\n".join(['<?xml version="1.0" encoding="UTF-8"?>', head, *cases, "</testsuite>"])


def _text(finding: Finding) -> str:
    return "\n".join(
        [f"{finding.severity}: {finding.title}", *finding.evidence, *_cost(finding), f"fix: {finding.fix}"]
    )


def _cost(finding: Finding) -> list[str]:
    return [f"cost: {finding.cost.what} ({finding.cost.basis})"] if finding.cost else []
