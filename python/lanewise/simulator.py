"""The compiled core's two main functions with types: what simulates, and what explains without simulating."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lanewise import _core
from lanewise.results import ExplainResult, RunResult

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path


def simulate(
    scenario: str | Path,
    overrides: Sequence[tuple[str, str]] = (),
    progress: Callable[[dict[str, Any]], bool | None] | None = None,
) -> RunResult:
    """Run a scenario file with overrides of its parameters.

    `progress` hears of the run now and then (simulated_s, time_limit_s, events); returning False ends it.
    """
    return RunResult(json.loads(_core.run(str(scenario), list(overrides), progress)))


def resolve(scenario: str | Path, overrides: Sequence[tuple[str, str]] = ()) -> ExplainResult:
    """Resolve a scenario file with overrides: every parameter, and where it came from."""
    return ExplainResult(json.loads(_core.explain(str(scenario), list(overrides))))
