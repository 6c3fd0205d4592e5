"""The compiled core's two main functions with types: what simulates, and what explains without simulating."""

from __future__ import annotations

import json
import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any

from lanewise import _core
from lanewise.errors import InputError
from lanewise.results import ExplainResult, RunResult, WhyResult

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
    path = _name_of(scenario)
    text = _core.run(path, list(overrides), progress, _text_behind(path), fio, flows_every_s)
    return RunResult(json.loads(text))


def prove(
    scenario: str | Path,
    overrides: Sequence[tuple[str, str]] = (),
    progress: Callable[[dict[str, Any]], bool | None] | None = None,
) -> WhyResult:
    """Run a scenario file, and again with each candidate for its limit ten times larger."""
    path = _name_of(scenario)
    return WhyResult(json.loads(_core.why(path, list(overrides), progress, _text_behind(path))))


def resolve(
    scenario: str | Path,
    overrides: Sequence[tuple[str, str]] = (),
    *,
    fio: _core.FioJobs | None = None,
) -> ExplainResult:
    """Resolve a scenario file with overrides and other fio jobs: every parameter, and where it came from."""
    path = _name_of(scenario)
    return ExplainResult(json.loads(_core.explain(path, list(overrides), _text_behind(path), fio)))


def _name_of(scenario: str | Path) -> str:
    """Return the path as text; InputError for a name that is none in UTF-8, which the core cannot take."""
    path = os.fspath(scenario)
    if not isinstance(path, str):
        raise InputError(f"a scenario is named by a text or a Path, not by {path!r}")
    if not is_unicode(path):
        raise InputError(
            f"the name {path!a} is not in UTF-8; rename the file, or give it on standard input, as '-'"
        )
    return path


def is_unicode(text: str) -> bool:
    """Whether a text can be written in UTF-8: bytes from outside that are none come in as lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _text_behind(path: str) -> str | None:
    """Return what stands on standard input, when that is what the path means."""
    return standard_input() if path == _STANDARD_INPUT else None


@cache
def standard_input() -> str:
    """Read standard input, which can be done once, for verbs that need a scenario twice."""
    if sys.stdin is None:
        raise InputError("there is no standard input to read a scenario from")
    data = sys.stdin.buffer.read(_MOST_BYTES + 1)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"standard input is not text in UTF-8, from byte {error.start} on") from error
