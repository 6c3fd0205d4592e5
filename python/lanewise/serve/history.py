"""Runs that are kept: a folder each, as `lanewise run --out` writes it; DuckDB reads their Parquet tables."""

from __future__ import annotations

import json
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from duckdb import DuckDBPyConnection

_NAME = re.compile(r"[0-9]{8}T[0-9]{6}-[0-9a-f]{8}")
_TABLE = re.compile(r"[a-z_]{1,40}")
_AT_ONCE = 64
"""Runs whose flows are read together."""

_FLOWS = """
select parse_path(filename)[-2] as run, * exclude (filename)
from read_parquet($flows, filename = true, union_by_name = true)
order by run desc, flow
limit $most
"""


@dataclass(frozen=True)
class Kept:
    """What is said of a run in a list."""

    id: str
    title: str
    end_reason: str
    fingerprint: str


@dataclass(frozen=True)
class History:
    """The runs in a folder."""

    folder: Path
    _known: dict[str, tuple[int, Kept]] = field(default_factory=dict, repr=False, compare=False)
    """What manifests said, and when they were written."""

    def prepare(self) -> None:
        """Make the folder, and remove what servers that were killed left half-made; else InputError."""
        from lanewise.files import remove_stale_halves

        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"'{self.folder}' cannot keep runs: {error.strerror}") from error
        remove_stale_halves(self.folder)

    def names(self) -> list[str]:
        """Return all runs, newest first."""
        with suppress(OSError):
            return sorted(
                (path.name for path in self.folder.iterdir() if _NAME.fullmatch(path.name)), reverse=True
            )
        return []

    def place(self, name: str) -> Path | None:
        """Return the folder of a run; None where there is none of this name."""
        folder = self.folder / name
        return folder if _NAME.fullmatch(name) and folder.is_dir() else None

    def table(self, name: str, table: str) -> Path | None:
        """Return the Parquet file of a table of a run."""
        folder = self.place(name)
        if folder is None or not _TABLE.fullmatch(table):
            return None
        path = folder / f"{table}.parquet"
        return path if path.is_file() else None

    def kept(self, name: str) -> Kept | None:
        """Return what a list says of a run; None where its folder is gone or damaged."""
        folder = self.place(name)
        if folder is None:
            self._known.pop(name, None)
            return None
        with suppress(OSError, ValueError, KeyError, TypeError):
            path = folder / "manifest.json"
            written = path.stat().st_mtime_ns
            if name not in self._known or self._known[name][0] != written:
                self._known.pop(name, None)
                manifest = json.loads(path.read_text(encoding="utf-8"))
                words = (str(manifest[key]) for key in ("title", "end_reason", "fingerprint"))
                self._known[name] = (written, Kept(name, *words))
            return self._known[name][1]
        return None

    def remove(self, name: str) -> bool:
        """Remove a run; whether there was one."""
        folder = self.place(name)
        if folder is None:
            return False
        from lanewise.files import half_name

        # Out of sight first, in one step, so that no request finds half of a run.
        try:
            away = folder.rename(folder.with_name(half_name(folder.name)))
        except FileNotFoundError:
            return False  # Another request was quicker.
        self._known.pop(name, None)
        shutil.rmtree(away, ignore_errors=True)
        return True

    def flows(self, title: str | None, most: int) -> list[dict[str, object]]:
        """Return the flows of runs whose title contains this, newest first; units are in the names."""
        import duckdb

        found: list[dict[str, object]] = []
        with duckdb.connect() as database:
            runs = self._called(title)
            while len(found) < most and (titles := dict(islice(runs, _AT_ONCE))):
                tables = [
                    str(path) for name in titles if (path := self.folder / name / "flows.parquet").is_file()
                ]
                rows = _whole_flows(database, tables, most - len(found))
                found += [{"run": row["run"], "title": titles[str(row["run"])], **row} for row in rows]
        return found

    def _called(self, title: str | None) -> Iterator[tuple[str, str]]:
        """Give names and titles of runs whose title contains this, newest first."""
        for name in self.names():
            run = self.kept(name)
            if run is not None and (title is None or title.lower() in run.title.lower()):
                yield name, run.title


def _whole_flows(database: DuckDBPyConnection, tables: list[str], most: int) -> list[dict[str, object]]:
    """Return the flows in those of some tables that are not damaged."""
    import duckdb

    if not tables:
        return []
    with suppress(duckdb.Error):
        return _flows(database, tables, most)
    found: list[dict[str, object]] = []
    for table in tables:
        with suppress(duckdb.Error):
            found += _flows(database, [table], most - len(found))
    return found


def _flows(database: DuckDBPyConnection, tables: list[str], most: int) -> list[dict[str, object]]:
    found = database.execute(_FLOWS, {"flows": tables, "most": most})
    columns = [each[0] for each in found.description]
    return [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
