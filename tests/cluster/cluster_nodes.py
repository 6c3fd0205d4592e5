"""Nodes of a cluster on this machine, and points that end what runs them."""

from __future__ import annotations

import socket
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

AT_NODES = """
import os, sys, time

if "lanewise.study.worker" in getattr(sys, "orig_argv", []):
    from lanewise import _core

    run = _core.run

    def is_held(latency):
        if "LANEWISE_TEST_VICTIM" in os.environ:
            return True
        folder = os.path.dirname(os.environ["LANEWISE_TEST_RUNS"])
        return any(os.path.exists(os.path.join(folder, "hold " + what)) for what in ("all", latency))

    def run_or_die(name, overrides, *others):
        latency, host = dict(overrides)["sw0.latency"], os.getppid()
        with open(os.environ["LANEWISE_TEST_RUNS"], "a") as runs:
            runs.write(latency + "\\n")
        if "LANEWISE_TEST_VICTIM" in os.environ:
            os.remove(os.environ["LANEWISE_TEST_VICTIM"])
        while is_held(latency) and os.getppid() == host:
            time.sleep(0.01)
        if ("sw0.latency", "666 ns") in overrides:
            os.kill(os.getpid(), 9)
        if ("sw0.latency", "667 ns") in overrides:
            os.kill(os.getppid(), 9)
        return run(name, overrides, *others)

    _core.run = run_or_die
"""
"""Runs where a node starts Python: points are counted, 666 ns ends its process, and 667 ns the host.

A point is held while there is a file for it, or one for all, and as long as its host lives. A node that is a
victim lets all others go once it has a point, and never finishes that.
"""


@dataclass
class Nodes:
    """A cluster, and what its nodes are told."""

    cluster: Any
    runs_file: Path
    environment: dict[str, str]
    client_port: int
    """Drivers that are outside of the cluster connect there."""

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def add(self, **more: str) -> Any:
        return self.cluster.add_node(num_cpus=1, env_vars=self.environment | more)

    def hold(self, what: str) -> Path:
        """Hold a point, or all of them, until the file is removed."""
        held = self.runs_file.with_name(f"hold {what}")
        held.touch()
        return held

    def runs(self) -> Counter[str]:
        """Return how often each point was begun since the last call."""
        begun = Counter(self.runs_file.read_text().splitlines())
        self.runs_file.write_text("")
        return begun


def free_port() -> int:
    """Return a port that nothing listens on."""
    with socket.socket() as listener:
        listener.bind(("", 0))
        return int(listener.getsockname()[1])
