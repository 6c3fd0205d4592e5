"""Runs whose scenario names a part in a file are whole without that file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import lanewise
from lanewise.experiment.runner import Job, run_all
from lanewise.kept import KeptScenario, as_files
from lanewise.runs.cache import RunCache
from lanewise.runs.folder import load_run
from lanewise.runs.simulator import resolve, simulate
from lanewise.study.study import make_study
from lanewise.study.worker import run_point

SCENARIOS = Path(__file__).resolve().parents[2] / "scenarios"
OWN = """title = "Mine"
kind = "endpoint"
like = "generic-gen4-x4"
[parameters]
tags = {{ value = {}, provenance = "assumed", source = "measured" }}
"""


def rig(folder: Path, name: str, part: str) -> Path:
    """Write a scenario of one card that reads; the card is the part."""
    text = (SCENARIOS / "first_rig.toml").read_text(encoding="utf-8")
    text = text.replace('part = "generic-gen4-x4"', f'part = "{part}"').replace('"write"', '"read"')
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def tags_of(result: lanewise.RunResult) -> str:
    assert result.kept is not None
    explained = resolve(result.kept, result.overrides)
    (value,) = [each["value"] for each in explained.document["parameters"] if each["path"] == "nvme0.tags"]
    return str(value)


@pytest.mark.parametrize(
    ("part", "kept_as"),
    [
        ("mine.toml", "mine.toml"),
        ("parts/mine.toml", "parts/mine.toml"),
        ("../mine.toml", "mine.toml"),
        ("scenario.toml", "scenario-2.toml"),
    ],
)
def test_a_run_folder_can_be_run_again_without_the_file_of_a_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str, kept_as: str
) -> None:
    """The fingerprint is the same from another folder, after the file has changed, and after it is gone."""
    desk = tmp_path / "desk"
    (desk / "parts").mkdir(parents=True)
    scenario, file = rig(desk, "rig.toml", part), desk / part
    file.write_text(OWN.format(2), encoding="utf-8")
    first = lanewise.run(scenario, out=tmp_path / "kept")
    file.write_text(OWN.format(32), encoding="utf-8")
    assert lanewise.run(scenario).fingerprint != first.fingerprint
    file.unlink()
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "moved"
    (tmp_path / "kept").rename(folder)
    assert (folder / kept_as).read_text(encoding="utf-8") == OWN.format(2)
    assert lanewise.run(folder / "scenario.toml").fingerprint == first.fingerprint
    comparison = lanewise.compare(folder, folder / "scenario.toml", explain=True)
    assert comparison.goodput_ratio == 1.0
    assert comparison.explanation is not None
    assert comparison.explanation.sentence == "Both have the same parameters"


def test_a_part_that_an_override_names_is_kept(tmp_path: Path) -> None:
    """The override of the manifest names the file in the folder."""
    scenario = rig(tmp_path, "rig.toml", "generic-gen4-x4")
    (tmp_path / "parts").mkdir()
    (tmp_path / "other.toml").write_text(OWN.format(2), encoding="utf-8")
    (tmp_path / "parts" / "rig.toml").write_text(scenario.read_text(encoding="utf-8"), encoding="utf-8")
    overrides = {"nvme0.part": "../other.toml"}
    first = lanewise.run(tmp_path / "parts" / "rig.toml", overrides=overrides, out=tmp_path / "kept")
    (tmp_path / "other.toml").unlink()
    loaded = load_run(tmp_path / "kept")
    assert loaded.overrides == (("nvme0.part", "other.toml"),)
    assert loaded.kept is not None
    again = simulate(loaded.kept, loaded.overrides)
    assert again.fingerprint == first.fingerprint


def test_files_of_one_name_that_differ_explain_a_difference(tmp_path: Path) -> None:
    """What each file says is applied alone and taken back, under names that tell them apart."""
    runs = []
    for letter, tags, outstanding in (("a", 2, 64), ("b", 32, 1)):
        folder = tmp_path / letter
        folder.mkdir()
        (folder / "mine.toml").write_text(OWN.format(tags), encoding="utf-8")
        overrides = {"workload.read.outstanding": outstanding}
        scenario = rig(folder, "rig.toml", "mine.toml")
        runs.append(lanewise.run(scenario, overrides=overrides))
    explanation = lanewise.compare(*runs, explain=True).explanation
    assert explanation is not None
    lines = {line for each in explanation.tried for line in each.difference.lines}
    assert ("nvme0.part", "A/mine.toml", "B/mine.toml") in lines
    assert all(each.alone is not None for each in explanation.tried)
    assert tags_of(runs[0]) == "2"


def test_a_cache_knows_the_file_of_a_part(tmp_path: Path) -> None:
    """A run is found again with the same file, and not with another."""
    scenario, part = rig(tmp_path, "rig.toml", "mine.toml"), tmp_path / "mine.toml"
    cache, job = RunCache(tmp_path / "cache"), Job(scenario)
    part.write_text(OWN.format(2), encoding="utf-8")
    first = run_all([job], cache=cache)[job]
    found = cache.find(job)
    assert found is not None
    assert (found.fingerprint, found.part_files) == (first.fingerprint, {"mine.toml": OWN.format(2)})
    named = Job(scenario, (("nvme0.part", "other.toml"),))
    (tmp_path / "other.toml").write_text(OWN.format(2), encoding="utf-8")
    run_all([named], cache=cache)
    assert cache.find(named) is not None
    for file in (part, tmp_path / "other.toml"):
        file.write_text(OWN.format(32), encoding="utf-8")
    assert [cache.find(each) for each in (job, named)] == [None, None]


def test_points_of_a_study_take_the_file_with_them(tmp_path: Path) -> None:
    """What runs points, here or on another machine, needs no file."""
    scenario, part = rig(tmp_path, "rig.toml", "mine.toml"), tmp_path / "mine.toml"
    part.write_text(OWN.format(2), encoding="utf-8")
    work = make_study(scenario, over=["nvme0.count=1,2"]).work()
    part.unlink()
    outcome = run_point(work, [], 0, [])
    assert (outcome.status, outcome.error) == ("done", None)


def test_a_text_has_no_folder_that_parts_could_be_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What happens to lie in the current folder is no part of a scenario given as text."""
    scenario = rig(tmp_path, "rig.toml", "mine.toml")
    (tmp_path / "mine.toml").write_text(OWN.format(2), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(lanewise.ScenarioError, match="has no folder to look in"):
        lanewise.run(scenario.read_text(encoding="utf-8"))


def test_files_of_parts_get_names_that_are_free() -> None:
    """Names from above a folder, of other systems, and those of the folder's own files."""
    texts = {"a.toml": "1", "../a.toml": "2", "C:\\x\\a.toml": "3", "v1.2/a.toml": "4", "/b.toml": "5"}
    written = json.dumps([{"part": name} for name in texts])
    kept, overrides = as_files(KeptScenario("rig.toml", written, texts), [("c.part", "'/b.toml'")], [])
    assert list(kept.part_files) == ["a.toml", "a-2.toml", "a-3.toml", "a-4.toml", "b.toml"]
    assert list(kept.part_files.values()) == list(texts.values())
    assert overrides == (("c.part", "b.toml"),)
    assert '"../a.toml"' not in kept.text


def test_a_run_folder_given_as_a_scenario_says_how_to_run_it(tmp_path: Path) -> None:
    """The hint has the file and what was set."""
    scenario, folder = rig(tmp_path, "rig.toml", "generic-gen4-x4"), tmp_path / "kept"
    lanewise.run(scenario, overrides={"nvme0.tags": 8}, out=folder)
    with pytest.raises(lanewise.ScenarioError) as caught:
        lanewise.run(folder)
    (note,) = caught.value.__notes__
    assert f"'{folder / 'scenario.toml'}', which was run with --set nvme0.tags=8" in note
