"""Every rule there is, and all of them applied to one machine.

Every file in ``rules/`` is imported, in the order of their names, which is also the order of the reference
page (`lanewise.doctor.reference`).
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from lanewise.doctor import rules as package
from lanewise.doctor.registry import Rule, checks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.doctor.finding import Finding
    from lanewise.machine.view import View

for _module in sorted(module.name for module in iter_modules(package.__path__)):
    import_module(f"{package.__name__}.{_module}")


def rules() -> tuple[Rule, ...]:
    """Return every rule, in the order of the reference."""
    return tuple(checks())


def examine(view: View) -> Iterator[Finding]:
    """Apply every rule to a machine."""
    for known, check in checks().items():
        yield from check(view, known)
