"""Local processes that share the points of a study. One that dies costs one point a try."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, deque
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, TypeAlias

from lanewise.study.worker import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lanewise.study.points import Point
    from lanewise.study.worker import Work

MOST_TRIES = 3
"""A point whose process has died so often is given up."""

_AHEAD = 2
"""Points in the hands of a process: the next one is there when one is done."""

_Answers: TypeAlias = "SimpleQueue[tuple[_Worker, bytes]]"
"""Lines of processes; an empty one when a process says no more."""


class _Worker:
    """A process, and the points that it was given and has not answered, the one that it works on first."""

    def __init__(self, work: Work, answers: _Answers) -> None:
        # Nothing is imported from the current folder.
        command = (sys.executable, "-P", "-m", "lanewise.study.worker")
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.points: deque[Point] = deque()
        self._say(asdict(work))
        Thread(target=self._listen, args=(answers,), daemon=True).start()

    def give(self, point: Point) -> None:
        self.points.append(point)
        self._say((point.number, point.overrides))

    def end(self) -> int:
        """End it now; return how it ended."""
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        self._process.kill()
        return self._process.wait()

    def _say(self, what: object) -> None:
        # One that has died is heard of by what it no longer says.
        with suppress(OSError):
            assert self._process.stdin is not None
            self._process.stdin.write(json.dumps(what).encode() + b"\n")
            self._process.stdin.flush()

    def _listen(self, answers: _Answers) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                answers.put((self, line))
        answers.put((self, b""))


@dataclass
class _Pool:
    work: Work
    waiting: deque[Point]
    answers: _Answers = field(default_factory=SimpleQueue)
    workers: list[_Worker] = field(default_factory=list)
    tries: Counter[int] = field(default_factory=Counter)

    def start(self) -> None:
        worker = _Worker(self.work, self.answers)
        self.workers.append(worker)
        self.fill(worker)

    def fill(self, worker: _Worker) -> None:
        """Give a process its next points."""
        while self.waiting and len(worker.points) < _AHEAD:
            worker.give(self.waiting.popleft())

    def replace(self, dead: _Worker) -> Outcome | None:
        """Start another process for one that died.

        The point that it worked on is tried again, or given up: then its outcome is returned. What it had
        not begun goes back to the others.
        """
        self.workers.remove(dead)
        code = dead.end()
        given_up = None
        if dead.points:
            begun = dead.points.popleft()
            self.tries[begun.number] += 1
            if self.tries[begun.number] < MOST_TRIES:
                dead.points.appendleft(begun)
            else:
                said = f"its process died {MOST_TRIES} times, the last time with {_said(code)}"
                given_up = Outcome(begun.number, "failed", {}, said, overrides=begun.overrides)
        self.waiting.extendleft(reversed(dead.points))
        if self.waiting:
            self.start()
        return given_up


def _for_ever() -> None:
    """Say that nothing is to be done while no answer comes."""


def run_points(
    points: Iterable[Point],
    work: Work,
    processes: int | None = None,
    before_waiting: Callable[[], float | None] = _for_ever,
) -> Iterator[Outcome]:
    """Run points on all cores, or on so many processes, and give their outcomes as they come.

    The processes end with the iterator. A point whose process dies `MOST_TRIES` times is `failed`.
    `before_waiting` is called when no answer is there; it says after how many seconds without one it wants to
    be called again, None for not at all.
    """
    pool = _Pool(work, deque(points))
    try:
        for _ in range(min(processes or os.cpu_count() or 1, len(pool.waiting))):
            pool.start()
        while any(worker.points for worker in pool.workers):
            try:
                worker, line = pool.answers.get(timeout=before_waiting() if pool.answers.empty() else None)
            except Empty:
                continue
            if worker not in pool.workers:
                continue
            if not line.endswith(b"\n"):
                given_up = pool.replace(worker)
                if given_up is not None:
                    yield given_up
                continue
            point = worker.points.popleft()
            pool.fill(worker)
            yield replace(Outcome(**json.loads(line)), overrides=point.overrides)
    finally:
        for worker in pool.workers:
            worker.end()


def _said(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"status {code}"
