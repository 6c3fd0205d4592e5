"""Tables leave as Arrow with their units, and what reads Arrow takes them."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import lanewise
from lanewise.units import unit_of

RIG = Path(__file__).parents[2] / "scenarios" / "switch.toml"


@pytest.fixture(scope="module")
def run() -> lanewise.RunResult:
    return lanewise.run(RIG, overrides={"run.time_limit": "40 us"})


def test_every_table_is_the_same_as_arrow(run: lanewise.RunResult) -> None:
    for name, table in run.tables.items():
        arrow = run.to_arrow(name)
        for _ in range(2):
            assert pl.DataFrame(arrow).equals(table), name


def test_units_are_in_the_metadata_of_fields(run: lanewise.RunResult) -> None:
    pa = pytest.importorskip("pyarrow")
    for name, table in run.tables.items():
        schema = pa.table(run.to_arrow(name)).schema
        for column in table.columns:
            unit = unit_of(column)
            metadata = schema.field(column).metadata or {}
            assert metadata.get(b"unit") == (unit.encode() if unit else None), (name, column)
    flows = pa.table(run.to_arrow()).schema
    assert flows.field("goodput_gb_per_s").metadata == {b"unit": b"GB/s"}
    assert flows.field("latency_ns_p99").metadata == {b"unit": b"ns"}


def test_duckdb_queries_it(run: lanewise.RunResult) -> None:
    duckdb = pytest.importorskip("duckdb")
    flows = run.to_arrow("flows")
    total = duckdb.sql("select sum(goodput_gb_per_s) from flows").fetchall()[0][0]
    assert flows is not None
    assert total == pytest.approx(run.flows["goodput_gb_per_s"].sum())


def test_another_name_is_refused(run: lanewise.RunResult) -> None:
    with pytest.raises(lanewise.InputError, match="no table 'flow'; there are flows, links"):
        run.to_arrow("flow")
