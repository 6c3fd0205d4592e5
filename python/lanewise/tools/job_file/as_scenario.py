"""A rig with jobs as its workloads: the scenario that runs as the job file does on the rig."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise import toml
from lanewise.kept import KeptScenario
from lanewise.scenario_text import written_tables

if TYPE_CHECKING:
    from lanewise import _core

_KIND = "fio"
"""Kind of the workloads whose place jobs take, as in the core."""


def as_scenario(rig: KeptScenario, fio: _core.FioJobs) -> KeptScenario:
    """Return a rig with these jobs in place of its workloads of their kind, behind those of other kinds.

    Comments of the rig are lost.
    """
    file, _, jobs = fio
    tables = dict(written_tables(rig.text))
    others = [each for each in tables.get("workload", []) if each.get("kind") != _KIND]
    own = [
        {"kind": _KIND, "name": name} | {key: _value(text) for key, text, _ in options}
        for name, _, options in jobs
    ]
    tables["workload"] = [*others, *own]
    head = [f"{Path(rig.name).name} with the jobs of {Path(file).name} as its workloads", ""]
    return KeptScenario(rig.name, toml.document(tables, head=head), rig.part_files)


def _value(text: str) -> object:
    """Return the value of an option: a number, truth value, list or quoted text as JSON has them, or text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
