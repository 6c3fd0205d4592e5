"""What is kept of each point: a row of numbers, and what limited it.

Each run gives the columns of `ALWAYS`. Others are named as cells of experiments are:
``sum flows.payload_bytes``, ``max links.utilisation where link=enclosure``, ``perftest: BW average (Gb/s)``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from lanewise.documents import Run
    from lanewise.experiment.metric import Metric

Value = str | float | int | None

GOODPUT = "goodput_gb_per_s"
TAIL = "latency_ns_p99"

NUMBERS = {
    GOODPUT: "payload of all flows of data",
    "operations_per_s": "operations of all flows of data",
    "latency_ns_mean": "mean latency over the operations of all flows of data",
    TAIL: "the largest 99th percentile of any flow of data",
}
"""Columns that are numbers, and what they are."""

ALWAYS = (*NUMBERS, "limited_by", "limited_kind", "end_reason", "simulated_s", "fingerprint")
"""Columns of every study, in their order."""

_WHERE = " where "


@dataclass(frozen=True)
class Measure:
    """A number of a run by its name."""

    name: str
    _metric: Metric

    @classmethod
    def parse(cls, text: str) -> Measure:
        """Read one; InputError says what is wrong with it."""
        from lanewise.experiment.metric import Metric

        body, _, condition = text.partition(_WHERE)
        where: dict[str, str] = {}
        for part in condition.split(",") if condition else ():
            column, equals, value = part.partition("=")
            if not (equals and column.strip() and value.strip()):
                raise InputError(f"'{text}': after 'where' stands COLUMN=VALUE, like 'where direction=read'")
            where[column.strip()] = value.strip()
        if ": " in body and where:
            raise InputError(f"'{text}': numbers of an instrument have no 'where'")
        try:
            return cls(text, Metric.parse(body.strip(), where))
        except ValueError as error:
            raise InputError(str(error)) from error

    def read(self, document: Run) -> float:
        """Return the number; InputError when the run has no such table, column or row."""
        from lanewise.results import RunResult

        return self._metric.read(RunResult(document))


def row_of(document: Run, measures: Iterable[Measure] = ()) -> dict[str, Value]:
    """Return what a study keeps of a run. InputError for a measure that the run does not have."""
    flows = [flow for flow in document["flows"] if flow["direction"] != "control"]
    means = [(flow["operations"], flow["latency_ns"]["mean"]) for flow in flows]
    tails = [p99 for flow in flows if (p99 := flow["latency_ns"]["p99"]) is not None]
    limit = document["limited_by"]
    row: dict[str, Value] = {
        "goodput_gb_per_s": sum(flow["goodput_gb_per_s"] for flow in flows),
        "operations_per_s": sum(flow["operations_per_s"] for flow in flows),
        "latency_ns_mean": _mean_latency(means),
        "latency_ns_p99": max(tails, default=None),
        "limited_by": None if limit is None else limit["name"],
        "limited_kind": None if limit is None else limit["kind"],
        "end_reason": document["end_reason"],
        "simulated_s": document["simulated_s"],
        "fingerprint": document["fingerprint"],
    }
    return row | {measure.name: measure.read(document) for measure in measures}


def _mean_latency(flows: Sequence[tuple[int, float | None]]) -> float | None:
    known = [(count, mean) for count, mean in flows if count and mean is not None]
    total = sum(count for count, _ in known)
    return sum(count * mean for count, mean in known) / total if total else None
