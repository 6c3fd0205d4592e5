"""What a study costs: points of the enclosure of 24 drives, how two cores share them, driver and store.

.venv/bin/python benches/study.py grid [COUNT]        # 1,000 points on one process, then on two
.venv/bin/python benches/study.py driver [COUNT]      # points that take hardly any time: what is left is ours
.venv/bin/python benches/study.py point               # where the time of one point goes

Seconds of processors say what a quiet machine would take; the wall clock says what this one took, beside what
else it did. Both are printed, with the load.
"""

from __future__ import annotations

import os
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from lanewise import _core
from lanewise.study.running import run_study
from lanewise.study.study import make_study
from lanewise.study.worker import Work, run_point

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lanewise.study.study import Study

ENCLOSURE = Path(__file__).parents[1] / "scenarios" / "enclosure.toml"
"""24 drives."""
SWITCH = ENCLOSURE.with_name("switch.toml")
SHORT = ("run.time_limit", "1 ns")
"""Hardly anything is simulated."""


@dataclass(frozen=True)
class Spent:
    """What a study took."""

    points: int
    wall_s: float
    driver_s: float
    """Of processors, in this process."""
    workers_s: float
    """Of processors, in those that run points."""
    idle_s: float
    """In which processes that run points had nothing to do, from the first point on."""


def spent_on(study: Study, processes: int) -> Spent:
    """Run a study, and keep its points in a folder."""
    start, before = time.perf_counter(), _used()
    watch = _Idle()
    with tempfile.TemporaryDirectory() as folder, watch:
        result = run_study(study, Path(folder) / "study", processes=processes)
    driver_s, workers_s = (now - then for now, then in zip(_used(), before, strict=True))
    assert set(result.table["status"]) == {"done"}
    return Spent(study.size, time.perf_counter() - start, driver_s, workers_s, watch.idle_s)


def _used() -> tuple[float, float]:
    """Return seconds of processors of this process, and of those that it ended."""
    own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime, ended.ru_utime + ended.ru_stime


class _Idle:
    """Watches processes that run points: how long they neither ran nor waited for a processor."""

    def __init__(self) -> None:
        self.idle_s = 0.0
        self._over = Event()
        self._first: dict[int, tuple[float, float]] = {}
        self._last: dict[int, tuple[float, float]] = {}

    def __enter__(self) -> None:
        self._thread = Thread(target=self._watch, daemon=True)
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        for process, (at, busy) in self._last.items():
            first_at, first_busy = self._first[process]
            self.idle_s += (at - first_at) - (busy - first_busy)

    def _watch(self) -> None:
        while not self._over.wait(0.1):
            for process in _children():
                try:
                    ran, waited, _ = Path(f"/proc/{process}/schedstat").read_text().split()
                except OSError:
                    continue
                seen = (time.perf_counter(), (int(ran) + int(waited)) / 1e9)
                # Without the time in which it starts.
                if seen[1] > 0.3:
                    self._first.setdefault(process, seen)
                    self._last[process] = seen


def _children() -> list[int]:
    listed = Path(f"/proc/self/task/{os.getpid()}/children").read_text()
    return [int(process) for process in listed.split()]


def grid(count: int) -> None:
    """Run points of the enclosure on one process, then on two."""
    study = make_study(ENCLOSURE, over=[f"enclosure.latency=1 ns..{count} ns:1 ns"])
    one, two = (_told(study, processes) for processes in (1, 2))
    on_two_s = (two.driver_s + two.workers_s + two.idle_s) / 2
    on_one_s = one.driver_s + one.workers_s
    share = on_one_s / 2 / on_two_s
    print(f"two quiet cores take {on_two_s:.1f} s, and one {on_one_s:.1f} s: efficiency {share:.2f}")


def _told(study: Study, processes: int) -> Spent:
    found = spent_on(study, processes)
    runs_ms, driver_ms, idle_ms = (
        1e3 * seconds / found.points for seconds in (found.workers_s, found.driver_s, found.idle_s)
    )
    print(
        f"{found.points} points, processes: {processes}, {found.wall_s:.1f} s at a load of "
        f"{os.getloadavg()[0]:.1f}; of a processor, a point: {runs_ms:.2f} ms where it runs, "
        f"{driver_ms:.3f} ms of the driver; {idle_ms:.3f} ms in which a process had no point",
        flush=True,
    )
    return found


def driver(count: int) -> None:
    """Run points that take hardly any time."""
    study = make_study(SWITCH, over=[f"sw0.latency=1 ns..{count} ns:1 ns"], overrides=[SHORT])
    found = _told(study, 1)
    text = SWITCH.read_text()
    alone_ms = _median_ms(lambda: _core.run("x", [("sw0.latency", "7 ns"), SHORT], None, text))
    ours_ms = 1e3 * (found.driver_s + found.workers_s) / found.points - alone_ms
    print(
        f"the run alone takes {alone_ms:.3f} ms; driver, store and process beside it {ours_ms:.3f} ms a point"
    )


def point(_: int) -> None:
    """Say where the time of one point goes."""
    text = ENCLOSURE.read_text()

    def run(*overrides: tuple[str, str]) -> Callable[[], str]:
        return lambda: _core.run("x", overrides, None, text)

    explain_ms = _median_ms(lambda: _core.explain("x", (), text))
    start_ms, whole_ms = _median_ms(run(SHORT)), _median_ms(run())
    asked_ms = _median_ms(lambda: run_point(Work("x", text, ()), (), 0, ()))
    print(f"read and resolve, with its explanation as JSON    {explain_ms:6.2f} ms")
    print(f"a run of 1 ns: read, resolve, build, results      {start_ms:6.2f} ms")
    print(f"the run                                           {whole_ms:6.2f} ms")
    print(f"a point: the run, and its row                     {asked_ms:6.2f} ms")


def _median_ms(do: Callable[[], object], times: int = 41) -> float:
    taken: list[float] = []
    for _ in range(times):
        start = time.process_time()
        do()
        taken.append(time.process_time() - start)
    return 1e3 * sorted(taken)[times // 2]


def main(arguments: Sequence[str]) -> None:
    """Do what is asked."""
    what, *more = arguments or ["grid"]
    counts = {"grid": 1000, "driver": 5000, "point": 0}
    {"grid": grid, "driver": driver, "point": point}[what](int(more[0]) if more else counts[what])


if __name__ == "__main__":
    main(sys.argv[1:])
