"""Sobol indices against a function whose indices are known."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

from lanewise.errors import InputError
from lanewise.study.axes import parse_axis
from lanewise.study.points import sample
from lanewise.study.sobol import all_indices, design, indices
from lanewise.study.study import Study, StudyResult
from lanewise.study.worker import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from click.testing import Result

AXES = tuple(f"x.{name}=-3.14159265358979..3.14159265358979:/3" for name in "abc")
NUMBER = "goodput_gb_per_s"


def ishigami(a: float, b: float, c: float) -> float:
    return math.sin(a) + 7 * math.sin(b) ** 2 + 0.1 * c**4 * math.sin(a)


def made(rows: int, function: Callable[..., float | None], seeds: Sequence[int] = ()) -> StudyResult:
    study = Study("made", "", AXES, tuple(seeds), f"saltelli:{rows}")
    outcomes = []
    for point in study.points:
        given = dict(point.overrides)
        value = function(*(float(given[f"x.{name}"]) for name in "abc"))
        shift = 0.5 - int(given.get("run.seed", "0")) % 2 if seeds else 0.0
        row = {} if value is None else {NUMBER: value + shift}
        status = "refused" if value is None else "done"
        outcomes.append(Outcome(point.number, status, row, overrides=point.overrides))
    return StudyResult(study, outcomes)


# Ishigami and Homma, 1990, with 7 and 0.1.
VARIANCE = 7**2 / 8 + 0.1 * math.pi**4 / 5 + 0.1**2 * math.pi**8 / 18 + 0.5
FIRST = [0.5 * (1 + 0.1 * math.pi**4 / 5) ** 2 / VARIANCE, 7**2 / 8 / VARIANCE, 0.0]
WITH_C = 8 * 0.1**2 * math.pi**8 / 225 / VARIANCE
TOTAL = [FIRST[0] + WITH_C, FIRST[1], WITH_C]


def test_indices_of_a_function_that_has_them_in_closed_form() -> None:
    result = made(1024, ishigami)
    assert result.study.size == len(result.outcomes) == 1024 * 5
    found = indices(result)
    assert [index.axis for index in found] == ["x.a", "x.b", "x.c"]
    for index, first, total in zip(found, FIRST, TOTAL, strict=True):
        assert index.first == pytest.approx(first, abs=0.03)
        assert index.total == pytest.approx(total, abs=0.03)
        for found_one, known, (low, high) in (
            (index.first, first, index.first_interval),
            (index.total, total, index.total_interval),
        ):
            assert low < found_one < high
            assert low <= known <= high
            assert high - low < 0.3
    assert indices(result) == found, "resampled the same way each time"


def test_the_mean_over_seeds_counts() -> None:
    one, two = made(64, ishigami), made(64, ishigami, seeds=(1, 2))
    assert two.study.size == 2 * one.study.size
    for index, same in zip(indices(one), indices(two), strict=True):
        assert index.first == pytest.approx(same.first, rel=1e-9)
        assert index.total == pytest.approx(same.total, rel=1e-9)


def test_a_design_is_two_samples_and_mixtures_of_them() -> None:
    shares = design(8, 3)
    a, b, *mixed = shares.reshape(5, 8, 3)
    for axis, each in enumerate(mixed):
        for column in range(3):
            assert (each[:, column] == (b if column == axis else a)[:, column]).all()
    assert len(sample([parse_axis(axis) for axis in AXES], (), "saltelli:8")) == 40


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda *_: 3.0, "is 3 at every point: nothing moves it"),
        (lambda a, *_: None if a > 1 else a, r"of 80 points have no goodput"),
    ],
)
def test_there_are_none_where_they_would_mean_nothing(function: Callable[..., float], said: str) -> None:
    result = made(16, function)
    with pytest.raises(InputError, match=said):
        indices(result)
    found = all_indices(result)
    assert list(found) == [NUMBER]
    assert isinstance(found[NUMBER], str)


def study_of(parts: Sequence[Sequence[float]]) -> StudyResult:
    """Make a study of two axes with these values: of A, of B, and of A with each column of B."""
    study = Study("made", "", AXES[:2], sample=f"saltelli:{len(parts[0])}")
    values = [value for part in parts for value in part]
    rows = zip(study.points, values, strict=True)
    return StudyResult(
        study,
        [Outcome(point.number, "done", {NUMBER: value}, overrides=point.overrides) for point, value in rows],
    )


def test_what_moves_at_none_of_both_samples_has_no_indices() -> None:
    """The variance is that of the samples alone, and an index of 0 would say that nothing matters."""
    flat, moves = [1.0] * 8, [1.0] * 7 + [2.0]
    with pytest.raises(InputError, match="is 1 at all points of both samples, and moves at others"):
        indices(study_of([flat, flat, moves, flat]))


def test_choices_of_rows_without_variance_do_not_count_in_intervals() -> None:
    """One row of eight differs: a third of all choices of eight leave it out, and say nothing."""
    once = [1.0] * 7 + [2.0]
    first, second = indices(study_of([once, once, once, [1.0] * 8]))
    assert (first.first, second.total) == (pytest.approx(0.0), pytest.approx(4 / 7))
    assert second.total_interval[0] > 0.5
    assert all(map(math.isfinite, (*first.first_interval, *second.first_interval)))


def test_a_study_without_the_design_has_none() -> None:
    result = StudyResult(Study("made", "", AXES, sample="lhs:4"), [])
    assert all_indices(result) == {}
    with pytest.raises(InputError, match="--sample saltelli:64"):
        indices(result)
    with pytest.raises(InputError, match="power of two points: write saltelli:128"):
        _ = Study("made", "", AXES, sample="saltelli:100").size
    whole = made(8, ishigami)
    with pytest.raises(InputError, match="39 of 40 points are finished"):
        indices(StudyResult(whole.study, whole.outcomes[:-1]))


def test_the_verb_prints_them(lanewise: Callable[..., Result], tmp_path: Path, switch: Path) -> None:
    axes = ("--over", "card0.link.force_width=x1,x4", "--over", "sw0.latency=100 ns..400 ns:100 ns")
    folder = tmp_path / "study"
    done = lanewise("sweep", switch, *axes, "--sample", "saltelli:8", "--out", folder)
    assert done.exit_code == 0, done.stderr
    said = done.stdout.partition("Sobol indices of goodput_gb_per_s")[2]
    width, latency = (line.split() for line in said.splitlines()[2:4])
    assert (width[0], latency[0]) == ("card0.link.force_width", "sw0.latency")
    assert float(width[3]) > 0.9
    assert float(latency[3]) < 0.1
    document = json.loads(lanewise("study", "show", folder, "--json").stdout)
    assert document["sobol"]["goodput_gb_per_s"][0]["total"] == pytest.approx(float(width[3]), abs=1e-3)


@pytest.mark.parametrize(
    ("how", "said"),
    [("saltelli:4", "write saltelli:8 or more"), ("saltelli:524288", "makes more than 1,000,000")],
)
def test_a_design_has_bounds_before_it_is_made(how: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        sample([parse_axis("a.n=1..9")], (), how)
