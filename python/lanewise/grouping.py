"""What says the same of several places, put together for people to read: in tables and in reports."""

from __future__ import annotations

from math import floor, isclose, log
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

_SAME = 0.01
"""Relative difference between rates or latencies that are the same to a person."""

_SAME_PERCENTILE = 0.05
"""The same of percentiles: as narrowly as a run until latency knows them (`run.latency_half_width`)."""

Item = TypeVar("Item")


def grouped(
    items: Iterable[Item],
    words: Callable[[Item], Hashable],
    close: Callable[[Item, Item], bool],
    place: Callable[[Item], float] = lambda _: 0.0,
) -> list[list[Item]]:
    """Group items with equal words and numbers close to those of the first, in the order of the first.

    Where many have equal words, `place` spares comparing each with each: those that are close are at most 1
    apart in it, like `place_of` their numbers.
    """
    groups: list[list[Item]] = []
    numbers: dict[tuple[Hashable, int], list[int]] = {}
    for item in items:
        said, at = words(item), floor(place(item))
        near = (number for beside in (at - 1, at, at + 1) for number in numbers.get((said, beside), ()))
        number = min((each for each in near if close(groups[each][0], item)), default=len(groups))
        if number == len(groups):
            groups.append([])
            numbers.setdefault((said, at), []).append(number)
        groups[number].append(item)
    return groups


def place_of(rates: Iterable[float | None]) -> float:
    """Return a place for `grouped`: numbers that are the same, one by one, are at most 1 apart."""
    logs = [log(abs(rate)) for rate in rates if rate]
    # Both ends of what is the same differ by -log(1 - _SAME), a little less than this.
    return sum(logs) / (1.01 * _SAME * max(1, len(logs)))


def same_number(one: float | None, other: float | None) -> bool:
    """Whether two rates or latencies are the same to a person."""
    return _same(one, other, _SAME)


def same_percentile(one: float | None, other: float | None) -> bool:
    """Whether two percentiles of latencies, far out, are the same to a person."""
    return _same(one, other, _SAME_PERCENTILE)


def _same(one: float | None, other: float | None, relative: float) -> bool:
    if one is None or other is None:
        return one is other
    return isclose(one, other, rel_tol=relative)
