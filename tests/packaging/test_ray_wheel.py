"""What is said where Ray cannot be installed: why, with a status of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / ".ci" / "ray-wheel"
NONE = (
    "ERROR: Could not find a version that satisfies the requirement ray (from versions: none)\n"
    "ERROR: No matching distribution found for ray\n"
)
NO_ANSWER = (
    "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by "
    "'NewConnectionError(\"Connection refused\")': /simple/ray/\n"
)


@pytest.mark.skipif(sys.platform == "win32", reason="a script of sh")
@pytest.mark.parametrize(
    ("said", "status", "words"),
    [
        (NONE, 1, "Ray has no wheel for"),
        (f"{NO_ANSWER}{NONE}", 2, "the package index does not answer"),
        ("ERROR: No space left on device\n", 2, "No space left on device"),
    ],
)
def test_why_ray_is_not_installed(tmp_path: Path, said: str, status: int, words: str) -> None:
    (tmp_path / "said").write_text(said, encoding="utf-8")
    (tmp_path / ".venv" / "bin").mkdir(parents=True)
    (tmp_path / ".venv" / "bin" / "python").symlink_to(sys.executable)
    pip = ["sh", "-c", "cat said >&2; exit 1"]
    done = subprocess.run(
        ["sh", SCRIPT, *pip], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, words in done.stderr) == (status, True), done.stderr
