"""Instructions of the core for each hop, counted by valgrind: a slow-down shows on a busy machine, too.

Usage: python .ci/instructions.py [--update]

Each case of ``crates/fabric/examples/speed.rs`` runs for a short and for a longer time. The difference, for
each TLP over one link, leaves out what starting costs. The counts are compared with those that
``benches/instructions.csv`` has for this very compiler and profile: one that is more than two hundredths
larger is a failure. ``--update`` writes those of this machine there.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "benches" / "instructions.csv"
COLUMNS = ["compiler", "profile", "case", "instructions_per_hop"]
CASES = {"chain": (200, 600), "mixed": (60, 180), "tree512": (24, 36), "tree4096": (3, 6)}
"""Simulated microseconds of the short and the longer run.

In the tree of 512, reads fill the root complex for the first 20: there every hop would pay for completions
that others make later.
"""
TOLERANCE = 0.02
SKIPPED = 77
"""Exit status of a check that was not made, for ``.ci/once``."""

_COUNTED = re.compile(r"I\s+refs:\s+([\d,]+)")
_HOPS = re.compile(r"(\d+) hops in ")


def main() -> int:
    """Count, and compare or write; 1 when a case got slower, `SKIPPED` where nothing can be compared."""
    if shutil.which("valgrind") is None:
        print("valgrind is not installed")
        return SKIPPED
    compiler, profile = _compiler(), "yes" if "profile-use" in os.environ.get("RUSTFLAGS", "") else "no"
    rows = list(csv.DictReader(TABLE.read_text(encoding="utf-8").splitlines())) if TABLE.exists() else []
    before = {
        row["case"]: float(row["instructions_per_hop"]) for row in rows if _is_of(row, compiler, profile)
    }
    update = "--update" in sys.argv[1:]
    if not before and not update:
        print(f"benches/instructions.csv has no counts of {compiler}, profile: {profile}")
        return SKIPPED
    program = _built()
    counts = _per_hop(program)
    if update:
        _write([row for row in rows if not _is_of(row, compiler, profile)], compiler, profile, counts)
        return 0
    slower = {case for case in CASES if counts[case] > before[case] * (1 + TOLERANCE)}
    for case in CASES:
        change = 100 * (counts[case] / before[case] - 1)
        verdict = " SLOWER" if case in slower else ""
        print(f"{case}: {counts[case]:.0f} instructions a hop, {change:+.1f} %{verdict}")
    return 1 if slower else 0


def _is_of(row: dict[str, str], compiler: str, profile: str) -> bool:
    return (row["compiler"], row["profile"]) == (compiler, profile)


def _compiler() -> str:
    told = subprocess.run(["rustc", "-vV"], check=True, capture_output=True, text=True).stdout
    found = dict(line.split(": ", 1) for line in told.splitlines() if ": " in line)
    return f"{found['release']}-{found['LLVM version']}-{found['host']}"


def _built() -> Path:
    """Build the program, with the flags of the core, and return where it is.

    Naming the package of the core, too, makes features of dependencies what they are there. Otherwise symbols
    have other names, and a profile that was counted in the core says nothing about them.
    """
    command = ["cargo", "build", "--quiet", "--release", "-p", "lanewise-fabric", "-p", "lanewise-python"]
    command += ["--example", "speed"]
    subprocess.run(command, check=True, cwd=ROOT)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "examples" / "speed"


def _per_hop(program: Path) -> dict[str, float]:
    """Run all cases, as many at a time as there are cores: counts do not depend on what runs beside."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = {
            case: [pool.submit(_count, program, case, simulated_us) for simulated_us in both]
            for case, both in CASES.items()
        }
    counts = {}
    for case, (short, longer) in runs.items():
        (few, fewer_hops), (many, more_hops) = short.result(), longer.result()
        counts[case] = (many - few) / (more_hops - fewer_hops)
    return counts


def _count(program: Path, case: str, simulated_us: int) -> tuple[int, int]:
    """Run a case; return its instructions and hops."""
    command = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    done = subprocess.run(
        [*command, str(program), case, str(simulated_us)], check=True, capture_output=True, text=True
    )
    counted, hops = _COUNTED.search(done.stderr), _HOPS.search(done.stdout)
    if counted is None or hops is None:
        raise SystemExit(f"{case}: no count in\n{done.stdout}{done.stderr}")
    return int(counted[1].replace(",", "")), int(hops[1])


def _write(others: list[dict[str, str]], compiler: str, profile: str, counts: dict[str, float]) -> None:
    own = [
        dict(zip(COLUMNS, (compiler, profile, case, f"{count:.1f}"), strict=True))
        for case, count in counts.items()
    ]
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*others, *own])
    print(f"{TABLE.relative_to(ROOT)}: " + ", ".join(f"{case} {count:.0f}" for case, count in counts.items()))


if __name__ == "__main__":
    sys.exit(main())
