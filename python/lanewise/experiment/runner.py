"""Many runs at once, each only once, and none again that is finished already.

The core releases the interpreter lock while it simulates, so threads are enough to use every core. Runs
with the same scenario and overrides are one run.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING

from lanewise._core import ScenarioError
from lanewise.runs.simulator import simulate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from lanewise.experiment.definition import Override
    from lanewise.results import RunResult
    from lanewise.runs.cache import RunCache

RunsDone = Callable[[int, int], None]
"""Called with how many runs are done and how many there are."""


@dataclass(frozen=True)
class Job:
    """One run to do."""

    scenario: Path | str
    """The path of a file, or TOML text."""
    overrides: tuple[Override, ...] = ()

    def text(self) -> str:
        """Return what the scenario says; OSError for a file that cannot be read."""
        if isinstance(self.scenario, str):
            return self.scenario
        return self.scenario.read_text(encoding="utf-8")


def run_all(
    jobs: Iterable[Job], *, cache: RunCache | None = None, on_progress: RunsDone | None = None
) -> dict[Job, RunResult]:
    """Run every distinct job on all cores; those in the cache are not run again.

    The first error of a run ends the others and is raised. So does an interrupt from the keyboard: each run
    is told to stop, and none keeps the process alive. What was finished by then is in the cache.
    """
    return dict(_finished(jobs, cache, on_progress, skip_unusable=False))


def try_all(
    jobs: Iterable[Job], *, cache: RunCache | None = None, on_progress: RunsDone | None = None
) -> Mapping[Job, RunResult]:
    """Run like `run_all`, leaving out jobs whose scenario is wrong: a varied value may not be allowed."""
    return _finished(jobs, cache, on_progress, skip_unusable=True)


def _finished(
    jobs: Iterable[Job], cache: RunCache | None, on_progress: RunsDone | None, *, skip_unusable: bool
) -> dict[Job, RunResult]:
    distinct = list(dict.fromkeys(jobs))
    results = {job: result for job in distinct if cache and (result := cache.find(job)) is not None}
    if on_progress:
        on_progress(len(results), len(distinct))
    stop = Event()
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        futures = {pool.submit(_run, job, cache, stop): job for job in distinct if job not in results}
        waiting = set(futures)
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    try:
                        results[futures[future]] = future.result()
                    except ScenarioError:
                        if not skip_unusable:
                            raise
                if done and on_progress:
                    on_progress(len(distinct) - len(waiting), len(distinct))
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results


def _run(job: Job, cache: RunCache | None, stop: Event) -> RunResult:
    result = simulate(job.scenario, job.overrides, lambda _: not stop.is_set())
    if cache:
        cache.keep(job, result)
    return result
