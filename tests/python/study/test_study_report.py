"""What a report draws of a study, and where the limit changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from lanewise.report.study_part import study_part
from lanewise.study.knees import knees
from lanewise.study.study import Study, StudyResult
from lanewise.study.summary import spots
from lanewise.study.worker import Outcome
from lanewise.written import DASH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lanewise.report.content import Part, Section
    from lanewise.report.plots import Figure


def made(over: list[str], limit: Callable[[Mapping[str, str]], str]) -> StudyResult:
    """A study whose goodput is the number of the point and one more, and whose limits are given."""
    study = Study("made", "", tuple(over))
    outcomes = [
        Outcome(
            point.number,
            "done",
            {"goodput_gb_per_s": point.number + 1.0, "limited_by": limit(dict(point.overrides))},
            overrides=point.overrides,
        )
        for point in study.points
    ]
    return StudyResult(study, outcomes)


def section(part: Part, title: str) -> Section:
    (found,) = (each for each in part.sections if each.title == title)
    return found


def rings(figure: Figure) -> int:
    return len(re.findall(r'aria-label="[^"]*: limited by \w+, before by \w+"', figure.svg))


def of_a(values: Mapping[str, str]) -> str:
    return "one" if int(values["a.n"]) < 3 else "other"


def test_a_conditional_axis_is_drawn_where_it_varies() -> None:
    result = made(["a.n=1,2", "b.n=1..5 if a.n=2"], lambda values: "x" if values.get("b.n") == "1" else "y")
    part = study_part(result, drawn=True)
    (figure,) = section(part, "Goodput").figures
    assert "Left out: 1 point without b.n." in figure.caption
    assert rings(figure) == 1
    (table,) = section(part, "All points").tables
    assert table.rows[0][:2] == ("1", DASH)
    (knee,) = knees(result)
    assert (knee.before, knee.after, knee.others) == (1, 2, (("a.n", 2),))


def test_a_map_of_a_conditional_axis_has_its_points_only() -> None:
    result = made(["a.n=1..3", "c.n=1..8", "b.n=1..9 if a.n=2"], of_a)
    figures = section(study_part(result, drawn=True), "Goodput").figures
    assert [figure.title for figure in figures] == ["a.n=2"]
    assert "None" not in "".join(figure.svg for figure in figures)


@pytest.mark.parametrize("axis", ["a.n=1,2,3 & b.n=8,4,2", "a.n=1,2,3 & b.n=x,y,z"])
def test_parameters_in_step_have_one_knee_and_one_line(axis: str) -> None:
    result = made([axis, "c.n=p,q"], of_a)
    assert [(knee.path, knee.before, knee.after, knee.others) for knee in knees(result)] == [
        ("a.n", 2, 3, (("c.n", "p"),)),
        ("a.n", 2, 3, (("c.n", "q"),)),
    ]
    (figure,) = section(study_part(result, drawn=True), "Goodput").figures
    assert rings(figure) == 2
    assert figure.caption.startswith("By c.n.")


def test_the_rings_are_the_knees() -> None:
    result = made(["a.n=1..6", "c.n=p,q"], lambda values: f"{values['c.n']}{int(values['a.n']) // 3}")
    (figure,) = section(study_part(result, drawn=True), "Goodput").figures
    assert len(knees(result)) == 4
    assert rings(figure) == 4


def test_it_is_said_which_maps_and_letters_are_left_out() -> None:
    result = made(
        ["a.n=1..30", "b.n=1..3", "c.n=1,2 & d.n=3,4", "e.n=1..4"],
        lambda values: f"limit {int(values['a.n']) + 100}x",
    )
    goodput = section(study_part(result, drawn=True), "Goodput")
    assert len(goodput.figures) == 6
    # Of y the parameter with most values; one map for each of the other ones: 3 times 2.
    assert goodput.sentences == []
    assert "Z: limited by limit 126x; 4 more limits have no letter." in goodput.figures[0].caption
    more = made(["a.n=1..9", "b.n=1..8", "c.n=1..7"], of_a)
    (said,) = section(study_part(more, drawn=True), "Goodput").sentences
    assert said == "The first 6 maps are drawn; left out: 1 map. The table has all points."


def test_rings_are_told_of_where_there_are_some() -> None:
    for limit, has_rings in ((of_a, True), (lambda _: "link", False)):
        (figure,) = section(study_part(made(["a.n=1..4"], limit), drawn=True), "Goodput").figures
        assert ("A ring is where" in figure.caption) == has_rings


def test_values_have_their_units() -> None:
    result = made(["a.n=1..4", "b.t=100 ns,0.2 us"], of_a)
    part = study_part(result, drawn=True)
    assert part.tiles[0][1] == "most: a.n=4, b.t=200 ns"
    (figure,) = section(part, "Goodput").figures
    assert "200 ns" in figure.svg
    assert (
        "a.n from 2 to 3: other limits in place of one (at b.t=100 ns; b.t=200 ns)."
        in section(part, "In short").sentences
    )
    (table,) = section(part, "What moves it").tables
    assert [row[2] for row in table.rows] == ["1", "100 ns"]


def test_points_of_a_sample_that_are_the_same_have_no_interval() -> None:
    study = Study("made", "", ("a.n=1..2",), sample="random:4")
    same = [Outcome(at, "done", {"goodput_gb_per_s": 1.0}, overrides=(("a.n", "1"),)) for at in range(4)]
    (spot,) = spots(StudyResult(study, same), "goodput_gb_per_s")
    assert (spot.runs, spot.half_width) == (4, None)


def with_refused(over: list[str], refused: Callable[[Mapping[str, str]], bool]) -> Part:
    """A study whose goodput is ten times a.n and b.n, of which some points cannot be built."""
    study = Study("made", "", tuple(over))
    outcomes = []
    for point in study.points:
        values = {path: int(value) for path, value in point.overrides}
        row = {"goodput_gb_per_s": values["a.n"] * 10.0 + values.get("b.n", 0), "limited_by": "x"}
        if refused(dict(point.overrides)):
            outcomes.append(Outcome(point.number, "refused", {}, "x", overrides=point.overrides))
        else:
            outcomes.append(Outcome(point.number, "done", row, overrides=point.overrides))
    return study_part(StudyResult(study, outcomes), drawn=True)


def test_a_parameter_is_compared_where_all_of_its_values_have_the_same_others() -> None:
    """Without the points a=1 with b=1 and b=2 the mean of a=1 would be 3 / 2 too high."""
    part = with_refused(["a.n=1,2,3", "b.n=1..4"], lambda each: each["a.n"] == "1" and int(each["b.n"]) < 3)
    moves = section(part, "What moves it")
    (table,) = moves.tables
    assert [row[:5] for row in table.rows] == [
        ("a.n", "13.500", "1", "33.500", "3"),
        ("b.n", "26.000", "1", "29.000", "4"),
    ]
    assert moves.sentences == [
        "a.n: 4 combinations left out, which other values of it do not have.",
        "b.n: 2 combinations left out, which other values of it do not have.",
    ]


def test_what_cannot_be_told_from_others_is_said_to_be_so() -> None:
    part = with_refused(["a.n=1,2", "b.n=1,2"], lambda each: each["a.n"] != each["b.n"])
    moves = section(part, "What moves it")
    assert (moves.tables, moves.figures) == ([], [])
    assert [said.partition(" moves")[0] for said in moves.sentences] == ["What a.n", "What b.n"]
    conditional = section(with_refused(["a.n=1,2", "b.n=1,2 if a.n=2"], lambda _: False), "What moves it")
    assert [row[:5] for row in conditional.tables[0].rows] == [("b.n", "21.000", "1", "22.000", "2")]
    assert conditional.sentences == [
        "What a.n moves cannot be told from what others do: no combination of them has all of its values."
    ]


def test_parameters_in_step_are_compared_together() -> None:
    table = section(with_refused(["a.n=1,2 & b.n=5,6", "c.n=1,2"], lambda _: False), "What moves it").tables[
        0
    ]
    assert [row[:5] for row in table.rows] == [
        ("a.n", "15.000", "1", "26.000", "2"),
        ("b.n", "15.000", "5", "26.000", "6"),
        ("c.n", "20.500", "1", "20.500", "1"),
    ]
