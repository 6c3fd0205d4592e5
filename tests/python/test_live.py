"""Flows while a run goes on: what the core tells of them, and what is drawn of that."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import documents
import pytest
from rich.console import Console

import lanewise as lab
from lanewise.cli import live, progress
from lanewise.cli.run_progress import run_progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from click.testing import Result

TIMES = ("1,500.00", "1,750.00", "9,000.00")
SCENARIO = """
[run]
time_limit = "1000 s"
warm_up = "1 ms"
relative_half_width = 0.00001
[host.server]
slots = { slot1 = "gen3 x8" }
[endpoint.nic]
attach = "server.slot1"
generation = "gen3"
width = "x8"
[[workload]]
kind = "dma"
device = "nic"
direction = "write"
"""


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    path = tmp_path / "rig.toml"
    path.write_text(SCENARIO)
    return path


def shown(flows: list[dict[str, Any]], measuring_since_s: float | None, *, most: int = 10) -> str:
    console = Console(file=io.StringIO(), width=100)
    console.print(*live.live_table(flows, measuring_since_s, most=most), sep="\n")
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_both_windows_of_a_busy_flow_stand_side_by_side() -> None:
    text = shown(documents.live_flows(), 0.004)
    row = next(line for line in text.splitlines() if line.startswith("busy"))
    assert row.split() == ["busy", "hba0", "read", "3.250", "2.500", "9,000", "8,000", *TIMES]
    assert "silent" not in text
    assert "of the whole test, which began after 4.00 ms" in text
    assert "warming up" in shown(documents.live_flows(), None)


def test_flows_beyond_the_screen_are_counted_and_summed() -> None:
    text = shown([documents.live_flows()[0]] * 5, 0.004, most=4)
    assert text.count("busy") == 4
    assert "1 more" in text
    assert next(line.split() for line in text.splitlines() if line.startswith("all")) == [
        "all",
        "16.250",
        "12.500",
    ]


def test_a_terminal_shows_flows_and_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=100, height=30)
    monkeypatch.setattr(live, "stderr", lambda: terminal)
    monkeypatch.setattr(progress, "stderr", lambda: terminal)
    with run_progress("rig.toml", 0.5) as shows:
        assert shows.flows_every_s == 0.5
        report = {"simulated_s": 0.01, "time_limit_s": 0.05, "events": 1000, "measuring_since_s": 0.004}
        shows({**report, "flows": documents.live_flows()})
        shows(report)
        assert isinstance(terminal.file, io.StringIO)
    text = terminal.file.getvalue()
    assert "busy" in text
    assert text.rstrip().endswith(("\x1b[?25h", "\x1b[2K"))


@pytest.mark.usefixtures("core")
def test_nothing_is_drawn_and_nothing_changes_off_a_terminal(
    lanewise: Callable[..., Result], rig: Path
) -> None:
    for options in ([], ["--json"]):
        with_it, without = lanewise("run", rig, "--live", 1, *options), lanewise("run", rig, *options)
        assert (with_it.stderr, with_it.stdout) == ("", without.stdout)


def test_flows_come_with_progress_when_they_are_asked_for(rig: Path) -> None:
    heard: list[dict[str, Any]] = []

    def listen(report: dict[str, Any]) -> bool:
        heard.append(report)
        return report["measuring_since_s"] is None

    # No run converges before it has measured for twice its warm-up: here, many times as long as a report.
    result = lab.run(rig, overrides={"run.warm_up": "100 ms"}, progress=listen, flows_every_s=0)
    assert result.end_reason == "Interrupted"
    flow = heard[-1]["flows"][0]
    assert (flow["flow"], flow["device"], flow["direction"]) == ("dma0", "nic", "write")
    assert 6 < flow["last"]["goodput_gb_per_s"] < 8
    assert flow["latency_ns_max"] >= flow["whole"]["latency_ns_mean"]
    assert heard[-1]["measuring_since_s"] == pytest.approx(0.1)


def test_an_interval_is_a_number_of_seconds(rig: Path) -> None:
    with pytest.raises(ValueError, match="flows_every_s"):
        lab.run(rig, flows_every_s=-1.0)
