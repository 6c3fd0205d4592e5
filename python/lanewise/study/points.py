"""The points of a study: every combination of its axes, or a sample of what lies between their ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.study.axes import Axis, AxisError, number_of, written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from fractions import Fraction

MOST_POINTS = 1_000_000
"""Of one study: its results are kept in memory once, when they are read."""

SEED = "run.seed"


@dataclass(frozen=True)
class Point:
    """One run of a study."""

    number: int
    """From 0 on, in the order of the axes: the last one moves fastest."""
    overrides: tuple[tuple[str, str], ...]


def grid(axes: Sequence[Axis], seeds: Sequence[int]) -> list[Point]:
    """Return every combination; seeds move fastest, and are the same at each combination.

    AxisError for two axes over one parameter, a condition on no axis before, and too many points.
    """
    check(axes)
    return _with_seeds(_combinations(axes), seeds)


def sample(axes: Sequence[Axis], seeds: Sequence[int], how: str) -> list[Point]:
    """Return points between the ends of the axes, spread as `how` says.

    'lhs:100' is a Latin hypercube, 'sobol:128' a scrambled Sobol sequence, and 'random:50' independent
    points; the same ones each time. Whole numbers stay whole; of lists an element is taken. Needs the extra
    ``calibrate``. InputError for what is no sample.
    """
    from lanewise.extras import need

    check(axes)
    kind, _, text = how.partition(":")
    if kind not in ("lhs", "sobol", "random") or not text.isdecimal() or not 1 <= int(text) <= MOST_POINTS:
        raise InputError(f"'{how}' is no sample: write lhs:100, sobol:128 or random:50, with how many points")
    if any(axis.only_if for axis in axes):
        raise AxisError("a sample has no conditional axes")
    need("calibrate", "a sample")
    from scipy.stats import qmc

    count = int(text)
    if kind == "lhs":
        shares = qmc.LatinHypercube(d=len(axes), rng=0).random(count)
    elif kind == "sobol":
        if count & (count - 1):
            raise InputError(
                f"a Sobol sequence has a power of two points: write sobol:{1 << count.bit_length()}"
            )
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


def _with_seeds(combinations: Iterable[tuple[tuple[str, str], ...]], seeds: Sequence[int]) -> list[Point]:
    points: list[Point] = []
    for values in combinations:
        for seed in seeds or (None,):
            own = values if seed is None else (*values, (SEED, str(seed)))
            points.append(Point(len(points), own))
            if len(points) > MOST_POINTS:
                raise AxisError(f"the axes make more than {MOST_POINTS:,} points")
    return points


def check(axes: Sequence[Axis]) -> None:
    """Raise AxisError for axes that do not go together."""
    seen: list[str] = []
    for axis in axes:
        for path in axis.paths:
            if path in seen:
                raise AxisError(f"'{path}' is varied by two axes")
        if axis.only_if is not None and axis.only_if[0] not in seen:
            known = ", ".join(f"'{path}'" for path in seen) or "none"
            raise AxisError(
                f"'{axis.name}' hangs on '{axis.only_if[0]}', which no axis before it varies: {known}"
            )
        seen += axis.paths


def _combinations(
    axes: Sequence[Axis], before: tuple[tuple[str, str], ...] = ()
) -> Iterator[tuple[tuple[str, str], ...]]:
    if not axes:
        yield before
        return
    axis, *rest = axes
    if axis.only_if is not None:
        path, allowed = axis.only_if
        if dict(before).get(path) not in allowed:
            yield from _combinations(rest, before)
            return
    for row in axis.rows:
        yield from _combinations(rest, (*before, *zip(axis.paths, row, strict=True)))


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
    from fractions import Fraction

    low, high = number_of(first), number_of(last)
    assert low is not None
    assert high is not None
    unit = low[1] or high[1]
    if not unit and low[0].denominator == 1 and high[0].denominator == 1:
        return str(int(low[0]) + min(int(share * (high[0] - low[0] + 1)), int(high[0] - low[0])))
    from lanewise.study.axes import in_base_unit

    scale: Fraction = Fraction(1)
    if high[1] and high[1] != unit:
        base_high, base_one = in_base_unit(last), in_base_unit(f"1 {unit}")
        assert base_high is not None
        assert base_one is not None
        scale = base_high[0] / base_one[0] / high[0]
    value = low[0] + (high[0] * scale - low[0]) * Fraction(share)
    return written(Fraction(f"{float(value):.6g}"), unit)
