"""What is kept of each point: a row of numbers, and what limited it.

Each run gives the columns of `ALWAYS`. Others are named as cells of experiments are:
``sum flows.payload_bytes``, ``max links.utilisation where link=enclosure``, ``perftest: BW average (Gb/s)``.
Those of the rig itself, like ``lanes``, are in ``lanes.py``.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.study.lanes import LANES, lanes_of
from lanewise.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lanewise.documents import Explain, Run
    from lanewise.experiment.metric import Metric

Value = str | float | int | None

GOODPUT = "goodput_gb_per_s"
TAIL = "latency_ns_p99"

NUMBERS = {
    GOODPUT: "payload of all flows of data; what one device reads and another writes counts once",
    "operations_per_s": "operations of all flows of data",
    "latency_ns_mean": "mean latency over the operations of all flows of data",
    TAIL: "the largest 99th percentile of any flow of data",
}
"""Columns that are numbers, and what they are."""

LATENCIES = ("latency_ns_mean", TAIL)

ALWAYS = (*NUMBERS, "limited_by", "limited_kind", "end_reason", "simulated_s", "fingerprint")
"""Columns of every study, in their order."""

_WHERE = " where "
_IN_BRACKETS = re.compile(r"\(([^()]+)\)\s*$")

_FIRST_TABLE = ',"links":'
"""Behind what `row_of` reads by itself."""
_OF_ROWS = {"flows", GOODPUT, "limited_by", "end_reason", "simulated_s", "fingerprint"}


@dataclass(frozen=True)
class Measure:
    """A number of a run by its name."""

    name: str
    _metric: Metric | None
    """None for a number of the rig."""

    @classmethod
    def parse(cls, text: str) -> Measure:
        """Read one; InputError says what is wrong with it, or that no run has such a table or column."""
        from lanewise.experiment.metric import Metric

        if text in LANES:
            return cls(text, None)
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
            metric = Metric.parse(body.strip(), where)
        except ValueError as error:
            raise InputError(f"{error}, or a number of the rig: {', '.join(LANES)}") from error
        try:
            metric.check()
        except InputError as error:
            raise InputError(f"'{text}': {error}") from error
        return cls(text, metric)

    @property
    def metric(self) -> Metric | None:
        """The number of a table that it is; None for one of the rig."""
        return self._metric

    @property
    def needs_tables(self) -> bool:
        """Whether it is a number of a table."""
        return self._metric is not None

    def read(self, document: Run, explain: Callable[[], Explain]) -> float:
        """Return the number; MetricError when the run has no such row."""
        from lanewise.results import RunResult

        if self._metric is None:
            return lanes_of(explain())[self.name]
        return self._metric.read(RunResult(document))


def unit_of_measure(name: str) -> str:
    """Return the unit of a measure, '' for none: what its column states, or what a tool says in brackets."""
    if name in LANES:
        return "lanes"
    body = name.partition(_WHERE)[0]
    if ": " in body:
        said = _IN_BRACKETS.search(body)
        return "" if said is None else said[1]
    return unit_of(body.rpartition(".")[2]) or ""


def read_document(text: str, measures: Sequence[Measure]) -> Run:
    """Decode a document of a run, as far as a row with these measures needs it.

    Tables of links, buffers and resources come last. Of a rig with 24 drives they are nineteen parts of
    twenty, and to decode them takes a twentieth of the run. Where it is cut off is in no text, whose
    quotes are escaped; what is cut inside of something else is no JSON, and then all of it is decoded.
    """
    document: Run
    if not any(measure.needs_tables for measure in measures):
        with suppress(ValueError):
            document = json.loads(text.partition(_FIRST_TABLE)[0] + "}")
            if document.keys() >= _OF_ROWS:
                return document
    document = json.loads(text)
    return document


def row_of(
    document: Run, measures: Iterable[Measure], explain: Callable[[], Explain]
) -> tuple[dict[str, Value], str | None]:
    """Return what a study keeps of a run, and which measures it does not have, with the reason.

    `explain` resolves its scenario, and is called if that is needed.
    """
    flows = [flow for flow in document["flows"] if flow["direction"] != "control"]
    means = [(flow["operations"], flow["latency_ns"]["mean"]) for flow in flows]
    tails = [p99 for flow in flows if (p99 := flow["latency_ns"]["p99"]) is not None]
    limit = document["limited_by"]
    row: dict[str, Value] = {
        "goodput_gb_per_s": document["goodput_gb_per_s"],
        "operations_per_s": sum(flow["operations_per_s"] for flow in flows),
        "latency_ns_mean": mean_latency(means),
        "latency_ns_p99": max(tails, default=None),
        "limited_by": None if limit is None else limit["name"],
        "limited_kind": None if limit is None else limit["kind"],
        "end_reason": document["end_reason"],
        "simulated_s": document["simulated_s"],
        "fingerprint": document["fingerprint"],
    }
    lacking = []
    for measure in measures:
        try:
            row[measure.name] = measure.read(document, explain)
        except InputError as error:
            row[measure.name] = None
            lacking.append(str(error))
    return row, "; ".join(dict.fromkeys(lacking)) or None


def mean_latency(flows: Sequence[tuple[int, float | None]]) -> float | None:
    """Return the mean latency of flows in ns, by operations and mean of each; None where none is known."""
    known = [(count, mean) for count, mean in flows if count and mean is not None]
    total = sum(count for count, _ in known)
    return sum(count * mean for count, mean in known) / total if total else None
