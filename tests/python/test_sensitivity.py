"""What predictions rest on: what is varied, found by splitting groups, stored, and shown as stale."""

from __future__ import annotations

import json
from pathlib import Path
from textwrap import dedent
from typing import TYPE_CHECKING, Any

import documents
import pytest
from fake_core import FakeCore

import lanewise as package
from lanewise import _core
from lanewise.experiment.candidates import candidates_of, tried
from lanewise.experiment.definition import ExperimentError
from lanewise.experiment.folders import load_experiment
from lanewise.experiment.sensitivity import stored

if TYPE_CHECKING:
    from collections.abc import Sequence

EXPECTED = """
    id = "TINY"
    title = "Three cells"
    source = "a report"
    unit = "MiB/s"
    metric = "sum flows.goodput_mib_per_s"

    [[cell]]
    id = "with"
    published = 500
    verdict = "C"
    role = "predicted"
    band_percent = 3
    scenario = "switch.toml"

    [[cell]]
    id = "noise"
    published = 7
    verdict = "N"
    role = "excluded"
    note = "noise"
"""

PARAMETERS = {
    "server.memory_latency": ("200 ns", "assumed"),
    "server.mps": ("128 B", "assumed"),
    "server.write_bandwidth": ("2.5 GB/s", "calibrated"),
    "server.read_engines": ("64", "assumed"),
    "hba0.tags": ("32", "assumed"),
    "hba1.tags": ("32", "assumed"),
    "hba0.width": ("x8", "datasheet"),
    "hba0.relaxed_ordering": ("false", "assumed"),
    "hba0.request_interval": ("0 ns", "assumed"),
    "disks0.capacity": ("73000000000 B", "published"),
}


def parameters(overrides: dict[str, str]) -> list[dict[str, Any]]:
    return [
        {
            "path": path,
            "value": overrides.get(path, value),
            "provenance": provenance,
            "source": "",
            "role": "claim",
        }
        for path, (value, provenance) in PARAMETERS.items()
    ]


@pytest.fixture
def rig(tmp_path: Path, core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> FakeCore:
    """A core with goodput of 200 for each GB/s of the host, a tenth less with fewer tags; latency is free."""

    def answer(path: str, overrides: dict[str, str]) -> documents.Document:
        document = documents.run_document()
        if overrides.get("server.mps") == "64 B":
            raise _core.ScenarioError("64 B is not allowed")
        bandwidth = float(overrides.get("server.write_bandwidth", "2.5 GB/s").split()[0])
        tags = min(int(overrides.get(f"hba{number}.tags", "32")) for number in (0, 1))
        total = 200 * bandwidth * (1.0 if tags >= 32 else 0.9)
        for flow in document["flows"]:
            flow["goodput_mib_per_s"] = total / len(document["flows"])
        return document

    def explain(path: str, overrides: Any, *_: object) -> str:
        return json.dumps({"title": "", "parameters": parameters(dict(overrides)), "links": []})

    core.answer = answer
    monkeypatch.setattr(_core, "explain", explain)
    (tmp_path / "expected.toml").write_text(dedent(EXPECTED))
    (tmp_path / "switch.toml").write_text("")
    return core


def not_allowed(values: Sequence[tuple[str, str]]) -> bool:
    """The core of `rig`: maximum payloads are powers of two from 128 B on."""
    sizes = [int(value.split()[0]) for path, value in values if path.endswith("mps")]
    return any(size < 128 or size & (size - 1) for size in sizes)


def test_equal_parts_are_one_candidate_and_what_is_refused_is_halved() -> None:
    asked: list[int] = []

    def is_allowed(values: Sequence[tuple[str, str]]) -> bool:
        asked.append(len(values))
        return not not_allowed(values)

    found = {one.name: one for one in tried(list(candidates_of(parameters({}))), is_allowed)}
    assert max(asked) == 6, "of all at once"
    assert (found["server.mps"].refused, found["server.mps"].harmful) == (("64 B",), "256 B")
    assert not any(one.refused or one.is_halved for one in found.values() if one.name != "server.mps")
    assert found["hba#.tags"].paths == ("hba0.tags", "hba1.tags")
    assert (found["hba#.tags"].lower, found["hba#.tags"].higher) == ("26", "38")
    assert (found["server.mps"].lower, found["server.mps"].higher) == ("64 B", "256 B")
    assert found["server.memory_latency"].harmful == "240 ns"
    assert found["server.write_bandwidth"].harmful == "2 GB/s"
    # Not varied: what a data sheet fixes, what is no number, what is nothing, what cannot matter.
    assert set(found) == {
        *(
            "hba#.tags",
            "server.mps",
            "server.memory_latency",
            "server.write_bandwidth",
            "server.read_engines",
        ),
    }


@pytest.mark.parametrize(
    ("value", "allowed", "lower", "higher", "refused"),
    [
        ("64 B", {"32 B", "128 B"}, "32 B", "128 B", ()),
        ("64 B", {"128 B"}, "32 B", "128 B", ("32 B",)),
        ("64 B", {"32 B"}, "32 B", "128 B", ("128 B",)),
        ("64 B", set(), "32 B", "128 B", ("32 B", "128 B")),
        ("5 bits", {"10 bits"}, "2 bits", "10 bits", ("2 bits",)),
        ("1", set(), "1", "2", ("2",)),
    ],
)
def test_where_both_steps_are_refused_there_is_no_such_value(
    value: str, allowed: set[str], lower: str, higher: str, refused: tuple[str, ...]
) -> None:
    rows = [{"path": "a.b", "value": value, "provenance": "assumed", "source": "", "role": "claim"}]
    (one,) = tried(list(candidates_of(rows)), lambda values: all(each in allowed for _, each in values))
    assert (one.lower, one.higher, one.refused) == (lower, higher, refused)
    assert one.is_fixed is (not allowed)


def test_what_may_be_no_other_is_not_called_varied(
    tmp_path: Path, rig: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path, value in (("server.mps", "4096 B"), ("server.peer.largest_packet", "64 B")):
        monkeypatch.setitem(PARAMETERS, path, (value, "assumed"))

    def explain(path: str, overrides: Any, *_: object) -> str:
        for name, value in overrides:
            if name.endswith("mps") and value not in ("2048 B", "4096 B"):
                raise _core.ScenarioError(f"{value} is not allowed")
            if name.endswith("largest_packet"):
                raise _core.ScenarioError(f"{value} is not allowed")
        return json.dumps({"title": "", "parameters": parameters(dict(overrides)), "links": []})

    monkeypatch.setattr(_core, "explain", explain)
    (sensitivity,) = package.sensitivity(tmp_path).values()
    assert sensitivity.refused == ("server.peer.largest_packet = 64 B",)
    assert sensitivity.one_way == ("server.mps = 4096 B",)
    assert sensitivity.varied == (
        "hba#.tags = 32",
        "server.memory_latency = 200 ns",
        "server.mps = 4096 B",
        "server.read_engines = 64",
        "server.write_bandwidth = 2.5 GB/s",
    )
    assert not any("largest_packet" in path for _, asked in rig.asked for path in asked)
    read_back = stored(load_experiment(tmp_path))
    assert read_back == sensitivity


def test_what_moves_a_prediction_is_found_and_stored(tmp_path: Path, rig: FakeCore) -> None:
    (sensitivity,) = package.sensitivity(tmp_path).values()
    (cell,) = sensitivity.cells
    assert [effect.parameter for effect in cell.effects] == ["server.write_bandwidth", "hba#.tags"]
    bandwidth, tags = cell.effects
    assert (bandwidth.lower_percent, bandwidth.higher_percent) == (-20.0, 20.0)
    assert (tags.lower_percent, tags.higher_percent) == (-10.0, 0.0)
    assert [effect.parameter for effect in cell.rests_on] == ["hba#.tags"]
    changes = sensitivity.table.select("cell", "parameter", "lower_change", "higher_change").rows()
    assert changes == [("with", "server.write_bandwidth", -20.0, 20.0), ("with", "hba#.tags", -10.0, 0.0)]

    read_back = stored(load_experiment(tmp_path))
    assert read_back == sensitivity
    assert not sensitivity.stale


def test_most_candidates_cost_no_run_of_their_own(tmp_path: Path, rig: FakeCore) -> None:
    (sensitivity,) = package.sensitivity(tmp_path).values()
    one_at_a_time = [asked for _, asked in rig.asked if set(asked) == {"server.memory_latency"}]
    assert len(one_at_a_time) <= 1
    assert sensitivity.runs <= 2 * len(PARAMETERS)


def test_a_changed_parameter_makes_it_stale(
    tmp_path: Path, rig: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    package.sensitivity(tmp_path)
    for name in ("hba0.tags", "hba1.tags"):
        monkeypatch.setitem(PARAMETERS, name, ("64", "assumed"))
    read_back = stored(load_experiment(tmp_path))
    assert read_back is not None
    assert read_back.stale


@pytest.mark.parametrize("name", ["server.memory_latency", "server.of_today"])
def test_a_parameter_that_moved_nothing_and_has_another_value_or_is_new_makes_it_stale(
    tmp_path: Path, rig: FakeCore, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Nobody has tried what it moves now."""
    package.sensitivity(tmp_path)
    assert not fits_no_longer(tmp_path)
    monkeypatch.setitem(PARAMETERS, name, ("250 ns", "assumed"))
    assert fits_no_longer(tmp_path)
    (again,) = package.reproduce(tmp_path).experiments
    assert again.sensitivity is not None
    assert again.sensitivity.stale


def test_a_parameter_that_is_gone_makes_it_stale(
    tmp_path: Path, rig: FakeCore, monkeypatch: pytest.MonkeyPatch
) -> None:
    package.sensitivity(tmp_path)
    monkeypatch.delitem(PARAMETERS, "server.memory_latency")
    assert fits_no_longer(tmp_path)


def fits_no_longer(folder: Path) -> bool:
    found = stored(load_experiment(folder))
    assert found is not None
    return found.stale


def test_a_cell_that_comes_out_otherwise_makes_it_stale(tmp_path: Path, rig: FakeCore) -> None:
    package.sensitivity(tmp_path)
    before = rig.answer

    def answer(path: str, overrides: dict[str, str]) -> documents.Document:
        document = before(path, overrides)
        for flow in document["flows"]:
            flow["goodput_mib_per_s"] *= 1.05
        return document

    rig.answer = answer
    (again,) = package.reproduce(tmp_path).experiments
    assert again.sensitivity is not None
    assert again.sensitivity.stale


def test_the_json_and_the_terminal_say_it(tmp_path: Path, rig: FakeCore, lanewise: Any) -> None:
    result = lanewise("reproduce", tmp_path, "--sensitivity", "--json")
    (experiment,) = json.loads(result.stdout)["experiments"]
    (cell,) = experiment["sensitivity"]["cells"]
    assert cell["rests_on_assumptions"] == ["hba#.tags"]
    shown = lanewise("reproduce", tmp_path, "--sensitivity").stdout
    assert "Sensitivity" in shown
    assert "-20.0 %" in shown


@pytest.mark.parametrize(("text", "said"), [("runs", "after a key"), ("runs = 1", "'version' is missing")])
def test_a_damaged_table_says_how_to_get_another(tmp_path: Path, rig: FakeCore, text: str, said: str) -> None:
    del rig
    (tmp_path / "expected.toml").write_text(dedent(EXPECTED))
    (tmp_path / "switch.toml").write_text("")
    (tmp_path / "sensitivity.toml").write_text(text)
    with pytest.raises(ExperimentError, match=said) as caught:
        stored(load_experiment(tmp_path))
    assert "lanewise reproduce TINY --sensitivity" in str(caught.value)


FITTED = """
    id = "TINY"
    title = "A cell behind a fit"
    source = "a report"
    unit = "MiB/s"
    metric = "sum flows.goodput_mib_per_s"

    [[fit]]
    name = "host"
    parameters = ["server.write_bandwidth"]
    unit = "GB/s"
    between = [1, 10]
    cells = ["direct"]

    [[cell]]
    id = "direct"
    published = 500
    verdict = "C"
    role = "calibrated"
    band_percent = 3
    scenario = "direct.toml"
    fits = ["host"]

    [[cell]]
    id = "with"
    published = 450
    verdict = "C"
    role = "predicted"
    band_percent = 5
    scenario = "switch.toml"
    fits = ["host"]
"""


@pytest.fixture
def fitted(tmp_path: Path, core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Goodput is 200 for each GB/s of the host; latency costs both cells alike, the switch only one."""
    known = {
        "server.write_bandwidth": ("2.5 GB/s", "calibrated"),
        "server.memory_latency": ("100 ns", "assumed"),
        "sw0.latency": ("100 ns", "assumed"),
        "workload.drives.outstanding": ("1", "assumed"),
    }

    def written(text: str) -> str:
        return text.split('"')[1] if text.startswith("{") else text

    def value(overrides: dict[str, str], path: str) -> float:
        return float(written(overrides.get(path, known[path][0])).split()[0])

    def answer(path: str, overrides: dict[str, str]) -> documents.Document:
        document = documents.run_document()
        total = 200 * value(overrides, "server.write_bandwidth")
        total *= 1 - value(overrides, "server.memory_latency") / 1000
        if "switch" in path:
            total *= 1 - value(overrides, "sw0.latency") / 1000
            total *= 1 + value(overrides, "workload.drives.outstanding") / 100
        for flow in document["flows"]:
            flow["goodput_mib_per_s"] = total / len(document["flows"])
        return document

    def explain(path: str, overrides: Any, *_: object) -> str:
        rows = [
            {
                "path": one,
                "value": written(dict(overrides).get(one, text)),
                "provenance": provenance,
                "source": "",
                "role": "choice" if one.startswith("workload") else "claim",
            }
            for one, (text, provenance) in known.items()
        ]
        return json.dumps({"title": "", "parameters": rows, "links": []})

    core.answer = answer
    monkeypatch.setattr(_core, "explain", explain)
    (tmp_path / "expected.toml").write_text(dedent(FITTED))
    for name in ("direct.toml", "switch.toml"):
        (tmp_path / name).write_text("")
    package.calibrate(tmp_path)
    return tmp_path


def test_what_a_calibration_would_have_made_up_for_moves_nothing(fitted: Path) -> None:
    """Memory latency moves both cells alike, and the fit takes it up; that of the switch it cannot reach."""
    (sensitivity,) = package.sensitivity(fitted).values()
    (cell,) = sensitivity.cells
    found = {effect.parameter: effect for effect in cell.effects}
    assert "server.memory_latency" not in found
    assert found["sw#.latency"].lower_percent == pytest.approx(100 * 0.02 / 0.9, rel=0.15)


def test_a_fitted_value_itself_is_varied_as_it_is(fitted: Path) -> None:
    (sensitivity,) = package.sensitivity(fitted).values()
    found = {effect.parameter: effect for effect in sensitivity.cells[0].effects}
    assert found["server.write_bandwidth"].higher_percent == pytest.approx(20, rel=0.01)


def test_what_a_workload_does_is_varied_and_a_one_becomes_two(fitted: Path) -> None:
    (sensitivity,) = package.sensitivity(fitted).values()
    found = {effect.parameter: effect for effect in sensitivity.cells[0].effects}
    outstanding = found["workload.drives.outstanding"]
    assert (outstanding.lower, outstanding.higher) == ("1", "2")
    assert outstanding.lower_percent == 0.0
    assert outstanding.higher_percent == pytest.approx(0.99, abs=0.2)


def test_choices_of_a_machine_are_not_varied_but_those_of_a_run_are() -> None:
    rows = [
        {"path": path, "value": value, "provenance": "assumed", "source": "", "role": "choice"}
        for path, value in (("run.time_limit", "150 ms"), ("run.seed", "3"), ("server.slots", "4"))
    ]
    assert [one.name for one in candidates_of(rows)] == ["run.time_limit"]


def test_what_tells_the_cells_of_a_table_apart_is_not_varied(fitted: Path) -> None:
    text = (fitted / "expected.toml").read_text()
    (fitted / "expected.toml").write_text(text + 'set = { "workload.drives.outstanding" = 1 }\n')
    (sensitivity,) = package.sensitivity(fitted).values()
    assert "workload.drives.outstanding" not in {effect.parameter for effect in sensitivity.cells[0].effects}
