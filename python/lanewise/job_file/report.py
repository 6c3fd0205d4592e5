"""The runs of a job file as fio's own output, with names and options as they are written in the file."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lanewise.instruments.fio import Heading, document_of, entries_of
from lanewise.instruments.simulated import SimulatedRun

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.job_file.options import Job
    from lanewise.job_file.plan import JobRuns
    from lanewise.job_file.text import Option


def write(runs: JobRuns) -> str:
    """Return all jobs as ``fio --output-format=json`` would; those of a run are a group."""
    shared = runs.plan.file.sections[0].shared
    simulated = [SimulatedRun(result, {}) for result in runs.results]
    entries = [
        entry
        for group, run in enumerate(simulated)
        for entry in entries_of(run, partial(_heading, runs.plan.phases[group], group, len(shared)))
    ]
    return document_of(simulated[0].version, _as_written(shared), entries)


def _heading(jobs: Iterable[Job], group: int, shared: int, workload: str, _: int) -> Heading:
    job = next(job for job in jobs if job.workload == workload)
    # What later [global] sections say is not among the global options.
    return Heading(job.title, group, _as_written((*job.section.shared[shared:], *job.section.own)))


def _as_written(options: Iterable[Option]) -> dict[str, str]:
    """Return options as they are written; a key alone stands for 1."""
    return {option.key: "1" if option.value is None else option.value for option in options}
