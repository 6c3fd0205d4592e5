"""What runs on a node of the cluster: an actor around processes like those of this machine.

One actor has up to `MOST_CORES` cores, and a process for each. So a point that ends its process costs that
process, as on this machine, and messages go between the driver and a host, not between the driver and a
point.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.study.worker import Work

MOST_CORES = 16
"""Of one host. Assumed: large enough that a node is a few hosts, small enough that a node of which others use
some cores still takes part with most of the rest, because Ray gives a host all of its cores or none."""


def host_class() -> type[Any]:
    """Return the class of the actor.

    Made in here, it travels as code and not as the name of a module, so that a node with another Lanewise can
    say which one it has. Nothing of Lanewise is imported before that.
    """

    class LanewiseHost:
        """Runs points; one call at a time."""

        def versions(self) -> dict[str, str | None]:
            """Say what is installed here, and where that is; None for what is not."""
            import platform

            import ray

            found: dict[str, str | None] = {
                "node": platform.node(),
                "ray": ray.__version__,
                "lanewise": None,
                "core": None,
                "error": None,
            }
            try:
                from lanewise import __version__

                found["lanewise"] = __version__
                from lanewise.runs.cache import core_hash

                found["core"] = core_hash()
            except Exception as error:
                found["error"] = f"{type(error).__name__}: {error}"
            return found

        def begin(self, work: Work, processes: int) -> None:
            """Take what all points share, and how many processes run them."""
            from lanewise.study.pool import LocalPool

            self._pool = LocalPool(work, processes)
            self._processes = processes

        def exchange(
            self, points: Iterable[tuple[int, tuple[tuple[str, str], ...]]], within_s: float
        ) -> list[tuple[Any, ...]]:
            """Take points, and give outcomes: at least one, and what else comes within a time after it.

            It answers sooner where a process is about to have nothing to do. An outcome is its number,
            status, row, error and `wall_s`: its parameters are known where it came from.
            """
            from time import monotonic

            from lanewise.study.points import Point

            self._pool.give(Point(number, overrides) for number, overrides in points)
            found = self._pool.take()
            until = monotonic() + within_s
            while self._pool.left > self._processes and (left_s := until - monotonic()) > 0:
                found += self._pool.take(left_s)
            return [(each.number, each.status, each.row, each.error, each.wall_s) for each in found]

    return LanewiseHost
