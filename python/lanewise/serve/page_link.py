"""What a page uses in place of its own simulator: messages of ``crates/wasm/js/worker.js``, over a WebSocket.

A page has a process of its own, with its sessions, for as long as it is connected. The messages are
``{id, verb, given}``, the answers ``{id, answer}`` or ``{id, failure}``, in the order of the messages.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from lanewise.serve.workers import JobError, Worker, failure, says_what_is_wrong

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from lanewise.serve.settings import Limits

_ASKS = {
    "run": "run",
    "explain": "explain",
    "check": "check",
    "trace": "trace",
    "traceFile": "trace",
    "parts": "parts",
    "scenarioSchema": "scenario_schema",
}
_OF_SESSION = ("new", "step", "state", "results", "change", "close")


_WAITING = 64
"""Messages of a page that may wait for their turn; the lab has far fewer under way."""


class Pages:
    """The pages that are connected."""

    def __init__(self, limits: Limits) -> None:
        """Begin without any."""
        self._limits = limits
        self.open = 0

    @property
    def is_full(self) -> bool:
        """Whether no other page may connect."""
        return self.open >= self._limits.pages

    async def serve(self, messages: AsyncIterator[str], send: Callable[[str], Awaitable[None]]) -> str | None:
        """Answer the messages of one page, one after another, until it has gone.

        When it goes, what is under way for it ends at once. Returns why the page was left although it is
        still there: it asked for too much, or for nothing; None where it has gone.
        """
        self.open += 1
        waiting: asyncio.Queue[str] = asyncio.Queue(_WAITING)
        tasks = (
            asyncio.create_task(_all_read(messages, waiting)),
            asyncio.create_task(self._all_answered(waiting, send)),
        )
        try:
            ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            return next((reason for each in ended if (reason := each.result())), None)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            self.open -= 1

    async def _all_answered(self, waiting: asyncio.Queue[str], send: Callable[[str], Awaitable[None]]) -> str:
        """Answer until nothing is asked for a long time; return what is said then."""
        worker: Worker | None = None
        try:
            while True:
                try:
                    async with asyncio.timeout(self._limits.idle_seconds):
                        message = await waiting.get()
                except TimeoutError:
                    return f"nothing was asked for {self._limits.idle_seconds:g} s"
                if worker is None or not worker.is_alive:
                    worker = await Worker.start(self._limits.memory_bytes)
                await send(await self._answered(worker, message))
        finally:
            if worker is not None:
                await asyncio.shield(worker.end())

    async def _answered(self, worker: Worker, message: str) -> str:
        number: object = None
        try:
            number, asks, request = _read(message)
            seconds = self._limits.run_seconds if asks in ("run", "trace") else self._limits.request_seconds
            answer = await worker.do({"verb": "page", "asks": asks, "request": request}, seconds)
        except JobError as error:
            # Its sessions are gone with the process.
            document = error.document if worker.is_alive else {**error.document, "discard": True}
            return json.dumps({"id": number, "failure": document})
        text = answer.decode()
        if asks == "version":
            text = json.dumps(json.loads(text)["lanewise_version"])
        key = "failure" if says_what_is_wrong(answer) else "answer"
        return f'{{"id":{json.dumps(number)},"{key}":{text}}}'


async def _all_read(messages: AsyncIterator[str], waiting: asyncio.Queue[str]) -> str | None:
    """Read until a page has gone, also while it is answered; return why it was left."""
    with suppress(asyncio.QueueFull):
        async for message in messages:
            waiting.put_nowait(message)
        return None
    return f"{_WAITING} messages wait already, the most that may"


def _read(message: str) -> tuple[object, str, str]:
    """Return the number of a message, what it asks the simulator, and the request of that as JSON."""
    try:
        said = json.loads(message)
        number, verb, given = said["id"], said["verb"], said["given"]
        if not isinstance(verb, str) or not isinstance(given, list):
            raise TypeError
        return number, *_asked(verb, given)
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise failure(2, "wrong-input", "a message is {id, verb, given} as worker.js has them") from error


def _asked(verb: str, given: Sequence[object]) -> tuple[str, str]:
    if verb in ("version", "parts", "scenarioSchema"):
        return _ASKS.get(verb, verb), ""
    if verb == "ofSession":
        if given[0] not in _OF_SESSION:
            raise ValueError(verb)
        return f"session_{given[0]}", json.dumps(given[1])
    options = given[1] if len(given) > 1 and isinstance(given[1], dict) else {}
    return _ASKS[verb], json.dumps({"scenario": given[0], **options})
