"""Simulates what others measured and published, and says how far off it is.

Each file of ``sets/`` is one public data set: where it is, what was measured, and for each cell whether a
default or a part of the catalog was chosen with its number in view (*used*) or not (*unseen*). A case is a
template of ``templates/`` with parts filled in and parameters set to what the source says of the machine;
nothing else is set. Nothing is fitted here.

Run ``python validation/validate.py`` with the package installed; ``--json`` for a machine, names of sets for
a few of them, ``--page docs/explanation/validation.md`` to write the tables of the documentation.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tempfile
import tomllib
from dataclasses import asdict, dataclass
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import lanewise

if TYPE_CHECKING:
    from lanewise.documents import LimitedBy

HERE = Path(__file__).parent
WITHIN = (3, 5, 10)
"""Shares of cells whose error is at most so many percent are printed."""

TO_UNIT = {
    "GB/s": 1.0,
    "Gb/s": 8.0,
    "MB/s": 1e3,
    "MiB/s": 1e9 / 2**20,
    "GiB/s": 1e9 / 2**30,
    "Mpps": 1e-6,
    "kIOPS": 1e-3,
    "IOPS": 1.0,
    "us": 1e-3,
    "ns": 1.0,
}
"""From GB/s, operations a second, and ns to what a source prints."""
ROLES = ("used", "unseen")
COMPONENTS = ("host", "device")
"""What a source may leave unnamed: the machine with its cores, or adapter, drive or GPU."""
LATENCIES = ("us", "ns")
"""Units of latencies, which every component of the way has a part in."""
COPY = """[[workload]]
kind = "copy"
name = "{name}"
device = "{device}"
target = "{target}"
direction = "peer"
by = "{by}"
size = "1 GiB"
"""
"""A copy from one GPU to another."""
PEER_COPIES = """[[workload]]
kind = "peer_copies"
name = "copies"
devices = {devices}
pairs = {pairs}
waits_for = "{waits_for}"
size = "{size}"
"""
"""Copies between pairs of GPUs in the order in which a program issues them."""
WIRES = ("wire", "wire_beyond", "cxl_wire")
"""Limits that a source names with generation, width or network."""
WAITS = ("window", "demand")
"""Limits that are latencies: so much is outstanding, or one thing is asked for after another."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One number of a data set, and what is simulated for it."""

    set: str
    case: str
    group: str
    """What kind of measurement: gpu copy, peers, dma, rdma, nvme, mmio."""
    role: str
    unit: str
    measured: float
    tolerance_percent: float
    """How far the source's own numbers for the same thing are apart, or 3 %."""
    simulated: float
    limited_by: str
    open: str
    """The component that decides the cell and is not named; see `open_component`."""
    why: str
    """What is known about a large error."""

    @property
    def error_percent(self) -> float:
        """Simulated over measured, less one, in percent."""
        return 100 * (self.simulated / self.measured - 1)


class Simulations:
    """Runs scenarios; equal ones once."""

    def __init__(self, folder: Path) -> None:
        """Write scenarios into `folder`."""
        self.folder = folder
        self.results: dict[str, lanewise.RunResult] = {}

    def run(self, template: str, text: str, settings: dict[str, Any]) -> lanewise.RunResult:
        """Run a template that is filled in, with parameters set."""
        overrides = {
            path: str(value).lower() if isinstance(value, bool) else str(value)
            for path, value in settings.items()
        }
        key = json.dumps([text, overrides], sort_keys=True)
        if key not in self.results:
            path = self.folder / f"{template}.toml"
            path.write_text(text)
            self.results[key] = lanewise.run(path, overrides=overrides)
        return self.results[key]


def filled_in(template: str, parts: dict[str, Any]) -> str:
    """Return a template with its parts; flows of a case stand there as workloads.

    With `waits_for` they are one loop of a program, which issues them in their order.
    """
    given = dict(parts)
    if isinstance(given.get("flows"), str):
        flows = pairs_of(given["flows"])
        each = int(given["each"])
        given["flows"] = issued(flows, each, given) if "waits_for" in given else copies(flows, each)
    return Template((HERE / "templates" / f"{template}.toml").read_text()).substitute(given)


def pairs_of(flows: str) -> list[tuple[int, str, int]]:
    """Return who copies to whom of ``0>4 1>6`` or ``0-7>0-7``, each as written: one, sign, other.

    A range stands for each of its GPUs with each of the other side's, itself left out. ``0<4`` is a copy from
    4 to 0 that 0 asks for: reads.
    """
    pairs = []
    for flow in flows.split():
        sign = ">" if ">" in flow else "<"
        ends = [[int(end) for end in side.split("-")] for side in flow.split(sign)]
        ones, others = (range(end[0], end[-1] + 1) for end in ends)
        pairs += [(one, sign, other) for one in ones for other in others if one != other]
    return pairs


def copies(pairs: list[tuple[int, str, int]], each: int) -> str:
    """Return a copy for each pair, all at once, with `each` GPUs to a switch."""
    return "\n".join(
        COPY.format(
            name=f"copy_{one}_{other}",
            device=gpu_of(one, each),
            target=gpu_of(other, each),
            by="write" if sign == ">" else "read",
        )
        for one, sign, other in pairs
    )


def issued(pairs: list[tuple[int, str, int]], each: int, given: dict[str, Any]) -> str:
    """Return a loop that copies from the first of each pair to the second (``0>4``), or back (``0<4``)."""
    ways = [(one, other) if sign == ">" else (other, one) for one, sign, other in pairs]
    return PEER_COPIES.format(
        devices=json.dumps([f"gpu_{group}[*]" for group in "abcd"]),
        pairs=json.dumps([f"{source}>{target}" for source, target in ways]),
        waits_for=given["waits_for"],
        size=given.get("size", "1 MiB"),
    )


def gpu_of(number: int, each: int) -> str:
    """Return the name of a GPU in ``peers_behind_switches.toml``."""
    return f"gpu_{'abcd'[number // each]}[{number % each}]"


def read_out(result: lanewise.RunResult, what: str, unit: str) -> float:
    """Return a result in a unit; `what` names a flow's direction, a metric, or one of the words below.

    ``latency`` is of the flow with most operations, ``latency read`` of that of reads.
    """
    flows = [flow for flow in result.document["flows"] if flow["direction"] != "control"]
    scale = TO_UNIT[unit]
    if what == "rate":
        return scale * result.goodput_gb_per_s
    if what == "operations":
        return scale * sum(flow["operations_per_s"] for flow in flows)
    if what.startswith("latency"):
        direction = what.removeprefix("latency").strip()
        flows = [flow for flow in flows if direction in ("", flow["direction"])]
        flow = max(flows, key=lambda flow: flow["operations"])
        latency = flow["operation_latency_ns"] or flow["latency_ns"]
        return scale * float(latency["mean"])
    if what.startswith("metric "):
        name = what.removeprefix("metric ")
        metrics = {row["metric"]: row["value"] for row in result.instruments.iter_rows(named=True)}
        return float(next(value for metric, value in metrics.items() if metric.startswith(name)))
    return scale * sum(flow["goodput_gb_per_s"] for flow in flows if flow["direction"] == what)


def open_component(not_named: list[str], template: dict[str, Any], unit: str, limit: LimitedBy | None) -> str:
    """Return the component that decides a result and that the source does not name, or an empty string.

    `not_named` are those of the data set for which others stand. Each of them has a part in a latency. A
    rate is decided by what limits it: a wire's is given; the host's are its cores and parts; all else is the
    device's.
    """
    if unit in LATENCIES or (limit and limit["kind"] in WAITS):
        return " and ".join(not_named)
    if limit is None or limit["kind"] in WIRES:
        return ""
    owner = limit["name"].split(".")[0]
    of_host = [*template["host"], *(load["name"] for load in template["workload"])]
    component = "host" if owner in of_host else "device"
    return component if component in not_named else ""


def cells_of(path: Path, simulations: Simulations) -> list[Cell]:
    """Simulate one data set."""
    data = tomllib.loads(path.read_text())
    cells = []
    for case in data["case"]:
        for cell in case["cell"]:
            role = cell.get("role", case.get("role", data["role"]))
            if role not in ROLES:
                raise ValueError(f"{path.name}: role {role!r} is neither of {ROLES}")
            settings = data.get("set", {}) | case.get("set", {}) | cell.get("set", {})
            parts = case.get("with", {}) | cell.get("with", {})
            text = filled_in(case["template"], parts)
            result = simulations.run(case["template"], text, settings)
            limit = result.document["limited_by"]
            template = tomllib.loads(text)
            cells.append(
                Cell(
                    set=data["id"],
                    case=f"{case['name']}, {cell['name']}".strip(", "),
                    group=case.get("group", data["group"]),
                    role=role,
                    unit=cell["unit"],
                    measured=cell["measured"],
                    tolerance_percent=100 * cell.get("tolerance", case.get("tolerance", 0.03)),
                    simulated=read_out(result, cell.get("of", case.get("of", "rate")), cell["unit"]),
                    limited_by=limit["name"] if limit else "",
                    open=open_component(
                        cell.get("not_named", case.get("not_named", data.get("not_named", []))),
                        template,
                        cell["unit"],
                        limit,
                    ),
                    why=cell.get("why", case.get("why", "")),
                )
            )
    return cells


def summary(cells: list[Cell], what: str) -> list[str]:
    """Return a row: how many, the median and the worst of the absolute errors, shares within some percent."""
    errors = [abs(cell.error_percent) for cell in cells]
    shares = (f"{100 * sum(error <= limit for error in errors) / len(errors):.0f} %" for limit in WITHIN)
    return [what, str(len(errors)), f"{statistics.median(errors):.1f} %", f"{max(errors):.1f} %", *shares]


def summaries(cells: list[Cell]) -> list[list[str]]:
    """Return rows by role, by whether all that decides a cell is named, and by kind of measurement."""
    rows = []
    for role in ROLES:
        own = [cell for cell in cells if cell.role == role]
        rows += [summary(own, role)] if own else []
        named = [cell for cell in own if not cell.open]
        if len(named) < len(own):
            rows += [summary(named, f"{role}, inputs named")] if named else []
            rows.append(summary([cell for cell in own if cell.open], f"{role}, an input not named"))
        for group in dict.fromkeys(cell.group for cell in own):
            rows.append(summary([cell for cell in own if cell.group == group], f"{role}: {group}"))
    return rows


def row_of(cell: Cell) -> list[str]:
    """Return a cell as printed."""
    numbers = (f"{cell.measured:.4g}", f"{cell.simulated:.4g}", f"{cell.error_percent:+.1f} %")
    role = f"{cell.role}; {cell.open} not named" if cell.open else cell.role
    return [cell.set, cell.case, cell.unit, *numbers, role, cell.limited_by]


HEADS = ("data set", "case", "unit", "measured", "simulated", "error", "role", "limited by")
SUMMARY_HEADS = ("cells", "number", "median", "worst", *(f"≤ {limit} %" for limit in WITHIN))


def plain(heads: tuple[str, ...], rows: list[list[str]]) -> str:
    """Return a table for a terminal."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    lines = [heads, ["─" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def markdown(heads: tuple[str, ...], rows: list[list[str]]) -> str:
    """Return a table for the documentation."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


SET_HEADS = ("data set", "what", "source", "licence", "role", "cells")


NAMED = re.compile(r"(?<=Of the other )\d+, \d+ % are within \d+ %")
"""A sentence of the page: how many unseen cells with named inputs there are, and how many of them agree."""


def named_in_words(cells: list[Cell]) -> str:
    """Return what `NAMED` finds in the page, as it is now."""
    errors = [abs(cell.error_percent) for cell in cells if cell.role == "unseen" and not cell.open]
    most = WITHIN[-1]
    share = 100 * sum(error <= most for error in errors) / len(errors)
    return f"{len(errors)}, {share:.0f} % are within {most} %"


def with_tables(page: str, cells: list[Cell]) -> str:
    """Return the page of the documentation with its tables, and the sentence that sums one of them up.

    The tables are all cells, how many agree, the data sets.
    """
    sets = []
    for path in sorted((HERE / "sets").glob("*.toml")):
        data = tomllib.loads(path.read_text())
        number = sum(cell.set == data["id"] for cell in cells)
        sets.append([*(data[key] for key in ("id", "title", "source", "licence", "role")), str(number)])
    tables = {
        HEADS: [row_of(cell) for cell in cells],
        SUMMARY_HEADS: summaries(cells),
        SET_HEADS: sets,
    }
    for heads, rows in tables.items():
        first = f"| {' | '.join(heads)} |"
        before, after = page.split(f"{first}\n")
        rest = after[re.match(r"(\|.*\n)*", after).end() :]  # type: ignore[union-attr]
        page = f"{before}{markdown(heads, rows)}\n{rest}"
    page, count = NAMED.subn(named_in_words(cells), page)
    if count != 1:
        raise ValueError(f"the page says {count} times how many cells with named inputs agree")
    return page


def main() -> None:
    """Simulate the data sets that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="names of files in sets/, without .toml; all by default")
    parser.add_argument("--json", action="store_true", help="print cells as JSON")
    parser.add_argument("--page", type=Path, help="rewrite the tables of this page, with all data sets")
    arguments = parser.parse_args()
    if arguments.page and arguments.sets:
        parser.error("--page is for all data sets")
    paths = [HERE / "sets" / f"{name}.toml" for name in arguments.sets] or sorted(
        (HERE / "sets").glob("*.toml")
    )
    cells: list[Cell] = []
    with tempfile.TemporaryDirectory() as folder:
        simulations = Simulations(Path(folder))
        for path in paths:
            cells += cells_of(path, simulations)
    if arguments.json:
        json.dump(
            [asdict(cell) | {"error_percent": cell.error_percent} for cell in cells], sys.stdout, indent=1
        )
        return
    if arguments.page:
        arguments.page.write_text(with_tables(arguments.page.read_text(), cells))
        return
    print(plain(HEADS, [row_of(cell) for cell in cells]))
    print()
    print(plain(SUMMARY_HEADS, summaries(cells)))


if __name__ == "__main__":
    main()
