"""Finished runs on disk: found again when everything is the same, and never otherwise."""

from __future__ import annotations

import gzip
import os
import time
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


def test_a_run_is_kept_under_the_text_that_was_simulated(job: Job, core: FakeCore) -> None:
    answer = core.answer

    def while_the_file_changes(path: str, overrides: dict[str, str]) -> dict[str, object]:
        job.scenario.write_text("title = 'two'")
        return answer(path, overrides)

    core.answer = while_the_file_changes
    cache = RunCache.default()
    run_all([job], cache=cache)
    assert cache.find(job) is None, "nothing has simulated the second text"
    run_all([job], cache=cache)
    assert len(core.asked) == 2
    job.scenario.write_text("title = 'one'")
    found = cache.find(job)
    assert found is not None
    assert found.scenario_text == "title = 'one'"


def test_a_run_that_is_found_is_the_one_that_was_done(job: Job, core: FakeCore) -> None:
    cache = RunCache.default()
    done = run_all([job], cache=cache)[job]
    found = cache.find(job)
    assert found is not None
    assert found.overrides == done.overrides == (("server.mps", "128 B"),)
    assert found.scenario_text == done.scenario_text == "title = 'one'"
    assert found.made == done.made is not None


def test_what_nobody_asked_for_goes_first(job: Job, core: FakeCore, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = RunCache.default()
    jobs = [Job(job.scenario, (("run.seed", str(seed)),)) for seed in range(4)]
    run_all(jobs, cache=cache)
    entries = {each: cache._path(key_of(each, "title = 'one'")) for each in jobs}
    assert sorted(entries.values()) == sorted(cache.folder.iterdir())
    now = time.time()
    for ago, entry in enumerate(entries.values()):
        os.utime(entry, (now - 60 * ago, now - 60 * ago))
    os.utime(entries[jobs[0]], (now - 86_400 * module.UNUSED_DAYS - 60,) * 2)
    cache.find(jobs[3])
    monkeypatch.setattr(module, "MOST_BYTES", 2 * entries[jobs[1]].stat().st_size + 20)
    RunCache.default()
    assert [entry.exists() for entry in entries.values()] == [False, True, False, True]


def test_what_determines_a_result_is_in_the_key(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    before = key_of(job, "title = 'one'")
    assert key_of(Job(job.scenario, (("server.mps", "256 B"),)), "title = 'one'") != before
    assert key_of(Job(job.scenario), "title = 'one'") != before
    changed = key_of(job, "title = 'two'")
    assert changed != before
    monkeypatch.setattr(module, "core_hash", lambda: "another core")
    assert key_of(job, "title = 'two'") != changed


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
    "content",
    [
        *("[]", "null", "{}", "1", '{"a":' * 200_000, "[" * 200_000, '{"title": "x"}'),
        *('{"made": null, "results": {"title": "x"}}', '{"made": 1, "results": {}}'),
    ],
)
def test_an_entry_of_something_else_is_made_again(content: str, job: Job, core: FakeCore) -> None:
    cache = RunCache.default()
    run_all([job], cache=cache)
    (entry,) = cache.folder.glob("*.json.gz")
    data = content.encode()
    for forged in (data, module._digest(key_of(job, "title = 'one'"), data).encode() + b"\n" + data):
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


def test_a_part_in_a_file_is_in_the_key(job: Job) -> None:
    """A scenario that names a part in a file is another one when that file is."""
    text = '[host.server]\npart = "mine.toml"\n'
    without = key_of(job, text)
    with_one, with_two = (key_of(job, text, {"mine.toml": f"title = '{each}'"}) for each in ("one", "two"))
    assert len({without, with_one, with_two}) == 3
