"""The list of rules. A rule is a function that looks at a machine, with what a person needs to know about it.

The reference page is written from this list (`lanewise.doctor.reference`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lanewise.doctor.finding import Cost, Finding, Severity
from lanewise.machine.address import Address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lanewise.doctor.rig import Trial
    from lanewise.doctor.view import View


@dataclass(frozen=True)
class Rule:
    """What a rule finds, why that matters, what it costs, what to do, and where it is specified."""

    id: str
    what: str
    why: str
    severity: str
    cost: str
    fix: str
    references: tuple[str, ...]
    not_said: str = ""
    """What looks like it and is in order."""

    def finding(
        self,
        severity: Severity,
        bdf: str,
        title: str,
        evidence: Iterable[str],
        *,
        fix: str | None = None,
        trial: Trial | None = None,
        also: Iterable[str] = (),
    ) -> Finding:
        """Make a finding of this rule."""
        # Folders of sysfs have the domain in their names.
        remedy = (fix or self.fix).replace("devices/BDF", f"devices/{Address.parse(bdf)}").replace("BDF", bdf)
        return Finding(self.id, severity, bdf, title, tuple(evidence), remedy, trial=trial, also=tuple(also))


_CHECKS: dict[Rule, Callable[[View, Rule], Iterable[Finding]]] = {}


def rule(
    definition: Rule,
) -> Callable[[Callable[[View, Rule], Iterable[Finding]]], Callable[[View, Rule], Iterable[Finding]]]:
    """Register the function below as the check of a rule."""

    def register(
        check: Callable[[View, Rule], Iterable[Finding]],
    ) -> Callable[[View, Rule], Iterable[Finding]]:
        assert all(known.id != definition.id for known in _CHECKS), f"two rules are called {definition.id}"
        _CHECKS[definition] = check
        return check

    return register


def rules() -> tuple[Rule, ...]:
    """Return every rule, in the order of the reference."""
    from lanewise.doctor import rules as _  # noqa: F401  (registers them)

    return tuple(_CHECKS)


def examine(view: View) -> Iterator[Finding]:
    """Apply every rule to a machine."""
    for known in rules():
        for finding in _CHECKS[known](view, known):
            yield _with_stated_cost(finding, known)


def _with_stated_cost(finding: Finding, known: Rule) -> Finding:
    """Give a finding that nothing can be simulated for the cost that its rule states in words."""
    marker, _, words = known.cost.partition("stated: ")
    if marker or not words or finding.cost is not None or finding.trial is not None:
        return finding
    return replace(finding, cost=Cost(words))
