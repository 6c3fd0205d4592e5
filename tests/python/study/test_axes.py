"""What an axis means, and which points axes make."""

from __future__ import annotations

import pytest

from lanewise.errors import InputError
from lanewise.study.axes import parse_axis
from lanewise.study.points import grid, sample


def values(text: str) -> list[str]:
    return [row[0] for row in parse_axis(text).rows]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a.n=1..4", ["1", "2", "3", "4"]),
        ("a.n=2..9:3", ["2", "5", "8"]),
        ("a.t=100 ns..200 ns:50 ns", ["100 ns", "150 ns", "200 ns"]),
        ("a.t=100..200 ns:50", ["100 ns", "150 ns", "200 ns"]),
        ("a.t=900 ns..1.1 us:100", ["900 ns", "1000 ns", "1100 ns"]),
        ("a.s=64 B..1 KiB:*2", ["64 B", "128 B", "256 B", "512 B", "1024 B"]),
        ("a.x=0.1..0.3:0.1", ["0.1", "0.2", "0.3"]),
        ("a.x=0..1:/5", ["0", "0.25", "0.5", "0.75", "1"]),
        ("a.g=gen4 x8, gen5 x16", ["gen4 x8", "gen5 x16"]),
        ('a.l=["x", "y"],["z"]', ['["x", "y"]', '["z"]']),
        ("a.n=1,4..6,auto", ["1", "4", "5", "6", "auto"]),
        ("a.s=1 TB..2 TB:500 GB", ["1 TB", "1.5 TB", "2 TB"]),
        ("a.x=0..1:/4", ["0", "0.333333", "0.666667", "1"]),
        ("a.n=1..2469133:/3", ["1", "1234567", "2469133"]),
    ],
)
def test_values(text: str, expected: list[str]) -> None:
    assert values(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a.n", "is not an axis"),
        ("=1", "is not an axis"),
        ("a.n=", "is not an axis"),
        ("nosuch=1,2", "'nosuch' is not a path, which has at least two parts"),
        ("a.n=1 & b=2", "'b' is not a path"),
        ("a.n=4..2", "ends before it begins"),
        ("a.n=1..2:0", "above zero"),
        ("a.t=1 ns..2 B:1", "mixes the units 'ns' and 'B'"),
        ("a.t=1 ns..9 ns", "needs a step"),
        ("a.n=1..9:*1", "above one"),
        ("a.n=0..9:*2", "begins above zero"),
        ("a.n=1..9:/1", "2 or more"),
        ("a.n=1..many", "is no range"),
        ("a.n=1,,2", "comma with nothing"),
        ("a.n=1..1000000", "more than 100,000 values"),
        ("a.n=1,2 & b.n=1", "different lengths: a.n 2, b.n 1"),
        ("a.n=1 & a.n=2", "the same path twice"),
        ("a.n=1 if b", "after 'if' stands"),
        ("a.n=1e5000", "at most 40 digits"),
        ("a.n=1e999999999", "at most 40 digits"),
        ("a.n=1.5..1e400", "powers of ten from -30 to 30"),
        ("a.n=" + "9" * 41, "at most 40 digits"),
        ("a.n=1..1e30:*1.0000000000000000000000000000001", "too many digits"),
    ],
)
def test_what_is_no_axis(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_axis(text)


def test_a_range_without_a_step_is_told_how_to_have_one() -> None:
    with pytest.raises(InputError) as wrong:
        parse_axis("a.t=1 ns..9 ns")
    assert str(wrong.value) == (
        "'1 ns..9 ns' needs a step, like '1 ns..9 ns:50 ns', '1 ns..9 ns:*2' or '1 ns..9 ns:/7'"
    )
    with pytest.raises(InputError, match=r"like '0\.5\.\.9:0\.1', '"):
        parse_axis("a.x=0.5..9")


def test_a_port_is_named_as_a_scenario_has_it() -> None:
    assert parse_axis("sw0.port3=gen4 x8").paths == ("switch.sw0.ports.port3",)


def points(*axes: str, seeds: tuple[int, ...] = ()) -> list[dict[str, str]]:
    made = grid([parse_axis(axis) for axis in axes], seeds)
    assert [point.number for point in made] == list(range(len(made)))
    return [dict(point.overrides) for point in made]


def test_a_grid_is_every_combination_and_the_last_axis_moves_fastest() -> None:
    assert points("a.n=1,2", "b.n=x,y") == [
        {"a.n": "1", "b.n": "x"},
        {"a.n": "1", "b.n": "y"},
        {"a.n": "2", "b.n": "x"},
        {"a.n": "2", "b.n": "y"},
    ]


def test_parameters_in_step_make_no_combinations() -> None:
    assert points("a.n=1,2 & b.n=x,y") == [{"a.n": "1", "b.n": "x"}, {"a.n": "2", "b.n": "y"}]


def test_an_axis_may_vary_at_some_values_of_another_only() -> None:
    made = points("a.n=1,2", "b.n=7,8 if a.n=2")
    assert made == [{"a.n": "1"}, {"a.n": "2", "b.n": "7"}, {"a.n": "2", "b.n": "8"}]


def test_a_condition_compares_numbers_with_their_units() -> None:
    made = points("a.t=0.1 us,200 ns", "b.n=7,8 if a.t=100 ns,2e2 ns")
    assert [each.get("b.n") for each in made] == ["7", "8", "7", "8"]


def test_seeds_are_the_same_at_each_point() -> None:
    made = points("a.n=1,2", seeds=(5, 6))
    assert [(each["a.n"], each["run.seed"]) for each in made] == [
        ("1", "5"),
        ("1", "6"),
        ("2", "5"),
        ("2", "6"),
    ]


@pytest.mark.parametrize(
    ("axes", "said"),
    [
        (("a.n=1", "a.n=2"), "varied by two axes"),
        (("b.n=1 if a.n=1", "a.n=1"), "no axis before it varies"),
        (("a.n=1,2", "b.n=1,2 if a.n=3"), "which it never is"),
        (("a.n=1..2000", "b.n=1..2000"), "more than 1,000,000 points"),
    ],
)
def test_axes_that_do_not_go_together(axes: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        points(*axes)


def test_points_of_an_axis_with_a_condition_are_counted_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanewise.study.points.MOST_POINTS", 10)
    axes = ("a.n=1..4", "b.n=1,2")
    assert len(points(*axes, "c.n=1,2 if a.n=3")) == 10
    with pytest.raises(InputError, match="more than 10 points"):
        points(*axes, "c.n=1..3 if a.n=3")
    with pytest.raises(InputError, match="more than 10 points"):
        points(*axes, seeds=(1, 2))


def test_the_seed_cannot_be_an_axis_beside_seeds() -> None:
    with pytest.raises(InputError, match=r"an axis varies 'run\.seed', and so do the seeds"):
        points("run.seed=1..3", seeds=(1, 2))


@pytest.mark.parametrize("how", ["lhs:32", "sobol:32", "random:32"])
def test_a_sample_lies_between_the_ends_and_is_the_same_each_time(how: str) -> None:
    axes = [parse_axis("a.n=1..8"), parse_axis("b.t=100 ns..1 us:*2"), parse_axis("c.g=x,y")]
    made = [dict(point.overrides) for point in sample(axes, (), how)]
    assert made == [dict(point.overrides) for point in sample(axes, (), how)]
    assert {each["a.n"] for each in made} <= {str(number) for number in range(1, 9)}
    times = [float(each["b.t"].removesuffix(" ns")) for each in made]
    assert min(times) >= 100
    assert max(times) <= 1000
    assert max(times) > 700, "the end of a range may be in another unit"
    assert {each["c.g"] for each in made} == {"x", "y"}


def test_a_sampled_range_needs_no_step() -> None:
    axes = [
        parse_axis(text, is_sampled=True)
        for text in ("a.t=100 ns..1 us", "b.n=1..1000000", "c.x=0.5..0.75 & d.n=1..4:1", "e.n=1,2..4")
    ]
    made = [dict(point.overrides) for point in sample(axes, (), "lhs:32")]
    times = [float(each["a.t"].removesuffix(" ns")) for each in made]
    assert 100 <= min(times) < 150
    assert 950 < max(times) <= 1000
    assert max(int(each["b.n"]) for each in made) > 900_000
    shares = [float(each["c.x"]) for each in made]
    assert 0.5 <= min(shares) < max(shares) <= 0.75
    assert {each["d.n"] for each in made} == {"1", "2", "3", "4"}, "in step with it"
    assert {each["e.n"] for each in made} == {"1", "2", "3", "4"}, "of a list its elements"
    for text, said in (("a.t=9 ns..1 ns", "ends before it begins"), ("a.t=1 ns..2 B", "mixes the units")):
        with pytest.raises(InputError, match=said):
            parse_axis(text, is_sampled=True)


def test_a_latin_hypercube_has_one_point_in_each_slice() -> None:
    made = sample([parse_axis("a.n=1..16")], (), "lhs:16")
    assert sorted(int(dict(point.overrides)["a.n"]) for point in made) == list(range(1, 17))


def test_a_sample_of_sizes_has_whole_bytes() -> None:
    made = sample([parse_axis("a.s=1 KiB..64 KiB:*2"), parse_axis("b.s=64..1000 B:1")], (), "lhs:16")
    for path, low, high in (("a.s", 1024, 65536), ("b.s", 64, 1000)):
        sizes = [dict(point.overrides)[path] for point in made]
        assert all(size.endswith(" B") and low <= int(size.removesuffix(" B")) <= high for size in sizes)
        assert len(set(sizes)) == 16


def test_a_sample_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="between the ends of axes"):
        sample([], (1, 2), "random:4")


@pytest.mark.parametrize("how", ["lhs", "lhs:0", "grid:4", "sobol:100", "lhs:many"])
def test_what_is_no_sample(how: str) -> None:
    with pytest.raises(InputError):
        sample([parse_axis("a.n=1..8")], (), how)
