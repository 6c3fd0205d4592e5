"""Killed at any moment, or out of disk: nothing finished is lost, nothing half-made is trusted or left."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from lanewise.files import HALF, NotWrittenError, write_whole

EXPERIMENT = "OPP-1"
"""Nine runs, in a second."""

REPRODUCE = """
import os, pathlib, resource, signal, sys, threading
from lanewise.cli import main

moment, number, sys.argv[1:] = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
calls = 0


def die():
    os.kill(os.getpid(), signal.SIGKILL)


def at_call(function, before=None, after=None):
    def counted(first, *others):
        global calls
        if ".json.gz" not in str(first):
            return function(first, *others)
        calls += 1
        if calls == number and before:
            before(first, *others)
        result = function(first, *others)
        if calls == number and after:
            after(first, *others)
        return result

    return counted


def half(path, data):
    with open(path, "wb") as file:
        file.write(data[: len(data) // 2])
    die()


if moment != "at any time":
    os.cpu_count = lambda: 1  # One run at a time: what others are writing when it is killed would be chance.

if moment == "in the middle of an entry":
    pathlib.Path.write_bytes = at_call(pathlib.Path.write_bytes, before=half)
elif moment == "before an entry has its name":
    os.replace = at_call(os.replace, before=lambda *_: die())
elif moment == "as soon as it has it":
    os.replace = at_call(os.replace, after=lambda *_: die())
elif moment == "at any time":
    threading.Timer(number, die).start()
elif moment == "with small files only":
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(number), int(number)))
main()
"""


def reproduce(
    cache: Path, moment: str = "never", number: float = 0, *, report: Path | None = None
) -> subprocess.CompletedProcess[str]:
    page = ["--no-report"] if report is None else ["--report", str(report)]
    command = [sys.executable, "-c", REPRODUCE, moment, str(number), "reproduce", EXPERIMENT, *page, "--json"]
    environment = os.environ | {"LANEWISE_CACHE": str(cache)}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def entries(cache: Path) -> dict[Path, tuple[int, int]]:
    """Return the finished runs on disk, and which file each is; its time is that of its last use."""
    found = ((path, path.stat()) for path in cache.glob("runs/*/*.json.gz") if not path.name.startswith("."))
    return {path: (stat.st_ino, stat.st_size) for path, stat in found}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    done = reproduce(tmp_path_factory.mktemp("undisturbed"))
    return json.loads(done.stdout)


def check_resumed(cache: Path, undisturbed: dict[str, Any]) -> None:
    finished = entries(cache)
    resumed = reproduce(cache)
    assert json.loads(resumed.stdout) == undisturbed
    assert finished.items() <= entries(cache).items(), "what was finished is not made again"


@pytest.mark.parametrize(
    "moment", ["in the middle of an entry", "before an entry has its name", "as soon as it has it"]
)
def test_a_kill_while_an_entry_is_made_costs_that_entry_at_most(
    moment: str, tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    killed = reproduce(tmp_path, moment, 4)
    assert killed.returncode == -9
    assert len(entries(tmp_path)) == (4 if moment == "as soon as it has it" else 3)
    check_resumed(tmp_path, undisturbed)


@pytest.mark.slow
def test_kills_at_random_moments(tmp_path: Path, undisturbed: dict[str, Any]) -> None:
    moments = random.Random(7)
    for attempt in range(8):
        cache = tmp_path / str(attempt)
        reproduce(cache, "at any time", moments.uniform(0.3, 1.5))
        check_resumed(cache, undisturbed)


def test_a_full_disk_costs_the_entries_and_the_report_and_is_said(
    tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    report = tmp_path / "report.html"
    report.write_text("an older report")
    done = reproduce(tmp_path / "cache", "with small files only", 3200, report=report)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"error: '{report}' cannot be written: File too large"
    assert json.loads(done.stdout) == undisturbed, "the results are printed before the report is written"
    assert report.read_text() == "an older report"
    assert not list(tmp_path.rglob(f"{HALF}*"))
    check_resumed(tmp_path / "cache", undisturbed)


def test_a_folder_for_the_cache_that_cannot_be_made_is_no_reason_to_fail(
    tmp_path: Path, undisturbed: dict[str, Any]
) -> None:
    (tmp_path / "file").write_text("")
    assert json.loads(reproduce(tmp_path / "file" / "cache").stdout) == undisturbed


def test_a_file_that_cannot_be_written_is_left_as_it_was(tmp_path: Path) -> None:
    path = write_whole(tmp_path / "folder" / "notes", "first")
    with pytest.raises(NotWrittenError, match=r"'.*notes/inner' cannot be written: "):
        write_whole(path / "inner", b"second")
    assert path.read_text() == "first"
    assert list(tmp_path.rglob("*")) == [path.parent, path]
