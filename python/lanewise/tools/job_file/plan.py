"""What a job file comes to on a rig: one run for each group of jobs that ``stonewall`` separates.

Each run has a warm-up of its own. Real jobs take minutes so that rates settle; a simulated one ends when they
have, or at the rig's ``run.time_limit``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.runs.simulator import called, read_once, resolve, simulate
from lanewise.tools.instruments.simulated import stated_ns
from lanewise.tools.job_file.as_scenario import as_scenario
from lanewise.tools.job_file.drives import assign, drives_of
from lanewise.tools.job_file.options import files_of, refuse_page_cache, translate
from lanewise.tools.job_file.text import read_job_file
from lanewise.written import in_short

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from lanewise import _core
    from lanewise.documents import Progress
    from lanewise.kept import KeptScenario
    from lanewise.results import ExplainResult, RunResult
    from lanewise.runs.simulator import Scenario
    from lanewise.tools.job_file.drives import Drive
    from lanewise.tools.job_file.options import Job
    from lanewise.tools.job_file.text import JobFile, Section

_NAME_LIMIT = 60
"""Names of workloads have at most 64 characters; a number may follow."""


@dataclass(frozen=True)
class JobRuns:
    """The runs of a job file."""

    plan: JobPlan
    results: tuple[RunResult, ...]
    """One for each phase."""

    def __repr__(self) -> str:
        """Say which jobs ran where."""
        return in_short(self, f"{self.plan.file.path} on {called(self.plan.rig)}", *map(repr, self.results))

    def to_fio_json(self) -> str:
        """Return all jobs as ``fio --output-format=json`` prints them."""
        from lanewise.tools.job_file.report import write

        return write(self)


@dataclass(frozen=True)
class JobPlan:
    """What is to be simulated."""

    rig: Scenario
    file: JobFile
    drives: Mapping[str, Drive]
    """Drive of each `filename`."""
    phases: tuple[tuple[Job, ...], ...]
    """Jobs that run at the same time; one phase after another."""
    notes: tuple[str, ...]
    """What a user should know before reading the results."""
    overrides: tuple[tuple[str, str], ...]

    def simulate(
        self,
        phase: int,
        progress: Callable[[Progress], bool | None] | None = None,
        flows_every_s: float | None = None,
    ) -> RunResult:
        """Run one phase. The result keeps its jobs as workloads, so that it can be run without their file."""
        overrides, jobs = self.overrides_of(phase), self.core_jobs(phase)
        result = simulate(self.rig, overrides, progress, fio=jobs, flows_every_s=flows_every_s)
        if result.kept is None:
            return result
        kept = as_scenario(replace(result.kept, name=called(self.rig)), jobs)
        return replace(result, scenario_text=kept.text, part_files=kept.part_files)

    def scenario(self, phase: int) -> KeptScenario:
        """Return the rig with the jobs of one phase as workloads."""
        _, rig = read_once(self.rig, self.overrides)
        if rig is None:
            raise InputError(f"'{called(self.rig)}' cannot be read any more")
        return as_scenario(rig, self.core_jobs(phase))

    def overrides_of(self, phase: int) -> list[tuple[str, str]]:
        """Return the overrides of one phase; its ramp is the warm-up of its run unless one says otherwise."""
        ramp = max(job.ramp_us for job in self.phases[phase])
        limit_us = _run_time_limit_us(self.explain(phase)) if ramp else 0.0
        ramps = [("run.warm_up", f"{ramp} us")] if ramp < limit_us else []
        return [*ramps, *self._about(phase)]

    def explain(self, phase: int) -> ExplainResult:
        """Resolve one phase."""
        return resolve(self.rig, self._about(phase), fio=self.core_jobs(phase))

    def _about(self, phase: int) -> list[tuple[str, str]]:
        """Leave out the overrides that are about jobs of other phases."""
        others = (jobs for number, jobs in enumerate(self.phases) if number != phase)
        starts = tuple(f"workload.{job.workload}." for jobs in others for job in jobs)
        return [(path, value) for path, value in self.overrides if not path.startswith(starts)]

    def core_jobs(self, phase: int) -> _core.FioJobs:
        """Return one phase as the core takes it."""
        jobs = [
            (job.workload, job.section.line, [*job.options, *_group(job, position)])
            for position, job in enumerate(self.phases[phase])
        ]
        return (self.file.path, self.file.text, jobs)


def plan_jobs(
    rig: Scenario,
    job_file: str | Path,
    *,
    drives: Mapping[str, str] | None = None,
    sections: Collection[str] = (),
    overrides: Sequence[tuple[str, str]] = (),
) -> JobPlan:
    """Read a job file for a rig: which drives, which runs; nothing is simulated yet.

    Raises JobFileError with every mistake of the file, and InputError for an unknown drive or section and
    for a rig without drives.
    """
    file = read_job_file(Path(job_file))
    explained = resolve(rig, _about_the_rig(overrides))
    known = drives_of(explained)
    if not known:
        raise InputError(
            f"'{called(rig)}' has no drive for the jobs of '{file.path}': no endpoint has 'nvme.capacity'"
        )
    assigned = assign((path for each in file.sections for path in files_of(each)), known, drives or {})
    chosen = _chosen(file, sections)
    jobs = [translate(file, section, assigned, file.mistakes) for section in chosen]
    file.mistakes.raise_if_any()
    refuse_page_cache(chosen, file.mistakes)
    file.mistakes.raise_if_any()
    _name(jobs)
    phases = tuple(tuple(phase) for phase in _phases(jobs))
    notes = tuple(_notes(file, jobs, assigned, _run_time_limit_us(explained), len(phases)))
    plan = JobPlan(rig, file, assigned, phases, notes, tuple(overrides))
    for phase in range(len(phases)):
        # What is wrong with the last is said before the first is simulated.
        plan.explain(phase)
    return plan


def run_jobs(
    plan: JobPlan,
    progress: Callable[[Progress], bool | None] | None = None,
    *,
    flows_every_s: float | None = None,
) -> JobRuns:
    """Simulate every phase; one that is interrupted is the last."""
    results: list[RunResult] = []
    for phase in range(len(plan.phases)):
        results.append(plan.simulate(phase, progress, flows_every_s))
        if results[-1].end_reason == "Interrupted":
            break
    return JobRuns(plan, tuple(results))


def _group(job: Job, position: int) -> list[tuple[str, str, int]]:
    """Return the option that says that a job is in the group of the one before it in its run."""
    return [] if position == 0 or job.new_group else [("same_group", "true", job.section.line)]


def _about_the_rig(overrides: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Leave out what is about jobs, which the rig does not have."""
    return [(path, value) for path, value in overrides if not path.startswith("workload.")]


def _run_time_limit_us(explained: ExplainResult) -> float:
    values = {row["path"]: str(row["value"]) for row in explained.document["parameters"]}
    return stated_ns(values["run.time_limit"]) / 1e3


def _chosen(file: JobFile, names: Collection[str]) -> list[Section]:
    there = {section.name for section in file.sections}
    missing = [name for name in names if name not in there]
    if missing:
        raise InputError(f"'{file.path}' has no section '{missing[0]}'; there are {', '.join(sorted(there))}")
    return [section for section in file.sections if not names or section.name in names]


def _name(jobs: Iterable[Job]) -> None:
    """Give each job the name of its workload: plain letters, and no two alike."""
    used: set[str] = set()
    tried: dict[str, int] = {}
    """How many have had a name already, so that thousands alike are no square of them."""
    for job in jobs:
        plain = re.sub(r"[^A-Za-z0-9_-]+", "-", job.title).strip("-")[:_NAME_LIMIT] or "job"
        names = (plain if number == 1 else f"{plain}-{number}" for number in count(tried.get(plain, 0) + 1))
        job.workload = next(name for name in names if name not in used)
        tried[plain] = tried.get(plain, 0) + 1
        used.add(job.workload)


def _phases(jobs: Iterable[Job]) -> Iterator[list[Job]]:
    phase: list[Job] = []
    for job in jobs:
        if job.after_others and phase:
            yield phase
            phase = []
        phase.append(job)
    yield phase


def _notes(
    file: JobFile, jobs: Sequence[Job], drives: Mapping[str, Drive], limit_us: float, phases: int
) -> Iterator[str]:
    others = {path: drive.name for path, drive in drives.items() if path != drive.name}
    if others:
        yield "drives: " + ", ".join(f"{path} is {name}" for path, name in others.items())
    without = {key: line for job in jobs for key, line in job.without_effect.items()}
    if without:
        yield "without effect here: " + ", ".join(f"{key} (line {line})" for key, line in without.items())
    longest = {job.runtime.line: job.runtime for job in jobs if job.runtime}
    if longest:
        yield (
            f"runtime ({_lines(longest)}): a run ends earlier, when its results have settled, at the latest "
            f"after {limit_us / 1e3:g} ms (run.time_limit)"
        )
    if any(job.ramp_us >= limit_us for job in jobs if job.ramp_us):
        yield "ramp_time: longer than a run; each run finds its own warm-up"
    if phases > 1:
        yield f"stonewall: {phases} runs, one after another"


def _lines(options: Mapping[int, object]) -> str:
    return f"line{'s' if len(options) > 1 else ''} {', '.join(str(line) for line in sorted(options))}"
