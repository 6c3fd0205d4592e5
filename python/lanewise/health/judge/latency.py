"""Copies whose time is mostly not that of their bytes: the small ones of a sweep through sizes.

A copy that is waited for takes a fixed time (the call, the driver, the launch, the way there and back) and
the time of its bytes. What the fixed part is depends on driver and processor, and no source has it, so it is
taken from the measurement: smallest and largest copy of a sweep give both parts of a straight line. A copy of
which the fixed part is more than a result may fall short says nothing about bandwidth; larger ones of the
sweep do. Of a copy that stands alone no line can be drawn: it counts as small where all that it took beyond
its bytes could be its launch. Left out: copies that overlap, and the step where drivers change their method.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lanewise.tools.instruments.measurement import Case

_LAUNCH_S = 20e-6
"""What a copy may take besides its bytes. Assumed: call, launch and interrupt are some microseconds each."""

_LONGEST_START_S = 500e-6
"""The most that a sweep may say of it. Assumed: ranks of a collective and drivers in a guest start within
that, and a line that says more goes through rates that differ."""


class FixedTimes:
    """What copies of a measurement take besides their bytes."""

    def __init__(self, cases: Iterable[Case]) -> None:
        """Find the sweeps: copies that differ in size and in nothing else."""
        self._sweeps: dict[tuple[object, ...], list[Case]] = {}
        for case in cases:
            if _seconds(case) is not None:
                self._sweeps.setdefault(_sweep(case), []).append(case)

    def of(self, case: Case, possible_bytes_per_s: float) -> float | None:
        """Return the fixed part of a copy in seconds, as its sweep tells, or beyond what is possible.

        None where it cannot be told: no size, or alone and longer than any launch.
        """
        seconds, size = _seconds(case), case.block_bytes
        sweep = self._sweeps.get(_sweep(case))
        if sweep is None or seconds is None or not size:
            return None
        fixed = _intercept(sweep)
        if fixed is not None and fixed > _LONGEST_START_S:
            return None
        if fixed is not None:
            return min(fixed, seconds)
        beyond = seconds - size / possible_bytes_per_s
        return beyond if 0 <= beyond <= _LAUNCH_S else None


def _intercept(sweep: Sequence[Case]) -> float | None:
    """Return where the line through the smallest and the largest copy has no bytes; None for one size."""
    small = min(sweep, key=lambda case: case.block_bytes or 0)
    large = max(sweep, key=lambda case: case.block_bytes or 0)
    first, last = _seconds(small), _seconds(large)
    sizes = (small.block_bytes or 0), (large.block_bytes or 0)
    if first is None or last is None or sizes[0] == sizes[1]:
        return None
    return max(0.0, first - sizes[0] * (last - first) / (sizes[1] - sizes[0])) if last > first else first


def _seconds(case: Case) -> float | None:
    """Return what one copy took, from its size and rate; None where several were under way, or unknown."""
    if case.queue_depth != 1 or not case.block_bytes or not case.bandwidth_bytes_per_s:
        return None
    return case.block_bytes / case.bandwidth_bytes_per_s


def _sweep(case: Case) -> tuple[object, ...]:
    """Name what copies of one sweep have in common."""
    return case.direction, case.target, case.raw.get("test"), case.raw.get("memory"), case.raw.get("device")
