"""What a draft may say has the fields of the classes that are made of it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_types_are_current() -> None:
    command = [
        sys.executable,
        ROOT / ".ci/draft_types.py",
        "--check",
        ROOT / "python/lanewise/machine/said.py",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
