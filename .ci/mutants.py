"""Change the protocol code bit by bit, and see whether its tests notice: what `make mutants` runs.

Usage: python .ci/mutants.py [--shard K/N] [pcie|link ...]

Each part is tested by the tests that are about it, and by no others: a change of a rule is to be seen where
the rule is tested. A change that no test sees is a survivor. Those that need none are listed in
``docs/explanation/mutants.md`` with the reason; any other is printed, and makes this fail. What is listed
although a test sees it is printed, too.

``--shard 0/8`` runs every eighth mutant from the first on, ``1/8`` from the second on, and so forth. What
cargo-mutants says of each is below ``target/mutants``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
LIST = ROOT / "docs" / "explanation" / "mutants.md"
OUT = ROOT / "target" / "mutants"

PARTS = {
    "pcie": ("lanewise-pcie", "crates/pcie/src/**/*.rs", ["--lib"]),
    "link": (
        "lanewise-fabric",
        "crates/fabric/src/link/**/*.rs",
        ["--lib", "--test=link", "--test=reference"],
    ),
}
"""Package, files that are changed, and the targets whose tests are about them."""

QUICKLY = [
    "--config=profile.dev.package.{package}.opt-level=1",
    "--config=profile.dev.package.{package}.codegen-units=16",
]
"""Each mutant is a build of its package: what compiles quickly ends sooner than what runs fast."""

FIXED = {
    "PROPTEST_RNG_SEED": "1",
    "PROPTEST_DISABLE_FAILURE_PERSISTENCE": "true",
    "PROPTEST_MAX_SHRINK_ITERS": "0",
}
"""Random cases are the same for each mutant, and the first that fails will do."""

OUTCOMES = {
    "CaughtMutant": "caught",
    "Timeout": "timeouts",
    "Unviable": "unviable",
    "MissedMutant": "survivors",
}

Mutant = tuple[str, str, str]
"""File, function, and the line with what is put in place of what."""


def main() -> int:
    """Run the parts that are asked for; 1 when there is a survivor that is not listed."""
    parser = argparse.ArgumentParser(description="Run mutants of the protocol code.")
    parser.add_argument("parts", nargs="*", metavar="part", help="pcie, link; both when none is named")
    parser.add_argument("--shard", metavar="K/N", help="every Nth mutant, from the Kth on")
    asked = parser.parse_args()
    if unknown := set(asked.parts) - set(PARTS):
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    if shutil.which("cargo-mutants") is None:
        print("make mutants needs 'cargo install cargo-mutants --locked'.", file=sys.stderr)
        return 1
    listed = explained()
    seen: dict[Mutant, str] = {}
    for part in asked.parts or PARTS:
        run(part, asked.shard)
        outcomes = outcomes_of(part)
        counts = Counter(outcomes.values())
        print(
            f"{part}: {len(outcomes)} mutants, "
            + ", ".join(f"{counts[kind]} {kind}" for kind in OUTCOMES.values())
        )
        # Where a line has two places alike, the worse outcome is that of both.
        for (mutant, _), outcome in outcomes.items():
            seen[mutant] = outcome if seen.get(mutant) != "survivors" else "survivors"
    for mutant, outcome in seen.items():
        if outcome in ("caught", "unviable") and mutant in listed:
            print(f"listed, and {outcome}: {_shown(mutant)}")
    fresh = [mutant for mutant, outcome in seen.items() if outcome == "survivors" and mutant not in listed]
    for mutant in fresh:
        print(f"survives, and is not listed in {LIST.relative_to(ROOT)}: {_shown(mutant)}")
    return 1 if fresh else 0


def run(part: str, shard: str | None) -> None:
    """Let cargo-mutants test the mutants of a part."""
    package, files, targets = PARTS[part]
    (OUT / part).mkdir(parents=True, exist_ok=True)
    command = ["cargo", "mutants", "--package", package, "--file", files]
    command += ["--output", str(OUT / part), "--no-times"]
    settings = [setting.format(package=package) for setting in QUICKLY]
    command += [f"--cargo-arg={argument}" for argument in [*settings, *targets]]
    if shard:
        command += ["--shard", shard, "--sharding", "round-robin"]
    # It fails when anything survives; which survivors matter is decided here.
    done = subprocess.run(command, check=False, cwd=ROOT, env=os.environ | FIXED)
    if done.returncode not in (0, 2, 3):
        raise SystemExit(f"cargo mutants failed on {part}: its exit status is {done.returncode}")


def outcomes_of(part: str) -> dict[tuple[Mutant, str], str]:
    """Return what became of each mutant of the last run, by what it is and its place."""
    results = json.loads((OUT / part / "mutants.out" / "outcomes.json").read_text(encoding="utf-8"))
    found = {}
    for outcome in results["outcomes"]:
        if outcome["scenario"] != "Baseline":
            mutant = outcome["scenario"]["Mutant"]
            found[described(mutant), mutant["name"]] = OUTCOMES[outcome["summary"]]
    return found


def described(mutant: dict[str, Any]) -> Mutant:
    """Name a mutant so that the name stays when lines are added elsewhere in its file."""
    function = (mutant["function"] or {}).get("function_name", "")
    if mutant["genre"] == "FnValue":
        return mutant["file"], function, f"→ {mutant['replacement']}"
    start, end = mutant["span"]["start"], mutant["span"]["end"]
    lines = (ROOT / mutant["file"]).read_text(encoding="utf-8").splitlines()
    first, last = lines[start["line"] - 1], lines[end["line"] - 1]
    before, after = first[: start["column"] - 1].lstrip(), last[end["column"] - 1 :].rstrip()
    gone = first[start["column"] - 1 : end["column"] - 1] if first is last else first[start["column"] - 1 :]
    replacement = re.sub(r"\s*/\*.*?\*/\s*", "", mutant["replacement"])
    return mutant["file"], function, f"{before}⟦{gone} → {replacement}⟧{after if first is last else ''}"


def explained() -> set[Mutant]:
    """Survivors that are listed: rows of tables below a heading with the name of their file."""
    found: set[Mutant] = set()
    file = ""
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if heading := re.fullmatch(r"#+ `(.+\.rs)`", line):
            file = heading[1]
        cells = [cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)]
        if file and len(cells) == 5 and cells[2].startswith("`"):
            found.add((file, cells[1].strip("`"), cells[2].strip("`")))
    return found


def _shown(mutant: Mutant) -> str:
    file, function, change = mutant
    return f"{file}, {function}: {change}"


if __name__ == "__main__":
    sys.exit(main())
