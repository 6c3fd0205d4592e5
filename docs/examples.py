"""Runs the commands that the documentation shows, and keeps their outputs as they are today.

A page shows a command and what it printed in a ``console`` block:

    $ lanewise run rig.toml
    ...output...

and gives the files that its commands need in ``toml`` and ``csv`` blocks that carry a file name. Commands
run in a scratch folder in which these files and the repository's ``scenarios``, ``experiments``,
``examples`` and ``catalog`` lie. So does Python in ``python`` blocks, each after those before it on the page.
Tables of results stand between two comments and are made from ``lanewise reproduce``.

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
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    *("README.md", "ARCHITECTURE.md", "docs/tutorials/*.md", "docs/how-to/*.md"),
    *("docs/rigs/*.md", "docs/explanation/*.md"),
)
LINKED = ("scenarios", "experiments", "examples", "catalog")
BLOCK = re.compile(
    r"^```(?P<kind>toml|csv|console|python)(?: (?P<name>\S+))?\n(?P<body>.*?)^```$", re.DOTALL | re.MULTILINE
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

        code: list[str] = []
        not_run_yet = False

        def run_code() -> None:
            nonlocal not_run_yet
            if not_run_yet:
                _run_python("\n".join(code), folder)
            not_run_yet = False

        def block(match: re.Match[str]) -> str:
            nonlocal not_run_yet
            if match["kind"] == "python":
                code.append(match["body"])
                not_run_yet = True
                return match[0]
            # Blocks that follow one another run in one process, and before what comes next can change files.
            run_code()
            if match["kind"] in ("toml", "csv"):
                if match["name"]:
                    (folder / match["name"]).parent.mkdir(exist_ok=True)
                    (folder / match["name"]).write_text(match["body"], encoding="utf-8")
                return match[0]
            commands = [line for line in match["body"].splitlines() if line.startswith("$ ")]
            return "```console\n" + "\n".join(_shown(command, folder) for command in commands) + "```"

        text = BLOCK.sub(block, text)
        run_code()
    if not with_tables:
        return text
    return TABLE.sub(lambda match: match["id"] + match[2] + results_table(match["id"]), text)


def results_table(what: str) -> str:
    """Return the cells of an experiment, a line for each experiment (``all``), or the sums (``headline``)."""
    tables = {"all": _summary, "headline": _headline}
    document = json.loads(
        _run(f"lanewise reproduce {'' if what in tables else what} --no-report --json", ROOT)
    )
    return tables[what](document) if what in tables else _cells(document["experiments"][0])


def _summary(document: dict[str, Any]) -> str:
    lines = [
        "| experiment | predicted cells: median, worst error (null model) | "
        "predicted changes, in points | claims | selected |",
        "|---|---|---|---|---:|",
    ]
    for each in document["experiments"]:
        predicted = [cell for cell in each["cells"] if cell["role"] == "predicted"]
        claims = [cell["within_band"] for cell in predicted if cell["between"] is not None]
        held = f"{sum(claims)} of {len(claims)} hold" if claims else "\N{EN DASH}"
        selected = sum(cell["role"] == "selected" for cell in each["cells"]) or "\N{EN DASH}"
        columns = [
            _errors(each["headline"][unit]["all"], sign) for unit, sign in (("percent", " %"), ("points", ""))
        ]
        lines.append(f"| {each['id']}: {each['title']} | {' | '.join(columns)} | {held} | {selected} |")
    return "\n".join([*lines, "", _headline(document)])


def _headline(document: dict[str, Any]) -> str:
    """Sum up all experiments in a list."""
    headline = document["headline"]
    said = []
    for unit, name, sign in (("percent", "cells", " %"), ("points", "changes", " points")):
        group = headline[unit]
        for part, words in (
            ("all", f"predicted {name}"),
            (
                "where_they_differ",
                f"of them on which simulation and null model differ by more than 0.5{sign}",
            ),
            ("without_exact", "of them that are not exact by construction"),
        ):
            if group[part]["cells"] and (part == "all" or group[part]["cells"] < group["all"]["cells"]):
                said.append(f"- {group[part]['cells']} {words}: {_beside_null(group[part], sign)}")
    claims, misses = headline["claims"], headline["misses"]
    said.append(f"- {claims['hold']} of {claims['cells']} predicted claims hold")
    said.append(f"- outside their band, and counted: {', '.join(misses) or 'none'}")
    beside = document["selected"]["percent"]["all"]
    said.append(f"- beside the headline {beside['cells']} selected cells: {_beside_null(beside, ' %')}")
    for role, name in (("calibrated", "calibrated cells"), ("identity", "identities")):
        apart = document[role]
        outside = f"{len(apart['misses'])} of {apart['judged']} with a band outside it"
        which = f": {', '.join(apart['misses'])}" if apart["misses"] else ""
        said.append(f"- in no headline {apart['cells']} {name}, {outside}{which}")
    return "\n".join(said) + "\n"


def _errors(all_: dict[str, Any], sign: str) -> str:
    """Write how many there are, the median and the largest, and behind it those of the null models."""
    if not all_["cells"]:
        return "\N{EN DASH}"
    null = ""
    if all_["null_cells"]:
        null = f" ({all_['null_median']:.1f}{sign}, {all_['null_worst']:.1f}{sign})"
    return f"{all_['cells']}: {all_['median']:.1f}{sign}, {all_['worst']:.1f}{sign}{null}"


def _beside_null(all_: dict[str, Any], sign: str) -> str:
    said = f"median {all_['median']:.2f}, worst {all_['worst']:.2f}{sign}"
    if not all_["null_cells"]:
        return said
    of = "" if all_["null_cells"] == all_["cells"] else f" of {all_['null_cells']}"
    return f"{said}; null model{of}: median {all_['null_median']:.2f}, worst {all_['null_worst']:.2f}{sign}"


def _cells(document: dict[str, Any]) -> str:
    # A change between two cells is said by them already.
    cells = [cell for cell in document["cells"] if cell["error_points"] is None and cell["published"]]
    unit = cells[0]["unit"]
    lines = [
        f"| cell | published, {unit} | simulated, {unit} | error | null model | |",
        "|---|---:|---:|---:|---:|---|",
    ]
    for cell in cells:
        rests = "host or drives fitted on other cells" if cell["fitted_on"] else "nothing fitted"
        role = {
            "predicted": f"predicted; {rests}",
            "selected": f"selected; {rests}",
            "calibrated": "fitted on this cell",
            "identity": "algebra of other cells",
        }[cell["role"]]
        null = "\N{EN DASH}" if cell["null_error"] is None else f"{cell['null_error']:+z.1f} %"
        numbers = (
            f"{cell['published']:,.6g} | {cell['simulated']:,.0f} | {cell['error_percent']:+z.1f} % | {null}"
        )
        lines.append(f"| {cell['cell']} | {numbers} | {role} |")
    lines += [
        "",
        f"Error of the predicted cells: {_beside_null(document['headline']['percent']['all'], ' %')}.",
        "",
    ]
    return "\n".join(lines)


def _shown(command: str, folder: Path) -> str:
    printed = _run(command.removeprefix("$ "), folder)
    lines = [line.rstrip() for line in printed.splitlines()]
    return "\n".join([command, *lines]).rstrip() + "\n"


def _run_python(code: str, folder: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{code}\n{done.stdout}{done.stderr}")


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
