"""Out of disk in the middle of a study: what is finished stays, and the same command goes on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lanewise.study.running import run_study
from lanewise.study.store import FINISHED, TABLE, read_finished
from lanewise.study.study import make_study

ROOT = Path(__file__).parents[3]
POINTS = 60
AXIS = f"sw0.latency=1 ns..{POINTS} ns:1 ns"

# No file of the process may have more bytes: as on a full disk, a part of what is written still fits.
SWEEP = """
import resource, sys
from lanewise.cli import main
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.argv[1:] = sys.argv[2:]
main()
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="limits as POSIX has them")


def sweep(switch: Path, folder: Path, most_bytes: int) -> subprocess.CompletedProcess[str]:
    arguments = ["sweep", str(switch), "--over", AXIS, "--out", str(folder), "--processes", "2"]
    command = [sys.executable, "-c", SWEEP, str(most_bytes), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_a_full_disk_loses_no_finished_point(tmp_path: Path, switch: Path) -> None:
    """Room for some lines and a half, and on the next try for some more."""
    folder = tmp_path / "study"
    done = sweep(switch, folder, 5_000)
    assert done.returncode == 2
    assert f"'{folder / FINISHED}' cannot be written: File too large" in done.stderr
    assert "Traceback" not in done.stderr
    first = read_finished(folder)
    assert 5 < len(first) < POINTS
    data = (folder / FINISHED).read_bytes()
    assert data.endswith(b"\n")
    assert len(data) <= 5_000

    assert sweep(switch, folder, 9_000).returncode == 2
    second = read_finished(folder)
    assert second[: len(first)] == first
    assert len(second) > len(first)

    asked = make_study(switch, over=[AXIS])
    whole = run_study(asked, folder, processes=2)
    assert whole.is_complete
    after = read_finished(folder)
    assert after[: len(second)] == second
    assert len(after) == POINTS, "what was finished is not run again"
    assert whole.table.equals(run_study(asked, processes=2).table)


def test_a_disk_without_room_for_the_table_keeps_the_points(tmp_path: Path, switch: Path) -> None:
    folder = tmp_path / "study"
    asked = make_study(switch, over=["sw0.latency=1 ns..2 ns:1 ns"])
    run_study(asked, folder, processes=1)
    room = (folder / FINISHED).stat().st_size
    table = (folder / TABLE).read_bytes()
    assert len(table) > room, "the table is larger than the points, so that they fit and it does not"
    (folder / TABLE).unlink()
    command = [sys.executable, "-c", SWEEP, str(room), "sweep", str(switch)]
    command += ["--over", "sw0.latency=1 ns..2 ns:1 ns", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode == 2
    assert f"'{folder / TABLE}' cannot be written" in done.stderr
    assert not (folder / TABLE).exists()
    assert [path.name for path in folder.iterdir() if path.name.endswith("~")] == []
    assert run_study(asked, folder, processes=1).is_complete
    assert (folder / TABLE).read_bytes() == table
