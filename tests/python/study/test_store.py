"""The folder of a study: what is kept of each point, who may write, and when."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from lanewise.errors import InputError
from lanewise.files import HALF
from lanewise.study import pool, study
from lanewise.study.running import run_study
from lanewise.study.store import ASKED, FINISHED, LOCK, TABLE, open_study, read_finished
from lanewise.study.study import load_study, make_study
from lanewise.study.worker import Outcome

if TYPE_CHECKING:
    from pathlib import Path

    from lanewise.study.points import Point

STAND_IN = """
import json, sys, time
from pathlib import Path
sys.stdin.readline()
for line in sys.stdin:
    number, _ = json.loads(line)
    while number == 1 and not Path({go!r}).exists():
        time.sleep(0.01)
    print(json.dumps(dict(number=number, status="done", row={{}})), flush=True)
"""


def test_points_have_the_parameters_with_which_they_were_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: Path
) -> None:
    folder = tmp_path / "study"
    asked = make_study(switch, over=["sw0.latency=100 ns..200 ns:10"], sample="random:2")
    ran = run_study(asked, folder, processes=1)
    assert json.loads((folder / ASKED).read_text())["samplers"].startswith("SciPy ")

    def other(*_: object) -> None:
        raise AssertionError("reading makes no sample")

    monkeypatch.setattr(study, "sampled", other)
    monkeypatch.setattr(study, "samplers", lambda: "SciPy 0.1 with NumPy 0.2")
    again = load_study(folder)
    assert again.is_complete
    assert again.table.equals(ran.table)
    assert again.table["sw0.latency"].n_unique() == 2
    with (
        pytest.raises(InputError, match="the libraries that choose points were"),
        open_study(folder, asked.asked()),
    ):
        pass


def test_a_line_without_its_parameters_is_run_again(tmp_path: Path, switch: Path) -> None:
    import zlib

    folder = tmp_path / "study"
    run_study(make_study(switch, over=["card0.link.force_width=x1"]), folder, processes=1)
    kept = json.loads((folder / FINISHED).read_bytes().partition(b" ")[2])
    assert kept.pop("overrides") == [["card0.link.force_width", "x1"]]
    content = json.dumps(kept).encode()
    (folder / FINISHED).write_bytes(b"%08x %s\n" % (zlib.crc32(content), content))
    assert read_finished(folder) == []


def test_a_finished_point_is_written_while_another_one_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: Path
) -> None:
    worker, go, folder = tmp_path / "worker.py", tmp_path / "go", tmp_path / "study"
    worker.write_text(STAND_IN.format(go=str(go)))
    started = subprocess.Popen
    monkeypatch.setattr(
        pool.subprocess, "Popen", lambda command, **given: started([sys.executable, str(worker)], **given)
    )
    asked = make_study(switch, over=["sw0.latency=1 ns,2 ns"])
    running = Thread(target=run_study, args=(asked, folder), kwargs={"processes": 1})
    running.start()
    try:
        # Without end where the point waits for the other one, which waits for this.
        while not (folder / FINISHED).exists() or not read_finished(folder):
            assert running.is_alive()
            time.sleep(0.01)
        assert [outcome.number for outcome in read_finished(folder)] == [0]
    finally:
        go.touch()
        running.join()
    assert [outcome.number for outcome in read_finished(folder)] == [0, 1]


def test_a_study_killed_while_it_began_begins_again(tmp_path: Path, switch: Path) -> None:
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / LOCK).touch()
    (folder / f"{HALF}00000000-1-00000000-{ASKED}~").write_text("{")
    assert run_study(make_study(switch, over=["sw0.latency=1 ns"]), folder, processes=1).is_complete


def test_one_process_at_a_time_works_on_a_study(tmp_path: Path, switch: Path) -> None:
    folder = tmp_path / "study"
    one, other = (make_study(switch, over=[f"sw0.latency={latency} ns"]) for latency in (1, 2))
    with open_study(folder, one.asked()) as journal:
        for asked in (one, other):
            with pytest.raises(InputError, match="another process works on the study"):
                run_study(asked, folder)
        journal.add([Outcome(0, "failed", {}, "x")])
    assert not (folder / TABLE).exists()
    with open_study(folder, one.asked()) as journal:
        assert list(journal.finished) == [0]


def test_an_error_of_the_run_is_not_blamed_on_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: Path
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise OSError(11, "no process can be started")

    monkeypatch.setattr(pool.subprocess, "Popen", refused)
    with pytest.raises(OSError, match="no process can be started"):
        run_study(make_study(switch, over=["sw0.latency=1 ns"]), tmp_path / "study")


def test_a_worker_that_has_died_may_be_written_to(monkeypatch: pytest.MonkeyPatch, switch: Path) -> None:
    started = subprocess.Popen
    gone = [sys.executable, "-c", "pass"]

    def dead(command: object, **given: object) -> subprocess.Popen[bytes]:
        process = started(gone, **given)  # type: ignore[call-overload]
        process.wait()
        # A closed pipe on Windows: no BrokenPipeError, but another OSError.
        process.stdin = _Gone(process.stdin)
        return process

    monkeypatch.setattr(pool.subprocess, "Popen", dead)
    result = run_study(make_study(switch, over=["sw0.latency=1 ns"]), processes=1)
    assert result.table["status"].to_list() == ["failed"]
    assert "died 3 times" in result.table["error"][0]


class _Gone:
    def __init__(self, file: object) -> None:
        self._file = file

    def write(self, _: bytes) -> int:
        raise OSError(22, "Invalid argument")

    def flush(self) -> None:
        raise OSError(22, "Invalid argument")

    def close(self) -> None:
        self._file.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"over": ["point=1,2"]}, "'point' is not a path"),
        (
            {"over": ["sw0.latency=1 ns"], "metrics": ["sum flows.payload_bytes"] * 2},
            "two columns of the study would be called 'sum flows.payload_bytes'",
        ),
        ({"over": [], "seeds": 2, "sample": "random:4"}, "between the ends of axes"),
    ],
)
def test_what_is_refused_before_anything_runs(
    tmp_path: Path, switch: Path, asked: dict[str, object], said: str
) -> None:
    with pytest.raises(InputError, match=said):
        run_study(make_study(switch, **asked), tmp_path / "study")  # type: ignore[arg-type]
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("seeds", [-1, 10_001, 10**12, [-1], [3, 3], list(range(10_001))])
def test_seeds_that_no_study_has(switch: Path, seeds: int | list[int]) -> None:
    with pytest.raises(InputError, match="seeds"):
        make_study(switch, over=["sw0.latency=1 ns"], seeds=seeds)


def test_large_numbers_have_columns(switch: Path) -> None:
    def column(*values: str) -> list[object]:
        asked = make_study(switch, over=[f"run.seed={','.join(values)}"])
        outcomes = [Outcome(point.number, "done", {}, None, 0.0, point.overrides) for point in asked.points]
        return study.StudyResult(asked, outcomes).table["run.seed"].to_list()

    assert column("1", "9223372036854775807") == [1, 9223372036854775807]
    assert column("1", "100000000000000000000") == [1.0, 1e20]
    assert column("1", "99999999999999999999") == ["1", "99999999999999999999"]


def test_an_interrupt_counts_what_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: Path
) -> None:
    from lanewise.cli.progress import runs_progress

    def points(left: list[object], *_: object) -> object:
        yield Outcome(0, "done", {})
        raise KeyboardInterrupt

    monkeypatch.setattr(pool, "run_points", points)
    asked = make_study(switch, over=["sw0.latency=1 ns,2 ns"])
    with (
        pytest.raises(
            KeyboardInterrupt, match=r"1 of 2 runs are finished and kept; the same command goes on"
        ),
        runs_progress("sweep", goes_on="the same command goes on from there") as progress,
    ):
        run_study(asked, tmp_path / "study", on_progress=progress)
    assert [outcome.number for outcome in read_finished(tmp_path / "study")] == [0]


def test_what_failed_is_run_again_and_the_last_line_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: Path
) -> None:
    """Of three points the first is done, the second cannot be built, and the third failed."""
    folder, asked = tmp_path / "study", make_study(switch, over=["sw0.latency=1 ns,2 ns,3 ns"])
    overrides = [point.overrides for point in asked.points]
    with open_study(folder, asked.asked()) as journal:
        journal.add([Outcome(0, "done", {"goodput_gb_per_s": 1.0}, overrides=overrides[0])])
        journal.add([Outcome(1, "refused", {}, "x", overrides=overrides[1])])
        journal.add([Outcome(2, "failed", {}, "out of memory", overrides=overrides[2])])
    ran: list[int] = []

    def points(left: list[Point], *_: object) -> object:
        for point in left:
            ran.append(point.number)
            yield Outcome(point.number, "done", {"goodput_gb_per_s": 3.0}, overrides=point.overrides)

    monkeypatch.setattr(pool, "run_points", points)
    seen: list[tuple[int, int]] = []
    result = run_study(asked, folder, on_progress=lambda *done: seen.append(done))
    assert (ran, seen) == ([2], [(2, 3), (3, 3)])
    for each in (result, load_study(folder)):
        assert each.table["status"].to_list() == ["done", "refused", "done"]
        assert each.table["goodput_gb_per_s"].to_list() == [1.0, None, 3.0]
    run_study(asked, folder)
    assert ran == [2], "nothing is left"


def test_values_of_a_mapping_are_taken_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: Path
) -> None:
    """No comma of them parts them, no dots make a range, and no word joins or restricts them."""
    import lanewise

    values = ["4096 B 60 %, 65536 B 40 %", "1..3", "1 & b.n=2", "1 if c.n=2", 7, [1, 2]]
    texts = [*values[:4], "7", "[1, 2]"]

    def points(left: list[Point], *_: object) -> object:
        return (Outcome(point.number, "done", {}, overrides=point.overrides) for point in left)

    monkeypatch.setattr(pool, "run_points", points)
    result = lanewise.sweep(switch, {"w.bs": values, "sw0.port0": ["gen4 x8"]}, out=tmp_path / "study")
    wanted = [(("w.bs", text), ("switch.sw0.ports.port0", "gen4 x8")) for text in texts]
    assert [outcome.overrides for outcome in result.outcomes] == wanted
    assert json.loads((tmp_path / "study" / ASKED).read_text())["axes"] == [
        {"paths": ["w.bs"], "rows": [[text] for text in texts]},
        {"paths": ["switch.sw0.ports.port0"], "rows": [["gen4 x8"]]},
    ]
    again = load_study(tmp_path / "study")
    assert (again.study, again.is_complete) == (result.study, True)
    assert again.table["w.bs"].to_list() == texts
    for wrong, said in (({"w.bs": []}, "'w.bs' has no values"), ({"bs": [1]}, "'bs' is not a path")):
        with pytest.raises(InputError, match=said):
            lanewise.sweep(switch, wrong)
