"""Traces in files: the listing, and what other people's tools read.

What is in each form is told in ``docs/reference/trace-formats.md``. The core writes row by row while the run
goes on, but for Parquet, which Polars makes of its JSON lines; a file is whole, or as it was before.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, TypeAlias, cast, get_args

from lanewise.errors import InputError
from lanewise.files import NotWrittenError, refuse_folder, whole_file
from lanewise.runs.simulator import Scenario, write_wires

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    import polars as pl

    from lanewise.documents import Progress, TraceEnd

TraceForm: TypeAlias = Literal["text", "jsonl", "perfetto", "pcapng", "parquet"]
"""Forms in which a trace is written."""

FORMS: tuple[TraceForm, ...] = get_args(TraceForm)

DISSECTOR = Path(__file__).parent / "wireshark" / "lanewise.lua"
"""Reads pcapng in Wireshark."""

_FOR_TERMINALS = ("text", "jsonl")

_KINDS: dict[str, tuple[str, ...]] = {
    # It has counters of how many wait.
    "perfetto": ("tlp", "dllp", "skp", "flit", "blocked", "queued", "error"),
    # It has packets only.
    "pcapng": ("tlp", "dllp"),
}
"""Kinds of rows in a form where the caller names none."""


def form_named(name: str, *, is_for_terminal: bool = False) -> TraceForm:
    """Return a form by its name. InputError for one that there is not, or that no terminal shows."""
    if name not in FORMS:
        raise InputError(f"no format of traces is called '{name}'; there are {', '.join(FORMS)}")
    if is_for_terminal and name not in _FOR_TERMINALS:
        raise InputError(f"{name} is not text for a terminal\nhint: name a file with --out FILE")
    return name


@dataclass(frozen=True)
class Wires:
    """What is traced, as in `lanewise.write_trace`."""

    scenario: Scenario
    overrides: Sequence[tuple[str, str]]
    window: tuple[str, str]
    links: Sequence[str]
    kinds: Sequence[str]
    last: int
    view: tuple[str | None, str | None]
    progress: Callable[[Progress], bool | None] | None

    def write_to_file(self, place: str | os.PathLike[str] | BinaryIO, form: str) -> TraceEnd:
        """Write it to a file, whole or not at all, or to an open one."""
        known = form_named(form)
        if not isinstance(place, (str, Path)) and hasattr(place, "write"):
            return self._write(cast("BinaryIO", place), known)
        path = Path(cast("str", place))
        refuse_folder(path)
        with whole_file(path) as file:
            return self._write(file, known)

    def _write(self, file: BinaryIO, form: TraceForm) -> TraceEnd:
        kinds = self._kinds(form)
        if form != "parquet":
            return self._traced(form, file.write, kinds)
        # A row is known at once, a column at the end.
        with tempfile.TemporaryDirectory() as folder:
            lines = Path(folder) / "rows.jsonl"
            try:
                with lines.open("wb") as rows:
                    end = self._traced("jsonl", rows.write, kinds)
            except OSError as error:
                if error.filename is not None:
                    raise
                raise NotWrittenError(
                    f"rows cannot be written to '{Path(folder).parent}', where they lie until the table is "
                    f"made: {error.strerror}; the environment variable TMPDIR names another folder"
                ) from error
            _to_parquet(lines, file)
        return end

    def _kinds(self, form: TraceForm) -> Sequence[str]:
        """Return which kinds it has where the caller names none."""
        is_free = self.view[1] is None and not self.kinds
        return _KINDS.get(form, ()) if is_free else self.kinds

    def _traced(self, form: str, put: Callable[[bytes], object], kinds: Sequence[str]) -> TraceEnd:
        return write_wires(
            self.scenario,
            self.overrides,
            self.window,
            self.links,
            kinds,
            form,
            put,
            self.progress,
            last=self.last,
            view=self.view,
        )


def _to_parquet(lines: Path, file: BinaryIO) -> None:
    """Write rows as a table, part by part, with the unit of each column in the metadata of its field."""
    import polars as pl
    from polars.io.plugins import register_io_source

    from lanewise.arrow import schema_of
    from lanewise.columns import TRACE_COLUMNS

    schema = pl.Schema(TRACE_COLUMNS)

    def parts(columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        with lines.open("rb") as rows:
            while part := rows.readlines(_PART_BYTES):
                table = _table(part)
                yield table if columns is None else table.select(columns)

    source = register_io_source(parts, schema=schema)
    source.sink_parquet(file, arrow_schema=schema_of(schema.to_frame()))


def _table(lines: list[bytes]) -> pl.DataFrame:
    """Read rows of a trace from JSON."""
    import polars as pl

    from lanewise.columns import TRACE_COLUMNS

    # Polars reads no smaller integers from JSON. Ticks stay far below 2**63.
    small = (pl.UInt8, pl.UInt16, pl.UInt32, pl.UInt64)
    waits = pl.List(pl.Struct({"cause": pl.String, "ticks": pl.Int64}))
    read = {
        name: waits if name == "waits" else pl.Int64 if kind in small else kind
        for name, kind in TRACE_COLUMNS.items()
    }
    return pl.read_ndjson(b"".join(lines), schema=read).cast(pl.Schema(TRACE_COLUMNS))


_PART_BYTES = 16 << 20
"""JSON lines that are made into a part of a table at a time."""
