"""What the routes share: the runs, what is kept, the processes that read, the pages."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fastapi import Response
from fastapi.concurrency import run_in_threadpool

from lanewise.serve.documents import RunState
from lanewise.serve.history import History
from lanewise.serve.page_link import Pages
from lanewise.serve.runs import Runs
from lanewise.serve.workers import JobError, Pool, says_what_is_wrong

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.serve.runs import Run
    from lanewise.serve.settings import Settings


@dataclass
class Service:
    """Everything that works behind the routes."""

    settings: Settings
    history: History = field(init=False)
    runs: Runs = field(init=False)
    pages: Pages = field(init=False)
    readers: Pool = field(init=False)
    """Short requests do not wait for long runs."""

    def __post_init__(self) -> None:
        """Raise `lanewise.InputError` for a folder that cannot keep runs."""
        limits = self.settings.limits
        self.history = History(self.settings.folder)
        self.history.prepare()
        self.runs = Runs(self.settings.folder, limits)
        self.pages = Pages(limits)
        self.readers = Pool(max(2, limits.runs_at_once), limits.memory_bytes, limits.waiting_requests)

    async def read(self, job: Mapping[str, object]) -> Response:
        """Answer with what a job comes to.

        JobError for one whose document says that something is wrong, or when too many wait already.
        """
        async with self.readers.worker() as worker:
            answer = await worker.do(job, self.settings.limits.request_seconds)
        if says_what_is_wrong(answer):
            raise JobError(json.loads(answer))
        return Response(answer, media_type="application/json")

    def state_of(self, name: str) -> RunState | None:
        """Return the state of a run, of this process or kept."""
        run = self.runs.get(name)
        return self._kept(name, run) if run is None or run.state == "done" else state(run)

    def _kept(self, name: str, run: Run | None) -> RunState | None:
        """Return the state of a run that is kept; none of one that was removed since it was done."""
        kept = self.history.kept(name)
        if kept is None:
            return None
        return RunState(
            id=name,
            state="done",
            created=run.created if run else _created(name),
            title=kept.title,
            end_reason=kept.end_reason,
            fingerprint=kept.fingerprint,
            wall_s=run.wall_s if run else None,
        )

    async def remove(self, name: str) -> bool:
        """End a run that waits or goes on; else remove or forget it. Whether there was one."""
        run = self.runs.get(name)
        if run is not None and not run.is_over:
            await self.runs.cancel(run)
            return True
        if run is not None:
            self.runs.forget(run)
            if run.state != "done":
                return True
        return await run_in_threadpool(self.history.remove, name)

    async def end(self) -> None:
        """End runs and processes."""
        await self.runs.end()
        await self.readers.end()


def _created(name: str) -> datetime:
    """Return when a run was asked for, from its name."""
    return datetime.strptime(name[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)


def state(run: Run) -> RunState:
    """Return the state of a run of this process."""
    return RunState(
        id=run.id,
        state=run.state,
        created=run.created,
        progress=run.progress,
        wall_s=run.wall_s,
        error=dict(run.error) if run.error is not None else None,
        **(run.summary or {}),  # type: ignore[arg-type]  # checked by the model
    )
