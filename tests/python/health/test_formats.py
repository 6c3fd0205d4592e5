"""Findings as JSON, SARIF and JUnit, and what makes a health check fail."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from xml.etree import ElementTree

from machines import pair

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.examination import rules
from lanewise.health.doctor.formats import junit, sarif

FAULTY = pair(now="8 x2")


def test_json_has_the_documented_keys() -> None:
    document = json.loads(diagnose(FAULTY).to_json())
    assert set(document) == {"format", "source", "findings", "alike", "summary"}
    finding = document["findings"][0]
    assert {"rule", "severity", "bdf", "title", "evidence", "cost", "fix"} <= set(finding)
    assert set(finding["cost"]) == {"what", "gb_per_s", "basis"}
    assert finding["cost"]["basis"] == "simulated"
    assert document["summary"]["warning"] == 2


def test_without_simulations_there_is_no_invented_cost() -> None:
    diagnosis = diagnose(FAULTY, cost=False)
    assert diagnosis.simulations == 0
    assert all(finding.cost is None for finding in diagnosis.findings)


def test_what_cannot_be_simulated_is_stated() -> None:
    mismatch = diagnose(pair(transfers={"mps": 512, "mps_supported": 512})).document["findings"][0]
    assert mismatch["cost"] == {
        "what": "transfers with payloads above the smaller size fail",
        "basis": "stated",
    }


def test_the_worst_comes_first() -> None:
    worse = pair(now="8 x2", transfers={"mps": 512, "mps_supported": 512})
    severities = [finding.severity.rank for finding in diagnose(worse, cost=False).findings]
    assert severities == sorted(severities, reverse=True)


def test_thresholds() -> None:
    diagnosis = diagnose(FAULTY, cost=False)
    assert diagnosis.fails(Severity.WARNING)
    assert diagnosis.fails(Severity.INFO)
    assert not diagnosis.fails(Severity.ERROR)
    assert not diagnose(pair(), cost=False).fails(Severity.INFO)


def test_sarif_names_every_rule_and_where() -> None:
    document = json.loads(sarif(diagnose(FAULTY, cost=False)))
    (run,) = document["runs"]
    assert document["version"] == "2.1.0"
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == [rule.id for rule in rules()]
    assert {result["level"] for result in run["results"]} == {"warning"}
    assert run["results"][0]["locations"][0]["logicalLocations"][0]["fullyQualifiedName"] == "01:00.0"


def test_junit_fails_the_rules_that_speak_loud_enough() -> None:
    diagnosis = diagnose(FAULTY, cost=False)
    suite = ElementTree.fromstring(junit(diagnosis, Severity.WARNING))
    assert suite.get("tests") == str(len(rules()))
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    assert failed == ["link-width", "link-speed"]
    quiet = ElementTree.fromstring(junit(diagnosis, Severity.ERROR))
    assert quiet.get("failures") == "0"
    assert "[link-width] warning: " in (quiet.findtext("system-out") or "")


def test_junit_has_the_shape_that_readers_ask_for() -> None:
    """What Ant's junitreport, the strictest of them, wants: order of elements, and attributes."""
    suite = ElementTree.fromstring(junit(diagnose(FAULTY, cost=False), Severity.WARNING))
    cases = len(rules())
    assert [child.tag for child in suite] == ["properties", *["testcase"] * cases, "system-out", "system-err"]
    assert set(suite.attrib) == {
        "name",
        "timestamp",
        "hostname",
        "tests",
        "failures",
        "errors",
        "time",
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    for case in suite.iter("testcase"):
        assert set(case.attrib) == {"classname", "name", "time"}
        assert [child.tag for child in case] in ([], ["failure"])
    assert all({"type", "message"} == set(failure.attrib) for failure in suite.iter("failure"))


def test_junit_is_xml_whatever_a_device_calls_itself() -> None:
    diagnosis = diagnose(FAULTY, cost=False)
    strange = replace(diagnosis.findings[0], device="", title="drive \x01\ud800 <&\"'>", evidence=("\x0b",))
    suite = ElementTree.fromstring(junit(replace(diagnosis, findings=(strange,)), Severity.WARNING))
    failure = suite.find(".//failure")
    assert failure is not None
    assert failure.get("message") == "drive \ufffd\ufffd <&\"'>"
