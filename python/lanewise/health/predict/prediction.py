"""Simulates every benchmark alone, and one of each direction with all devices at once."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.grouping import grouped, place_of, same_number
from lanewise.health.predict.as_scenario import MOST_TOGETHER
from lanewise.health.predict.benchmarks import Benchmark, benchmarks_of
from lanewise.health.predict.left_out import NOT_PREDICTED, TOO_SLOW, UNKNOWN_LINK, left_out
from lanewise.health.predict.measured import measured_elsewhere
from lanewise.health.predict.pairs import MODULES, as_found, refused_by_the_driver
from lanewise.health.predict.payload import unstated_payloads
from lanewise.health.predict.simulator import Row, Simulator, goodput_of, half_width_of
from lanewise.health.predict.wire import pace
from lanewise.machine.gpu_modules import come_with_own_links
from lanewise.machine.missing_ports import with_missing_ports
from lanewise.machine.own_rate import said_of_rates
from lanewise.machine.parts import part_of
from lanewise.machine.scenario import endpoint_name
from lanewise.machine.sockets import across_sockets
from lanewise.machine.view import View
from lanewise.machine.ways import Ways
from lanewise.output_format import FORMAT
from lanewise.written import counted, in_short

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    import altair as alt
    import polars as pl

    from lanewise.documents import Predict
    from lanewise.health.predict.measured import MeasuredElsewhere
    from lanewise.health.predict.reason import Limit
    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Machine
    from lanewise.machine.ways import Change

_MOST_ADDRESSES = 8

_LESS_AT_ONCE = 0.9
"""Share of what a device reaches alone below which what binds it all at once is said, too."""


@dataclass(frozen=True)
class Prediction:
    """What a machine should reach."""

    source: str
    """What was read."""
    rows: tuple[Row, ...]
    """One for each benchmark on each device."""
    assumptions: tuple[str, ...]
    """What the numbers rest on, a sentence each."""
    changes: tuple[str, ...] = ()
    """What was tried instead of what the machine has."""
    notes: tuple[str, ...] = ()
    """What was left out, a sentence each."""
    simulations: int = 0
    """How many were run."""

    @cached_property
    def table(self) -> pl.DataFrame:
        """One row per device and benchmark: rates in GB/s, latency in ns, and what binds it."""
        # Polars takes a tenth of a second, and a health check on every boot asks for no table.
        import polars as pl

        from lanewise.columns import frame

        texts = ("str", "str | None")
        columns = {field.name: pl.String if field.type in texts else pl.Float64 for field in fields(Row)}
        return frame(map(vars, self.rows), columns)

    @cached_property
    def alike(self) -> list[list[list[Row]]]:
        """Devices that are the same and reach the same, to a hundredth of it: for each group the rows."""
        devices: dict[str, list[Row]] = {}
        for row in self.rows:
            devices.setdefault(row.bdf, []).append(row)
        return grouped(devices.values(), _words, _reach_the_same, _place)

    @property
    def measured_elsewhere(self) -> list[MeasuredElsewhere]:
        """How near such simulations were to what others measured, for each kind of case in `rows`."""
        return measured_elsewhere(row.kind_of_case for row in self.rows)

    def plot(self) -> alt.TopLevelMixin:
        """Draw each device and benchmark, in GB/s: alone, with all others at once, the ceiling of the way.

        Raises `lanewise.InputError` when the extra ``report`` is not installed.
        """
        from lanewise.plotting import prediction_chart

        return prediction_chart(self.table)

    def __repr__(self) -> str:
        """Say of what it is."""
        return in_short(self, self.source, counted(len({row.bdf for row in self.rows}), "device"))

    def _repr_html_(self) -> str:
        """Return what a notebook shows: each benchmark, and what was assumed."""
        from lanewise.notebook import html

        return html(
            f"What {self.source} should reach",
            [*self.notes, *(f"Assumed: {each}" for each in self.assumptions)],
            [("Benchmarks", self.table)],
        )

    @property
    def document(self) -> Predict:
        """The prediction as JSON has it."""
        return {
            "format": FORMAT,
            "source": self.source,
            "predictions": [row.document() for row in self.rows],
            "alike": [[rows[0].bdf for rows in group] for group in self.alike],
            "measured_elsewhere": [each.document() for each in self.measured_elsewhere],
            "what_if": list(self.changes),
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return the prediction as JSON text."""
        return json.dumps(self.document, indent=2, ensure_ascii=False)


def _words(rows: Sequence[Row]) -> Hashable:
    """Return what devices that are alike have in common."""
    return tuple((row.device, row.link, row.benchmark.partition(" peer ")[0]) for row in rows)


def _reach_the_same(first: Sequence[Row], second: Sequence[Row]) -> bool:
    """Whether two devices with the same benchmarks reach the same."""
    return all(map(same_number, _reached(first), _reached(second)))


def _reached(rows: Sequence[Row]) -> list[float | None]:
    """Return what a device reaches, row by row."""
    return [
        number
        for row in rows
        for number in (row.ceiling_gb_per_s, row.alone_gb_per_s, row.together_gb_per_s, row.latency_ns)
    ]


def _place(rows: Sequence[Row]) -> float:
    return place_of(_reached(rows))


_ASSUMPTIONS = (
    "host: latency and memory of a generic server of the root ports' generation and maker, as in what "
    "'lanewise scan --scenario' writes; buffers are at the socket of their device, and peers at different "
    "sockets are joined by the links that processors of this make and age have",
    "devices are never slower than their link, except drives, GPUs and adapters that are known by name, "
    "which are what their catalog parts say; other drives have infinitely fast media for bandwidth and those "
    "of a typical drive for latency, and other GPUs use the largest packets that their registers allow",
    "network adapters: descriptors and completions of 16 B, 32 frames to a doorbell and a read of "
    "descriptors, 4 completions to a write; small RDMA writes: work requests of 64 B, 32 to a doorbell and a "
    "read, a completion of 64 B for each; large RDMA writes: no more data on its way from memory than fits "
    "the send buffer of the adapter's part, or without a part 2 us of its wire and at least 128 KiB; "
    "processors and interrupts are never the limit; the wire is, at the fastest port they come with, for "
    "adapters that are known by name, and so are the messages of those whose rate is published",
)

_TRANSLATED = (
    "the IOMMU translates pages of 4 KiB, and its cache and walks are those of a measured Xeon E5 v2 and v3: "
    "'lanewise explain' has them with their sources, under 'iommu'"
)


def predict(
    machine: Machine,
    *,
    changes: Mapping[Address, Change] | None = None,
    translated: bool = False,
    devices: Sequence[Address] | None = None,
    together: bool = True,
    on_progress: Callable[[str], None] | None = None,
) -> Prediction:
    """Simulate the usual benchmarks on every device that moves data, or on those named.

    `changes` are tried instead of what the machine says; `translated` tries an IOMMU that translates, which
    is never taken from the machine. `on_progress` hears the benchmark in progress.
    """
    machine, notes = with_missing_ports(machine)
    chosen = _chosen(machine, devices)
    simulator = Simulator(machine, changes or {}, translated=translated)
    found: list[tuple[Benchmark, Row, Limit | None]] = []
    for function in chosen:
        peers = _gpus_to_copy_to(machine, function, chosen)
        for usual in benchmarks_of(function, _peers(machine, function, peers)):
            benchmark = as_found(machine, usual)
            if on_progress:
                on_progress(f"{function.address.short} {benchmark.name}")
            predicted = simulator.row_and_limit(benchmark)
            if predicted is not None:
                found.append((benchmark, *predicted))
    rows = [(benchmark, row) for benchmark, row, _ in found]
    if together and len(chosen) > 1:
        rows = _with_all_at_once(simulator, found, on_progress)
    if not rows:
        raise InputError(_why_nothing(machine, named=devices is not None))
    return Prediction(
        source=machine.source,
        rows=tuple(row for _, row in rows),
        assumptions=(
            *_ASSUMPTIONS,
            *([_TRANSLATED] if translated else []),
            *unstated_payloads(machine, chosen, simulator.changes, simulator.payloads),
            *simulator.rests_on.said(),
            *_known_parts(chosen),
            *_of_ways(machine, simulator.changes, chosen),
        ),
        notes=(
            *machine.notes,
            *machine.contradictions,
            *notes,
            *_own_links(machine, chosen),
            *refused_by_the_driver([function for function in chosen if function.is_gpu]),
            *_not_together(rows, together=together),
            *_not_predicted(machine, rows, None if devices is None else chosen),
        ),
        simulations=simulator.runs,
    )


def _why_nothing(machine: Machine, *, named: bool) -> str:
    """Say why there is nothing to predict, and what to do."""
    if View(machine).is_guest and not named:
        return (
            "nothing can be predicted: the devices of a virtual machine have the speed of its host; name one "
            "with --device to see what its registers would allow"
        )
    others = [] if named else [reason for reason in left_out(machine, ()) if UNKNOWN_LINK not in reason]
    if others:
        hint = "; name one with --device to see what its link carries" if TOO_SLOW in str(others) else ""
        reasons = "; ".join(reason.removeprefix(NOT_PREDICTED) for reason in others)
        return f"nothing can be predicted, because {reasons}{hint}"
    return (
        "nothing can be predicted: the source shows no GPU, network or storage device whose link is known; "
        "capture as root with 'lspci -vvv'"
    )


def _not_predicted(
    machine: Machine, rows: list[tuple[Benchmark, Row]], named: Sequence[Function] | None
) -> list[str]:
    """Say which devices have no row, and why: of all, or of those that somebody named."""
    return left_out(machine, {benchmark.function.address for benchmark, _ in rows}, named)


def _not_together(rows: list[tuple[Benchmark, Row]], *, together: bool) -> list[str]:
    """Say which devices were not at work with all others, because there are too many."""
    shared = Counter(benchmark.direction for benchmark, _ in rows if benchmark.together)
    most = max(shared.values(), default=0)
    if not together or most <= MOST_TOGETHER:
        return []
    return [f"all at once are the first {MOST_TOGETHER} of {most} devices; more are not simulated together"]


def _of_ways(machine: Machine, changes: Mapping[Address, Change], chosen: Sequence[Function]) -> list[str]:
    """Say what was taken for granted of links between the devices and the host, as in their scenario."""
    ways = Ways(machine, changes)
    ways.choose([function.address for function in chosen])
    return sorted(ways.assumed)


def _known_parts(chosen: Sequence[Function]) -> list[str]:
    """Say which devices are known, and as which catalog part."""
    parts: dict[str, list[str]] = {}
    for function in chosen:
        part = part_of(function)
        if part is not None:
            parts.setdefault(part, []).append(function.address.short)
    said = []
    for part, addresses in parts.items():
        others = " and others" if len(addresses) > _MOST_ADDRESSES else ""
        where = ", ".join(addresses[:_MOST_ADDRESSES]) + others
        said.append(f"{where}: {said_of_rates(part) or 'known'}, with sources in 'lanewise parts {part}'")
    return said


def _chosen(machine: Machine, devices: Sequence[Address] | None) -> list[Function]:
    if devices is None:
        return list(View(machine).devices_in_any_slot)
    return [machine.find(address) for address in devices]


def _gpus_to_copy_to(machine: Machine, function: Function, chosen: Sequence[Function]) -> list[Function]:
    """Return the other GPUs, but for those that it reaches over links of its own, not over PCI Express."""
    others = [other for other in chosen if other.is_gpu and function.is_gpu and other is not function]
    return [other for other in others if machine.own_links(function, other) is None]


def _own_links(machine: Machine, chosen: Sequence[Function]) -> list[str]:
    """Say which GPUs copy to each other over links of their own."""
    gpus = [function for function in chosen if function.is_gpu]
    kinds = {machine.own_links(one, other) for one, other in combinations(gpus, 2)} - {None}
    return [
        f"GPUs joined by {kind} copy to each other over that, which is not simulated"
        for kind in sorted(map(str, kinds))
    ] or ([MODULES] if len(gpus) > 1 and come_with_own_links(machine, gpus) else [])


def _peers(machine: Machine, function: Function, peers: list[Function]) -> list[Function]:
    """Choose whom a device copies to: who shares most bridges with it, and somebody at another socket."""
    own = {bridge.address for bridge in machine.path(function)}
    nearest = sorted(peers, key=lambda peer: -len(own & {bridge.address for bridge in machine.path(peer)}))
    far = [peer for peer in nearest[1:] if across_sockets(machine, function, peer)]
    return [*nearest[:1], *far[:1]]


def _with_all_at_once(
    simulator: Simulator,
    rows: list[tuple[Benchmark, Row, Limit | None]],
    on_progress: Callable[[str], None] | None,
) -> list[tuple[Benchmark, Row]]:
    """Run all devices at once in each direction, and put what each got beside what it gets alone."""
    machine = simulator.machine
    finished = []
    results = {}
    for direction in ("read", "write"):
        shared = [b for b, _, _ in rows if b.together and b.direction == direction][:MOST_TOGETHER]
        if len(shared) < 2:
            continue
        if on_progress:
            on_progress(f"all at once, {direction}")
        slowest = max(shared, key=lambda benchmark: benchmark.settle_us)
        result = simulator.run(
            [benchmark.function for benchmark in shared],
            [benchmark.workload for benchmark in shared],
            slowest,
            [pair for benchmark in shared for pair in (*benchmark.overrides, *pace(machine, benchmark))],
        )
        if result is not None:
            simulator.rests_on.note(result, "all at once")
            results[direction] = ({endpoint_name(b.function) for b in shared}, result)
    for benchmark, row, alone in rows:
        name = endpoint_name(benchmark.function)
        found = results.get(benchmark.direction)
        if not benchmark.together or found is None or name not in found[0]:
            finished.append((benchmark, row))
            continue
        together = goodput_of(found[1], device=name)
        binding = row.binding
        if together < _LESS_AT_ONCE * (row.alone_gb_per_s or 0.0):
            binding += f"; all at once, {simulator.limit_at_once(benchmark, found[1], alone)}"
        finished.append(
            (
                benchmark,
                replace(
                    row,
                    together_gb_per_s=together,
                    together_half_width_percent=half_width_of(found[1], device=name),
                    binding=binding,
                ),
            )
        )
    return finished
