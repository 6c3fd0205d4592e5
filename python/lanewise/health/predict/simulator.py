"""Runs benchmarks on parts of one machine, and says what each reaches and what the core found to limit it.

Parts that differ in the names of their devices only are run once. The host is the one that `scan --scenario`
writes, memory included; peers at different sockets share what joins the sockets.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import ceil, fsum
from typing import TYPE_CHECKING, NamedTuple, cast

from lanewise import _core
from lanewise.errors import InputError
from lanewise.health.predict.benchmarks import SHORTEST_FRAME
from lanewise.health.predict.measured import kind_of
from lanewise.health.predict.reason import as_much_in_use, limit_of, limit_of_device
from lanewise.health.predict.rests_on import RestsOn
from lanewise.health.predict.wire import carried_gb_per_s
from lanewise.ladder import payload_gb_per_s
from lanewise.machine.drives import drive_part
from lanewise.machine.lanes import rate_of
from lanewise.machine.own_rate import message_rate, said_of_rates
from lanewise.machine.scenario import CHIPSET, endpoint_name, scan_to_document, switch_name
from lanewise.machine.sockets import across_sockets, interconnect_of
from lanewise.machine.ways import Ways
from lanewise.scenario.numbering import numbered, with_names
from lanewise.scenario.text import scenario_text

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence

    from lanewise.documents import Assumption, Flow, PredictPrediction, Run
    from lanewise.health.predict.benchmarks import Benchmark
    from lanewise.health.predict.reason import Limit
    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Machine
    from lanewise.machine.sockets import Interconnect
    from lanewise.machine.ways import Change
    from lanewise.scenario.numbering import Numbering
    from lanewise.scenario.tables import Run as RunTable
    from lanewise.scenario.tables import Scenario, Workload

_FAST_GB_PER_S = 1.9
"""Links of at least this rate fill within the time that benchmarks settle. Assumed: two lanes of Gen3."""
_PAIR = 2

_OF_DRIVES = ("pipeline", "media")
"""Kinds of limits that are a drive's own."""


_SETTLED_PERCENT = 1.0
"""Half of a confidence interval up to which a rate is written as it is: less is the same to a person."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One benchmark on one device."""

    bdf: str
    """Address of the device."""
    device: str
    """Its name."""
    link: str
    """Generation and width of the link above it."""
    benchmark: str
    """What is done, in words."""
    direction: str
    """Which way the data goes."""
    ceiling_gb_per_s: float | None
    """Payload that the narrowest link of the way carries as nothing but such packets; None for latencies."""
    alone_gb_per_s: float | None
    """Payload of the device by itself, 10⁹ B/s; None for latencies."""
    together_gb_per_s: float | None
    """With every other device at work in the same direction; None where that was not run."""
    alone_half_width_percent: float | None
    """Half the 95 % confidence interval of `alone_gb_per_s`; None for latencies and for published limits."""
    together_half_width_percent: float | None
    """The same of `together_gb_per_s`; None where that was not run."""
    latency_ns: float | None
    """Mean of one operation, ns; None for rates."""
    frames_per_s: float | None
    """Of Ethernet adapters; None for others."""
    binding: str
    """What limits it: alone, and then with all others where that is far less."""
    kind_of_case: str | None
    """None where nothing like it was measured, or a device is no known part."""

    @property
    def alone_has_settled(self) -> bool:
        """Whether `alone_gb_per_s` is known well enough to be written as it is."""
        return _has_settled(self.alone_half_width_percent)

    @property
    def together_has_settled(self) -> bool:
        """The same of `together_gb_per_s`."""
        return _has_settled(self.together_half_width_percent)

    def document(self) -> PredictPrediction:
        """Return the row as JSON has it."""
        settled = {
            "alone_has_settled": self.alone_has_settled,
            "together_has_settled": self.together_has_settled,
        }
        return cast("PredictPrediction", {**vars(self), **settled})


def _has_settled(half_width_percent: float | None) -> bool:
    return half_width_percent is None or half_width_percent <= _SETTLED_PERCENT


class Prepared(NamedTuple):
    """The scenario of a run, with parts by number."""

    text: str
    numbering: Numbering
    document: Scenario


class Simulator:
    """Runs benchmarks on parts of one machine; equal parts are run once."""

    def __init__(
        self, machine: Machine, changes: Mapping[Address, Change], *, translated: bool = False
    ) -> None:
        """Take the machine and what to try instead; `translated` is with an IOMMU that translates."""
        self._everywhere = [("server.iommu.enabled", "true")] if translated else []
        self.machine = machine
        self.changes = changes
        self.runs = 0
        self.payloads: dict[Address, int] = {}
        """Maximum Payload Size in bytes of the way of each device that was simulated."""
        self._results: dict[str, Run] = {}
        self._bases: dict[Hashable, Prepared | None] = {}
        self._words = {endpoint_name(f): f.address.short for f in machine} | {
            switch_name(f): f"switch {f.address.short}" for f in machine if f.is_bridge
        }
        if machine.chipset is not None:
            self._words[CHIPSET] = f"the {machine.chipset.name}"
        self.rests_on = RestsOn(self._words)
        """What limits the figures so far, of what neither the machine nor the specification states."""

    def row(self, benchmark: Benchmark) -> Row | None:
        """Run one benchmark alone; None when the way to the root is not known well enough."""
        found = self.row_and_limit(benchmark)
        return None if found is None else found[0]

    def row_and_limit(self, benchmark: Benchmark) -> tuple[Row, Limit | None] | None:
        """Return a row, and what the core found to limit its run.

        None in its place where the row says something that is not simulated: parts of a latency, the wire
        behind an adapter, or how many messages it makes.
        """
        result = self.alone(benchmark)
        if result is None:
            return None
        function = benchmark.function
        self.payloads.setdefault(function.address, min(int(link["mps_bytes"]) for link in result["links"]))
        latency = benchmark.quantity == "latency"
        goodput, half_width = goodput_of(result), half_width_of(result)
        limit = None if latency else limit_of(result, self._words)
        if latency:
            binding = self._latency_words(benchmark, result)
        elif limit is None:
            binding = "nothing moved"
        else:
            binding = f"{limit.whole()}{limit.detail}{as_much_in_use(result, limit, self._words)}"
        if function.is_nvme and not latency:
            binding = self._drive_words(benchmark, limit, binding)
        wire = carried_gb_per_s(self.machine, benchmark)
        if wire is not None and goodput > wire[0]:
            port = wire[1]
            binding = (
                f"the wire, {8 * port.gb_per_s:g} Gb/s a port ({port.adapter}); PCI Express would carry "
                f"{goodput:.2f} GB/s"
            )
            goodput, half_width, limit = wire[0], None, None
        if benchmark.rdma and benchmark.frame_bytes:
            simulated = goodput
            goodput, binding = self._own_messages(benchmark, benchmark.frame_bytes, simulated, binding)
            if goodput != simulated:
                half_width, limit = None, None
        elif benchmark.frame_bytes and benchmark.frame_bytes <= SHORTEST_FRAME:
            binding += "; the adapter's own limit is not known"
        if limit is not None:
            self.rests_on.note(result, "alone")
        frames = 1e9 * goodput / benchmark.frame_bytes if benchmark.frame_bytes else None
        row = Row(
            bdf=function.address.short,
            device=function.name,
            link=self._link_words(result, function),
            benchmark=benchmark.name,
            direction=benchmark.direction,
            ceiling_gb_per_s=None if latency else self.ceiling(result, benchmark),
            alone_gb_per_s=None if latency else goodput,
            together_gb_per_s=None,
            alone_half_width_percent=None if latency else half_width,
            together_half_width_percent=None,
            latency_ns=latency_of(result) if latency else None,
            frames_per_s=frames,
            binding=binding,
            kind_of_case=kind_of(self.machine, benchmark),
        )
        return row, limit

    def _is_behind_chipset(self, function: Function) -> bool:
        chipset = self.machine.chipset
        return chipset is not None and self.machine.root_port(function) in chipset

    def limit_at_once(self, benchmark: Benchmark, result: Run, alone: Limit | None) -> str:
        """Say what limits a device in a run of many; `alone` is what limits it by itself."""
        limit = limit_of_device(result, self._words, endpoint_name(benchmark.function))
        if limit is None:
            return "nothing moved"
        return "others share it" if limit.is_same(alone) else limit.words

    @staticmethod
    def _own_messages(benchmark: Benchmark, size: int, goodput: float, binding: str) -> tuple[float, str]:
        """Hold small messages to what the adapter makes of them, or say that nobody knows how many."""
        known = message_rate(benchmark.function)
        if known is None:
            return (
                goodput,
                f"{binding}; wire and link alone: how many messages the adapter makes is not known",
            )
        if goodput * 1e9 / size <= known.per_s:
            return goodput, binding
        others = f"wire and link would carry {goodput * 1e3 / size:.1f} M/s"
        return known.per_s * size / 1e9, (
            f"the adapter's messages, {known.per_s / 1e6:.0f} M/s as published ({known.source}); {others}"
        )

    def alone(self, benchmark: Benchmark) -> Run | None:
        """Return the result of a benchmark on its own."""
        return self._alone_with(benchmark, benchmark.overrides)

    def _alone_with(self, benchmark: Benchmark, overrides: Sequence[tuple[str, str]]) -> Run | None:
        return self.run(benchmark.parties, benchmark.workloads, benchmark, overrides)

    def run(
        self,
        functions: Sequence[Function],
        workload: Sequence[Workload],
        benchmark: Benchmark,
        overrides: Sequence[tuple[str, str]],
    ) -> Run | None:
        """Run a workload on some devices of the machine."""
        base = self._base(functions, workload, benchmark)
        if base is None:
            return None
        pairs = [(base.numbering.path(path), value) for path, value in (*self._everywhere, *overrides)]
        key = base.text + repr(pairs)
        if key not in self._results:
            self.runs += 1
            found: Run = json.loads(_core.run("prediction", pairs, source=base.text))
            found["assumptions"] = _of_the_limit(found, base.document, {path for path, _ in pairs})
            self._results[key] = found
        return with_names(self._results[key], base.numbering.names())

    def _base(
        self, functions: Sequence[Function], workload: Sequence[Workload], benchmark: Benchmark
    ) -> Prepared | None:
        """Return the scenario of a run without its overrides, made once for all that differ in those."""
        addresses = tuple(function.address for function in functions)
        key = (addresses, repr(workload), benchmark.settle_us, benchmark.measure_us)
        if key not in self._bases:
            try:
                self._bases[key] = prepared(
                    self.machine, functions, workload, benchmark, changes=self.changes
                )
            except InputError:
                self._bases[key] = None
        return self._bases[key]

    def _drive_words(self, benchmark: Benchmark, limit: Limit | None, binding: str) -> str:
        """Say whether a drive is the limit, where it is known which drive it is."""
        part = drive_part(benchmark.function)
        if part is None:
            return f"{binding}; the drive itself may be slower"
        own = limit is not None and limit.owner == endpoint_name(benchmark.function)
        if limit is None or not own or limit.kind not in _OF_DRIVES:
            return binding
        bare = self._alone_with(benchmark, benchmark.without_media)
        possible = goodput_of(bare) if bare else 0.0
        return f"the drive, {said_of_rates(part)} ({part}); its link would carry {possible:.2f} GB/s"

    def _latency_words(self, benchmark: Benchmark, result: Run) -> str:
        """Say how much of a latency is not the media's."""
        whole = latency_of(result) or 0.0
        bare = self._alone_with(benchmark, benchmark.without_media)
        rest = (latency_of(bare) or 0.0) if bare else 0.0
        waking = whole - self._never_asleep(benchmark, result)
        media = (whole - rest - waking) / 1e3
        part = drive_part(benchmark.function)
        whose = "a typical drive" if part is None else part
        wakes = f"; waking links {waking / 1e3:.1f} us (ASPM)" if waking else ""
        return f"media {media:.1f} us ({whose}){wakes}; software and PCI Express {rest / 1e3:.1f} us"

    def _never_asleep(self, benchmark: Benchmark, result: Run) -> float:
        """Return the latency that a benchmark has when no link sleeps."""
        asleep = [
            link["name"]
            for link in result["links"]
            if any(way["time_attribution"]["waking"] > 0 for way in (link["upstream"], link["downstream"]))
        ]
        awake = [*benchmark.overrides, *((f"{name}.link.aspm", "off") for name in asleep)]
        again = self._alone_with(benchmark, awake) if asleep else result
        return latency_of(again or result) or 0.0

    def ceiling(self, result: Run, benchmark: Benchmark) -> float | None:
        """Return the payload that the narrowest link carries, from coding and packet sizes alone."""
        both = 2 if benchmark.direction == "both" else 1
        dwords = 3 if benchmark.direction == "read" else 4
        rates = []
        passed_by = self._above_both(benchmark)
        for link in result["links"]:
            if link["name"] in passed_by:
                continue
            generation, width = int(link["generation"][3:]), int(link["width"][1:])
            payload = min(int(link["mps_bytes"]), benchmark.frame_bytes or 4096)
            rates.append(
                both * payload_gb_per_s(generation, width, payload_bytes=payload, header_dwords=dwords)
            )
        across = self._across(benchmark)
        if across is not None:
            rates.append(both * across.payload_gb_per_s)
        return min(rates, default=None)

    def _across(self, benchmark: Benchmark) -> Interconnect | None:
        """Return what joins the sockets of two peers; None for those at the same one."""
        if benchmark.peer is None or not across_sockets(self.machine, benchmark.function, benchmark.peer):
            return None
        return interconnect_of(self.machine)

    def _above_both(self, benchmark: Benchmark) -> set[str]:
        """Name the links above the switch where the ways of two peers meet: no data of theirs goes there."""
        if benchmark.peer is None:
            return set()
        ways = [self.machine.link_path(function) for function in (benchmark.function, benchmark.peer)]
        first, second = ({link.device.address.short for link in way} for way in ways)
        both = {name for name, word in self._words.items() if word.rpartition(" ")[2] in first & second}
        if self._is_behind_chipset(benchmark.function) and self._is_behind_chipset(benchmark.peer):
            both.add(CHIPSET)
        return both

    def _link_words(self, result: Run, function: Function) -> str:
        """Say how fast and wide the link to a device's chip is: what is inside the chip is for show."""
        wire = next((link for link in self.machine.link_path(function) if not link.on_die), None)
        inside = wire is not None and wire.device is not function and wire.device.is_bridge
        name = switch_name(wire.device) if wire is not None and inside else endpoint_name(function)
        link = next((link for link in result["links"] if link["name"] == name), None)
        return f"{link['generation']} {link['width']}" if link else ""


def prepared(
    machine: Machine,
    functions: Sequence[Function],
    workload: Sequence[Workload],
    benchmark: Benchmark,
    *,
    changes: Mapping[Address, Change] | None = None,
) -> Prepared:
    """Make the scenario of some devices, with parts by number, and say which number is whose.

    Overrides of the benchmark are not in it. Raises `InputError` when the way of a device to the root is not
    known well enough.
    """
    scenario = scan_to_document(
        machine,
        endpoints=[function.address for function in functions],
        workload=workload,
        run=_window(benchmark, _stretch(machine, functions, changes or {})),
        changes=changes,
        peer_to_peer=benchmark.peer is not None,
    )
    bare, numbering = numbered(scenario.document)
    return Prepared(scenario_text(bare), numbering, bare)


def _of_the_limit(result: Run, document: Scenario, given: set[str]) -> list[Assumption]:
    """Keep the assumptions that would make larger what limits; a run has hundreds that do not.

    What the machine or the benchmark (`given`) states is none, although it has no source.
    """
    limit = result["limited_by"]
    paths = {setting["path"] for edit in (limit["edits"] if limit else ()) for setting in edit["settings"]}
    asked = paths - given
    return [
        each
        for each in result["assumptions"]
        if each["path"] in asked and not is_plain(document, each["path"])
    ]


def is_plain(document: Scenario, path: str) -> bool:
    """Whether a scenario states a value, given by its path in `explain`, without a source."""
    name, _, rest = path.partition(".")
    kinds = cast("Iterable[Mapping[str, object]]", map(document.get, ("host", "switch", "endpoint")))
    at = next((tables[name] for tables in kinds if tables and name in tables), None)
    for key in rest.split("."):
        if not isinstance(at, dict):
            # A text in a table's place says the link of a port.
            return at is not None
        at = at.get(key)
    return at is not None and not (isinstance(at, dict) and "provenance" in at)


def _stretch(machine: Machine, functions: Sequence[Function], changes: Mapping[Address, Change]) -> int:
    """Say how many times as long a slow link takes; only for one device, or a pair: of many, one is slow."""
    if len(functions) > _PAIR:
        return 1
    ways = Ways(machine, changes)
    modes = [ways.modes(link) for function in functions for link in machine.link_path(function)]
    rates = [min(rate_of(mode) or _FAST_GB_PER_S for mode in found if mode) for found in modes if found]
    return max(1, ceil(_FAST_GB_PER_S / min(rates, default=_FAST_GB_PER_S)))


def _window(benchmark: Benchmark, stretch: int) -> RunTable:
    """Fix the time that is measured: such runs are periodic after a moment."""
    settle_us, measure_us = stretch * benchmark.settle_us, stretch * benchmark.measure_us
    return {
        "warm_up": f"{settle_us} us",
        "time_limit": f"{settle_us + measure_us} us",
        "relative_half_width": "0.001 %",
    }


def _data_flows(result: Run) -> list[Flow]:
    return [flow for flow in result["flows"] if flow["direction"] != "control"]


def goodput_of(result: Run, device: str | None = None) -> float:
    """Return what the flows of a run carry together, or those of one device, in GB/s."""
    if device is None:
        return result["goodput_gb_per_s"]
    return fsum(flow["goodput_gb_per_s"] for flow in _data_flows(result) if flow["device"] == device)


def half_width_of(result: Run, device: str | None = None) -> float | None:
    """Return half the 95 % confidence interval of `goodput_of`, percent of it; None where that is not known.

    Flows of one run may rise and fall together, so their intervals add up.
    """
    moving = [
        (flow["goodput_gb_per_s"], flow["confidence_half_width_percent"])
        for flow in _data_flows(result)
        if device in (None, flow["device"]) and flow["goodput_gb_per_s"]
    ]
    widths = [goodput * percent for goodput, percent in moving if percent is not None]
    if not moving or len(widths) < len(moving):
        return None
    return fsum(widths) / fsum(goodput for goodput, _ in moving)


def latency_of(result: Run) -> float | None:
    """Return the mean latency of one operation of a run, ns; None where none was over."""
    means = (flow["latency_ns"]["mean"] for flow in _data_flows(result) if flow["operations"])
    return next(means, None)
