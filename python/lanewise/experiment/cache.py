"""Finished runs on disk, so that an interrupted `reproduce` goes on where it was.

An entry is named by a hash of everything that determines a result: the text of the scenario, the overrides in
their order, and the compiled core with the catalog in it. Whatever changes, the name changes, so that a stale
entry is never found. Entries are whole or not there, and compressed with a checksum: one that is damaged all
the same is passed over and made again. Runs that were interrupted are not kept. A folder that cannot be
written means that runs are done again, and is no reason to fail.

The entries of another core are removed once nobody has used them for `UNUSED_DAYS`.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import shutil
import time
import zlib
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise import _core
from lanewise.files import HALF, NotWrittenError, write_whole
from lanewise.results import RunResult

if TYPE_CHECKING:
    from lanewise.experiment.runner import Job

FORMAT = 1
"""Version of an entry's layout, which is part of its name."""

UNUSED_DAYS = 14
"""How long the entries of another core are kept."""


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
        return cls(runs / _core_hash()[:16])

    def find(self, job: Job) -> RunResult | None:
        """Return the finished run of a job, or None when there is none that is whole."""
        try:
            with gzip.open(self._path(job), "rt", encoding="utf-8") as file:
                return RunResult(json.load(file))
        except (OSError, EOFError, zlib.error, ValueError):
            return None

    def keep(self, job: Job, result: RunResult) -> None:
        """Store a finished run, if it can be."""
        if result.end_reason == "Interrupted":
            return
        with suppress(NotWrittenError):
            write_whole(self._path(job), gzip.compress(result.to_json(indent=None).encode(), compresslevel=3))

    def clear(self) -> None:
        """Forget the runs of the core in use."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, job: Job) -> Path:
        return self.folder / f"{key_of(job)}.json.gz"


def key_of(job: Job) -> str:
    """Return the hash of everything that determines the result of a job."""
    parts = {
        "format": FORMAT,
        "core": _core_hash(),
        "scenario": job.scenario.read_text(encoding="utf-8"),
        # The path is in the result, which says what was run.
        "path": str(job.scenario),
        "overrides": [list(pair) for pair in job.overrides],
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


@cache
def _core_hash() -> str:
    """Return the hash of the compiled core: its code, its version and the catalog built into it."""
    binary = Path(str(_core.__file__))
    return hashlib.sha256(binary.read_bytes()).hexdigest()


def _remove_unused(runs: Path) -> None:
    """Remove what other cores left, once it is old; mark the present one as used."""
    own = runs / _core_hash()[:16]
    own.mkdir(parents=True, exist_ok=True)
    os.utime(own)
    oldest = time.time() - UNUSED_DAYS * 86_400
    for half in own.glob(f"{HALF}*"):
        if _last_change(half) < time.time() - 3_600:
            half.unlink(missing_ok=True)
    for folder in runs.iterdir():
        if folder.is_dir() and folder != own and _last_change(folder) < oldest:
            shutil.rmtree(folder, ignore_errors=True)


def _last_change(path: Path) -> float:
    """Return when a path was last changed; now, if another process has just removed it."""
    try:
        return path.stat().st_mtime
    except OSError:
        return time.time()
