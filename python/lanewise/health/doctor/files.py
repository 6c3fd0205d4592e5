"""What fleet files add to a diagnosis: findings about what is expected, waivers, and rules of their own.

Nothing of that is loaded for a check without such a file.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date
    from pathlib import Path

    from lanewise.health.doctor.finding import Expected, Finding
    from lanewise.health.doctor.registry import Rule
    from lanewise.health.fleet.model import FleetFile
    from lanewise.machine.model import Machine


@dataclass
class Files:
    """The files of one check."""

    files: tuple[FleetFile, ...]
    expected: tuple[Expected, ...] = ()
    """Filled by `with_expectations`."""

    def with_expectations(self, findings: list[Finding], machine: Machine) -> list[Finding]:
        """Hold the machine against every file that expects something, and put that to what was found."""
        found: list[Finding] = []
        for file in self.files:
            if file.expects:
                from lanewise.health.doctor.expected import expectations

                unlike, expected = expectations(machine, file)
                found += unlike
                self.expected += expected
        if not found:
            return findings
        from lanewise.health.doctor.expected import merged

        return merged(findings, found)

    def waive(self, findings: list[Finding], machine: Machine, today: date | None) -> list[Finding]:
        """Mark what is waived, and report waivers that do nothing; None is the day of the clock, in UTC."""
        waivers = [waiver for file in self.files for waiver in file.waivers]
        if not waivers:
            return findings
        from lanewise.health.doctor.waivers import waive

        return waive(findings, waivers, machine, today or datetime.now(UTC).date())

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Rules that these files ask for."""
        applied: tuple[Rule, ...] = ()
        if any(file.expects for file in self.files):
            from lanewise.health.doctor import expected

            applied += expected.RULES
        if any(file.waivers for file in self.files):
            from lanewise.health.doctor import waivers

            applied += waivers.RULES
        return applied


def file_rules() -> tuple[Rule, ...]:
    """Return every rule about fleet files, in the order of the reference."""
    from lanewise.health.doctor import expected, waivers

    return (*expected.RULES, *waivers.RULES)


def read_files(expect: str | Path | None, waivers: Iterable[str | Path] = ()) -> list[FleetFile]:
    """Read the file of what is expected and files of waivers; FleetFileError lists what is wrong with one."""
    from lanewise.health.doctor.examination import rules
    from lanewise.health.fleet.reading import read_fleet_file

    known = [rule.id for rule in (*rules(), *file_rules())]
    files = [] if expect is None else [read_fleet_file(expect, rules=known)]
    return files + [read_fleet_file(path, rules=known, only_waivers=True) for path in waivers]
