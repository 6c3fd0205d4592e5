"""What a run rests on: which values that no specification fixes move its throughput or latency, and how far.

Candidates are varied by 20 % in groups first, each in its harmful direction; a group that moves nothing is
done with, another one is split in two (sequential bifurcation), and what is left alone is varied both ways.
Runs have the same random numbers. What this can miss: a value whose harm is made good by another of its
group, one that only helps, and what moves the result by less than `MATTERS_FROM_PERCENT`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.errors import ScenarioError
from lanewise.experiment.candidates import by_component, candidates_of, tried
from lanewise.rests_on import Dependence, Moved, RestsOn
from lanewise.runs.simulator import resolve, simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lanewise.documents import Progress
    from lanewise.experiment.candidates import Candidate
    from lanewise.results import RunResult
    from lanewise.runs.simulator import Scenario

MATTERS_FROM_PERCENT = 1.0
"""A smaller change is not told: a run stops when its results are as narrow as half of that."""
MOST_RUNS = 60
"""So many runs at most; what is not looked at by then is said to be so."""


def rests_on(
    scenario: Scenario,
    base: RunResult,
    progress: Callable[[Progress], bool | None] | None = None,
    *,
    most_runs: int = MOST_RUNS,
) -> RestsOn:
    """Find what moves a finished run of a scenario, with the overrides that it had.

    `progress` hears of each run in turn; returning False ends the search, with what is known by then.
    """
    return _Search(scenario, base, progress, most_runs).found()


class _Search:
    def __init__(
        self,
        scenario: Scenario,
        base: RunResult,
        progress: Callable[[Progress], bool | None] | None,
        most_runs: int,
    ) -> None:
        self.scenario, self.base, self.progress, self.most_runs = scenario, base, progress, most_runs
        self.runs = 0
        self.is_stopped = False
        self.fixed: list[Candidate] = []
        """What can be no other."""

    def found(self) -> RestsOn:
        parameters = resolve(self.scenario, self.base.overrides).document["parameters"]
        set_by_hand = {path for path, _ in self.base.overrides}
        candidates = tried(list(candidates_of(parameters, but=set_by_hand)), self._is_allowed)
        sources = {each["path"]: each["source"] for each in parameters}
        effects: list[Dependence] = []
        left: list[Candidate] = []
        self.fixed = [one for one in candidates if one.is_fixed]
        waiting = by_component([one for one in candidates if not one.is_fixed])
        while waiting:
            group = waiting.pop(0)
            if not self.is_stopped and self.runs + 2 <= self.most_runs:
                effect, halves = self._tried(group, sources)
                if not self.is_stopped:
                    effects += effect
                    waiting = [*halves, *waiting]
                    continue
            # Not tried, or not to its end: a run that was ended says nothing.
            left += group
        largest_first = tuple(sorted(effects, key=lambda each: -each.size))
        varied = [one for one in candidates if one not in left and one not in self.fixed]
        return RestsOn(
            largest_first,
            len(varied),
            self.runs,
            _paths(left),
            _paths(self.fixed),
            _paths([one for one in varied if one.refused]),
            is_whole=not self.is_stopped,
        )

    def _is_allowed(self, values: Sequence[tuple[str, str]]) -> bool:
        try:
            resolve(self.scenario, [*self.base.overrides, *values])
        except ScenarioError:
            return False
        return True

    def _tried(
        self, group: list[Candidate], sources: dict[str, str]
    ) -> tuple[list[Dependence], list[list[Candidate]]]:
        """Return the effect of a candidate, if it has one, or the halves of a group that has."""
        if len(group) == 1:
            effect = self._both_ways(group[0], sources)
            if not self.is_stopped and effect is None:
                self.fixed += group
            if effect is None:
                return [], []
            return ([effect], []) if effect.size >= MATTERS_FROM_PERCENT else ([], [])
        moved = self._varied([(one, one.harmful) for one in group], "")
        if moved is not None and moved.size < MATTERS_FROM_PERCENT:
            return [], []
        middle = len(group) // 2
        return [], [group[:middle], group[middle:]]

    def _both_ways(self, one: Candidate, sources: dict[str, str]) -> Dependence | None:
        """Return what a value moves; None where it can be no other after all."""
        found = [
            None if value in one.refused else self._varied([(one, value)], value)
            for value in (one.lower, one.higher)
        ]
        if all(
            each is None
            for each, value in zip(found, (one.lower, one.higher), strict=True)
            if value != one.value
        ):
            return None
        lower, higher = (
            each or Moved(value, None, None)
            for each, value in zip(found, (one.lower, one.higher), strict=True)
        )
        return Dependence(one.paths, one.value, one.provenance, sources[one.paths[0]], lower, higher)

    def _varied(self, values: Sequence[tuple[Candidate, str]], said: str) -> Moved | None:
        """Run with other values; None where there can be no such machine."""
        pairs = [(path, value) for one, value in values for path in one.paths if value != one.value]
        self.runs += 1
        try:
            result = simulate(self.scenario, [*self.base.overrides, *pairs], self.progress)
        except ScenarioError:
            return None
        if result.end_reason == "Interrupted":
            self.is_stopped = True
            return Moved(said, None, None)
        return Moved(
            said,
            _percent(_done(self.base), _done(result)),
            _percent(_latency(self.base), self._latency_of(result)),
        )

    def _latency_of(self, result: RunResult) -> float | None:
        flow = _main_flow(self.base)
        if flow is None:
            return None
        same = result.flows.filter(**flow)
        return None if same.is_empty() else same["latency_ns_mean"][0]


def _paths(candidates: Sequence[Candidate]) -> tuple[str, ...]:
    return tuple(path for one in candidates for path in one.paths)


def _done(result: RunResult) -> float:
    """Return the goodput of all data, or how many operations, where no bytes are counted."""
    return result.goodput_gb_per_s or float(result.data_flows["operations_per_s"].sum())


def _main_flow(result: RunResult) -> dict[str, str] | None:
    flows = result.data_flows.sort("goodput_gb_per_s", descending=True, maintain_order=True)
    return next(flows.select("flow", "device", "direction").iter_rows(named=True), None)


def _latency(result: RunResult) -> float | None:
    flows = result.data_flows.sort("goodput_gb_per_s", descending=True, maintain_order=True)
    return None if flows.is_empty() else flows["latency_ns_mean"][0]


def _percent(before: float | None, after: float | None) -> float | None:
    return 100 * (after / before - 1) if before and after is not None else None
