"""The compiled core's two main functions with types: what simulates, and what explains without simulating."""

from __future__ import annotations

import json
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from lanewise import _core
from lanewise.errors import InputError
from lanewise.results import ExplainResult, RunResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

_STANDARD_INPUT = "-"
_MOST_BYTES = 4 << 20
"""A scenario has at most so many; the core says so when there are more."""


def simulate(
    scenario: str | Path,
    overrides: Sequence[tuple[str, str]] = (),
    progress: Callable[[dict[str, Any]], bool | None] | None = None,
    *,
    fio: _core.FioJobs | None = None,
    flows_every_s: float | None = None,
) -> RunResult:
    """Run a scenario file with overrides of its parameters, and with other fio jobs than its own.

    `progress` hears of the run now and then (simulated_s, time_limit_s, events, measuring_since_s), and of
    its flows every so many seconds; returning False ends it.
    """
    path = str(scenario)
    text = _core.run(path, list(overrides), progress, _text_behind(path), fio, flows_every_s)
    return RunResult(json.loads(text))


def resolve(
    scenario: str | Path,
    overrides: Sequence[tuple[str, str]] = (),
    *,
    fio: _core.FioJobs | None = None,
) -> ExplainResult:
    """Resolve a scenario file with overrides and other fio jobs: every parameter, and where it came from."""
    path = str(scenario)
    return ExplainResult(json.loads(_core.explain(path, list(overrides), _text_behind(path), fio)))


def _text_behind(path: str) -> str | None:
    """Return what stands on standard input, when that is what the path means."""
    return standard_input() if path == _STANDARD_INPUT else None


@cache
def standard_input() -> str:
    """Read standard input, which can be done once, for verbs that need a scenario twice."""
    data = sys.stdin.buffer.read(_MOST_BYTES + 1)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"standard input is not text in UTF-8, from byte {error.start} on") from error
