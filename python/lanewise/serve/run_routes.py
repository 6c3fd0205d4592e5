"""Routes of runs: started, watched, read, ended."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Response, WebSocket, WebSocketDisconnect
from fastapi import Path as InPath
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import FileResponse, JSONResponse

from lanewise.serve.documents import RunRequest, RunState
from lanewise.serve.service import state as said_of
from lanewise.serve.workers import JobError, failure

if TYPE_CHECKING:
    from lanewise.serve.service import Service

_ID = "^[0-9]{8}T[0-9]{6}-[0-9a-f]{8}$"
RunId = Annotated[str, InPath(pattern=_ID, description="As `POST /api/runs` gave it.")]
Before = Annotated[str | None, Query(pattern=_ID, description="List only runs that are older than this one.")]


def run_routes(service: Service) -> APIRouter:
    """Return the routes."""
    router = APIRouter()

    @router.post("/runs", status_code=202, tags=["runs"])
    async def start(request: RunRequest, response: Response) -> RunState:
        """Start a run. It goes on when its client disconnects, and is kept when it is done."""
        most = service.settings.limits.kept_runs
        if len(await run_in_threadpool(service.history.names)) >= most:
            raise failure(2, "too-many-kept", f"{most:,} runs are kept: remove some with DELETE /api/runs/ID")
        run = service.runs.submit(request.model_dump())
        response.headers["Location"] = f"/api/runs/{run.id}"
        return said_of(run)

    @router.get("/runs", tags=["runs"])
    async def list_runs(
        most: Annotated[int, Query(ge=1, le=1000)] = 50, before: Before = None
    ) -> list[RunState]:
        """List runs, newest first: those that wait or go on, and those that are kept."""
        # Here, for in another thread they would change meanwhile.
        others = [run.id for run in service.runs.unfinished()]

        def listed() -> list[RunState]:
            names = sorted({*others, *service.history.names()}, reverse=True)
            asked = [name for name in names if before is None or name < before][:most]
            return [state for name in asked if (state := service.state_of(name)) is not None]

        return await run_in_threadpool(listed)

    @router.get("/runs/{run_id}", tags=["runs"])
    async def show(run_id: RunId) -> RunState:
        """Say how far a run is."""
        state = service.state_of(run_id)
        if state is None:
            raise no_run(run_id)
        return state

    @router.delete("/runs/{run_id}", status_code=204, tags=["runs"])
    async def remove(run_id: RunId) -> None:
        """End a run that waits or goes on; remove one that is kept; forget one that failed or was ended."""
        if not await service.remove(run_id):
            raise no_run(run_id)

    @router.get("/runs/{run_id}/results", tags=["runs"])
    async def results(run_id: RunId) -> FileResponse:
        """Return what `lanewise run --json` prints."""
        folder = service.history.place(run_id)
        if folder is None or not (folder / "results.json").is_file():
            raise no_run(run_id)
        return FileResponse(folder / "results.json", media_type="application/json")

    @router.get("/runs/{run_id}/tables/{table}", tags=["runs"])
    async def table(run_id: RunId, table: Annotated[str, InPath(max_length=40)]) -> FileResponse:
        """Return a table of a run, Parquet; the unit of a column is in its field's metadata."""
        path = service.history.table(run_id, table)
        if path is None:
            raise no_run(f"{run_id}/{table}")
        return FileResponse(
            path, media_type="application/vnd.apache.parquet", filename=f"{run_id}-{path.name}"
        )

    @router.get("/flows", tags=["runs"])
    async def flows(
        title: Annotated[str | None, Query(max_length=200, description="Part of a title.")] = None,
        most: Annotated[int, Query(ge=1, le=10_000)] = 1000,
    ) -> JSONResponse:
        """List the flows of all runs that are kept, newest first."""
        return JSONResponse(await run_in_threadpool(service.history.flows, title, most))

    @router.websocket("/runs/{run_id}/progress")
    async def progress(socket: WebSocket, run_id: str) -> None:
        """Send the state of a run whenever it changes, until it is over."""
        await socket.accept()
        run = service.runs.get(run_id)
        with suppress(WebSocketDisconnect):
            if run is None:
                state = service.state_of(run_id)
                if state is None:
                    await socket.close(4404, "there is no such run")
                    return
                await socket.send_text(state.model_dump_json(exclude_none=True))
                await socket.close()
                return
            async for each in service.runs.watch(run):
                await socket.send_text(said_of(each).model_dump_json(exclude_none=True))
            await socket.close()

    return router


def no_run(name: str) -> JobError:
    """Return the error for a run that is not there."""
    return failure(2, "no-run", f"there is no run '{name}'")
