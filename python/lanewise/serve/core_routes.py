"""Routes of scenarios and machines, and the simulator of a page."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Body, Query, Response, WebSocket, WebSocketDisconnect
from fastapi.concurrency import run_in_threadpool
from pydantic import Field

from lanewise.machine_documents import file_name
from lanewise.serve.documents import ScenarioRequest
from lanewise.serve.workers import failure

if TYPE_CHECKING:
    from lanewise.serve.service import Service

_MOST_FILES = 20
_Name = Annotated[str, Field(max_length=200)]
_Size = Annotated[int, Field(ge=0)]


def core_routes(service: Service) -> APIRouter:
    """Return the routes."""
    router = APIRouter()

    @router.post("/explain", tags=["scenarios"])
    async def explain(request: ScenarioRequest) -> Response:
        """Return what `lanewise explain --json` prints: every parameter with where it came from."""
        return await service.read(_page_job("explain", request))

    @router.post("/check", tags=["scenarios"])
    async def check(request: ScenarioRequest) -> Response:
        """List the mistakes of a scenario, with lines and columns; an empty list for one that can be run."""
        return await service.read(_page_job("check", request))

    @router.post("/machines/{verb}", tags=["machines"])
    async def machine(
        verb: Literal["scan", "doctor", "predict", "draw", "scenario"],
        dump: Annotated[bytes, Body(media_type="application/octet-stream")],
        name: Annotated[
            list[_Name] | None, Query(max_length=_MOST_FILES, description="Name of each file, for messages.")
        ] = None,
        size: Annotated[
            list[_Size] | None,
            Query(
                max_length=_MOST_FILES,
                description="Bytes of each file, where the body has several, one after another: a dump, and "
                "outputs that tell more of the same machine.",
            ),
        ] = None,
        device: Annotated[list[str] | None, Query(description="With `predict`: addresses.")] = None,
        what_if: Annotated[list[str] | None, Query(description="With `predict`: changes to try.")] = None,
    ) -> Response:
        """Read a dump (lspci, an archive, …): what `lanewise scan`, `doctor` or `predict --json` prints.

        `draw` answers with the picture as `svg`, `scenario` with the text of `lanewise scan --scenario`.
        """
        pieces = _pieces(dump, size)
        with tempfile.TemporaryDirectory(prefix="lanewise-") as folder:
            files: list[str] = []
            for number, piece in enumerate(pieces):
                sent = name[number] if name and number < len(name) else "dump"
                files.append(file_name(sent, files))
                await run_in_threadpool((Path(folder) / files[-1]).write_bytes, piece)
            job = {"verb": verb, "folder": folder, "files": files, "devices": device, "what_if": what_if}
            return await service.read(job)

    @router.websocket("/simulator")
    async def simulator(socket: WebSocket) -> None:
        """Answer a page as its own simulator would."""
        await socket.accept()
        if service.pages.is_full:
            await socket.close(
                4503, f"{service.settings.limits.pages} pages are connected already, the most that may be"
            )
            return
        with suppress(WebSocketDisconnect):
            reason = await service.pages.serve(socket.iter_text(), socket.send_text)
            if reason is not None:
                await socket.close(4503, reason)

    return router


def _pieces(body: bytes, sizes: list[int] | None) -> list[bytes]:
    """Return the files that a body has one after another; the body itself where no sizes are said."""
    if not sizes:
        return [body]
    if sum(sizes) != len(body):
        raise failure(
            2, "wrong-input", f"the files have {sum(sizes)} B by their sizes, the body {len(body)} B"
        )
    ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
    return [body[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _page_job(asks: str, request: ScenarioRequest) -> dict[str, object]:
    from lanewise.api import run_pairs

    given = {"scenario": request.scenario, "overrides": run_pairs(request.overrides, None, None)}
    return {"verb": "page", "asks": asks, "request": json.dumps(given)}
