"""What a report says and draws of searches and of samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from searches import AXES, hill, searched, two_ways

from lanewise.report.study_part import study_part
from lanewise.study.importance import correlation_ratio, importances
from lanewise.study.points import sample
from lanewise.study.search import Search
from lanewise.study.study import Study, StudyResult
from lanewise.study.summary import Spot, effects, parts_of
from lanewise.study.worker import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.report.content import Part, Section


def section(part: Part, title: str) -> Section:
    (found,) = (each for each in part.sections if each.title == title)
    return found


def test_a_search_of_one_goal_is_drawn_over_its_trials() -> None:
    def with_lanes(values: Mapping[str, str]) -> Mapping[str, float]:
        return {**hill(values), "lanes": 4.0 * int(values["a.n"])}

    result = searched(Search(("goodput",), (), ("lanes<=64",), trials=40), with_lanes)
    part = study_part(result, drawn=True)
    best = section(part, "The best")
    kept = sum(trial.is_feasible for trial in result.trials)
    assert best.sentences == [
        f"The best of 40 trials; all limits are kept by {kept}; lanes<=64 missed by {40 - kept}."
    ]
    (table,) = best.tables
    assert table.rows[0][0] == str(result.best[0].number)
    lanes = 4 * int(result.best[0].parameters["a.n"])
    assert table.rows[0][-2] == str(lanes), "what limits are about"
    (figure,) = best.figures
    assert figure.title == "How the best got better"
    assert "misses a limit" in figure.svg
    assert f"trial {result.best[0].number}: a.n=" in figure.svg
    titles = [each.title for each in part.sections]
    assert "Goodput" not in titles, "lines are for grids"
    assert "What moves it" not in titles, "means over trials that lie where it is good say nothing"
    (value, where) = part.tiles[0]
    assert value == f"{result.best[0].values[0]:g} GB/s"
    assert where.startswith("best goodput: a.n=")
    assert ("limits", "lanes<=64") in part.facts


def test_a_search_of_several_goals_is_drawn_as_its_front() -> None:
    part = study_part(
        searched(Search(("goodput",), ("operations",), trials=40), two_ways, AXES[:2]), drawn=True
    )
    (figure,) = section(part, "The best").figures
    assert figure.title == "goodput against operations"
    assert "On the dashed line" in figure.caption
    assert [each.title for each in section(part, "What mattered").figures] == ["goodput", "operations"]
    assert not any(
        each.figures for each in study_part(searched(Search(("goodput",), trials=8)), drawn=False).sections
    )


def test_a_search_that_is_not_complete_has_a_report() -> None:
    asked = Study("made", "", AXES, search=Search(("goodput",), trials=8))
    part = study_part(StudyResult(asked, []), drawn=True)
    assert section(part, "The best").sentences == ["None of 0 trials has what is asked for."]
    assert ("finished", "0 of 8 points: the study is not complete") in part.facts


def test_what_matters_is_what_moves_the_goal() -> None:
    search = Search(("goodput",), trials=60)
    result = searched(
        search, lambda values: {"goodput_gb_per_s": 100.0 * (values["c.n"] == "y") + int(values["a.n"])}
    )
    found = importances(result, search.goals[0])
    assert next(iter(found)) == "c.n"
    assert found["c.n"] > 0.9
    assert importances(searched(Search(("goodput",), trials=10)), search.goals[0]) == {}
    alike = searched(search, lambda _: {"goodput_gb_per_s": 1.0})
    assert importances(alike, search.goals[0]) == {}


def test_trials_that_lack_a_seed_do_not_count() -> None:
    search = Search(("goodput",), trials=40)

    def second_seed(values: Mapping[str, str]) -> Mapping[str, float] | None:
        return None if values["run.seed"] == "2" else {"goodput_gb_per_s": float(values["a.n"])}

    result = searched(search, second_seed, AXES[:1], seeds=(1, 2))
    assert len(result.trials) == 40
    assert result.best == []
    assert importances(result, search.goals[0]) == {}


def test_the_correlation_ratio_is_that_of_an_analysis_of_variance() -> None:
    """Within: 2 and 2; all six: 28; with 6 values in 2 groups 1 - 4/28 * 5/4."""
    assert correlation_ratio([[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]]) == pytest.approx(1 - 4 / 28 * 5 / 4)
    assert correlation_ratio([[1.0, 1.0], [2.0, 2.0]]) == 1.0
    assert correlation_ratio([[1.0, 3.0], [1.0, 3.0]]) == 0.0
    assert correlation_ratio([[1.0], [2.0]]) == 0.0
    with pytest.raises(ValueError, match="no variance"):
        correlation_ratio([[1.0, 1.0]])


def sampled(count: int) -> list[Spot]:
    """Goodput is a tenth of a, of which each point of a Latin hypercube has another value; b does nothing."""
    study = Study("made", "", ("a.n=1..1000", "b.n=1..1000"), sample=f"lhs:{count}")
    from lanewise.study.axes import parse_axis

    points = sample([parse_axis(axis) for axis in study.over], (), f"lhs:{count}")
    rows = [{path: int(value) for path, value in point.overrides} for point in points]
    return [Spot(dict(row), row["a.n"] / 10.0, None, None, 1) for row in rows]


def test_in_a_sample_means_are_over_parts_of_a_range() -> None:
    found = sampled(200)
    one, other = effects(found, ["b.n", "a.n"], is_sample=True)
    assert one.path == "a.n"
    # The mean of the first of ten parts is 5, of the last 95.
    assert one.span == pytest.approx(90.0, abs=1.0)
    assert other.span < 40.0, "what does nothing moves by chance only"
    assert str(one.least[0]).startswith(f"{min(spot.parameters['a.n'] for spot in found)} to ")
    # Value by value there is nothing to compare.
    assert effects(found, ["b.n", "a.n"]) == []


def test_parts_have_as_many_points_each() -> None:
    counts: dict[object, int] = {}
    for name, _ in parts_of(sampled(107), "a.n"):
        counts[name] = counts.get(name, 0) + 1
    assert len(counts) == 5
    assert max(counts.values()) - min(counts.values()) <= 1
    alike = [Spot({"a.n": value // 9}, float(value), None, None, 1) for value in range(180)]
    cut = {name for name, spot in parts_of(alike, "a.n") if spot.parameters["a.n"] == 7}
    assert len(cut) == 1, "equal values are in one part"
    few = [Spot({"a.n": value}, 1.0, None, None, 1) for value in (1, 2, None)]
    assert [name for name, _ in parts_of(few, "a.n")] == [1, 2, None]
    many = [Spot({"a.n": value}, 1.0, None, None, 1) for value in (None, *range(9))]
    assert [name for name, _ in parts_of(many, "a.n")].count(None) == 1


def test_sobol_indices_are_drawn_with_their_intervals() -> None:
    study = Study("made", "", ("a.n=0..100", "b.n=0..100"), sample="saltelli:64")
    outcomes = [
        Outcome(
            point.number,
            "done",
            {"goodput_gb_per_s": math.sqrt(int(dict(point.overrides)["a.n"])), "latency_ns_p99": None},
            overrides=point.overrides,
        )
        for point in study.points
    ]
    part = study_part(StudyResult(study, outcomes), drawn=True)
    found = section(part, "Which part of the variance each parameter makes")
    (figure,), (table,) = found.figures, found.tables
    assert [row[0] for row in table.rows] == ["a.n", "b.n"]
    assert (table.rows[1][1], table.rows[1][3]) == ("0.000", "0.000")
    assert "a.n, with others: " in figure.svg
    lacking = [
        *outcomes[:-1],
        Outcome(outcomes[-1].number, "refused", {}, "x", overrides=outcomes[-1].overrides),
    ]
    said = section(study_part(StudyResult(study, lacking), drawn=True), found.title)
    assert said.sentences[0].startswith("No Sobol indices of goodput_gb_per_s: 1 of 256 points have no")
