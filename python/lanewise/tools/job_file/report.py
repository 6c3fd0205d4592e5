"""The runs of a job file as fio's own output, with names and options as they are written in the file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from lanewise.tools.instruments.fio import Heading, document_of, entries_of
from lanewise.tools.instruments.simulated import SimulatedRun

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lanewise.tools.job_file.options import Job
    from lanewise.tools.job_file.plan import JobRuns
    from lanewise.tools.job_file.text import Option


def write(runs: JobRuns) -> str:
    """Return all jobs as ``fio --output-format=json`` would."""
    shared = runs.plan.file.sections[0].shared
    simulated = [SimulatedRun(result, {}) for result in runs.results]
    group = 0
    entries: list[dict[str, object]] = []
    for jobs, run in zip(runs.plan.phases, simulated, strict=False):
        headings = list(_headings(jobs, group, len(shared)))
        entries += entries_of(run, partial(_numbered, headings))
        group += 1 + sum(job.new_group for job in jobs[1:])
    return document_of(simulated[0].version, _as_written(shared), entries)


def _numbered(headings: Sequence[Heading], _: str, number: int) -> Heading:
    return headings[number]


def _headings(jobs: Iterable[Job], group: int, shared: int) -> Iterator[Heading]:
    """Return the heading of each entry of one run, whose first group has this number.

    As fio does, an entry of several jobs has the name of the first and the options of the last.
    """
    heading: Heading | None = None
    for position, job in enumerate(jobs):
        begins = position == 0 or job.new_group
        group += int(begins and position > 0)
        # What later [global] sections say is not among the global options.
        options = _as_written((*job.section.shared[shared:], *job.section.own))
        for clone in range(job.clones):
            if heading and job.together and not (begins and clone == 0):
                heading = replace(heading, options=options)
                continue
            if heading:
                yield heading
            heading = Heading(job.title, group, options)
    if heading:
        yield heading


def _as_written(options: Iterable[Option]) -> dict[str, str]:
    """Return options as they are written; a key alone stands for 1."""
    return {option.key: "1" if option.value is None else option.value for option in options}
