"""Scenarios that programs make: as JSON for the core, as TOML for people, numbered to find what is alike."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lanewise
from lanewise import _core
from lanewise.scenario import scenario_text
from lanewise.scenario.annotated import Annotated
from lanewise.scenario.numbering import numbered, with_names

if TYPE_CHECKING:
    from lanewise.scenario.tables import Scenario


def rig(card: str, port: str) -> Scenario:
    return {
        "title": f"{card} at {port}",
        "run": {"time_limit": "30 us"},
        "host": {"server": {"slots": {port: {"link": "gen3 x8", "mps": "256 B"}}}},
        "switch": {
            f"switch_{card}": {
                "attach": f"server.{port}",
                "ports": {"port0": "gen3 x8", f"port_{card}": "gen3 x8"},
            }
        },
        "endpoint": {card: {"attach": f"switch_{card}.port_{card}", "generation": "gen3", "width": "x8"}},
        "workload": [
            {"kind": "dma", "name": card, "device": card, "direction": "write", "target": "memory"},
        ],
    }


def test_json_and_toml_are_the_same_scenario() -> None:
    document = rig("nic", "slot1")
    as_json, as_toml = scenario_text(document), Annotated(document).to_toml()
    assert tomllib.loads(as_toml) == json.loads(as_json) == document
    runs = [json.loads(_core.run("rig", source=text)) for text in (as_json, as_toml)]
    assert runs[0] == runs[1]
    assert lanewise.run(document).fingerprint == runs[0]["fingerprint"]


def test_a_mistake_in_json_has_its_line() -> None:
    text = scenario_text(rig("nic", "slot1")).replace("gen3 x8", "gen3 x7", 1)
    line = text[: text.index("gen3 x7")].count("\n") + 1
    with pytest.raises(lanewise.ScenarioError, match=f"--> rig.json:{line}") as caught:
        _core.explain("rig.json", source=text)
    assert "gen3 x7" in str(caught.value)


def test_devices_that_differ_in_names_are_one_document() -> None:
    (first, one), (second, other) = numbered(rig("nic", "slot1")), numbered(rig("gpu", "slot7"))
    assert first == second
    assert one.path("nic.mps") == other.path("gpu.mps")
    assert other.path("workload.gpu.size") == f"workload.{other.known('gpu')}.size"
    run = json.loads(_core.run("rig", source=scenario_text(first)))
    named = with_names(run, other.names())
    assert {flow["device"] for flow in named["flows"]} == {"gpu"}
    assert [link["name"] for link in named["links"]] == ["switch_gpu", "gpu"]
    assert run["flows"][0]["device"] == one.known("nic")


def test_notes_stand_beside_what_they_are_about() -> None:
    document: Scenario = {
        "title": "a",
        "run": {"time_limit": "1 us"},
        "host": {"server": {"rcb": "64 B", "slots": {"slot1": {"link": "gen3 x8"}}}},
        "endpoint": {"ssd": {"attach": "server.slot1", "nvme": {"dies": 4}}},
    }
    notes = {
        ("run",): "Short.",
        ("host", "server", "rcb"): "as read",
        ("host", "server", "slots", "slot1"): "00:01.0",
        ("endpoint", "ssd", "nvme", "dies"): "Assumed\nhere",
    }
    text = Annotated(document, ("Made up.",), notes, {("host", "server", "slots", "slot1")}).to_toml()
    assert text == (
        '# Made up.\ntitle = "a"\n\n# Short.\n[run]\ntime_limit = "1 us"\n\n[host.server]\n'
        'rcb = "64 B"      # as read\n\n[host.server.slots.slot1]      # 00:01.0\nlink = "gen3 x8"\n\n'
        '[endpoint.ssd]\nattach = "server.slot1"\nnvme.dies = 4      # Assumed here\n'
    )


def test_no_module_writes_a_scenario_as_toml_text() -> None:
    """A program makes documents; a heading of a scenario in a string of a module is one pasted together."""
    heading = re.compile(r"^\[\[?(run|firmware|host|switch|endpoint|storage|network|system|workload)\b", re.M)
    found = []
    for path in sorted(Path(lanewise.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and heading.search(node.value):
                found.append(f"{path.name}:{node.lineno}")
    assert not found
