"""Tables as Arrow, with the unit of each column in the metadata of its field.

Polars frames carry no metadata, so they are given a schema that does. What reads Arrow takes it through the C
stream interface (https://arrow.apache.org/docs/format/CStreamInterface.html).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    import nanoarrow as na
    import polars as pl


def schema_of(table: pl.DataFrame, units: Mapping[str, str] | None = None) -> na.Schema:
    """Return the schema of a table; the field of a column whose name states a unit has it as ``unit``.

    `units` are those of columns whose names do not state theirs, '' for one that has none.
    """
    import nanoarrow as na
    from nanoarrow.c_array_stream import c_array_stream

    return _with_units(na.Schema(c_array_stream(table).get_schema()), units or {})


def array_of(table: pl.DataFrame) -> na.Array:
    """Return a table as Arrow, with units."""
    import nanoarrow as na
    import polars as pl
    from nanoarrow.c_array_stream import CArrayStream
    from nanoarrow.c_schema import c_schema

    # By way of IPC, whose texts lie one behind the other: nanoarrow 0.9 crashes on the views that Polars has.
    written = table.write_ipc_stream(None, compat_level=pl.CompatLevel.oldest())
    written.seek(0)
    stream = na.ArrayStream.from_readable(written)
    schema = c_schema(_with_units(stream.schema, {}))
    chunks = [na.c_array(chunk) for chunk in stream]
    return na.Array(CArrayStream.from_c_arrays(chunks, schema, validate=False))


def _with_units(schema: na.Schema, units: Mapping[str, str]) -> na.Schema:
    import nanoarrow as na

    def unit(name: str) -> str | None:
        return units[name] if name in units else unit_of(name)

    return na.struct(
        [
            na.Schema(field, metadata={"unit": found}) if (found := unit(field.name or "")) else field
            for field in schema.fields
        ]
    )
