"""Reads that fail on the way, and signals that arrive meanwhile: a clear error, or nothing at all."""

from __future__ import annotations

import errno
import io
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lanewise import InputError, explain, inputs, judge, scan
from lanewise.inputs import read_file, read_input

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

    CommandLine = Callable[..., Result]

HERE = Path(__file__).parent
SCENARIO = HERE.parents[1] / "scenarios" / "switch.toml"
DUMP = HERE / "machine" / "dumps" / "qemu.vvv"
OUTPUT = HERE / "captured" / "perftest-6.06-ib_write_bw.txt"
NEVER_READ = "/proc/self/mem"
"""It is opened and never read: nothing is at address 0, and Linux calls that an input/output error."""
WITH_PROC = pytest.mark.skipif(not os.path.exists(NEVER_READ), reason="needs /proc of Linux")
LANEWISE = [sys.executable, "-c", "from lanewise.cli import main; main()"]
READERS = {
    "run": ("run", "{}"),
    "explain": ("explain", "{}"),
    "scan": ("scan", "{}"),
    "doctor": ("doctor", "{}"),
    "predict": ("predict", "{}"),
    "import": ("import", "{}", "--machine", DUMP),
    "import, its machine": ("import", OUTPUT, "--machine", "{}"),
    "scan, what it is given beside": ("scan", DUMP, "--with", "{}"),
    "doctor, what is expected": ("doctor", DUMP, "--expect", "{}"),
    "run, a job file": ("run", HERE.parents[1] / "scenarios" / "nvme_fio.toml", "--fio", "{}"),
}


class FailsInTheMiddle(io.RawIOBase):
    """A file on a disk with a bad block: a beginning can be read, and what follows cannot."""

    def __init__(self, beginning: bytes) -> None:
        self._beginning = beginning

    def readable(self) -> bool:
        return True

    def readinto(self, into: Any) -> int:
        if not self._beginning:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        piece, self._beginning = self._beginning[: len(into)], self._beginning[len(into) :]
        into[: len(piece)] = piece
        return len(piece)


def of(arguments: tuple[object, ...], path: object) -> list[str]:
    """Put a path where it is to be read."""
    return [str(each).replace("{}", str(path)) for each in arguments]


@WITH_PROC
@pytest.mark.parametrize("arguments", READERS.values(), ids=READERS)
def test_a_file_that_cannot_be_read_is_one_error_with_its_name(
    lanewise: CommandLine, arguments: tuple[object, ...]
) -> None:
    result = lanewise(*of(arguments, NEVER_READ))
    said = " ".join(result.stderr.split())
    assert result.exit_code == 2, said
    assert said.startswith("error")
    assert said.count("Input/output error") == 1
    assert NEVER_READ in said
    assert "dmesg" in said, "what to do is said"
    assert "Errno" not in said
    [error] = json.loads(lanewise(*of(arguments, NEVER_READ), "--json").stdout)["errors"]
    assert "Input/output error" in error["message"]
    assert "dmesg" in error["hint"]


@pytest.mark.parametrize("name", [name for name in READERS if name not in ("run", "explain")])
def test_a_file_that_fails_in_the_middle_is_not_taken_for_a_short_one(
    lanewise: CommandLine, name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A listing that breaks off reads as one with fewer devices, which is what a health check looks for."""
    damaged = tmp_path / "damaged.txt"
    damaged.write_bytes(b"")
    opened = Path.open

    def open_it(path: Path, *arguments: Any, **options: Any) -> Any:
        if path != damaged:
            return opened(path, *arguments, **options)
        return io.BufferedReader(FailsInTheMiddle(DUMP.read_bytes()[:6000]))

    monkeypatch.setattr(Path, "open", open_it)
    result = lanewise(*of(READERS[name], damaged))
    assert result.exit_code == 2
    assert f"error: '{damaged}': Input/output error; " in result.stderr
    assert result.stdout == ""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a terminal that was hung up is at its end")
@pytest.mark.parametrize("verb", ["run", "scan", "doctor"])
def test_standard_input_that_fails_in_the_middle_is_not_taken_for_a_short_one(verb: str) -> None:
    """Whoever types into a terminal may hang up: Linux gives what was typed, and then the error."""
    master, slave = os.openpty()
    os.write(slave, (SCENARIO if verb == "run" else DUMP).read_bytes()[:1000])
    os.close(slave)
    done = subprocess.run(
        [*LANEWISE, verb, "-"], stdin=master, capture_output=True, text=True, check=False, timeout=120
    )
    os.close(master)
    assert done.returncode == 2
    assert done.stderr.startswith("error: 'standard input': Input/output error; ")
    assert done.stdout == ""


def test_closed_standard_input_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inputs.sys, "stdin", None)
    with pytest.raises(InputError, match="it is closed"):
        read_input("-", 10)


def test_an_error_of_opening_keeps_the_name_it_has(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        read_file(tmp_path / "missing", 10)
    assert caught.value.filename == str(tmp_path / "missing")


def test_no_more_is_read_than_shows_that_a_file_is_too_large(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(100))
    assert len(read_file(tmp_path / "file", 10)) == 11


def test_a_file_of_a_copied_sysfs_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "sys" / "bus" / "pci" / "devices" / "0000:00:1f.0"
    folder.mkdir(parents=True)
    for name, content in {"vendor": b"0x8086\n", "device": b"0x2918\n", "config": bytes(256)}.items():
        (folder / name).write_bytes(content)
    opened = os.open

    def open_it(path: str, *arguments: Any, **options: Any) -> int:
        if str(path).endswith("/config"):
            raise OSError(errno.EIO, os.strerror(errno.EIO), path)
        return opened(path, *arguments, **options)

    monkeypatch.setattr(os, "open", open_it)
    machine = scan(tmp_path)
    assert len(machine) == 1
    assert machine.notes == (
        "1 of the files could not be read (input/output error), the first of them "
        "'bus/pci/devices/0000:00:1f.0/config'",
    )


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers that send signals")
@pytest.mark.parametrize("what", ["scan", "judge", "run"])
def test_signals_interrupt_no_read(what: str, tmp_path: Path) -> None:
    """Each read of a pipe waits, and is broken off by signals many times (EINTR), before its data comes."""
    content = {"scan": DUMP, "judge": OUTPUT, "run": SCENARIO}[what].read_bytes()
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    signals = 0

    def count(*_: object) -> None:
        nonlocal signals
        signals += 1

    def feed() -> None:
        with open(pipe, "wb", buffering=0) as file:
            for start in range(0, len(content), len(content) // 3 + 1):
                file.write(content[start : start + len(content) // 3 + 1])
                threading.Event().wait(0.05)

    machine = scan(DUMP)
    feeder = threading.Thread(target=feed)
    before = signal.signal(signal.SIGALRM, count)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        feeder.start()
        if what == "scan":
            assert list(scan(pipe).functions) == list(machine.functions)
        elif what == "judge":
            told, whole = (judge(each, machine).document for each in (pipe, OUTPUT))
            assert {**told, "source": None} == {**whole, "source": None}
        else:
            assert explain(pipe).title == explain(SCENARIO).title
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        feeder.join()
    assert signals > 0
