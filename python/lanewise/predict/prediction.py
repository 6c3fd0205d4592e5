"""Simulates every benchmark alone, and one of each direction with all devices at once."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from lanewise import _core
from lanewise.errors import InputError
from lanewise.ladder import payload_gb_per_s
from lanewise.machine.lanes import lanes_of
from lanewise.machine.model import Buses, Function, Kind, Slot
from lanewise.machine.scenario import endpoint_name, scan_to_scenario
from lanewise.machine.sockets import across_sockets, interconnect_of
from lanewise.machine.view import View
from lanewise.predict.benchmarks import Benchmark, benchmarks_of
from lanewise.predict.binding import binding_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from lanewise.machine.address import Address
    from lanewise.machine.model import Machine
    from lanewise.machine.scenario import Change
    from lanewise.machine.sockets import Interconnect

_MOST_TOGETHER = 64
"""Devices that are simulated at once; machines with more get the first so many."""

_READ_ENGINES = 1024
"""Reads that a root port has in progress. Assumed: enough that links and tags are the limit."""

_FULL_INTERCONNECT = 0.985
"""Share of what a link between sockets carries from which on it is the limit."""

_NAME = re.compile(r"\b(?:port|switch|gpu|nvme|nic|storage|device)_[0-9a-f_]+\b")
_NUMBER = re.compile(r"\bn(\d+)\b")
_COMMENT = re.compile(r"(?m)\s+#.*$|^#.*$|^title = .*$")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One benchmark on one device."""

    bdf: str
    device: str
    link: str
    benchmark: str
    direction: str
    ceiling_gb_per_s: float | None
    """Payload that the narrowest link of the way carries as nothing but such packets; None for latencies."""
    alone_gb_per_s: float | None
    together_gb_per_s: float | None
    """With every other device at work in the same direction; None where that was not run."""
    latency_ns: float | None
    frames_per_s: float | None
    binding: str
    together_binding: str | None = None


@dataclass(frozen=True)
class Prediction:
    """What a machine should reach."""

    source: str
    rows: tuple[Row, ...]
    assumptions: tuple[str, ...]
    changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    simulations: int = 0

    @property
    def document(self) -> dict[str, Any]:
        """The prediction as JSON has it."""
        return {
            "source": self.source,
            "predictions": [dict(vars(row)) for row in self.rows],
            "what_if": list(self.changes),
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
        }

    def to_json(self) -> str:
        """Return the prediction as JSON text."""
        return json.dumps(self.document, indent=2, ensure_ascii=False)


_ASSUMPTIONS = (
    "host: latency of a generic server; its memory and its read engines are never the limit; buffers are at "
    "the socket of their device, and peers at different sockets are joined by the links that processors of "
    "this make and age have",
    "devices are never slower than their link; drives have infinitely fast media for bandwidth and those of "
    "a typical drive for latency",
    "network adapters: descriptors and completions of 16 B, 32 frames to a doorbell and a read of "
    "descriptors, 4 completions to a write; processors, interrupts and the wire are never the limit",
)


def predict(
    machine: Machine,
    *,
    changes: Mapping[Address, Change] | None = None,
    devices: Sequence[Address] | None = None,
    together: bool = True,
    on_progress: Callable[[str], None] | None = None,
) -> Prediction:
    """Simulate the usual benchmarks on every device that moves data, or on those named.

    `changes` are tried instead of what the machine says. `on_progress` hears the benchmark in progress.
    """
    machine, notes = complete(machine)
    chosen = _chosen(machine, devices)
    simulator = Simulator(machine, changes or {})
    rows: list[tuple[Benchmark, Row]] = []
    for function in chosen:
        peers = [other for other in chosen if other.is_gpu and function.is_gpu and other is not function]
        for benchmark in benchmarks_of(function, _peers(machine, function, peers)):
            if on_progress:
                on_progress(f"{function.address.short} {benchmark.name}")
            row = simulator.row(benchmark)
            if row is not None:
                rows.append((benchmark, row))
    if together and len(chosen) > 1:
        rows = _with_all_at_once(simulator, rows, on_progress)
    if not rows:
        raise InputError(
            "nothing can be predicted: the source shows no GPU, network or storage device whose link is "
            "known; capture as root with 'lspci -vvv'"
        )
    return Prediction(
        source=machine.source,
        rows=tuple(row for _, row in rows),
        assumptions=_ASSUMPTIONS,
        notes=(*machine.notes, *notes),
        simulations=simulator.runs,
    )


def complete(machine: Machine) -> tuple[Machine, list[str]]:
    """Put a port above each endpoint whose own is not in the source (filtered dumps, virtual machines)."""
    functions = dict(machine.functions)
    lonely = [
        f
        for f in machine
        if f.kind in (Kind.ENDPOINT, Kind.LEGACY_ENDPOINT)
        and not f.virtual
        and machine.link_above(f) is None
        and f.parent is None
        and lanes_of(f.link.capability) is not None
    ]
    used = {address.slot for address in functions}
    ports: dict[tuple[int, int, int], Address] = {}
    for function in lonely:
        address = function.address
        if address.slot in ports:
            functions[address] = replace(function, parent=ports[address.slot])
            port = functions[ports[address.slot]]
            functions[port.address] = replace(port, children=(*port.children, address))
            continue
        free = next((n for n in range(0x1F, 0, -1) if (address.domain, 0xFF, n) not in used), None)
        if free is None:
            break
        used.add((address.domain, 0xFF, free))
        port = _assumed_port(function, address._replace(bus=0xFF, device=free, function=0))
        functions[port.address] = port
        ports[address.slot] = port.address
        functions[address] = replace(function, parent=port.address)
    if not lonely:
        return machine, []
    ordered = {address: functions[address] for address in sorted(functions)}
    names = ", ".join(function.address.short for function in lonely[:6])
    note = f"the ports above {names} are not in the source; taken to match their devices"
    return replace(machine, functions=ordered), [note]


def _assumed_port(function: Function, address: Address) -> Function:
    capability = function.link.capability
    link = replace(function.link, capability=capability)
    registers = replace(
        function.registers,
        link=link,
        slot=Slot(),
        acs=None,
        errors=None,
        bars=None,
        cxl=None,
        sriov=None,
        resizable_bars=(),
    )
    bus = function.address.bus
    return Function(
        address=address,
        kind=Kind.ROOT_PORT,
        registers=registers,
        children=(function.address,),
        buses=Buses(0xFF, bus, bus),
    )


def _chosen(machine: Machine, devices: Sequence[Address] | None) -> list[Function]:
    view = View(machine)
    if devices is None:
        return list(view.devices)
    missing = [address for address in devices if address not in machine.functions]
    if missing:
        known = ", ".join(function.address.short for function in view.devices[:8])
        raise InputError(f"the machine has no function {missing[0].short}; devices are {known or 'none'}")
    return [machine[address] for address in devices]


def _peers(machine: Machine, function: Function, peers: list[Function]) -> list[Function]:
    """Choose whom a device copies to: who shares most bridges with it, and somebody at another socket."""
    own = {bridge.address for bridge in machine.path(function)}
    nearest = sorted(peers, key=lambda peer: -len(own & {bridge.address for bridge in machine.path(peer)}))
    far = [peer for peer in nearest[1:] if across_sockets(machine, function, peer)]
    return [*nearest[:1], *far[:1]]


class Simulator:
    """Runs benchmarks on parts of one machine; equal parts are run once."""

    def __init__(self, machine: Machine, changes: Mapping[Address, Change]) -> None:
        """Take the machine and what to try instead."""
        self.machine = machine
        self.changes = changes
        self.view = View(machine)
        self.runs = 0
        self._results: dict[str, str] = {}
        self._words = {endpoint_name(f): f.address.short for f in machine} | {
            f"switch_{f.address.short.replace(':', '_').replace('.', '_')}": f"switch {f.address.short}"
            for f in machine
            if f.is_bridge
        }

    def row(self, benchmark: Benchmark) -> Row | None:
        """Run one benchmark alone; None when the way to the root is not known well enough."""
        result = self.alone(benchmark)
        if result is None:
            return None
        function = benchmark.function
        name = endpoint_name(function)
        latency = benchmark.quantity == "latency"
        goodput = sum(flow["goodput_gb_per_s"] for flow in _data_flows(result))
        binding = self._latency_words(benchmark, result) if latency else binding_of(result, name, self._words)
        across = self._across(benchmark)
        if across is not None and goodput >= _FULL_INTERCONNECT * across.payload_gb_per_s:
            binding = f"the link between sockets, full: {across.payload_gb_per_s:.1f} GB/s of data"
        if function.is_nvme and not latency:
            binding = f"{binding}; the drive itself may be slower"
        frames = 1e9 * goodput / benchmark.frame_bytes if benchmark.frame_bytes else None
        return Row(
            bdf=function.address.short,
            device=function.name,
            link=self._link_words(result, name),
            benchmark=benchmark.name,
            direction=benchmark.direction,
            ceiling_gb_per_s=None if latency else self.ceiling(result, benchmark),
            alone_gb_per_s=None if latency else goodput,
            together_gb_per_s=None,
            latency_ns=_latency(result) if latency else None,
            frames_per_s=frames,
            binding=binding,
        )

    def alone(self, benchmark: Benchmark) -> dict[str, Any] | None:
        """Return the result of a benchmark on its own."""
        functions = [benchmark.function] + ([benchmark.peer] if benchmark.peer else [])
        return self.run(functions, benchmark.workload, benchmark, benchmark.overrides)

    def run(
        self,
        functions: Sequence[Function],
        workload: str,
        benchmark: Benchmark,
        overrides: Sequence[tuple[str, str]],
    ) -> dict[str, Any] | None:
        """Run a workload on some devices of the machine."""
        peers = benchmark.peer is not None
        try:
            text = scan_to_scenario(
                self.machine,
                endpoints=[function.address for function in functions],
                workload=_window(benchmark) + workload,
                changes=self.changes,
                peer_to_peer=peers,
            )
        except InputError:
            return None
        overrides = [*overrides, *_endless_host(text)]
        bare, names = _normalised(text)
        numbers = {name: f"n{number}" for number, name in enumerate(names)}
        pairs = [
            (_NAME.sub(lambda match: numbers.get(match[0], match[0]), path), value)
            for path, value in overrides
        ]
        key = bare + repr(pairs)
        if key not in self._results:
            self.runs += 1
            self._results[key] = _core.run_text(bare, "prediction", pairs)
        return json.loads(_NUMBER.sub(lambda match: names[int(match[1])], self._results[key]))  # type: ignore[no-any-return]

    def _latency_words(self, benchmark: Benchmark, result: Mapping[str, Any]) -> str:
        """Say how much of a latency is not the media's."""
        whole = _latency(result) or 0.0
        bare = self.run([benchmark.function], benchmark.workload, benchmark, benchmark.without_media)
        rest = (_latency(bare) or 0.0) if bare else 0.0
        media = (whole - rest) / 1e3
        return f"media {media:.0f} us (a typical drive); software and PCI Express {rest / 1e3:.1f} us"

    def ceiling(self, result: Mapping[str, Any], benchmark: Benchmark) -> float | None:
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
        return {name for name, word in self._words.items() if word.rpartition(" ")[2] in first & second}

    def _link_words(self, result: Mapping[str, Any], name: str) -> str:
        link = next((link for link in result["links"] if link["name"] == name), None)
        return f"{link['generation']} {link['width']}" if link else ""


def _with_all_at_once(
    simulator: Simulator, rows: list[tuple[Benchmark, Row]], on_progress: Callable[[str], None] | None
) -> list[tuple[Benchmark, Row]]:
    """Run all devices at once in each direction, and put what each got beside what it gets alone."""
    finished = []
    results = {}
    for direction in ("read", "write"):
        shared = [b for b, _ in rows if b.together and b.direction == direction][:_MOST_TOGETHER]
        if len(shared) < 2:
            continue
        if on_progress:
            on_progress(f"all at once, {direction}")
        slowest = max(shared, key=lambda benchmark: benchmark.settle_us)
        result = simulator.run(
            [benchmark.function for benchmark in shared],
            "".join(benchmark.workload for benchmark in shared),
            slowest,
            [pair for benchmark in shared for pair in benchmark.overrides],
        )
        if result is not None:
            results[direction] = ({endpoint_name(b.function) for b in shared}, result)
    for benchmark, row in rows:
        name = endpoint_name(benchmark.function)
        members, result = results.get(benchmark.direction, (set(), {}))
        if not benchmark.together or name not in members:
            finished.append((benchmark, row))
            continue
        together = sum(flow["goodput_gb_per_s"] for flow in _data_flows(result) if flow["device"] == name)
        finished.append((benchmark, replace(row, together_gb_per_s=together)))
    return finished


def _window(benchmark: Benchmark) -> str:
    """Fix the time that is measured: such runs are periodic after a moment."""
    end = benchmark.settle_us + benchmark.measure_us
    times = f'warm_up = "{benchmark.settle_us} us"\ntime_limit = "{end} us"'
    return f'[run]\n{times}\nrelative_half_width = "0.001 %"\n\n'


def _endless_host(text: str) -> list[tuple[str, str]]:
    """Return overrides for a host whose memory and read engines are never the limit."""
    ports = text.count("[host.server.slots.")
    rates = [(f"server.{name}_bandwidth", "8000 GB/s") for name in ("read", "write", "memory")]
    return [*rates, ("server.read_engines", str(_READ_ENGINES * max(1, ports)))]


def _data_flows(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [flow for flow in result["flows"] if flow["direction"] != "control"]


def _latency(result: Mapping[str, Any]) -> float | None:
    busy = [flow for flow in _data_flows(result) if flow["operations"]]
    return float(busy[0]["latency_ns"]["mean"]) if busy else None


def _normalised(text: str) -> tuple[str, list[str]]:
    """Return the text with devices numbered as they come, equal for equal parts, and their names."""
    names: dict[str, str] = {}
    bare = _COMMENT.sub("", text)
    return _NAME.sub(lambda match: names.setdefault(match[0], f"n{len(names)}"), bare), list(names)
