"""What verbs print with --json is what `schema/output.schema.json` says: no key more, none less."""

from __future__ import annotations

import json
import os
import shlex
from copy import deepcopy
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from typer.testing import CliRunner

from lanewise.cli.commands import app
from lanewise.output_format import FORMAT

ROOT = Path(__file__).parents[2]
SCHEMA: dict[str, Any] = json.loads((ROOT / "schema" / "output.schema.json").read_text())
DUMP = "tests/python/machine/dumps/qemu-vfs.vvv"
CAPTURED = "tests/python/captured"


def closed(schema: Any) -> Any:
    """Return the schema with every object closed whose keys are known: a new key has to be written down."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {key: closed(part) for key, part in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        inner.setdefault("additionalProperties", False)
    return inner


def check(verb: str, document: Any) -> None:
    """Validate what a verb printed; the message names the place."""
    schema = {"$ref": f"#/$defs/{verb}", "$defs": closed(deepcopy(SCHEMA["$defs"]))}
    problems = jsonschema.Draft202012Validator(schema).iter_errors(document)
    assert [f"{problem.json_path}: {problem.message[:200]}" for problem in problems] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "scenarios/first_rig.toml"],
        ["run", "scenarios/drives_change_hosts.toml"],
        ["run", "scenarios/replay.toml"],
        ["run", "scenarios/switch.toml", "--why"],
        ["run", "scenarios/first_rig.toml", "--sensitivity"],
        ["explain", "scenarios/storage.toml"],
        ["trace", "scenarios/switch.toml", "--for", "2 us", "--kind", "tlp,blocked,queued"],
        ["trace", "scenarios/replay.toml", "--around", "replay"],
        ["trace", "scenarios/switch.toml", "--transaction", "3"],
        ["compare", "scenarios/first_rig.toml", "scenarios/peer_to_peer.toml"],
        ["whatif", "scenarios/switch.toml", "sw0.latency=300 ns"],
        ["sweep", "scenarios/switch.toml", "--over", "card0.link.force_width=x1,x4,x64", "--seeds", "2"],
        ["reproduce", "IDT-S1"],
        ["reproduce", "OPP-1"],
        ["calibrate", "IDT-S1", "--dry-run"],
        ["parts"],
        ["bench", "chain", "--repeat", "1"],
        ["scan", DUMP],
        ["draw", DUMP],
        ["draw", "scenarios/storage.toml"],
        ["doctor", DUMP, "--fail-on", "never"],
        ["doctor", DUMP, "--fail-on", "never", "--expect", "tests/python/health/fleet.toml"],
        ["predict", DUMP, "--device", "01:00.0"],
        ["predict", "examples/gpu-server.txt", "--peers", "--device", "18:00.0"],
        ["matrix", "scenarios/l40s.toml", "gpu[0]", "gpu[2]"],
        ["import", f"{CAPTURED}/iperf3-3.12-tcp.json", "--machine", DUMP, "--device", "04:00.0"],
        ["import", f"{CAPTURED}/perftest-6.06-ib_write_bw.txt", "--machine", DUMP, "--device", "04:00.0"],
    ],
    ids=" ".join,
)
@pytest.mark.slow
def test_the_output_of_a_verb_is_as_its_schema_says(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(app, [*arguments, "--json"])
    assert result.exit_code == 0, result.stderr
    check(arguments[0], json.loads(result.stdout))


@pytest.mark.slow
def test_the_record_of_a_measurement_is_as_its_schema_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for fio prints what a real one printed."""
    said = (ROOT / CAPTURED / "fio-3.33-two-jobs.json").resolve()
    tool = tmp_path / "fio"
    tool.write_text(f"#!/bin/sh\nexec cat {shlex.quote(str(said))}\n")
    tool.chmod(0o755)
    target = tmp_path / "target"
    target.touch()
    os.truncate(target, 64 << 20)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    arguments = ["measure", str(target), "--machine", str(ROOT / DUMP), "--device", "01:00.0", "--json"]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.stderr
    check("measure", json.loads(result.stdout))


def test_the_schema_is_one_and_covers_every_verb() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    registered = {command.name or command.callback.__name__ for command in app.registered_commands}  # type: ignore[union-attr]
    verbs = {name.strip("_") for name in registered}
    assert verbs <= set(SCHEMA["$defs"])
    assert {reference["$ref"].rpartition("/")[2] for reference in SCHEMA["anyOf"]} == verbs | {
        "run_groups",
        "compare_sides",
        "calibrated",
        "error",
    }
    assert SCHEMA["$id"] == f"urn:lanewise:output:{FORMAT}"
    assert SCHEMA["$defs"]["format"]["const"] == FORMAT


@pytest.mark.parametrize(
    "command",
    ["run missing.toml --json", "explain scenarios/switch.toml --set sw0.x=1 --json", "parts --jsn --json"],
)
def test_an_error_is_as_its_schema_says(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    result = CliRunner().invoke(app, command.split())
    assert result.exit_code == 2
    check("error", json.loads(result.stdout))
    assert result.stderr


def test_the_list_of_examples_is_as_its_schema_says() -> None:
    check("new", json.loads(CliRunner().invoke(app, ["new", "--json"]).stdout))


def test_what_lab_wrote_is_as_its_schema_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "lanewise-lab.html"
    page.write_text("<!doctype html>")
    monkeypatch.setattr("lanewise.lab.page", lambda: page)
    written = CliRunner().invoke(app, ["lab", "--out", str(tmp_path / "mine.html"), "--json"])
    check("lab", json.loads(written.stdout))


def test_an_unknown_key_and_a_missing_one_are_noticed() -> None:
    with pytest.raises(AssertionError, match="surprise"):
        check("parts", {"format": 1, "parts": [], "surprise": 1})
    with pytest.raises(AssertionError, match="required"):
        check("parts", {})


def without_description(schema: Any, place: str) -> list[str]:
    """Return the places of keys that nothing is said about; what a key refers to may say it."""
    if isinstance(schema, list):
        return [each for part in schema for each in without_description(part, place)]
    if not isinstance(schema, dict):
        return []
    keys = schema.get("properties") if isinstance(schema.get("properties"), dict) else {}
    found = [
        f"{place}.{key}" for key, value in keys.items() if not value.get("description") and key != "format"
    ]
    inner = [(value, f"{place}.{key}") for key, value in keys.items()]
    inner += [(value, place) for key, value in schema.items() if key != "properties"]
    return found + [each for value, where in inner for each in without_description(value, where)]


def test_every_key_of_the_output_has_a_description() -> None:
    assert [
        each for name, schema in SCHEMA["$defs"].items() for each in without_description(schema, name)
    ] == []
