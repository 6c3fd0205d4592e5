"""What ``.ci/once`` remembers of a check: that it passed, not that it failed or was skipped."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CI = Path(__file__).parents[2] / ".ci"


@pytest.mark.parametrize(
    ("status", "first", "again", "ends"),
    [(0, "ok", "passed before", 0), (77, "skipped", "skipped", 0), (3, "FAILED", "FAILED", 3)],
)
def test_what_was_skipped_has_not_passed(
    tmp_path: Path, status: int, first: str, again: str, ends: int
) -> None:
    if shutil.which("git") is None:
        pytest.skip("without git nothing is remembered")
    (tmp_path / ".ci").mkdir()
    for name in ("once", "quiet"):
        shutil.copy(CI / name, tmp_path / ".ci" / name)
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    command = [".ci/once", "a check", ".ci", "sh", "-c", f"echo because; exit {status}"]
    for expected in (first, again):
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == ends
        assert expected in done.stderr
        assert ("because" in done.stderr) is (status != 0)
