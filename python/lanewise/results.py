"""What the functions of the package return: frozen dataclasses over the core's JSON, with Polars tables.

Every class keeps the document it was made from, so that ``to_json()`` gives exactly what the core said.
Tables are made when they are first asked for; each column name ends in its unit.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from lanewise.alike_names import together
from lanewise.columns import (
    ATTRIBUTION_COLUMNS,
    BENCHMARK_COLUMNS,
    BUFFER_COLUMNS,
    ERROR_COLUMNS,
    FLOW_COLUMNS,
    INSTRUMENT_COLUMNS,
    LARGER_COLUMNS,
    LATENCY_COLUMNS,
    LINK_COLUMNS,
    NEGOTIATED_COLUMNS,
    PARAMETER_COLUMNS,
    PART_COLUMNS,
    PHASE_COLUMNS,
    REQUESTER_COLUMNS,
    RESOURCE_COLUMNS,
    STATION_COLUMNS,
    TRACE_COLUMNS,
    attribution_rows,
    flow_row,
    frame,
    latency_rows,
    link_rows,
    parameter_row,
)
from lanewise.errors import InputError
from lanewise.notebook import html
from lanewise.output_format import stamped
from lanewise.rests_on import RestsOn
from lanewise.written import DASH, in_short

if TYPE_CHECKING:
    from collections.abc import Mapping

    import altair as alt
    from nanoarrow import Array

    from lanewise import documents
    from lanewise.kept import KeptScenario

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


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """Something the core said, as it said it."""

    document: Mapping[str, object]
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

    scenario_text: str | None = None
    """The scenario as it was written; None where it was not kept."""

    made: str | None = None
    """When it was simulated, in UTC, like '2026-11-23 10:59'; None where it was not noted."""

    part_files: Mapping[str, str] = field(default_factory=dict)
    """Texts of the files with parts that the scenario or an override names, by these names."""

    def __repr__(self) -> str:
        """Say which run it was and how it ended."""
        ended = f"{self.end_reason}, seed {self.seed}, fingerprint {self.fingerprint}"
        return in_short(self, self.title, ended)

    @property
    def kept(self) -> KeptScenario | None:
        """What it was simulated from, but for `overrides`; None where the text was not kept."""
        from lanewise.kept import KeptScenario

        if self.scenario_text is None:
            return None
        return KeptScenario("<text>", self.scenario_text, self.part_files)

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
    def rests_on(self) -> RestsOn | None:
        """Which values that no specification fixes move it; None where it was not tried."""
        found = self.document.get("rests_on")
        return None if found is None else RestsOn.of(found)

    @property
    def goodput_gb_per_s(self) -> float:
        """Payload of all flows of data, GB/s; what one device reads and another writes counts once."""
        total = self.document.get("goodput_gb_per_s")
        # Results of older versions do not state it.
        return float(self.data_flows["goodput_gb_per_s"].sum() if total is None else total)

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
        return frame(map(flow_row, self.document["flows"]), FLOW_COLUMNS)

    @cached_property
    def latencies(self) -> pl.DataFrame:
        """One row per flow and bucket of latencies: how many took from `from_ns` to below `below_ns`.

        `counted` says of what they are, requests, operations or frames. Empty for results of a version that
        did not tell.
        """
        return frame((row for flow in self.document["flows"] for row in latency_rows(flow)), LATENCY_COLUMNS)

    @cached_property
    def data_flows(self) -> pl.DataFrame:
        """Flows of data: all but commands, status and interrupts, which have the direction `control`."""
        return self.flows.filter(pl.col("direction") != "control")

    @cached_property
    def flows_in_total(self) -> pl.DataFrame:
        """Flows of data whose bytes no other flow counts: `goodput_gb_per_s` is their sum."""
        return self.data_flows.filter(pl.col("in_total").fill_null(value=True))

    @property
    def operations_per_s(self) -> float | None:
        """Operations a second of all flows of data; None where some would count at both ends of their way."""
        counts_elsewhere = ~self.data_flows["in_total"].fill_null(value=True)
        if (counts_elsewhere & (self.data_flows["operations"] > 0)).any():
            return None
        return float(self.data_flows["operations_per_s"].sum())

    @cached_property
    def flows_to_show(self) -> pl.DataFrame:
        """Flows that counted anything; of a load none of whose flows did, one for each of its devices.

        Such a load's `direction` is a dash where it has several at that device: which of them it asks for is
        not told.
        """
        counted = (pl.col("payload_bytes") > 0) | (pl.col("operations") > 0)
        is_of_data = pl.col("direction") != "control"
        is_starved = is_of_data & ~counted.any().over("flow")
        of_device = ("flow", "device", is_of_data)
        has_several = is_starved & (pl.col("direction").n_unique().over(of_device) > 1)
        return (
            self.flows.with_columns(
                number=pl.int_range(pl.len()).over(of_device),
                shown=pl.when(has_several).then(pl.lit(DASH)).otherwise("direction"),
            )
            .filter(counted | (is_starved & (pl.col("number") == 0)))
            .with_columns(direction="shown")
            .drop("number", "shown")
        )

    @cached_property
    def starved_devices(self) -> list[tuple[str, str]]:
        """Devices of flows that several share, whose own link carried nothing while those of others did.

        Each as the flow's name and the device's. Such a flow counts all of its devices together, so that only
        their links tell them apart. Ranks of a collective may have links of their own besides.
        """
        if self.links.is_empty():
            return []
        collectives = {
            each["workload"] for each in self.document.get("instruments", []) if each["kind"] == "collective"
        }
        of_links = self.links.group_by("link").agg(pl.col("goodput_gb_per_s").max())
        carried = dict(of_links.select("link", "goodput_gb_per_s").iter_rows())
        found: list[tuple[str, str]] = []
        moving = self.data_flows.filter((pl.col("payload_bytes") > 0) | (pl.col("operations") > 0))
        for flow, label in moving.select("flow", "device").unique(maintain_order=True).iter_rows():
            shares = {name: carried[name] for name in label.split("+") if name in carried}
            if len(shares) > 1 and any(shares.values()) and flow not in collectives:
                found += [(flow, name) for name, share in shares.items() if not share]
        return found

    @property
    def said_of_starved_devices(self) -> list[str]:
        """Say which devices those are, a sentence for each flow."""
        by_flow: dict[str, list[str]] = {}
        for flow, device in self.starved_devices:
            by_flow.setdefault(flow, []).append(device)
        return [
            f"{together(devices)} carried nothing of {flow} in the measured time, "
            "and others of its devices did."
            for flow, devices in by_flow.items()
        ]

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per link and direction: what it negotiated, and the efficiency ladder."""
        return frame(link_rows(self.document["links"]), LINK_COLUMNS)

    @cached_property
    def time_attribution(self) -> pl.DataFrame:
        """One row per link, direction and category; the fractions of a direction sum to 1."""
        return frame(attribution_rows(self.document["links"]), ATTRIBUTION_COLUMNS)

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
        return frame(rows, PHASE_COLUMNS)

    @cached_property
    def requesters(self) -> pl.DataFrame:
        """One row per requester and state: what held it back, as a share of the measured time."""
        rows = (
            {"device": requester["device"], "state": state, "time_fraction": share}
            for requester in self.document["requesters"]
            for state, share in requester["time_attribution"].items()
        )
        return frame(rows, REQUESTER_COLUMNS)

    @cached_property
    def buffers(self) -> pl.DataFrame:
        """One row per port and flow-control class: bytes held in its ingress buffer."""
        return frame(self.document["buffers"], BUFFER_COLUMNS)

    @cached_property
    def resources(self) -> pl.DataFrame:
        """One row per shared resource that was asked for: its use (0 to 1), how long others waited for it."""
        rows = ({**resource, "resource": resource["name"]} for resource in self.document.get("resources", []))
        return frame(rows, RESOURCE_COLUMNS)

    @cached_property
    def errors(self) -> pl.DataFrame:
        """One row per port and kind of transaction error that it detected, over the whole run."""
        return frame(self.document.get("errors", []), ERROR_COLUMNS)

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
        return frame(rows, INSTRUMENT_COLUMNS)

    @cached_property
    def assumptions(self) -> pl.DataFrame:
        """One row per parameter in force that no specification fixes."""
        return frame(map(parameter_row, self.document["assumptions"]), PARAMETER_COLUMNS)

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
            "latencies": self.latencies,
        }


class WhyResult(RunResult):
    """What one run measured, and what each candidate for its limit would bring ten times larger."""

    def __repr__(self) -> str:
        """Say which run it was and what limits it."""
        return in_short(self, self.title, self.verdict)

    @property
    def verdict(self) -> str:
        """What limits the run, proven, in a sentence without a full stop."""
        return str(self.document["why"]["sentence"])

    @cached_property
    def larger(self) -> pl.DataFrame:
        """One row per candidate, or several alike, what brings most first; gains in percent of goodput."""
        return frame(self.document["why"]["larger"], LARGER_COLUMNS)

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
        return frame(map(parameter_row, self.document["parameters"]), PARAMETER_COLUMNS)

    @cached_property
    def links(self) -> pl.DataFrame:
        """One row per link: what its two ends negotiated."""
        rows = ({**link, "link": link["name"]} for link in self.document["links"])
        return frame(rows, NEGOTIATED_COLUMNS)

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
        return frame(self.document["rows"], TRACE_COLUMNS)

    @cached_property
    def stations(self) -> pl.DataFrame:
        """One row per place where a request was, for as long as that was, in ticks of 2⁻¹⁰ ps.

        Empty unless a transaction was asked for, and found.
        """
        transaction = self.document["transaction"]
        return frame(transaction["stations"] if transaction else [], STATION_COLUMNS)

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
        return frame(rows, PART_COLUMNS)

    def _shown(self) -> list[tuple[str, pl.DataFrame]]:
        return [("Parts", self.parts)]

    @cached_property
    def parameters(self) -> pl.DataFrame:
        """One row per part and parameter, with provenance and source."""
        rows = (
            {**parameter_row(parameter), "part": part["name"]}
            for part in self.document["parts"]
            for parameter in part["parameters"]
        )
        return frame(rows, {"part": pl.String, **PARAMETER_COLUMNS})


@dataclass(frozen=True, eq=False, repr=False)
class BenchResult(Result):
    """How fast the simulator is here."""

    document: documents.Bench

    @cached_property
    def benchmarks(self) -> pl.DataFrame:
        """One row per benchmark."""
        rows = ({**entry, "benchmark": entry["name"]} for entry in self.document["benchmarks"])
        return frame(rows, BENCHMARK_COLUMNS)

    def _shown(self) -> list[tuple[str, pl.DataFrame]]:
        return [("Benchmarks", self.benchmarks)]
