"""Which tools' outputs can be written from a run, and by which module."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.runs.simulator import simulate
from lanewise.tools.instruments.simulated import SimulatedRun

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path
    from types import ModuleType

    from lanewise.results import ExplainResult, RunResult

WRITTEN = ("fio", "gdsio", "perftest", "osu", "iometer", "smartflow", "nccl-tests")
"""Tools whose output a simulated run can take the form of."""


_KINDS = {"nccl-tests": "collective"}
"""Kind of the workloads of a tool, where that is no name of a tool."""


def kind_of_workload(tool: str) -> str:
    """Return the kind of the workloads whose results are written as this tool's."""
    return _KINDS.get(tool, tool)


def check_known(tool: str) -> None:
    """Raise InputError unless this tool's output can be written; asked before simulating, too."""
    if tool not in WRITTEN:
        raise InputError(f"there is no output format '{tool}'; there are {', '.join(WRITTEN)}")


def check_has(tool: str, scenario: str | Path, overrides: Sequence[tuple[str, str]]) -> None:
    """Raise InputError unless the scenario has a workload of the tool; asked before simulating, too."""
    check_known(tool)
    begun = simulate(scenario, [*overrides, ("run.event_limit", "1")])
    SimulatedRun(begun, {}).instruments(kind_of_workload(tool))


def write_as(tool: str, result: RunResult, explained: ExplainResult) -> str:
    """Return a run as the output of a tool; InputError for one that is not known or that the run lacks."""
    check_known(tool)
    text: str = _module_of(tool).write(_simulated(result, explained))
    return text


def write_sizes_as(tool: str, results: Iterable[RunResult], explained: ExplainResult) -> str:
    """Return runs that differ in the size of messages as one output of a tool that goes through sizes."""
    text: str = _module_of(tool).write(*(_simulated(result, explained) for result in results))
    return text


def _simulated(result: RunResult, explained: ExplainResult) -> SimulatedRun:
    return SimulatedRun(result, {row["path"]: str(row["value"]) for row in explained.document["parameters"]})


def _module_of(tool: str) -> ModuleType:
    return import_module(f"lanewise.tools.instruments.{tool.replace('-', '_')}")
