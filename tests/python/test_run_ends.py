"""Runs that end before their time, and folders that cannot be written: nothing that was measured is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lanewise.files import HALF, half_name, remove_stale_halves

if TYPE_CHECKING:
    from collections.abc import Sequence

SCENARIO = Path(__file__).parents[2] / "scenarios" / "switch.toml"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals and limits of POSIX")

LIMITED = """
import resource, sys
from lanewise.cli import main
name, bytes_ = sys.argv[1], int(sys.argv[2])
del sys.argv[1:3]
resource.setrlimit(getattr(resource, name), (bytes_, bytes_))
main()
"""

SIGNALLED = """
import os, signal, sys
from lanewise.cli import main, progress
number = int(sys.argv.pop(1))
told = progress.RunProgress.__call__

def hear(self, report):
    if report["measuring_since_s"] is not None:
        os.kill(os.getpid(), number)
    told(self, report)

progress.RunProgress.__call__ = hear
main()
"""


NEVER_NARROW = ["--set", "run.relative_half_width=0.00001", "--set", "server.memory_latency_jitter=900 ns"]
"""With these a run of `SCENARIO` goes on for a quarter of a minute."""
NEVER_NARROW += ["--set", "run.confidence_level=0.999", "--set", "run.time_limit=1000 s"]


def lanewise(*arguments: str, before: Sequence[str] = ()) -> list[str]:
    code = LIMITED if before else "from lanewise.cli import main; main()"
    return [sys.executable, "-c", code, *before, *arguments]


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_polite_end_keeps_what_was_measured(name: str) -> None:
    command = [sys.executable, "-c", SIGNALLED, str(int(getattr(signal, name))), "run", str(SCENARIO)]
    done = subprocess.run([*command, *NEVER_NARROW, "--json"], capture_output=True, text=True, check=False)
    assert done.returncode == 130, done.stderr
    result = json.loads(done.stdout)
    assert result["end_reason"] == "Interrupted"
    assert result["flows"][0]["bytes"] > 0


@pytest.mark.parametrize("wanted", [[], ["--out", "listing.txt", "--around", "stall"]])
def test_a_trace_that_is_interrupted_does_not_pass_for_a_whole_one(wanted: list[str], tmp_path: Path) -> None:
    code = SIGNALLED.replace('report["measuring_since_s"] is not None', "report")
    command = [sys.executable, "-c", code, str(int(signal.SIGTERM)), "trace", str(SCENARIO), *wanted]
    command += NEVER_NARROW if wanted else ["--for", "1 s"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 130
    assert "interrupted" in done.stderr
    assert done.stdout == "" if wanted else "interrupted: nothing after " in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    code = (
        "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
        "from lanewise.cli import _end_as_by_hand\n_end_as_by_hand()\n"
        "print(signal.getsignal(signal.SIGHUP) is signal.SIG_IGN)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True\n"


def test_a_full_disk_costs_the_folder_and_not_the_result(tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = lanewise(
        "run",
        str(SCENARIO),
        "--time-limit",
        "1 ms",
        "--json",
        "--out",
        str(out),
        before=("RLIMIT_FSIZE", "3000"),
    )
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1] == f"error: '{out}' cannot be written: File too large"
    assert json.loads(done.stdout)["flows"]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="other systems do not limit it")
@pytest.mark.parametrize(
    ("verb", "mebibytes", "enough"),
    [
        ("run", 100, False),
        ("run", 480, False),
        ("run", 700, False),
        ("run", 768, True),
        ("new", 255, False),
        ("new", 256, True),
    ],
)
def test_little_address_space_is_said_and_no_mistake_of_ours(verb: str, mebibytes: int, enough: bool) -> None:
    """With less than it needs the library of tables may abort the process, in a thread of its own."""
    given = [str(SCENARIO)] if verb == "run" else []
    command = lanewise(verb, *given, before=("RLIMIT_AS", str(mebibytes << 20)))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if enough:
        assert (done.returncode, done.stderr) == (0, "")
        return
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].startswith(f"error: the address space is limited to {mebibytes} MiB")


def test_what_a_killed_process_left_is_removed_by_the_next(tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys; from lanewise.files import half_name\n"
        "(pathlib.Path(sys.argv[1]) / half_name('run')).mkdir()\n"
        "(pathlib.Path(sys.argv[1]) / half_name('another')).mkdir()"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    (tmp_path / half_name("run") / "inside").mkdir(parents=True)  # A living process is at it: this one.
    elsewhere = tmp_path / f"{HALF}00000000-1-00000000-run"
    elsewhere.write_text("of another machine, and new")
    assert len(list(tmp_path.iterdir())) == 4
    remove_stale_halves(tmp_path, "run")
    assert len(list(tmp_path.iterdir())) == 3
    assert len(list(tmp_path.glob(f"{HALF}*-another"))) == 1
    os.utime(elsewhere, (0, 0))
    remove_stale_halves(tmp_path, "run")
    assert not elsewhere.exists()
    remove_stale_halves(tmp_path / "nowhere", "run")
