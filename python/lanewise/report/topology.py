"""The topology of a run as a figure: links as they came up, coloured by their use, with rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise import _core
from lanewise.draw.scenario import of_run, of_scenario, use_of, written_tables
from lanewise.draw.svg import topology_svg
from lanewise.errors import InputError
from lanewise.report.plots import Figure
from lanewise.runs.simulator import resolve

if TYPE_CHECKING:
    from lanewise.draw.model import Topology
    from lanewise.results import RunResult

_CAPTION = (
    "Each link with its two directions, upstream and downstream, coloured by how much of the time it was in "
    "use, and the goodput of each in GB/s."
)


def topology_figure(result: RunResult, title: str = "Links and their use") -> Figure:
    """Draw the machine that was simulated; with parts and free slots where its scenario was kept."""
    return Figure(title, _CAPTION, topology_svg(_topology(result), use_of(result.document), embedded=True))


def _topology(result: RunResult) -> Topology:
    text = result.scenario_text
    # Another version may understand a scenario in another way than the one that simulated it.
    if text is None or "\n" not in text or result.document["lanewise_version"] != _core.VERSION:
        return of_run(result.document)
    try:
        explained = resolve(text, result.overrides).document
    except InputError:
        return of_run(result.document)
    return of_scenario(explained, written_tables(text))
