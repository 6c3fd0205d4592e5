"""What a report says of more than two runs: a table of all, and from where on more brings nothing."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from lanewise.report.answers import total_goodput
from lanewise.report.bars import bars
from lanewise.report.content import Part, Section
from lanewise.report.plots import Figure
from lanewise.report.rows import rows_of
from lanewise.written import DASH, fixed, percent, time_scale

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.columns import Row
    from lanewise.results import RunResult

    Named = tuple[str, RunResult]

_KNEE = 0.05
"""A step that brings less than this part of what there was brings nothing: beyond it is the knee."""
_MOST_BARS = 40


def several_part(runs: Sequence[Named], *, drawn: bool) -> Part:
    """Return what a report says of several runs, in the order in which they are given."""
    labels = labels_of(runs)
    rows = list(_rows(runs, labels))
    columns = (
        "run",
        "#GB/s",
        "#of the first",
        "#of the one before",
        "#a second",
        "#p50",
        "#p99",
        "unit",
        "#busiest link",
        "limited by",
    )
    figures = []
    if drawn:
        rates = [
            (
                label,
                total_goodput(run),
                f"{label}: {total_goodput(run):.3f} GB/s, {run.limited_by or 'no limit found'}",
            )
            for label, (_, run) in zip(labels, runs, strict=True)
        ][:_MOST_BARS]
        limits = [_limit(run) for _, run in runs][:_MOST_BARS]
        caption = "Of all data; the colour is what limits."
        figures = [Figure("Goodput", caption, bars(rates, "GB/s", limits))]
    return Part(
        title=f"{len(runs)} runs",
        tiles=list(_tiles(runs, labels)),
        sections=[
            Section("In short", sentences=list(_knees(runs, labels))),
            Section(
                "All runs",
                figures=figures,
                tables=rows_of("Metrics of all runs", columns, rows, "latency of the flow that moves most"),
            ),
        ],
    )


def labels_of(runs: Sequence[Named]) -> list[str]:
    """Call runs by what sets them apart: overrides that are not the same in all, else their names."""
    own = [dict(run.overrides) for _, run in runs]
    paths = dict.fromkeys(path for each in own for path in each)
    differ = [path for path in paths if len({each.get(path) for each in own}) > 1]
    if differ:
        labels = [
            ", ".join(f"{path}={each[path]}" for path in differ if path in each) or "as written"
            for each in own
        ]
        if len(set(labels)) == len(labels):
            return labels
    return [name for name, _ in runs]


def _limit(run: RunResult) -> str:
    limit = run.document.get("limited_by")
    return DASH if limit is None else str(limit["name"])


def _tiles(runs: Sequence[Named], labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    rates = [total_goodput(run) for _, run in runs]
    for word, value in (("most", max(rates)), ("least", min(rates))):
        yield f"{value:.3f} GB/s", f"{word}: {labels[rates.index(value)]}"


def _rows(runs: Sequence[Named], labels: Sequence[str]) -> Iterator[tuple[str, ...]]:
    first = before = total_goodput(runs[0][1])
    for number, (label, (_, run)) in enumerate(zip(labels, runs, strict=True)):
        rate = total_goodput(run)
        flow = _main_flow(run)
        latencies = [None, None] if flow is None else [flow["latency_ns_p50"], flow["latency_ns_p99"]]
        unit, scale = time_scale(latencies)
        busiest = run.links.sort("utilisation", descending=True, nulls_last=True, maintain_order=True)
        link = next(busiest.iter_rows(named=True), None)
        yield (
            label,
            fixed(rate, 3),
            fixed(rate / first if first else None, 3),
            DASH if number == 0 or not before else f"{100 * (rate / before - 1):+.1f} %",
            fixed(run.operations_per_s, 0),
            *(fixed(None if value is None else value / scale, 2) for value in latencies),
            unit if any(value is not None for value in latencies) else "",
            DASH if link is None else percent(link["utilisation"]),
            _limit(run),
        )
        before = rate


def _main_flow(run: RunResult) -> Row | None:
    flows = run.data_flows.sort("goodput_gb_per_s", descending=True, maintain_order=True)
    return next(flows.iter_rows(named=True), None)


def _knees(runs: Sequence[Named], labels: Sequence[str]) -> Iterator[str]:
    """Say where something else begins to limit, and from where on a step brings less than 5 %."""
    limits = [_limit(run) for _, run in runs]
    rates = [total_goodput(run) for _, run in runs]
    for number in range(1, len(runs)):
        if limits[number] != limits[number - 1]:
            yield (
                f"From {labels[number]} on, {limits[number]} limits in place of {limits[number - 1]}, at "
                f"{rates[number]:.3f} GB/s."
            )
    steps = [after / before - 1 if before else 0.0 for before, after in itertools.pairwise(rates)]
    # A knee: something was gained before, and nothing worth a word is from there on.
    knee = next((at for at in range(len(steps)) if all(step < _KNEE for step in steps[at:])), None)
    if knee and all(step > -_KNEE for step in steps):
        yield (
            f"The knee is at {labels[knee]}, with {rates[knee]:.3f} GB/s: no step after it brings 5 % more."
        )
    if len(set(limits)) == 1:
        yield f"All of them have the same limit: {limits[0]}."
