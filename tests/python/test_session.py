"""A session from Python: steps, looks, changes, results; what is refused; threads and Ctrl-C."""

from __future__ import annotations

import _thread
import json
import threading
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from test_output_schema import SCHEMA, closed

import lanewise

ROOT = Path(__file__).parents[2]
SWITCH = ROOT / "scenarios" / "switch.toml"
READS: dict[str, Any] = {
    "run": {"time_limit": "10 ms"},
    "host": {"server": {"slots": {"slot1": "gen4 x8"}, "memory_latency": "500 ns"}},
    "endpoint": {"card": {"attach": "server.slot1", "generation": "gen4", "width": "x8"}},
    "workload": [
        {
            "kind": "dma",
            "name": "reads",
            "device": "card",
            "direction": "read",
            "size": "512 B",
            "outstanding": 1,
        }
    ],
}


def latency(session: lanewise.Session) -> float:
    """Return the mean latency of the first flow in the next 100 us, after as long to settle, ns."""
    session.step("100 us")
    session.state()
    session.step("100 us")
    return float(session.state().flows["latency_ns_mean"][0])


def test_a_session_in_steps_is_the_run() -> None:
    whole = lanewise.run(SWITCH, time_limit="2 ms")
    session = lanewise.Session(SWITCH, time_limit="2 ms", ends_when_narrow=True)
    while session.step("31 us"):
        session.state()
    assert session.end_reason == whole.end_reason
    assert session.fingerprint == whole.document["fingerprint"]
    assert session.results().to_json() == whole.to_json()


def test_a_change_takes_effect_and_is_told() -> None:
    session = lanewise.Session(READS)
    before = latency(session)
    assert session.change("server.memory_latency", "1500 ns") == [
        lanewise.session.Change("server.memory_latency", "500 ns", "1.5 us")
    ]
    assert latency(session) - before == pytest.approx(1000, abs=0.5)
    assert session.change("server.memory_latency", "1.5 us") == []
    (change,) = session.results().document["changes"]
    assert change["at_s"] == pytest.approx(200e-6)
    assert (change["path"], change["after"]) == ("server.memory_latency", "1.5 us")
    assert session.step("10 us"), "results are no end"
    assert session.now_s == pytest.approx(410e-6)


def test_what_cannot_change_is_refused_with_place_and_hint() -> None:
    session = lanewise.Session(READS)
    session.step("10 us")
    with pytest.raises(lanewise.ScenarioError) as refused:
        session.change("card.width", "x4")
    (record,) = refused.value.diagnostics
    assert record["code"] == "fixed-in-a-run"
    assert record["path"] == "command line"
    assert "link training" in record["message"]
    assert "may change: card." in record["hint"]
    with pytest.raises(lanewise.ScenarioError, match="memory_latency"):
        session.change("server.memory_latency", "soon")
    with pytest.raises(ValueError, match="250 us"):
        session.step("soon")
    with pytest.raises(lanewise.ScenarioError):
        lanewise.Session({"host": {}})


@pytest.mark.parametrize("name", ["switch", "nvme_fio", "flit", "replay", "storage"])
def test_the_state_is_as_its_schema_says(name: str) -> None:
    session = lanewise.Session(ROOT / "scenarios" / f"{name}.toml")
    schema = {"$ref": "#/$defs/state", "$defs": closed(deepcopy(SCHEMA["$defs"]))}
    check = jsonschema.Draft202012Validator(schema)
    for _ in range(4):
        session.step("70 us")
        state = session.state()
        found = [
            f"{each.json_path}: {each.message[:200]}"
            for each in check.iter_errors(json.loads(state.to_json()))
        ]
        assert found == []
        tables = (state.flows, state.links, state.time, state.credits, state.requesters, state.resources)
        assert all(isinstance(table, pl.DataFrame) for table in tables)
        assert state.links.height == 2 * len(state.document["links"])
        assert state.credits.height == 3 * state.links.height
        sums = state.time.group_by("link", "direction").agg(pl.col("time_fraction").sum())
        assert sums["time_fraction"].to_list() == pytest.approx([1.0] * sums.height)
    session.change("run.seed", lanewise.explain(ROOT / f"scenarios/{name}.toml").parameters.row(0)[1])


def test_results_with_changes_are_as_their_schema_says() -> None:
    session = lanewise.Session(READS)
    session.step("10 us")
    session.change("workload.reads.outstanding", 4)
    session.step("50 us")
    schema = {"$ref": "#/$defs/run", "$defs": closed(deepcopy(SCHEMA["$defs"]))}
    problems = jsonschema.Draft202012Validator(schema).iter_errors(json.loads(session.results().to_json()))
    assert [f"{each.json_path}: {each.message[:200]}" for each in problems] == []


def test_any_thread_may_ask() -> None:
    session = lanewise.Session(READS)
    threads = [threading.Thread(target=session.step, args=("20 us",)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 20e-6 <= session.now_s <= 80e-6 + 1e-12


def test_ctrl_c_stops_a_session_where_it_is() -> None:
    session = lanewise.Session({**READS, "run": {"time_limit": "1000 s"}})
    timer = threading.Timer(0.5, _thread.interrupt_main)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            session.step()
    finally:
        timer.join()
    reached = session.now_s
    assert reached > 0
    assert session.step("10 us")
    assert session.now_s == pytest.approx(reached + 10e-6)
