"""Findings that say the same of several places, put together for people to read.

Two findings are alike when their rule and severity are the same and title, cost and fix differ in nothing but
addresses. JSON, SARIF and JUnit keep one finding for each function: programs count them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.doctor.finding import Finding

_ADDRESS = re.compile(r"\b(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b")


@dataclass(frozen=True)
class Alike:
    """One finding, and where else the same was found."""

    first: Finding
    rest: tuple[Finding, ...] = ()

    def elsewhere(self, most: int = 8) -> str:
        """Say where else: like "and 9 more: 01:00.0, 02:00.0, ..."; empty when nowhere."""
        if not self.rest:
            return ""
        shown = ", ".join(finding.bdf for finding in self.rest[:most])
        return f"and {len(self.rest)} more: {shown}{', ...' if len(self.rest) > most else ''}"


def together(findings: Iterable[Finding]) -> list[Alike]:
    """Group findings, in the order in which the first of each group comes."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_likeness(finding), []).append(finding)
    return [Alike(members[0], tuple(members[1:])) for members in groups.values()]


def _likeness(finding: Finding) -> tuple[object, ...]:
    cost = finding.cost
    stated = (cost.what, cost.basis) if cost else ("", "")
    texts = (finding.title, finding.fix, *stated)
    return (finding.rule, finding.severity, *(_ADDRESS.sub("BDF", text) for text in texts))
