"""Measured beside possible, with a verdict and what speaks for it.

The prediction is what PCI Express allows with the registers as they are, under a host and devices that are
never the limit. So a result close to it is as good as it gets; one far below it is held back by something
else: host, software or the device itself, unless the doctor finds something wrong on the way, which then
comes first. A prediction says nothing about media, wires and processors, and neither does a verdict.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, cast

from lanewise.health.doctor import Severity, diagnose
from lanewise.health.doctor.examination import rules
from lanewise.health.doctor.registry import Bearing
from lanewise.health.judge.asked import is_buffered
from lanewise.health.judge.asleep import link_asleep
from lanewise.health.judge.latency import FixedTimes
from lanewise.health.judge.matching import GPU_TOOLS, match
from lanewise.health.judge.parts_of_a_job import run_of, summed
from lanewise.health.predict.pairs import as_found
from lanewise.health.predict.simulator import Simulator
from lanewise.machine.missing_ports import with_missing_ports
from lanewise.output_format import stamped
from lanewise.written import in_short

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from lanewise.columns import Columns
    from lanewise.documents import (
        ImportResult,
        ImportResultCase,
        MeasureResult,
        MeasureResultCommand,
        MeasureResultMachineDescription,
    )
    from lanewise.health.doctor import Finding
    from lanewise.health.judge.matching import Match
    from lanewise.health.predict.benchmarks import Benchmark
    from lanewise.machine.address import Address
    from lanewise.machine.model import Machine
    from lanewise.tools.instruments.measurement import Case, Measurement

_CLOSE = 0.90
"""A result of this part of what was possible is as good as it gets.

Assumed: GPUs that move 128 B per packet, and drivers' control traffic, take up to a tenth."""

_OWN_LINKS = (
    "more than PCI Express carries: these GPUs have links of their own (NVLink), which this description "
    "does not show"
)
_SHARED = frozenset({"switch-oversubscribed", "chipset-oversubscribed"})
"""The rules whose findings explain nothing where one device alone is at work."""

_AT_ONCE = ("fio", "iometer", "SPDK perf", "bdevperf", "DISKSPD")
"""Tools that have several drives at work at once."""

_MOST_UNREAD = 3
"""Lines that are listed of those that were not read."""

_NOT_THIS_LINK = (
    "the data cannot all have crossed this link: a cache, compression, or another device or machine than this"
)

_LAUNCH = "what launching a copy takes"

_LONG_S = 1e-3
"""Time of one operation beside which latency is nothing. Assumed: devices answer within a tenth of that."""

_TOO_GOOD = 1.05
"""A result further above the possible was served from a cache, compressed, or taken on another device."""


class Verdict(StrEnum):
    """What to think of a result."""

    GOOD = "as good as it gets"
    HOST = "host-limited"
    LATENCY = "latency-bound"
    WRONG = "misconfigured"
    TOO_GOOD = "more than possible"
    NONE = "not judged"


@dataclass(frozen=True)
class JudgedCase:
    """One case of a measurement beside its prediction."""

    name: str
    """What was measured, in words of the tool."""
    bdf: str | None
    """Address of the device; None where it could not be told."""
    measured_gb_per_s: float | None
    """Payload, 10⁹ B/s; None where the tool said nothing of it."""
    predicted_gb_per_s: float | None
    """Payload, 10⁹ B/s; None where nothing was predicted."""
    ratio: float | None
    """Measured over predicted."""
    verdict: Verdict
    """Whether it is good."""
    binding: str
    """What limits the prediction, as the simulation found it; of a case that is not judged, why."""
    evidence: tuple[str, ...] = ()
    """What was read that explains the verdict."""

    def document(self) -> ImportResultCase:
        """Return the case as JSON has it."""
        case = {**vars(self), "verdict": str(self.verdict), "evidence": list(self.evidence)}
        return cast("ImportResultCase", case)


@dataclass(frozen=True)
class Record:
    """What was run on which machine, word for word, so that it can be judged again."""

    started: str
    """Time of day in UTC."""
    commands: tuple[MeasureResultCommand, ...]
    """Each command with what it printed."""
    machine: MeasureResultMachineDescription


@dataclass(frozen=True)
class Judgement:
    """A measurement, judged."""

    measurement: Measurement
    """What was judged."""
    machine: str
    """What the machine was read from."""
    cases: tuple[JudgedCase, ...]
    """One for each case of the measurement."""
    notes: tuple[str, ...] = ()
    """What was assumed or could not be told, a sentence each."""
    record: Record | None = None
    """What `measure` records beside the numbers."""
    unfinished: str | None = None
    """Why `measure` did not run all that it was to run; None where it did."""

    @property
    def misconfigured(self) -> bool:
        """Whether any case is held back by the configuration."""
        return any(case.verdict is Verdict.WRONG for case in self.cases)

    @property
    def reason_for_nothing(self) -> str | None:
        """Why no case at all could be judged; None when one was: then no complaint is good news."""
        if any(case.verdict is not Verdict.NONE for case in self.cases):
            return None
        return self.cases[0].binding if self.cases else "it has no results"

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per case: measured and predicted in GB/s, their ratio, the verdict and what binds."""
        # Polars takes a tenth of a second, and a health check on every boot asks for no table.
        import polars as pl

        from lanewise.columns import frame

        numbers = ("measured_gb_per_s", "predicted_gb_per_s", "ratio")
        columns: Columns = {
            **dict.fromkeys(("name", "bdf"), pl.String),
            **dict.fromkeys(numbers, pl.Float64),
            **dict.fromkeys(("verdict", "binding"), pl.String),
        }
        return frame((case.document() for case in self.cases), columns)

    def __repr__(self) -> str:
        """Say what was judged, and how often which verdict was given."""
        found = Counter(str(case.verdict) for case in self.cases)
        verdicts = ", ".join(f"{verdict} {count}" for verdict, count in found.items())
        return in_short(self, f"{self.measurement.tool} on {self.machine}", verdicts)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: each case beside what was possible."""
        from lanewise.notebook import html

        return html(
            f"{self.measurement.tool} on {self.machine}",
            self.notes,
            [("Measured beside possible", self.table)],
        )

    @property
    def document(self) -> ImportResult | MeasureResult:
        """The judgement as JSON has it; with what `measure` recorded, where it did."""
        judged: ImportResult = {
            "tool": self.measurement.tool,
            "source": self.measurement.source,
            "machine": self.machine,
            "cases": [case.document() for case in self.cases],
            "notes": list(self.notes),
        }
        if self.record is None:
            return judged
        return {
            "tool": judged["tool"],
            "source": self.measurement.source or "",
            "machine": judged["machine"],
            "cases": judged["cases"],
            "notes": judged["notes"],
            "started": self.record.started,
            "commands": list(self.record.commands),
            "machine_description": self.record.machine,
            "unfinished": self.unfinished,
        }

    def to_json(self) -> str:
        """Return the judgement as JSON text."""
        return json.dumps(stamped(self.document), indent=2, ensure_ascii=False)


def judge(measurement: Measurement, machine: Machine, *, device: Address | None = None) -> Judgement:
    """Set every case of a measurement beside what the machine allows.

    `device` is where cases were measured that do not name a device themselves.
    """
    findings = diagnose(machine, cost=False).findings
    machine, notes = with_missing_ports(machine)
    simulator = Simulator(machine, {})
    chosen = None if device is None else machine.find(device)
    whole = summed(measurement.cases)
    copies = (*GPU_TOOLS, "nccl-tests")
    fixed = FixedTimes(case for case in whole if case.raw.get("tool", measurement.tool) in copies)
    matches = [match(case, measurement, machine, chosen) for case in whole]
    tools = [str(case.raw.get("tool", measurement.tool)) for case in whole]
    shares = _share_their_way(whole, tools, matches)
    cases = tuple(
        _judged(case, found, simulator, [f for f in findings if shared or f.rule not in _SHARED], fixed)
        for case, found, shared in zip(whole, matches, shares, strict=True)
    )
    return Judgement(
        measurement, machine.source, cases, (*machine.notes, *notes, *_few(measurement.not_understood))
    )


def _few(unread: Sequence[str]) -> tuple[str, ...]:
    """Return what was left unread as a few notes: a page around an output is nothing to list."""
    if len(unread) <= _MOST_UNREAD:
        return tuple(unread)
    more = len(unread) - _MOST_UNREAD
    return (
        *unread[:_MOST_UNREAD],
        f"{more} more line{'s' if more > 1 else ''} of the output say nothing that is read",
    )


def _share_their_way(cases: Sequence[Case], tools: Sequence[str], matches: Sequence[Match]) -> list[bool]:
    """Say of each case whether other devices were at work at the same time, as far as an output tells.

    Jobs of one group of fio are, the drives of one job, and the GPUs of a collective; other tools measure one
    device at a time.
    """
    devices: dict[tuple[object, ...], set[Address]] = {}
    runs = [(tool, *run_of(case)) for case, tool in zip(cases, tools, strict=True)]
    for run, found in zip(runs, matches, strict=True):
        if run[0] in _AT_ONCE and found.function is not None:
            devices.setdefault(run, set()).add(found.function.address)
    return [
        run[0] == "nccl-tests"
        or len(devices.get(run, ())) > 1
        or (run[0] in _AT_ONCE and str(case.target or "").count("/dev/") > 1)
        for case, run in zip(cases, runs, strict=True)
    ]


def _judged(
    case: Case, found: Match, simulator: Simulator, findings: Sequence[Finding], fixed: FixedTimes
) -> JudgedCase:
    measured = None if case.bandwidth_bytes_per_s is None else case.bandwidth_bytes_per_s / 1e9
    bdf = found.function.address.short if found.function else None
    row = simulator.row(as_found(simulator.machine, found.benchmark)) if found.benchmark else None
    if found.benchmark is None or row is None or measured is None or not row.alone_gb_per_s:
        reason = found.reason or "the way from the device to the root is not known well enough"
        return JudgedCase(case.name, bdf, measured, None, None, Verdict.NONE, reason)
    predicted = row.alone_gb_per_s * found.share
    ratio = measured / predicted
    beyond = found.benchmark.peer is not None and found.benchmark.function.is_gpu and ratio > _TOO_GOOD
    carried = (row.ceiling_gb_per_s or predicted) * found.share
    if beyond and measured > carried:
        return JudgedCase(case.name, bdf, measured, predicted, ratio, Verdict.NONE, _OWN_LINKS)
    small = _latency_bound(case, predicted, ratio, fixed)
    if small is not None:
        return JudgedCase(case.name, bdf, measured, predicted, ratio, Verdict.LATENCY, _LAUNCH, (small,))
    bearings = {rule.id: rule.bearing for rule in rules()}
    on_the_way = _on_the_way(simulator.machine, found.benchmark, findings)
    faults = [f for f in on_the_way if _is_fault(f, bearings[f.rule], found.benchmark, ratio)]
    explanations = [f for f in on_the_way if bearings[f.rule] is Bearing.EXPLAINS]
    verdict = _verdict(1.0 if beyond else ratio, faults)
    evidence = [f"{finding.title} [{finding.rule}]" for finding in faults]
    asleep = link_asleep(simulator.machine, found.benchmark, predicted)
    if verdict is Verdict.HOST and asleep is not None and _is_all_of(asleep.gb_per_s, measured, case):
        verdict, evidence = Verdict.WRONG, [asleep.said]
    if verdict is Verdict.HOST:
        evidence += _beyond_the_link(case, predicted, found.benchmark)
    if verdict is Verdict.TOO_GOOD:
        evidence.append(_NOT_THIS_LINK)
    if beyond:
        evidence.append(
            f"more than the {predicted:.2f} GB/s that are simulated, and within the {carried:.2f} GB/s that "
            "the narrowest link carries: these GPUs send larger packets, or this is not the way between them"
        )
    if found.benchmark.also:
        drives = ", ".join(drive.address.short for drive in found.benchmark.parties)
        evidence.append(f"one job on several drives, which are set beside it together: {drives}")
    if verdict in (Verdict.HOST, Verdict.TOO_GOOD) and is_buffered(case):
        evidence.append(
            "not direct I/O: the page cache, reading ahead and writing back are part of the result; "
            "fio's --direct=1 measures the drive"
        )
    evidence += [f"{finding.title} [{finding.rule}]" for finding in explanations]
    return JudgedCase(case.name, bdf, measured, predicted, ratio, verdict, row.binding, tuple(evidence))


def _latency_bound(case: Case, predicted: float, ratio: float, fixed: FixedTimes) -> str | None:
    """Say what a copy takes besides its bytes, where that is why it falls short."""
    beside = fixed.of(case, predicted * 1e9)
    rate, size = case.bandwidth_bytes_per_s, case.block_bytes
    if beside is None or not rate or not size or ratio >= _CLOSE:
        return None
    share = beside * rate / size
    if share <= 1 - _CLOSE and ratio < _CLOSE * (1 - share):
        return None
    return (
        f"small copies take {1e6 * beside:.1f} us besides their bytes (driver, launch, the round trip), "
        "which no register shows: judge the largest sizes"
    )


def _verdict(ratio: float, faults: list[Finding]) -> Verdict:
    if ratio > _TOO_GOOD:
        return Verdict.TOO_GOOD
    if faults:
        return Verdict.WRONG
    return Verdict.GOOD if ratio >= _CLOSE else Verdict.HOST


def _is_all_of(carries: float, measured: float, case: Case) -> bool:
    """Whether a result is what a slow link carries; copies of pageable memory are as slow on any link."""
    return _CLOSE <= measured / carries <= _TOO_GOOD and case.raw.get("memory") != "pageable"


def _is_fault(finding: Finding, bearing: Bearing, benchmark: Benchmark, ratio: float) -> bool:
    """Whether a finding on the way held this benchmark back.

    Registers that limit are in the prediction, so a result close to it does not acquit them; what disturbs is
    not, and did no harm where the result is close.
    """
    if finding.severity is Severity.INFO:
        return False
    if bearing is Bearing.LIMITS_READS:
        return benchmark.direction != "write"
    if bearing is Bearing.LIMITS_PEERS:
        return benchmark.peer is not None
    return bearing is Bearing.LIMITS or (bearing is Bearing.DISTURBS and ratio < _CLOSE)


def _on_the_way(machine: Machine, benchmark: Benchmark, findings: Sequence[Finding]) -> list[Finding]:
    """Select findings about the devices, the other functions on their links, or a port above them."""
    own: set[str] = set()
    above: set[str] = set()
    for function in benchmark.parties:
        link = machine.link_above(function)
        own |= {function.address.short, *(f.address.short for f in (link.lower if link else ()))}
        above |= {bridge.address.short for bridge in machine.path(function)}
    return [f for f in findings if f.bdf in own | above or own & set(f.also)]


def _is_long(case: Case) -> bool:
    """Whether one operation takes so long that what comes before its first byte does not matter."""
    rate, size = case.bandwidth_bytes_per_s, case.block_bytes
    return bool(rate and size) and (size or 0) / (rate or 1) >= _LONG_S


def _beyond_the_link(case: Case, predicted: float, benchmark: Benchmark) -> list[str]:
    """Say what the output itself tells about host, software and depth.

    What is possible is simulated with media that are no limit, so that those of a drive come first.
    """
    slower = "something beyond it is slower"
    if benchmark.function.is_storage:
        slower = f"{benchmark.function.address.short} itself is the first suspect, then host and software"
    evidence = [f"{predicted:.2f} GB/s are possible with this configuration; {slower}"]
    user, system = case.raw.get("usr_cpu"), case.raw.get("sys_cpu")
    if isinstance(user, int | float) and isinstance(system, int | float):
        evidence.append(f"fio's threads used {user:.0f} % user and {system:.0f} % system time")
    if case.queue_depth == 1 and not _is_long(case):
        evidence.append("one operation at a time: latency decides, a deeper queue shows the bandwidth")
    elif case.block_bytes is not None and case.block_bytes < 16 << 10 and case.operations_per_s:
        evidence.append(
            f"small blocks: {case.operations_per_s:,.0f} operations/s, each with its software cost"
        )
    if case.raw.get("memory") == "pageable":
        evidence.append(
            "pageable memory: the driver copies through a pinned buffer; --memory=pinned avoids it"
        )
    return evidence
