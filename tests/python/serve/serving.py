"""A server in a process of its own, and what its clients need."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RIG = """
title = "A card that writes"
[host.server]
slots = { slot1 = "gen3 x8" }
[endpoint.nic]
attach = "server.slot1"
generation = "gen3"
width = "x8"
[[workload]]
kind = "dma"
device = "nic"
direction = "write"
"""

COMMAND = (sys.executable, "-c", "from lanewise.cli import main; main()", "serve")

# Both go on for as long as it takes to warm up.
LONG = RIG + '[run]\nwarm_up = "9 s"\ntime_limit = "10 s"\nevent_limit = 1000000000000\n'
SECONDS = RIG + '[run]\nwarm_up = "90 ms"\ntime_limit = "100 ms"\n'


@dataclass
class Server:
    """One that runs."""

    process: subprocess.Popen[str]
    address: str

    @property
    def client(self) -> httpx.Client:
        """A client of it."""
        return httpx.Client(base_url=self.address, timeout=60)

    @property
    def sockets(self) -> str:
        """Where its WebSockets are."""
        return self.address.replace("http", "ws", 1)

    def kill(self) -> None:
        """End it as nothing can prevent."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def served(folder: Path, *options: str) -> Iterator[Server]:
    """Serve for a while, from a free port."""
    command = (*COMMAND, "--port", "0", "--folder", str(folder), *options)
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout is not None
    assert process.stderr is not None
    try:
        address = process.stdout.readline().strip().rstrip("/")
        assert address, process.stderr.read()
        yield Server(process, address)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=20)
        process.stdout.close()
        process.stderr.close()


def until_over(client: httpx.Client, name: str) -> dict[str, object]:
    """Ask for a run until it is over."""
    while True:
        state: dict[str, object] = client.get(f"/api/runs/{name}").json()
        if state["state"] in ("done", "failed", "cancelled"):
            return state
        time.sleep(0.02)


def started(client: httpx.Client, scenario: str, **options: object) -> str:
    """Start a run; return its name."""
    answer = client.post("/api/runs", json={"scenario": scenario, **options})
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def message_of(answer: httpx.Response) -> str:
    """Return what an answer says is wrong."""
    document = answer.json()
    assert document["format"] == 1
    assert document["status"] == 2
    return str(document["errors"][0]["message"])
