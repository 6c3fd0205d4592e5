"""The topology of a run as a figure: links as they came up, coloured by their use, with rates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.draw.scenario import use_of
from lanewise.draw.simulated import topology_of
from lanewise.draw.svg import topology_svg
from lanewise.report.plots import Figure

if TYPE_CHECKING:
    from lanewise.results import RunResult

_CAPTION = (
    "Each link with its two directions, upstream and downstream, coloured by how much of the time it was in "
    "use, and the goodput of each in GB/s."
)


def topology_figure(result: RunResult, title: str = "Links and their use") -> Figure:
    """Draw the machine that was simulated; with parts and free slots where its scenario was kept."""
    return Figure(title, _CAPTION, topology_svg(topology_of(result), use_of(result.document), embedded=True))
