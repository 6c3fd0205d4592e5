"""Runs the commands that the documentation shows, and keeps their outputs as they are today.

A page shows a command and what it printed in a ``console`` block:

    $ lanewise run rig.toml
    ...output...

and gives the files that its commands need in ``toml`` blocks that carry a file name. Commands run in a
scratch folder in which these files and the repository's ``scenarios``, ``experiments`` and ``catalog`` lie.
The README's table of results stands between two comments and is made from ``lanewise reproduce``.

    .venv/bin/python docs/examples.py           rewrite the outputs and the table
    .venv/bin/python docs/examples.py --check   say which outputs are not what would be printed now
"""

from __future__ import annotations

import argparse
import difflib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = ("README.md", "ARCHITECTURE.md", "docs/tutorials/*.md", "docs/how-to/*.md", "docs/explanation/*.md")
LINKED = ("scenarios", "experiments", "catalog")
BLOCK = re.compile(
    r"^```(?P<kind>toml|console)(?: (?P<name>\S+))?\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
)
TABLE = re.compile(r"(?<=<!-- reproduce )(?P<id>\S+)( -->\n).*?(?=<!-- end -->)", re.DOTALL)


def pages() -> list[Path]:
    """Return every page that may show commands."""
    return [page for pattern in PAGES for page in sorted(ROOT.glob(pattern))]


def refreshed(text: str, *, with_tables: bool) -> str:
    """Return a page with every output, and the tables if asked for, as they are printed now."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        for name in LINKED:
            (folder / name).symlink_to(ROOT / name)

        def block(match: re.Match[str]) -> str:
            if match["kind"] == "toml":
                if match["name"]:
                    (folder / match["name"]).parent.mkdir(exist_ok=True)
                    (folder / match["name"]).write_text(match["body"], encoding="utf-8")
                return match[0]
            commands = [line for line in match["body"].splitlines() if line.startswith("$ ")]
            return "```console\n" + "\n".join(_shown(command, folder) for command in commands) + "```"

        text = BLOCK.sub(block, text)
    if not with_tables:
        return text
    return TABLE.sub(lambda match: match["id"] + match[2] + results_table(match["id"]), text)


def results_table(what: str) -> str:
    """Return the cells of an experiment, published beside simulated, or a line for each with ``all``."""
    experiments = json.loads(
        _run(f"lanewise reproduce {what if what != 'all' else ''} --no-report --json", ROOT)
    )["experiments"]
    return _summary(experiments) if what == "all" else _cells(experiments[0])


def _summary(experiments: list[dict[str, Any]]) -> str:
    lines = [
        "| experiment | predicted cells: median, worst error | predicted changes, in points | claims |",
        "|---|---|---|---|",
    ]
    for document in experiments:
        predicted = [cell for cell in document["cells"] if cell["role"] == "predicted"]
        points = [cell["error_points"] for cell in predicted if cell["error_points"] is not None]
        claims = [cell["within_band"] for cell in predicted if cell["between"] is not None]
        percent = [
            cell["error_percent"]
            for cell in predicted
            if cell["error_points"] is None and cell["between"] is None and cell["error_percent"] is not None
        ]
        held = f"{sum(claims)} of {len(claims)} hold" if claims else "\N{EN DASH}"
        columns = [_errors(percent, " %"), _errors(points, ""), held]
        lines.append(f"| {document['id']}: {document['title']} | {' | '.join(columns)} |")
    return "\n".join(lines) + "\n"


def _errors(errors: list[float], unit: str) -> str:
    """Write how many there are, the median and the largest; only the error itself where there is one."""
    sizes = [abs(error) for error in errors]
    if len(sizes) < 2:
        return f"1: {sizes[0]:.1f}{unit}" if sizes else "\N{EN DASH}"
    return f"{len(sizes)}: {median(sizes):.1f}{unit}, {max(sizes):.1f}{unit}"


def _cells(document: dict[str, Any]) -> str:
    # A change between two cells is said by them already.
    cells = [cell for cell in document["cells"] if cell["error_points"] is None]
    unit = cells[0]["unit"]
    lines = [f"| cell | published, {unit} | simulated, {unit} | error | |", "|---|---:|---:|---:|---|"]
    for cell in cells:
        role = {
            "predicted": "predicted; host or drives fitted on other cells"
            if cell["fitted_on"]
            else "predicted; nothing fitted",
            "calibrated": "fitted on this cell",
        }[cell["role"]]
        numbers = f"{cell['published']:,.6g} | {cell['simulated']:,.0f} | {cell['error_percent']:+z.1f} %"
        lines.append(f"| {cell['cell']} | {numbers} | {role} |")
    median = document["predicted_median_abs_error_percent"]
    worst = document["predicted_worst_abs_error_percent"]
    lines += ["", f"Error of the predicted cells: median {median:.1f} %, worst {worst:.1f} %.", ""]
    return "\n".join(lines)


def _shown(command: str, folder: Path) -> str:
    printed = _run(command.removeprefix("$ "), folder)
    lines = [line.rstrip() for line in printed.splitlines()]
    return "\n".join([command, *lines]).rstrip() + "\n"


def _run(command: str, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode > 2:
        raise SystemExit(f"{command}: exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def main() -> int:
    """Rewrite the pages, or compare them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit status 1 when a page is stale"
    )
    parser.add_argument("pages", nargs="*", type=Path, help="only these pages")
    options = parser.parse_args()
    stale = 0
    for page in options.pages or pages():
        before = page.read_text(encoding="utf-8")
        after = refreshed(before, with_tables=not options.check)
        if after == before:
            continue
        stale += 1
        if options.check:
            name = str(page.resolve().relative_to(ROOT))
            lines = difflib.unified_diff(
                before.splitlines(), after.splitlines(), name, "printed now", lineterm=""
            )
            print("\n".join(lines))
        else:
            page.write_text(after, encoding="utf-8")
    if options.check and stale:
        print("\nrun '.venv/bin/python docs/examples.py' and review what changed")
    return 1 if options.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
