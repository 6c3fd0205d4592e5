"""Searches: what they are after, which trials they choose, and that nothing but the seed decides it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from searches import AXES, StandIn, chosen, hill, searched, two_ways

import lanewise
from lanewise.errors import InputError
from lanewise.study import searching
from lanewise.study.axes import parse_axis
from lanewise.study.goals import NOT_DONE, Limit, Number, parse_limits
from lanewise.study.search import Search
from lanewise.study.store import FINISHED, open_study, read_finished
from lanewise.study.study import Study, StudyResult, load_study, make_study
from lanewise.study.trials import best_of, history, trials_of
from lanewise.study.worker import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from click.testing import Result


ROOT = Path(__file__).parents[3]


def test_a_search_finds_more_than_as_many_points_at_random() -> None:
    result = searched(Search(("goodput",), trials=80))
    (best,) = result.best
    values = sorted(
        (
            hill({"a.n": str(a), "b.n": str(b), "c.n": c})["goodput_gb_per_s"]
            for a, b, c in product(range(1, 41), range(1, 41), "xyz")
        ),
        reverse=True,
    )
    # The best of 80 points at random is one of the 4800 / 80 = 60 best ones on average.
    assert best.values[0] is not None
    assert best.values[0] > values[20]
    assert len({tuple(each.items()) for each in chosen(result)}) == 80, "no point is tried twice"


def test_the_order_in_which_runs_finish_does_not_matter_and_the_seed_does() -> None:
    one = searched(Search(("goodput",), trials=40))
    assert chosen(one) == chosen(searched(Search(("goodput",), trials=40), turn=-1))
    assert chosen(one) != chosen(searched(Search(("goodput",), trials=40, seed=1)))
    assert chosen(one) != chosen(searched(Search(("goodput",), trials=40, batch=1)))


def test_hashes_of_texts_do_not_matter() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import searches as t; "
        "from lanewise.study.search import Search; search = Search(('goodput',), ('operations',), "
        "trials=24); print(t.chosen(t.searched(search, t.two_ways)))"
    )
    said = {
        subprocess.run(
            [sys.executable, "-c", code, str(Path(__file__).parent)],
            env={"PYTHONHASHSEED": seed, "PATH": ""},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(said) == 1


def test_several_goals_have_a_front() -> None:
    result = searched(Search(("goodput",), ("operations",), trials=60), two_ways, AXES[:2])
    found = [trial.values for trial in result.best]
    assert found == sorted(found, key=lambda each: -each[0])
    every = [trial.values for trial in result.trials]
    assert [one for one in every if one in found] != []
    for one in every:
        beaten = any(other[0] >= one[0] and other[1] <= one[1] and other != one for other in every)
        assert (one in found) is not beaten
    rows = result.table.filter(result.table["is_best"])["trial"].to_list()
    assert sorted(rows) == sorted(trial.number for trial in result.best)


def test_a_search_does_not_choose_its_seed(switch: Path) -> None:
    with pytest.raises(InputError, match="whose best trial would be the luckiest: use --seeds 3"):
        make_study(switch, over=["sw0.latency=100 ns,200 ns", "run.seed=1..9"], search=Search(("goodput",)))


def test_limits_are_kept_by_the_best() -> None:
    def with_lanes(values: Mapping[str, str]) -> Mapping[str, float]:
        return {**hill(values), "lanes": 4.0 * int(values["a.n"])}

    result = searched(Search(("goodput",), (), ("lanes<=64",), trials=60), with_lanes)
    (best,) = result.best
    assert int(best.parameters["a.n"]) <= 16
    assert best.values[0] is not None
    assert best.values[0] >= 80
    feasible = result.table["is_feasible"].to_list()
    assert feasible == [row["lanes"] <= 64 for row in result.table.iter_rows(named=True)]
    assert sum(feasible[30:]) > sum(feasible[:30]), "the search learns where the limit is"


def test_points_that_cannot_be_built_are_never_the_best_and_get_fewer() -> None:
    def partly(values: Mapping[str, str]) -> Mapping[str, float] | None:
        return None if values["c.n"] == "y" else hill(values)

    result = searched(Search(("goodput",), trials=64), partly)
    (best,) = result.best
    assert best.parameters["c.n"] != "y"
    refused = [trial.parameters["c.n"] == "y" for trial in result.trials]
    assert sum(refused[32:]) < sum(refused[:32])


def test_a_search_of_all_points_tries_each_once() -> None:
    axes = ("a.n=1..3", "c.n=x,y", "b.n=1..5 if c.n=y")
    result = searched(Search(("goodput",), trials=1000), lambda _: {"goodput_gb_per_s": 1.0}, axes)
    assert len(result.trials) == 3 + 3 * 5
    assert {tuple(each.items()) for each in chosen(result)} == {
        *((("a.n", str(a)), ("c.n", "x")) for a in (1, 2, 3)),
        *((("a.n", str(a)), ("c.n", "y"), ("b.n", str(b))) for a in (1, 2, 3) for b in range(1, 6)),
    }
    assert len(result.best) == 18, "all are alike"


def test_a_trial_is_its_mean_over_the_seeds() -> None:
    def noisy(values: Mapping[str, str]) -> Mapping[str, float]:
        return {"goodput_gb_per_s": int(values["a.n"]) + (0.5 if values["run.seed"] == "7" else -0.25)}

    result = searched(Search(("goodput",), trials=6), noisy, ("a.n=1..6",), seeds=(7, 8))
    assert sorted(trial.values for trial in result.trials) == [(n + 0.125,) for n in range(1, 7)]
    assert result.study.size == len(result.outcomes) == 12
    assert [row["run.seed"] for row in result.table.iter_rows(named=True)] == [7, 8] * 6


@pytest.mark.parametrize("stops", [1, 9, 20])
def test_a_search_goes_on_as_if_it_had_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stops: int
) -> None:
    """Killed with some runs of a batch finished, and others not."""
    asked = Study("made", "", AXES, search=Search(("goodput",), ("operations",), trials=24, batch=5))
    both = lambda values: {**hill(values), **{"operations_per_s": float(values["a.n"])}}  # noqa: E731
    whole = searching.run_search(asked, StandIn(both), {}, None, None)
    with open_study(tmp_path / "study", asked.asked()) as journal:

        def keep(outcomes: Sequence[Outcome]) -> None:
            journal.add(outcomes)
            if len(journal.finished) == stops:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            searching.run_search(asked, StandIn(both), {}, keep, None)
    before = {outcome.number: outcome for outcome in read_finished(tmp_path / "study")}
    assert len(before) == stops
    shown = load_study(tmp_path / "study")
    assert not shown.is_complete
    assert shown.study == asked
    again = StandIn(both, turn=-1)
    assert searching.run_search(asked, again, before, None, None) == whole
    assert sorted(again.ran) == sorted(set(range(24)) - set(before)), "what was finished is not run again"
    ended = StandIn(both)
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert searching.run_search(asked, ended, whole, None, None) == whole, "nothing is left to choose"
    assert ended.ran == []


def test_a_run_that_failed_is_done_again_unless_later_trials_rest_on_it() -> None:
    asked = Study("made", "", AXES, search=Search(("goodput",), trials=32, batch=4))
    whole = searching.run_search(asked, StandIn(hill), {}, None, None)

    def failed(*numbers: int) -> dict[int, Outcome]:
        return {each: Outcome(each, "failed", {}, "x", overrides=whole[each].overrides) for each in numbers}

    said: list[str] = []
    again = StandIn(hill)
    found = searching.run_search(asked, again, {**whole, **failed(29, 31)}, None, None, said.append)
    assert (found, sorted(again.ran), said) == (whole, [29, 31], [])

    # A failure that the second batch has seen: replayed, it gives the same second batch, and no error.
    class FailsOnce(StandIn):
        def take(self, timeout_s: float | None = None) -> list[Outcome]:
            return [failed(2)[2] if one.number == 2 else one for one in super().take(timeout_s)]

    seen = searching.run_search(asked, FailsOnce(hill), {}, None, None)
    assert seen[2].status == "failed"
    assert [seen[each].overrides for each in range(32)] != [whole[each].overrides for each in range(32)]
    half = {number: outcome for number, outcome in seen.items() if number < 6}
    again = StandIn(hill)
    assert searching.run_search(asked, again, half, None, None, said.append) == seen
    assert sorted(again.ran) == list(range(6, 32))
    (note,) = said
    assert note.startswith("1 run that failed is not done again")


def test_outcomes_of_other_points_are_refused() -> None:
    asked = Study("made", "", AXES, search=Search(("goodput",), trials=8))
    found = searching.run_search(asked, StandIn(hill), {}, None, None)
    moved = {0: Outcome(0, "done", {}, overrides=found[1].overrides)}
    with pytest.raises(InputError, match="point 0 of the search was a different one"):
        searching.run_search(asked, StandIn(hill), moved, None, None)


@pytest.mark.parametrize(
    ("text", "value", "missed"),
    [
        ("lanes<=96", 96.0, 0.0),
        ("lanes < 96", 96.0, 1e-12),
        ("lanes<=96", 120.0, 0.25),
        ("lanes>=96", 48.0, 0.5),
        ("lanes>96", 97.0, 0.0),
        ("p99<200 us", 250.0e3, 0.25),
        ("p99_us<200", 250.0e3, 0.25),
        ("p99_ms<0.2", 250.0e3, 0.25),
        ("latency_ns_p99<2e5", 250.0e3, 0.25),
        ("goodput>=0 GB/s", -1.0, 1.0),
        ("lanes<=96", None, NOT_DONE),
    ],
)
def test_limits(text: str, value: float | None, missed: float) -> None:
    (limit,) = parse_limits([text])
    row = {} if value is None else {limit.number.column: value}
    found = limit.missed_by(limit.number.of([Outcome(0, "done", row)]))
    assert found == pytest.approx(missed, rel=1e-9, abs=0.0)


def test_several_limits_stand_in_one_text() -> None:
    metric = "max links.utilisation where link=sw0, direction=upstream"
    limits = parse_limits([f"lanes<=96, {metric} <= 0.9,p99_us<200", "operations>=1e6"])
    assert [limit.number.text for limit in limits] == ["lanes", metric, "p99_us", "operations"]
    assert [limit.bound for limit in limits] == [96, 0.9, 200, 1e6]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("lanes", "is not a limit"),
        ("lanes=96", "is not a limit"),
        ("<=96", "is not a limit"),
        ("lanes<=many", "a bound is a number"),
        ("lanes<=9 ns", "lanes is in lanes; found 'ns'"),
        ("p99_us<200 B", "p99_us is in us; found 'B'"),
        ("speed<=9", "is no metric.*short words are goodput"),
        ("lanes<=1<2", "is not a limit"),
    ],
)
def test_what_is_no_limit(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_limits([text])


@pytest.mark.parametrize(
    ("search", "axes", "said"),
    [
        (Search(subject_to=("lanes<=96",)), AXES, "a search needs a goal"),
        (Search(("goodput",), ("goodput_gb_per_s",)), AXES, "two goals are the same number"),
        (Search(("goodput",)), (), "a search chooses among the values of axes"),
        (Search(("goodput",), trials=0), AXES, "trials of a search: from 1 to"),
        (Search(("goodput",), batch=0), AXES, "batch of a search: from 1 to"),
        (Search(("goodput",)), ("a.n=1,1",), "'a.n' has 1 twice.*leave one of them out"),
        (Search(("goodput",)), ("a.n=100 ns,0.1 us",), "'a.n' has 0.1 us twice"),
        (Search(("fast",)), AXES, "short words are"),
    ],
)
def test_what_is_no_search(search: Search, axes: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        search.check([parse_axis(axis) for axis in axes])


def test_a_search_has_no_sample(switch: Path) -> None:
    with pytest.raises(InputError, match="leave out the sample"):
        make_study(switch, over=["sw0.latency=1 ns,2 ns"], sample="lhs:4", search=Search(("goodput",)))


def test_without_optuna_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch, switch: Path) -> None:
    from lanewise import extras

    monkeypatch.setattr(extras, "_is_installed", lambda requirement: not requirement.startswith("optuna"))
    with pytest.raises(
        InputError, match=r"a search needs optuna \(extra 'search'\).*\n  pip install 'optuna"
    ):
        lanewise.search(switch, ["sw0.latency=1 ns,2 ns"], maximize="goodput")


def test_runs_of_a_search_after_percentiles_go_on_until_they_are_known(
    lanewise: Callable[..., Result], tmp_path: Path
) -> None:
    """An enclosure's throughput is known long before its percentiles are."""
    enclosure = ROOT / "scenarios" / "enclosure.toml"
    arguments = ["--over", "drive.count=8,9,12,24", "--maximize", "goodput"]
    limits = ["--subject-to", "lanes<=96, p99_us<2000"]
    done = lanewise("sweep", enclosure, *arguments, *limits, "--trials", "4", "--out", tmp_path / "study")
    assert done.exit_code == 0, done.stderr
    assert "runs go on until their 99th percentiles are known" in done.stderr
    assert "without p99_us" not in done.stdout
    found = load_study(tmp_path / "study")
    assert found.table["latency_ns_p99"].null_count() == 0
    assert found.best
    # What a scenario or an option says about that holds, and then it is told what is lacking.
    short = ["--set", "run.until=throughput", "--set", "run.time_limit=400 us"]
    done = lanewise("sweep", enclosure, *arguments, *limits, "--trials", "4", *short)
    assert "go on until" not in done.stderr
    assert re.search(r"; 4 without p99_us", done.stdout), done.stdout
    asked = make_study(enclosure, over=["run.until=throughput"], search=Search(("goodput",), ("p99_us",)))
    assert asked.overrides == ()
    assert make_study(enclosure, over=["drive.count=1"], search=Search(("goodput",))).overrides == ()


def test_the_history_of_the_best_is_of_trials_that_keep_limits() -> None:
    search = Search(("goodput",), (), ("lanes<=2",), trials=5)
    rows = [(1.0, 1), (9.0, 3), (0.5, 1), (2.0, 2)]
    outcomes = [
        Outcome(
            number,
            "done",
            {"goodput_gb_per_s": value, "lanes": float(lanes)},
            overrides=(("a.n", str(number)),),
        )
        for number, (value, lanes) in enumerate(rows)
    ]
    trials = trials_of(StudyResult(Study("made", "", ("a.n=0..4",), search=search), outcomes))
    assert history(trials, search.goals[0]) == [(0, 1.0), (3, 2.0)]
    assert [trial.number for trial in best_of(trials, search.goals)] == [3]


@pytest.mark.parametrize("first", [3, 10, 13])
def test_more_trials_go_on_with_those_that_are_there(first: int) -> None:
    """Also where the last batch was not whole: a trial is chosen after those before it in its batch."""
    fewer, more = (
        Study("made", "", AXES, search=Search(("goodput",), trials=trials, batch=5)) for trials in (first, 24)
    )
    before = searching.run_search(fewer, StandIn(hill), {}, None, None)
    again = StandIn(hill)
    found = searching.run_search(more, again, before, None, None)
    assert found == searching.run_search(more, StandIn(hill), {}, None, None)
    assert sorted(again.ran) == list(range(first, 24))


def test_the_verb(lanewise: Callable[..., Result], tmp_path: Path, switch: Path) -> None:
    folder = tmp_path / "study"
    axes = ("--over", "card0.link.force_width=x1,x2,x4,x64", "--over", "sw0.latency=100 ns..400 ns:100 ns")
    goals = ("--maximize", "goodput", "--minimize", "mean_us", "--subject-to", "lanes<=40", "--trials", "9")
    done = lanewise("sweep", switch, *axes, *goals, "--out", folder, "--json")
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    assert [goal["number"] for goal in document["search"]["goals"]] == ["goodput", "mean_us"]
    assert document["search"]["trials"] == len(document["points"]) == 9
    assert all(point["lanes"] == 40 for point in document["points"] if point["status"] == "done")
    lines = (folder / FINISHED).read_bytes()
    assert lanewise("sweep", switch, *axes, *goals, "--out", folder, "--json").stdout == done.stdout
    assert (folder / FINISHED).read_bytes() == lines, "nothing is run again"
    shown = lanewise("study", "show", folder)
    assert "The Pareto front has" in shown.stdout
    asked = lanewise("study", "query", folder, "select count(*) as n from points where is_best", "--json")
    assert json.loads(asked.stdout)["rows"] == [[len(document["search"]["best"])]]
    other = lanewise("sweep", switch, *axes, *goals, "--search-seed", "1", "--out", folder)
    assert other.exit_code == 2
    assert "(for a new study, name another folder): of the search, 'seed' was 0 and is 1" in other.stderr
    less = lanewise("sweep", switch, *axes, *goals[:-1], "8", "--out", folder)
    assert "(for a new study, name another folder): of the search, 'trials' was 9 and is 8" in less.stderr
    more = lanewise("sweep", switch, *axes, *goals[:-1], "11", "--out", folder, "--json")
    assert more.exit_code == 0, more.stderr
    assert (folder / FINISHED).read_bytes().startswith(lines), "what was run is there"
    anew = lanewise("sweep", switch, *axes, *goals[:-1], "11", "--json")
    assert json.loads(more.stdout)["points"] == json.loads(anew.stdout)["points"]
    assert load_study(folder).study.size == 11


def test_a_search_in_which_nothing_can_be_run_says_why(lanewise: Callable[..., Result], switch: Path) -> None:
    axes = ("--over", "card0.mrrs=3 B,5 B", "--over", "sw0.latency=100 ns,200 ns")
    done = lanewise("sweep", switch, *axes, "--maximize", "goodput", "--trials", "4")
    assert "None of 4 trials has what is asked for; 4 cannot be built or failed." in done.stdout
    assert "Why 2 runs of 4 came to nothing, and 1 other reason:" in done.stdout
    assert "error[unknown-choice]: `card0.mrrs` is `" in done.stdout


def test_a_study_file_may_be_a_search(lanewise: Callable[..., Result], tmp_path: Path, switch: Path) -> None:
    file = tmp_path / "study.toml"
    text = f"""
scenario = "{switch}"
over = ["card0.link.force_width=x1,x2,x4"]
maximize = ["goodput"]
subject_to = ["card1.p99 < 1 s"]
trials = 3
"""
    file.write_text(text)
    wrong = lanewise("sweep", file)
    assert wrong.exit_code == 2
    assert "is no metric" in wrong.stderr
    file.write_text(text.replace("card1.p99", "p99"))
    done = lanewise("sweep", file, "--json")
    assert done.exit_code == 0, done.stderr
    (best,) = json.loads(done.stdout)["search"]["best"]
    assert best["parameters"] == {"card0.link.force_width": "x4"}
    assert lanewise("sweep", file, "--trials", "2").exit_code == 2


def test_lanes_are_those_of_ports_in_use() -> None:
    scenario = ROOT / "scenarios" / "enclosure.toml"
    axis = "drive.count=4,6 & switch.enclosure.ports.port0=gen4 x16,gen4 x8"
    metrics = ["lanes", "host_lanes", "switch_lanes"]
    found = lanewise.sweep(scenario, [axis], metrics=metrics, overrides={"run.time_limit": "200 us"}).table
    # The slot of 16 lanes, the switch's upstream port, and two lanes for each drive, which has four itself.
    assert found.select(metrics).rows() == [(40.0, 16.0, 24.0), (36.0, 16.0, 20.0)]


def test_a_number_is_read_in_its_unit() -> None:
    number = Number.parse("p99_us")
    assert (number.column, number.measure) == ("latency_ns_p99", None)
    runs = [Outcome(0, "done", {"latency_ns_p99": 1000.0}), Outcome(1, "done", {"latency_ns_p99": 3000.0})]
    assert number.of(runs) == 2.0
    assert number.of([*runs, Outcome(2, "done", {"latency_ns_p99": None})]) is None
    assert number.of([*runs, Outcome(2, "failed", {})]) is None
    assert Limit.parse("p99_us<=2").keeps(2.0)
