"""`doctor --watch`: checks a machine again and again, and says what has changed.

The source is read again each time, and so are the files of what is expected and accepted. What findings cost
is simulated once for each trial. A reading that fails is news, too, and the next one is tried all the same.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer

from lanewise.cli.guard import ExitStatus
from lanewise.errors import InputError
from lanewise.health.doctor.changes import Change, changes

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.cli.doctor_output import Output
    from lanewise.health.doctor import Diagnosis, Finding
    from lanewise.machine.model import Machine

    Check = Callable[[], tuple[Machine, Diagnosis]]


def refuse_unwatchable(source: str | None, output: Output) -> None:
    """Raise a usage error for what cannot be read, or cannot be written, more than once."""
    if source == "-":
        raise typer.BadParameter("--watch reads its source again each time, which standard input cannot")
    if output.form not in ("table", "json") and output.out is None:
        raise typer.BadParameter(f"--watch with --format {output.form} writes a file each time: give --out")


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Watch:
    """One watch: how to check, where to write, and the clock."""

    check: Check
    output: Output
    seconds: float
    now: Callable[[], datetime] = _now
    sleep: Callable[[float], None] = time.sleep

    def run(self) -> ExitStatus:
        """Check until interrupted; return the status of the last state. The first reading must succeed."""
        machine, last = self.check()
        status = self.output.status(last)
        failed = ""
        try:
            self._first(machine, last)
            while True:
                self.sleep(self.seconds)
                try:
                    machine, current = self.check()
                except (InputError, OSError) as error:
                    status = ExitStatus.WRONG_INPUT
                    if str(error) != failed:
                        failed = str(error)
                        self._event("unreadable", f"cannot be read: {error}", error=failed)
                    continue
                if failed:
                    failed = ""
                    self._event("readable", "can be read again")
                if self.output.out is not None:
                    self.output.write(machine, current)
                else:
                    for change in changes(last.findings, current.findings):
                        self._change(change)
                status = self.output.status(current, say=current.examined is not last.examined)
                last = current
        except KeyboardInterrupt:
            return status

    def _first(self, machine: Machine, diagnosis: Diagnosis) -> None:
        if self.output.form == "json" and self.output.out is None:
            self._line({"change": "first", "diagnosis": diagnosis.document})
        else:
            self.output.write(machine, diagnosis)
        sys.stdout.flush()

    def _change(self, change: Change) -> None:
        finding, before = change.finding, change.before
        if self.output.form == "json":
            self._line(change.document())
            return
        was = _was(finding, before) if before is not None else ""
        self._say(f"{change.kind:<8} {finding.severity:<8} {finding.headline}  [{finding.rule}]{was}")

    def _event(self, kind: str, words: str, **more: object) -> None:
        if self.output.out is not None:
            print(f"{self._time()}  {words}", file=sys.stderr, flush=True)
        elif self.output.form == "json":
            self._line({"change": kind, **more})
        else:
            self._say(words)

    def _line(self, document: dict[str, object]) -> None:
        self._say_raw(json.dumps({"time": self._time(), **document}, ensure_ascii=False))

    def _say(self, words: str) -> None:
        self._say_raw(f"{self._time()}  {words}")

    def _say_raw(self, line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    def _time(self) -> str:
        return f"{self.now():%Y-%m-%dT%H:%M:%SZ}"


def _was(finding: Finding, before: Finding) -> str:
    """Say in what way a finding is not as before."""
    if finding.waived and not before.waived:
        return f" (now waived: {finding.waived})"
    if before.waived and not finding.waived:
        return " (no longer waived)"
    return f" (was {before.severity}: {before.title})"
