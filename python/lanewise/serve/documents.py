"""Shapes of what is sent and answered here and nowhere else; the rest is what ``--json`` prints."""

from __future__ import annotations

from datetime import datetime  # noqa: TC003  read by Pydantic
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt

from lanewise.inputs import MOST_SCENARIO_BYTES

MOST_OVERRIDES = 1_000
Word = Annotated[str, Field(max_length=1_000)]
"""A path, or a value with its unit."""


class _Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ScenarioRequest(_Asked):
    """A scenario, and what is different from its text."""

    scenario: str = Field(max_length=MOST_SCENARIO_BYTES, description="Text of a scenario, TOML.")
    overrides: dict[Word, Word | StrictInt | StrictFloat | StrictBool] = Field(
        default={},
        max_length=MOST_OVERRIDES,
        description="Dotted paths and values with their unit, as `explain` names them.",
    )


class RunRequest(ScenarioRequest):
    """A run."""

    seed: StrictInt | None = Field(
        default=None, ge=0, lt=1 << 64, description="Start value for all random numbers."
    )
    time_limit: str | None = Field(
        default=None, max_length=40, description="Simulated time after which it stops, like `20 ms`."
    )
    until: Literal["throughput", "latency"] | None = Field(
        default=None, description="What has to be known well enough."
    )


class RunState(BaseModel):
    """A run, and how far it is."""

    id: str
    state: Literal["waiting", "running", "done", "failed", "cancelled"]
    created: datetime
    title: str | None = None
    progress: dict[str, object] | None = Field(
        default=None, description="simulated_s, time_limit_s, events and measuring_since_s, as heard last."
    )
    wall_s: float | None = Field(default=None, description="Real time that it took, s.")
    end_reason: str | None = None
    fingerprint: str | None = None
    error: dict[str, object] | None = Field(
        default=None, description="Why it failed, as `error` of `--json`."
    )


class Status(BaseModel):
    """How busy a server is, and what it allows."""

    lanewise_version: str
    waiting: int = Field(description="Runs that wait for their turn.")
    running: int = Field(description="Runs that go on.")
    runs_at_once: int
    waiting_runs: int = Field(description="Runs that may wait.")
    run_seconds: float = Field(description="Real time that a run may take, s.")
    request_seconds: float = Field(description="Real time that any other request may take, s.")
    memory_bytes: int = Field(description="Address space of each process that works, B.")
    upload_bytes: int = Field(description="Length of what may be sent at once, B.")
    pages: int = Field(description="Pages that are connected.")
    pages_most: int
