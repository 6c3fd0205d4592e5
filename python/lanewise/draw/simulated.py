"""Which topology a run has: that of its scenario, with parts and free slots, or that of its links alone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanewise import _core
from lanewise.draw.scenario import of_run, of_scenario
from lanewise.errors import InputError
from lanewise.kept import KeptScenario
from lanewise.runs.simulator import resolve
from lanewise.scenario_text import written_tables

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanewise.documents import Explain
    from lanewise.draw.model import Topology
    from lanewise.results import RunResult


def topology_of(
    result: RunResult,
    scenario: str | Path | None = None,
    overrides: Sequence[tuple[str, str]] = (),
    *,
    resolved: Explain | None = None,
) -> Topology:
    """Return the topology of what was simulated.

    `scenario` and `overrides` are what it was simulated from, a path or the text; without them, those that
    the result keeps. `resolved` is what `explain` said of it at that time, for one that was kept. A scenario
    does not count if it is gone or wrong today, if another version simulated it, or if it lacks a link of the
    run: then the topology has the links of the run and nothing else.
    """
    run = result.document
    written: Mapping[str, Any] = {}
    # Another version may understand a scenario in another way than the one that simulated it.
    if resolved is None and run["lanewise_version"] == _core.VERSION:
        try:
            kept = result.kept if scenario is None else _kept(scenario, overrides)
            # What is one line is the name of a file that may have changed since.
            if kept is not None and "\n" in kept.text:
                overrides = result.overrides if scenario is None else overrides
                resolved, written = resolve(kept, overrides).document, written_tables(kept.text)
        except (InputError, OSError, UnicodeDecodeError):
            resolved = None
    if resolved is None:
        return of_run(run)
    drawn = of_scenario(resolved, written)
    links = {node.link.name for node in drawn.walk() if node.link}
    return drawn if links >= {link["name"] for link in run["links"]} else of_run(run)


def _kept(scenario: str | Path, overrides: Sequence[tuple[str, str]]) -> KeptScenario:
    """Return a scenario that is a text, or in a file."""
    if isinstance(scenario, Path):
        return KeptScenario.of(str(scenario), scenario.read_text(encoding="utf-8"), overrides)
    return KeptScenario("<text>", scenario)
