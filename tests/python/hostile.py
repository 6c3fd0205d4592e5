"""Runs the command line on hostile input with little memory and processor time, as a service would."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MEMORY = 1536 << 20
"""Bytes of address space."""
SECONDS = 60
"""Of processor time; what is linear needs a few."""

_MAIN = """
import resource, sys
memory, seconds = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
sys.argv[1:] = sys.argv[3:]
from lanewise.cli import main
main()
"""


def run(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[Any]:
    """Run a verb within the limits; what needs more ends with another status than 0, 1 and 2."""
    if sys.platform != "linux":
        pytest.skip("limits of memory are those of Linux")
    # The core's threads reserve address space that they never use.
    environment = {**os.environ, "RAYON_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1", **environment}
    return subprocess.run(
        [sys.executable, "-c", _MAIN, str(MEMORY), str(SECONDS), *map(str, arguments)],
        input=stdin,
        capture_output=True,
        check=False,
        timeout=20 * SECONDS,
        env=environment,
    )


def refused(done: subprocess.CompletedProcess[Any]) -> str:
    """Return the message of a verb that refused its input; anything else fails the test."""
    said = str(done.stderr.decode("utf-8", "replace"))
    assert done.returncode == 2, (done.returncode, said[-2000:])
    assert said.startswith("error: "), said[-2000:]
    return said
