"""A trace of any length goes to a file while the run goes on, and the file is whole or not there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lanewise
from lanewise.cli.commands import app
from lanewise.files import NotWrittenError, whole_file

SWITCH = str(Path(__file__).parents[2] / "scenarios" / "switch.toml")
LANEWISE = [sys.executable, "-c", "from lanewise.cli import main; main()"]


def test_a_file_has_what_the_listing_has(tmp_path: Path) -> None:
    path = tmp_path / "new" / "switch.txt"
    window = ["trace", SWITCH, "--from", "20 us", "--for", "30 us"]
    shown = CliRunner().invoke(app, window)
    written = CliRunner().invoke(app, [*window, "--out", str(path)])
    assert (written.exit_code, written.stdout) == (0, "")
    assert path.read_text(encoding="utf-8") == shown.stdout
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


def test_json_lines_are_the_rows(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    end = lanewise.write_trace(SWITCH, path, span="20 us", links=["card1"], kinds=["tlp"], form="jsonl")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    traced = lanewise.trace(SWITCH, span="20 us", links=["card1"], kinds=["tlp"])
    assert rows == traced.document["rows"]
    assert (end["rows"], end["fingerprint"]) == (len(rows), traced.document["fingerprint"])
    assert end["until_ticks"] == 20_000_000 << 10


def test_a_view_goes_to_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "worst.json"
    view = ["trace", SWITCH, "--transaction", "7", "--out", str(path), "--json"]
    assert CliRunner().invoke(app, view).exit_code == 0
    assert json.loads(path.read_text(encoding="utf-8"))["transaction"]["stations"]


def test_whoever_says_that_it_is_enough_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        lanewise.write_trace(SWITCH, path, span="20 ms", progress=lambda _: False)
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="needs files without a name")
def test_who_is_killed_in_the_middle_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rows.txt"
    command = [*LANEWISE, "trace", SWITCH, "--for", "2 s", "--out", str(path)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        deadline = time.monotonic() + 60
        while _written_by(process.pid, tmp_path) < 1 << 20:
            assert process.poll() is None, "it ended by itself"
            assert time.monotonic() < deadline, "nothing is written"
            time.sleep(0.02)
    finally:
        process.send_signal(signal.SIGKILL)
        process.communicate()
    assert list(tmp_path.iterdir()) == []


def _written_by(process: int, folder: Path) -> int:
    """Return the bytes of a file in a folder that a process has open, with a name or without."""
    try:
        links = [link for link in Path(f"/proc/{process}/fd").iterdir() if _leads_to(link, folder)]
        return max((link.stat().st_size for link in links), default=0)
    except FileNotFoundError:
        return 0


def _leads_to(link: Path, folder: Path) -> bool:
    return str(os.readlink(link)).startswith(f"{folder}{os.sep}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_a_full_disk_is_one_clear_error() -> None:
    for as_json in ([], ["--json"]):
        done = CliRunner().invoke(app, ["trace", SWITCH, "--for", "1 ms", "--out", "/dev/full", *as_json])
        assert done.exit_code == 2
        assert "'/dev/full' cannot be written: No space left on device" in done.stderr
        assert "Traceback" not in done.stderr


def test_what_cannot_be_asked_for_together_is_said(tmp_path: Path) -> None:
    out = ["--out", str(tmp_path / "rows.txt")]
    done = CliRunner().invoke(app, ["trace", SWITCH, *out, "--last", "5"])
    assert done.exit_code == 2
    assert "--out or --last" in done.stderr
    done = CliRunner().invoke(app, ["trace", SWITCH, "--out", str(tmp_path)])
    assert done.exit_code == 2
    assert "it is a folder" in done.stderr
    done = CliRunner().invoke(app, ["trace", SWITCH, *out, "--link", "card7"])
    assert done.exit_code == 2
    assert "no link is called 'card7'" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("has_names_only", [False, True])
def test_a_file_appears_when_it_is_whole(
    has_names_only: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if has_names_only:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    path = tmp_path / "page.txt"
    for content in (b"first", b"second"):
        with whole_file(path) as file:
            file.write(content)
            assert not path.exists() or path.read_bytes() == b"first"
        assert path.read_bytes() == content
    for raised, expected in (
        (ZeroDivisionError(), ZeroDivisionError),
        (OSError(28, "full"), NotWrittenError),
    ):
        with pytest.raises(expected):
            _write_half(path, raised)
    assert path.read_bytes() == b"second"
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def _write_half(path: Path, raised: Exception) -> None:
    with whole_file(path) as file:
        file.write(b"third")
        raise raised
