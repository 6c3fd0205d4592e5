"""Every rule there is, and all of them applied to one machine.

Every file in ``rules/`` is imported, in the order of their names, which is also the order of the reference
page (`lanewise.health.doctor.reference`).
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import TYPE_CHECKING

from lanewise.health.doctor import rules as package
from lanewise.health.doctor.finding import Profile
from lanewise.health.doctor.registry import Rule, checks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.health.doctor.finding import Finding
    from lanewise.machine.view import View

for _module in sorted(module.name for module in iter_modules(package.__path__)):
    import_module(f"{package.__name__}.{_module}")


def rules(profile: Profile = Profile.ALL) -> tuple[Rule, ...]:
    """Return every rule of a profile, in the order of the reference."""
    return tuple(known for known in checks() if known.applies_to(profile))


def examine(view: View, profile: Profile = Profile.ALL) -> Iterator[Finding]:
    """Apply every rule of a profile to a machine."""
    for known, check in checks().items():
        if known.applies_to(profile):
            yield from check(view, known)
