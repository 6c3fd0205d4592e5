"""What limits a run: in its first line, in the API, and proven."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

import lanewise
from lanewise.cli.commands import app
from lanewise.cli.tables.why import print_why
from lanewise.results import WhyResult
from lanewise.runs.folder import load_run
from lanewise.written import decimals

ROOT = Path(__file__).parents[2]
RIG = """
[host.server]
slots = { slot1 = "gen4 x16" }
[endpoint.card]
attach = "server.slot1"
generation = "gen4"
width = "x16"
tags = 8
[[workload]]
kind = "dma"
name = "stream"
device = "card"
direction = "read"
outstanding = 16
"""


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    file = tmp_path / "rig.toml"
    file.write_text(RIG, encoding="utf-8")
    return file


def test_the_first_line_of_a_run_says_what_limits_it(rig: Path) -> None:
    result = CliRunner().invoke(app, ["run", str(rig)])
    assert result.exit_code == 0, result.stderr
    assert result.stdout.startswith("Limited by the 8 tags of card: all in use 100.0 %")
    assert "--why proves it" in result.stdout.replace("\n", " ")


def test_resources_are_a_table(rig: Path) -> None:
    result = lanewise.run(rig)
    assert result.limited_by is not None
    assert result.limited_by.startswith("Limited by the 8 tags of card")
    uses = result.resources["utilisation"]
    assert result.resources.height > 1
    assert uses.is_between(0.0, 1.0).all()
    assert result.tables["resources"].equals(result.resources)


def test_the_proof_ranks_what_each_would_bring(rig: Path) -> None:
    found = lanewise.why(rig)
    assert found.verdict.startswith("Limited by the 8 tags of card: ten times larger, it brings +")
    assert found.larger["kind"][0] == "tags"
    assert found.larger["gain_percent"].is_sorted(descending=True)
    ratio = pl.col("goodput_after_gb_per_s") / pl.col("goodput_before_gb_per_s")
    off = found.larger.select((100 * (ratio - 1) - pl.col("gain_percent")).abs().max()).item()
    assert off == pytest.approx(0, abs=1e-6)


def test_the_command_line_prints_the_proof_and_takes_no_option_with_it_that_it_ignores(rig: Path) -> None:
    shown = CliRunner().invoke(app, ["run", str(rig), "--why"])
    assert shown.exit_code == 0, shown.stderr
    assert "What would bring more" in shown.stdout
    document = json.loads(CliRunner().invoke(app, ["run", str(rig), "--why", "--json"]).stdout)
    assert document["why"]["times"] == 10
    for other in (["--live", "1"], ["--until", "latency"], ["--as", "fio"]):
        refused = CliRunner().invoke(app, ["run", str(rig), "--why", *other])
        assert refused.exit_code == 2, other


def test_a_proof_is_kept_whole(rig: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    shown = CliRunner().invoke(app, ["run", str(rig), "--why", "--out", str(folder)])
    assert shown.exit_code == 0, shown.stderr
    kept = load_run(folder)
    assert isinstance(kept, WhyResult)
    assert kept.verdict.partition(":")[0] in " ".join(shown.stdout.split())
    assert CliRunner().invoke(app, ["run", str(rig), "--why", "--out", str(folder)]).exit_code == 2


def test_small_rates_have_digits_enough_to_see_a_change(
    rig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A read of 4 B at a time that a link sleeps before: 0.0005 GB/s."""
    slow = {
        "workload.stream.size": "4 B",
        "workload.stream.outstanding": 1,
        "card.link.aspm": "l1",
        "card.link.l1_idle": "100 ns",
    }
    found = lanewise.why(rig, overrides=slow)
    assert found.limited_by is not None
    assert found.limited_by.startswith("Limited by the wake-up of the link above card (L1 8 us)")
    print_why(found)
    shown = capsys.readouterr().out
    (row,) = (line.split() for line in shown.splitlines() if line.startswith("the wake-up of"))
    before, after = row[-4:-2]
    assert float(after) > 3 * float(before) > 0
    assert decimals([28.719], 3) == 3
    assert decimals([0.0, 0.000_48, 1.0], 3) == 6
    assert decimals([0.25], 0) == 3


def test_a_run_goes_on_until_a_percentile_is_known(rig: Path) -> None:
    jitter = {"server.memory_latency_jitter": "200 ns"}
    short = lanewise.run(rig, overrides=jitter)
    assert short.flows["percentile_interval_low_ns"].null_count() == short.flows.height
    long = lanewise.run(rig, overrides=jitter, until="latency")
    assert long.end_reason == "Converged"
    assert "p99 latency within" in long.end_detail
    (flow,) = long.flows.iter_rows(named=True)
    low, high, p99 = (
        flow[name]
        for name in (
            "percentile_interval_low_ns",
            "percentile_interval_high_ns",
            "operation_latency_ns_p99",
        )
    )
    assert low <= p99 <= high
    assert (high - low) / 2 <= 0.05 * p99
