"""What limits each flow of a run: in the table, in the report, in the document."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import lanewise
from lanewise.cli.commands import app
from lanewise.flow_limits import other_limits

RIG = """
[host.server]
slots = { slot1 = "gen4 x16", slot2 = "gen4 x4", slot3 = "gen4 x4" }
[endpoint.few]
attach = "server.slot1"
generation = "gen4"
width = "x16"
tags = 16
[endpoint.narrow]
count = 2
attach = "server.slot2..slot3"
generation = "gen4"
width = "x8"
[[workload]]
kind = "dma"
name = "reads"
device = "few"
direction = "read"
outstanding = 16
[[workload]]
kind = "dma"
name = "writes"
device = "narrow[*]"
direction = "write"
outstanding = 16
"""


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    file = tmp_path / "rig.toml"
    file.write_text(RIG, encoding="utf-8")
    return file


def test_a_table_says_what_limits_flows_that_the_limit_of_the_run_does_not(rig: Path) -> None:
    result = CliRunner().invoke(app, ["run", str(rig)])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Limited by the 16 tags of few")
    table = result.stdout.split("Flows that something else limits")[1].split("\n\n")[0]
    rows = table.splitlines()[3:]
    # Both are alike, and have one row; the flow with the limit of the run has none.
    assert "the wire above narrow[0], upstream (gen4 x4): in use" in " ".join(" ".join(rows).split())
    assert sum("narrow" in row.split("the wire")[0] for row in rows) == 1
    assert not any("few" in row for row in rows)


def test_a_run_whose_flows_have_its_limit_needs_no_table(rig: Path) -> None:
    text = rig.read_text(encoding="utf-8").replace('device = "few"', 'device = "narrow[0]"')
    rig.write_text(text.replace('device = "narrow[*]"', 'device = "narrow[1]"').replace('"read"', '"write"'))
    result = CliRunner().invoke(app, ["run", str(rig)])
    assert result.exit_code == 0, result.stderr
    assert "and 1 alike" in result.stdout.split("(by waiting time")[0]
    assert "Flows that something else limits" not in result.stdout


def test_alike_limits_are_told_once_and_counted(rig: Path) -> None:
    [other] = other_limits(lanewise.run(rig).document)
    assert len(other.flows) == 2
    assert other.of("device") == "narrow[0\N{EN DASH}1] \N{MULTIPLICATION SIGN}2"
    assert other.words.startswith("the wire above narrow[0], upstream (gen4 x4): in use")
    assert other.words.endswith("; 1 alike")


def test_the_table_of_flows_names_their_limits(rig: Path) -> None:
    flows = lanewise.run(rig).data_flows
    by_device = dict(zip(flows["device"], flows["limited_by"], strict=True))
    assert by_device == {
        "few": "few.tags",
        "narrow[0]": "narrow[0].upstream",
        "narrow[1]": "narrow[1].upstream",
    }
    assert set(flows["limited_kind"]) == {"tags", "wire"}


def test_a_report_has_the_limits_of_flows(rig: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    result = CliRunner().invoke(app, ["run", str(rig), "--report", str(page)])
    assert result.exit_code == 0, result.stderr
    text = page.read_text(encoding="utf-8")
    assert "Flows that something else limits" in text
    assert "the wire above narrow[0], upstream" in text
