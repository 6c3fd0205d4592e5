"""Findings in the forms that pipelines read: SARIF 2.1.0 for code scanning, JUnit XML for test reports.

Both were held against the published schemas, OASIS's for SARIF 2.1.0 and Windy Road's for Ant's JUnit XML,
with the findings about a hundred real machines.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote
from xml.sax.saxutils import escape, quoteattr

from lanewise.health.doctor.finding import Severity

if TYPE_CHECKING:
    from lanewise.health.doctor.finding import Diagnosis, Finding

_FORBIDDEN = re.compile(r"[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 has no way to write."""
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def sarif(diagnosis: Diagnosis) -> str:
    """Write SARIF: one run, every rule, a result for each finding with addresses as logical locations."""
    from lanewise import __version__
    from lanewise.health.doctor.examination import rules

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
            for rule in (*rules(diagnosis.profile), *diagnosis.file_rules)
        ],
    }
    document = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": driver},
                "invocations": [_invocation(diagnosis)],
                "results": [_result(diagnosis, finding) for finding in diagnosis.findings],
            }
        ],
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def _invocation(diagnosis: Diagnosis) -> dict[str, object]:
    if diagnosis.examined:
        return {"executionSuccessful": True}
    notification = {
        "level": "error",
        "message": {"text": f"not enough to say that nothing is wrong: {diagnosis.missing}"},
    }
    return {"executionSuccessful": False, "toolExecutionNotifications": [notification]}


def _result(diagnosis: Diagnosis, finding: Finding) -> dict[str, object]:
    waived = finding.waived
    return {
        **({"suppressions": [{"kind": "external", "justification": str(waived)}]} if waived else {}),
        "ruleId": finding.rule,
        "level": _LEVELS[finding.severity],
        "message": {
            "text": "\n".join([finding.headline, *finding.evidence, *_cost(finding), f"fix: {finding.fix}"])
        },
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": quote(diagnosis.source or "/sys/bus/pci")}},
                "logicalLocations": [
                    {"fullyQualifiedName": bdf, "kind": "resource"}
                    for bdf in (finding.bdf, *finding.also)
                    if bdf
                ],
            }
        ],
    }


def junit(diagnosis: Diagnosis, fail_on: Severity) -> str:
    """Write JUnit XML: a test case for each rule, failed by findings of at least `fail_on`.

    What speaks less loud is in the suite's system-out. The shape is the one of Ant's junitreport, the
    strictest of those in use: it asks for times, a host, and an order of elements.
    """
    from lanewise.health.doctor.examination import rules

    known = (*rules(diagnosis.profile), *diagnosis.file_rules)
    blind = [] if diagnosis.examined else _blind(diagnosis)
    bad: dict[str, list[Finding]] = {rule.id: [] for rule in known}
    quiet = []
    for finding in diagnosis.findings:
        if finding.waived is None and finding.severity.rank >= fail_on.rank:
            bad[finding.rule].append(finding)
        else:
            waived = f"waived, {finding.waived}: " if finding.waived else ""
            quiet.append(f"[{finding.rule}] {waived}{_text(finding)}")
    return "\n".join(
        [
            '<?xml version="1.0" encoding="UTF-8"?>',
            f"<testsuite name={_attribute(f'lanewise doctor {diagnosis.source}'.strip())} "
            f'timestamp="{datetime.now(UTC):%Y-%m-%dT%H:%M:%S}" hostname="localhost" '
            f'tests="{len(known) + bool(blind)}" failures="{sum(map(bool, bad.values()))}" '
            f'errors="{int(bool(blind))}" time="0">',
            *_properties(diagnosis),
            *blind,
            *(line for rule in known for line in _case(rule.id, bad[rule.id])),
            f"  <system-out>{_content(chr(10).join(quiet))}</system-out>",
            "  <system-err></system-err>",
            "</testsuite>",
        ]
    )


def _properties(diagnosis: Diagnosis) -> list[str]:
    from lanewise import __version__

    values = {"lanewise": __version__, "functions": diagnosis.functions, "links": diagnosis.links}
    return [
        "  <properties>",
        *(f'    <property name="{name}" value="{value}"/>' for name, value in values.items()),
        "  </properties>",
    ]


def _case(rule: str, bad: list[Finding]) -> list[str]:
    head = f'  <testcase classname="lanewise.doctor" name={_attribute(rule)} time="0"'
    if not bad:
        return [f"{head}/>"]
    worst = max(bad, key=lambda finding: finding.severity.rank)
    return [
        f"{head}>",
        f"    <failure type={_attribute(worst.severity)} message={_attribute(bad[0].headline)}>"
        f"{_content((chr(10) * 2).join(map(_text, bad)))}</failure>",
        "  </testcase>",
    ]


def _blind(diagnosis: Diagnosis) -> list[str]:
    """Write a test case that could not be run, where rules had nothing to look at."""
    return [
        '  <testcase classname="lanewise.doctor" name="source" time="0">',
        f'    <error type="nothing-examined" message={_attribute(diagnosis.missing)}></error>',
        "  </testcase>",
    ]


def _content(text: str) -> str:
    return escape(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text))


def _attribute(text: str) -> str:
    return quoteattr(_FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text))


def _text(finding: Finding) -> str:
    return "\n".join(
        [f"{finding.severity}: {finding.headline}", *finding.evidence, *_cost(finding), f"fix: {finding.fix}"]
    )


def _cost(finding: Finding) -> list[str]:
    return [f"cost: {finding.cost.what} ({finding.cost.basis})"] if finding.cost else []
