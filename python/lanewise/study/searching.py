"""Doing a search: batch after batch of trials, each told in its order once all of its batch are done.

What is chosen depends on no core and on no order of finishing. A search that goes on asks for its trials anew
from the first one on, and takes the outcomes that are there already: it chooses what it would have chosen.
So a run that failed is done again only while no later batch was chosen in view of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.extras import need
from lanewise.study.goals import judge
from lanewise.study.points import SEED, Point
from lanewise.study.store import StudyFolderError
from lanewise.written import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lanewise.study.proposals import Overrides
    from lanewise.study.runner import Runner
    from lanewise.study.running import PointsDone
    from lanewise.study.study import Study
    from lanewise.study.worker import Outcome


def run_search(
    study: Study,
    runner: Runner,
    before: Mapping[int, Outcome],
    keep: Callable[[Sequence[Outcome]], None] | None,
    on_progress: PointsDone | None,
    on_note: Callable[[str], None] | None = None,
) -> dict[int, Outcome]:
    """Do the trials of a search that are not done; return the outcomes of all runs, by number.

    `keep` gets outcomes as they come; the runner is not ended. `on_note` hears of runs that failed and are
    not done again. StudyFolderError for outcomes of other points.
    """
    search = study.search
    assert search is not None
    runs = max(len(study.seeds), 1)
    finished = _settled(before, study.size, search.batch * runs)
    failed = sum(not outcome.is_final for outcome in finished.values())
    if failed and on_note is not None:
        on_note(
            f"{counted(failed, 'run')} that failed {'is' if failed == 1 else 'are'} not done again: later "
            "trials were chosen in view of that; in another folder the search begins anew"
        )

    def tell() -> None:
        if on_progress is not None:
            on_progress(len(finished), study.size)

    tell()
    if len(finished) == study.size:
        return finished
    need("search", "a search")
    from lanewise.study.proposals import Proposals

    proposals = Proposals(study.axes, search)
    trials = study.size // runs
    for first in range(0, trials, search.batch):
        batch = [proposals.ask() for _ in range(min(search.batch, trials - first))]
        chosen = [points_of(study, first + index, each.overrides) for index, each in enumerate(batch)]
        _refuse_others(finished, [point for points in chosen for point in points])
        runner.give(point for points in chosen for point in points if point.number not in finished)
        while runner.left:
            outcomes = runner.take()
            if keep is not None:
                keep(outcomes)
            finished.update({outcome.number: outcome for outcome in outcomes})
            tell()
        for each, points in zip(batch, chosen, strict=True):
            outcomes = [finished[point.number] for point in points]
            proposals.tell(each, judge(outcomes, search.goals, search.limits))
    return finished


def _settled(before: Mapping[int, Outcome], size: int, of_a_batch: int) -> dict[int, Outcome]:
    """Return outcomes that stay as they are: all but failures of the last batch, on which nothing rests."""
    known = {number: outcome for number, outcome in before.items() if number < size}
    last = max(known, default=0) // of_a_batch
    return {
        number: outcome
        for number, outcome in known.items()
        if outcome.is_final or number // of_a_batch < last
    }


def points_of(study: Study, trial: int, overrides: Overrides) -> list[Point]:
    """Return the runs of a trial: one for each seed, the same ones at each trial."""
    own = (*study.overrides, *overrides)
    if not study.seeds:
        return [Point(trial, own)]
    return [
        Point(trial * len(study.seeds) + index, (*own, (SEED, str(seed))))
        for index, seed in enumerate(study.seeds)
    ]


def _refuse_others(finished: Mapping[int, Outcome], points: Sequence[Point]) -> None:
    """Raise StudyFolderError where an outcome is of another point than the search chooses now."""
    for point in points:
        if point.number in finished and finished[point.number].overrides != point.overrides:
            raise StudyFolderError(
                f"point {point.number} of the search was a different one when the search began: name "
                "another folder"
            )
