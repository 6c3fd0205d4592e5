"""Who runs the points of a study: what it asks of processes of this machine, and of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lanewise.study.points import Point
    from lanewise.study.worker import Outcome

MOST_TRIES = 3
"""A point that has cost what runs it so often is given up."""


class Runner(Protocol):
    """Runs points; each that was given comes back as one outcome, in any order.

    Points in the hands of something that is lost are run again by the runner itself, `MOST_TRIES` times at
    most; then their outcome is `failed` and says so.
    """

    @property
    def left(self) -> int:
        """Points without an outcome yet."""
        ...

    def give(self, points: Iterable[Point]) -> None:
        """Run these, too."""
        ...

    def take(self, timeout_s: float | None = None) -> list[Outcome]:
        """Return what has come, having waited for the first of it; nothing when the time is over."""
        ...

    def end(self) -> None:
        """Let go of everything, finished or not."""
        ...


def for_ever() -> None:
    """Say that nothing is to be done while no outcome comes."""


def outcomes_of(
    runner: Runner, points: Iterable[Point], before_waiting: Callable[[], float | None] = for_ever
) -> Iterator[Outcome]:
    """Let a runner run points, and give their outcomes as they come; the runner ends with the iterator.

    `before_waiting` is called when no outcome is there; it says after how many seconds without one it wants
    to be called again, None for not at all.
    """
    try:
        runner.give(points)
        while runner.left:
            yield from runner.take(0.0) or runner.take(before_waiting())
    finally:
        runner.end()
