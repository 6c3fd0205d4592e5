"""Simulates what others measured and published, and says how far off it is.

Each file of ``sets/`` is one public data set: where it is, what was measured, and for each cell whether a
default or a part of the catalog was chosen with its number in view (*used*) or not (*unseen*). A case is a
template of ``templates/`` with parts filled in and parameters set to what the source says of the machine;
nothing else is set. Nothing is fitted here.

Run ``python validation/validate.py`` with the package installed; ``--json`` for a machine, names of sets for
a few of them, ``--page`` to write the tables of the documentation.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import statistics
import sys
import tempfile
import tomllib
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import lanewise
from lanewise.health.predict.measured import FILE, CaseKind, MeasuredElsewhere

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator

    from lanewise.documents import LimitedBy

HERE = Path(__file__).parent
MEASURED = HERE.parent / "python/lanewise/health/predict" / FILE
"""What `predict` says of how near it was."""
PAGES = ("docs/explanation/validation.md", "docs/reference/measured-cells.md")
"""Pages with tables of what is simulated here."""
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
OPERATIONS = ("Mpps", "kIOPS", "IOPS")
"""Units of messages and I/Os a second."""
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
    limited_kind: str
    """Kind of the resource that `run` names first, as in its results; empty where it names none."""
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
        overrides = overrides_of(settings)
        key = json.dumps([text, overrides], sort_keys=True)
        if key not in self.results:
            path = self.folder / f"{template}.toml"
            path.write_text(text)
            self.results[key] = lanewise.run(path, overrides=overrides)
        return self.results[key]


def overrides_of(settings: dict[str, Any]) -> dict[str, str]:
    """Return settings of a data set as `run` takes them."""
    return {
        path: str(value).lower() if isinstance(value, bool) else str(value)
        for path, value in settings.items()
    }


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
        return scale * float(result.goodput_gb_per_s)
    if what == "operations":
        return scale * sum(float(flow["operations_per_s"]) for flow in flows)
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
    return scale * sum(float(flow["goodput_gb_per_s"]) for flow in flows if flow["direction"] == what)


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


def asked(data: dict[str, Any], name: str) -> Iterator[tuple[dict[str, Any], ...]]:
    """Yield cells of a data set: the case, the cell, and what it has of both: role, settings, parts."""
    for case in data["case"]:
        for cell in case["cell"]:
            role = cell.get("role", case.get("role", data["role"]))
            if role not in ROLES:
                raise ValueError(f"{name}: role {role!r} is neither of {ROLES}")
            settings = data.get("set", {}) | case.get("set", {}) | cell.get("set", {})
            parts = case.get("with", {}) | cell.get("with", {})
            yield case, cell, {"role": role, "settings": settings, "parts": parts}


def cells_of(path: Path, simulations: Simulations, roles: Container[str] = ROLES) -> list[Cell]:
    """Simulate one data set, or its cells of some roles."""
    data = tomllib.loads(path.read_text())
    cells = []
    for case, cell, its in asked(data, path.name):
        if its["role"] not in roles:
            continue
        text = filled_in(case["template"], its["parts"])
        result = simulations.run(case["template"], text, its["settings"])
        limit = result.document["limited_by"]
        template = tomllib.loads(text)
        cells.append(
            Cell(
                set=data["id"],
                case=f"{case['name']}, {cell['name']}".strip(", "),
                group=case.get("group", data["group"]),
                role=its["role"],
                unit=cell["unit"],
                measured=cell["measured"],
                tolerance_percent=100 * cell.get("tolerance", case.get("tolerance", 0.03)),
                simulated=read_out(result, cell.get("of", case.get("of", "rate")), cell["unit"]),
                limited_by=limit["name"] if limit else "",
                limited_kind=limit["kind"] if limit else "",
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
KIND_HEADS = ("kind of case", "cells", "median", "≤ 3 %", "≤ 10 %", "where it is worse, and what is missing")
LIMIT_HEADS = ("limited by", "cells", "median", "worst", *(f"≤ {limit} %" for limit in WITHIN))


def has(cell: Cell, *words: str) -> bool:
    """Return whether the name of a case has one of some words."""
    return any(word in cell.case for word in words)


KINDS: dict[str, Callable[[Cell], bool]] = {
    "copies between a host and a GPU by a kernel": lambda cell: (
        cell.group == "gpu copy" and has(cell, "kernel")
    ),
    CaseKind.COPIES_AT_ONCE: lambda cell: cell.group == "gpu copy" and has(cell, "both ways", "while"),
    "copies of less than 1 MiB, or of pageable memory": lambda cell: (
        cell.group == "gpu copy" and has(cell, " KiB", "pageable")
    ),
    CaseKind.LARGE_COPY: lambda cell: cell.group == "gpu copy",
    CaseKind.PEERS_ACROSS_SOCKETS: lambda cell: cell.group == "peers" and has(cell, "across sockets"),
    CaseKind.PEERS: lambda cell: cell.group == "peers",
    "adapters: latency of a message, few outstanding": lambda cell: (
        cell.group == "rdma" and (cell.unit in LATENCIES or has(cell, "depth"))
    ),
    "adapters: as many messages as a core posts": lambda cell: (
        cell.group == "rdma" and (cell.unit in OPERATIONS or cell.limited_kind == "core")
    ),
    CaseKind.LARGE_MESSAGES: lambda cell: cell.group == "rdma",
    CaseKind.DRIVE_LATENCY: lambda cell: cell.group == "nvme" and cell.unit in LATENCIES,
    "drives: I/Os a second": lambda cell: cell.group == "nvme" and cell.unit in OPERATIONS,
    CaseKind.DRIVE_BANDWIDTH: lambda cell: cell.group == "nvme",
    "DMA of another device: one read at a time": lambda cell: cell.group == "dma" and cell.unit in LATENCIES,
    "DMA of another device: bandwidth": lambda cell: cell.group == "dma",
    "loads and stores of a core to a device": lambda cell: cell.group == "mmio",
    CaseKind.OTHERS_TO_GPU: lambda cell: cell.group.endswith("and gpus"),
    "collectives": lambda cell: cell.group == "collectives",
    "CXL memory": lambda cell: cell.group == "cxl.mem",
}
"""Kinds of cases that a reader may have, by what is measured; a cell is of the first that takes it. `predict`
knows those that have a name there."""
FEWEST = 5
"""Limits with fewer cells are summed up in one row."""


def kind_of(cell: Cell) -> str:
    """Return the kind of case that a cell is; every cell is of one."""
    return next(kind for kind, takes in KINDS.items() if takes(cell))


def share_within(cells: list[Cell], most: int) -> str:
    """Return how many cells are so many percent off at most, as a share."""
    return f"{100 * sum(abs(cell.error_percent) <= most for cell in cells) / len(cells):.0f} %"


def median_error(cells: list[Cell]) -> str:
    """Return the median of the absolute errors."""
    return f"{statistics.median(abs(cell.error_percent) for cell in cells):.1f} %"


def in_words(cells: list[Cell], sets: int) -> list[str]:
    """Return sentences that sum up all cells."""
    unseen = [cell for cell in cells if cell.role == "unseen"]
    named = [cell for cell in unseen if not cell.open]
    own = sum(abs(cell.error_percent) <= cell.tolerance_percent for cell in unseen)
    within = "; ".join(f"{share_within(unseen, most)} are within {most} %" for most in WITHIN)
    used = len(cells) - len(unseen)
    return [
        f"- {sets} data sets have {len(cells)} cells: {used} *used*, {len(unseen)} *unseen*.",
        f"- Of the unseen cells, {within}. The median error is {median_error(unseen)}.",
        f"- {100 * own / len(unseen):.0f} % of them are within the tolerance of their source: 3 %, or how "
        "far its own numbers for one thing are apart.",
        f"- {len(named)} of them have all inputs named: {share_within(named, 3)} of these are within 3 %, "
        f"{share_within(named, 10)} within 10 %.",
    ]


def open_in_words(cells: list[Cell]) -> list[str]:
    """Return sentences about the unseen cells that are open, and those that are not."""
    unseen = [cell for cell in cells if cell.role == "unseen"]
    named = [cell for cell in unseen if not cell.open]
    open_cells = [cell for cell in unseen if cell.open]
    most = WITHIN[-1]
    agree = sum(abs(cell.error_percent) <= most for cell in open_cells)
    return [
        f"- {len(open_cells)} of the unseen cells are open. Of these, {agree} agree within {most} % all the "
        "same, by chance of the host that stands in.",
        f"- Of the other {len(named)}, {share_within(named, most)} are within {most} %.",
    ]


def kinds_filled_in(rows: list[str], cells: list[Cell]) -> list[str]:
    """Return the rows of the table of kinds with their numbers; what is worse and why is written by hand."""
    written = {row.strip("| ").split(" | ")[0]: row.strip("| ").split(" | ")[-1] for row in rows[2:]}
    if set(written) != set(KINDS):
        raise ValueError(f"kinds of cases in the page and in KINDS differ: {set(written) ^ set(KINDS)}")
    filled = []
    for kind, why in written.items():
        own = [cell for cell in cells if cell.role == "unseen" and kind_of(cell) == kind]
        numbers = [median_error(own), share_within(own, 3), share_within(own, 10)] if own else ["", "", ""]
        filled.append([kind, str(len(own)), *numbers, why])
    return markdown(KIND_HEADS, filled).splitlines()


def measured_of(kind: CaseKind, cells: list[Cell]) -> MeasuredElsewhere:
    """Return how near the simulation is to the unseen cells of a kind: tenths of measured over simulated."""
    own = [cell for cell in cells if cell.role == "unseen" and kind_of(cell) == kind]
    tenths = statistics.quantiles(
        (100 * cell.measured / cell.simulated for cell in own), n=10, method="inclusive"
    )
    return MeasuredElsewhere(
        kind, len(own), len({cell.set for cell in own}), *(round(tenths[at], 2) for at in (0, 4, 8))
    )


def write_measured(cells: list[Cell], path: Path) -> None:
    """Write what `predict` says of how near it was, for each kind of case that it has."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(
            file, [field.name for field in fields(MeasuredElsewhere)], lineterminator="\n"
        )
        writer.writeheader()
        writer.writerows(asdict(measured_of(kind, cells)) for kind in CaseKind)


def limits(cells: list[Cell]) -> list[list[str]]:
    """Return a row for each kind of resource that limits unseen cells, those with most cells first."""
    by_kind: dict[str, list[Cell]] = {}
    for cell in cells:
        if cell.role == "unseen":
            kind = f"`{cell.limited_kind}`" if cell.limited_kind else "nothing"
            by_kind.setdefault(kind, []).append(cell)
    few = [kind for kind, own in by_kind.items() if len(own) < FEWEST]
    rest = [cell for kind in few for cell in by_kind.pop(kind)]
    rows = [summary(own, kind) for kind, own in sorted(by_kind.items(), key=lambda each: -len(each[1]))]
    return [*rows, summary(rest, f"others: {', '.join(sorted(few))}")] if rest else rows


BLOCK = re.compile(r"(?<=<!-- validation )(?P<what>\w+)( -->\n)(?P<body>.*?)(?=<!-- end -->)", re.DOTALL)
"""What is made here stands between two comments."""


def with_tables(page: str, cells: list[Cell]) -> str:
    """Return a page of the documentation with what stands there of these cells: all that there are."""
    sets = []
    for path in sorted((HERE / "sets").glob("*.toml")):
        data = tomllib.loads(path.read_text())
        number = sum(cell.set == data["id"] for cell in cells)
        sets.append([*(data[key] for key in ("id", "title", "source", "licence", "role")), str(number)])
    blocks: dict[str, Callable[[str], Iterable[str]]] = {
        "words": lambda _: in_words(cells, len(sets)),
        "open": lambda _: open_in_words(cells),
        "kinds": lambda body: kinds_filled_in(body.splitlines(), cells),
        "limits": lambda _: [markdown(LIMIT_HEADS, limits(cells))],
        "roles": lambda _: [markdown(SUMMARY_HEADS, summaries(cells))],
        "cells": lambda _: [markdown(HEADS, [row_of(cell) for cell in cells])],
        "sets": lambda _: [markdown(SET_HEADS, sets)],
    }

    def made(block: re.Match[str]) -> str:
        lines = blocks[block["what"]](block["body"])
        return "\n".join([block["what"] + block[2].rstrip("\n"), *lines, ""])

    page, count = BLOCK.subn(made, page)
    if not count:
        raise ValueError("the page has no place for tables")
    return page


def main() -> None:
    """Simulate the data sets that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sets", nargs="*", help="names of files in sets/, without .toml; all by default")
    parser.add_argument("--json", action="store_true", help="print cells as JSON")
    parser.add_argument(
        "--page",
        type=Path,
        nargs="*",
        help=f"rewrite the tables of these pages, with all data sets; without a name {' and '.join(PAGES)}, "
        "and what predict says of how near it was",
    )
    arguments = parser.parse_args()
    if arguments.page is not None and arguments.sets:
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
    if arguments.page is not None:
        for page in arguments.page or [HERE.parent / name for name in PAGES]:
            page.write_text(with_tables(page.read_text(), cells))
        if not arguments.page:
            write_measured(cells, MEASURED)
        return
    print(plain(HEADS, [row_of(cell) for cell in cells]))
    print()
    print(plain(SUMMARY_HEADS, summaries(cells)))


if __name__ == "__main__":
    main()
