"""How fast other simulators do the same job, beside `lanewise bench`, in one run on one machine.

    make peers

Each peer is a small program of ours in `peers/`: posted writes of 256 B go up a chain, or a tree of
switches, with credits, Acks and UpdateFCs, and nothing else. Lanewise does far more for each hop, and in
the two larger jobs reads as well as writes. So the order of magnitude counts. A peer whose tools are not
there is named and left out.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).parent / "peers"
BUILT = Path(__file__).parent.parent / "target" / "peers"
JOBS = {"chain": "chain", "8 endpoints": "mixed", "512 endpoints": "tree512"}


def run(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")
    return done.stdout


def lanewise() -> list[dict[str, Any]]:
    answer = json.loads(run(Path(sys.executable).parent / "lanewise", "bench", "--json"))
    found = {row["name"]: row for row in answer["benchmarks"]}
    rows = ((job, found[name]) for job, name in JOBS.items())
    return [{"job": job, "hops": row["tlp_hops"], "wall_s": row["wall_s"]} for job, row in rows]


def lines(*command: str | Path) -> list[dict[str, Any]]:
    """Return what a peer prints: one JSON object a line, after whatever else its tools say."""
    return [json.loads(line) for line in run(*command).splitlines() if line.startswith("{")]


def heap() -> list[dict[str, Any]]:
    BUILT.mkdir(parents=True, exist_ok=True)
    run("rustc", "--edition=2024", "-O", HERE / "heap.rs", "-o", BUILT / "heap")
    return lines(BUILT / "heap")


def nexosim() -> list[dict[str, Any]]:
    manifest = HERE / "nexosim" / "Cargo.toml"
    return lines("cargo", "run", "--quiet", "--release", "--manifest-path", manifest, "--target-dir", BUILT)


def simpy() -> list[dict[str, Any]]:
    return lines(sys.executable, HERE / "simpy_tree.py")


def cocotbext() -> list[dict[str, Any]]:
    return lines(sys.executable, HERE / "cocotbext_chain.py")


PEERS = {
    "Lanewise": (lanewise, "cargo"),
    "a binary heap in a loop (Rust)": (heap, "rustc"),
    "NeXosim (Rust), one thread": (nexosim, "cargo"),
    "SimPy (Python)": (simpy, "python3"),
    "cocotbext-pcie (Python)": (cocotbext, "iverilog"),
}


def main() -> None:
    table = Table("thousand TLP hops a second", title="Beside others, on one core of this machine")
    for job in JOBS:
        table.add_column(job, justify="right")
    for name, (measure, tool) in PEERS.items():
        if not shutil.which(tool):
            print(f"{name} is left out: there is no '{tool}'.", file=sys.stderr)
            continue
        rates = {row["job"]: row["hops"] / row["wall_s"] / 1e3 for row in measure()}
        table.add_row(name, *(f"{rates[job]:,.1f}" if job in rates else "" for job in JOBS))
    Console().print(table)


if __name__ == "__main__":
    main()
