"""What was simulated for an experiment, as pictures: the topology with the use of each link, and one ladder.

Of each arrangement of the hardware the run that uses a link most is drawn: that one shows what is scarce.
"""

from __future__ import annotations

import tomllib
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.draw.scenario import use_of
from lanewise.draw.simulated import topology_of
from lanewise.draw.svg import topology_svg
from lanewise.rungs import Rung, rungs_of

if TYPE_CHECKING:
    from lanewise.documents import Direction, Link
    from lanewise.experiment.reproduction import ReproducedExperiment
    from lanewise.experiment.runner import Job
    from lanewise.results import RunResult

_MOST = 4
"""Arrangements of one experiment that are drawn."""


@dataclass(frozen=True)
class Rig:
    """One arrangement of the hardware, in one of its runs."""

    title: str
    changed: str
    """What that run had other than its file: paths and values."""
    limited_by: str | None
    svg: str
    link: str
    """Direction of a link that was in use most, like ``nic upstream, gen3 x8``."""
    rungs: tuple[Rung, ...]


def rigs(experiment: ReproducedExperiment) -> list[Rig]:
    """Draw the first few arrangements of an experiment: the files that its cells are simulated with."""
    busiest: dict[str, tuple[Job, RunResult]] = {}
    for job, run in zip(experiment.jobs, experiment.runs, strict=False):
        known = busiest.get(str(job.scenario))
        if known is None or _most_used(run)[0] > _most_used(known[1])[0]:
            busiest[str(job.scenario)] = (job, run)
    return [_rig(job, run) for job, run in list(busiest.values())[:_MOST]]


def _most_used(run: RunResult) -> tuple[float, Link | None, str]:
    """Return the share of the time that a direction of a link was in use, the link, and which direction."""
    found: list[tuple[float, Link | None, str]] = [(0.0, None, "upstream")]
    for link in run.document["links"]:
        found += [(_way(link, way)["utilisation"], link, way) for way in ("upstream", "downstream")]
    return max(found, key=lambda each: each[0])


def _way(link: Link, way: str) -> Direction:
    return link["upstream"] if way == "upstream" else link["downstream"]


def _rig(job: Job, run: RunResult) -> Rig:
    svg = topology_svg(
        topology_of(run, job.scenario, job.overrides).without_free(),
        use_of(run.document),
        embedded=True,
        styled=False,
    )
    _, link, way = _most_used(run)
    name = "" if link is None else f"{link['name']} {way}, {link['generation']} {link['width']}"
    rungs = () if link is None else rungs_of(_way(link, way)["ladder"])
    changed = ", ".join(f"{path} = {_bare(value)}" for path, value in job.overrides)
    return Rig(run.title, changed, run.limited_by, svg, name, rungs)


def _bare(value: object) -> str:
    """Return a value without the provenance that may be written with it."""
    text = str(value)
    if text.startswith("{"):
        with suppress(tomllib.TOMLDecodeError, KeyError, TypeError):
            return str(tomllib.loads(f"it = {text}")["it"]["value"])
    return text
