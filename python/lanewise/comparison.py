"""Two runs side by side: their flows, the ratio, and where the time of each link direction went instead.

Flows and links are matched by name. What only one of the two has (the links of a switch, say) is listed as
such and compared with nothing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import polars as pl

from lanewise.notebook import html
from lanewise.output_format import stamped
from lanewise.written import DASH, in_short

if TYPE_CHECKING:
    from collections.abc import Mapping

    import altair as alt

    from lanewise.results import RunResult
    from lanewise.side_by_side.explained import Explanation

_CHANGE_FLOOR_POINTS = 0.05
"""Changes of a category's share below this many percentage points are noise of the window, and left out."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Two runs, `a` and `b`, side by side. Ratios are b over a."""

    names: tuple[str, str]
    """What each is called."""
    end_reasons: tuple[str, str]
    """Why each run ended, like "Converged"."""
    limits: tuple[str | None, str | None]
    """What limits each, as `run` says it; None where nothing was found to."""
    totals: pl.DataFrame
    """Sums over all flows of data: quantity, a, b, ratio."""
    flows: pl.DataFrame
    """One row per flow, device and direction: goodput of a and b in MiB/s, ratio, mean latencies in ns."""
    ladders: pl.DataFrame
    """One row per link and direction in both: goodput of a and b in GB/s, ratio, utilisation of both."""
    changes: pl.DataFrame
    """Categories that moved, by link and direction, biggest first: shares of a and b, and the change."""
    only_in_a: tuple[str, ...]
    """Links that only a has."""
    only_in_b: tuple[str, ...]
    """Links that only b has."""
    runs: tuple[RunResult, RunResult]
    """The two themselves."""
    explanation: Explanation | None = None
    """What explains the difference; None where it was not looked for."""

    @cached_property
    def flows_to_show(self) -> pl.DataFrame:
        """Rows of `flows` that moved bytes in either run, and one for each device of a load that did nothing.

        Such a load's `direction` is a dash where it has several at that device.
        """
        nothing = {
            (row["flow"], row["device"])
            for run in self.runs
            for row in run.flows_to_show.iter_rows(named=True)
            if not row["payload_bytes"] and not row["operations"]
        }
        of_load: dict[tuple[str, str], list[dict[str, object]]] = {}
        for row in self.flows.iter_rows(named=True):
            if row["direction"] != "control":
                of_load.setdefault((row["flow"], row["device"]), []).append(row)
        shown = []
        for row in self.flows.iter_rows(named=True):
            alike = of_load.get((row["flow"], row["device"]), [])
            if _moved(row):
                shown.append(row)
            elif (
                alike
                and row == alike[0]
                and nothing & {(row["flow"], row["device"])}
                and not any(map(_moved, alike))
            ):
                several = len({each["direction"] for each in alike}) > 1
                shown.append({**row, "direction": DASH if several else row["direction"]})
        return pl.DataFrame(shown, schema=self.flows.schema)

    @cached_property
    def operations_without_bytes(self) -> pl.DataFrame:
        """Flows that count operations and no bytes, like frames of a game: operations a second of a and b."""
        pairs = flow_pairs(*self.runs)
        counted = [pl.col(f"operations{side}").fill_null(0) for side in ("", "_right")]
        moved = [pl.col(f"payload_bytes{side}").fill_null(0) for side in ("", "_right")]
        return (
            pairs.filter((pl.sum_horizontal(counted) > 0) & (pl.sum_horizontal(moved) == 0))
            .rename({"operations_per_s": "a", "operations_per_s_right": "b"})
            .with_columns(_ratio())
            .select(
                "flow",
                "direction",
                pl.coalesce("counted", "counted_right").alias("counted"),
                pl.col("a").alias("a_per_s"),
                pl.col("b").alias("b_per_s"),
                "ratio",
            )
        )

    @property
    def goodput_ratio(self) -> float | None:
        """Total goodput of b over that of a; None when a moved nothing."""
        ratio: float | None = self.totals.row(0, named=True)["ratio"]
        return ratio

    def beyond(self, percent: float) -> str | None:
        """Say how the totals of the two differ by more than so much; None where they do not.

        Of runs in which no bytes move, operations a second are compared.
        """
        sums = {row["quantity"]: (row["a"], row["b"]) for row in self.totals.iter_rows(named=True)}
        called, (a, b) = "total goodput differs", sums["goodput_gb_per_s"]
        if a == b == 0:
            # What counts at both ends does so in both runs.
            a, b = (float(run.data_flows["operations_per_s"].sum()) for run in self.runs)
            called = "operations a second differ"
        if a == b:
            return None
        if a == 0:
            return "A moved nothing, and B did"
        return None if abs(100 * (b / a - 1)) <= percent else f"{called} by more than {percent:g} %"

    def plot(self) -> alt.TopLevelMixin:
        """Draw the goodput of each flow in both, in MiB/s, as an Altair chart.

        Raises `lanewise.InputError` when the extra ``report`` is not installed.
        """
        from lanewise.plotting import comparison_chart

        return comparison_chart(self.names, self.flows)

    def __repr__(self) -> str:
        """Say what is compared, and the ratio of all data."""
        ratio = "" if self.goodput_ratio is None else f"goodput of B over A {self.goodput_ratio:.3f}"
        return in_short(self, *map("{} {}".format, "AB", self.names), ratio)

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the names, sums and flows."""
        said = [f"{side}: {name}" for side, name in zip("ab", self.names, strict=True)]
        if self.explanation is not None:
            said.append(f"{self.explanation.sentence}.")
        shown = [("Sums", self.totals), ("Flows", self.flows), ("Where the time went instead", self.changes)]
        return html("Comparison", said, shown)

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return the comparison as JSON text."""
        document: dict[str, object] = {
            **{
                side: {"name": name, "end_reason": end_reason, "limited_by": limit}
                for side, name, end_reason, limit in zip(
                    "ab", self.names, self.end_reasons, self.limits, strict=True
                )
            },
            "totals": self.totals.to_dicts(),
            "flows": self.flows.to_dicts(),
            "links": self.ladders.to_dicts(),
            "time_attribution_changes": self.changes.to_dicts(),
            "links_only_in_a": list(self.only_in_a),
            "links_only_in_b": list(self.only_in_b),
            "explained": None if self.explanation is None else self.explanation.document(),
        }
        return json.dumps(stamped(document), indent=indent, ensure_ascii=False)


def compare_runs(a: RunResult, b: RunResult, *, names: tuple[str, str]) -> Comparison:
    """Set two runs side by side."""
    links_a, links_b = _names(a.links, "link"), _names(b.links, "link")
    return Comparison(
        names=names,
        end_reasons=(a.end_reason, b.end_reason),
        limits=(a.limited_by, b.limited_by),
        totals=_totals(a, b),
        flows=_flows(a, b),
        ladders=_ladders(a, b),
        changes=_changes(a, b),
        only_in_a=tuple(link for link in links_a if link not in links_b),
        only_in_b=tuple(link for link in links_b if link not in links_a),
        runs=(a, b),
    )


def names_of(called: tuple[str, str], sides: tuple[RunResult, RunResult]) -> tuple[str, str]:
    """Return how two sides are called; with the overrides in which they differ, where that would be alike."""
    if called[0] != called[1]:
        return called
    a, b = (dict(side.overrides) for side in sides)
    files = [str(side.document.get("scenario_path", "")) for side in sides]
    own = [f" ({file})" if files[0] != files[1] else "" for file in files]
    said = [
        ", ".join(f"{path}={value}" for path, value in mine.items() if other.get(path) != value)
        for mine, other in ((a, b), (b, a))
    ]
    names = [
        f"{name}{file}{' with ' if overrides else ''}{overrides}"
        for name, file, overrides in zip(called, own, said, strict=True)
    ]
    return names[0], names[1]


def _names(table: pl.DataFrame, column: str) -> list[str]:
    return table.get_column(column).unique(maintain_order=True).to_list()


def _ratio() -> pl.Expr:
    return pl.when(pl.col("a") > 0).then(pl.col("b") / pl.col("a")).alias("ratio")


def _moved(row: Mapping[str, object]) -> bool:
    return bool(row["a_mib_per_s"] or row["b_mib_per_s"])


def _totals(a: RunResult, b: RunResult) -> pl.DataFrame:
    def sums(run: RunResult) -> dict[str, float | None]:
        return {
            "goodput_mib_per_s": float(run.flows_in_total["goodput_mib_per_s"].sum()),
            "goodput_gb_per_s": run.goodput_gb_per_s,
            "operations_per_s": run.operations_per_s,
        }

    sums_a, sums_b = sums(a), sums(b)
    rows = [{"quantity": quantity, "a": of_a, "b": sums_b[quantity]} for quantity, of_a in sums_a.items()]
    return pl.DataFrame(rows).with_columns(_ratio())


def flow_pairs(a: RunResult, b: RunResult) -> pl.DataFrame:
    """Return flows of two runs in pairs: columns of `flows` as a has them, and as b has them with `_right`.

    Flows of a collective or of an instrument of several devices have its name, and are one for each device;
    several of one device are taken in their order. A flow of one of the two has null in the columns of the
    other, and its `device` is null where it is not b's.
    """
    keys = ["flow", "direction"]
    is_twice = not all(run.flows.select(keys).is_unique().all() for run in (a, b))
    matched = [*keys, "device"] if is_twice else keys
    tables = (
        run.flows.with_columns(pl.int_range(pl.len()).over(matched).alias("number"))
        if not run.flows.is_empty()
        else run.flows.with_columns(pl.lit(0, pl.Int64).alias("number"))
        for run in (a, b)
    )
    left, right = tables
    return left.join(right, on=[*matched, "number"], how="full", coalesce=True, maintain_order="left_right")


def _flows(a: RunResult, b: RunResult) -> pl.DataFrame:
    joined = flow_pairs(a, b)
    device = pl.coalesce("device", "device_right") if "device_right" in joined.columns else pl.col("device")
    return (
        joined.rename({"goodput_mib_per_s": "a", "goodput_mib_per_s_right": "b"})
        .with_columns(_ratio())
        .select(
            "flow",
            device.alias("device"),
            "direction",
            pl.col("a").alias("a_mib_per_s"),
            pl.col("b").alias("b_mib_per_s"),
            "ratio",
            pl.col("latency_ns_mean").alias("a_latency_ns_mean"),
            pl.col("latency_ns_mean_right").alias("b_latency_ns_mean"),
        )
    )


def _ladders(a: RunResult, b: RunResult) -> pl.DataFrame:
    keys = ["link", "direction"]
    columns = [*keys, "goodput_gb_per_s", "utilisation"]
    joined = (
        a.links.select(columns)
        .join(b.links.select(columns), on=keys, how="inner", maintain_order="left")
        .rename({"goodput_gb_per_s": "a", "goodput_gb_per_s_right": "b"})
        .with_columns(_ratio())
    )
    return joined.select(
        *keys,
        pl.col("a").alias("a_gb_per_s"),
        pl.col("b").alias("b_gb_per_s"),
        "ratio",
        pl.col("utilisation").alias("a_utilisation"),
        pl.col("utilisation_right").alias("b_utilisation"),
    )


def _changes(a: RunResult, b: RunResult) -> pl.DataFrame:
    keys = ["link", "direction", "category"]
    in_both = set(_names(a.links, "link")) & set(_names(b.links, "link"))
    shares = [
        result.time_attribution.filter(pl.col("link").is_in(sorted(in_both))).select(
            *keys, (100 * pl.col("time_fraction")).alias("percent")
        )
        for result in (a, b)
    ]
    joined = shares[0].join(shares[1], on=keys, how="full", coalesce=True, maintain_order="left_right")
    return (
        joined.select(
            *keys,
            pl.col("percent").fill_null(0.0).alias("a_percent"),
            pl.col("percent_right").fill_null(0.0).alias("b_percent"),
        )
        .with_columns((pl.col("b_percent") - pl.col("a_percent")).alias("change_points"))
        .filter(pl.col("change_points").abs() >= _CHANGE_FLOOR_POINTS)
        .sort(
            pl.col("change_points").abs().max().over("link", "direction"),
            "link",
            "direction",
            pl.col("change_points").abs(),
            descending=[True, False, False, True],
            maintain_order=True,
        )
    )
