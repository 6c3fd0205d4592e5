"""How `run` ends: with what it proved, with the report that was asked for, and with a status."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from lanewise.cli.guard import ExitStatus
from lanewise.cli.streams import print_json

if TYPE_CHECKING:
    from pathlib import Path

    from lanewise import documents
    from lanewise.results import RunResult, WhyResult


def print_proof(
    proof: WhyResult,
    name: str,
    out: Path | None,
    report: Path | None,
    *,
    as_json: bool,
    resolved: documents.Explain | None = None,
) -> None:
    """Print a proof, write the folder and the report that were asked for, and leave with its status."""
    from lanewise.cli.tables.why import print_why

    if as_json:
        print_json(proof.to_json())
    else:
        print_why(proof)
    also_keep(proof, out, resolved)
    also_report(proof, name, report)
    exit_as("Interrupted" if proof.document["why"]["interrupted"] else proof.end_reason)


def also_keep(result: RunResult, out: Path | None, resolved: documents.Explain | None = None) -> None:
    """Write the folder that was asked for, behind what is printed: that cannot be lost any more.

    `resolved` is its scenario, with places where they were written, if that is not its own text.
    """
    if out is None:
        return
    from lanewise.runs.folder import save_run
    from lanewise.runs.simulator import resolve_run

    sys.stdout.flush()
    resolved = resolve_run(result).document if resolved is None else resolved
    save_run(result, out, resolved=resolved, overrides=result.overrides)
    typer.echo(f"run folder: {out}", err=True)


def also_report(result: RunResult, name: str, report: Path | None) -> None:
    """Write the report that was asked for, behind what is printed."""
    if report is None:
        return
    from lanewise.cli.report_verb import write

    sys.stdout.flush()
    write([(name, result)], report)


def exit_as(end_reason: str) -> None:
    """Leave with the status of a run that did not come to its end."""
    if end_reason == "Interrupted":
        raise typer.Exit(ExitStatus.INTERRUPTED)
    if end_reason == "Stalled":
        raise typer.Exit(ExitStatus.FINDINGS)
