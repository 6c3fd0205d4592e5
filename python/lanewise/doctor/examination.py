"""Every rule there is, and all of them applied to one machine.

Every file in ``rules/`` is imported, in the order of their names, which is also the order of the reference
page (`lanewise.doctor.reference`).
"""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from lanewise.doctor import rules as package
from lanewise.doctor.finding import Cost, Finding
from lanewise.doctor.registry import Rule, checks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.machine.view import View

for _module in sorted(module.name for module in iter_modules(package.__path__)):
    import_module(f"{package.__name__}.{_module}")


def rules() -> tuple[Rule, ...]:
    """Return every rule, in the order of the reference."""
    return tuple(checks())


def examine(view: View) -> Iterator[Finding]:
    """Apply every rule to a machine."""
    for known, check in checks().items():
        for finding in check(view, known):
            yield _with_stated_cost(finding, known)


def _with_stated_cost(finding: Finding, known: Rule) -> Finding:
    """Give a finding that nothing can be simulated for the cost that its rule states in words."""
    marker, _, words = known.cost.partition("stated: ")
    if marker or not words or finding.cost is not None or finding.trial is not None:
        return finding
    return replace(finding, cost=Cost(words))
