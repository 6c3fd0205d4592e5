"""What a column of measurements may be, and in which units: numbers of a run under the names that people use.

``goodput GB/s``, ``IOPS``, ``latency us``, ``p99 (us)``; any column of results, ``goodput_mib_per_s``; and
any number that `lanewise sweep --metric` takes, ``max links.goodput_gb_per_s where link=sw0`` or
``perftest: BW average (Gb/s)``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import polars as pl

from lanewise.columns import FLOW_COLUMNS
from lanewise.errors import InputError
from lanewise.experiment.metric import Metric
from lanewise.quantity import kind_of, size_of
from lanewise.study.measures import Measure, unit_of_measure
from lanewise.units import unit_of

if TYPE_CHECKING:
    from lanewise.results import RunResult

_COUNTED = {"in_total": ("true",)}
"""Flows that count: not those of control, nor bytes that another one counts."""

_FLOWS = {
    "goodput": ("sum", "goodput_gb_per_s"),
    "operations": ("sum", "operations_per_s"),
    "latency": ("mean", "latency_ns_mean"),
    **{
        f"latency p{name}": ("max", f"latency_ns_p{name.replace('.', '_')}")
        for name in ("50", "90", "95", "99", "99.9")
    },
    "latency max": ("max", "latency_ns_max"),
}
"""The numbers of all flows together: how they are reduced, and the column."""

_ALSO = {
    **dict.fromkeys(("bandwidth", "bw", "throughput"), "goodput"),
    **dict.fromkeys(("iops", "ops", "operations per s"), "operations"),
    **dict.fromkeys(("lat", "mean", "latency mean", "mean latency", "avg", "average"), "latency"),
    **{f"p{name}": f"latency p{name}" for name in ("50", "90", "95", "99", "99.9")},
    **dict.fromkeys(("median", "latency median"), "latency p50"),
    "max": "latency max",
}
"""Names as others call them."""

_PER_S = {
    "1/s": 1,
    "IOPS": 1,
    "kIOPS": 1_000,
    "KIOPS": 1_000,
    "MIOPS": 1_000_000,
    "k/s": 1_000,
    "M/s": 1_000_000,
}
"""Units of operations."""

_WITH_UNIT = re.compile(r"(?P<name>.*?)(?:\s*[\[(](?P<boxed>[^\[\]()]+)[\])]|,?\s+(?P<last>\S+))\s*")
_PERCENTILES = re.compile(r"latency p(?:9|5)")


@dataclass(frozen=True)
class OfOperations(Metric):
    """A latency of operations, as tools measure it: of a whole transfer, and not of each request of it."""

    def read(self, result: RunResult) -> float:
        """Return the number; MetricError when no flow has it. Requests may be operations."""
        flows = result.tables[self.table].filter(pl.col("in_total"))
        values = flows.select(pl.coalesce(f"operation_{self.column}", self.column)).to_series().drop_nulls()
        return super().read(result) if values.is_empty() else float(getattr(values, self.reduction)())


@dataclass(frozen=True)
class MeasuredColumn:
    """A column with what was measured."""

    head: str
    """As it is written."""
    metric: Metric
    unit: str | None
    """Of its numbers; None where each value has to say it."""
    own_unit: str
    """Of the simulated number."""
    is_percentile: bool = False
    """Whether runs have to go on until percentiles are known."""

    def factor(self, unit: str) -> float | None:
        """Return what a number is multiplied by to be in the own unit; None for one of another kind."""
        if unit == self.own_unit:
            return 1.0
        sizes = _size(unit), _size(self.own_unit)
        if None in sizes or sizes[0][0] != sizes[1][0]:  # type: ignore[index]
            return None
        return float(sizes[0][1] / sizes[1][1])  # type: ignore[index]

    @property
    def allowed(self) -> str:
        """Say which units it may have."""
        kind = _size(self.own_unit)
        if kind is None:
            return f"'{self.own_unit}'" if self.own_unit else "none"
        return {
            "rate": "GB/s, MiB/s or Gb/s",
            "time": "ns, us or ms",
            "operations": "IOPS, kIOPS or 1/s",
        }.get(kind[0], self.own_unit)


def _size(unit: str) -> tuple[str, Fraction] | None:
    """Return what a unit measures, and how many of the smallest it is."""
    if unit in _PER_S:
        return "operations", Fraction(_PER_S[unit])
    kind = kind_of(unit)
    return None if kind is None else (kind, size_of(unit))


def is_unit(word: str) -> bool:
    """Whether a word is a unit of something that is measured or set."""
    return _size(word) is not None


def split_unit(head: str) -> tuple[str, str | None]:
    """Return the name of a column without its unit, and that: ``size [KiB]``, ``size (KiB)``, ``size KiB``.

    >>> split_unit("goodput GB/s"), split_unit("p99 (us)"), split_unit("queue depth")
    (('goodput', 'GB/s'), ('p99', 'us'), ('queue depth', None))
    """
    found = _WITH_UNIT.fullmatch(head)
    if found is None:
        return head, None
    unit = (found["boxed"] or found["last"]).strip()
    return (found["name"], unit) if found["boxed"] or is_unit(unit) else (head, None)


def measured_column(head: str) -> MeasuredColumn | None:
    """Return what a column measures; None where its name is no number of a run."""
    return _of_flows(head) or _of_results(head) or _of_a_metric(head)


def _of_flows(head: str) -> MeasuredColumn | None:
    name, unit = split_unit(head)
    plain = " ".join(name.lower().replace("_", " ").split()).replace("p99 9", "p99.9")
    known = _ALSO.get(plain, plain)
    if known not in _FLOWS:
        return None
    reduction, column = _FLOWS[known]
    if unit is None and plain == "iops":
        unit = "IOPS"
    kind = OfOperations if known.startswith("latency") else Metric
    return MeasuredColumn(
        head,
        kind(reduction, "flows", column, _COUNTED),
        unit,
        unit_of(column) or "",
        is_percentile=_PERCENTILES.match(known) is not None,
    )


def _of_results(head: str) -> MeasuredColumn | None:
    """Read the name of a column of the table of flows."""
    column = head.strip()
    if column not in FLOW_COLUMNS or not FLOW_COLUMNS[column].is_numeric():
        return None
    is_sum = column.endswith("per_s")
    reduction = "sum" if is_sum else "mean" if column.endswith("mean") else "max"
    own = unit_of(column) or ""
    return MeasuredColumn(
        head, Metric(reduction, "flows", column, _COUNTED), own, own, is_percentile="_p" in column
    )


def _of_a_metric(head: str) -> MeasuredColumn | None:
    """Read a number as `--metric` takes it, with a unit behind it where its own is another."""
    found = _metric(head)
    if found is not None:
        unit = unit_of_measure(head.strip())
        return MeasuredColumn(head, found, unit, unit)
    name, unit_given = split_unit(head)
    found = _metric(name) if unit_given else None
    if found is None:
        return None
    return MeasuredColumn(head, found, unit_given, unit_of_measure(name))


def _metric(text: str) -> Metric | None:
    try:
        return Measure.parse(text.strip()).metric
    except InputError:
        return None


def examples() -> str:
    """Say what a column may measure."""
    return "'goodput GB/s', 'IOPS', 'latency us', 'p99 us'"
