"""What the functions of the package return: frozen dataclasses over the core's JSON, with Polars tables.

Every class keeps the document it was made from, so that ``to_json()`` gives exactly what the core said.
Tables are made when they are first asked for; each column name ends in its unit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from lanewise.errors import InputError
from lanewise.notebook import html
from lanewise.output_format import stamped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    import altair as alt
    from nanoarrow import Array

    from lanewise import documents

_FLOW_COLUMNS = {
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
}
_LINK_COLUMNS = {
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
}
_ATTRIBUTION_COLUMNS = {
    "link": pl.String,
    "direction": pl.String,
    "category": pl.String,
    "time_fraction": pl.Float64,
    "time_ticks": pl.UInt64,
}
_PHASE_COLUMNS = {
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
_REQUESTER_COLUMNS = {"device": pl.String, "state": pl.String, "time_fraction": pl.Float64}
_BUFFER_COLUMNS = {
    "port": pl.String,
    "class": pl.String,
    "mean_bytes": pl.Float64,
    "max_bytes": pl.UInt64,
    "capacity_bytes": pl.UInt64,
}
_RESOURCE_COLUMNS = {
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
_LARGER_COLUMNS = {
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
_ERROR_COLUMNS = {"port": pl.String, "error": pl.String, "status_bit": pl.UInt32, "count": pl.UInt64}
_INSTRUMENT_COLUMNS = {"workload": pl.String, "kind": pl.String, "metric": pl.String, "value": pl.Float64}
_PARAMETER_COLUMNS = {
    "path": pl.String,
    "value": pl.String,
    "provenance": pl.String,
    "source": pl.String,
    "place": pl.String,
    "fitted_on": pl.List(pl.String),
    "role": pl.String,
}
_NEGOTIATED_COLUMNS = {
    "link": pl.String,
    "upper": pl.String,
    "lower": pl.String,
    "generation": pl.String,
    "width": pl.String,
    "generation_limited_by": pl.String,
    "width_limited_by": pl.String,
    "mps_bytes": pl.UInt64,
    "mps_limited_by": pl.String,
}
_TRACE_COLUMNS = {
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
    "note": pl.String,
}
_PART_COLUMNS = {"part": pl.String, "kind": pl.String, "title": pl.String, "parameters": pl.UInt32}
_BENCHMARK_COLUMNS = {
    "benchmark": pl.String,
    "tlp_hops_per_s": pl.Float64,
    "events_per_s": pl.Float64,
    "simulated_s": pl.Float64,
    "wall_s": pl.Float64,
    "bytes_per_idle_port": pl.Float64,
    "audit_percent": pl.Float64,
}

_FLOWS_SHOWN = (
    "flow",
    "device",
    "direction",
    "goodput_gb_per_s",
    "confidence_half_width_percent",
    "operations_per_s",
    "latency_ns_p50",
    "latency_ns_p99",
)
_LINKS_SHOWN = (
    "link",
    "direction",
    "generation",
    "width",
    "line_rate_gb_per_s",
    "goodput_gb_per_s",
    "utilisation",
)
_PARAMETERS_SHOWN = ("path", "value", "provenance", "source", "place")

DIRECTIONS: tuple[Literal["upstream", "downstream"], ...] = ("upstream", "downstream")


def frame(rows: Iterable[Mapping[str, Any]], columns: Mapping[str, Any]) -> pl.DataFrame:
    """Make a table with exactly these columns and types, missing values null, also when there are no rows."""
    return pl.DataFrame([{name: row.get(name) for name in columns} for row in rows], schema=dict(columns))


def text_of(value: object) -> str:
    """Write a parameter's value as a scenario file would: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Something the core said, as it said it."""

    document: Mapping[str, Any]
    """As the core said it; subclasses say which of `lanewise.documents` it is."""

    def __repr__(self) -> str:
        """Name the class and what it holds; the document may have megabytes."""
        return f"<{type(self).__name__}: {', '.join(self.document)}>"

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the document as JSON text."""
        return json.dumps(stamped(self.document), indent=indent, ensure_ascii=False)

    def _repr_html_(self) -> str:
        """Return what a notebook shows."""
        return html(type(self).__name__, tables=self._shown())

    def _shown(self) -> list[tuple[str, pl.DataFrame]]:
        """Tables that a notebook shows, with what they are called."""
        return []


@dataclass(frozen=True, eq=False, repr=False)
class RunResult(Result):
    """What one run of a scenario measured."""

    document: documents.Run

    overrides: tuple[tuple[str, str], ...] = ()
    """Paths and values that were set besides what the scenario says."""

    def __repr__(self) -> str:
        """Say which run it was and how it ended."""
        return (
            f"<RunResult: {self.title}; {self.end_reason}, seed {self.seed}, fingerprint {self.fingerprint}>"
        )

    @property
    def title(self) -> str:
        """Title of the scenario."""
        return str(self.document["title"])

    @property
    def seed(self) -> int:
        """Seed of every random stream."""
        return int(self.document["seed"])

    @property
    def end_reason(self) -> str:
        """Why it ended: Converged, TimeLimit, EventLimit, MemoryLimit, Stalled, Interrupted or Finished."""
        return str(self.document["end_reason"])

    @property
    def end_detail(self) -> str:
        """The reason in a sentence."""
        return str(self.document.get("end_detail", ""))

    @property
    def fingerprint(self) -> str:
        """Hash of the trajectory, 16 hexadecimal digits: equal for the same scenario, seed and version."""
        return str(self.document["fingerprint"])

    @property
    def limited_by(self) -> str | None:
        """What limits the run by the time that others waited, in a sentence; None when nothing moved.

        ``document["limited_by"]`` has the parts: `name`, `kind`, `share` (0 to 1), `alike`. `why` proves it.
        """
        limit = self.document.get("limited_by")
        return None if limit is None else str(limit["sentence"])

    @cached_property
    def flows(self) -> pl.DataFrame:
        """One row per flow: goodput, operations and latency of the measured window."""
        return frame(map(_flow_row, self.document["flows"]), _FLOW_COLUMNS)

    @cached_property
    def data_flows(self) -> pl.DataFrame:
        """Flows of data: all but commands, status and interrupts, which have the direction `control`."""
        return self.flows.filter(pl.col("direction") != "control")

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per link and direction: what it negotiated, and the efficiency ladder."""
        return frame(_link_rows(self.document["links"]), _LINK_COLUMNS)

    @cached_property
    def time_attribution(self) -> pl.DataFrame:
        """One row per link, direction and category; the fractions of a direction sum to 1."""
        return frame(_attribution_rows(self.document["links"]), _ATTRIBUTION_COLUMNS)

    @cached_property
    def phases(self) -> pl.DataFrame:
        """Flows in each part of the run between changes of the machine; empty when nothing changed."""
        rows = (
            {
                "phase": phase["name"],
                "start_s": phase["start_s"],
                "end_s": phase["end_s"],
                "flow": flow["name"],
                "payload_bytes": flow["bytes"],
                **{
                    name: flow[name]
                    for name in ("device", "direction", "goodput_gb_per_s", "operations_per_s")
                },
            }
            for phase in self.document.get("phases", [])
            for flow in phase["flows"]
        )
        return frame(rows, _PHASE_COLUMNS)

    @cached_property
    def requesters(self) -> pl.DataFrame:
        """One row per requester and state: what held it back, as a share of the measured time."""
        rows = (
            {"device": requester["device"], "state": state, "time_fraction": share}
            for requester in self.document["requesters"]
            for state, share in requester["time_attribution"].items()
        )
        return frame(rows, _REQUESTER_COLUMNS)

    @cached_property
    def buffers(self) -> pl.DataFrame:
        """One row per port and flow-control class: bytes held in its ingress buffer."""
        return frame(self.document["buffers"], _BUFFER_COLUMNS)

    @cached_property
    def resources(self) -> pl.DataFrame:
        """One row per shared resource that was asked for: its use (0 to 1), how long others waited for it."""
        rows = ({**resource, "resource": resource["name"]} for resource in self.document.get("resources", []))
        return frame(rows, _RESOURCE_COLUMNS)

    @cached_property
    def errors(self) -> pl.DataFrame:
        """One row per port and kind of transaction error that it detected, over the whole run."""
        return frame(self.document.get("errors", []), _ERROR_COLUMNS)

    @cached_property
    def instruments(self) -> pl.DataFrame:
        """One row per metric of an instrument, in the instrument's own words and units."""
        rows = (
            {
                "workload": instrument["workload"],
                "kind": instrument["kind"],
                "metric": metric["name"],
                "value": metric["value"],
            }
            for instrument in self.document["instruments"]
            for metric in instrument["metrics"]
        )
        return frame(rows, _INSTRUMENT_COLUMNS)

    @cached_property
    def assumptions(self) -> pl.DataFrame:
        """One row per parameter in force that no specification fixes."""
        return frame(map(_parameter_row, self.document["assumptions"]), _PARAMETER_COLUMNS)

    def plot(self, what: str = "time") -> alt.TopLevelMixin:
        """Draw the run as an Altair chart; `what` is 'time', 'goodput' or 'ladder'.

        ``time`` is where the time of each link direction went, the busiest first, ``goodput`` that of each
        flow in GB/s, ``ladder`` the efficiency ladder of the busiest direction in GB/s. Raises
        `lanewise.InputError` for anything else, and when the extra ``report`` is not installed.
        """
        from lanewise.plotting import run_chart

        return run_chart(what, self.data_flows, self.links, self.time_attribution)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: how it ended, what limits it, flows and links."""
        return html(self.title, self._said(), self._shown())

    def _said(self) -> list[str]:
        """Sentences that a notebook shows."""
        ended = f"{self.end_reason}: {self.end_detail}".removesuffix(": ") + f"; seed {self.seed}"
        set_ = ", ".join(f"{path} = {value}" for path, value in self.overrides)
        return [ended, self.limited_by or "", f"With {set_}" if set_ else ""]

    def _shown(self) -> list[tuple[str, pl.DataFrame]]:
        return [
            ("Flows", self.flows.select(_FLOWS_SHOWN)),
            (
                "Links, the busiest first",
                self.links.sort("utilisation", descending=True).select(_LINKS_SHOWN),
            ),
        ]

    def to_arrow(self, table: str = "flows") -> Array:
        """Return a table for whatever reads Arrow: DuckDB, Polars, pyarrow, pandas.

        `table` is one of the names of `tables`. What is returned has ``__arrow_c_stream__`` and can be read
        as often as one likes; the field of each quantity has its unit in its metadata, as ``unit``. Raises
        `lanewise.InputError` for another name.

        >>> import lanewise, pyarrow
        >>> run = lanewise.run("scenarios/first_rig.toml")
        >>> pyarrow.table(run.to_arrow("links")).schema.field("utilisation").metadata
        {b'unit': b'1'}
        """
        from lanewise.arrow import array_of

        known = self.tables
        if table not in known:
            raise InputError(f"a run has no table '{table}'; there are {', '.join(known)}")
        return array_of(known[table])

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table by name, as a run folder stores them."""
        return {
            "flows": self.flows,
            "links": self.links,
            "time_attribution": self.time_attribution,
            "phases": self.phases,
            "requesters": self.requesters,
            "buffers": self.buffers,
            "resources": self.resources,
            "errors": self.errors,
            "instruments": self.instruments,
            "assumptions": self.assumptions,
        }


class WhyResult(RunResult):
    """What one run measured, and what each candidate for its limit would bring ten times larger."""

    @property
    def verdict(self) -> str:
        """What limits the run, proven, in a sentence without a full stop."""
        return str(self.document["why"]["sentence"])

    @cached_property
    def larger(self) -> pl.DataFrame:
        """One row per candidate, or several alike, what brings most first; gains in percent of goodput."""
        return frame(self.document["why"]["larger"], _LARGER_COLUMNS)

    def plot(self, what: str = "larger") -> alt.TopLevelMixin:
        """Draw what each candidate brings ten times larger ('larger'), or the run as `RunResult.plot`."""
        from lanewise.plotting import why_chart

        return why_chart(self.larger) if what == "larger" else super().plot(what)

    def _said(self) -> list[str]:
        return [self.verdict, *super()._said()]

    def _shown(self) -> list[tuple[str, pl.DataFrame]]:
        columns = ("what", "names", "goodput_before_gb_per_s", "goodput_after_gb_per_s", "gain_percent")
        return [("Ten times larger", self.larger.select(columns)), *super()._shown()]

    @property
    def tables(self) -> dict[str, pl.DataFrame]:
        """Every table by name."""
        return {**super().tables, "larger": self.larger}


@dataclass(frozen=True, eq=False, repr=False)
class ExplainResult(Result):
    """Every resolved parameter of a scenario and where it came from."""

    document: documents.Explain

    @property
    def title(self) -> str:
        """Title of the scenario."""
        return str(self.document["title"])

    @cached_property
    def parameters(self) -> pl.DataFrame:
        """One row per parameter: path, value, provenance, source, place, and claim or choice."""
        return frame(map(_parameter_row, self.document["parameters"]), _PARAMETER_COLUMNS)

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per link: what its two ends negotiated."""
        rows = ({**link, "link": link["name"]} for link in self.document["links"])
        return frame(rows, _NEGOTIATED_COLUMNS)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: links and parameters."""
        return html(self.title, tables=self._shown())

    def _shown(self) -> list[tuple[str, pl.DataFrame]]:
        return [("Links", self.links), ("Parameters", self.parameters.select(_PARAMETERS_SHOWN))]


@dataclass(frozen=True, eq=False, repr=False)
class TraceResult(Result):
    """What went over the links of a scenario in a window of its run."""

    document: documents.Trace

    text: str = ""
    """The listing, as an analyzer prints it."""

    @property
    def seen(self) -> int:
        """Rows of the window, kept or not."""
        return int(self.document["seen"])

    @cached_property
    def rows(self) -> pl.DataFrame:
        """One row per thing on a wire, or that happened to a port; times in ns, and in ticks of 2⁻¹⁰ ps."""
        return frame(self.document["rows"], _TRACE_COLUMNS)

    def _shown(self) -> list[tuple[str, pl.DataFrame]]:
        return [("Trace", self.rows)]


@dataclass(frozen=True, eq=False, repr=False)
class PartsResult(Result):
    """The catalog."""

    document: documents.Parts

    @cached_property
    def parts(self) -> pl.DataFrame:
        """One row per part."""
        rows = (
            {**part, "part": part["name"], "parameters": len(part["parameters"])}
            for part in self.document["parts"]
        )
        return frame(rows, _PART_COLUMNS)

    def _shown(self) -> list[tuple[str, pl.DataFrame]]:
        return [("Parts", self.parts)]

    @cached_property
    def parameters(self) -> pl.DataFrame:
        """One row per part and parameter, with provenance and source."""
        rows = (
            {**_parameter_row(parameter), "part": part["name"]}
            for part in self.document["parts"]
            for parameter in part["parameters"]
        )
        return frame(rows, {"part": pl.String, **_PARAMETER_COLUMNS})


@dataclass(frozen=True, eq=False, repr=False)
class BenchResult(Result):
    """How fast the simulator is here."""

    document: documents.Bench

    @cached_property
    def benchmarks(self) -> pl.DataFrame:
        """One row per benchmark."""
        rows = ({**entry, "benchmark": entry["name"]} for entry in self.document["benchmarks"])
        return frame(rows, _BENCHMARK_COLUMNS)

    def _shown(self) -> list[tuple[str, pl.DataFrame]]:
        return [("Benchmarks", self.benchmarks)]


def _flow_row(flow: documents.Flow) -> dict[str, object]:
    found: dict[str, object] = {}
    for kind, latency in (
        ("latency_ns", flow["latency_ns"]),
        ("operation_latency_ns", flow.get("operation_latency_ns")),
    ):
        # Of nothing there is no latency; the core says 0.
        if latency is not None and latency["count"]:
            found |= {f"{kind}_{name}": value for name, value in latency.items()}
    interval = flow.get("percentile_interval")
    if interval is not None:
        found |= {f"percentile_interval_{name}": value for name, value in interval.items()}
    return {**flow, **found, "flow": flow["name"], "payload_bytes": flow["bytes"]}


def _link_rows(links: list[documents.Link]) -> Iterator[dict[str, object]]:
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


def _attribution_rows(links: list[documents.Link]) -> Iterator[dict[str, object]]:
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


def _parameter_row(parameter: Mapping[str, Any]) -> dict[str, object]:
    value = text_of(parameter["value"])
    unit = parameter.get("unit")
    return {**parameter, "value": f"{value} {unit}" if unit else value}
