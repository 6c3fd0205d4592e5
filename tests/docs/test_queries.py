"""The queries of a page run over the trace that it makes, and give what it shows.

`LANEWISE_UPDATE=1` writes what they give into the page.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import duckdb
import polars as pl
import pytest

import lanewise

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "how-to" / "query-a-trace.md"
QUERY = re.compile(
    r"^```sql\n(?P<sql>.*?)^```\n(?:\n```text\n(?P<shown>.*?)^```\n)?", re.DOTALL | re.MULTILINE
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("queries")
    lanewise.write_trace(
        ROOT / "scenarios" / "switch.toml",
        folder / "trace.parquet",
        form="parquet",
        start="20 us",
        span="50 us",
    )
    return folder


def test_each_query_gives_what_the_page_shows(folder: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    given = QUERY.sub(
        lambda query: f"```sql\n{query['sql']}```\n\n```text\n{_given(query['sql'], folder)}```\n", page
    )
    assert len(QUERY.findall(page)) == 10
    if os.environ.get("LANEWISE_UPDATE"):
        PAGE.write_text(given, encoding="utf-8")
    assert page == given


def _given(sql: str, folder: Path) -> str:
    found = duckdb.connect().sql(sql.replace("'trace.parquet'", f"'{folder / 'trace.parquet'}'"))
    rows = [found.columns, *([_text(value) for value in row] for row in found.fetchall())]
    assert len(rows) > 1, sql
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    numeric = [str(kind) not in ("VARCHAR",) for kind in found.types]
    lines = (
        "  ".join(
            cell.rjust(width) if number else cell.ljust(width)
            for cell, width, number in zip(row, widths, numeric, strict=True)
        ).rstrip()
        for row in rows
    )
    return "".join(f"{line}\n" for line in lines)


def _text(value: object) -> str:
    return "null" if value is None else str(value)


def test_what_tlps_waited_for_is_what_the_rows_say(folder: Path) -> None:
    rows = lanewise.trace(ROOT / "scenarios" / "switch.toml", start="20 us", span="50 us", kinds=["tlp"]).rows
    waits = rows.explode("waits").unnest("waits")
    file = folder / "trace.parquet"
    part = f"(SELECT unnest(waits) AS part FROM '{file}' WHERE kind = 'tlp')"
    found = dict(
        duckdb.connect().sql(f"SELECT part.cause, sum(part.ticks)::UBIGINT FROM {part} GROUP BY 1").fetchall()
    )
    expected = waits.drop_nulls("cause").group_by("cause").agg(pl.col("ticks").sum())
    assert found == dict(expected.iter_rows())
