"""Many runs at once, each only once.

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

from lanewise import api

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from lanewise.experiment.definition import Override
    from lanewise.results import RunResult

RunsDone = Callable[[int, int], None]
"""Called with how many runs are done and how many there are."""


@dataclass(frozen=True)
class Job:
    """One run to do."""

    scenario: Path
    overrides: tuple[Override, ...] = ()


def run_all(jobs: Iterable[Job], *, on_progress: RunsDone | None = None) -> dict[Job, RunResult]:
    """Run every distinct job on all cores.

    The first error of a run ends the others and is raised. So does an interrupt from the keyboard: each run
    is told to stop, and none keeps the process alive.
    """
    distinct = list(dict.fromkeys(jobs))
    stop = Event()
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        futures = {
            pool.submit(
                api.run, job.scenario, overrides=job.overrides, progress=lambda _: not stop.is_set()
            ): job
            for job in distinct
        }
        waiting = set(futures)
        try:
            while waiting:
                done, waiting = wait(waiting, timeout=0.2, return_when=FIRST_COMPLETED)
                for future in done:
                    future.result()
                if done and on_progress:
                    on_progress(len(futures) - len(waiting), len(futures))
        except BaseException:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return {job: future.result() for future, job in futures.items()}
