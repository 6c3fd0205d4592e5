"""Routes of scenarios and machines, and the simulator of a page."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fastapi import APIRouter, Body, Query, Response, WebSocket, WebSocketDisconnect
from fastapi.concurrency import run_in_threadpool

from lanewise.serve.documents import ScenarioRequest

if TYPE_CHECKING:
    from lanewise.serve.service import Service

_LONGEST_NAME = 255
"""Bytes of the name of a file: NAME_MAX of Linux and macOS."""


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
        verb: Literal["scan", "doctor", "predict"],
        dump: Annotated[bytes, Body(media_type="application/octet-stream")],
        name: Annotated[str, Query(max_length=200, description="Name of the file, for messages.")] = "dump",
        device: Annotated[list[str] | None, Query(description="With `predict`: addresses.")] = None,
        what_if: Annotated[list[str] | None, Query(description="With `predict`: changes to try.")] = None,
    ) -> Response:
        """Read a dump (lspci, an archive, …): what `lanewise scan`, `doctor` or `predict --json` prints."""
        with tempfile.TemporaryDirectory(prefix="lanewise-") as folder:
            # The name is for messages alone; what it says of folders is dropped.
            file = Path(name).name.replace("\0", "")
            is_name = file not in ("", "-", "..") and len(file.encode()) <= _LONGEST_NAME
            path = Path(folder) / (file if is_name else "dump")
            await run_in_threadpool(path.write_bytes, dump)
            job = {"verb": verb, "file": str(path), "devices": device, "what_if": what_if}
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


def _page_job(asks: str, request: ScenarioRequest) -> dict[str, object]:
    from lanewise.api import run_pairs

    given = {"scenario": request.scenario, "overrides": run_pairs(request.overrides, None, None)}
    return {"verb": "page", "asks": asks, "request": json.dumps(given)}
