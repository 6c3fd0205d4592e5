"""Processes that work: started, given one job at a time, ended when they take too long or are not needed.

When a process dies, for any reason, its job fails. The serving process never simulates and never
reads a dump itself.
"""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING

from lanewise.error_document import mistake
from lanewise.errors import InputError
from lanewise.output_format import stamped
from lanewise.serve.frames import ANSWER, HEAD, JOB, PROGRESS, framed

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping


class JobError(InputError):
    """A job came to nothing; `document` says why, as ``--json`` has errors."""

    def __init__(self, document: Mapping[str, object]) -> None:
        """Keep what went wrong."""
        super().__init__(str(document))
        self.document = document

    @property
    def is_wrong_input(self) -> bool:
        """Whether the client can correct it."""
        return self.document.get("status") == 2


def failure(status: int, code: str, message: str, hint: str | None = None) -> JobError:
    """Return an error that is in no scenario. `status` is that of the command line: 2 the input's, 3 ours."""
    return JobError(stamped({"status": status, "errors": [mistake(code, message, hint)]}))


def says_what_is_wrong(answer: bytes) -> bool:
    """Whether an answer of the core is an error: only such documents have a status, behind their format."""
    return answer.startswith(b'{"format":1,"status":')


class Worker:
    """One process, and the job that it has."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        """Take over a process that was started."""
        self._process = process

    @classmethod
    async def start(cls, memory_bytes: int) -> Worker:
        """Start a process whose address space is limited to so many bytes."""
        # Nothing is imported from the current folder.
        command = (sys.executable, "-P", "-m", "lanewise.serve.worker", str(memory_bytes))
        return cls(
            await asyncio.create_subprocess_exec(
                *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
            )
        )

    @property
    def is_alive(self) -> bool:
        """Whether it can take a job."""
        return self._process.returncode is None

    async def do(
        self,
        job: Mapping[str, object],
        seconds: float,
        on_progress: Callable[[dict[str, object]], None] | None = None,
    ) -> bytes:
        """Have a job done within so many seconds of real time; return its answer, JSON.

        JobError when the job says that something is wrong, takes too long, or its process dies. After the
        latter two, and when the task that waits is cancelled, the process has ended.
        """
        try:
            async with asyncio.timeout(seconds):
                return await self._done(job, on_progress)
        except TimeoutError:
            await self.end()
            raise failure(
                2, "too-long", f"it was ended after {seconds:g} s, the most that is allowed here"
            ) from None
        except (asyncio.IncompleteReadError, ConnectionError):
            await self.end()
            raise failure(
                3,
                "worker-died",
                "the process that worked on it died; most likely it needed more memory than is allowed here",
            ) from None
        except asyncio.CancelledError:
            await self.end()
            raise

    async def _done(
        self, job: Mapping[str, object], on_progress: Callable[[dict[str, object]], None] | None
    ) -> bytes:
        to, answers = self._process.stdin, self._process.stdout
        assert to is not None
        assert answers is not None
        to.write(framed(JOB, json.dumps(job).encode()))
        await to.drain()
        while True:
            kind, length = HEAD.unpack(await answers.readexactly(HEAD.size))
            content = await answers.readexactly(length)
            if kind == ANSWER:
                return content
            if kind != PROGRESS:
                raise JobError(json.loads(content))
            if on_progress is not None:
                on_progress(json.loads(content))

    async def end(self) -> None:
        """End the process now."""
        with suppress(ProcessLookupError):
            self._process.kill()
        # For asyncio a process is over when its pipes are. A pipe with more in it than its reader buffers
        # is not looked at until that is read. RuntimeError: the task that has a job done reads it already.
        if self._process.stdout is not None:
            with suppress(RuntimeError):
                await self._process.stdout.read()
        await self._process.wait()


class Pool:
    """At most so many processes, started when they are needed first and kept."""

    def __init__(self, most: int, memory_bytes: int, most_waiting: int | None = None) -> None:
        """Begin without any. None lets any number wait for one."""
        self._most_waiting = most_waiting
        self._waiting = 0
        self._free = asyncio.Semaphore(most)
        self._idle: list[Worker] = []
        self._memory_bytes = memory_bytes

    @asynccontextmanager
    async def worker(self) -> AsyncIterator[Worker]:
        """Wait for a turn, and have a process for its time. JobError when too many wait already."""
        if self._most_waiting is not None and self._free.locked() and self._waiting >= self._most_waiting:
            raise failure(
                2, "busy", f"{self._most_waiting} requests wait already, the most that may", "ask again later"
            )
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        try:
            worker = await self._one()
            try:
                yield worker
            finally:
                if worker.is_alive:
                    self._idle.append(worker)
        finally:
            self._free.release()

    async def _one(self) -> Worker:
        while self._idle:
            worker = self._idle.pop()
            if worker.is_alive:
                return worker
        return await Worker.start(self._memory_bytes)

    async def end(self) -> None:
        """End the processes that wait for a job."""
        while self._idle:
            await self._idle.pop().end()
