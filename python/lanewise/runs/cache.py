"""Finished runs on disk, so that an interrupted `reproduce` goes on where it was.

An entry is named by a hash of everything that determines a result: the text of the scenario and of the files
with parts that it names, the overrides in their order, and the compiled core with the catalog in it. Whatever
changes, the name changes, so that a stale entry is never found. Entries are whole or not there, carry the
digest of their name and content, belong to the user, and have to be the results of a run: a damaged one, or
one of another user's making, is passed over and made again. Runs that were interrupted are not kept. A folder
that cannot be written means that runs are done again, and is no reason to fail.

What was not used for `UNUSED_DAYS` is removed, and of the core in use what was used longest ago while its
entries have more than `MOST_BYTES` together.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import stat
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise import _core
from lanewise.files import HALF, NotWrittenError, write_whole
from lanewise.kept import part_files
from lanewise.results import RunResult
from lanewise.runs.simulator import text_of_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lanewise.experiment.runner import Job

FORMAT = 3
"""Version of an entry's layout, which is part of its name."""

_ENDING = ".json.gz"
_MOST_UNPACKED = 256 << 20
"""Bytes of an entry; what is larger was not written here."""
_PARTS = {"title": str, "end_reason": str, "flows": list, "links": list}
"""What results always have."""

UNUSED_DAYS = 14
"""How long entries are kept that nobody asks for."""

MOST_BYTES = 1 << 30
"""Of the entries of the core in use; a run of an experiment has some dozens of KiB."""


@dataclass(frozen=True)
class RunCache:
    """Finished runs in one folder, all of the core in use."""

    folder: Path

    @classmethod
    def default(cls) -> RunCache:
        """Return the cache of this user: LANEWISE_CACHE, or where the system keeps caches."""
        from platformdirs import user_cache_path

        root = Path(os.environ["LANEWISE_CACHE"]) if "LANEWISE_CACHE" in os.environ else None
        runs = (root or user_cache_path("lanewise")) / "runs"
        with suppress(OSError):
            _remove_unused(runs)
        return cls(runs / core_hash()[:16])

    def find(self, job: Job) -> RunResult | None:
        """Return the finished run of a job, or None when there is none that is whole."""
        text = job.scenario if isinstance(job.scenario, str) else text_of_file(job.scenario)
        if text is None:
            return None
        parts = part_files(str(job.scenario), text, job.overrides)
        try:
            key = key_of(job, text, parts)
            path = self._path(key)
            digest, _, content = _unpacked(path).partition(b"\n")
            if digest.decode("ascii") != _digest(key, content):
                return None
            entry = json.loads(content)
            document, made = entry["results"], entry["made"]
            if not is_result(document) or not isinstance(made, str | None):
                return None
        except (OSError, EOFError, zlib.error, ValueError, TypeError, KeyError, RecursionError):
            return None
        with suppress(OSError):
            os.utime(path)
        return RunResult(document, job.overrides, text, made, parts)

    def keep(self, job: Job, result: RunResult) -> None:
        """Store a finished run, if it can be, under the texts that were simulated."""
        if result.end_reason == "Interrupted" or result.scenario_text is None:
            return
        key = key_of(job, result.scenario_text, result.part_files)
        path = self._path(key)
        if path.exists() and not path.is_file():
            return  # It would be written to where it lies, and a pipe waits for a reader.
        content = json.dumps({"made": result.made, "results": result.document}, ensure_ascii=False).encode()
        entry = _digest(key, content).encode() + b"\n" + content
        with suppress(NotWrittenError):
            write_whole(path, gzip.compress(entry, compresslevel=3))

    def clear(self) -> None:
        """Forget the runs of the core in use."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, key: str) -> Path:
        return self.folder / f"{key}{_ENDING}"


def _unpacked(path: Path) -> bytes:
    """Return what an entry holds; OSError for what is no file of an entry's size."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        if not _is_ours(os.fstat(descriptor)):
            raise OSError(f"'{path}' is no file of ours")
        with gzip.GzipFile(fileobj=file) as packed:
            content = packed.read(_MOST_UNPACKED + 1)
    if len(content) > _MOST_UNPACKED:
        raise OSError(f"'{path}' unpacks to more than {_MOST_UNPACKED >> 20} MiB")
    return content


def _digest(key: str, content: bytes) -> str:
    """Return the digest of an entry under its name."""
    return hashlib.sha256(key.encode() + b"\n" + content).hexdigest()


def _is_ours(status: os.stat_result) -> bool:
    """Whether this is a file that only its user can have written."""
    own = not hasattr(os, "getuid") or status.st_uid == os.getuid()
    return stat.S_ISREG(status.st_mode) and own and not status.st_mode & stat.S_IWOTH


def is_result(document: object) -> bool:
    """Whether a document has what every result of a run has."""
    return isinstance(document, dict) and all(
        isinstance(document.get(name), kind) for name, kind in _PARTS.items()
    )


def key_of(job: Job, text: str, own_parts: Mapping[str, str] | None = None) -> str:
    """Return the hash of everything that determines the result of a job.

    Its scenario says `text`, and `own_parts` are the texts of the files that it names as parts.
    """
    parts = {
        "format": FORMAT,
        "core": core_hash(),
        "scenario": text,
        # The path is in the result, which says what was run.
        "path": str(job.scenario),
        "overrides": [list(pair) for pair in job.overrides],
    }
    if own_parts:
        parts["own_parts"] = dict(own_parts)
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@cache
def core_hash() -> str:
    """Return the hash of the compiled core: its code, its version and the catalog built into it."""
    binary = Path(str(_core.__file__))
    return hashlib.sha256(binary.read_bytes()).hexdigest()


def _remove_unused(runs: Path) -> None:
    """Remove what is old, and of the present core what is too much; mark that core as used."""
    own = runs / core_hash()[:16]
    own.mkdir(parents=True, exist_ok=True)
    os.utime(own)
    oldest = time.time() - UNUSED_DAYS * 86_400
    for half in own.glob(f"{HALF}*"):
        if _last_change(half) < time.time() - 3_600:
            half.unlink(missing_ok=True)
    together = 0
    for used, size, entry in sorted(_entries(own), reverse=True):
        together += size
        if used < oldest or together > MOST_BYTES:
            entry.unlink(missing_ok=True)
    for folder in runs.iterdir():
        if folder.is_dir() and folder != own and _last_change(folder) < oldest:
            shutil.rmtree(folder, ignore_errors=True)


def _entries(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Give when each entry was last used, its bytes and its path."""
    for path in folder.glob(f"*{_ENDING}"):
        with suppress(OSError):
            status = path.stat()
            yield status.st_mtime, status.st_size, path


def _last_change(path: Path) -> float:
    """Return when a path was last changed; now, if another process has just removed it."""
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()
