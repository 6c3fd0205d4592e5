"""Running real tools: what is started, what is refused, what is recorded."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from machines import pair

from lanewise import machine_api
from lanewise.errors import InputError
from lanewise.health.judge import Verdict
from lanewise.health.measure import Fio, Iperf3, measure
from lanewise.health.measure.target import tool_for
from lanewise.machine.address import Address

MIB = 1 << 20


@dataclass(frozen=True)
class Script:
    """A stand-in for a tool: runs Python."""

    code: str
    name: str = "script"

    def commands(self, scratch: Path) -> Iterator[list[str]]:
        del scratch
        yield [sys.executable, "-c", self.code]


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    path = tmp_path / "scratch.bin"
    path.write_bytes(b"\xa5" * (64 * MIB))
    return path


def test_nothing_writes_unless_it_is_allowed(scratch: Path) -> None:
    if shutil.which("fio") is None:
        pytest.skip("fio is not installed")
    reading = list(Fio(str(scratch)).commands(scratch.parent))
    assert all("--readonly" in command for command in reading)
    assert all("--rw=read" in command or "--rw=randread" in command for command in reading)
    writing = list(Fio(str(scratch), allow_writes=True).commands(scratch.parent))
    assert any("--rw=write" in command for command in writing)


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
def test_the_real_fio_is_run_and_judged_and_leaves_the_file_alone(scratch: Path) -> None:
    before = scratch.read_bytes()
    judgement = measure(Fio(str(scratch), seconds=1), machine=pair())
    assert scratch.read_bytes() == before
    assert [case.bdf for case in judgement.cases] == ["01:00.0"] * 2
    assert all(case.measured_gb_per_s for case in judgement.cases)
    assert all(case.verdict is not Verdict.NONE for case in judgement.cases)
    record = json.loads(judgement.to_json())
    assert "--readonly" in record["commands"][0]["command"]
    assert "fio version" in record["commands"][0]["output"]
    assert record["machine_description"]["links"][0]["now"] == "16GT/s x4"


@pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
@pytest.mark.parametrize("name", ["scratch.bin", "pci-0000:01:00.0.bin"])
def test_targets_are_found_from_where_they_were_named(
    scratch: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fio runs in a folder of its own, and takes a colon for the end of a file's name."""
    monkeypatch.chdir(scratch.rename(scratch.with_name(name)).parent)
    judgement = measure(Fio(name, seconds=1), machine=pair())
    assert all(case.measured_gb_per_s for case in judgement.cases)


def test_a_tool_that_fails_is_quoted() -> None:
    with pytest.raises(InputError, match="script failed with status 3: out of paper"):
        measure(Script("import sys; print('out of paper', file=sys.stderr); sys.exit(3)"), machine=pair())


def test_output_that_is_no_text_is_refused_with_a_reason() -> None:
    with pytest.raises(InputError, match="not an output of a benchmark"):
        measure(Script(r"import sys; sys.stdout.buffer.write(b'caf\xe9\n')"), machine=pair())


def test_a_tool_that_is_killed_is_said_to_be() -> None:
    with pytest.raises(
        InputError, match=r"script was stopped by signal 9 \(Killed\); its results are not judged"
    ):
        measure(Script("import os; os.kill(os.getpid(), 9)"), machine=pair())


def test_a_tool_that_prints_something_else_is_refused() -> None:
    with pytest.raises(InputError, match="begins with 'hello'"):
        measure(Script("print('hello')"), machine=pair())


@pytest.mark.parametrize(
    ("name", "message"), [("missing", "does not exist"), (".", "is a folder"), ("small", "64 MiB")]
)
def test_targets_that_cannot_be_measured(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "small").write_bytes(b"x")
    with pytest.raises(InputError, match=message):
        list(Fio(str(tmp_path / name)).commands(tmp_path))


def test_targets_name_their_tool() -> None:
    network = tool_for("iperf3:peer:5300", seconds=2, allow_writes=False)
    assert network == Iperf3("peer", port=5300, seconds=2)
    assert isinstance(tool_for("/dev/nvme0n1", seconds=2, allow_writes=False), Fio)
    with pytest.raises(InputError, match="names no peer"):
        tool_for("iperf3:", seconds=1, allow_writes=False)
    with pytest.raises(InputError, match="not a host name"):
        list(Iperf3("-s").commands(Path()))


def test_what_a_tool_prints_is_bounded() -> None:
    with pytest.raises(InputError, match="printed more than 16 MiB"):
        measure(Script("while True: print('x' * 65536)"), machine=pair())


FIO = {
    "fio version": "fio-3.36",
    "jobs": [
        {
            "jobname": "read-128k",
            "job options": {"name": "read-128k", "rw": "read", "bs": "128k", "iodepth": "32"},
            "read": {"io_bytes": 7 << 30, "bw_bytes": 7_000_000_000, "iops": 53405.0, "total_ios": 53405},
        }
    ],
}


@dataclass(frozen=True)
class Several:
    """A stand-in for a tool with several commands."""

    codes: tuple[str, ...]
    name: str = "script"

    def commands(self, scratch: Path) -> Iterator[list[str]]:
        del scratch
        for code in self.codes:
            yield [sys.executable, "-c", code]


def hangs(mark: Path) -> str:
    """A program that starts another, which ignores SIGTERM, and waits for ever."""
    child = f"trap '' TERM; echo $$ > {mark}; while :; do sleep 0.1; done"
    return f"import subprocess; subprocess.run(['sh', '-c', {child!r}])"


def is_gone(mark: Path) -> bool:
    """Whether a process has ended, or ends now; where nobody collects orphans, it is still listed."""
    status = Path("/proc") / mark.read_text().strip() / "stat"
    for _ in range(200):
        try:
            if status.read_text().rpartition(")")[2].split()[0] == "Z":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.05)
    return False


def test_a_tool_that_hangs_is_ended_and_what_it_had_measured_is_kept(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    never = tmp_path / "never"
    tool = Several((f"print({json.dumps(FIO)!r})", hangs(mark), f"open({str(never)!r}, 'w')"))
    judgement = measure(tool, machine=pair(), device=Address.parse("01:00.0"), time_limit_s=2)
    assert [case.measured_gb_per_s for case in judgement.cases] == [7.0]
    assert judgement.unfinished is not None
    assert judgement.unfinished.startswith("script did not end within 2 s and was stopped; its results")
    assert is_gone(mark)
    assert not never.exists()
    record = json.loads(judgement.to_json())
    assert record["unfinished"] == judgement.unfinished
    assert [json.loads(one["output"]) for one in record["commands"]] == [FIO]


def test_a_tool_that_hangs_at_once_has_measured_nothing(tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    with pytest.raises(InputError, match="script did not end within 2 s and was stopped"):
        measure(Script(hangs(mark)), machine=pair(), time_limit_s=2)
    assert is_gone(mark)


def test_a_tool_that_fails_later_keeps_what_it_had_measured() -> None:
    tool = Several((f"print({json.dumps(FIO)!r})", "raise SystemExit('out of paper')"))
    judgement = measure(tool, machine=pair(), device=Address.parse("01:00.0"))
    assert judgement.unfinished == "script failed with status 1: out of paper"
    assert len(judgement.cases) == 1


def test_the_verb_says_what_it_ended_and_ends_with_status_2(
    tmp_path: Path, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fio is a script that prints a result, and hangs when it is called again."""
    fio = tmp_path / "bin" / "fio"
    fio.parent.mkdir()
    again = tmp_path / "again"
    fio.write_text(
        f"#!/bin/sh\nif [ -e {again} ]; then sleep 600; fi\ntouch {again}\necho '{json.dumps(FIO)}'\n"
    )
    fio.chmod(0o755)
    monkeypatch.setenv("PATH", str(fio.parent), prepend=os.pathsep)
    out = tmp_path / "record.json"
    command = ["measure", str(scratch), "--seconds", "1", "--time-limit", "2", "--out", str(out)]
    program = "from lanewise.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, *command], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 2
    assert "error: fio did not end within 2 s and was stopped" in done.stderr
    assert json.loads(out.read_text())["unfinished"].startswith("fio did not end within 2 s")


def test_a_limit_that_no_test_can_keep_is_refused(scratch: Path) -> None:
    with pytest.raises(InputError, match="a test lasts 5 s, which is not within the limit of 5 s"):
        machine_api.measure(str(scratch), pair(), time_limit=5)


def test_nothing_that_a_tool_started_outlives_an_interruption(tmp_path: Path) -> None:
    mark = tmp_path / "pids"
    script = f"sh -c 'trap \"\" TERM; echo $$ > {mark}; while :; do sleep 0.1; done' & wait"
    program = textwrap.dedent(
        f"""
        import sys
        from pathlib import Path
        from lanewise.health.measure.run import _run
        _run(["sh", "-c", {script!r}], "sh", Path({str(tmp_path)!r}), 600)
        """
    )
    with subprocess.Popen([sys.executable, "-c", program], stderr=subprocess.DEVNULL) as process:
        while not (mark.exists() and mark.read_text().strip()):
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    assert is_gone(mark)
