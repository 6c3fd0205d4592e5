"""Findings that say the same of several places, put together for people to read.

Two findings are alike when their rule and severity are the same, title and fix differ in nothing but
addresses, and so do their costs: words to the letter, simulated rates and latencies to a hundredth of
themselves, which is less than anybody measures. JSON, SARIF and JUnit keep one finding for each function:
programs count them. JSON says which are alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.grouping import grouped, same_number

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from lanewise.health.doctor.finding import Finding

_ADDRESS = re.compile(r"\b(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]\b")


@dataclass(frozen=True)
class Alike:
    """One finding, and where else the same was found."""

    first: Finding
    rest: tuple[Finding, ...] = ()

    def elsewhere(self, most: int = 8) -> str:
        """Say where else: like "alike at 9 more: 01:00.0, 02:00.0, ..."; empty when nowhere."""
        if not self.rest:
            return ""
        shown = ", ".join(finding.bdf for finding in self.rest[:most])
        return f"alike at {len(self.rest)} more: {shown}{', ...' if len(self.rest) > most else ''}"


def together(findings: Iterable[Finding]) -> list[Alike]:
    """Group findings, in the order in which the first of each group comes."""
    return [Alike(group[0], tuple(group[1:])) for group in grouped(findings, _words, _cost_the_same)]


def _words(finding: Finding) -> Hashable:
    """Return what has to be equal, without addresses."""
    cost = finding.cost
    priced = "" if cost is None else cost.what if cost.compared is None else cost.compared.of
    texts = (finding.title, finding.fix, priced)
    return (finding.rule, finding.severity, *(_ADDRESS.sub("BDF", text) for text in texts))


def _cost_the_same(first: Finding, second: Finding) -> bool:
    """Whether two findings with the same words have the same numbers."""
    one, other = (finding.cost.compared if finding.cost else None for finding in (first, second))
    if one is None or other is None:
        return one is other
    return same_number(one.as_is, other.as_is) and same_number(one.fixed, other.fixed)
