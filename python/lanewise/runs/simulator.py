"""The compiled core's main functions with types: what simulates, and what explains without simulating.

A scenario is the path of a file (``-`` is standard input), its text, or a dictionary of what would be in it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from lanewise import _core
from lanewise.errors import InputError
from lanewise.inputs import MOST_SCENARIO_BYTES, STANDARD_INPUT, read_file, read_input
from lanewise.kept import KeptScenario
from lanewise.results import ExplainResult, RunResult, TraceResult, WhyResult
from lanewise.runs.file_hints import with_file_hints
from lanewise.scenario.text import scenario_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lanewise.documents import Progress, TraceEnd

Scenario: TypeAlias = str | Path | Mapping[str, object]
"""The path of a scenario file, its text of more than one line, or a dictionary of what a file would say."""


def simulate(
    scenario: Scenario | KeptScenario,
    overrides: Sequence[tuple[str, str]] = (),
    progress: Callable[[Progress], bool | None] | None = None,
    *,
    fio: _core.FioJobs | None = None,
    flows_every_s: float | None = None,
    threads: int | None = None,
) -> RunResult:
    """Run a scenario with overrides of its parameters, and with other fio jobs than its own.

    `progress` hears of the run now and then (simulated_s, time_limit_s, events, measuring_since_s), and of
    its flows every so many seconds; returning False ends it. `threads` share the run, where they can.
    """
    name, kept = read_once(scenario, overrides)
    with with_file_hints():
        document = _core.run(name, list(overrides), progress, source_of(kept), fio, flows_every_s, threads)
    return RunResult(json.loads(document), tuple(overrides), *_kept_with(kept))


def prove(
    scenario: Scenario | KeptScenario,
    overrides: Sequence[tuple[str, str]] = (),
    progress: Callable[[Progress], bool | None] | None = None,
) -> WhyResult:
    """Run a scenario, and again with each candidate for its limit ten times larger."""
    name, kept = read_once(scenario, overrides)
    with with_file_hints():
        document = _core.why(name, list(overrides), progress, source_of(kept))
    return WhyResult(json.loads(document), tuple(overrides), *_kept_with(kept))


def resolve(
    scenario: Scenario | KeptScenario,
    overrides: Sequence[tuple[str, str]] = (),
    *,
    fio: _core.FioJobs | None = None,
) -> ExplainResult:
    """Resolve a scenario with overrides and other fio jobs: every parameter, and where it came from."""
    name, kept = read_once(scenario, overrides)
    with with_file_hints():
        document = _core.explain(name, list(overrides), source_of(kept), fio)
    return ExplainResult(json.loads(document))


def resolve_run(result: RunResult) -> ExplainResult:
    """Resolve what a run was simulated from, and not what is in its files by now."""
    name = str(result.document["scenario_path"])
    return resolve(name if result.kept is None else replace(result.kept, name=name), result.overrides)


def list_wires(
    scenario: Scenario,
    overrides: Sequence[tuple[str, str]],
    window: tuple[str, str],
    links: Sequence[str],
    kinds: Sequence[str],
    last: int,
    view: tuple[str | None, str | None] = (None, None),
    progress: Callable[[Progress], bool | None] | None = None,
) -> TraceResult:
    """Run a scenario up to the end of a window, start and length, and list what went over its links in it.

    `view` is what to list instead, around something or a transaction, as in `lanewise.trace`.
    """
    name, kept = read_once(scenario, overrides)
    start, span = window
    wanted, source = (list(links), list(kinds), last, *view), source_of(kept)
    try:
        with with_file_hints():
            document, listing = _core.trace(name, start, span, *wanted, list(overrides), progress, source)
    except ValueError as error:
        raise InputError(str(error)) from error
    return TraceResult(json.loads(document), listing)


def write_wires(
    scenario: Scenario,
    overrides: Sequence[tuple[str, str]],
    window: tuple[str, str],
    links: Sequence[str],
    kinds: Sequence[str],
    form: str,
    put: Callable[[bytes], object],
    progress: Callable[[Progress], bool | None] | None = None,
    *,
    last: int = 100_000,
    view: tuple[str | None, str | None] = (None, None),
) -> TraceEnd:
    """Run a scenario up to the end of a window, and hand what went over its links to `put`, part by part.

    `form` is one of the core's; `view` as for `list_wires`, of which `last` rows are kept. What `put` raises
    breaks the trace off and is raised again; KeyboardInterrupt when something else did.
    """
    name, kept = read_once(scenario, overrides)
    start, span = window
    try:
        with with_file_hints():
            wanted = (start, span, list(links), list(kinds), form, put, last, *view)
            source = source_of(kept)
            document = _core.write_trace(name, *wanted, list(overrides), progress, source)
    except ValueError as error:
        raise InputError(str(error)) from error
    end: TraceEnd = json.loads(document)
    if not end["is_whole"]:
        raise KeyboardInterrupt
    return end


def read_once(
    scenario: Scenario | KeptScenario, overrides: Sequence[tuple[str, str]]
) -> tuple[str, KeptScenario | None]:
    """Return what messages call a scenario, and what is simulated and kept: files may change.

    None for a file that the core does not take: it says why.
    """
    if isinstance(scenario, KeptScenario):
        return scenario.name, scenario
    name, text = given(scenario)
    text = text if text is not None else text_of_file(name)
    return name, None if text is None else KeptScenario.of(name, text, overrides)


def source_of(kept: KeptScenario | None) -> _core.Text | None:
    """Return what the core takes for a scenario that was read."""
    return None if kept is None else kept.source


def _kept_with(kept: KeptScenario | None) -> tuple[str | None, str, Mapping[str, str]]:
    """Return what a result keeps beside its document: the text, when it was simulated, and files of parts."""
    return (None, _now(), {}) if kept is None else (kept.text, _now(), kept.part_files)


def text_of_file(path: str | Path) -> str | None:
    """Return the text of a scenario's file; None for one that cannot be read, is too large or not UTF-8."""
    try:
        content = read_file(path, MOST_SCENARIO_BYTES)
        return content.decode() if len(content) <= MOST_SCENARIO_BYTES else None
    except (OSError, ValueError):
        return None


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M}"


def is_file(scenario: object) -> bool:
    """Whether a scenario is given as the path of a file, and not as what would be in it."""
    return isinstance(scenario, os.PathLike) or (isinstance(scenario, str) and "\n" not in scenario)


def called(scenario: Scenario) -> str:
    """Return what messages call a scenario: its path, or that it was given as text or as a dictionary."""
    if isinstance(scenario, Mapping):
        return "<dictionary>"
    return str(scenario) if is_file(scenario) else "<text>"


def hashable(scenario: Scenario) -> str | Path:
    """Return a scenario as a path or as text: both can be keys. InputError for a dictionary that is none."""
    if isinstance(scenario, Mapping):
        return _written(scenario)
    return Path(scenario) if is_file(scenario) else scenario


def _written(scenario: Mapping[str, object]) -> str:
    try:
        text = scenario_text(scenario)
    except (TypeError, ValueError) as error:
        raise InputError(f"the dictionary cannot be a scenario: {error}") from error
    if not is_unicode(text):
        raise InputError("the dictionary cannot be a scenario: a text in it is not in UTF-8")
    return text


def given(scenario: Scenario) -> tuple[str, str | None]:
    """Return what messages call a scenario, and its text unless the core is to read it from a file."""
    if isinstance(scenario, Mapping):
        return called(scenario), _written(scenario)
    if isinstance(scenario, str) and not is_file(scenario):
        if not is_unicode(scenario):
            raise InputError("the text of the scenario is not in UTF-8")
        return called(scenario), scenario
    name = _name_of(scenario)
    return name, _text_behind(name)


def _name_of(scenario: str | Path) -> str:
    """Return the path as text; InputError for a name that is none in UTF-8, which the core cannot take."""
    path = os.fspath(scenario)
    if not isinstance(path, str):
        raise InputError(f"a scenario is a path, text or a dictionary, not {path!r}")
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
    return standard_input() if path == STANDARD_INPUT else None


@cache
def standard_input() -> str:
    """Read standard input, which can be done once, for verbs that need a scenario twice."""
    data = read_input(STANDARD_INPUT, MOST_SCENARIO_BYTES)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"standard input is not text in UTF-8, from byte {error.start} on") from error
