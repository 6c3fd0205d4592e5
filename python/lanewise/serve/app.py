"""The routes: the page, runs, scenarios, machines, and what is kept."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from lanewise import _core
from lanewise.serve.core_routes import core_routes
from lanewise.serve.documents import Status
from lanewise.serve.guard import Guard
from lanewise.serve.run_routes import run_routes
from lanewise.serve.service import Service
from lanewise.serve.workers import JobError, failure

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from lanewise.serve.settings import Settings

_STATUS_OF = {
    **{"busy": 503, "full": 503, "too-many-kept": 507},
    **{"too-long": 408, "worker-died": 500, "internal": 500, "no-run": 404},
}
"""What HTTP says for the code of an error; 422 for all others, which are about what was sent."""


def application(settings: Settings) -> FastAPI:
    """Return the application. Its processes start when they are needed, and end with it.

    Raises `lanewise.InputError` for a folder that cannot keep runs.
    """
    limits = settings.limits
    service = Service(settings)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        await service.end()

    app = FastAPI(
        title="Lanewise",
        version=_core.VERSION,
        description="Runs of scenarios, what a machine should reach and what is wrong with it, over HTTP.",
        lifespan=lifespan,
        openapi_url="/api/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.add_middleware(Guard, settings=settings)
    _add_errors(app)

    @app.get("/api/status", tags=["server"])
    async def status() -> Status:
        """Say how busy this server is, and what it allows."""
        return Status(
            lanewise_version=_core.VERSION,
            waiting=service.runs.count("waiting"),
            running=service.runs.count("running"),
            runs_at_once=limits.runs_at_once,
            waiting_runs=limits.waiting_runs,
            run_seconds=limits.run_seconds,
            request_seconds=limits.request_seconds,
            memory_bytes=limits.memory_bytes,
            upload_bytes=limits.upload_bytes,
            pages=service.pages.open,
            pages_most=limits.pages,
        )

    app.include_router(run_routes(service), prefix="/api")
    app.include_router(core_routes(service), prefix="/api")

    @app.get("/api", include_in_schema=False, response_class=HTMLResponse)
    async def described() -> str:
        from lanewise.serve.api_page import api_page

        return api_page(app.openapi())

    _add_page(app, settings)
    return app


def _add_page(app: FastAPI, settings: Settings) -> None:
    from lanewise.serve.api_page import front_page

    page = settings.page

    @app.get("/", include_in_schema=False, response_class=HTMLResponse)
    async def front() -> str:
        return front_page(page)

    if page is not None:
        app.mount("/", StaticFiles(directory=page))


def _add_errors(app: FastAPI) -> None:
    """Answer every error as ``--json`` does."""

    @app.exception_handler(JobError)
    async def job(_: Request, error: JobError) -> JSONResponse:
        errors = error.document.get("errors")
        code = errors[0]["code"] if isinstance(errors, list) and errors else "internal"
        return JSONResponse(error.document, _STATUS_OF.get(code, 422 if error.is_wrong_input else 500))

    @app.exception_handler(RequestValidationError)
    async def shape(_: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(each) for each in first["loc"])
        return JSONResponse(failure(2, "wrong-input", f"{where}: {first['msg']}").document, 422)

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 404:
            said = failure(
                2, "no-page", f"there is nothing at {request.url.path!r}", "'/api' lists what there is"
            )
        else:
            said = failure(2, "too-long" if error.status_code == 413 else "wrong-input", str(error.detail))
        return JSONResponse(said.document, error.status_code, error.headers)
