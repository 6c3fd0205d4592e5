"""What is different between two checks of one machine: findings that are new, gone or changed.

A finding is the same as before when rule and first device are. It has changed when severity, title, waiver or
the other devices are others; evidence and cost may move with every reading, as counters do, and are no news
by themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lanewise.health.doctor.finding import Finding

    Key = tuple[str, str, int]


@dataclass(frozen=True)
class Change:
    """One finding that is not as it was."""

    kind: str
    """``new``, ``gone`` or ``changed``."""
    finding: Finding
    """As it is now; of one that is gone, as it was."""
    before: Finding | None = None
    """As it was, of one that has changed."""

    def document(self) -> dict[str, object]:
        """Return the change as JSON has it."""
        document: dict[str, object] = {"change": self.kind, "finding": self.finding.document()}
        if self.before is not None:
            document["before"] = self.before.document()
        return document


def changes(before: Iterable[Finding], after: Iterable[Finding]) -> list[Change]:
    """List what is different: gone first, then changed, then new, each in the order of its check."""
    old, new = dict(_by_key(before)), dict(_by_key(after))
    gone = [Change("gone", finding) for key, finding in old.items() if key not in new]
    changed = [
        Change("changed", new[key], before=finding)
        for key, finding in old.items()
        if key in new and _news(new[key]) != _news(finding)
    ]
    return [*gone, *changed, *(Change("new", finding) for key, finding in new.items() if key not in old)]


def _by_key(findings: Iterable[Finding]) -> Iterator[tuple[Key, Finding]]:
    """Give each finding a key of its own, also several of one rule about the same device."""
    seen: dict[tuple[str, str], int] = {}
    for finding in findings:
        about = (finding.rule, finding.bdf)
        seen[about] = seen.get(about, 0) + 1
        yield (*about, seen[about]), finding


def _news(finding: Finding) -> tuple[object, ...]:
    return finding.severity, finding.title, finding.waived, finding.also
