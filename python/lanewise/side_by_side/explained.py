"""What explains the difference between two runs: differing parameters, tried one at a time.

Each difference of the two scenarios is applied alone to the first, and taken back alone from the second.
What it brings alone, and what is left without it, is the evidence; both are simulated.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING, Literal, TypeAlias

from lanewise import _core
from lanewise.runs.simulator import simulate
from lanewise.side_by_side.written import Written, differences, fewer, read_both
from lanewise.study.measures import mean_latency

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lanewise.documents import CompareExplained, CompareExplainedDifference, Progress
    from lanewise.results import RunResult
    from lanewise.side_by_side.written import Difference

    Watch = Callable[[Progress], bool | None] | None

Quantity: TypeAlias = Literal["goodput_gb_per_s", "operations_per_s", "latency_ns_mean"]

FlowKey: TypeAlias = tuple[str, str, str]
"""Flow, device and direction."""

MOST_TRIED = 6
"""Differences that are tried one by one; of more, those of one component are tried together."""
MOST_EVENTS = 60_000_000
"""Of all tries together where nobody asked for them: some ten seconds on one core."""
_UNITS: dict[Quantity, tuple[str, int]] = {
    "goodput_gb_per_s": ("GB/s of all data", 3),
    "operations_per_s": ("operations a second", 0),
    "latency_ns_mean": ("mean latency in ns", 2),
}
"""What numbers are of, and their decimals."""
_SAME = 0.005
"""Relative change below which two runs say the same: they stop when their results are as narrow as that."""
_SAME_LATENCY = 0.02
"""The same of mean latencies, which are known less narrowly."""
_ALL, _LITTLE = 0.9, 0.1
"""Shares of a difference that are nearly all of it, and next to nothing."""


@dataclass(frozen=True)
class Outcome:
    """What a run gave."""

    goodput_gb_per_s: float
    operations_per_s: float
    latency_ns_mean: float | None
    limited_by: str | None
    latencies: Mapping[FlowKey, float]
    """Mean latency of each flow of data, ns."""

    @classmethod
    def of(cls, run: RunResult) -> Outcome:
        """Sum a run up."""
        flows = run.data_flows
        latencies = flows.select("operations", "latency_ns_mean").rows()
        operations = float(flows["operations_per_s"].sum())
        keys = flows.select("flow", "device", "direction").rows()
        each = {
            (str(flow), str(device), str(direction)): float(mean)
            for (flow, device, direction), (count, mean) in zip(keys, latencies, strict=True)
            if count and mean
        }
        return cls(run.goodput_gb_per_s, operations, mean_latency(latencies), run.limited_by, each)


@dataclass(frozen=True)
class Measure:
    """What a difference is of."""

    quantity: Quantity
    """Goodput; operations where no bytes move; the mean latency of a flow where both are the same."""
    flow: FlowKey | None = None
    """Of a latency: that of the flow whose latency differs most."""

    def of(self, outcome: Outcome) -> float:
        """Return it; 0 where nothing is known of it, as in a run that did nothing."""
        if self.flow is not None:
            return outcome.latencies.get(self.flow, 0.0)
        value: float | None = getattr(outcome, self.quantity)
        return value or 0.0

    @property
    def unit(self) -> str:
        """What its numbers are of."""
        of = "" if self.called is None else f" of {self.called}"
        return f"{_UNITS[self.quantity][0]}{of}"

    @property
    def digits(self) -> int:
        """How many decimals its numbers are shown with."""
        return _UNITS[self.quantity][1]

    @property
    def called(self) -> str | None:
        """The flow in words; None for sums over all."""
        if self.flow is None:
            return None
        name, device, direction = self.flow
        return f"{name} ({direction})" if device in name else f"{name} of {device} ({direction})"


@dataclass(frozen=True)
class Tried:
    """A difference, and what it brings."""

    difference: Difference
    alone: Outcome | None = None
    """Of a with only this as in b; None where it was not tried."""
    without: Outcome | None = None
    """Of b with only this as in a; None where it was not tried."""
    share: float | None = None
    """Part of the difference between a and b that it brings alone; None where that is not known."""

    def document(self, measure: Measure) -> CompareExplainedDifference:
        """Return it as JSON has it."""
        return {
            "parameters": list(self.difference.names),
            "a": list(self.difference.values_a),
            "b": list(self.difference.values_b),
            "alone": None if self.alone is None else measure.of(self.alone),
            "all_but_it": None if self.without is None else measure.of(self.without),
            "share": self.share,
            "alone_latency_ns_mean": None if self.alone is None else self.alone.latency_ns_mean,
            "alone_limited_by": None if self.alone is None else self.alone.limited_by,
        }


@dataclass(frozen=True)
class Explanation:
    """What explains the difference between two runs, a and b."""

    sentence: str
    """In short."""
    measure: Measure
    """What `alone` and the like are of."""
    a: Outcome
    b: Outcome
    tried: tuple[Tried, ...]
    """Every difference, what brings most first."""
    not_tried: str | None = None
    """Why nothing was tried; None where it was, or where there was nothing to try."""

    def document(self) -> CompareExplained:
        """Return it as JSON has it."""
        return {
            "sentence": self.sentence,
            "quantity": self.measure.quantity,
            "of": self.measure.called,
            "differences": [each.document(self.measure) for each in self.tried],
            "not_tried": self.not_tried,
        }


def explain(
    a: RunResult,
    b: RunResult,
    *,
    wanted: bool | None,
    made_here: bool,
    progress: Watch = None,
    letters: tuple[str, str] = ("A", "B"),
) -> Explanation:
    """Say what explains the difference between two runs.

    `wanted` is whether differences are tried; None tries them when both runs were `made_here`, just now, and
    the tries together take little. KeyboardInterrupt when `progress` returns False.
    """
    of_a, of_b = Outcome.of(a), Outcome.of(b)
    measure = _what_moved(of_a, of_b)
    if a.kept is None or b.kept is None:
        which = " and ".join(letter for letter, run in zip(letters, (a, b), strict=True) if run.kept is None)
        said = f"What differs is not known: {which} came without the text of its scenario"
        return Explanation(said, measure, of_a, of_b, (), "the text of a scenario is not known")
    sides = read_both((a.kept, b.kept), (a.overrides, b.overrides), letters)
    problem = next((each.problem for each in sides if each.problem is not None), None)
    if problem is not None:
        said = "What differs is not known: the text of a scenario does not stand alone"
        return Explanation(said, measure, of_a, of_b, (), str(problem).splitlines()[0])
    found = fewer(differences(*sides), MOST_TRIED)
    if len(found) < 2:
        share = 1.0 if found and _moved(of_a, of_b, measure) else None
        tried = tuple(Tried(each, of_b, of_a, share) for each in found)
        return Explanation(_of_few(found, a, b), measure, of_a, of_b, tried)
    why_not = _why_not(a, b, wanted=wanted, made_here=made_here, tries=_tries(len(found)))
    if why_not is None and not made_here:
        why_not = _moved_since(a, b, sides, progress)
    if why_not is not None:
        tried = tuple(map(Tried, found))
        said = f"{len(found)} things differ, and which of them matter was not tried"
        return Explanation(said, measure, of_a, of_b, tried, why_not)
    tried = tuple(_try_all(found, sides, (of_a, of_b), measure, progress))
    tried = tuple(sorted(tried, key=lambda each: -_weight(each, of_a, of_b, measure)))
    return Explanation(_sentence(tried, of_a, of_b, measure, letters), measure, of_a, of_b, tried)


def _what_moved(a: Outcome, b: Outcome) -> Measure:
    """Return what the difference is of."""
    moves = a.goodput_gb_per_s or b.goodput_gb_per_s
    rate = Measure("goodput_gb_per_s" if moves else "operations_per_s")
    changes = {
        flow: abs(log(b.latencies[flow] / mean)) for flow, mean in a.latencies.items() if flow in b.latencies
    }
    flow = max(changes, key=lambda each: changes[each], default=None)
    if _moved(a, b, rate) or flow is None or changes[flow] <= _SAME_LATENCY:
        return rate
    return Measure("latency_ns_mean", flow)


def _tries(count: int) -> int:
    return 2 if count == 2 else 2 * count


def _why_not(a: RunResult, b: RunResult, *, wanted: bool | None, made_here: bool, tries: int) -> str | None:
    """Say why differences are not tried; None when they are."""
    if wanted is False:
        return "--no-explain says so"
    versions = {str(run.document.get("lanewise_version")) for run in (a, b)} - {_core.VERSION}
    if versions:
        return f"a run is of Lanewise {min(versions)}, and this is {_core.VERSION}"
    if wanted:
        return None
    if not made_here:
        return "finished runs are simulated again only with --explain"
    events = max(int(run.document.get("events", 0)) for run in (a, b)) * tries
    if events > MOST_EVENTS:
        return f"{tries} more runs of this length take long; --explain does them"
    return None


def _moved_since(a: RunResult, b: RunResult, sides: Sequence[Written], progress: Watch) -> str | None:
    """Say that a finished run does not come out the same when its text is run again; None when both do."""
    for letter, run, side in zip("ab", (a, b), sides, strict=True):
        if _simulate(side, progress).fingerprint != run.fingerprint:
            return f"the scenario that {letter} was kept with does not give its result when it is run again"
    return None


def _simulate(side: Written, progress: Watch) -> RunResult:
    result = simulate(side.kept, side.overrides, progress)
    if result.end_reason == "Interrupted":
        raise KeyboardInterrupt
    return result


def _try_all(
    found: Sequence[Difference],
    sides: tuple[Written, Written],
    outcomes: tuple[Outcome, Outcome],
    measure: Measure,
    progress: Watch,
) -> list[Tried]:
    a, b = sides
    alone = [Outcome.of(_simulate(each.put_into(a, b), progress)) for each in found]
    if len(found) == 2:
        without = alone[::-1]
    else:
        without = [Outcome.of(_simulate(each.put_into(b, a), progress)) for each in found]
    return [
        Tried(each, brings, left, _share(brings, *outcomes, measure))
        for each, brings, left in zip(found, alone, without, strict=True)
    ]


def _moved(a: Outcome, b: Outcome, measure: Measure) -> bool:
    of_a, of_b = measure.of(a), measure.of(b)
    return bool(abs(of_b - of_a) > _SAME * max(of_a, of_b))


def _share(alone: Outcome, a: Outcome, b: Outcome, measure: Measure) -> float | None:
    if not _moved(a, b, measure):
        return None
    of_a, of_b, of_it = (measure.of(each) for each in (a, b, alone))
    return (of_it - of_a) / (of_b - of_a)


def _weight(tried: Tried, a: Outcome, b: Outcome, measure: Measure) -> float:
    """Return how much a difference moves, alone or where it is taken back."""
    moves = [
        abs(measure.of(after) - measure.of(before))
        for before, after in ((a, tried.alone), (b, tried.without))
        if after is not None
    ]
    return max(moves, default=0.0)


def _of_few(found: Sequence[Difference], a: RunResult, b: RunResult) -> str:
    """Say what differs where it is one thing or none."""
    if not found:
        same = a.fingerprint == b.fingerprint
        return "Both have the same parameters" + ("" if same else ", and were not run alike")
    if len(found[0].lines) > 1:
        return f"They differ in what can only be changed together: {named(found[0])}"
    return f"They differ only in {named(found[0])}"


def named(difference: Difference) -> str:
    """Name what differs: all parameters, or the first of many."""
    names = [name for name, _, _ in difference.lines]
    if len(names) > 4:
        return f"{', '.join(names[:3])} and {len(names) - 3} more"
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _sentence(
    tried: Sequence[Tried], a: Outcome, b: Outcome, measure: Measure, letters: tuple[str, str]
) -> str:
    """Say what explains the difference."""
    first, second = letters
    what = "the difference" if measure.flow is None else "the difference in latency"
    if not _moved(a, b, measure):
        return _of_no_difference(tried, a, b, measure)
    whole = [each for each in tried if each.share is not None and _ALL <= each.share <= 2 - _ALL]
    if whole:
        rest = "" if len(whole) == 1 else f"; so does {named(whole[1].difference)}"
        brings = "brings" if len(whole[0].difference.lines) == 1 else "bring"
        return f"{named(whole[0].difference)} alone {brings} {_percent(whole[0])} of {what}{rest}"
    parts = [each for each in tried if each.share is not None and abs(each.share) > _LITTLE]
    listed = ", ".join(f"{named(each.difference)} {_percent(each)}" for each in parts[:4])
    alone = f"Alone, of {what}: {listed}"
    if parts and abs(sum(each.share or 0.0 for each in tried) - 1) <= _LITTLE:
        return alone
    needed = [each for each in tried if _lost(each, a, b, measure) > _ALL / 2 and each not in parts]
    if not needed:
        if parts:
            return f"{alone}; what they bring together is not the sum"
        return f"None of what differs brings it alone: it takes several to get from {first} to {second}"
    names = "; ".join(named(each.difference) for each in needed[:4])
    most = f"of these, {second} needs {'each' if len(needed) > 1 else 'this'}: {names}"
    return f"{alone}; {most}" if parts else f"It takes several together; {most}"


def _of_no_difference(tried: Sequence[Tried], a: Outcome, b: Outcome, measure: Measure) -> str:
    """Say what makes a difference where there is next to none altogether."""
    size = max(measure.of(a), measure.of(b))
    moving = [each for each in tried if _weight(each, a, b, measure) > _SAME * size]
    if not moving:
        return "There is next to no difference, and none of what differs makes one"
    those = "; ".join(named(each.difference) for each in moving[:3])
    return f"There is next to no difference, although these make one each: {those}"


def _lost(tried: Tried, a: Outcome, b: Outcome, measure: Measure) -> float:
    """Return the part of the difference that is gone without it."""
    if tried.without is None:
        return 0.0
    of_a, of_b, left = (measure.of(each) for each in (a, b, tried.without))
    return (of_b - left) / (of_b - of_a)


def _percent(tried: Tried) -> str:
    return f"{100 * (tried.share or 0.0):.0f} %"
