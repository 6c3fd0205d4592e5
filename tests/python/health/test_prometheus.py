"""Findings as metrics: what a scraper reads, and what promtool says about it where it is installed."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from fleets import changed, gpu, whole

from lanewise.health.doctor import diagnose
from lanewise.health.doctor.finding import Waived
from lanewise.health.doctor.prometheus import prometheus
from lanewise.health.fleet import baseline
from lanewise.health.fleet.reading import parse_fleet_file
from lanewise.machine.model import Machine

NOON = datetime(2027, 1, 31, 12, tzinfo=UTC)
SAMPLE = re.compile(r'([a-z_:]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\.)*",?)*)\})? (\S+)')
LABEL = re.compile(r'([a-z_]+)="((?:[^"\\\n]|\\.)*)"')


def text_of(machine: Machine) -> str:
    file = parse_fleet_file(baseline(whole()), "fleet.toml")
    return prometheus(diagnose(machine, cost=False, fleet=[file]), machine, NOON)


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """Parse as a scraper does; a series that is there twice fails."""
    found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            match = SAMPLE.fullmatch(line)
            assert match, line
            key = match[1], frozenset(LABEL.findall(match[2] or ""))
            assert key not in found, line
            found[key] = float(match[3])
    return found


def one(text: str, name: str, **labels: str) -> float:
    return samples(text)[name, frozenset(labels.items())]


def test_a_whole_node() -> None:
    text = text_of(whole())
    assert one(text, "lanewise_doctor_check_timestamp_seconds") == NOON.timestamp()
    assert one(text, "lanewise_doctor_examined") == 1
    assert one(text, "lanewise_doctor_findings", severity="error") == 0
    assert one(text, "lanewise_expected_devices", what="Maker H100") == 4
    assert one(text, "lanewise_present_devices", what="Maker H100") == 4
    assert one(text, "lanewise_link_speed_transfers_per_second", bdf="11:00.0", port="10:01.0") == 32e9
    assert one(text, "lanewise_link_width_lanes", bdf="61:00.0", port="60:01.0") == 4


def test_a_node_with_faults() -> None:
    text = text_of(changed(p2=gpu(2, now="32 x8"), p3=None))
    assert one(text, "lanewise_doctor_findings", severity="error") == 1
    assert one(text, "lanewise_doctor_findings", severity="warning") == 1
    assert one(text, "lanewise_present_devices", what="Maker H100") == 3
    missing = {"rule": "expected-missing", "severity": "error", "bdf": "31:00.0", "device": ""}
    assert one(text, "lanewise_doctor_finding", waived="false", **missing) == 1
    narrow = {"rule": "expected-link", "severity": "warning", "bdf": "21:00.0", "device": "Maker H100"}
    assert one(text, "lanewise_doctor_finding", waived="false", **narrow) == 1
    assert one(text, "lanewise_link_width_lanes", bdf="21:00.0", port="20:01.0") == 8
    assert one(text, "lanewise_link_width_limit_lanes", bdf="21:00.0", port="20:01.0") == 16


def test_titles_and_evidence_make_no_series() -> None:
    text = text_of(changed(p3=None))
    assert {"title", "evidence"}.isdisjoint({key for _, labels in samples(text) for key, _ in labels})


def test_waived_findings_have_series_and_do_not_count() -> None:
    done = diagnose(changed(p2=gpu(2, now="32 x8")), cost=False)
    waived = replace(done, findings=tuple(replace(f, waived=Waived("x", None, "w:1")) for f in done.findings))
    text = prometheus(waived, whole(), NOON)
    assert one(text, "lanewise_doctor_findings", severity="warning") == 0
    assert one(text, "lanewise_doctor_waived_findings") == len(done.findings)


def test_names_of_devices_are_escaped() -> None:
    done = diagnose(whole(), cost=False, fleet=[parse_fleet_file(ODD, "fleet.toml")])
    assert one(prometheus(done, whole(), NOON), "lanewise_expected_devices", what='a \\"b\\" \\\\ c\\n') == 3


ODD = """format = 1
[[count]]
what = "a \\"b\\" \\\\ c\\n"
class = "gpu"
count = 1
[[count]]
what = "a \\"b\\" \\\\ c\\n"
class = "nvme"
count = 2
"""


def test_the_reference_has_every_metric() -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
    names = {name for name, _ in samples(text_of(changed(p3=None)))}
    assert {name for name in names if f"`{name}`" not in page} == set()
    assert set(re.findall(r"`(lanewise_[a-z_]+)`", page)) == names


def test_every_metric_is_explained_before_its_samples() -> None:
    name = ""
    for line in text_of(whole()).splitlines():
        if line.startswith("# HELP"):
            name = line.split()[2]
        elif line.startswith("# TYPE"):
            assert line.split()[2:] == [name, "gauge"]
        else:
            assert re.split(r"[{ ]", line)[0] == name


@pytest.mark.skipif(shutil.which("promtool") is None, reason="no promtool (Debian's package prometheus)")
def test_promtool_finds_nothing() -> None:
    text = text_of(changed(p2=gpu(2, now="32 x8"), p3=None))
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=text, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
