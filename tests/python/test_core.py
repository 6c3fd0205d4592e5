"""The compiled core through its Python door: the stub, determinism, errors, ways to stop."""

from __future__ import annotations

import ast
import inspect
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import documents
import jsonschema
import pytest

import lanewise
from lanewise import _core

ROOT = Path(__file__).parents[2]
FIRST_RIG = ROOT / "scenarios" / "first_rig.toml"
NO_SCENARIOS = ("expected.toml", "fitted.toml", "misses.toml", "sensitivity.toml")
SCENARIOS = sorted(
    path
    for path in (*ROOT.glob("scenarios/*.toml"), *ROOT.glob("experiments/*/*.toml"))
    if path.name not in NO_SCENARIOS
)

FIVE_MISTAKES = """\
[host.server]
slots = { slot1 = "gen4 x5" }
colour = "red"

[endpoint.nic]
attach = "server.slot9"
generation = "gen4"
width = "x4"
mrrs = "300 B"

[[workload]]
kind = "dma"
device = "nicc"
direction = "write"
"""

HEALTHY = """\
[host.server]
slots = { slot1 = "gen4 x4" }

[endpoint.nic]
attach = "server.slot1"
generation = "gen4"
width = "x4"
tags = 4

[[workload]]
kind = "dma"
device = "nic"
direction = "read"
"""


def missing_keys(expected: Any, found: Any, place: str = "") -> list[str]:
    if isinstance(expected, dict):
        missing = [f"{place}.{key}" for key in expected if key not in found]
        both = [key for key in expected if key in found]
        return missing + [
            path for key in both for path in missing_keys(expected[key], found[key], f"{place}.{key}")
        ]
    if isinstance(expected, list) and expected and found:
        return missing_keys(expected[0], found[0], f"{place}[]")
    return []


@pytest.fixture
def rig(tmp_path: Path) -> Path:
    path = tmp_path / "rig.toml"
    path.write_text(HEALTHY)
    return path


def test_the_stub_names_what_the_module_has() -> None:
    stub = ast.parse((ROOT / "python" / "lanewise" / "_core.pyi").read_text())
    functions = {node.name: node for node in stub.body if isinstance(node, ast.FunctionDef)}
    classes = {node.name for node in stub.body if isinstance(node, ast.ClassDef)}
    constants = {node.target.id for node in stub.body if isinstance(node, ast.AnnAssign)}
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert public == set(functions) | classes | constants
    for name, node in functions.items():
        stated = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
        assert stated == list(inspect.signature(getattr(_core, name)).parameters), name


def test_results_have_every_key_that_the_tests_and_the_reference_rely_on() -> None:
    made_up = documents.run_document()
    made_up["links"][0]["upstream"]["time_attribution"] = {"payload": 0, "idle": 0}
    made_up["links"][0]["upstream"]["time_attribution_ticks"] = {"payload": 0, "idle": 0}
    made_up["links"][0]["downstream"] = made_up["links"][0]["upstream"]
    made_up["requesters"][0]["time_attribution"] = {}
    real = json.loads(lanewise.run(ROOT / "scenarios" / "storage.toml").to_json())
    assert missing_keys(made_up, real) == []
    explained = lanewise.explain(FIRST_RIG).document
    assert missing_keys(documents.explain_document(), explained) == []
    assert missing_keys(documents.parts_document(), lanewise.parts().document) == []


def test_the_same_run_is_the_same_twice_and_in_threads(rig: Path) -> None:
    first = lanewise.run(rig).document
    with ThreadPoolExecutor(4) as pool:
        others = list(pool.map(lambda _: lanewise.run(rig).document, range(4)))
    assert all(other == first for other in others)


def test_the_command_line_and_the_function_say_the_same(rig: Path) -> None:
    command = [sys.executable, "-c", "from lanewise.cli import main; main()", "run", str(rig), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == {"format": 1, **lanewise.run(rig).document}
    assert done.stderr == ""


def test_every_instant_of_every_link_direction_has_one_owner() -> None:
    for link in lanewise.run(ROOT / "scenarios" / "switch.toml").document["links"]:
        for direction in ("upstream", "downstream"):
            assert (
                sum(link[direction]["time_attribution_ticks"].values()) == link[direction]["measured_ticks"]
            )


def test_an_override_changes_the_result_and_explain_says_so(rig: Path) -> None:
    slower = {"server.memory_latency": "2 us"}
    plain, changed = lanewise.run(rig), lanewise.run(rig, overrides=slower)
    assert changed.flows["goodput_gb_per_s"][0] < 0.5 * plain.flows["goodput_gb_per_s"][0]
    rows = lanewise.explain(rig, overrides=slower).parameters.rows_by_key("path", named=True, unique=True)
    assert rows["server.memory_latency"]["value"] == "2 us"
    assert "command line" in rows["server.memory_latency"]["place"]


def test_all_mistakes_of_a_file_come_at_once(tmp_path: Path) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(FIVE_MISTAKES)
    with pytest.raises(lanewise.ScenarioError) as caught:
        lanewise.run(path)
    found = caught.value.diagnostics
    assert len(found) >= 5
    assert {"code", "message", "path", "line", "column", "hint"} == set(found[0])
    assert all(mistake["line"] for mistake in found)
    assert "error[" in str(caught.value)


@pytest.mark.parametrize("verb", ["run", "explain"])
def test_wrong_input_is_status_2_on_stderr_and_writes_nothing(
    verb: str, tmp_path: Path, lanewise: Any
) -> None:
    path = tmp_path / "wrong.toml"
    path.write_text(FIVE_MISTAKES)
    arguments = ["--out", tmp_path / "out"] if verb == "run" else []
    result = lanewise(verb, path, *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.count("error[") >= 5
    assert not (tmp_path / "out").exists()
    absent = lanewise(verb, tmp_path / "absent.toml")
    assert (absent.exit_code, absent.stdout) == (2, "")
    assert "absent.toml" in absent.stderr


def test_a_callback_can_end_a_run(rig: Path) -> None:
    endless = {"run.time_limit": "1000 s", "run.relative_half_width": "0.00001", "run.warm_up": "900 s"}
    result = lanewise.run(rig, overrides=endless, progress=lambda _: False)
    assert result.end_reason == "Interrupted"
    assert result.document["simulated_s"] > 0


def test_what_a_callback_raises_comes_out_of_the_run(rig: Path) -> None:
    def broken(_: object) -> None:
        raise LookupError("no such gauge")

    with pytest.raises(LookupError, match="no such gauge"):
        lanewise.run(rig, overrides={"run.time_limit": "1000 s", "run.warm_up": "900 s"}, progress=broken)


def test_an_interrupt_keeps_what_was_measured(rig: Path) -> None:
    def press_control_c(_: object) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    endless = {"run.time_limit": "1000 s", "run.relative_half_width": "0.00001", "run.warm_up": "900 s"}
    result = lanewise.run(rig, overrides=endless, progress=press_control_c)
    assert result.end_reason == "Interrupted"
    assert result.document["events"] > 0


def test_what_the_handler_of_another_signal_raises_comes_out_of_the_run(rig: Path) -> None:
    def out_of_time(*_: object) -> None:
        raise TimeoutError("the alarm rang")

    before = signal.signal(signal.SIGALRM, out_of_time)
    try:
        # Nobody watches the run, so that the core itself looks at signals; it would go on for days.
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(TimeoutError, match="the alarm rang"):
            lanewise.run(rig, overrides={"run.time_limit": "10000 s", "run.warm_up": "9000 s"})
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_run_folder_holds_the_run(rig: Path, tmp_path: Path) -> None:
    result = lanewise.run(rig, overrides={"server.memory_latency": "300 ns"}, out=tmp_path / "out")
    again = lanewise.compare(result, tmp_path / "out")
    assert again.goodput_ratio == 1.0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    values = {entry["path"]: entry["value"] for entry in manifest["resolved_scenario"]["parameters"]}
    assert values["server.memory_latency"] == "300 ns"


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_the_schema_accepts_every_scenario_that_the_core_accepts(path: Path) -> None:
    import tomllib

    lanewise.explain(path)
    schema = json.loads(_core.scenario_schema())
    jsonschema.Draft202012Validator(schema).validate(tomllib.loads(path.read_text()))


def test_the_schema_refuses_an_unknown_key() -> None:
    schema = json.loads(_core.scenario_schema())
    errors = list(
        jsonschema.Draft202012Validator(schema).iter_errors({"host": {"server": {"latncy": "1 ns"}}})
    )
    assert ["latncy" in error.message for error in errors] == [True]


def test_a_benchmark_reports_its_figures() -> None:
    (figures,) = lanewise.bench("mixed", repeat=1).document["benchmarks"]
    assert figures["name"] == "mixed"
    assert figures["tlp_hops_per_s"] > 0
    assert {"chain", "mixed", "tree512"} <= set(_core.benchmark_names())


def test_a_scenario_given_as_text_runs_as_the_file_does() -> None:
    text = FIRST_RIG.read_text(encoding="utf-8")
    from_text, from_file = json.loads(_core.run("rig", source=text)), json.loads(_core.run(str(FIRST_RIG)))
    assert from_text["scenario_path"] == "rig"
    assert from_text["fingerprint"] == from_file["fingerprint"]
    with pytest.raises(lanewise.ScenarioError, match="rig"):
        _core.run("rig", source="[host.server]\ncolour = 1\n")
