"""Doing a study: what is not finished is run, and kept as soon as it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from lanewise.study.store import open_study
from lanewise.study.study import Study, StudyResult

if TYPE_CHECKING:
    from pathlib import Path

    from lanewise.study.points import Point
    from lanewise.study.runner import Runner
    from lanewise.study.worker import Outcome, Work

PointsDone = Callable[[int, int], None]
"""Called with how many points are finished and how many there are."""

_TOGETHER = 512
"""Finished points that are written at once at most; each write waits for the disk."""
_SOON_S = 0.5
"""A finished point waits so long at most until it is written."""


def run_study(
    study: Study,
    folder: Path | None = None,
    *,
    processes: int | None = None,
    ray: str | None = None,
    on_progress: PointsDone | None = None,
    on_note: Callable[[str], None] | None = None,
) -> StudyResult:
    """Run the points of a study that are not finished yet, or failed; keep each in a folder as soon as it is.

    Without a folder nothing is kept. A study that was interrupted goes on where it was. `ray` is the address
    of a Ray cluster that runs the points, as `lanewise.sweep` has it; then `processes` are at most so many
    on each node. `on_note` hears of nodes that are lost, and of trials that failed and are not run again.
    Raises InputError for a study that means nothing, StudyFolderError for a folder of another one, and
    ClusterError for a cluster that cannot be used.
    """
    work = study.work()

    def points(left: Sequence[Point], before_waiting: Callable[[], float | None]) -> Iterator[Outcome]:
        return _outcomes(left, work, processes, ray, before_waiting, on_note)

    def trials() -> Runner:
        return _runner(work, processes, ray, on_note)

    run: Callable[..., dict[int, Outcome]] = (
        partial(_run_left, study.points, points)
        if study.search is None
        else partial(_search_left, study, trials, on_note)
    )
    if folder is None:
        found = run({}, None, on_progress)
        return StudyResult(study, [found[number] for number in sorted(found)])
    with open_study(folder, study.asked()) as journal:
        found = run(journal.finished, journal.add, on_progress)
        result = StudyResult(study, [found[number] for number in sorted(found)])
        journal.write_table(result.table, result.units_of_columns)
    return result


def _outcomes(
    points: Sequence[Point],
    work: Work,
    processes: int | None,
    ray: str | None,
    before_waiting: Callable[[], float | None],
    on_note: Callable[[str], None] | None,
) -> Iterator[Outcome]:
    """Let this machine or a cluster run points."""
    if ray is None:
        from lanewise.study.pool import run_points

        return run_points(points, work, processes, before_waiting)
    from lanewise.study.runner import outcomes_of

    return outcomes_of(_runner(work, processes, ray, on_note), points, before_waiting)


def _runner(
    work: Work, processes: int | None, ray: str | None, on_note: Callable[[str], None] | None
) -> Runner:
    """Return what runs points: this machine, or the cluster at an address."""
    if ray is None:
        from lanewise.study.pool import LocalPool

        return LocalPool(work, processes)
    from lanewise.study.cluster.runner import ClusterRunner

    return ClusterRunner(work, ray, processes, on_note)


def _run_left(
    points: Sequence[Point],
    run: Callable[[Sequence[Point], Callable[[], float | None]], Iterator[Outcome]],
    before: Mapping[int, Outcome],
    keep: Callable[[Sequence[Outcome]], None] | None,
    on_progress: PointsDone | None,
) -> dict[int, Outcome]:
    """Run what is not finished, or failed; return all that is finished, by number.

    An outcome counts once it is written.
    """
    from time import monotonic

    finished = {
        number: outcome for number, outcome in before.items() if number < len(points) and outcome.is_final
    }
    fresh: list[Outcome] = []
    since = 0.0

    def tell() -> None:
        if on_progress is not None:
            on_progress(len(finished), len(points))

    def write() -> None:
        if not fresh:
            return
        # Taken first: what could not be kept is not kept again on the way out.
        batch = fresh.copy()
        fresh.clear()
        if keep is not None:
            keep(batch)
        finished.update({outcome.number: outcome for outcome in batch})
        tell()

    def write_in_time() -> float | None:
        left = since + _SOON_S - monotonic()
        if fresh and left <= 0:
            write()
        return left if fresh else None

    tell()
    left = [point for point in points if point.number not in finished]
    try:
        for outcome in run(left, write_in_time) if left else ():
            since = since if fresh else monotonic()
            fresh.append(outcome)
            if len(fresh) >= _TOGETHER or monotonic() - since > _SOON_S:
                write()
    finally:
        write()
    return finished


class _MadeLate:
    """A runner that is made when there are points for it: what is finished needs no cluster."""

    def __init__(self, make: Callable[[], Runner]) -> None:
        self._make = make
        self._made: Runner | None = None

    @property
    def left(self) -> int:
        return 0 if self._made is None else self._made.left

    def give(self, points: Iterable[Point]) -> None:
        several = list(points)
        if several:
            self._made = self._made or self._make()
            self._made.give(several)

    def take(self, timeout_s: float | None = None) -> list[Outcome]:
        return [] if self._made is None else self._made.take(timeout_s)

    def end(self) -> None:
        if self._made is not None:
            self._made.end()


def _search_left(
    study: Study,
    runner_of_trials: Callable[[], Runner],
    on_note: Callable[[str], None] | None,
    before: Mapping[int, Outcome],
    keep: Callable[[Sequence[Outcome]], None] | None,
    on_progress: PointsDone | None,
) -> dict[int, Outcome]:
    """Do the trials of a search that are not finished; return the outcomes of all, by number."""
    from lanewise.study.searching import run_search

    runner = _MadeLate(runner_of_trials)
    try:
        return run_search(study, runner, before, keep, on_progress, on_note)
    finally:
        runner.end()
