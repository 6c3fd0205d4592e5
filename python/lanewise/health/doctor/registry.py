"""What a rule is: a function that looks at a machine, with what a person needs to know about it.

A file in ``rules/`` registers its rules here as it is imported; `examination` imports them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, TypeAlias

from lanewise.health.doctor.finding import Cost, Finding, Profile, Severity
from lanewise.machine.address import Address

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from lanewise.health.doctor.rig import Trial
    from lanewise.machine.view import View


class Bearing(Enum):
    """What a finding says about the result of a benchmark over the same links."""

    NONE = auto()
    EXPLAINS = auto()
    """Why the result is no higher, although nothing is wrong."""
    LIMITS = auto()
    """It costs bandwidth, unless it is a note: the result is not the best that the device can do."""
    LIMITS_READS = auto()
    """As LIMITS, where the device reads memory."""
    LIMITS_PEERS = auto()
    """As LIMITS, where two devices talk to each other."""
    DISTURBS = auto()
    """It may cost bandwidth that no prediction from registers knows of: replays, failed transfers."""


PROVISIONING = frozenset({Profile.PROVISIONING})
PERFORMANCE = frozenset({Profile.PERFORMANCE})


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
    bearing: Bearing = Bearing.NONE
    profiles: frozenset[Profile] = PROVISIONING | PERFORMANCE
    """Profiles it speaks in, besides `Profile.ALL`."""

    def applies_to(self, profile: Profile) -> bool:
        """Whether a check of this profile asks the rule."""
        return profile is Profile.ALL or profile in self.profiles

    def finding(
        self,
        severity: Severity,
        bdf: str,
        title: str,
        evidence: Iterable[str],
        *,
        fix: str | None = None,
        cost: str | None = None,
        trial: Trial | None = None,
        also: Iterable[str] = (),
    ) -> Finding:
        """Make a finding of this rule; `fix` and `cost` in words where they are not those of the rule.

        `bdf` is empty for what is about the machine as a whole.
        """
        remedy = fix or self.fix
        if bdf:
            # Folders of sysfs have the domain in their names.
            if "devices/BDF" in remedy:
                remedy = remedy.replace("devices/BDF", f"devices/{Address.find(bdf) or bdf}")
            if " " in bdf:
                # Words for a device whose address is not known are nothing to look for.
                remedy = remedy.replace("-e BDF ", "")
            remedy = remedy.replace("BDF", bdf)
        words = cost or (self.stated_cost if trial is None else None)
        return Finding(
            self.id,
            severity,
            bdf,
            title,
            tuple(evidence),
            remedy,
            cost=Cost(words) if words else None,
            trial=trial,
            also=tuple(also),
        )

    @property
    def stated_cost(self) -> str | None:
        """What findings cost that nothing can be simulated for, in words."""
        marker, found, words = self.cost.partition("stated: ")
        return words if found and not marker else None


Check: TypeAlias = "Callable[[View, Rule], Iterable[Finding]]"

_CHECKS: dict[Rule, Check] = {}


def rule(definition: Rule) -> Callable[[Check], Check]:
    """Register the function below as the check of a rule."""

    def register(check: Check) -> Check:
        assert all(known.id != definition.id for known in _CHECKS), f"two rules are called {definition.id}"
        _CHECKS[definition] = check
        return check

    return register


def checks() -> Mapping[Rule, Check]:
    """Return every rule that has been registered with its check, in the order of registration."""
    return _CHECKS
