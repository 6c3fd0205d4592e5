"""Streams that are closed, full, gone, or lack characters; and what the shell completes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SCENARIO = Path(__file__).parents[2] / "scenarios" / "first_rig.toml"
DUMP = Path(__file__).parent / "machine" / "dumps" / "qemu.vvv"
COMMAND = [sys.executable, "-m", "lanewise"]


def lanewise(*arguments: str, encoding: str = "utf-8", **how: Any) -> subprocess.CompletedProcess[bytes]:
    """Run the command line in a process of its own, whose streams have this encoding."""
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    return subprocess.run([*COMMAND, *arguments], env=environment, check=False, **how)


def test_tables_are_readable_where_the_encoding_is_ascii() -> None:
    done = lanewise("explain", str(SCENARIO), encoding="ascii", capture_output=True)
    text = done.stdout.decode("ascii")
    assert (done.returncode, done.stderr) == (0, b"")
    assert "PCIe Base 6.3" in text
    assert "sec. " in text


def test_trees_are_readable_where_the_encoding_is_ascii() -> None:
    done = lanewise("scan", str(DUMP), encoding="ascii", capture_output=True)
    text = done.stdout.decode("ascii")
    assert "+- 00:01.0->01:00.0 " in text
    assert "?" not in text


@pytest.mark.parametrize("options", [["--json"], ["--format", "json"], ["--format=sarif"]])
def test_findings_mean_the_same_in_every_encoding(options: list[str], tmp_path: Path) -> None:
    dump = tmp_path / "g\N{LATIN SMALL LETTER E WITH ACUTE}n\N{EM DASH}.txt"
    dump.write_text(DUMP.read_text())
    plain, ascii_ = (
        lanewise("doctor", str(dump), "--no-cost", *options, encoding=encoding, capture_output=True).stdout
        for encoding in ("utf-8", "ascii")
    )
    assert json.loads(ascii_.decode("ascii")) == json.loads(plain)


def test_json_means_the_same_in_every_encoding() -> None:
    plain, ascii_ = (
        lanewise("explain", str(SCENARIO), "--json", encoding=encoding, capture_output=True).stdout
        for encoding in ("utf-8", "ascii")
    )
    assert plain != ascii_
    assert json.loads(ascii_.decode("ascii")) == json.loads(plain)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("asked", ["parts", "--version", "--help"])
def test_a_full_disk_is_said_and_is_status_2(asked: str) -> None:
    with Path("/dev/full").open("wb") as full:
        done = lanewise(asked, stdout=full, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"cannot be written" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_the_status_holds_where_nothing_can_be_said() -> None:
    with Path("/dev/full").open("wb") as full:
        assert lanewise("run", "nosuch.toml", stderr=full).returncode == 2


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_no_standard_input_to_read_from_is_wrong_input() -> None:
    command = ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *COMMAND, "run", "-"]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (
        2,
        b"error: there is no standard input to read from: it is closed\n",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="needs names of any bytes")
def test_a_name_that_is_no_text_is_wrong_input(tmp_path: Path) -> None:
    name = bytes(tmp_path) + b"/rig\xff.toml"
    Path(os.fsdecode(name)).write_text(SCENARIO.read_text())
    for arguments in ([name], [bytes(SCENARIO), b"--set", b"run.seed=\xff"]):
        done = subprocess.run([*COMMAND, "explain", *arguments], check=False, capture_output=True)
        assert (done.returncode, done.stdout) == (2, b"")
        assert b"not in UTF-8" in done.stderr


def test_a_reader_that_has_gone_is_no_finding() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = lanewise("parts", "--json", stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(
    "moment",
    [
        "load = builtins.__import__\n"
        "def interrupted(name, *others):\n"
        "    if name.startswith('typer'): raise KeyboardInterrupt\n"
        "    return load(name, *others)\n"
        "builtins.__import__ = interrupted\n",
        "import typer.main\n"
        "def interrupted(*_):\n"
        "    raise KeyboardInterrupt\n"
        "typer.main.get_command = interrupted\n",
    ],
)
def test_who_interrupts_before_a_verb_is_called_sees_no_traceback(moment: str) -> None:
    script = f"import builtins\nfrom lanewise.cli import main\n{moment}main()\n"
    done = subprocess.run([sys.executable, "-c", script, "parts"], check=False, capture_output=True)
    assert (done.returncode, done.stderr) == (130, b"interrupted\n")


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
def test_a_closed_output_is_no_mistake_of_ours() -> None:
    command = ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *COMMAND, "parts"]
    done = subprocess.run(command, check=False, stderr=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("parts mellanox-connectx-", "mellanox-connectx-5"),
        ("reproduce IDT-", "IDT-T5"),
        ("calibrate IDT-", "IDT-T5"),
        ("run rig.toml --as f", "fio"),
        ("bench ch", "chain"),
    ],
)
def test_the_shell_completes_names(typed: str, offered: str) -> None:
    words = f"lanewise {typed}"
    environment = {
        **os.environ,
        "_LANEWISE_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split()) - 1),
    }
    done = subprocess.run(COMMAND, env=environment, check=False, capture_output=True)
    assert offered in done.stdout.decode().split()
