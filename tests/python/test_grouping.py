"""What says the same is put together as if each had been compared with each, in far fewer comparisons."""

from __future__ import annotations

import random
from dataclasses import replace

from lanewise.grouping import grouped, place_of, same_number
from lanewise.health.predict.prediction import Prediction
from lanewise.health.predict.simulator import Row

Numbers = tuple[float | None, ...]


def words(numbers: Numbers) -> int:
    return len(numbers)


def close(one: Numbers, other: Numbers) -> bool:
    return all(map(same_number, one, other))


def test_a_place_leaves_the_groups_as_they_are() -> None:
    draw = random.Random(5)
    for _ in range(20):
        items: list[Numbers] = [
            tuple(draw.choice((None, 0.0, draw.uniform(9.0, 10.0), 1e4 * draw.random())) for _ in range(size))
            for size in draw.choices((1, 2, 3), k=300)
        ]
        assert grouped(items, words, close, place_of) == grouped(items, words, close)


def test_numbers_at_the_edge_of_being_the_same_are_at_most_one_place_apart() -> None:
    for number in (1e-9, 1.0, 31.5, 4e12):
        assert same_number(number, 0.99 * number * (1 + 1e-12))
        assert abs(place_of([number]) - place_of([0.99 * number])) <= 1


def test_things_that_all_differ_are_not_compared_each_with_each() -> None:
    compared = []

    def counted(one: Numbers, other: Numbers) -> bool:
        compared.append(1)
        return close(one, other)

    items = [(1.02**number,) for number in range(1000)]
    assert len(grouped(items, words, counted, place_of)) == 1000
    assert len(compared) <= 2 * len(items)


def test_devices_that_reach_the_same_are_found_once() -> None:
    row = Row(
        bdf="01:00.0",
        device="a",
        link="gen4 x4",
        benchmark="reads",
        direction="read",
        ceiling_gb_per_s=7.0,
        alone_gb_per_s=6.0,
        together_gb_per_s=None,
        alone_half_width_percent=None,
        together_half_width_percent=None,
        latency_ns=None,
        frames_per_s=None,
        binding="link",
        kind_of_case=None,
    )
    rows = [
        row,
        replace(row, bdf="02:00.0", alone_gb_per_s=5.0),
        replace(row, bdf="03:00.0", alone_gb_per_s=6.05),
    ]
    prediction = Prediction("dump", tuple(rows), ())
    assert prediction.alike == [[[rows[0]], [rows[2]]], [[rows[1]]]]
    assert prediction.alike is prediction.alike
