"""`doctor --watch`: the whole first, then what changed; the clock and the waiting are arguments."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from fleets import changed, gpu, whole

from lanewise.cli.doctor_output import Output
from lanewise.cli.guard import ExitStatus
from lanewise.cli.watching import Watch
from lanewise.errors import InputError
from lanewise.health.doctor import Diagnosis, Severity, diagnose
from lanewise.health.doctor.changes import changes
from lanewise.health.doctor.finding import Waived
from lanewise.machine.model import Machine

NARROW = changed(p2=gpu(2, now="32 x8"))
NARROWER = changed(p2=gpu(2, now="32 x4"))


def watched(
    *states: Machine | Exception, form: str = "table", threshold: Severity = Severity.WARNING, **more: Any
) -> ExitStatus:
    """Watch machines one after the other; then the person at the keyboard has seen enough."""
    left = iter(states)

    def check() -> tuple[Machine, Diagnosis]:
        state = next(left)
        if isinstance(state, Exception):
            raise state
        return state, diagnose(state, cost=False)

    waits = iter(range(len(states) - 1))

    def sleep(seconds: float) -> None:
        assert seconds == 60
        if next(waits, None) is None:
            raise KeyboardInterrupt

    output = Output(form, threshold, **more)
    return Watch(check, output, 60, now=lambda: datetime(2027, 1, 31, 12, tzinfo=UTC), sleep=sleep).run()


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line for line in capsys.readouterr().out.splitlines() if line.startswith("2027")]


def test_nothing_new_is_not_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert watched(whole(), whole(), whole()) is ExitStatus.OK
    assert lines(capsys) == []


def test_new_changed_and_gone_are_lines_with_a_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert watched(whole(), NARROW, NARROWER, whole()) is ExitStatus.OK
    assert lines(capsys) == [
        "2027-01-31T12:00:00Z  new      warning  21:00.0 (Maker H100) runs on x8 of x16 lanes  [link-width]",
        "2027-01-31T12:00:00Z  changed  warning  21:00.0 (Maker H100) runs on x4 of x16 lanes  [link-width] "
        "(was warning: 21:00.0 runs on x8 of x16 lanes)",
        "2027-01-31T12:00:00Z  gone     warning  21:00.0 (Maker H100) runs on x4 of x16 lanes  [link-width]",
    ]


def test_the_last_state_is_the_status() -> None:
    assert watched(whole(), NARROW) is ExitStatus.FINDINGS
    assert watched(NARROW, whole()) is ExitStatus.OK
    assert watched(whole(), NARROW, threshold=Severity.ERROR) is ExitStatus.OK
    assert watched(whole(), InputError("broken")) is ExitStatus.WRONG_INPUT
    assert watched(whole(), InputError("broken"), NARROW) is ExitStatus.FINDINGS


def test_a_reading_that_fails_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    watched(whole(), InputError("broken"), InputError("broken"), whole())
    assert [line.split("  ", 1)[1] for line in lines(capsys)] == [
        "cannot be read: broken",
        "can be read again",
    ]


def test_the_first_reading_must_succeed() -> None:
    with pytest.raises(InputError):
        watched(InputError("broken"))


def test_json_is_a_line_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    watched(whole(), NARROW, InputError("broken"), NARROWER, form="json")
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [document["change"] for document in documents] == [
        "first",
        "new",
        "unreadable",
        "readable",
        "changed",
    ]
    assert {document["time"] for document in documents} == {"2027-01-31T12:00:00Z"}
    assert documents[0]["diagnosis"]["summary"]["warning"] == 0
    assert documents[1]["finding"]["rule"] == "link-width"
    assert documents[4]["before"]["title"] == "21:00.0 runs on x8 of x16 lanes"


def test_metrics_are_written_at_every_reading(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "lanewise.prom"
    watched(whole(), NARROW, form="prometheus", out=out)
    assert 'lanewise_doctor_findings{severity="warning"} 1' in out.read_text()
    assert capsys.readouterr().out == ""
    assert list(tmp_path.iterdir()) == [out]


def test_what_a_finding_costs_is_simulated_once() -> None:
    first = diagnose(NARROW)
    assert first.simulations > 0
    again = diagnose(NARROW, keep_costs=True)
    assert again.simulations == 0
    assert again.findings == first.findings
    assert diagnose(NARROW).simulations == first.simulations


def test_counters_in_the_evidence_are_no_news_and_waivers_are() -> None:
    before = diagnose(NARROW, cost=False).findings
    after = [replace(finding, evidence=("counted 17",)) for finding in before]
    assert changes(before, after) == []
    waived = [replace(finding, waived=Waived("known", None, "w.toml:1")) for finding in before]
    assert {change.kind for change in changes(before, waived)} == {"changed"}


def refused(*arguments: str) -> str:
    command = [sys.executable, "-c", "from lanewise.cli import main; main()", "doctor", *arguments]
    done = subprocess.run(command, input="", capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    return done.stderr


REFUSED = [
    (["-", "--watch", "5"], "standard input"),
    (["--format", "junit", "--watch", "5"], "--out"),
    (["--out", "x.txt"], "--format"),
    (["--watch", "0"], "range"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED)
def test_what_cannot_be_is_refused(given: list[str], said: str) -> None:
    assert said in refused(*given)
