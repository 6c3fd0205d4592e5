"""The package as a page has it: its core over the door of a page, and what the page asks of it.

The door here is the native one. `web/tests/browser/diagnose.test.ts` shows that the module of a page answers
the same.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import lanewise
from lanewise import _core
from lanewise.page import examine

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = Path(lanewise.__file__).parent
RIG = ROOT / "scenarios/first_rig.toml"
GPU_SERVER = ROOT / "examples/gpu-server.txt"


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The core of a page, over the native door."""
    simulator = ModuleType("lanewise_simulator")
    simulator.ask = _core.Door().ask  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lanewise_simulator", simulator)
    spec = importlib.util.find_spec("lanewise.page.core")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_core_of_a_page_answers_as_the_core(core: Any) -> None:
    text = RIG.read_text()
    overrides = [("run.seed", "7")]
    assert core.VERSION == _core.VERSION
    assert core.explain("rig", overrides, source=text) == _core.explain("rig", overrides, source=text)
    assert core.run("rig", overrides, source=text) == _core.run("rig", overrides, source=text)
    assert core.parts() == _core.parts()
    assert core.scenario_schema() == _core.scenario_schema()
    link = {"generation": 3, "lanes": 8, "payload_bytes": 256, "header_dwords": 3, "ecrc": False}
    assert core.ladder(**link) == _core.ladder(**link)


def test_the_core_of_a_page_raises_as_the_core(core: Any) -> None:
    wrong = RIG.read_text().replace("outstanding", "outstandign")
    with pytest.raises(_core.ScenarioError) as there:
        _core.run("rig", source=wrong)
    with pytest.raises(core.ScenarioError) as here:
        core.run("rig", source=wrong)
    assert str(here.value) == str(there.value)
    assert here.value.diagnostics == there.value.diagnostics
    assert isinstance(here.value, core.InputError)
    with pytest.raises(ValueError, match="lanes is 3"):
        core.ladder(generation=3, lanes=3, payload_bytes=256, header_dwords=3, ecrc=False)
    with pytest.raises(core.InputError, match="is a file"):
        core.run("rig.toml")


def test_a_fault_of_the_core_is_ours(core: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fault = {"format": 1, "status": 3, "errors": [{"message": "panicked"}], "discard": True}
    monkeypatch.setattr(core, "ask", lambda verb, request: json.dumps(fault, separators=(",", ":")))
    with pytest.raises(RuntimeError, match="panicked"):
        core.parts()


def test_all_that_machines_ask_of_the_core_is_there(core: Any) -> None:
    bundle = runpy.run_path(str(ROOT / ".ci/python_for_page.py"))
    asked = set()
    for name, path in bundle["modules"]().items():
        if name.startswith(("lanewise.health", "lanewise.machine", "lanewise.draw", "lanewise.ladder")):
            tree = ast.parse(path.read_bytes())
            asked |= {
                node.attr
                for node in ast.walk(tree)
                if isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "_core"
            }
    assert {"run", "explain", "ladder"} <= asked
    assert [name for name in sorted(asked) if not hasattr(core, name)] == []


def test_what_a_page_has_needs_the_standard_library_alone() -> None:
    # Of which Pyodide leaves some out.
    alone = """
import sys
from importlib.metadata import packages_distributions
for name in (*packages_distributions(), "lzma", "ssl", "sqlite3"):
    if name != "lanewise":
        sys.modules[name] = None
assert sys.modules["polars"] is sys.modules["typer"] is sys.modules["rich"] is None
from pathlib import Path
from lanewise.page.examine import Examination
examination = Examination()
assert '"status"' not in examination.scan(["dump"], [Path(sys.argv[1]).read_bytes()])[:60]
for verb in ("draw", "doctor", "predict", "scenario"):
    assert '"status": 2' not in examination.about(verb)[:60]
assert "unpack it with 'xz -d'" in examination.scan(["dump.xz"], [b"\\xfd7zXZ\\x00" + bytes(99)])
print("done")
"""
    command = (sys.executable, "-c", alone, str(GPU_SERVER))
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "done\n"


def test_the_part_of_a_page_is_what_machines_need() -> None:
    modules = runpy.run_path(str(ROOT / ".ci/python_for_page.py"))["modules"]()
    assert {"lanewise.page.examine", "lanewise.health.doctor.rules.link", "lanewise.draw.svg"} <= set(modules)
    for folder in ("machine/sources", "health/doctor/rules"):
        here = {
            f"lanewise.{folder.replace('/', '.')}.{path.stem}"
            for path in (PACKAGE / folder).glob("[a-z]*.py")
        }
        assert here <= set(modules)
    others = ("lanewise.cli", "lanewise.experiment", "lanewise.serve", "lanewise.report")
    assert [name for name in modules if name.startswith(others)] == []


def test_an_examination_answers_what_json_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    examination = examine.Examination()
    given = (["../gpu-server.txt"], [GPU_SERVER.read_bytes()])
    scanned = json.loads(examination.scan(*given))
    assert scanned["source"] == "gpu-server.txt"
    assert len(scanned["machine"]["functions"]) == 48
    monkeypatch.chdir(GPU_SERVER.parent)
    machine = lanewise.scan("gpu-server.txt")
    assert examination.about("doctor") == lanewise.diagnose(machine).to_json()
    heard: list[str] = []
    assert examination.about("predict", heard.append) == lanewise.predict(machine).to_json()
    assert heard
    assert json.loads(examination.about("draw"))["svg"] == lanewise.picture(machine).svg(embedded=True)
    assert "[[workload]]" in json.loads(examination.about("scenario"))["scenario"]


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "empty"), (b"\x00\x01\x02" * 99, "binary"), (b"Dear all,\n", "letter.txt")],
)
def test_what_cannot_be_read_is_said_and_the_machine_stays(content: bytes, said: str) -> None:
    examination = examine.Examination()
    examination.scan(["gpu.txt"], [GPU_SERVER.read_bytes()])
    refused = json.loads(examination.scan(["letter.txt"], [content]))
    assert refused["status"] == 2
    assert said in str(refused["errors"])
    assert "48 functions" not in str(refused)
    assert json.loads(examination.about("doctor"))["summary"]["functions"] == 48
    assert json.loads(examine.Examination().about("draw"))["status"] == 2


def test_files_of_one_machine_come_in_any_order() -> None:
    log = b"[    1.000000] NVRM: Xid (PCI:0000:9b:00): 79, pid=1234, GPU has fallen off the bus.\n"
    answers = []
    for names in (["dmesg.txt", "lspci.txt"], ["lspci.txt", "dmesg.txt"]):
        files = {"dmesg.txt": log, "lspci.txt": GPU_SERVER.read_bytes()}
        answers.append(json.loads(examine.Examination().scan(names, [files[name] for name in names])))
    assert answers[0] == answers[1]
    assert answers[0]["source"] == "lspci.txt"
    assert len(answers[0]["machine"]["events"]) == 1


def test_files_that_tell_nothing_are_left_out_beside_a_dump() -> None:
    dump = GPU_SERVER.read_bytes()
    names, contents = ["lscpu.txt", "dump.txt"], [b"Architecture: x86_64\nCPU(s): 8\n", dump]
    answer = json.loads(examine.Examination().scan(names, contents))
    assert len(answer["machine"]["functions"]) == 48
    (note,) = [note for note in answer["notes"] if note.startswith("left out: ")]
    assert "'lscpu.txt' has nothing in it that is read as a PCI device" in note
    alone = json.loads(examine.Examination().scan(names[:1], contents[:1]))
    assert alone["status"] == 2


def test_two_machines_are_refused_in_words_that_a_page_has() -> None:
    dump = GPU_SERVER.read_bytes()
    text = examine.Examination().scan(["a", "b"], [dump, dump])
    assert json.loads(text)["status"] == 2
    assert "'b' is the dump of a machine itself" in text
    assert "--with" not in text
