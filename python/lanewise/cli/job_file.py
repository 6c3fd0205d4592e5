"""`run --fio`: the jobs of a fio job file on a rig."""

from __future__ import annotations

import sys
from textwrap import fill
from typing import TYPE_CHECKING

import typer

from lanewise.cli.guard import ExitStatus
from lanewise.cli.run_end import also_keep, print_proof
from lanewise.cli.run_progress import run_progress
from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from lanewise.tools.job_file.plan import JobPlan, JobRuns


def run_job_file(
    rig: Path,
    job_file: Path,
    devices: Sequence[str],
    sections: Sequence[str],
    overrides: Sequence[tuple[str, str]],
    *,
    why: bool,
    out: Path | None,
    report: Path | None,
    tool: str | None,
    as_json: bool,
    live: float | None,
) -> None:
    """Simulate a job file and print its results; notes about it go to stderr, before it is simulated."""
    from lanewise.tools.job_file.plan import plan_jobs, run_jobs

    if tool not in (None, "fio"):
        raise InputError(f"the jobs of a job file are written as fio does, with --as fio, not as {tool}")
    if out is not None:
        from lanewise.runs.folder import check_free

        check_free(out)
    plan = plan_jobs(rig, job_file, drives=_drives(devices), sections=sections, overrides=overrides)
    for option, is_given in (("--out", out is not None), ("--why", why)):
        if len(plan.phases) > 1 and is_given:
            first = plan.phases[0][0].section.name
            raise InputError(
                f"{option} is about one run, and stonewall makes {len(plan.phases)} of '{job_file}'; "
                f"name the jobs of one, like --section '{first}'"
            )
    for note in plan.notes:
        typer.echo(fill(f"{job_file}: {note}", width=100, subsequent_indent="  "), err=True)
    name = f"{job_file} on {rig}"
    if why:
        _prove(plan, name, out, report, as_json=as_json)
        return
    with run_progress(name, live) as progress:
        runs = run_jobs(plan, progress, flows_every_s=progress.flows_every_s)
    _print(runs, tool=tool, as_json=as_json)
    if out is not None:
        also_keep(runs.results[0], out, plan.explain(0).document)
    if report is not None:
        _report(runs, name, report)
    reasons = {result.end_reason for result in runs.results}
    if "Interrupted" in reasons:
        raise typer.Exit(ExitStatus.INTERRUPTED)
    if "Stalled" in reasons:
        raise typer.Exit(ExitStatus.FINDINGS)


def _print(runs: JobRuns, *, tool: str | None, as_json: bool) -> None:
    if tool is not None:
        sys.stdout.write(runs.to_fio_json())
    elif as_json:
        sys.stdout.write(_json(runs) + "\n")
    else:
        from lanewise.cli.tables.run import print_run

        for number, result in enumerate(runs.results):
            if len(runs.results) > 1:
                names = ", ".join(job.title for job in runs.plan.phases[number])
                typer.echo(
                    f"{chr(10) if number else ''}Run {number + 1} of {len(runs.plan.phases)}: {names}\n"
                )
            print_run(result)


def _prove(plan: JobPlan, name: str, out: Path | None, report: Path | None, *, as_json: bool) -> None:
    """Run the jobs, and again with each candidate for their limit ten times larger."""
    from lanewise.runs.simulator import prove

    with run_progress(name, None) as progress:
        proof = prove(plan.scenario(0), plan.overrides_of(0), progress)
    resolved = None if out is None else plan.explain(0).document
    print_proof(proof, name, out, report, as_json=as_json, resolved=resolved)


def _report(runs: JobRuns, name: str, report: Path) -> None:
    from lanewise.cli.report_verb import write

    sys.stdout.flush()
    several = len(runs.plan.phases) > 1
    names = [", ".join(job.title for job in phase) for phase in runs.plan.phases]
    pairs = zip(names, runs.results, strict=False)
    write([(f"{name}: {jobs}" if several else name, result) for jobs, result in pairs], report)


def _json(runs: JobRuns) -> str:
    """Return the run, or each of several with the jobs in it."""
    if len(runs.plan.phases) == 1:
        return runs.results[0].to_json()
    import json

    from lanewise.output_format import stamped

    groups = [
        {"jobs": [job.title for job in phase], "run": stamped(result.document)}
        for phase, result in zip(runs.plan.phases, runs.results, strict=False)
    ]
    return json.dumps(stamped({"groups": groups}), indent=2, ensure_ascii=False)


def _drives(devices: Sequence[str]) -> dict[str, str]:
    pairs = [device.rpartition("=") for device in devices]
    wrong = [drive for device, _, drive in pairs if not (device and drive)]
    if wrong:
        raise InputError(f"--map needs DEVICE=DRIVE, like --map '/dev/nvme0n1=ssd[0]'; found '{wrong[0]}'")
    return {device.strip(): drive.strip() for device, _, drive in pairs}
