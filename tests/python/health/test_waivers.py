"""Waivers: what they cover, until when, and what becomes of those that do nothing."""

from __future__ import annotations

import json
from datetime import date
from xml.etree import ElementTree

import pytest
from fleets import changed, gpu, node, parts, whole

from lanewise.health.doctor import Diagnosis, Severity, diagnose
from lanewise.health.doctor.formats import junit, sarif
from lanewise.health.fleet import baseline
from lanewise.health.fleet.reading import parse_fleet_file

NARROW = changed(p2=gpu(2, now="32 x8"))
DAY = date(2027, 1, 31)


def diagnosis(text: str, today: date = DAY, machine: object = NARROW) -> Diagnosis:
    return diagnose(
        machine,  # type: ignore[arg-type]
        cost=False,
        fleet=[parse_fleet_file(f"format = 1\n{text}", "waivers.toml")],
        today=today,
    )


def waiver(*lines: str, rule: str = "link-width", reason: str = "x8 riser") -> str:
    return "\n".join(["[[waiver]]", f'rule = "{rule}"', f'reason = "{reason}"', *lines, ""])


def of(done: Diagnosis, rule: str) -> list[str]:
    return [finding.title for finding in done.findings if finding.rule == rule]


@pytest.mark.parametrize(
    "which",
    [
        'at = "21:00.0"',
        'at = "0000:21:00.0"',
        "slot = 2",
        'id = "10de:*"',
        'id = ["1:2", "*:2330"]',
        'class = "gpu"',
    ],
)
def test_a_waived_finding_is_shown_and_does_not_count(which: str) -> None:
    assert diagnosis("").fails(Severity.WARNING)
    done = diagnosis(waiver(which))
    assert not done.fails(Severity.WARNING)
    (finding,) = [f for f in done.findings if f.rule == "link-width"]
    assert finding.waived is not None
    assert str(finding.waived) == "x8 riser (waivers.toml:2)"
    assert done.document["summary"]["waived"] == 1
    assert done.document["findings"][0]["waived"]["reason"] == "x8 riser"


@pytest.mark.parametrize(
    ("which", "rule"),
    [
        ('at = "31:00.0"', "link-width"),
        ("slot = 3", "link-width"),
        ('id = "15b3:*"', "link-width"),
        ('at = "21:00.0"\nslot = 3', "link-width"),
        ('at = "21:00.0"', "link-speed"),
    ],
)
def test_a_waiver_for_something_else_is_reported(which: str, rule: str) -> None:
    done = diagnosis(waiver(which, rule=rule))
    assert done.fails(Severity.WARNING)
    (title,) = of(done, "waiver-unmatched")
    assert rule in title


def test_a_waiver_holds_through_its_last_day() -> None:
    text = waiver('at = "21:00.0"', "until = 2027-01-31")
    assert not diagnosis(text, date(2027, 1, 31)).fails(Severity.WARNING)
    late = diagnosis(text, date(2027, 2, 1))
    assert late.fails(Severity.WARNING)
    (finding,) = [f for f in late.findings if f.rule == "waiver-expired"]
    assert finding.severity is Severity.INFO
    assert "what it waived is still found" in finding.evidence
    assert of(late, "waiver-unmatched") == []


def test_an_expired_waiver_gives_way_to_one_that_holds() -> None:
    both = waiver('at = "21:00.0"', "until = 2026-01-31") + waiver('id = "10de:*"', reason="still so")
    done = diagnosis(both)
    (finding,) = [f for f in done.findings if f.rule == "link-width"]
    assert finding.waived is not None
    assert finding.waived.reason == "still so"


def test_a_finding_about_several_devices_is_waived_for_all_or_not_at_all() -> None:
    idle = node(*(gpu(n, now="2.5 x16") for n in (1, 2)))
    one, other = (waiver(f'at = "{bdf}"', rule="gpu-link-idle") for bdf in ("11:00.0", "21:00.0"))
    assert [f.waived for f in diagnosis(one, machine=idle).findings if f.rule == "gpu-link-idle"] == [None]
    done = diagnosis(one + other, machine=idle)
    assert [f.waived is None for f in done.findings if f.rule == "gpu-link-idle"] == [False]
    assert of(done, "waiver-unmatched") == []


def test_what_is_expected_can_be_waived_in_the_same_file() -> None:
    text = baseline(node(*parts().values())).replace("format = 1\n", "")
    gone = changed(p3=None)
    assert diagnosis(text, machine=gone).fails(Severity.ERROR)
    for which in ('at = "31:00.0"', "slot = 3", 'id = "10de:*"'):
        assert not diagnosis(text + waiver(which, rule="expected-missing"), machine=gone).fails(
            Severity.WARNING
        )
    for which in ('at = "41:00.0"', "slot = 4", 'id = "15b3:*"'):
        assert diagnosis(text + waiver(which, rule="expected-missing"), machine=gone).fails(Severity.ERROR)


def test_every_device_is_also_one_without_numbers_and_the_machine_as_a_whole() -> None:
    text = '[host]\nnuma_nodes = 9\n[[count]]\nclass = "network"\ncount = 2\n'
    expected = {"expected-setting", "expected-missing"}
    assert {f.rule for f in diagnosis(text).findings} >= expected
    both = "".join(waiver('id = "*:*"', rule=rule) for rule in sorted(expected))
    assert {f.rule for f in diagnosis(text + both).findings if f.waived} == expected


def test_pipelines_hear_what_is_waived() -> None:
    done = diagnosis(waiver('at = "21:00.0"', "until = 2027-01-31"))
    (run,) = json.loads(sarif(done))["runs"]
    (result,) = [one for one in run["results"] if one["ruleId"] == "link-width"]
    assert not any("suppressions" in one for one in run["results"] if one is not result)
    reason = "x8 riser (until 2027-01-31, waivers.toml:2)"
    assert result["suppressions"] == [{"kind": "external", "justification": reason}]
    assert {"waiver-expired", "waiver-unmatched"} <= {rule["id"] for rule in run["tool"]["driver"]["rules"]}
    suite = ElementTree.fromstring(junit(done, Severity.WARNING))
    assert suite.get("failures") == "0"
    assert f"[link-width] waived, {reason}" in (suite.findtext("system-out") or "")
    assert suite.get("tests") == str(len(suite.findall("testcase"))) == str(done.rules)


@pytest.mark.parametrize("rule", ["link-width", "expected-link"])
def test_a_narrow_link_that_a_file_expects_wider_is_one_finding_and_one_waiver(rule: str) -> None:
    file = parse_fleet_file(baseline(whole()), "fleet.toml")
    found = diagnose(NARROW, cost=False, fleet=[file]).findings
    (finding,) = [f for f in found if f.severity is Severity.WARNING]
    assert (finding.rule, finding.subsumes) == ("expected-link", ("link-width",))
    assert any("LnkSta" in line for line in finding.evidence)
    waivers = parse_fleet_file("format = 1\n" + waiver("slot = 2", rule=rule), "waivers.toml")
    done = diagnose(NARROW, cost=False, fleet=[file, waivers], today=DAY)
    assert not done.fails(Severity.WARNING)
    assert of(done, "waiver-unmatched") == []
