"""What the tables of results are made of: the columns of each, and how rows come of documents.

Each column name ends in its unit; a value that a document lacks is null.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lanewise import documents

    Columns: TypeAlias = Mapping[str, pl.DataType | type[pl.DataType]]
    Row: TypeAlias = dict[str, Any]
    """A row of a table, as Polars gives it."""

FLOW_COLUMNS: Columns = {
    "flow": pl.String,
    "device": pl.String,
    "direction": pl.String,
    "goodput_gb_per_s": pl.Float64,
    "goodput_mib_per_s": pl.Float64,
    "confidence_half_width_percent": pl.Float64,
    "payload_bytes": pl.UInt64,
    "counted": pl.String,
    "operations": pl.UInt64,
    "operations_per_s": pl.Float64,
    "latency_ns_mean": pl.Float64,
    "latency_ns_p50": pl.Float64,
    "latency_ns_p90": pl.Float64,
    "latency_ns_p99": pl.Float64,
    "latency_ns_max": pl.Float64,
    "latency_ns_stddev": pl.Float64,
    "latency_ns_min": pl.Float64,
    "latency_ns_p95": pl.Float64,
    "latency_ns_p99_9": pl.Float64,
    "operation_latency_ns_count": pl.UInt64,
    "operation_latency_ns_min": pl.Float64,
    "operation_latency_ns_mean": pl.Float64,
    "operation_latency_ns_stddev": pl.Float64,
    "operation_latency_ns_p50": pl.Float64,
    "operation_latency_ns_p90": pl.Float64,
    "operation_latency_ns_p95": pl.Float64,
    "operation_latency_ns_p99": pl.Float64,
    "operation_latency_ns_p99_9": pl.Float64,
    "operation_latency_ns_max": pl.Float64,
    "percentile_interval_percentile": pl.Float64,
    "percentile_interval_low_ns": pl.Float64,
    "percentile_interval_high_ns": pl.Float64,
    "limited_by": pl.String,
    "limited_kind": pl.String,
    "in_total": pl.Boolean,
}
LATENCY_COLUMNS: Columns = {
    "flow": pl.String,
    "device": pl.String,
    "direction": pl.String,
    "counted": pl.String,
    "from_ns": pl.UInt64,
    "below_ns": pl.UInt64,
    "count": pl.UInt64,
}
LINK_COLUMNS: Columns = {
    "link": pl.String,
    "upper": pl.String,
    "lower": pl.String,
    "direction": pl.String,
    "generation": pl.String,
    "width": pl.String,
    "mps_bytes": pl.UInt64,
    "line_rate_gb_per_s": pl.Float64,
    "link_bandwidth_gb_per_s": pl.Float64,
    "tlp_bandwidth_gb_per_s": pl.Float64,
    "goodput_gb_per_s": pl.Float64,
    "utilisation": pl.Float64,
    "coded_gb_per_s": pl.Float64,
    "after_replays_gb_per_s": pl.Float64,
    "sent_gb_per_s": pl.Float64,
}
ATTRIBUTION_COLUMNS: Columns = {
    "link": pl.String,
    "direction": pl.String,
    "category": pl.String,
    "time_fraction": pl.Float64,
    "time_ticks": pl.UInt64,
}
PHASE_COLUMNS: Columns = {
    "phase": pl.String,
    "start_s": pl.Float64,
    "end_s": pl.Float64,
    "flow": pl.String,
    "device": pl.String,
    "direction": pl.String,
    "payload_bytes": pl.UInt64,
    "goodput_gb_per_s": pl.Float64,
    "operations_per_s": pl.Float64,
}
REQUESTER_COLUMNS: Columns = {"device": pl.String, "state": pl.String, "time_fraction": pl.Float64}
BUFFER_COLUMNS: Columns = {
    "port": pl.String,
    "class": pl.String,
    "mean_bytes": pl.Float64,
    "max_bytes": pl.UInt64,
    "capacity_bytes": pl.UInt64,
}
RESOURCE_COLUMNS: Columns = {
    "resource": pl.String,
    "kind": pl.String,
    "places": pl.UInt32,
    "limit": pl.String,
    "utilisation": pl.Float64,
    "served": pl.UInt64,
    "waited_s": pl.Float64,
    "waited_ns_mean": pl.Float64,
    "waiting_mean": pl.Float64,
}
LARGER_COLUMNS: Columns = {
    "names": pl.List(pl.String),
    "kind": pl.String,
    "what": pl.String,
    "share": pl.Float64,
    "goodput_before_gb_per_s": pl.Float64,
    "goodput_after_gb_per_s": pl.Float64,
    "operations_before_per_s": pl.Float64,
    "operations_after_per_s": pl.Float64,
    "gain_percent": pl.Float64,
    "end_reason": pl.String,
}
ERROR_COLUMNS: Columns = {"port": pl.String, "error": pl.String, "status_bit": pl.UInt32, "count": pl.UInt64}
INSTRUMENT_COLUMNS: Columns = {
    "workload": pl.String,
    "kind": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
}
PARAMETER_COLUMNS: Columns = {
    "path": pl.String,
    "value": pl.String,
    "provenance": pl.String,
    "source": pl.String,
    "place": pl.String,
    "fitted_on": pl.List(pl.String),
    "role": pl.String,
}
NEGOTIATED_COLUMNS: Columns = {
    "link": pl.String,
    "upper": pl.String,
    "lower": pl.String,
    "generation": pl.String,
    "width": pl.String,
    "generation_limited_by": pl.String,
    "width_limited_by": pl.String,
    "through": pl.List(pl.String),
    "one_way": pl.String,
    "mps_bytes": pl.UInt64,
    "mps_limited_by": pl.String,
}
RUN_TABLES: Mapping[str, Columns] = {
    "flows": FLOW_COLUMNS,
    "links": LINK_COLUMNS,
    "time_attribution": ATTRIBUTION_COLUMNS,
    "phases": PHASE_COLUMNS,
    "requesters": REQUESTER_COLUMNS,
    "buffers": BUFFER_COLUMNS,
    "resources": RESOURCE_COLUMNS,
    "errors": ERROR_COLUMNS,
    "instruments": INSTRUMENT_COLUMNS,
    "assumptions": PARAMETER_COLUMNS,
    "latencies": LATENCY_COLUMNS,
}
"""Tables of every run, and their columns."""
TRACE_COLUMNS: Columns = {
    "at_ns": pl.Float64,
    "at_ticks": pl.UInt64,
    "span_ticks": pl.UInt64,
    "link": pl.String,
    "direction": pl.String,
    "kind": pl.String,
    "what": pl.String,
    "sequence": pl.UInt16,
    "requester": pl.String,
    "requester_id": pl.String,
    "tag": pl.UInt16,
    "address": pl.String,
    "length_bytes": pl.UInt16,
    "traffic_class": pl.UInt8,
    "channel": pl.UInt8,
    "header_credits": pl.UInt16,
    "data_credits": pl.UInt16,
    "issued_at_ticks": pl.UInt64,
    "ready_at_ticks": pl.UInt64,
    "waits": pl.List(pl.Struct({"cause": pl.String, "ticks": pl.UInt64})),
    "queue_depth": pl.UInt32,
    "note": pl.String,
}
STATION_COLUMNS: Columns = {
    "place": pl.String,
    "then": pl.String,
    "stage": pl.String,
    "what": pl.String,
    "at_ticks": pl.UInt64,
    "span_ticks": pl.UInt64,
    "waits": pl.List(pl.Struct({"cause": pl.String, "ticks": pl.UInt64})),
}
PART_COLUMNS: Columns = {"part": pl.String, "kind": pl.String, "title": pl.String, "parameters": pl.UInt32}
BENCHMARK_COLUMNS: Columns = {
    "benchmark": pl.String,
    "tlp_hops_per_s": pl.Float64,
    "events_per_s": pl.Float64,
    "simulated_s": pl.Float64,
    "wall_s": pl.Float64,
    "bytes_per_idle_port": pl.Float64,
    "audit_percent": pl.Float64,
    "threads": pl.UInt32,
    "speedup": pl.Float64,
}

DIRECTIONS: tuple[Literal["upstream", "downstream"], ...] = ("upstream", "downstream")


def frame(rows: Iterable[Mapping[str, object]], columns: Columns) -> pl.DataFrame:
    """Make a table with exactly these columns and types, missing values null, also when there are no rows."""
    return pl.DataFrame([{name: row.get(name) for name in columns} for row in rows], schema=dict(columns))


def text_of(value: object) -> str:
    """Write a parameter's value as a scenario file would: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


def flow_row(flow: documents.Flow) -> dict[str, object]:
    """Return the row of a flow: of latencies those that something was measured of."""
    found: dict[str, object] = {}
    for kind, latency in (
        ("latency_ns", flow["latency_ns"]),
        ("operation_latency_ns", flow.get("operation_latency_ns")),
    ):
        # Of nothing there is no latency; results of older versions say 0.
        if latency is not None and latency["count"]:
            found |= {f"{kind}_{name}": value for name, value in latency.items() if name != "buckets"}
    interval = flow.get("percentile_interval")
    if interval is not None:
        found |= {f"percentile_interval_{name}": value for name, value in interval.items()}
    # Results of older versions have none.
    limit = flow.get("limited_by")
    found["limited_by"] = None if limit is None else limit["name"]
    found["limited_kind"] = None if limit is None else limit["kind"]
    return {**flow, **found, "flow": flow["name"], "payload_bytes": flow["bytes"]}


def latency_rows(flow: documents.Flow) -> Iterator[dict[str, object]]:
    """Yield a row for each bucket of a flow's latencies, then of those of operations that are apart."""
    apart = flow.get("operation_latency_ns")
    for counted, latency in ((flow["counted"], flow["latency_ns"]), ("operations", apart)):
        # Results of older versions have none.
        buckets = latency.get("buckets") if latency is not None else None
        if buckets is None:
            continue
        edges = zip(buckets["from_ns"], buckets["below_ns"], buckets["counts"], strict=True)
        for start, end, count in edges:
            yield {
                "flow": flow["name"],
                "device": flow["device"],
                "direction": flow["direction"],
                "counted": counted,
                "from_ns": start,
                "below_ns": end,
                "count": count,
            }


def link_rows(links: list[documents.Link]) -> Iterator[dict[str, object]]:
    """Yield two rows of each link, one per direction."""
    for link in links:
        for direction in DIRECTIONS:
            side = link[direction]
            yield {
                **link,
                **side["ladder"],
                "link": link["name"],
                "direction": direction,
                "utilisation": side["utilisation"],
            }


def attribution_rows(links: list[documents.Link]) -> Iterator[dict[str, object]]:
    """Yield a row for each link, direction and category of time."""
    for link in links:
        for direction in DIRECTIONS:
            side = link[direction]
            for category, share in side["time_attribution"].items():
                yield {
                    "link": link["name"],
                    "direction": direction,
                    "category": category,
                    "time_fraction": share,
                    "time_ticks": side["time_attribution_ticks"].get(category),
                }


def parameter_row(parameter: Mapping[str, object]) -> dict[str, object]:
    """Return the row of a parameter, with its unit behind its value."""
    value = text_of(parameter["value"])
    unit = parameter.get("unit")
    return {**parameter, "value": f"{value} {unit}" if unit else value}
