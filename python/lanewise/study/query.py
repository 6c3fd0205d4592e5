"""SQL over the table of a study."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.extras import need

if TYPE_CHECKING:
    import polars as pl

    from lanewise.study.study import StudyResult


class QueryError(InputError):
    """DuckDB refuses a query."""


def ask(result: StudyResult, sql: str) -> pl.DataFrame:
    """Return what a query over the table ``points`` gives. QueryError says why DuckDB refuses one."""
    need("serve", "study query")
    import duckdb
    import polars as pl

    with tempfile.TemporaryDirectory(prefix="lanewise-") as folder, duckdb.connect() as database:
        file = Path(folder, "points.parquet")
        result.table.write_parquet(file)
        try:
            database.execute("CREATE TABLE points AS SELECT * FROM read_parquet(?)", [str(file)])
            answer = database.execute(sql)
            rows = answer.fetchall()
            names = [column[0] for column in answer.description or []]
        except duckdb.Error as error:
            raise QueryError(f"the query is refused: {error}") from error
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)
