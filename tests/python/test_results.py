"""Documents become tables: shapes, units, exact sums."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import documents
import polars as pl
import pytest

import lanewise
from lanewise import columns, session
from lanewise.experiment import reproduction
from lanewise.results import ExplainResult, PartsResult, RunResult
from lanewise.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Mapping


def result() -> RunResult:
    return RunResult(documents.run_document())


def test_every_table_has_its_columns_and_rows() -> None:
    tables = result().tables
    assert {name: table.height for name, table in tables.items()} == {
        "flows": 2,
        "links": 6,
        "time_attribution": 27,
        "phases": 0,
        "requesters": 6,
        "buffers": 1,
        "resources": 0,
        "errors": 1,
        "instruments": 1,
        "assumptions": 2,
        "latencies": 6,
    }
    assert tables["flows"]["latency_ns_p99"].to_list() == [14_200_000.0, 14_200_000.0]


def test_a_result_introduces_itself_in_a_line() -> None:
    said = repr(result())
    assert said.startswith("<RunResult: ")
    assert "fingerprint" in said
    assert repr(PartsResult({"parts": [{"name": "x" * 1000}]})) == "<PartsResult: parts>"


def test_empty_documents_give_empty_tables_with_the_same_columns() -> None:
    document = documents.run_document()
    for name in ("flows", "links", "requesters", "buffers", "errors", "instruments", "assumptions"):
        document[name] = []
    empty = RunResult(document).tables
    assert all(table.is_empty() for table in empty.values())
    full = result().tables
    assert {name: table.schema for name, table in empty.items()} == {
        name: table.schema for name, table in full.items()
    }


@pytest.mark.parametrize("scenario", ["switch", "copy"])
def test_latencies_are_all_in_their_buckets(scenario: str) -> None:
    table = result().latencies
    assert table.columns == ["flow", "device", "direction", "counted", "from_ns", "below_ns", "count"]
    assert table.filter(flow="read disks0")["count"].to_list() == [10, 18, 1]
    run = lanewise.run(f"scenarios/{scenario}.toml")
    for flow in run.document["flows"]:
        for counted, kind in (("requests", "latency_ns"), ("operations", "operation_latency_ns")):
            latency, rows = flow[kind], run.latencies.filter(flow=flow["name"], counted=counted)
            assert rows["count"].sum() == latency["count"] > 0
            below = rows.filter(rows["below_ns"] <= latency["p50"])["count"].sum()
            assert (
                below < latency["count"] / 2 <= rows.filter(rows["from_ns"] <= latency["p50"])["count"].sum()
            )
            assert rows["from_ns"][0] <= latency["min"] < rows["below_ns"][0]
            assert rows["from_ns"][-1] <= latency["max"] < rows["below_ns"][-1]
            assert ((rows["below_ns"] - rows["from_ns"] - 1) / rows["from_ns"]).max() <= 0.01


def test_results_of_a_version_without_buckets_have_no_latencies() -> None:
    document = documents.run_document()
    for flow in document["flows"]:
        del flow["latency_ns"]["buckets"]
    assert RunResult(document).latencies.is_empty()


def test_to_json_gives_back_what_the_core_said() -> None:
    assert json.loads(result().to_json()) == {"format": 1, **documents.run_document()}


def test_shares_of_a_direction_sum_to_one() -> None:
    sums = result().time_attribution.group_by("link", "direction").agg(pl.col("time_fraction").sum())
    assert sums["time_fraction"].to_list() == pytest.approx([1.0] * 6)


def test_control_flows_are_no_data() -> None:
    document = documents.run_document()
    document["flows"].append({**document["flows"][0], "direction": "control"})
    assert RunResult(document).data_flows.height == 2


def test_parameters_show_where_they_come_from() -> None:
    parameters = ExplainResult(documents.explain_document()).parameters
    assert parameters["fitted_on"].to_list() == [["IDT-T5 read/without_x8"], []]
    parts = PartsResult(documents.parts_document())
    assert parts.parts["parameters"].to_list() == [1, 0]
    assert parts.parameters["part"].to_list() == ["idt-89hpes24n3a"]


@pytest.mark.parametrize(
    ("column", "unit"),
    [
        ("goodput_gb_per_s", "GB/s"),
        ("goodput_mib_per_s", "MiB/s"),
        ("latency_ns_p99", "ns"),
        ("confidence_half_width_percent", "%"),
        ("payload_bytes", "B"),
        ("bytes_per_idle_port", "B"),
        ("operations_per_s", "1/s"),
        ("time_ticks", "2^-10 ps"),
        ("flow", None),
        ("operations", None),
    ],
)
def test_a_columns_name_states_its_unit(column: str, unit: str | None) -> None:
    assert unit_of(column) == unit


def tables_of_columns() -> dict[str, Mapping[str, object]]:
    """Return every table of columns of the package, by its name."""
    found = {}
    for module in (columns, session, reproduction):
        for name, value in vars(module).items():
            if name.endswith("_COLUMNS"):
                found[f"{module.__name__}.{name}"] = value
    return found


def test_what_is_per_second_is_not_in_seconds() -> None:
    tables = tables_of_columns()
    assert len(tables) > 15
    rates = {column: unit_of(column) for table in tables.values() for column in table if "_per_s" in column}
    assert {"operations_before_per_s", "tlps_per_s", "served_per_s"} <= rates.keys()
    assert {column: unit for column, unit in rates.items() if unit is None or unit == "s"} == {}
    assert {unit_of(f"{what}_per_s") for what in ("operations_after", "dllps", "served", "frames")} == {"1/s"}
    assert unit_of("goodput_before_gb_per_s") == "GB/s"
