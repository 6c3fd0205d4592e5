"""A trace as a table: its rows, their types, and units, as other people's readers see them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest

import lanewise
from lanewise.files import NotWrittenError

SCENARIOS = Path(__file__).parents[3] / "scenarios"


@pytest.mark.parametrize("scenario", ["switch", "replay", "flit"])
def test_the_table_is_the_rows(scenario: str, tmp_path: Path) -> None:
    out, file = tmp_path / "trace.parquet", SCENARIOS / f"{scenario}.toml"
    end = lanewise.write_trace(file, out, form="parquet", span="20 us")
    rows = lanewise.trace(file, span="20 us").rows
    assert pl.read_parquet(out).equals(rows)
    assert end["rows"] == rows.height > 100
    assert [entry.name for entry in tmp_path.iterdir()] == ["trace.parquet"]


def test_units_are_in_the_fields_and_waits_are_structs_for_others(tmp_path: Path) -> None:
    out = tmp_path / "trace.parquet"
    lanewise.write_trace(SCENARIOS / "switch.toml", out, form="parquet", span="20 us")
    units = {field.name: (field.metadata or {}).get(b"unit") for field in pq.read_schema(out)}
    assert units["at_ns"] == b"ns"
    assert {units[name] for name in units if name.endswith("_ticks")} == {b"2^-10 ps"}
    assert units["length_bytes"] == b"B"
    assert units["tag"] is None
    types = dict(
        duckdb.connect().sql(f"DESCRIBE SELECT * FROM '{out}'").project("column_name, column_type").fetchall()
    )
    assert types["waits"] == "STRUCT(cause VARCHAR, ticks UBIGINT)[]"
    assert types["at_ticks"] == "UBIGINT"


def test_a_trace_without_rows_is_a_table_without_rows(tmp_path: Path) -> None:
    out = tmp_path / "trace.parquet"
    lanewise.write_trace(SCENARIOS / "switch.toml", out, form="parquet", span="0 ns")
    assert pl.read_parquet(out).equals(lanewise.trace(SCENARIOS / "switch.toml", span="0 ns").rows)


def test_what_cannot_be_written_leaves_what_was_there(tmp_path: Path) -> None:
    out = tmp_path / "trace.parquet"
    out.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        lanewise.write_trace(
            SCENARIOS / "switch.toml", out, form="parquet", span="20 ms", progress=lambda _: False
        )
    assert out.read_text() == "old"
    with pytest.raises(NotWrittenError, match="it is a folder"):
        lanewise.write_trace(SCENARIOS / "switch.toml", tmp_path, form="parquet")
