"""SQL over the table of a study."""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from lanewise.errors import InputError
from lanewise.extras import need

if TYPE_CHECKING:
    import polars as pl

    from lanewise.study.study import StudyResult


class QueryError(InputError):
    """A query is refused, or its answer is no table."""


def ask(result: StudyResult, sql: str) -> pl.DataFrame:
    """Return what a query over the table ``points`` gives. QueryError says why there is no answer.

    DuckDB's decimal numbers become whole numbers or floating-point ones, and a map a list of its entries.
    """
    need("serve", "study query")
    import duckdb
    import polars as pl

    with tempfile.TemporaryDirectory(prefix="lanewise-") as folder, duckdb.connect() as database:
        file = Path(folder, "points.parquet")
        result.table.write_parquet(file)
        try:
            database.execute("CREATE TABLE points AS SELECT * FROM read_parquet(?)", [str(file)])
            # The last statement is the one that answers.
            if not duckdb.extract_statements(sql):
                raise QueryError("the query is empty: write one like 'select * from points'")
            answer = database.execute(sql)
            described = answer.description or []
            _refuse_names([column[0] for column in described])
            zoned = [column[0] for column in described if "WITH TIME ZONE" in str(column[1])]
            if zoned:
                raise QueryError(
                    f"column '{zoned[0]}' has a time zone: cast it, as in '{zoned[0]}::timestamp'"
                )
            rows = [[_value(value) for value in row] for row in answer.fetchall()]
        except duckdb.Error as error:
            raise QueryError(f"the query is refused: {error}") from error
    try:
        return pl.DataFrame(
            rows, schema=[column[0] for column in described], orient="row", infer_schema_length=None
        )
    except (pl.exceptions.PolarsError, TypeError, ValueError, OverflowError) as error:
        raise QueryError(f"the answer is no table, cast its columns to others: {error}") from error


def for_json(value: object) -> object:
    """Return a value of an answer as JSON has it.

    Dates and times are texts as ISO 8601 has them, spans of time seconds, bytes hexadecimal digits; what is
    no number, or infinite, is null.
    """
    made: object = value
    match value:
        case float():
            made = value if math.isfinite(value) else None
        case date() | time():
            made = value.isoformat()
        case timedelta():
            made = value.total_seconds()
        case bytes():
            made = value.hex()
        case Mapping():
            made = {str(key): for_json(each) for key, each in value.items()}
        case list() | tuple():
            made = [for_json(each) for each in value]
        case Decimal():
            made = _value(value)
    return made


def _value(value: object) -> object:
    match value:
        case Decimal():
            # The exponent is the column's: so all of its values become numbers of one kind.
            return int(value) if value.as_tuple().exponent == 0 else float(value)
        case UUID():
            return str(value)
        case Mapping() if not all(isinstance(key, str) for key in value):
            return [{"key": _value(key), "value": _value(each)} for key, each in value.items()]
        case Mapping():
            return {key: _value(each) for key, each in value.items()}
        case list() | tuple():
            return [_value(each) for each in value]
    return value


def _refuse_names(names: list[str]) -> None:
    name, count = max(Counter(names).items(), key=lambda each: each[1], default=("", 0))
    if count > 1:
        raise QueryError(
            f"{count} columns of the answer are called '{name}': name them, as in '{name} as other'"
        )
