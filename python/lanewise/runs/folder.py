"""A run on disk: a folder that is either complete or not there.

    manifest.json      what was run and when: resolved scenario, overrides, seed, versions, end reason, tables
    scenario.toml      the scenario as it was written
    my_part.toml ...   files with parts that the scenario or an override names, under these names
    results.json       the core's results, as `lanewise run --json` prints them
    flows.parquet ...  one file per table; the unit of a column is in its field metadata

A file with a part that lies elsewhere than beside the scenario or below it gets another name, which scenario
and overrides have then. So the folder can be moved, and run again, whatever becomes of the files.

The folder is written beside its destination and renamed into place, so that a killed run leaves nothing
half-made.
"""

from __future__ import annotations

import io
import json
import os
import shutil
from typing import TYPE_CHECKING, cast

from lanewise.errors import InputError
from lanewise.files import half_name, remove_stale_halves
from lanewise.kept import as_files, part_files
from lanewise.results import RunResult, WhyResult
from lanewise.units import unit_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from lanewise import documents


FORMAT = 1
"""Version of the folder's layout, in its manifest."""

SCENARIO = "scenario.toml"
"""Name of the file with the scenario."""


class RunFolderError(InputError):
    """A run folder cannot be written or read."""


def check_free(folder: Path) -> None:
    """Raise RunFolderError unless a run can be written to this folder; asked before simulating, too."""
    if folder.exists():
        raise RunFolderError(f"'{folder}' exists already: name another folder, or remove it first")
    above = next(parent for parent in folder.absolute().parents if parent.exists())
    if not above.is_dir():
        raise RunFolderError(f"'{folder}' cannot be written: '{above}' is not a folder")
    if not os.access(above, os.W_OK | os.X_OK):
        raise RunFolderError(f"'{folder}' cannot be written: you may not write to '{above}'")


def save_run(
    result: RunResult,
    folder: Path,
    *,
    resolved: Mapping[str, object],
    overrides: Sequence[tuple[str, str]] = (),
) -> None:
    """Write a run with its resolved scenario to a folder that does not exist yet."""
    check_free(folder)
    try:
        _save(result, folder, resolved, overrides)
    except OSError as error:
        raise RunFolderError(f"'{folder}' cannot be written: {error.strerror or error}") from error


def _save(
    result: RunResult, folder: Path, resolved: Mapping[str, object], overrides: Sequence[tuple[str, str]]
) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    remove_stale_halves(folder.parent, folder.name)
    beside = folder.with_name(half_name(folder.name))
    beside.mkdir()
    try:
        for name, table in result.tables.items():
            _write_table(table, beside / f"{name}.parquet")
        (beside / "results.json").write_text(result.to_json() + "\n", encoding="utf-8")
        if result.kept is not None:
            kept, overrides = as_files(result.kept, overrides, [SCENARIO])
            for name, text in {**kept.part_files, SCENARIO: kept.text}.items():
                (beside / name).parent.mkdir(parents=True, exist_ok=True)
                (beside / name).write_text(text, encoding="utf-8")
        manifest = _manifest(result, resolved, overrides)
        (beside / "manifest.json").write_text(json.dumps(manifest, indent=2) + "\n", encoding="utf-8")
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise


def load_run(folder: Path) -> RunResult:
    """Read a run back from its folder."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        document = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise RunFolderError(
            f"'{folder}' is not a run folder: '{error.filename or folder}': {error.strerror}"
        ) from error
    except ValueError as error:
        # Neither text nor JSON.
        raise RunFolderError(f"'{folder}' is not a run folder, or a damaged one: {error}") from error
    if not isinstance(manifest, dict) or not isinstance(document, dict):
        raise RunFolderError(
            f"'{folder}' is not a run folder: its manifest or its results are not JSON objects"
        )
    if manifest.get("format") != FORMAT:
        raise RunFolderError(
            f"'{folder}' has layout {manifest.get('format')!r}, and this version reads layout {FORMAT}"
        )
    # Whether it has the shape of results, is looked at next.
    made, overrides, text = manifest.get("made"), _overrides(manifest), _scenario_text(folder)
    result = _kind_of(document)(
        cast("documents.Run", document),
        overrides,
        text,
        made if isinstance(made, str) else None,
        {} if text is None else part_files(str(folder / SCENARIO), text, overrides),
    )
    _check_tables(result, folder)
    return result


def load_resolved(folder: Path) -> documents.Explain | None:
    """Return the scenario of a run folder as `explain` gave it; None where it is not there whole."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        resolved = manifest["resolved_scenario"]
        is_whole = {"title", "parameters", "links", "functions"} <= resolved.keys()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return cast("documents.Explain", resolved) if is_whole else None


def run_of(document: Mapping[str, object], file: Path) -> RunResult:
    """Return the run that a file has as JSON; RunFolderError for one that is damaged."""
    result = _kind_of(document)(cast("documents.Run", document))
    _check_tables(result, file)
    return result


def _kind_of(document: Mapping[str, object]) -> type[RunResult]:
    return WhyResult if "why" in document else RunResult


def _scenario_text(folder: Path) -> str | None:
    """Return the scenario as it was written; None where there is none, as in folders of older versions."""
    try:
        return (folder / SCENARIO).read_text(encoding="utf-8")
    except (OSError, ValueError):
        return None


def _overrides(manifest: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """Return what was overridden; nothing where a manifest does not say it as one does."""
    try:
        overrides = cast("list[dict[str, object]]", manifest.get("overrides", []))
        return tuple((str(each["path"]), str(each["value"])) for each in overrides)
    except (KeyError, TypeError):
        return ()


def _check_tables(result: RunResult, folder: Path) -> None:
    """Raise RunFolderError for results that lack what results have, or have it in another shape."""
    import polars as pl

    try:
        result.tables  # noqa: B018  every table is made when it is asked for
        result.title, result.seed, result.end_reason, result.end_detail, result.fingerprint  # noqa: B018
    except (KeyError, TypeError, ValueError, AttributeError, pl.exceptions.PolarsError) as error:
        kind = "run folder" if folder.is_dir() else "run"
        raise RunFolderError(
            f"'{folder}' is a damaged {kind}: its results lack or have a wrong {error}"
        ) from error


def _manifest(
    result: RunResult, resolved: Mapping[str, object], overrides: Sequence[tuple[str, str]]
) -> dict[str, object]:
    document = result.document
    return {
        "format": FORMAT,
        "title": result.title,
        "lanewise_version": document["lanewise_version"],
        "scenario_path": document["scenario_path"],
        "made": result.made,
        "overrides": [{"path": path, "value": value} for path, value in overrides],
        "seed": result.seed,
        "end_reason": result.end_reason,
        "fingerprint": result.fingerprint,
        "tables": {
            name: {
                "file": f"{name}.parquet",
                "rows": table.height,
                "columns": {column: unit_of(column) for column in table.columns},
            }
            for name, table in result.tables.items()
        },
        "resolved_scenario": resolved,
    }


def _write_table(table: pl.DataFrame, path: Path) -> None:
    """Write Parquet whose fields carry their unit, readable by anything that reads Arrow metadata."""
    from lanewise.arrow import schema_of

    # Whole in memory first: a disk that is full is then told as such, and not as a mistake of the format.
    buffer = io.BytesIO()
    table.write_parquet(buffer, arrow_schema=schema_of(table))
    path.write_bytes(buffer.getvalue())
