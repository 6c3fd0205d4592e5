"""The points of a study: every combination of its axes, or a sample of what lies between their ends."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import prod
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.study import sobol
from lanewise.study.axes import (
    Axis,
    AxisError,
    in_base_unit,
    number_of,
    rounded,
    same_as,
    size_in_bytes,
    written,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

MOST_POINTS = 1_000_000
"""Of one study: its results are kept in memory once, when they are read."""

_FEWEST_ROWS = 8
"""Of a design for Sobol indices. Assumed: with fewer of them an interval says nothing."""

SEED = "run.seed"


@dataclass(frozen=True)
class Point:
    """One run of a study."""

    number: int
    """From 0 on, in the order of the axes: the last one moves fastest."""
    overrides: tuple[tuple[str, str], ...]


def grid(axes: Sequence[Axis], seeds: Sequence[int]) -> list[Point]:
    """Return every combination; seeds move fastest, and are the same at each combination.

    AxisError for two axes over one parameter, a condition on no axis before or that none of its values meets,
    and too many points.
    """
    check(axes, seeds)
    # Axes with a condition, which vary at some points only, can but make more of them.
    if prod(len(axis.rows) for axis in axes if axis.only_if is None) * max(len(seeds), 1) > MOST_POINTS:
        raise _too_many()
    return _with_seeds(combinations(axes), seeds)


def sample(axes: Sequence[Axis], seeds: Sequence[int], how: str) -> list[Point]:
    """Return points between the ends of the axes, spread as `how` says.

    'lhs:100' is a Latin hypercube, 'sobol:128' a scrambled Sobol sequence, and 'random:50' independent
    points; 'saltelli:64' is a design for Sobol indices, of 64 points for each axis and 128 more. They are the
    same each time. Whole numbers stay whole; of lists an element is taken. Needs the extra
    ``calibrate``. InputError for what is no sample.
    """
    from lanewise.extras import need

    check(axes, seeds)
    count = _rows(how)
    if not axes:
        raise AxisError("a sample lies between the ends of axes: give one, like 'ssd.count=1..24'")
    if any(axis.only_if for axis in axes):
        raise AxisError("a sample has no conditional axes")
    if sample_size(how, len(axes)) * max(len(seeds), 1) > MOST_POINTS:
        raise AxisError(f"'{how}' makes more than {MOST_POINTS:,} points: take a smaller number")
    need("calibrate", "a sample")
    from scipy.stats import qmc

    kind = how.partition(":")[0]
    if kind == "lhs":
        shares = qmc.LatinHypercube(d=len(axes), rng=0).random(count)
    elif kind == sobol.KIND:
        shares = sobol.design(count, len(axes))
    elif kind == "sobol":
        shares = qmc.Sobol(d=len(axes), rng=0).random(count)
    else:
        import numpy as np

        shares = np.random.default_rng(0).random((count, len(axes)))
    rows = shares.tolist()
    return _with_seeds(
        (
            tuple(pair for axis, share in zip(axes, row, strict=True) for pair in _at(axis, share))
            for row in rows
        ),
        seeds,
    )


def sample_size(how: str, axes: int) -> int:
    """Return how many points a sample along so many axes has, without the seeds; InputError for no sample."""
    rows = _rows(how)
    return sobol.size(rows, axes) if how.startswith(f"{sobol.KIND}:") else rows


def _rows(how: str) -> int:
    kind, _, text = how.partition(":")
    is_count = text.isascii() and text.isdecimal() and len(text) <= len(str(MOST_POINTS))
    if (
        kind not in ("lhs", "sobol", "random", sobol.KIND)
        or not is_count
        or not 1 <= int(text) <= MOST_POINTS
    ):
        raise InputError(
            f"'{how}' is not a sample: write lhs:100, sobol:128, saltelli:64 or random:50, with how many "
            "points"
        )
    count = int(text)
    if kind == sobol.KIND and count < _FEWEST_ROWS:
        raise InputError(f"'{how}' has too few points for Sobol indices: write {kind}:{_FEWEST_ROWS} or more")
    if kind in ("sobol", sobol.KIND) and count & (count - 1):
        raise InputError(
            f"a Sobol sequence has a power of two points: write {kind}:{1 << count.bit_length()}"
        )
    return count


def samplers() -> str:
    """Name the versions of the libraries that make samples: other ones may make others."""
    from lanewise.extras import need

    need("calibrate", "a sample")
    import numpy as np
    import scipy

    return f"SciPy {scipy.__version__} with NumPy {np.__version__}"


def _with_seeds(combinations: Iterable[tuple[tuple[str, str], ...]], seeds: Sequence[int]) -> list[Point]:
    points: list[Point] = []
    for values in combinations:
        for seed in seeds or (None,):
            own = values if seed is None else (*values, (SEED, str(seed)))
            points.append(Point(len(points), own))
            if len(points) > MOST_POINTS:
                raise _too_many()
    return points


def _too_many() -> AxisError:
    return AxisError(f"the axes make more than {MOST_POINTS:,} points")


def check(axes: Sequence[Axis], seeds: Sequence[int] = ()) -> None:
    """Raise AxisError for axes that do not go together, or not with seeds."""
    seen: dict[str, set[object]] = {}
    for axis in axes:
        for path in axis.paths:
            if path in seen:
                raise AxisError(f"'{path}' is varied by two axes")
        if axis.only_if is not None:
            _check_condition(axis, axis.only_if, seen)
        for index, path in enumerate(axis.paths):
            seen[path] = {same_as(row[index]) for row in axis.rows}
    if seeds and SEED in seen:
        raise AxisError(f"an axis varies '{SEED}', and so do the seeds: leave one of them out")


def _check_condition(
    axis: Axis, condition: tuple[str, tuple[str, ...]], seen: Mapping[str, set[object]]
) -> None:
    path, allowed = condition
    if path not in seen:
        known = ", ".join(f"'{path}'" for path in seen) or "none"
        raise AxisError(f"'{axis.name}' depends on '{path}', which no axis before it varies: {known}")
    if not any(same_as(value) in seen[path] for value in allowed):
        raise AxisError(
            f"'{axis.name}' varies only if '{path}' is {' or '.join(allowed)}, which it never is: "
            "its axis has no such value"
        )


def combinations(axes: Sequence[Axis]) -> Iterator[tuple[tuple[str, str], ...]]:
    """Give every combination of the values of axes that go together, one after another."""
    allowed = [
        frozenset() if axis.only_if is None else frozenset(map(same_as, axis.only_if[1])) for axis in axes
    ]
    return _combined(axes, allowed, ())


def _combined(
    axes: Sequence[Axis], allowed: Sequence[frozenset[object]], before: tuple[tuple[str, str], ...]
) -> Iterator[tuple[tuple[str, str], ...]]:
    if not axes:
        yield before
        return
    axis = axes[0]
    rows = axis.rows
    if axis.only_if is not None:
        value = dict(before).get(axis.only_if[0])
        if value is None or same_as(value) not in allowed[0]:
            rows = ((),)
    for row in rows:
        yield from _combined(axes[1:], allowed[1:], (*before, *zip(axis.paths, row, strict=False)))


def _at(axis: Axis, share: float) -> Iterable[tuple[str, str]]:
    """Return the values of an axis at a share of its way."""
    if not axis.between:
        index = min(int(share * len(axis.rows)), len(axis.rows) - 1)
        return zip(axis.paths, axis.rows[index], strict=True)
    return [
        (path, _between(first, last, share))
        for path, (first, last) in zip(axis.paths, axis.between, strict=True)
    ]


def _between(first: str, last: str, share: float) -> str:
    """Return a value between two ends: whole for whole numbers and sizes, else with 6 significant digits."""
    low, span, unit, is_whole = _ends(first, last)
    if is_whole and not unit:
        return str(int(low) + min(int(share * (span + 1)), int(span)))
    value = low + span * Fraction(share)
    # A part of a byte is none: whole ones lie between the ends, too.
    return written(Fraction(round(value)) if is_whole else rounded(value), unit)


@lru_cache(maxsize=256)
def _ends(first: str, last: str) -> tuple[Fraction, Fraction, str, bool]:
    """Return where a range begins, how far it goes, in which unit, and whether its values are whole."""
    low, high = number_of(first), number_of(last)
    assert low is not None
    assert high is not None
    unit = low[1] or high[1]
    if not unit and low[0].denominator == 1 and high[0].denominator == 1:
        return low[0], high[0] - low[0], "", True
    least = size_in_bytes(f"{first} {'' if low[1] else unit}")
    most = size_in_bytes(f"{last} {'' if high[1] else unit}")
    if least is not None and most is not None:
        return least, most - least, "B", True
    scale = Fraction(1)
    if high[1] and high[1] != unit:
        base_high, base_one = in_base_unit(last), in_base_unit(f"1 {unit}")
        assert base_high is not None
        assert base_one is not None
        scale = base_high[0] / base_one[0] / high[0]
    return low[0], high[0] * scale - low[0], unit, False
