"""A run that one can stop anywhere, look into, change, and let go on.

`Session` has the scenario at work; `LiveState` is what it looks like at one instant. What may change while a
run goes on, and from when on, is in ``docs/reference/live.md``.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import polars as pl

from lanewise import _core
from lanewise.api import override_pair, run_pairs
from lanewise.columns import DIRECTIONS, frame
from lanewise.results import Result, RunResult
from lanewise.runs.file_hints import with_file_hints
from lanewise.runs.simulator import read_once, source_of
from lanewise.written import in_short

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise import documents
    from lanewise.api import Overrides
    from lanewise.runs.simulator import Scenario

_FLOW_COLUMNS = {
    "flow": pl.String,
    "device": pl.String,
    "direction": pl.String,
    "goodput_gb_per_s": pl.Float64,
    "operations_per_s": pl.Float64,
    "latency_ns_mean": pl.Float64,
}
_DIRECTION_COLUMNS = {
    "link": pl.String,
    "direction": pl.String,
    "transmitter": pl.String,
    "state": pl.String,
    "goodput_gb_per_s": pl.Float64,
    "utilisation": pl.Float64,
    "waits_for": pl.String,
    "tlps_per_s": pl.Float64,
    "dllps_per_s": pl.Float64,
    "replays": pl.UInt32,
    "queued_posted": pl.UInt32,
    "queued_non_posted": pl.UInt32,
    "queued_completion": pl.UInt32,
    "unacknowledged": pl.UInt32,
    "retry_buffer_bytes": pl.UInt64,
}
_TIME_COLUMNS = {
    "link": pl.String,
    "direction": pl.String,
    "category": pl.String,
    "time_fraction": pl.Float64,
}
_CREDIT_COLUMNS = {
    "link": pl.String,
    "direction": pl.String,
    "class": pl.String,
    "header_free": pl.UInt16,
    "header_advertised": pl.UInt16,
    "header_held": pl.UInt16,
    "data_free": pl.UInt16,
    "data_advertised": pl.UInt16,
    "data_held": pl.UInt16,
}
_CLASSES: tuple[Literal["posted", "non_posted", "completion"], ...] = ("posted", "non_posted", "completion")
_REQUESTER_COLUMNS = {
    "device": pl.String,
    "outstanding_reads": pl.UInt32,
    "tags": pl.UInt32,
    "state": pl.String,
    "time_fraction": pl.Float64,
}
_RESOURCE_COLUMNS = {
    "resource": pl.String,
    "kind": pl.String,
    "limit": pl.String,
    "utilisation": pl.Float64,
    "served_per_s": pl.Float64,
    "waiting_mean": pl.Float64,
}


@dataclass(frozen=True)
class Change:
    """A parameter that became another value while a run went on."""

    path: str
    """Dotted path."""
    before: str
    """As it was, with its unit."""
    after: str
    """As it was from then on, with its unit."""


@dataclass(frozen=True, eq=False, repr=False)
class LiveState(Result):
    """A run at one instant. Rates and shares are since the last look, ``document["window_s"]`` seconds."""

    document: documents.State

    @property
    def time_s(self) -> float:
        """Simulated time, s."""
        return float(self.document["time_s"])

    @property
    def stage(self) -> str:
        """Say how far it is: ``warm-up``, ``measuring`` or ``over``."""
        return str(self.document["stage"])

    @cached_property
    def flows(self) -> pl.DataFrame:
        """Goodput in 10⁹ B/s, operations a second and their mean latency in ns, one row a flow."""
        return frame(({**flow, **flow["last"]} for flow in self.document["flows"]), _FLOW_COLUMNS)

    @cached_property
    def links(self) -> pl.DataFrame:
        """What each link direction carries, what it waits for, and what waits for it; two rows a link.

        Goodput in 10⁹ B/s of payload on the wire; ``waits_for`` is null while something is on the wire.
        """
        rows = (
            {
                "link": link["name"],
                "direction": name,
                **way,
                "state": way["link"],
                **{f"queued_{kind}": count for kind, count in way["queued_tlps"].items()},
            }
            | {"link": link["name"]}
            for link, name, way in self._ways()
        )
        return frame(rows, _DIRECTION_COLUMNS)

    @cached_property
    def time(self) -> pl.DataFrame:
        """Part of the window that each link direction spent on each use; they sum to 1 in each direction."""
        rows = (
            {"link": link["name"], "direction": name, "category": use, "time_fraction": share}
            for link, name, way in self._ways()
            for use, share in way["time_attribution"].items()
        )
        return frame(rows, _TIME_COLUMNS)

    @cached_property
    def credits(self) -> pl.DataFrame:
        """Credits of VC0 of each direction: free at the transmitter, advertised and held by the receiver.

        Units are the specification's: a header, or 16 B of data. Null is infinite.
        """
        rows = (
            {"link": link["name"], "direction": name, "class": kind, **way["credits"][kind]}
            for link, name, way in self._ways()
            for kind in _CLASSES
        )
        return frame(rows, _CREDIT_COLUMNS)

    @cached_property
    def requesters(self) -> pl.DataFrame:
        """Reads outstanding at each endpoint, and what it spent the window on: one row a state.

        After no time at all there is one row a device, without a state.
        """
        rows = (
            {**each, "state": state, "time_fraction": share}
            for each in self.document["requesters"]
            for state, share in each["time_attribution"].items() or [(None, None)]
        )
        return frame(rows, _REQUESTER_COLUMNS)

    @cached_property
    def resources(self) -> pl.DataFrame:
        """How much of each shared resource was in use in the window (0 to 1), and how many waited for it."""
        rows = ({**each, "resource": each["name"]} for each in self.document["resources"])
        return frame(rows, _RESOURCE_COLUMNS)

    def _ways(self) -> Iterator[tuple[documents.LiveLink, str, documents.LiveDirection]]:
        for link in self.document["links"]:
            for name in DIRECTIONS:
                yield link, name, link[name]


class Session:
    """A scenario at work: the path of a file, TOML text, or a dictionary of what a file would say.

    `overrides`, `seed` and `time_limit` are those of `lanewise.run`. A session ends at its limits of time
    and events, or when its workloads are done; with `ends_when_narrow` also when its results are narrow
    enough, as `lanewise.run` does. Steps of any length, looks and results change nothing about a run.
    Raises `lanewise.ScenarioError`.

    >>> import lanewise
    >>> session = lanewise.Session("scenarios/switch.toml")
    >>> session.step("200 us")
    True
    >>> session.state().links.filter(link="card0", direction="downstream")["utilisation"].round(1).item()
    1.0
    >>> session.change("workload.read0.outstanding", 1)
    [Change(path='workload.read0.outstanding', before='32', after='1')]
    >>> session.step("200 us")
    True
    >>> session.results().end_reason
    'Interrupted'
    """

    def __init__(
        self,
        scenario: Scenario,
        *,
        overrides: Overrides = (),
        seed: int | None = None,
        time_limit: str | None = None,
        ends_when_narrow: bool = False,
    ) -> None:
        """Read the scenario, and put it at rest at its start."""
        self._overrides = run_pairs(overrides, seed, time_limit)
        self._name, kept = read_once(scenario, self._overrides)
        with with_file_hints():
            self._core = _core.Session(self._name, self._overrides, source_of(kept), ends_when_narrow)

    def __repr__(self) -> str:
        """Say of what it is, and how far."""
        return in_short(self, self._name, f"at {self.now_s * 1e6:g} us", self.end_reason or "")

    @property
    def now_s(self) -> float:
        """Simulated time so far, s."""
        return self._core.now_s

    @property
    def end_reason(self) -> str | None:
        """Why the run is over, as results say it; none while it can go on."""
        return self._core.end_reason

    @property
    def fingerprint(self) -> str:
        """Hash of all packets so far and of the changes that were made, 16 hexadecimal digits."""
        return self._core.fingerprint

    def step(self, span: str | None = None) -> bool:
        """Go on for so long, a text with its unit like ``"250 us"``, or to the end; say whether it can go on.

        Ctrl-C raises KeyboardInterrupt, and the session stays where it has come to. Raises ValueError for a
        text that is no time.
        """
        return self._core.step(span)

    def state(self) -> LiveState:
        """Return what is there now, and what has happened since the last call or since measuring began."""
        return LiveState(json.loads(self._core.state()))

    def change(self, path: str, value: object) -> list[Change]:
        """Change a parameter from now on: a dotted path, and a value as overrides have them.

        Return what became another value: nothing when it was that already. Raises `lanewise.ScenarioError`
        for a value that a file could not have, and for what cannot change while a run goes on.
        """
        changed = json.loads(self._core.change(*override_pair((path, value))))
        return [Change(**each) for each in changed]

    def results(self) -> RunResult:
        """Return the results so far: before the end those of a run that is interrupted here.

        The session can go on; that does the run so far again, since results account for all of its time.
        """
        return RunResult(json.loads(self._core.results()), tuple(self._overrides))
