"""Where the findings of `doctor` go, in which form, and which exit status they are."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from lanewise.cli.guard import ExitStatus

if TYPE_CHECKING:
    from pathlib import Path

    from lanewise.health.doctor import Diagnosis, Severity
    from lanewise.machine.model import Machine


@dataclass(frozen=True)
class Output:
    """How the findings of one or more checks are written."""

    form: str
    """table, json, sarif, junit or prometheus."""
    threshold: Severity | None
    details: bool = False
    out: Path | None = None
    """A file that is written whole, or replaced; standard output when None."""
    allow_unexamined: bool = False
    """Whether too little to look at passes, too."""

    def write(self, machine: Machine, diagnosis: Diagnosis) -> None:
        """Write one check."""
        if self.form == "table":
            from lanewise.cli.tables.doctor import print_diagnosis

            print_diagnosis(diagnosis, details=self.details)
            return
        text = self._text(machine, diagnosis)
        if self.out is None:
            sys.stdout.write(text)
        else:
            from lanewise.files import write_whole

            write_whole(self.out, text)

    def _text(self, machine: Machine, diagnosis: Diagnosis) -> str:
        if self.form == "prometheus":
            from lanewise.health.doctor.prometheus import prometheus

            return prometheus(diagnosis, machine, datetime.now(UTC))
        if self.form == "sarif":
            from lanewise.health.doctor.formats import sarif

            return sarif(diagnosis) + "\n"
        if self.form == "junit":
            from lanewise.health.doctor import Severity
            from lanewise.health.doctor.formats import junit

            return junit(diagnosis, self.threshold or Severity.ERROR) + "\n"
        return diagnosis.to_json() + "\n"

    def status(self, diagnosis: Diagnosis, *, say: bool = True) -> ExitStatus:
        """Return the exit status of one check, and say why where it is no good news, unless told not to."""
        if self.threshold is None:
            return ExitStatus.OK
        if diagnosis.fails(self.threshold):
            return ExitStatus.FINDINGS
        if diagnosis.examined or self.allow_unexamined:
            return ExitStatus.OK
        if say:
            # The last note of a table has said what is missing.
            told = "" if self.form == "table" else f": {diagnosis.missing}"
            typer.echo(f"error: not enough to say that nothing is wrong{told}", err=True)
        return ExitStatus.WRONG_INPUT
