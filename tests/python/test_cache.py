"""Finished runs on disk: found again when everything is the same, and never otherwise."""

from __future__ import annotations

import gzip
import os
from pathlib import Path

import pytest
from fake_core import FakeCore

from lanewise.experiment.runner import Job, run_all
from lanewise.runs import cache as module
from lanewise.runs.cache import RunCache, key_of


@pytest.fixture
def job(tmp_path: Path) -> Job:
    path = tmp_path / "rig.toml"
    path.write_text("title = 'one'")
    return Job(path, (("server.mps", "128 B"),))


def test_a_finished_run_is_not_done_again(job: Job, core: FakeCore) -> None:
    cache = RunCache.default()
    first = run_all([job], cache=cache)[job]
    second = run_all([job], cache=RunCache.default())[job]
    assert len(core.asked) == 1
    assert first.document == second.document


def test_what_determines_a_result_is_in_the_key(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of(job)
    assert key_of(Job(job.scenario, (("server.mps", "256 B"),))) != before
    assert key_of(Job(job.scenario)) != before
    job.scenario.write_text("title = 'two'")
    changed = key_of(job)
    assert changed != before
    monkeypatch.setattr(module, "core_hash", lambda: "another core")
    assert key_of(job) != changed


def test_a_damaged_entry_is_made_again(job: Job, core: FakeCore) -> None:
    cache = RunCache.default()
    run_all([job], cache=cache)
    (entry,) = cache.folder.glob("*.json.gz")
    whole = entry.read_bytes()
    for damaged in (whole[:-20], b"", whole[:60] + b"\0" + whole[61:]):
        entry.write_bytes(damaged)
        run_all([job], cache=cache)
        assert cache.find(job) is not None
    assert len(core.asked) == 4


def test_an_interrupted_run_is_not_kept(job: Job, core: FakeCore) -> None:
    answer = core.answer

    def interrupted(path: str, overrides: dict[str, str]) -> dict[str, object]:
        return {**answer(path, overrides), "end_reason": "Interrupted"}

    core.answer = interrupted
    cache = RunCache.default()
    run_all([job], cache=cache)
    assert cache.find(job) is None


def test_a_folder_that_cannot_be_written_is_no_reason_to_fail(
    job: Job, core: FakeCore, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    cache = RunCache(tmp_path / "file" / "runs")
    assert job in run_all([job], cache=cache)


def test_fresh_forgets(job: Job, core: FakeCore) -> None:
    cache = RunCache.default()
    run_all([job], cache=cache)
    cache.clear()
    run_all([job], cache=cache)
    assert len(core.asked) == 2


@pytest.mark.parametrize(
    "content", ["[]", "null", "{}", "1", '{"a":' * 200_000, "[" * 200_000, '{"title": "x"}']
)
def test_an_entry_of_something_else_is_made_again(content: str, job: Job, core: FakeCore) -> None:
    cache = RunCache.default()
    run_all([job], cache=cache)
    (entry,) = cache.folder.glob("*.json.gz")
    data = content.encode()
    for forged in (data, module._digest(key_of(job), data).encode() + b"\n" + data):
        entry.write_bytes(gzip.compress(forged))
        assert cache.find(job) is None


def test_a_value_changed_by_hand_is_not_believed(job: Job, core: FakeCore) -> None:
    cache = RunCache.default()
    run_all([job], cache=cache)
    (entry,) = cache.folder.glob("*.json.gz")
    whole = gzip.decompress(entry.read_bytes())
    entry.write_bytes(gzip.compress(whole.replace(b'"Finished"', b'"Forged"').replace(b"1", b"2")))
    assert cache.find(job) is None
    entry.write_bytes(gzip.compress(whole))
    assert cache.find(job) is not None
    entry.chmod(0o666)
    assert cache.find(job) is None, "anybody may have written it"


def test_a_pipe_in_the_place_of_an_entry_does_not_hang(job: Job, core: FakeCore) -> None:
    cache = RunCache.default()
    run_all([job], cache=cache)
    (entry,) = cache.folder.glob("*.json.gz")
    entry.unlink()
    os.mkfifo(entry)
    assert cache.find(job) is None
    # It is left alone: to write to it would wait for a reader.
    run_all([job], cache=cache)
    assert not entry.is_file()
