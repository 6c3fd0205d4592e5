"""A scenario as it is written: what `explain` does not say of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanewise.runs.simulator import given
from lanewise.scenario_text import written_tables

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.runs.simulator import Scenario


def tables_of(scenario: Scenario) -> Mapping[str, Any]:
    """Return the tables of a scenario."""
    name, text = given(scenario)
    return written_tables(Path(name).read_text(encoding="utf-8") if text is None else text)


def kinds_of_workloads(scenario: Scenario) -> list[str]:
    """Return the kind of each workload."""
    workloads = tables_of(scenario).get("workload")
    return (
        [str(each.get("kind")) for each in workloads if isinstance(each, dict)]
        if isinstance(workloads, list)
        else []
    )
