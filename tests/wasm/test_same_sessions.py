"""A session in Node does what the same session in Python does: the state on the way, changes, and results."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any, cast

from in_node import ROOT, node

import lanewise

SCENARIO = (ROOT / "scenarios/switch.toml").read_text(encoding="utf-8")
CHANGE = ("workload.read0.outstanding", "1")


def test_a_session_in_pieces_is_the_run_in_one_piece() -> None:
    steps = [["step", {"events": 1 + 997 * (piece % 7)}] for piece in range(40)]
    options = {"ends_when_narrow": True, "calls": [*steps, ["step"], ["results"]]}
    whole, pieces = node().answers([("run", SCENARIO, {}), ("session", SCENARIO, options)])
    *stepped, last, results = cast("list[dict[str, Any]]", pieces)
    assert not stepped[2]["over"]
    assert last["over"]
    assert last["end_reason"] == "Converged"
    assert results == whole
    assert results["fingerprint"] == lanewise.run(SCENARIO).fingerprint


def test_state_changes_and_results_are_the_same() -> None:
    (first, second) = (["step", {"span": span}] for span in ("200 us", "150 us"))
    calls = [first, ["state"], ["change", *CHANGE], second, ["state"], ["results"]]
    (answers,) = node().answers([("session", SCENARIO, {"calls": calls})])
    step, before, changed, _, after, results = cast("list[dict[str, Any]]", answers)

    session = lanewise.Session(SCENARIO)
    session.step("200 us")
    assert step["fingerprint"] == session.fingerprint
    assert before == {"format": 1, **session.state().document}
    assert changed["changed"] == [asdict(change) for change in session.change(*CHANGE)]
    session.step("150 us")
    assert after == {"format": 1, **session.state().document}
    assert results == json.loads(session.results().to_json())
    assert results["fingerprint"] != before["trajectory"]
