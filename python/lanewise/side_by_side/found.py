"""Something that a side says: a case of a benchmark's output, or a flow of a simulated run."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.health.judge.asked import is_random
from lanewise.health.judge.matching import class_of, on_the_link
from lanewise.health.judge.parts_of_a_job import summed

if TYPE_CHECKING:
    from lanewise.tools.instruments.measurement import Case, Measurement

_SIZE = re.compile(r"\s+\d+ B\b")
"""What names of cases have besides the test."""
_LARGE = 1 << 20
"""Bytes from which on the size of a transfer makes no difference; `import` predicts with no larger ones."""
_BETWEEN_GPUS = "->"
_GPU = re.compile(r"\b(?:GPU|gpu) ?(?P<number>\d{1,4})\b")
_ELSEWHERE = ("by way of", "own link", "elsewhere")
"""What cases have whose bytes take more or others than the link of one device."""


@dataclass(frozen=True)
class Found:
    """A case or a flow, with what it is matched by and what it reached."""

    name: str
    """As its tool or its scenario names it."""
    direction: str | None
    """The tool's: one of `lanewise.tools.instruments.measurement.DIRECTIONS`; of a flow, its own."""
    target: str | None = None
    size_bytes: int | None = None
    queue_depth: int | None = None
    workers: int | None = None
    gb_per_s: float | None = None
    operations_per_s: float | None = None
    latency_ns_mean: float | None = None
    latency_ns_p99: float | None = None
    tool: str | None = None
    """None for a flow."""
    test: str = ""
    """What of the tool it is, without size and target."""
    kind: str | None = None
    """Class of the device, as `class_of` says it; None where that is not known."""
    on_link: str | None = None
    """How its bytes go on the device's link: it reads or writes, or both; None where that is unknown."""
    ends: tuple[int, ...] | None = None
    """Of a copy between two GPUs their numbers; none of a copy from or to the host; None for other things."""
    random: bool = False
    is_direct: bool = True
    """False of a copy between two GPUs that cannot access each other, by way of the host."""
    alike: int = 1
    """How many flows it stands for, each of which reached the same."""

    @property
    def large_size(self) -> int | None:
        """Its size; one size for all that are large."""
        return None if self.size_bytes is None else min(self.size_bytes, _LARGE)


def of_measurement(measurement: Measurement) -> list[Found]:
    """Return what a benchmark's output says, clones of a job put together."""
    return [_of_case(case, measurement) for case in summed(measurement.cases)]


def _of_case(case: Case, measurement: Measurement) -> Found:
    tool = str(case.raw.get("tool", measurement.tool))
    kind = class_of(tool)
    rate, latency = case.bandwidth_bytes_per_s, case.latency
    return Found(
        name=case.name,
        direction=case.direction,
        target=case.target,
        size_bytes=case.block_bytes,
        queue_depth=case.queue_depth,
        workers=case.workers,
        gb_per_s=None if rate is None else rate / 1e9,
        operations_per_s=case.operations_per_s,
        latency_ns_mean=None if latency is None else latency.mean_ns,
        latency_ns_p99=None if latency is None else latency.percentiles_ns.get(99.0),
        tool=tool,
        test=str(case.raw.get("test") or _SIZE.sub("", case.name)),
        kind=kind,
        on_link=_on_link(case, kind),
        ends=_ends(case) if kind == "is_gpu" else None,
        random=is_random(case),
        is_direct=case.raw.get("peer_access") is not False,
    )


def _on_link(case: Case, kind: str) -> str | None:
    """Return which way the bytes of a case go on the link of its device; None for a latency, or not told."""
    is_other = case.raw.get("peer_access") is False or any(word in case.raw for word in _ELSEWHERE)
    if case.direction is None or case.bandwidth_bytes_per_s is None or is_other:
        return None
    if case.direction == "both":
        return "both"
    if kind == "is_nic":
        return on_the_link(case)
    # What the user reads, the device writes; one GPU writes into another, or reads from it, itself.
    own = kind == "is_gpu" and _BETWEEN_GPUS in str(case.target or "")
    return case.direction if own else "read" if case.direction == "write" else "write"


def _ends(case: Case) -> tuple[int, ...] | None:
    """Return the numbers of the GPUs of a copy; None where it is between GPUs that have none."""
    target = str(case.target or "")
    if _BETWEEN_GPUS not in target:
        return ()
    places = case.raw.get("row"), case.raw.get("column")
    if all(isinstance(each, int) for each in places):
        return tuple(int(str(each)) for each in places)
    numbers = tuple(int(match["number"]) for match in _GPU.finditer(target))
    return numbers if len(numbers) == 2 else None
