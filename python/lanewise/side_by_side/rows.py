"""Rows of sides that belong together: matched by what was run or measured.

Of two outputs of one tool, rows are the same test, direction, size and depth on the same target. Where one of
these has another name or value and there is still only one candidate, it is that one, and the row says what
differs. Outputs of different tools, and flows of a scenario, are matched by how bytes go on the link of the
device.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterator, Sequence

    from lanewise.side_by_side.found import Found

    Key = Callable[[Found], Hashable]

Quantity: TypeAlias = Literal["gb_per_s", "operations_per_s", "latency_ns_mean"]
QUANTITIES: tuple[Quantity, ...] = ("gb_per_s", "operations_per_s", "latency_ns_mean")
"""What rows are compared by: the first that all sides of a row state."""


@dataclass(frozen=True)
class Row:
    """One row of a comparison: what each side says of the same thing."""

    sides: tuple[Found | None, ...]
    """None for a side that has no such thing."""

    @property
    def first(self) -> Found:
        """What the first side says that says anything."""
        return next(side for side in self.sides if side is not None)

    @property
    def is_shared(self) -> bool:
        """Whether several sides have it."""
        return sum(side is not None for side in self.sides) > 1

    @property
    def quantity(self) -> Quantity | None:
        """What its ratio is of; None where the sides state nothing that is the same."""
        there = [side for side in self.sides if side is not None]
        for quantity in QUANTITIES:
            if all(getattr(side, quantity) is not None for side in there):
                return quantity
        return None

    def value(self, side: int, quantity: str) -> float | None:
        """Return what a side says; None where it says nothing of it."""
        found = self.sides[side]
        value: float | None = None if found is None else getattr(found, quantity)
        return value

    def ratio(self, side: int, quantity: str | None = None) -> float | None:
        """Return what a side reached over what the first did; None where either is not there, or 0."""
        quantity = quantity or self.quantity
        if quantity is None:
            return None
        base, own = self.value(0, quantity), self.value(side, quantity)
        return None if not base or own is None else own / base

    def differing(self) -> Iterator[tuple[str, tuple[object, ...]]]:
        """Yield what the sides ran differently, each with the value of every side."""
        named = (
            ("test", "test"),
            ("device or target", "target"),
            ("bytes of an operation", "size_bytes"),
            ("queue depth", "queue_depth"),
            ("workers", "workers"),
        )
        for words, name in named[_is_of_jobs(self.first) :]:
            values = tuple(None if side is None else getattr(side, name) for side in self.sides)
            told = {value for value in values if value not in (None, "")}
            if len(told) > 1:
                yield words, values


def matched(sides: Sequence[Sequence[Found]]) -> list[Row]:
    """Put what sides say into rows: those that belong together in one, all others by themselves."""
    rows: list[list[Found | None]] = []
    for number, found in enumerate(sides):
        firsts = [next(side for side in row if side is not None) for row in rows]
        pairs = _pairs(firsts, found)
        for row in rows:
            row.append(None)
        for place, one in enumerate(found):
            if (at := pairs.get(place)) is not None:
                rows[at][number] = one
            else:
                rows.append([*[None] * number, one])
    return [Row(tuple(row)) for row in rows]


def _pairs(known: Sequence[Found], found: Sequence[Found]) -> dict[int, int]:
    """Return for what was found the number of what it belongs to, strict rules first."""
    pairs: dict[int, int] = {}
    for key, many in _ROUNDS:
        left = _by_key([at for at in range(len(known)) if at not in pairs.values()], known, key)
        right = _by_key([at for at in range(len(found)) if at not in pairs], found, key)
        for value, own in right.items():
            others = left.get(value, [])
            if value is None or len(others) != len(own) or (len(own) > 1 and not many):
                continue
            if key is not _by_link or found[own[0]].tool != known[others[0]].tool:
                pairs.update(zip(own, others, strict=True))
    return pairs | _pairs_with_flows(known, found, pairs)


def _pairs_with_flows(
    known: Sequence[Found], found: Sequence[Found], pairs: dict[int, int]
) -> dict[int, int]:
    """Return flows with the results that are of the same: each other's only candidate."""
    left = [at for at in range(len(known)) if at not in pairs.values()]
    right = [at for at in range(len(found)) if at not in pairs]
    fits = [(one, other) for one in right for other in left if is_of(found[one], known[other])]
    return {
        one: other
        for one, other in fits
        if sum(one == each for each, _ in fits) == 1 and sum(other == each for _, each in fits) == 1
    }


def is_of(one: Found, other: Found) -> bool:
    """Whether one is a flow and the other the result of a tool that measures such a thing."""
    if (one.tool is None) == (other.tool is None) or one.on_link is None or one.on_link != other.on_link:
        return False
    told = ((one.large_size, other.large_size), (one.kind, other.kind), (one.ends, other.ends))
    return all(None in pair or pair[0] == pair[1] for pair in told)


def _by_key(places: Sequence[int], of: Sequence[Found], key: Key) -> dict[Hashable, list[int]]:
    found: dict[Hashable, list[int]] = {}
    for place in places:
        found.setdefault(key(of[place]), []).append(place)
    return found


def _by_flow(one: Found) -> Hashable:
    return (one.name, one.direction, one.target) if one.tool is None else None


def _by_flow_anywhere(one: Found) -> Hashable:
    return (one.name, one.direction) if one.tool is None else None


def _counts(one: Found) -> tuple[Hashable, ...]:
    """Return what is never given up within one tool: a latency is no bandwidth, and a read no write."""
    return (one.tool, one.direction, one.gb_per_s is None, one.random, one.is_direct)


def _asked(one: Found) -> tuple[Hashable, ...]:
    return (one.size_bytes, one.queue_depth, one.workers)


def _by_all(one: Found) -> Hashable:
    return None if one.tool is None else (*_counts(one), one.test, one.name, *_asked(one), one.target)


def _by_name(one: Found) -> Hashable:
    return None if one.tool is None else (*_counts(one), one.test, one.name, *_asked(one))


def _by_target(one: Found) -> Hashable:
    test = None if _is_of_jobs(one) else one.test
    return None if one.target is None or one.tool is None else (*_counts(one), test, *_asked(one), one.target)


def _by_test(one: Found) -> Hashable:
    return None if one.tool is None else (*_counts(one), one.test, *_asked(one))


def _by_what_was_asked(one: Found) -> Hashable:
    return (*_counts(one), *_asked(one)) if _is_of_jobs(one) else None


def _by_ends(one: Found) -> Hashable:
    """Return what copies between two GPUs have in common, whatever tool made them."""
    if one.ends is None or len(one.ends) < 2 or one.tool is None:
        return None
    return (one.direction, one.gb_per_s is None, one.is_direct, one.ends)


def _by_test_and_size(one: Found) -> Hashable:
    return None if one.tool is None else (*_counts(one), one.test, one.size_bytes)


def _by_size(one: Found) -> Hashable:
    return (*_counts(one), one.size_bytes) if _is_of_jobs(one) else None


def _by_link(one: Found) -> Hashable:
    """Return what different tools have in common that measure devices of one kind."""
    if one.on_link is None or one.tool is None:
        return None
    return (one.kind, one.on_link, one.large_size, one.random, one.ends)


def _is_of_jobs(one: Found) -> bool:
    """Whether the test's name is a user's word for a job, and no word of the tool."""
    return one.kind == "is_storage"


_ROUNDS: tuple[tuple[Key, bool], ...] = (
    (_by_flow, True),
    (_by_flow_anywhere, False),
    (_by_all, True),
    (_by_name, True),
    (_by_target, True),
    (_by_test, False),
    (_by_what_was_asked, False),
    (_by_ends, False),
    (_by_test_and_size, False),
    (_by_size, False),
    (_by_link, False),
)
"""By what rows are matched, and whether several alike are taken in their order."""
