"""Local processes that share the points of a study. One that dies costs one point a try."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, deque
from contextlib import suppress
from dataclasses import asdict, replace
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING, TypeAlias

from lanewise.study.runner import MOST_TRIES, for_ever, outcomes_of
from lanewise.study.worker import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lanewise.study.points import Point
    from lanewise.study.worker import Work

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


class LocalPool:
    """Processes of this machine; a `Runner`. As many as cores where nothing is said."""

    def __init__(self, work: Work, processes: int | None = None) -> None:
        """Start none yet: there are never more than points to run."""
        self._work = work
        self._most = processes or os.cpu_count() or 1
        self._waiting: deque[Point] = deque()
        self._answers: _Answers = SimpleQueue()
        self._workers: list[_Worker] = []
        self._tries: Counter[int] = Counter()

    @property
    def left(self) -> int:
        """Points without an outcome yet."""
        return len(self._waiting) + sum(len(worker.points) for worker in self._workers)

    def give(self, points: Iterable[Point]) -> None:
        """Run these, too."""
        self._waiting.extend(points)
        self._fill()

    def take(self, timeout_s: float | None = None) -> list[Outcome]:
        """Return what has come, having waited for the first of it; nothing when the time is over."""
        found: list[Outcome] = []
        while not found and self.left:
            try:
                worker, line = self._answers.get(timeout=None if timeout_s is None else max(timeout_s, 0.0))
            except Empty:
                return found
            found += self._heard(worker, line)
            while not self._answers.empty():
                found += self._heard(*self._answers.get())
        return found

    def end(self) -> None:
        """End the processes now."""
        for worker in self._workers:
            worker.end()
        self._workers.clear()

    def _fill(self) -> None:
        """Give every process a point before any is given one ahead."""
        while self._waiting:
            worker = min(self._workers, key=lambda worker: len(worker.points), default=None)
            if (worker is None or worker.points) and len(self._workers) < self._most:
                worker = _Worker(self._work, self._answers)
                self._workers.append(worker)
            if worker is None or len(worker.points) >= _AHEAD:
                return
            worker.give(self._waiting.popleft())

    def _heard(self, worker: _Worker, line: bytes) -> list[Outcome]:
        """Take a line of a process, empty or cut off where it died; return the outcome that it means."""
        if worker not in self._workers:
            return []
        if not line.endswith(b"\n"):
            return self._replace(worker)
        point = worker.points.popleft()
        self._fill()
        return [replace(Outcome(**json.loads(line)), overrides=point.overrides)]

    def _replace(self, dead: _Worker) -> list[Outcome]:
        """Do without a process that died.

        The point that it worked on is tried again, or given up: then its outcome is returned. What it had
        not begun goes back to the others.
        """
        self._workers.remove(dead)
        code = dead.end()
        given_up = []
        if dead.points:
            begun = dead.points.popleft()
            self._tries[begun.number] += 1
            if self._tries[begun.number] < MOST_TRIES:
                dead.points.appendleft(begun)
            else:
                said = f"its process died {MOST_TRIES} times, the last time with {_said(code)}"
                given_up = [Outcome(begun.number, "failed", {}, said, overrides=begun.overrides)]
        self._waiting.extendleft(reversed(dead.points))
        self._fill()
        return given_up


def run_points(
    points: Iterable[Point],
    work: Work,
    processes: int | None = None,
    before_waiting: Callable[[], float | None] = for_ever,
) -> Iterator[Outcome]:
    """Run points on all cores of this machine, or on so many processes, and give their outcomes as they come.

    The processes end with the iterator. A point whose process dies `MOST_TRIES` times is `failed`.
    `before_waiting` is as for `outcomes_of`.
    """
    return outcomes_of(LocalPool(work, processes), points, before_waiting)


def _said(code: int) -> str:
    return f"signal {-code}" if code < 0 else f"status {code}"
