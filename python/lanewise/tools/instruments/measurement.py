"""The one shape that benchmark results have here, measured or simulated, whatever tool they come from.

A `Measurement` is what one output of one tool says: cases with exact units. Importers keep every field that
they do not translate in `raw`, so that nothing of a real result is lost. Sizes are in bytes, bandwidths in
bytes per second, times in nanoseconds: a tool's own MB, MiB or Mb are turned into them where its output is
read, and nowhere else.

Leaves out: time series within a run, and what a tool says about itself rather than about the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sized

FORMAT = 1
"""Version of the JSON shape."""

DIRECTIONS = ("read", "write", "both", "send", "receive", "ping-pong")
"""``read`` and ``write`` as the tool's user means them; ``both`` for bidirectional or mixed traffic;
``ping-pong`` for latency tests whose time is half of a round trip."""


class ImportProblemError(InputError):
    """An output cannot be read as that of the tool; says where, what was found and what is expected."""


MOST_CASES = 10_000
"""Of one output. Assumed: all tests of nvbandwidth on sixteen GPUs have some thousands."""


def refuse_too_many(cases: Sized) -> None:
    """Raise ImportProblemError for more cases than any tool prints."""
    if len(cases) > MOST_CASES:
        raise ImportProblemError(f"there are more than {MOST_CASES:,} results in one output")


def bounded(cases: Iterable[Case]) -> Iterator[Case]:
    """Hand cases on; ImportProblemError for more than any tool prints, before they are all in memory."""
    for number, case in enumerate(cases):
        refuse_too_many(range(number + 1))
        yield case


@dataclass(frozen=True, kw_only=True)
class Latency:
    """Times of operations in nanoseconds; what a tool does not report is None or missing."""

    mean_ns: float | None = None
    stddev_ns: float | None = None
    min_ns: float | None = None
    max_ns: float | None = None
    percentiles_ns: Mapping[float, float] = field(default_factory=dict)
    """By percentile: 50 is the median, 99.9 the time that one operation in a thousand exceeds."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """One line of a result: one job, one size, one direction."""

    name: str
    """The tool's own name for it, like the name of a job or "65536 B"."""
    direction: str | None = None
    """One of `DIRECTIONS`."""
    target: str | None = None
    """Device, port, drive or GPU it was measured on, as the tool names it."""
    block_bytes: int | None = None
    """Size of an operation: block, message, frame, copy."""
    queue_depth: int | None = None
    """Operations outstanding at once, over all workers."""
    workers: int | None = None
    """Threads, processes, queue pairs or streams, as the tool counts them."""
    bandwidth_bytes_per_s: float | None = None
    """Payload, unless the tool counts otherwise; then `raw` says what it counts."""
    operations_per_s: float | None = None
    operations: int | None = None
    latency: Latency | None = None
    raw: Mapping[str, object] = field(default_factory=dict)
    """The tool's own fields that have no place above, under its own names and in its own units."""

    @property
    def options(self) -> Mapping[str, object]:
        """Options of the job, as fio names them; empty for other tools."""
        options = self.raw.get("job options")
        return options if isinstance(options, Mapping) else {}


@dataclass(frozen=True, kw_only=True)
class Measurement:
    """What one output of one tool says."""

    tool: str
    """fio, perftest, osu, iometer, smartflow, iperf3, nvbandwidth, ..."""
    version: str | None
    """As the tool states it."""
    cases: tuple[Case, ...]
    command: str | None = None
    """The command line, where the output has it."""
    host: str | None = None
    """Machine it was measured on, where the output has it."""
    source: str | None = None
    """File it was read from, or the scenario it was simulated from."""
    simulated: bool = False
    """Whether Lanewise wrote the output: the version says so."""
    not_understood: tuple[str, ...] = ()
    """What of the output was left unread, one sentence each."""
    raw: Mapping[str, object] = field(default_factory=dict)
    """Fields of the whole output that have no place above."""

    def listed(self, field: str) -> list[str]:
        """Return a field of `raw` that is a list, as texts; empty where it is not there."""
        found = self.raw.get(field)
        return [str(each) for each in found] if isinstance(found, list | tuple) else []

    def document(self) -> dict[str, object]:
        """Return the measurement for JSON; percentiles become text keys, as JSON demands."""
        document = asdict(self)
        for case in document["cases"]:
            if case["latency"] is not None:
                percentiles = case["latency"]["percentiles_ns"]
                case["latency"]["percentiles_ns"] = {f"{key:g}": value for key, value in percentiles.items()}
        return {"format": FORMAT, **document}


def case_called(measurement: Measurement, name: str) -> Case:
    """Return the case of that name; ImportProblemError lists those there are."""
    for case in measurement.cases:
        if case.name == name:
            return case
    names = ", ".join(case.name for case in measurement.cases)
    raise ImportProblemError(f"the {measurement.tool} result has no case '{name}'; it has {names}")
