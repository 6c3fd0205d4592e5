"""What a run rests on: what `run --sensitivity` prints, keeps, returns; and what a limit's size is from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lanewise
from lanewise.cli.commands import app
from lanewise.report import writing
from lanewise.runs.folder import load_run

RIG = """
[host.server]
slots = { slot1 = "gen4 x16" }
[endpoint.card]
attach = "server.slot1"
generation = "gen4"
width = "x16"
[[workload]]
kind = "dma"
name = "stream"
device = "card"
direction = "read"
size = "64 B"
outstanding = 4
"""
"""Four reads at a time: their latency is all."""


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    file = tmp_path / "rig.toml"
    file.write_text(RIG, encoding="utf-8")
    return file


def printed(*arguments: object) -> str:
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_a_run_says_which_assumptions_move_it_and_by_how_much(rig: Path) -> None:
    found = lanewise.run(rig, sensitivity=True).rests_on
    assert found is not None
    effects = {effect.paths[0]: effect for effect in found.effects}
    latency = effects["server.memory_latency"]
    # Little's law: with as many outstanding, a rate is one over the latency.
    for moved in (latency.lower, latency.higher):
        assert moved.goodput_percent is not None
        assert moved.latency_percent is not None
        ratio = (1 + moved.goodput_percent / 100) * (1 + moved.latency_percent / 100)
        assert ratio == pytest.approx(1.0, abs=0.01)
    assert (latency.lower.goodput_percent or 0) > 5
    assert "card.tags" not in effects, "four outstanding never need the 32nd tag"


def test_nothing_is_varied_unless_it_is_asked_for(rig: Path) -> None:
    result = lanewise.run(rig)
    assert result.rests_on is None
    assert "rests_on" not in result.document
    text = printed("run", rig)
    assert "What the result rests on" not in text
    assert "--sensitivity finds those that move the result" in " ".join(text.split())


def test_what_was_found_is_printed_kept_and_reported(rig: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    text = printed("run", rig, "--sensitivity", "--out", folder)
    table = text.partition("What the result rests on")[2]
    assert "server.memory_latency" in table
    assert "values in force are fixed by no specification" in table
    kept = load_run(folder)
    assert kept.rests_on == lanewise.run(rig, sensitivity=True).rests_on
    assert "Values that matter" in writing.text_of([("", kept)], as_markdown=True)


def test_json_has_it(rig: Path) -> None:
    document = json.loads(printed("run", rig, "--sensitivity", "--json"))
    paths = [path for effect in document["rests_on"]["effects"] for path in effect["paths"]]
    assert "server.memory_latency" in paths


def test_a_proof_may_have_both(rig: Path) -> None:
    text = printed("run", rig, "--why", "--sensitivity")
    assert "What would bring more" in text
    assert "What the result rests on" in text


def test_a_limit_says_where_its_size_is_from(tmp_path: Path) -> None:
    rig = tmp_path / "few.toml"
    text = RIG.replace('size = "64 B"', 'size = "64 KiB"').replace("outstanding = 4", "outstanding = 64")
    rig.write_text(text.replace("[[workload]]", 'path_rate = "3 GB/s"\n[[workload]]'), encoding="utf-8")
    stated = printed("run", rig)
    assert stated.startswith("Limited by the device's own pipeline (card.dma.read_path, 3 GB/s)")
    assert "Its size comes from" not in stated, "the scenario says it"
    set_ = printed("run", rig, "--set", "card.path_rate=2 GB/s")
    assert "Its size comes from" not in set_
    drive = " ".join(printed("run", "scenarios/nvme_fio.toml", "--time-limit", "2 ms").split())
    assert "Its size comes from ssd.nvme.read_rate = 7 GB/s (assumed)." in drive


def test_the_size_of_a_wire_is_a_choice(rig: Path) -> None:
    assert "Its size comes from" not in printed("run", rig, "--set", "workload.stream.size=64 KiB")


@pytest.mark.parametrize("other", [("--as", "fio"), ("--live", "1"), ("--threads", "2"), ("--sizes", "64")])
def test_options_that_ask_for_something_else_are_refused(rig: Path, other: tuple[str, str]) -> None:
    result = CliRunner().invoke(app, ["run", str(rig), "--sensitivity", *other])
    assert result.exit_code == 2
    assert "not both" in " ".join(result.stderr.split())
