"""The compiled core. JSON text crosses the boundary; `lanewise.api` turns it into tables."""

from collections.abc import Callable, Sequence
from typing import Any, Final

VERSION: Final[str]

class InputError(Exception):
    """Wrong input; the text says what was found, what is allowed, and what to do about it."""

class ScenarioError(InputError):
    """A scenario cannot be used. ``str()`` is the report for a person, with lines and hints."""

    diagnostics: list[dict[str, Any]]
    """One dictionary per mistake: code, message, path, line, column, hint."""

FioJobs = tuple[str, str, Sequence[tuple[str, int, Sequence[tuple[str, str, int]]]]]
"""Path and text of a job file; of each job its name, its line, and its options: key, value, line."""

def run(
    path: str,
    overrides: Sequence[tuple[str, str]] = ...,
    progress: Callable[[dict[str, Any]], bool | None] | None = ...,
    source: str | None = ...,
    fio: FioJobs | None = ...,
    flows_every_s: float | None = ...,
) -> str: ...
def why(
    path: str,
    overrides: Sequence[tuple[str, str]] = ...,
    progress: Callable[[dict[str, Any]], bool | None] | None = ...,
    source: str | None = ...,
) -> str: ...
def explain(
    path: str,
    overrides: Sequence[tuple[str, str]] = ...,
    source: str | None = ...,
    fio: FioJobs | None = ...,
) -> str: ...
def parts() -> str: ...
def bench(name: str) -> str: ...
def benchmark_names() -> list[str]: ...
def scenario_schema() -> str: ...
def ladder(*, generation: int, lanes: int, payload_bytes: int, header_dwords: int, ecrc: bool) -> str: ...
def student_t(probability: float, degrees: float) -> float: ...
