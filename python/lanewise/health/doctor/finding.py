"""What the doctor says: findings with severity, evidence, cost and a fix."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Literal, cast

from lanewise.output_format import FORMAT
from lanewise.written import in_short

if TYPE_CHECKING:
    import polars as pl

    from lanewise.columns import Columns
    from lanewise.documents import Doctor, DoctorFinding, DoctorFindingCost, DoctorFindingWaived
    from lanewise.health.doctor.registry import Rule
    from lanewise.health.doctor.rig import Trial
    from lanewise.health.fleet.model import Who


class Severity(StrEnum):
    """How bad it is; `lanewise.health.doctor.severity` has the thresholds.

    An error breaks transfers or will. A warning costs performance or robustness now. Information is worth
    knowing when something is slow, and is what a machine in order may show.
    """

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """Position in the order info, warning, error."""
        return list(Severity).index(self)


class Profile(StrEnum):
    """What a check is for: it decides which rules speak, and how much must be readable."""

    PROVISIONING = "provisioning"
    """What must keep a node out of service: faults, degraded links, what is missing."""
    PERFORMANCE = "performance"
    """What costs throughput or latency on a machine that works."""
    ALL = "all"


@dataclass(frozen=True)
class Compared:
    """Two simulations, in GB/s or ns: the machine as it is, and put right."""

    of: str
    """What was simulated, like "reads of host memory"."""
    as_is: float
    fixed: float


@dataclass(frozen=True)
class Cost:
    """What a finding costs: GB/s (10⁹ bytes per second) or ns lost, from the simulator or stated in words."""

    what: str
    gb_per_s: float | None = None
    ns: float | None = None
    compared: Compared | None = None
    """What was simulated; None for costs that are stated."""

    @property
    def basis(self) -> str:
        """Where it comes from: simulated or stated."""
        return "stated" if self.compared is None else "simulated"

    def document(self) -> DoctorFindingCost:
        """Return the cost as JSON has it; a quantity that does not apply is left out."""
        pairs = {"what": self.what, "gb_per_s": self.gb_per_s, "ns": self.ns, "basis": self.basis}
        return cast("DoctorFindingCost", {key: value for key, value in pairs.items() if value is not None})


@dataclass(frozen=True)
class Waived:
    """Why a finding does not count: it is accepted in a file."""

    reason: str
    until: str | None
    """The last day it does not count, like ``2027-01-31``; None: for ever."""
    where: str
    """File and line."""

    def __str__(self) -> str:
        """Like ``known since March (until 2027-01-31, waivers.toml:4)``."""
        until = f"until {self.until}, " if self.until else ""
        return f"{self.reason} ({until}{self.where})"


@dataclass(frozen=True)
class Absent:
    """Of which devices a finding says that they are not there, so that a waiver can be for them."""

    who: Who
    slots: tuple[str, ...]


@dataclass(frozen=True)
class Expected:
    """How many devices of a kind a file expects, and how many are there."""

    what: str
    """Which devices, in words."""
    expected: int
    """How many there should be."""
    present: int
    """How many there are."""
    where: str
    """File and line."""


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong, or worth knowing, at one place of a machine."""

    rule: str
    """Name of the rule, as `lanewise doctor` prints it."""
    severity: Severity
    """How bad it is."""
    bdf: str
    """Address of the function that it is about."""
    title: str
    """What is wrong, in a line."""
    evidence: tuple[str, ...]
    """What was read that says so, with the address of each register."""
    fix: str
    """What to do."""
    cost: Cost | None = None
    """What it costs, where that needs no simulation or has been simulated."""
    trial: Trial | None = field(default=None, repr=False, compare=False)
    """The experiment that tells what it costs. Findings that say the same are the same without it."""
    also: tuple[str, ...] = ()
    """Other functions that the same finding is about."""
    waived: Waived | None = None
    """Why it does not count, where a waiver says so."""
    absent: Absent | None = field(default=None, repr=False)
    """Of which devices it says that they are not there."""
    subsumes: tuple[str, ...] = ()
    """Rules whose findings about the same link it carries; waivers of those are for it, too."""
    device: str = ""
    """Name and slot of what is at `bdf`, like ``NVIDIA H100 SXM5 80GB, slot 24``; empty where not known."""

    @property
    def headline(self) -> str:
        """The title with the name of the device behind its address, for people."""
        if not self.device:
            return self.title
        before, found, after = self.title.partition(self.bdf)
        if not found:
            return f"{self.bdf} ({self.device}): {self.title}"
        return f"{before}{found} ({self.device}){after}"

    def order(self) -> tuple[float, ...]:
        """Return what findings are ordered by: severity, GB/s lost, ns lost, then what is only stated.

        Where nothing was simulated, what could be comes first: it is the cause of what is counted beside it.
        """
        cost = self.cost or Cost("")
        return (-self.severity.rank, -(cost.gb_per_s or 0.0), -(cost.ns or 0.0), float(self.trial is None))

    def document(self) -> DoctorFinding:
        """Return the finding as JSON has it."""
        document: DoctorFinding = {
            "rule": self.rule,
            "severity": cast("Literal['info', 'warning', 'error']", str(self.severity)),
            "bdf": self.bdf,
            # Left out, where it is not known.
            **cast("DoctorFinding", {"device": self.device} if self.device else {}),
            "title": self.title,
            "evidence": list(self.evidence),
            "cost": self.cost.document() if self.cost else None,
            "fix": self.fix,
        }
        if self.also:
            document["also"] = list(self.also)
        if self.subsumes:
            document["subsumes"] = list(self.subsumes)
        if self.waived:
            document["waived"] = cast("DoctorFindingWaived", vars(self.waived))
        return document


@dataclass(frozen=True)
class Diagnosis:
    """All findings about one machine, worst first."""

    source: str
    """What was read."""
    findings: tuple[Finding, ...]
    """Worst first."""
    functions: int
    """How many were read."""
    links: int
    """How many were read."""
    rules: int
    """How many were applied."""
    simulations: int = 0
    """How many were run to price findings."""
    notes: tuple[str, ...] = ()
    """What could not be read or looked at, a sentence each."""
    examined: bool = True
    """Whether enough was readable to say that nothing is wrong (`lanewise.health.doctor.coverage`)."""
    missing: str = ""
    """What was not readable and would have to be, in a sentence; empty where `examined`."""
    readable: tuple[tuple[str, int, int], ...] = ()
    """Links, payloads, errors, drivers, BARs: how many the source tells of, and of how many."""
    profile: Profile = Profile.ALL
    """What was looked for."""
    expected: tuple[Expected, ...] = ()
    """Kinds of devices that a fleet file counts."""
    file_rules: tuple[Rule, ...] = ()
    """Rules that were applied because a fleet file or waivers were given."""

    @property
    def counting(self) -> tuple[Finding, ...]:
        """Findings that are not waived."""
        return tuple(finding for finding in self.findings if finding.waived is None)

    def count(self, severity: Severity) -> int:
        """How many findings have this severity; waived ones do not count."""
        return sum(finding.severity is severity for finding in self.counting)

    def worst(self) -> Severity | None:
        """Return the highest severity found; waived findings do not count."""
        return max((finding.severity for finding in self.counting), key=lambda s: s.rank, default=None)

    def fails(self, threshold: Severity) -> bool:
        """Whether anything is at least this severe."""
        worst = self.worst()
        return worst is not None and worst.rank >= threshold.rank

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per finding: what it is, where, what it costs in GB/s or ns, and the fix."""
        # Polars takes a tenth of a second, and a health check on every boot asks for no table.
        import polars as pl

        from lanewise.columns import frame

        columns: Columns = {
            **dict.fromkeys(("severity", "rule", "bdf", "device", "title", "cost"), pl.String),
            **dict.fromkeys(("cost_gb_per_s", "cost_ns"), pl.Float64),
            **dict.fromkeys(("fix", "waived"), pl.String),
        }
        rows = (
            {
                **vars(finding),
                "severity": str(finding.severity),
                "cost": None if finding.cost is None else finding.cost.what,
                "cost_gb_per_s": None if finding.cost is None else finding.cost.gb_per_s,
                "cost_ns": None if finding.cost is None else finding.cost.ns,
                "waived": None if finding.waived is None else str(finding.waived),
            }
            for finding in self.findings
        )
        return frame(rows, columns)

    def __repr__(self) -> str:
        """Say how much is wrong."""
        found = Counter(str(finding.severity) for finding in self.findings)
        return in_short(self, self.source, *(f"{severity} {count}" for severity, count in found.items()))

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the findings, worst first."""
        from lanewise.notebook import html

        return html(f"What is wrong with {self.source}", self.notes, [("Findings", self.table)])

    @property
    def alike(self) -> list[list[int]]:
        """Places of findings that say the same of other addresses; waived ones are left out."""
        from lanewise.health.doctor.said_alike import together

        places = {id(finding): place for place, finding in enumerate(self.findings)}
        return [
            [places[id(finding)] for finding in (group.first, *group.rest)]
            for group in together(self.counting)
        ]

    @property
    def document(self) -> Doctor:
        """The diagnosis as JSON has it."""
        document = {
            "format": FORMAT,
            "source": self.source,
            "findings": [finding.document() for finding in self.findings],
            "alike": self.alike,
            "summary": {
                "examined": self.examined,
                "profile": str(self.profile),
                "readable": {what: {"known": known, "of": of} for what, known, of in self.readable},
                **{str(severity): self.count(severity) for severity in reversed(Severity)},
                "functions": self.functions,
                "links": self.links,
                "rules": self.rules,
                "simulations": self.simulations,
                "notes": list(self.notes),
                **({"expected": [vars(kind) for kind in self.expected]} if self.expected else {}),
                **({"waived": waived} if (waived := len(self.findings) - len(self.counting)) else {}),
            },
        }
        return cast("Doctor", document)

    def to_json(self) -> str:
        """Return the diagnosis as JSON text."""
        import json

        return json.dumps(self.document, indent=2, ensure_ascii=False)
