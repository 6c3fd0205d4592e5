"""Copies between each two devices of a scenario, pair by pair, as nvbandwidth and p2pBandwidthLatencyTest do.

The scenario's own workloads are put aside. For each pair the first device writes into the second, reads from
it, both write or read at the same time, and the first writes 16 B at a time; each device also copies to and
from its host. Copies are long, and one follows another, so that their start is hidden; pairs that are alike
are run once.

A side link carries a copy whole, as one transfer, so copies over one take as long as it takes; nothing of
them is in packets, so that this is few events.

Left out: copies by way of host memory, which devices without peer access make, and copies within a device.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import permutations
from math import fsum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from lanewise.errors import InputError, ScenarioError
from lanewise.output_format import FORMAT
from lanewise.runs.pair_kinds import PairKinds, base_of
from lanewise.runs.simulator import Scenario, given, resolve, simulate
from lanewise.scenario_text import written_tables
from lanewise.written import counted, in_short

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Sequence

    import polars as pl

    from lanewise.documents import Matrix, MatrixBlocked, MatrixDevice, MatrixPair
    from lanewise.results import RunResult

QUEUED_START = "2 us"
"""Time of a queued copy before its first request. Assumed: writes of 16 B between GPUs, one after another in
a stream, take 1.3 us on P100 and 2.6 us on A100 in public outputs of p2pBandwidthLatencyTest, most of it
this. ``copy_engine.overhead`` is of copies that a program waits for one by one."""

_LONG = "1 GiB"
_SHORT = "16 B"
_WARM_UP_US, _MEASURE_US = 30, 60
_WINDOW = {
    "warm_up": f"{_WARM_UP_US} us",
    "time_limit": f"{_WARM_UP_US + _MEASURE_US} us",
    "relative_half_width": "0.001 %",
}
_LONG_LIMIT_S = 10
_LONG_WINDOW = {"time_limit": f"{_LONG_LIMIT_S} s"}
"""Of copies over side links, which end one by one: the run stops as soon as their rate is known."""

Way: TypeAlias = Literal["write", "read"]
_WAYS: tuple[Way, ...] = ("write", "read")


@dataclass(frozen=True, kw_only=True)
class Device:
    """A device that copies."""

    number: int
    """As in the matrices."""
    name: str
    """As in the scenario."""
    address: str
    """Where firmware puts it, like ``0000:01:00.0``."""
    to_device_gb_per_s: float
    """Copies from host memory, 10⁹ B/s."""
    to_host_gb_per_s: float
    """Copies to host memory, 10⁹ B/s."""


@dataclass(frozen=True, kw_only=True)
class Copies:
    """What copies between two devices reach, payload in 10⁹ B/s; those of both ways are each of one way."""

    first: int
    """Number of the device whose copy engine is used."""
    second: int
    """Number of its peer."""
    write_gb_per_s: float
    read_gb_per_s: float
    both_write_first_gb_per_s: float
    """What the first writes while the second writes, too."""
    both_write_second_gb_per_s: float
    both_read_first_gb_per_s: float
    both_read_second_gb_per_s: float
    latency_us: float
    """Mean of a copy of 16 B, one after another in a stream."""


@dataclass(frozen=True, kw_only=True)
class Blocked:
    """Two devices between which no packet gets through, so that neither can copy to the other directly."""

    first: int
    """Number of the device whose copy engine would be used."""
    second: int
    """Number of its peer."""
    why: str
    """What is in the way."""


@dataclass(frozen=True)
class CopyMatrix:
    """Copies between each two of a scenario's devices."""

    title: str
    """Of the scenario."""
    devices: tuple[Device, ...]
    copies: tuple[Copies, ...]
    """One for each ordered pair that can copy."""
    queued_start: str
    """Time of a queued copy before its first request, in `latency_us`."""
    kinds: int
    """How many pairs were run: the others are like one of them."""
    blocked: tuple[Blocked, ...] = ()
    """One for each ordered pair that cannot copy."""

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per ordered pair of devices, by number: rates in GB/s, latency in us."""
        import polars as pl

        return pl.DataFrame([vars(each) for each in self.copies])

    @cached_property
    def device_table(self) -> pl.DataFrame:
        """One row per device: its name and address, and copies from and to the host in GB/s."""
        import polars as pl

        return pl.DataFrame([vars(each) for each in self.devices])

    def __repr__(self) -> str:
        """Say of what it is."""
        return in_short(self, self.title, counted(len(self.devices), "device"))

    def _repr_html_(self) -> str:
        """Return what a notebook shows: devices and pairs."""
        from lanewise.notebook import html

        return html(f"Copies of {self.title}", [], [("Devices", self.device_table), ("Pairs", self.table)])

    @property
    def document(self) -> Matrix:
        """The matrix as JSON has it."""
        return {
            "format": FORMAT,
            "title": self.title,
            "devices": [cast("MatrixDevice", dict(vars(each))) for each in self.devices],
            "pairs": [cast("MatrixPair", dict(vars(each))) for each in self.copies],
            "queued_start": self.queued_start,
            "kinds": self.kinds,
            "blocked": [cast("MatrixBlocked", dict(vars(each))) for each in self.blocked],
        }

    def to_json(self) -> str:
        """Return the matrix as JSON text."""
        return json.dumps(self.document, indent=2, ensure_ascii=False)


def copy_matrix(
    scenario: Scenario,
    devices: Sequence[str] = (),
    *,
    overrides: Sequence[tuple[str, str]] = (),
    queued_start: str = QUEUED_START,
    on_progress: Callable[[str], None] | None = None,
) -> CopyMatrix:
    """Simulate copies between each two devices; without any named, between all with copy engines of a part.

    `devices` are names, or patterns such as ``gpu*``. `on_progress` hears the pair in progress. Raises
    `InputError` where there are fewer than two devices, or no two that can copy, and `ScenarioError` as a run
    does.
    """
    _refuse_own(overrides)
    explained = resolve(scenario, overrides).document
    kinds = PairKinds(explained)
    chosen = _chosen(kinds, devices)
    _refuse_hosts(kinds, chosen)
    if queued_start != QUEUED_START:
        _check_start(scenario, overrides, chosen[0], queued_start)
    runs = _Runs(kinds, _without_workloads(scenario), overrides, queued_start)
    by_kind: dict[Hashable, tuple[float, ...]] = {}
    copies, blocked = [], []
    for first, second in permutations(range(len(chosen)), 2):
        names = chosen[first], chosen[second]
        kind = kinds.kind(*names)
        if kind not in by_kind:
            if on_progress:
                on_progress(" and ".join(names))
            try:
                by_kind[kind] = runs.pair(*names)
            except _BlockedError as error:
                blocked.append(Blocked(first=first, second=second, why=str(error)))
                continue
        copies.append(_copies(first, second, by_kind[kind]))
    if not copies:
        raise InputError(blocked[0].why)
    return CopyMatrix(
        title=explained["title"],
        devices=tuple(_devices(kinds, chosen, runs, on_progress)),
        copies=tuple(copies),
        queued_start=queued_start,
        kinds=len(by_kind),
        blocked=tuple(blocked),
    )


def _copies(first: int, second: int, figures: tuple[float, ...]) -> Copies:
    write, read, write_first, write_second, read_first, read_second, latency = figures
    return Copies(
        first=first,
        second=second,
        write_gb_per_s=write,
        read_gb_per_s=read,
        both_write_first_gb_per_s=write_first,
        both_write_second_gb_per_s=write_second,
        both_read_first_gb_per_s=read_first,
        both_read_second_gb_per_s=read_second,
        latency_us=latency,
    )


def _devices(
    kinds: PairKinds, chosen: Sequence[str], runs: _Runs, on_progress: Callable[[str], None] | None
) -> Iterable[Device]:
    found: dict[Hashable, tuple[float, float]] = {}
    for number, name in enumerate(chosen):
        kind = kinds.kind(name, name)
        if kind not in found:
            if on_progress:
                on_progress(f"{name} and its host")
            found[kind] = runs.host(name, "host-to-device"), runs.host(name, "device-to-host")
        yield Device(
            number=number,
            name=name,
            address=kinds.addresses[name],
            to_device_gb_per_s=found[kind][0],
            to_host_gb_per_s=found[kind][1],
        )


class _BlockedError(InputError):
    """No packet gets from one device to another."""


class _Runs:
    """Runs copies on a scenario that has no workloads of its own."""

    def __init__(
        self,
        kinds: PairKinds,
        scenario: dict[str, Any],
        overrides: Sequence[tuple[str, str]],
        queued_start: str,
    ) -> None:
        self._kinds = kinds
        self._scenario = scenario
        self._overrides = list(overrides)
        self._queued_start = queued_start

    def pair(self, first: str, second: str) -> tuple[float, ...]:
        """Return rates in GB/s and a latency in us, in the order of `Copies`."""
        rates: list[float] = []
        for by in _WAYS:
            rates += self._rates(_peer(first, second, by))
        for by in _WAYS:
            rates += self._rates(_peer(first, second, by), _peer(second, first, by, back=True))
        return (*rates, self._latency_us(first, second))

    def host(self, name: str, direction: str) -> float:
        """Return the rate of copies from or to the host, GB/s."""
        return self._rates(
            {
                "kind": "copy",
                "name": "copies",
                "device": name,
                "direction": direction,
                "size": _LONG,
                "runtime_call": False,
            }
        )[0]

    def _rates(self, *workloads: dict[str, Any]) -> tuple[float, ...]:
        """Return the rate of each workload, GB/s; InputError where one moves nothing."""
        is_whole = all(
            self._kinds.are_joined(each["device"], each.get("target", each["device"])) for each in workloads
        )
        if is_whole:
            result = self._run(workloads, _LONG_WINDOW, start="0 ns")
        else:
            result = self._run(workloads, _WINDOW)
        flows = result.document["flows"]
        rates = tuple(
            fsum(
                flow["goodput_gb_per_s"]
                for flow in flows
                if flow["device"] == workload["device"] and flow["direction"] != "control"
            )
            for workload in workloads
        )
        for workload, rate in zip(workloads, rates, strict=True):
            if rate == 0.0:
                raise InputError(_nothing_moved(workload, is_whole=is_whole))
        return rates

    def _latency_us(self, first: str, second: str) -> float:
        result = self._run([_peer(first, second, "write", _SHORT)], _WINDOW, start=self._queued_start)
        flow = next(each for each in result.document["flows"] if each["direction"] != "control")
        # Over a side link there are copies, and no requests.
        mean = (flow["operation_latency_ns"] or flow["latency_ns"])["mean"]
        if mean is None:
            raise InputError(
                f"no copy of {_SHORT} ended within {_MEASURE_US} us: with {self._queued_start} before its "
                "first request each takes longer"
            )
        return mean / 1e3

    def _run(
        self, workloads: Sequence[dict[str, Any]], window: dict[str, str], *, start: str | None = None
    ) -> RunResult:
        """Run copies; with `start` in place of the time that each takes before its first request."""
        overrides = list(self._overrides)
        if start is not None:
            paths = {f"{base_of(each['device'])}.copy_engine.overhead" for each in workloads}
            overrides = [each for each in overrides if base_of(each[0]) not in paths]
            overrides += [(path, start) for path in sorted(paths)]
        try:
            return simulate({**self._scenario, "workload": list(workloads), "run": window}, overrides)
        except ScenarioError as error:
            raise _refused(error, workloads) from error


def _refused(error: ScenarioError, workloads: Sequence[dict[str, Any]]) -> InputError:
    """Say which copies cannot be: their workloads stand in no file, and all else in the scenario is right."""
    problem = error.diagnostics[0]
    message = problem["message"]
    for each in workloads:
        copy = f"a copy between {each['device']} and {each.get('target', 'its host')}"
        message = message.replace(f"`workload.{each['name']}`", copy)
    kind = _BlockedError if problem["code"] == "peer-to-peer-blocked" else InputError
    return kind("; ".join(said for said in (message, problem["hint"]) if said))


def _nothing_moved(workload: dict[str, Any], *, is_whole: bool) -> str:
    """Say that a workload has no rate, and what would give it one."""
    device, target = workload["device"], workload.get("target", "its host")
    if is_whole:
        return (
            f"no copy of {_LONG} from {device} to {target} ended within {_LONG_LIMIT_S} s of simulated time; "
            f"see `{base_of(device)}.side_link.rate`"
        )
    return (
        f"copies between {device} and {target} moved nothing from {_WARM_UP_US} to "
        f"{_WARM_UP_US + _MEASURE_US} us of simulated time, so a matrix has no rate for them; see "
        f"`{base_of(device)}.copy_engine.overhead`, and the latencies on the way"
    )


def _peer(device: str, target: str, by: Way, size: str = _LONG, *, back: bool = False) -> dict[str, Any]:
    return {
        "kind": "copy",
        "name": "back" if back else "there",
        "device": device,
        "direction": "peer",
        "target": target,
        "by": by,
        "size": size,
        "runtime_call": False,
    }


def _chosen(kinds: PairKinds, patterns: Sequence[str]) -> list[str]:
    """Return the devices that are meant, by address; InputError where that is none, or one alone."""
    if not patterns:
        found = kinds.gpus
        if len(found) < 2:
            two = _two_of_a_host(_by_host(kinds, kinds.devices))
            like = f"; name devices that copy, like {two}" if two else ""
            raise InputError(f"the scenario has no two devices with copy engines of a catalog part{like}")
        return found
    unknown = [each for each in patterns if not any(_is_meant(name, each) for name in kinds.devices)]
    if unknown:
        raise InputError(
            f"the scenario has no device '{unknown[0]}'; devices are {', '.join(kinds.devices[:12])}"
        )
    found = [name for name in kinds.devices if any(_is_meant(name, each) for each in patterns)]
    if len(found) < 2:
        raise InputError(f"'{found[0]}' is one device, but a matrix needs two, or a pattern like 'gpu*'")
    return found


def _refuse_own(overrides: Sequence[tuple[str, str]]) -> None:
    """Raise InputError for settings of workloads and of the time of runs: a matrix has its own."""
    for path, _ in overrides:
        table = path.partition(".")[0]
        if table in {"run", "workload"} and path != "run.seed":
            raise InputError(
                f"'{path}' cannot be set: a matrix has {table}s of its own; set what devices, switches and "
                "hosts have"
            )


def _refuse_hosts(kinds: PairKinds, chosen: Sequence[str]) -> None:
    """Raise InputError for devices of several hosts, between which no copy engine copies."""
    by_host = _by_host(kinds, chosen)
    if len(by_host) == 1:
        return
    two = _two_of_a_host(by_host)
    like = f": name devices of it, like {two}" if two else ""
    raise InputError(f"a matrix is of one host, and these devices are below {' and '.join(by_host)}{like}")


def _by_host(kinds: PairKinds, names: Sequence[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(kinds.host_of(name), []).append(name)
    return found


def _two_of_a_host(by_host: dict[str, list[str]]) -> str:
    """Return two devices below one host, as they are written behind a command; "" where no host has two."""
    return next((" ".join(names[:2]) for names in by_host.values() if len(names) > 1), "")


def _check_start(
    scenario: Scenario, overrides: Sequence[tuple[str, str]], device: str, queued_start: str
) -> None:
    """Raise InputError for a time that no copy engine can have before its first request."""
    path = f"{base_of(device)}.copy_engine.overhead"
    try:
        resolve(scenario, [*overrides, (path, queued_start)])
    except ScenarioError as error:
        said = error.diagnostics[0]["message"].replace(f"`{path}`", "the queued start")
        raise InputError(f"{said}; without one it is {QUEUED_START}") from error


def _is_meant(name: str, pattern: str) -> bool:
    """Whether a device is called like that: itself, as one of a number, or by a pattern with `*`."""
    literal = pattern.replace("[", "[[]")
    return name == pattern or base_of(name) == pattern or fnmatchcase(name, literal)


def _without_workloads(scenario: Scenario) -> dict[str, Any]:
    """Read a scenario that the core has accepted, as the tables that it consists of."""
    if isinstance(scenario, Mapping):
        return dict(scenario)
    name, text = given(scenario)
    if text is None:
        text = Path(name).read_text(encoding="utf-8")
    return dict(written_tables(text))
