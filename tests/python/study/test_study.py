"""Studies: what is kept of each point, and that nothing of it is lost."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl
import pyarrow.parquet as pq
import pytest

import lanewise
from lanewise import sweep
from lanewise.errors import InputError
from lanewise.study import pool
from lanewise.study.running import run_study
from lanewise.study.store import FINISHED, TABLE, read_finished
from lanewise.study.study import load_study, make_study
from lanewise.study.worker import Outcome, Work
from lanewise.written import DASH

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    from lanewise.documents import Explain

ROOT = Path(__file__).parents[3]
SWITCH = ROOT / "scenarios" / "switch.toml"
WIDTHS = "card0.link.force_width=x1,x2,x4"


def test_a_point_is_the_run_with_its_overrides(tmp_path: Path) -> None:
    result = lanewise.sweep(SWITCH, [WIDTHS], seeds=2, out=tmp_path / "study", processes=2)
    assert result.is_complete
    assert result.table["point"].to_list() == list(range(6))
    for row in result.table.iter_rows(named=True):
        alone = lanewise.run(
            SWITCH, overrides={"card0.link.force_width": row["card0.link.force_width"]}, seed=row["run.seed"]
        )
        assert row["fingerprint"] == alone.fingerprint
        assert row["goodput_gb_per_s"] == pytest.approx(alone.data_flows["goodput_gb_per_s"].sum(), rel=1e-12)
        limit = alone.document["limited_by"]
        assert limit is not None
        assert row["limited_by"] == limit["name"]


def test_results_are_the_same_with_any_number_of_processes() -> None:
    one = lanewise.sweep(SWITCH, [WIDTHS], processes=1).table
    assert one.equals(lanewise.sweep(SWITCH, [WIDTHS], processes=3).table)


def test_points_that_cannot_be_built_are_rows_with_their_error() -> None:
    result = lanewise.sweep(SWITCH, {"card0.link.force_width": ["x1", "x64"]})
    assert result.table["status"].to_list() == ["done", "refused"]
    assert "x64" in result.table["error"][1]
    assert result.table["goodput_gb_per_s"][1] is None


def test_any_number_of_a_run_can_be_kept() -> None:
    name = "max links.utilisation where link=card0, direction=downstream"
    result = lanewise.sweep(SWITCH, ["card0.link.force_width=x1"], metrics=[name])
    alone = lanewise.run(SWITCH, overrides={"card0.link.force_width": "x1"})
    used = alone.links.filter(link="card0", direction="downstream")["utilisation"].item()
    assert result.table[name].to_list() == [used]


@pytest.mark.parametrize(
    ("metric", "said"),
    [
        ("speed", "is no metric"),
        ("max speeds.x", "'max speeds.x': a run has no table 'speeds'; it has flows, links"),
        ("sum flows.speed", "table 'flows' has no column 'speed'; it has flow, device"),
        ("sum links.utilisation where name=sw0", "table 'links' has no column 'name'"),
        ("max links.link", "column 'link' of 'links' has no numbers; those that have are mps_bytes"),
    ],
)
def test_a_number_that_no_run_has_is_refused_before_one_is_run(metric: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        lanewise.sweep(SWITCH, [WIDTHS], metrics=[metric])


def test_a_number_that_a_run_does_not_have_costs_none_of_the_others() -> None:
    names = ["max links.utilisation where link=sw7", "max links.utilisation where link=sw0", "fio: IOPS"]
    result = lanewise.sweep(SWITCH, ["card0.link.force_width=x1"], metrics=names)
    (row,) = result.table.iter_rows(named=True)
    assert row["status"] == "done"
    assert row["goodput_gb_per_s"] > 1.0
    assert (row[names[0]], row[names[2]]) == (None, None)
    assert row[names[1]] > 0.1
    assert row["error"].startswith("no row of 'links' has a utilisation where link=sw7; the run has no ")


def test_tables_of_a_run_are_those_that_metrics_may_name() -> None:
    from lanewise.columns import RUN_TABLES

    tables = lanewise.run(SWITCH).tables
    assert {name: table.schema for name, table in tables.items()} == {
        name: pl.Schema(columns) for name, columns in RUN_TABLES.items()
    }


def test_a_row_is_the_same_of_a_part_of_the_document() -> None:
    from lanewise import _core
    from lanewise.study.measures import Measure, read_document, row_of

    lanes, used = (Measure.parse(text) for text in ("lanes", "max links.utilisation"))

    def explain() -> Explain:
        raise AssertionError("nothing asks for it")

    # A title with what the tables begin with: in a text its quotes are escaped.
    text = _core.run("x", (), None, SWITCH.read_text().replace("Two Gen3 x4", '\\",\\"links\\":[{} Two', 1))
    whole = json.loads(text)
    assert '","links":[' in whole["title"]
    part = read_document(text, [lanes])
    assert "links" not in part
    assert part == {key: whole[key] for key in part}
    assert row_of(part, (), explain) == row_of(whole, (), explain)
    assert row_of(part, (), explain)[1] is None
    assert read_document(text, [lanes, used]) == whole
    # In another order, or with such a table inside of another one, all of it is read.
    other = {"phases": [{"a": 1, "links": []}], **dict(reversed(whole.items()))}
    for document in (other, dict(reversed(whole.items()))):
        assert read_document(json.dumps(document, separators=(",", ":")), ()) == document


def test_the_table_on_disk_has_units(tmp_path: Path) -> None:
    lanewise.sweep(SWITCH, ["sw0.latency=100 ns,0.2 us"], out=tmp_path / "study")
    table = pl.read_parquet(tmp_path / "study" / TABLE)
    assert table["sw0.latency"].to_list() == [100, 200]
    schema = pq.read_schema(tmp_path / "study" / TABLE)
    assert schema.field("sw0.latency").metadata[b"unit"] == b"ns"
    assert schema.field("goodput_gb_per_s").metadata[b"unit"] == b"GB/s"


def test_metrics_on_disk_have_their_units(tmp_path: Path) -> None:
    units = {
        "max links.goodput_gb_per_s where link=sw0, direction=downstream": b"GB/s",
        "max links.mps_bytes where link=card0": b"B",
        "max links.utilisation": b"1",
        "sum flows.operations where flow=read0_ns": None,
        "lanes": b"lanes",
        "perftest: BW average (Gb/s)": b"Gb/s",
        "fio: iops": None,
    }
    lanewise.sweep(SWITCH, ["card0.link.force_width=x1"], metrics=list(units), out=tmp_path / "study")
    schema = pq.read_schema(tmp_path / "study" / TABLE)
    assert {name: (schema.field(name).metadata or {}).get(b"unit") for name in units} == units


def test_a_study_goes_on_where_it_was(tmp_path: Path) -> None:
    study = make_study(SWITCH, over=[WIDTHS])
    whole = run_study(study, tmp_path / "whole", processes=1)
    folder = tmp_path / "part"
    run_study(study, folder, processes=1)
    lines = (folder / FINISHED).read_bytes().splitlines(keepends=True)
    # A process that was killed while it wrote: one line is whole, the next is cut off.
    (folder / FINISHED).write_bytes(lines[0] + lines[1][: len(lines[1]) // 2])
    (folder / TABLE).unlink()
    assert [outcome.number for outcome in read_finished(folder)] == [0]
    assert not load_study(folder).is_complete
    heard: list[tuple[int, int]] = []
    again = run_study(study, folder, processes=1, on_progress=lambda done, total: heard.append((done, total)))
    assert heard[0] == (1, 3), "what was finished is not run again"
    assert again.table.equals(whole.table)
    assert (folder / TABLE).read_bytes() == (tmp_path / "whole" / TABLE).read_bytes()
    assert {outcome.number for outcome in read_finished(folder)} == {0, 1, 2}


@pytest.mark.parametrize("position", [0, 9, 10, 40, -3])
def test_a_damaged_line_is_run_again(tmp_path: Path, position: int) -> None:
    study = make_study(SWITCH, over=["card0.link.force_width=x1"])
    run_study(study, tmp_path / "study", processes=1)
    file = tmp_path / "study" / FINISHED
    data = bytearray(file.read_bytes())
    data[position] ^= 1
    file.write_bytes(data)
    assert read_finished(tmp_path / "study") == []


def test_another_question_is_refused_with_the_difference(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    run_study(make_study(SWITCH, over=["card0.link.force_width=x1"]), folder)
    before = (folder / FINISHED).read_bytes()
    with pytest.raises(InputError, match=r"the axes were .*x1.*, and are .*x2"):
        run_study(make_study(SWITCH, over=["card0.link.force_width=x2"]), folder)
    changed = SWITCH.read_text() + "# a word more\n"
    other = tmp_path / "switch.toml"
    other.write_text(changed)
    study = make_study(SWITCH, over=["card0.link.force_width=x1"])
    with pytest.raises(InputError, match=r"the scenario has changed:\n(?s:.*)\n  \+# a word more\Z"):
        run_study(make_study(other, over=["card0.link.force_width=x1"]), folder)
    assert (folder / FINISHED).read_bytes() == before
    run_study(study, folder)


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(InputError, match="is no study"):
        run_study(make_study(SWITCH, over=[WIDTHS]), tmp_path)
    with pytest.raises(InputError, match="is no study"):
        load_study(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_a_killed_study_loses_no_finished_point(tmp_path: Path) -> None:
    """Of so many points that most are left when it is killed, however fast the machine is."""
    folder = tmp_path / "study"
    axis = "sw0.latency=100 ns..40100 ns:1 ns"
    arguments = ["sweep", str(SWITCH), "--over", axis, "--out", str(folder)]
    command = [sys.executable, "-c", "from lanewise.cli import main; main()", *arguments, "--processes", "2"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
        while not (folder / FINISHED).exists() or not (folder / FINISHED).stat().st_size:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    kept = {outcome.number: outcome for outcome in read_finished(folder)}
    assert 0 < len(kept) < 40_001
    assert not (folder / TABLE).exists()
    assert {outcome.number for outcome in load_study(folder).outcomes} == set(kept)

    heard: list[int] = []

    def stop_soon(done: int, _: int) -> None:
        heard.append(done)
        if done >= len(kept) + 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(make_study(SWITCH, over=[axis]), folder, processes=2, on_progress=stop_soon)
    assert heard[0] == len(kept), "what was finished is not run again"
    after = read_finished(folder)
    assert len({outcome.number for outcome in after}) == len(after) >= len(kept) + 8
    assert after[: len(kept)] == list(kept.values())
    # On either side of the kill a point is what it is alone.
    for outcome in (*after[:2], *after[len(kept) - 1 : len(kept) + 8]):
        assert outcome.overrides == (("sw0.latency", f"{100 + outcome.number} ns"),)
        alone = lanewise.run(SWITCH, overrides=dict(outcome.overrides))
        assert outcome.row["fingerprint"] == alone.fingerprint


def test_a_point_whose_process_dies_is_tried_three_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stand-in for a worker: it dies at point 1, always, and at point 2 the first time."""
    worker = tmp_path / "worker.py"
    worker.write_text(
        f"""
import json, os, sys
from pathlib import Path
sys.stdin.readline()
for line in sys.stdin:
    number, _ = json.loads(line)
    with open({str(tmp_path / "tries")!r}, "a") as tries:
        tries.write(f"{{number}}\\n")
    first = Path({str(tmp_path)!r}, "died")
    if number == 1 or (number == 2 and not first.exists()):
        if number == 2:
            first.touch()
        os.kill(os.getpid(), 9)
    row = dict(number=number, status="done", row={{}}, error=None, wall_s=0.0)
    print(json.dumps(row), flush=True)
"""
    )
    started = subprocess.Popen
    monkeypatch.setattr(
        pool.subprocess, "Popen", lambda command, **given: started([sys.executable, str(worker)], **given)
    )
    points = make_study(SWITCH, over=["sw0.latency=1 ns..5 ns:1 ns"]).points
    outcomes = {each.number: each for each in pool.run_points(points, Work("x", "", ()), 2)}
    assert sorted(outcomes) == [0, 1, 2, 3, 4]
    assert [outcomes[number].status for number in range(5)] == ["done", "failed", "done", "done", "done"]
    assert outcomes[1] == Outcome(
        1,
        "failed",
        {},
        "its process died 3 times, the last time with signal 9",
        overrides=(("sw0.latency", "2 ns"),),
    )
    tries = (tmp_path / "tries").read_text().split()
    assert tries.count("1") == 3
    assert tries.count("2") == 2
    assert {number: tries.count(number) for number in "034"} == {"0": 1, "3": 1, "4": 1}


def test_the_knee_is_where_another_thing_limits() -> None:
    from lanewise.study.knees import knees

    result = lanewise.sweep(ROOT / "scenarios" / "enclosure.toml", ["drive.count=7..9"], processes=2)
    (knee,) = knees(result)
    assert (knee.path, knee.before, knee.after) == ("drive.count", 8, 9)
    assert (knee.limit_before, knee.limit_after) == ("drive[*].upstream", "enclosure.upstream")


def test_the_verb(lanewise: Callable[..., Result], tmp_path: Path) -> None:
    folder = tmp_path / "study"
    done = lanewise("sweep", SWITCH, "--over", WIDTHS, "--out", folder)
    assert done.exit_code == 0, done.stderr
    assert re.search(r"^x2\s+5\.\d+", done.stdout, re.M), done.stdout
    shown = lanewise("study", "show", folder, "--json")
    assert [point["status"] for point in json.loads(shown.stdout)["points"]] == ["done"] * 3
    asked = lanewise("study", "query", folder, "select max(point) as last from points", "--json")
    assert json.loads(asked.stdout)["rows"] == [[2]]
    wrong = lanewise("study", "query", folder, "select nothing from points")
    assert wrong.exit_code == 2
    assert "the query is refused" in wrong.stderr


def test_points_with_an_error_are_told_below_the_table(lanewise: Callable[..., Result]) -> None:
    axes = ["--over", "card0.link.force_width=x1,x64,x3", "--over", "sw0.latency=100 ns,0.2 us"]
    done = lanewise("sweep", SWITCH, *axes, "--metric", "max links.utilisation where link=sw7")
    assert done.exit_code == 0, done.stderr
    assert re.search(rf"^x64 +100 +{DASH} +{DASH} +{DASH} +refused *$", done.stdout, re.M), done.stdout
    assert (
        "\nrefused, 2 points, the first at card0.link.force_width=x64, sw0.latency=100 ns: "
        "error[impossible-width]: " in done.stdout
    )
    assert (
        "\nwithout a metric, 2 points, the first at card0.link.force_width=x1, sw0.latency=100 ns: no row"
        in done.stdout
    )


def test_a_study_without_a_point_that_can_be_run_is_a_finding(lanewise: Callable[..., Result]) -> None:
    done = lanewise("sweep", SWITCH, "--over", "card0.link.force_with=x1,x2")
    assert done.exit_code == 1
    assert "refused, 2 points, the first at card0.link.force_with=x1: error" in done.stdout
    assert "unknown key `force_with` in `card0.link`; did you mean `force_width`?\n" in done.stdout


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("sample = 5", "'sample' is a text"),
        ("seeds = true", "'seeds' is how many, or a list of whole numbers"),
        ("seeds = [true]", "'seeds' is how many, or a list of whole numbers"),
        ("trials = true", "'trials' is a whole number"),
    ],
)
def test_a_study_file_says_what_it_takes(
    lanewise: Callable[..., Result], tmp_path: Path, line: str, words: str
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(f'scenario = "{SWITCH}"\nover = ["card0.link.force_width=x1"]\n{line}\n')
    said = lanewise("sweep", file)
    assert said.exit_code == 2
    assert words in said.stderr


def test_a_study_file_says_all_of_it(lanewise: Callable[..., Result], tmp_path: Path) -> None:
    file = tmp_path / "study.toml"
    file.write_text(f'scenario = "{SWITCH}"\nover = ["card0.link.force_width=x1"]\nseeds = [3]\n')
    done = lanewise("sweep", file, "--json")
    assert done.exit_code == 0, done.stderr
    (point,) = json.loads(done.stdout)["points"]
    assert (point["card0.link.force_width"], point["run.seed"]) == ("x1", 3)
    assert sweep(file).table.to_dicts() == [point]
    with pytest.raises(InputError, match="is a study file, which says all of it"):
        sweep(str(file), seeds=2)
    for seeds in ("2", "0"):
        assert lanewise("sweep", file, "--seeds", seeds).exit_code == 2
    with pytest.raises(InputError, match="is a study file, which says all of it"):
        sweep(file, seeds=0)
    file.write_text(f'scenario = "{SWITCH}"\nover = ["card0.link.force_width=x1"]\nsteps = 3\n')
    wrong = lanewise("sweep", file)
    assert wrong.exit_code == 2
    assert "unknown key 'steps'" in wrong.stderr


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sample = 5", "'sample' is a text"),
        ("seeds = true", "'seeds' is how many, or a list of whole numbers"),
        ('seeds = ["1"]', "'seeds' is how many, or a list of whole numbers"),
        ("seeds = [1, 1]", "seeds are different whole numbers"),
        ('metrics = "lanes"', "'metrics' is a list of texts"),
        ("trials = true", "'trials' is a whole number"),
        ('set = ["run.seed=1"]', "'set' is a table of paths and values"),
        ("trials = 5", "a search needs a goal"),
        ("over = [", "syntax-error"),
    ],
)
def test_what_is_wrong_in_a_study_file(tmp_path: Path, line: str, said: str) -> None:
    file = tmp_path / "study.toml"
    axes = "" if line.startswith("over") else 'over = ["card0.link.force_width=x1"]\n'
    file.write_text(f'scenario = "{SWITCH}"\n{axes}{line}\n')
    with pytest.raises(InputError, match=re.escape(said)):
        sweep(file)


def test_a_sweep_over_nothing_is_refused(lanewise: Callable[..., Result]) -> None:
    wrong = lanewise("sweep", SWITCH)
    assert wrong.exit_code == 2
    assert "a study varies something" in wrong.stderr


def test_the_report_says_where_the_limit_changes_and_draws_it(
    lanewise: Callable[..., Result], tmp_path: Path
) -> None:
    scenario = ROOT / "scenarios" / "enclosure.toml"
    folder, page, text = tmp_path / "study", tmp_path / "study.html", tmp_path / "study.md"
    axes = ["--over", "drive.count=7..9", "--over", "enclosure.port0=gen4 x8,gen4 x16,gen4 x3"]
    assert lanewise("sweep", scenario, *axes, "--seeds", "2", "--out", folder).exit_code == 0
    for file in (page, text):
        assert lanewise("report", folder, "--out", file).exit_code == 0
    html = page.read_text()
    assert html.count("<svg") == 3, "lines of goodput and of the 99th percentile, and what moves most"
    assert "drive.count 9: limited by enclosure.upstream, before by drive[*].upstream" in html
    said = text.read_text()
    assert r"drive.count from 8 to 9: enclosure.upstream limits in place of drive\[\*\].upstream" in said
    assert "Points that cannot be built, or failed" in said
    assert re.search(
        r"\| switch.enclosure.ports.port0 \| 14\.3\d+ \| gen4 x8 \| 2[5-9]\.\d+ \| gen4 x16 \|", said
    )


def test_means_over_seeds_have_students_interval() -> None:
    from lanewise.study.summary import Spot, effects, front, spots

    study = make_study(SWITCH, over=["card0.link.force_width=x1"], seeds=3)
    rows = [
        Outcome(number, "done", {"goodput_gb_per_s": value}) for number, value in enumerate((1.0, 2.0, 6.0))
    ]
    from lanewise.study.study import StudyResult

    (spot,) = spots(StudyResult(study, rows), "goodput_gb_per_s")
    assert (spot.value, spot.runs) == (3.0, 3)
    # Standard deviation 2.6458, over the root of three, times 4.303.
    assert spot.half_width == pytest.approx(6.573, abs=1e-3)
    twenty = make_study(SWITCH, over=["card0.link.force_width=x1"], seeds=20)
    rows = [Outcome(number, "done", {"goodput_gb_per_s": number % 2}) for number in range(20)]
    (spot,) = spots(StudyResult(twenty, rows), "goodput_gb_per_s")
    # Standard deviation 0.51299, over the root of twenty, times 2.0930 (19 degrees of freedom).
    assert spot.half_width == pytest.approx(0.24009, abs=1e-5)
    found = [Spot({"a": a, "b": b}, a * 10.0 + b, None, None, 1) for a in (1, 2) for b in (1, 2, 3)]
    assert [(effect.path, effect.span) for effect in effects(found, ["b", "a"])] == [("a", 10.0), ("b", 2.0)]
    assert front([(1.0, 1.0), (3.0, 5.0), (2.0, 2.0), (2.0, 4.0), (3.0, 6.0)]) == [1, 2, 0]


def test_other_axes_are_looked_up_once_for_each_parameter() -> None:
    from lanewise.study.summary import Spot, effects

    found = [Spot({"a": a, "b": b}, a * 10.0 + b, None, None, 1) for a in (1, 2) for b in (1, 2, 3)]
    asked = []

    def apart(path: str) -> list[str]:
        asked.append(path)
        return ["b" if path == "a" else "a"]

    assert [effect.path for effect in effects(found, ["b", "a"], apart=apart)] == ["a", "b"]
    assert asked == ["b", "a"]


def test_a_part_in_a_file_is_asked_for(tmp_path: Path) -> None:
    """A study goes on only with the parts it was begun with, whether the scenario or an axis names them."""
    rig, part = tmp_path / "rig.toml", tmp_path / "mine.toml"
    text = (ROOT / "scenarios" / "first_rig.toml").read_text(encoding="utf-8")
    host = re.search(r"^\[endpoint\.(\w+)\]\n", text, re.MULTILINE)
    assert host is not None
    rig.write_text(text, encoding="utf-8")
    own = (
        'title = "Mine"\nkind = "endpoint"\n[parameters]\n'
        'tags = {{ value = {}, provenance = "assumed", source = "s" }}\n'
    )
    asked = []
    for tags in (8, 16):
        part.write_text(own.format(tags), encoding="utf-8")
        asked.append(make_study(rig, over=[f"{host[1]}.part=mine.toml"]).asked())
    assert asked[0]["own_parts"] == {"mine.toml": own.format(8)}
    assert asked[0] != asked[1]
    assert "own_parts" not in make_study(rig, over=[f"{host[1]}.tags=8,16"]).asked()
