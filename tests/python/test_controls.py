"""What a terminal would obey does not reach it, whoever wrote it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hostile import run

from lanewise.cli.streams import without_controls

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe"
QEMU = Path(__file__).parent / "machine/dumps/qemu.vvv"


def test_line_ends_and_tabs_stay() -> None:
    assert without_controls("a\tb\r\nc\n") == "a\tb\r\nc\n"
    assert not set("\x1b\x07\x9b\u202e") & set(without_controls(EVIL))


def evil(folder: Path, kind: str) -> list[str | Path]:
    """Write a file of a kind with control characters in its names; return what reads it."""
    if kind == "scenario":
        text = f'title = {json.dumps(EVIL)}\n[host.server]\nslots = {{ slot1 = "gen4 x4" }}\n'
        (folder / "rig.toml").write_text(text)
        return ["explain", folder / "rig.toml"]
    if kind == "mistake":
        (folder / "rig.toml").write_text('title = "x"\n["host.' + EVIL.replace("\x1b", "\\u001b") + '"]\n')
        return ["explain", folder / "rig.toml"]
    if kind == "fio":
        job = {"jobname": EVIL, "read": {"total_ios": 1, "bw_bytes": 1e9}}
        (folder / "out.json").write_text(json.dumps({"fio version": "fio-3.33", "jobs": [job]}))
        return ["import", folder / "out.json", "--machine", QEMU]
    if kind == "job file":
        (folder / "rig.toml").write_text('title = "x"\n')
        (folder / "jobs.fio").write_text(f"[{EVIL}]\nnonsense{EVIL}=1\n")
        return ["run", folder / "rig.toml", "--fio", folder / "jobs.fio"]
    kind_of_device = "Non-Volatile memory controller: "
    (folder / "dump.txt").write_text(QEMU.read_text().replace(kind_of_device, kind_of_device + EVIL))
    return [kind, folder / "dump.txt"]


@pytest.mark.parametrize("kind", ["scenario", "mistake", "fio", "job file", "scan", "doctor"])
@pytest.mark.parametrize("options", [[], ["--json"]])
def test_nothing_that_a_terminal_obeys_comes_out(kind: str, options: list[str], tmp_path: Path) -> None:
    done = run(*evil(tmp_path, kind), *options, PYTHONIOENCODING="utf-8")
    for stream in (done.stdout, done.stderr):
        assert not set("\x1b\x07\x9b\u202e") & set(stream.decode())
    if options and done.stdout:
        json.loads(done.stdout)
