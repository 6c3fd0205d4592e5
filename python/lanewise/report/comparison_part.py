"""What a report says of two runs: what moved, what differs in the machine, where the time went instead."""

from __future__ import annotations

from collections import Counter
from difflib import unified_diff
from math import inf, log
from typing import TYPE_CHECKING

from lanewise.comparison import flow_pairs
from lanewise.report import run_figures
from lanewise.report.content import Part, Section, Table
from lanewise.report.explained_part import explained_section
from lanewise.report.rows import rows_of
from lanewise.report.run_part import facts
from lanewise.report.topology import topology_figure
from lanewise.results import WhyResult
from lanewise.written import DASH, fixed, percent, signed, spelled, time_scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.columns import Row
    from lanewise.comparison import Comparison
    from lanewise.results import RunResult

_SAME = 0.005
"""Relative change below which two runs say the same: they stop when their results are as narrow as that."""
_LETTERS = ("A", "B")
_SET = "set for this run"
_RATIO = "#B over A"


def comparison_part(comparison: Comparison, *, drawn: bool) -> Part:
    """Return what a report says of two runs side by side."""
    a, b = comparison.runs
    sections = (
        _in_short(comparison),
        explained_section(comparison.explanation),
        _what_moved(comparison),
        _limits(comparison, drawn=drawn),
        _machines(comparison, drawn=drawn),
        _ladders(comparison, drawn=drawn),
        _latencies(comparison, drawn=drawn),
        _times(comparison),
        _inputs(comparison),
    )
    return Part(
        title=_title(a, b),
        facts=[
            (f"{letter}: {name}", value)
            for letter, run in zip(_LETTERS, (a, b), strict=True)
            for name, value in facts(run)
            if name in ("scenario", "with", "simulated", "version", "seed", "fingerprint")
        ],
        tiles=list(_tiles(comparison)),
        sections=[section for section in sections if section.says_something],
    )


def _title(a: RunResult, b: RunResult) -> str:
    titles = dict.fromkeys(_short(run.title or str(run.document["scenario_path"])) for run in (a, b))
    return f"{' and '.join(titles)}, compared"


def _short(name: str) -> str:
    return name if len(name) <= 80 else f"{name[:77]}..."


def _sides(comparison: Comparison) -> list[tuple[str, RunResult]]:
    return list(zip(_LETTERS, comparison.runs, strict=True))


def _tiles(comparison: Comparison) -> Iterator[tuple[str, str]]:
    goodput = next(
        row for row in comparison.totals.iter_rows(named=True) if row["quantity"] == "goodput_gb_per_s"
    )
    yield f"{goodput['a']:.3f} GB/s", "goodput of all data, A"
    yield f"{goodput['b']:.3f} GB/s", "goodput of all data, B"
    if goodput["ratio"] is not None:
        yield f"{100 * (goodput['ratio'] - 1):+.1f} %", "from A to B"


def _in_short(comparison: Comparison) -> Section:
    totals = {row["quantity"]: row for row in comparison.totals.iter_rows(named=True)}
    goodput = totals["goodput_gb_per_s"]
    ratio = goodput["ratio"]
    if ratio is None:
        moved = "A moved no data, so there is no ratio."
    elif abs(ratio - 1) < _SAME:
        moved = f"Nothing much: both give {goodput['a']:.3f} GB/s of data, within half a percent."
    else:
        word = "more" if ratio > 1 else "less"
        moved = (
            f"B gives {percent(abs(ratio - 1))} {word} data than A: {goodput['b']:.3f} GB/s in place of "
            f"{goodput['a']:.3f} GB/s."
        )
    limits = comparison.limits
    if limits[0] == limits[1]:
        why = f"Both have the same limit: {_lower(limits[0])}."
    else:
        why = f"A: {_lower(limits[0])}. B: {_lower(limits[1])}."
    largest = next(comparison.changes.iter_rows(named=True), None)
    if largest is not None:
        why += (
            f" The time of {largest['link']} {largest['direction']} changed most: "
            f"{spelled(largest['category'])} {largest['a_percent']:.1f} % in A, "
            f"{largest['b_percent']:.1f} % in B."
        )
    differs = list(_differences(comparison))
    said = "; ".join(differs[:4]) + (f"; and {len(differs) - 4} more" if len(differs) > 4 else "")
    return Section(
        "In short",
        answers=[
            *zip(_LETTERS, comparison.names, strict=True),
            ("What is different?", f"{said}." if differs else "No difference of the inputs was found."),
            ("What moved?", moved),
            ("Why?", why),
        ],
    )


def _lower(limit: str | None) -> str:
    return "nothing was found to limit it" if limit is None else limit[:1].lower() + limit[1:]


def _differences(comparison: Comparison) -> Iterator[str]:
    """Say what is different in the inputs: what was set, then the machine, then what follows from it."""
    values = list(_values(comparison))
    for path, in_a, in_b, source in values:
        if source == _SET:
            yield f"{path} is {in_a} in A, {in_b} in B"
    for letter, links in zip(_LETTERS, (comparison.only_in_a, comparison.only_in_b), strict=True):
        if links:
            named = ", ".join(links[:6]) + (f" and {len(links) - 6} more" if len(links) > 6 else "")
            yield f"only {letter} has the {'link' if len(links) == 1 else 'links'} {named}"
    for link, mode_a, mode_b in _modes(comparison):
        yield f"{link} is {mode_a} in A, {mode_b} in B"
    for path, in_a, in_b, source in values:
        if source != _SET:
            yield f"{path} is {in_a} in A, {in_b} in B"


def _modes(comparison: Comparison) -> Iterator[tuple[str, str, str]]:
    """Yield links that came up differently."""
    modes: list[dict[str, str]] = [
        {
            row["link"]: f"{row['generation']} {row['width']}, MPS {row['mps_bytes']} B"
            for row in run.links.iter_rows(named=True)
        }
        for run in comparison.runs
    ]
    for link, mode in modes[0].items():
        if (other := modes[1].get(link)) is not None and other != mode:
            yield link, mode, other


def _values(comparison: Comparison) -> Iterator[tuple[str, str, str, str]]:
    """Yield parameters that differ: overrides, and what no specification fixes, each with its source."""
    a, b = comparison.runs
    overrides = [dict(run.overrides) for run in (a, b)]
    sides = [
        {row["path"]: (row["value"], row["source"] or "") for row in run.assumptions.iter_rows(named=True)}
        for run in (a, b)
    ]
    said = set()
    for path in dict.fromkeys([*overrides[0], *overrides[1]]):
        values = [
            own.get(path) or known.get(path, ("as written", ""))[0]
            for own, known in zip(overrides, sides, strict=True)
        ]
        if values[0] != values[1]:
            said.add(path)
            yield path, values[0], values[1], _SET
    for path, (value, source) in sides[0].items():
        if path in sides[1] and sides[1][path][0] != value and path not in said:
            yield path, value, sides[1][path][0], source


def _what_moved(comparison: Comparison) -> Section:
    rows = sorted(_metrics(comparison), key=lambda row: -row[0])
    columns = ("metric", "of", "#A", "#B", "unit", _RATIO)
    moved = [cells for size, cells in rows if size >= log(1 + _SAME)]
    still = [cells for size, cells in rows if size < log(1 + _SAME)]
    tables = rows_of("What moved", columns, moved, "the largest change first; ratios are B over A")
    if still:
        tables.append(
            Table(f"What did not move by half a percent: {len(still)}", columns, still, folded=True)
        )
    return Section("What moved", tables=tables)


def _latencies(comparison: Comparison, *, drawn: bool) -> Section:
    return Section("Latency", figures=run_figures.latencies(_sides(comparison)) if drawn else ())


def _metrics(comparison: Comparison) -> Iterator[tuple[float, tuple[str, ...]]]:
    """Yield each metric with the size of its change, larger for more."""
    units = {"goodput_gb_per_s": ("goodput", "GB/s", 3), "operations_per_s": ("operations", "a second", 0)}
    for row in comparison.totals.iter_rows(named=True):
        if row["quantity"] in units:
            name, unit, digits = units[row["quantity"]]
            yield _metric(name, "all data", row["a"], row["b"], unit, digits)
    called = _names_of_flows(comparison)
    for row, flow in zip(comparison.flows.iter_rows(named=True), called, strict=True):
        if row["a_mib_per_s"] or row["b_mib_per_s"]:
            yield _metric("goodput", flow, row["a_mib_per_s"], row["b_mib_per_s"], "MiB/s", 1)
    for row in comparison.flows_to_show.iter_rows(named=True):
        if not row["a_mib_per_s"] and not row["b_mib_per_s"]:
            of = f"{row['flow']} {row['device']} ({row['direction']})"
            yield _metric("goodput", of, row["a_mib_per_s"], row["b_mib_per_s"], "MiB/s", 1)
    for row in comparison.operations_without_bytes.iter_rows(named=True):
        of = f"{row['flow']} ({row['direction']})"
        yield _metric(f"{row['counted']}", of, row["a_per_s"], row["b_per_s"], "a second", 1)
    for row, flow in zip(flow_pairs(*comparison.runs).iter_rows(named=True), called, strict=True):
        for name in ("mean", "p50", "p99"):
            one, other = (row[f"latency_ns_{name}{side}"] for side in ("", "_right"))
            if one is not None or other is not None:
                unit, scale = time_scale([one, other])
                yield _metric(
                    f"latency, {name}",
                    flow,
                    None if one is None else one / scale,
                    None if other is None else other / scale,
                    unit,
                    2,
                )
    for row in comparison.ladders.iter_rows(named=True):
        if row["a_gb_per_s"] or row["b_gb_per_s"]:
            of = f"{row['link']} {row['direction']}"
            yield _metric("goodput of a link", of, row["a_gb_per_s"], row["b_gb_per_s"], "GB/s", 3)


def _names_of_flows(comparison: Comparison) -> list[str]:
    """Name the flows of a comparison, with their devices where several have one name."""
    rows = comparison.flows.select("flow", "device", "direction").rows()
    times = Counter((flow, direction) for flow, _, direction in rows)
    return [
        f"{flow}{f' {device}' if times[flow, direction] > 1 else ''} ({direction})"
        for flow, device, direction in rows
    ]


def _metric(
    name: str, of: str, a: float | None, b: float | None, unit: str, digits: int
) -> tuple[float, tuple[str, ...]]:
    if a and b:
        size, ratio = abs(log(b / a)), f"{b / a:.3f}"
    else:
        size, ratio = (0.0 if a == b else inf), DASH
    return size, (name, of, fixed(a, digits), fixed(b, digits), unit, ratio)


def _limits(comparison: Comparison, *, drawn: bool) -> Section:
    sentences = [
        f"{letter}: {limit or 'nothing was found to limit it'}."
        for letter, limit in zip(_LETTERS, comparison.limits, strict=True)
    ]
    figures = []
    for letter, run in _sides(comparison):
        if drawn and isinstance(run, WhyResult):
            figures += [
                type(figure)(f"{letter}: {figure.title}", figure.caption, figure.svg)
                for figure in run_figures.gains(run)
            ]
    resources = [
        {row["resource"]: row for row in run.resources.iter_rows(named=True)} for run in comparison.runs
    ]
    used = []
    for name in dict.fromkeys([*resources[0], *resources[1]]):
        sides = [side.get(name) for side in resources]
        change = abs(_use(sides[1]) - _use(sides[0]))
        if change >= _SAME:
            waits = (None if side is None else side["waited_ns_mean"] for side in sides)
            cells = (
                name,
                *(percent(None if side is None else side["utilisation"]) for side in sides),
                *(fixed(wait, 1) for wait in waits),
            )
            used.append((change, cells))
    used.sort(key=lambda each: -each[0])
    columns = ("resource", "#A in use", "#B in use", "#A wait, ns", "#B wait, ns")
    return Section(
        "Limited by",
        sentences=sentences,
        figures=figures,
        tables=rows_of("Shared resources whose use moved", columns, [cells for _, cells in used]),
    )


def _use(row: Row | None) -> float:
    return 0.0 if row is None else float(row["utilisation"])


def _machines(comparison: Comparison, *, drawn: bool) -> Section:
    figures = [
        topology_figure(run, f"{letter}: {_short(name)}")
        for letter, name, run in zip(_LETTERS, comparison.names, comparison.runs, strict=True)
        if drawn
    ]
    sentences = []
    for letter, links in zip(_LETTERS, (comparison.only_in_a, comparison.only_in_b), strict=True):
        if links:
            sentences.append(
                f"Only {letter} has the {'link' if len(links) == 1 else 'links'} {', '.join(links)}."
            )
    rows = list(_modes(comparison))
    if not sentences and not rows:
        sentences.append("Both have the same links, which came up alike.")
    return Section(
        "The two machines",
        sentences=sentences,
        figures=figures,
        tables=rows_of("Links that came up differently", ("link", "A", "B"), rows),
    )


def _ladders(comparison: Comparison, *, drawn: bool) -> Section:
    rows = [
        (
            row["link"],
            row["direction"],
            fixed(row["a_gb_per_s"], 3),
            fixed(row["b_gb_per_s"], 3),
            fixed(row["ratio"], 3),
            percent(row["a_utilisation"]),
            percent(row["b_utilisation"]),
        )
        for row in comparison.ladders.iter_rows(named=True)
    ]
    columns = ("link", "direction", "#A, GB/s", "#B, GB/s", _RATIO, "#A in use", "#B in use")
    return Section(
        "Ladders side by side",
        figures=run_figures.ladders(_sides(comparison)) if drawn else (),
        tables=rows_of("Goodput of the links that both have", columns, rows),
    )


def _times(comparison: Comparison) -> Section:
    rows = [
        (
            row["link"],
            row["direction"],
            spelled(row["category"]),
            fixed(row["a_percent"], 1),
            fixed(row["b_percent"], 1),
            signed(row["change_points"], 1),
        )
        for row in comparison.changes.iter_rows(named=True)
    ]
    columns = ("link", "direction", "category", "#A, %", "#B, %", "#change, points")
    note = "shares of each direction that both have, the direction with the largest change first"
    return Section("Where the time went instead", tables=rows_of("What changed", columns, rows, note))


def _inputs(comparison: Comparison) -> Section:
    a, b = comparison.runs
    rows: Sequence[tuple[str, ...]] = list(_values(comparison))
    pairs = [("the scenarios as they were written", a.scenario_text, b.scenario_text)]
    pairs += [(f"the part in {name}", text, b.part_files.get(name)) for name, text in a.part_files.items()]
    texts = [
        (
            f"What differs in {what}",
            "\n".join(unified_diff(of_a.splitlines(), of_b.splitlines(), "A", "B", lineterm="")),
        )
        for what, of_a, of_b in pairs
        if of_a and of_b and of_a != of_b
    ]
    same = bool(a.scenario_text) and a.kept == b.kept
    return Section(
        "What was run",
        sentences=["Both ran the same scenario text."] if same else [],
        tables=rows_of("Parameters that differ", ("parameter", "#A", "#B", "source"), rows),
        texts=texts,
    )
