"""The compiled core. JSON text crosses the boundary; `lanewise.api` turns it into tables.

What a key means and its unit is in its name: ``_gb_per_s`` is 10⁹ bytes a second, ``_ns`` nanoseconds, ``_s``
seconds, ``_bytes`` bytes, ``_percent`` percent, ``_ticks`` 2⁻¹⁰ ps; ``utilisation``, ``share`` and
``_fraction`` are 0 to 1. Shapes are in ``schema/output.schema.json``.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from lanewise.documents import Mistake, Progress

VERSION: Final[str]

class InputError(Exception):
    """Wrong input; the text says what was found, what is allowed, and what to do about it."""

class ScenarioError(InputError):
    """A scenario cannot be used. ``str()`` is the report for a person, with lines and hints."""

    diagnostics: list[Mistake]
    """One dictionary per mistake: code, message, path, line, column, hint."""

Text = str | tuple[str, Mapping[str, str]]
"""The text of a scenario, or that and the texts of files with parts, by their names in it."""

FioJobs = tuple[str, str, Sequence[tuple[str, int, Sequence[tuple[str, str, int]]]]]
"""Path and text of a job file; of each job its name, its line, and its options: key, value, line."""

def run(
    path: str,
    overrides: Sequence[tuple[str, str]] = ...,
    progress: Callable[[Progress], bool | None] | None = ...,
    source: Text | None = ...,
    fio: FioJobs | None = ...,
    flows_every_s: float | None = ...,
    threads: int | None = ...,
) -> str:
    """Simulate a scenario; return what ``lanewise run --json`` prints.

    `path` names the file, or, with `source`, what messages call that text. `overrides` are dotted paths and
    values with their unit. `progress` hears simulated_s, time_limit_s, events and measuring_since_s a few
    times a second, and `flows` every `flows_every_s` seconds of real time; False ends the run. `fio` are jobs
    in place of the scenario's own. `threads` share the run, if they can; results then say so. The interpreter
    lock is released. Raises ScenarioError, and ValueError for a `flows_every_s` below 0.
    """

class Session:
    """A scenario at work; see `lanewise.Session`. State and results are JSON text."""

    def __init__(
        self,
        path: str,
        overrides: Sequence[tuple[str, str]] = ...,
        source: Text | None = ...,
        ends_when_narrow: bool = ...,
    ) -> None:
        """Load a scenario as `run` does. Raises ScenarioError."""

    def step(self, span: str | None = ...) -> bool:
        """Go on for so long (``"250 us"``), or to the end; whether it can go on.

        The interpreter lock is released. Raises ValueError for what is no time, and KeyboardInterrupt.
        """

    def state(self) -> str:
        """Return the state, with rates since the last call: ``state`` of ``schema/output.schema.json``."""

    def results(self) -> str:
        """Return results so far, as `run` does."""

    def change(self, path: str, value: str) -> str:
        """Change a parameter; return a list of path, before and after. Raises ScenarioError."""

    @property
    def now_s(self) -> float:
        """Simulated time, s."""

    @property
    def end_reason(self) -> str | None:
        """Why the run is over; none while it can go on."""

    @property
    def fingerprint(self) -> str:
        """Hash of packets and changes, 16 hexadecimal digits."""

class Door:
    """What a page asks its simulator for, answered here: verbs of ``crates/wasm``, with sessions of its own.

    For one thread of a process that does nothing else: the interpreter lock is held.
    """

    def __init__(self) -> None:
        """Begin without sessions."""

    def ask(self, verb: str, request: str = ...) -> str:
        """Answer a request, both JSON. What is wrong with one is an answer with ``status`` and ``errors``."""

def why(
    path: str,
    overrides: Sequence[tuple[str, str]] = ...,
    progress: Callable[[Progress], bool | None] | None = ...,
    source: Text | None = ...,
) -> str:
    """Simulate as `run` does, and again with each candidate for the limit ten times larger.

    Adds the key ``why``: times, sentence, and in ``larger`` goodput before and after in GB/s, operations a
    second, the gain in percent. Raises ScenarioError.
    """

def explain(
    path: str,
    overrides: Sequence[tuple[str, str]] = ...,
    source: Text | None = ...,
    fio: FioJobs | None = ...,
) -> str:
    """Resolve a scenario without running it: parameters with unit, provenance and source; links.

    Raises ScenarioError.
    """

def trace(
    path: str,
    start: str,
    span: str,
    links: Sequence[str],
    kinds: Sequence[str],
    most: int,
    around: str | None = ...,
    transaction: str | None = ...,
    overrides: Sequence[tuple[str, str]] = ...,
    progress: Callable[[Progress], bool | None] | None = ...,
    source: Text | None = ...,
) -> tuple[str, str]:
    """Simulate up to the end of a window, and list what went over the links in it: as JSON, and as a text.

    `start` and `span` are times with their unit. `links` are names and `kinds` among tlp, dllp, skp, flit,
    blocked, queued and error; all but queued where there is none. The last `most` rows are kept. `around` is
    worst-latency, stall, replay or first-blocked; `transaction` worst-latency or a number from 1 on. Raises
    ScenarioError, InputError for an unknown name, ValueError for a time that is none or another view.
    """

def write_trace(
    path: str,
    start: str,
    span: str,
    links: Sequence[str],
    kinds: Sequence[str],
    form: str,
    put: Callable[[bytes], object],
    most: int = ...,
    around: str | None = ...,
    transaction: str | None = ...,
    overrides: Sequence[tuple[str, str]] = ...,
    progress: Callable[[Progress], bool | None] | None = ...,
    source: Text | None = ...,
) -> str:
    """Simulate up to the end of a window, and hand over what went over the links while the run goes on.

    `form` is text (the listing), jsonl (a JSON object for each row and line), perfetto or pcapng. `put` is
    called with each part; what it raises breaks the trace off, as does Ctrl-C. Returns a `TraceEnd` as JSON;
    its `is_whole` is false when the trace was broken off. The others, and what is raised, as with `trace`;
    `most` counts only around something and of a transaction, which are written at the end.
    """

def parts() -> str:
    """List the catalog: parts, and each parameter's value with its unit, provenance and source."""

def parts_like(asked: str) -> tuple[list[str], str]:
    """Return names of the parts that may be meant by a name or words, and a hint where no part has it."""

def bench(name: str) -> str:
    """Run one benchmark on one core: tlp_hops_per_s, events_per_s, simulated_s, wall_s, bytes_per_idle_port.

    Raises ValueError for a name that `benchmark_names` does not return.
    """

def benchmark_names() -> list[str]:
    """Return the names of the benchmarks, in the order in which they are run."""

def scenario_schema() -> str:
    """Return the JSON Schema of scenario files."""

def ladder(*, generation: int, lanes: int, payload_bytes: int, header_dwords: int, ecrc: bool) -> str:
    """Return the rungs of a link that sends memory writes back to back, without DLLPs and ordered sets.

    line_rate_gbit_per_s and coded_gbit_per_s are in 10⁹ bits a second, before and after the line code;
    payload_fraction is 0 to 1. `generation` is 1 to 7, `lanes` 1 to 32, `payload_bytes` 1 to 4096,
    `header_dwords` 3 or 4; ValueError otherwise. Source: PCI Express Base 6.0, sections 2.2, 3.5 and 4.2.
    """

def frames_carried(frame_bytes: int) -> float:
    """Return the part of the bytes of a wire that Ethernet frames of one size are, back to back.

    `frame_bytes` is 64 to 9018, check sequence included; ValueError otherwise. Source: IEEE 802.3.
    """

def writes_carried(size_bytes: int, *, mtu_bytes: int, infiniband: bool) -> float:
    """Return the part of the bytes of a wire that is payload of RDMA writes of one size, back to back.

    Over InfiniBand, or else over RoCE version 2. `size_bytes` is 1 to 2³¹, `mtu_bytes` a power of two from
    256 to 4096; ValueError otherwise. Source: InfiniBand Architecture Specification, volume 1.
    """

def student_t(probability: float, degrees: float) -> float:
    """Return the value that Student's t stays below with this probability.

    `degrees` of freedom are above 0, `probability` lies between 0 and 1, both excluded; ValueError otherwise.
    """
