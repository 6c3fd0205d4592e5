"""What says the same of several places, put together for people to read: in tables and in reports."""

from __future__ import annotations

from math import isclose
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable

_SAME = 0.01
"""Relative difference between rates or latencies that are the same to a person."""

Item = TypeVar("Item")


def grouped(
    items: Iterable[Item], words: Callable[[Item], Hashable], close: Callable[[Item, Item], bool]
) -> list[list[Item]]:
    """Group items with equal words and numbers close to those of the first, in the order of the first."""
    groups: list[list[Item]] = []
    by_words: dict[Hashable, list[list[Item]]] = {}
    for item in items:
        candidates = by_words.setdefault(words(item), [])
        group = next((group for group in candidates if close(group[0], item)), None)
        if group is None:
            group = []
            groups.append(group)
            candidates.append(group)
        group.append(item)
    return groups


def same_number(one: float | None, other: float | None) -> bool:
    """Whether two rates or latencies are the same to a person."""
    if one is None or other is None:
        return one is other
    return isclose(one, other, rel_tol=_SAME)
