"""Runs that wait, go on, or have ended while this process served; those of before are in `history`."""

from __future__ import annotations

import asyncio
import json
import secrets
import shutil
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

from lanewise.files import remove_stale_halves
from lanewise.serve.workers import JobError, Pool, failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from lanewise.serve.settings import Limits

State: TypeAlias = Literal["waiting", "running", "done", "failed", "cancelled"]

_REMEMBERED = 1_000
"""Runs that came to nothing are remembered, so many of them."""


@dataclass
class Run:
    """One run, from when it was asked for."""

    id: str
    created: datetime
    job: Mapping[str, object]
    """What its process is told; empty once it is over."""
    state: State = "waiting"
    progress: dict[str, object] | None = None
    """What was heard last: simulated_s, time_limit_s, events, measuring_since_s."""
    summary: dict[str, object] | None = None
    """Title, end reason and fingerprint of one that is done."""
    error: Mapping[str, object] | None = None
    started: float | None = None
    wall_s: float | None = None
    task: asyncio.Task[None] | None = None
    listeners: set[asyncio.Event] = field(default_factory=set)

    @property
    def is_over(self) -> bool:
        """Whether nothing about it changes any more."""
        return self.state in ("done", "failed", "cancelled")


class Runs:
    """The runs of this process."""

    def __init__(self, folder: Path, limits: Limits) -> None:
        """Begin without any. Those that are done are folders in `folder`."""
        self._folder = folder
        self._limits = limits
        self._pool = Pool(limits.runs_at_once, limits.memory_bytes)
        self._runs: OrderedDict[str, Run] = OrderedDict()

    def count(self, state: State) -> int:
        """Count the runs in a state."""
        return sum(run.state == state for run in self._runs.values())

    def get(self, name: str) -> Run | None:
        """Return a run of this process."""
        return self._runs.get(name)

    def unfinished(self) -> list[Run]:
        """Return those that are not kept in the folder, newest first."""
        return [run for run in reversed(self._runs.values()) if run.state != "done"]

    def submit(self, request: Mapping[str, object]) -> Run:
        """Take a run. JobError when too many wait already."""
        if self.count("waiting") >= self._limits.waiting_runs:
            raise failure(
                2,
                "busy",
                f"{self._limits.waiting_runs} runs wait already, the most that may",
                "ask again later",
            )
        now = datetime.now(UTC)
        name = f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"
        job = {"verb": "run", "folder": str(self._folder / name), **request}
        run = Run(name, now, job)
        self._runs[name] = run
        run.task = asyncio.create_task(self._go(run))
        self._forget()
        return run

    async def cancel(self, run: Run) -> None:
        """End a run that waits or goes on; nothing of it is kept."""
        if run.task is not None and not run.is_over:
            run.task.cancel()
            await asyncio.wait([run.task])
            if not run.is_over:
                # Its task had not begun.
                self._became(run, "cancelled")

    def forget(self, run: Run) -> None:
        """Know no more of a run that is over."""
        self._runs.pop(run.id, None)

    async def watch(self, run: Run) -> AsyncIterator[Run]:
        """Yield a run whenever it has changed, at first now and at last when it is over."""
        event = asyncio.Event()
        run.listeners.add(event)
        try:
            while True:
                event.clear()
                yield run
                if run.is_over:
                    return
                await event.wait()
        finally:
            run.listeners.discard(event)

    async def end(self) -> None:
        """Cancel everything, and end the processes."""
        for run in list(self._runs.values()):
            await self.cancel(run)
        await self._pool.end()

    async def _go(self, run: Run) -> None:
        try:
            async with self._pool.worker() as worker:
                run.started = time.monotonic()
                self._became(run, "running")
                answer = await worker.do(
                    run.job, self._limits.run_seconds, lambda progress: self._heard(run, progress)
                )
            run.summary = json.loads(answer)
            self._became(run, "done")
        except JobError as error:
            run.error = error.document
            self._remove_remains(run)
            self._became(run, "failed")
        except asyncio.CancelledError:
            self._remove_remains(run)
            self._became(run, "cancelled")
        except Exception as error:
            run.error = failure(3, "internal", f"{type(error).__name__}: {error}").document
            self._remove_remains(run)
            self._became(run, "failed")

    def _remove_remains(self, run: Run) -> None:
        """Remove what a process that was ended wrote of a run, half or whole."""
        remove_stale_halves(self._folder, run.id)
        shutil.rmtree(self._folder / run.id, ignore_errors=True)

    @staticmethod
    def _became(run: Run, state: State) -> None:
        run.state = state
        if run.is_over:
            run.job = {}
            if run.started is not None:
                run.wall_s = time.monotonic() - run.started
        for event in run.listeners:
            event.set()

    @staticmethod
    def _heard(run: Run, progress: dict[str, object]) -> None:
        run.progress = progress
        for event in run.listeners:
            event.set()

    def _forget(self) -> None:
        over = [name for name, run in self._runs.items() if run.is_over]
        for name in over[: max(0, len(over) - _REMEMBERED)]:
            del self._runs[name]
