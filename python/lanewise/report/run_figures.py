"""Figures of runs, one or two of them over one another: latencies, ladders, time, what would bring more."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from lanewise.alike_names import stem, together
from lanewise.columns import LATENCY_COLUMNS, frame, latency_rows
from lanewise.grouping import grouped, same_number
from lanewise.known_uses import SENT
from lanewise.plotting import rank
from lanewise.report.bars import BELOW_NAME, WIDTH, bars, bars_of, drawn, lines_of, names_of
from lanewise.report.ladder_words import shown_directions
from lanewise.report.plots import SERIES_COLOURS, Figure, svg_of
from lanewise.rungs import RUNGS, rungs_of
from lanewise.written import counted, gain, percent, spelled, time_scale

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import polars as pl

    from lanewise import documents
    from lanewise.columns import Row
    from lanewise.results import RunResult, WhyResult

    Side = tuple[str, RunResult]
    """What a run is called in a figure, and the run; called nothing where it is the only one."""
    _Found = tuple[Row, str, documents.Flow]
    """A flow, by which of its latencies, and as the core said it."""

_MOST_CURVES = 6
_MOST_BARS = 12
_SAME_USE = 0.01
"""Shares of the time that are the same to a person."""
_MARKS = 40
"""Places of a curve that say their numbers."""
_MOST_PICTURES = 6
_LOGARITHMIC_FROM = 8
_NEAR = 8
_TIME_COLOURS = {name: f"var(--time-{name.replace('_', '-')})" for name in (*SENT, "idle", "down")}
_OTHER_COLOURS = tuple(f"var(--time-blocked-{number})" for number in range(1, 7))
_RUNG_COLOURS = tuple(f"var(--rung-{number})" for number in range(1, 5))


def latencies(sides: Sequence[Side]) -> list[Figure]:
    """Draw how many requests, and how many operations, took at most how long; a curve for each flow.

    Flows whose times have nothing in common have pictures of their own.
    """
    figures: list[Figure] = []
    for what in ("requests", "operations", "frames"):
        curves = _largest_first(list(_curves(sides, what)), sides)
        pictures = _pictures(curves)
        left = len(curves) - sum(map(len, pictures[:_MOST_PICTURES]))
        for number, picture in enumerate(pictures[:_MOST_PICTURES]):
            caption = ""
            if not figures:
                caption = (
                    "Share of all samples that took at most so long. Marks: edges of buckets of 1 % or less."
                )
            if left and number == 0:
                caption += f" {counted(left, 'flow')} of less goodput not shown."
            flows = list(dict.fromkeys(curve.flow for curve in picture))
            named = f": {', '.join(flows)}" if len(pictures) > 1 else ""
            figures.append(Figure(f"Latency of {what}{named}", caption, _cumulated(picture)))
    return figures


def _pictures(curves: Sequence[_Curve]) -> list[list[_Curve]]:
    """Put curves on few pictures: those of one flow, and those of times of about the same size, together."""
    pictures: list[list[_Curve]] = []
    for curve in curves:
        for picture in pictures:
            near = any(curve.is_near(other) for other in picture)
            if near and (len(picture) < _MOST_CURVES or picture[-1].flow == curve.flow):
                picture.append(curve)
                break
        else:
            pictures.append([curve])
    return pictures


class _Curve:
    """The latencies of one flow, in the order of their size."""

    def __init__(self, name: str, flow: str, buckets: pl.DataFrame, least: float, largest: float) -> None:
        self.flow = flow
        self.samples = int(buckets["count"].sum())
        self.name = f"{name}: {self.samples:,} samples"
        self.least, self.largest = least, largest
        self.points: list[tuple[float, float]] = [(least, 0.0)]
        below = 0
        for end, count in buckets.select("below_ns", "count").rows():
            below += count
            # Nothing took longer than the longest, whatever its bucket has room for.
            self.points.append((min(float(end), largest), below / self.samples))

    def is_near(self, other: _Curve) -> bool:
        """Whether both are worth one picture: of one flow in two runs, or within a few times one another."""
        return self.flow == other.flow or (
            max(self.largest, other.largest) <= _NEAR * max(min(self.least, other.least), 1.0)
        )


def _curves(sides: Sequence[Side], what: str) -> Iterable[_Curve]:
    for side, result in sides:
        found = []
        rows = result.flows.iter_rows(named=True)
        for row, flow in zip(rows, result.document["flows"], strict=True):
            kind = "latency_ns" if row["counted"] == what else "operation_latency_ns"
            if row[f"{kind}_mean"] is not None and _has(row["counted"] or "operations", what):
                found.append((row, kind, flow))
        groups = grouped(found, _words_of, _alike)
        times = Counter((row["flow"], row["direction"]) for (row, *_), *_ in groups)
        for group in groups:
            row, kind, flow = group[0]
            buckets = frame(latency_rows(flow), LATENCY_COLUMNS).filter(counted=what)
            if buckets.is_empty():
                continue
            name = f"{together([row['flow'] for row, *_ in group])} ({row['direction']})"
            if times[row["flow"], row["direction"]] > 1:
                name = f"{together([row['device'] for row, *_ in group])}, {name}"
            each = ", each" if len(group) > 1 else ""
            name += f"{each}{f', {side}' if side else ''}"
            yield _Curve(name, row["flow"], buckets, row[f"{kind}_min"], row[f"{kind}_max"])


def _has(counted: str, what: str) -> bool:
    """Whether a flow that counts the one has latencies of the other: requests may have operations, too."""
    return counted == what or (counted, what) == ("requests", "operations")


def _words_of(flow: _Found) -> tuple[str, str, str]:
    row, kind, _ = flow
    return stem(row["flow"]), row["direction"], kind


def _alike(one: _Found, other: _Found) -> bool:
    """Whether the latencies of two flows are the same to a person."""
    names = (f"{one[1]}_{name}" for name in ("min", "mean", "p50", "p99", "max"))
    return all(same_number(one[0][name], other[0][name]) for name in names)


def _largest_first(curves: list[_Curve], sides: Sequence[Side]) -> list[_Curve]:
    """Return curves of the flows that moved most; those of one flow beside one another."""
    goodput: dict[str, float] = {}
    for _, result in sides:
        for flow, value in result.flows.select("flow", "goodput_gb_per_s").rows():
            goodput[flow] = max(goodput.get(flow, 0.0), value)
    return sorted(curves, key=lambda curve: (-goodput[curve.flow], curve.flow))


def _cumulated(curves: Sequence[_Curve]) -> str:
    import altair as alt

    unit, scale = time_scale(x for curve in curves for x, _ in curve.points)
    numbers = [x / scale for curve in curves for x, _ in curve.points if x > 0]
    logarithmic = bool(numbers) and max(numbers) / min(numbers) >= _LOGARITHMIC_FROM
    # There is no zero on such an axis.
    least = min(numbers) if logarithmic else 0.0
    rows = [
        {"curve": curve.name, "x": max(x / scale, least), "y": share}
        for curve in curves
        for x, share in curve.points
    ]
    marks = [
        {"curve": curve.name, "x": x / scale, "y": share}
        | {"said": f"{curve.name}: {percent(share)} took at most {x / scale:,.4g} {unit}"}
        for curve in curves
        for x, share in _thinned(curve.points[1:])
    ]
    names = [curve.name for curve in curves]
    colours = [SERIES_COLOURS[number % len(SERIES_COLOURS)] for number in range(len(names))]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "x:Q",
            title=unit,
            scale=alt.Scale(type="log" if logarithmic else "linear", zero=False, nice=not logarithmic),
            axis=alt.Axis(labelOverlap=True, tickCount=6),
        ),
        y=alt.Y("y:Q", title="share of samples", axis=alt.Axis(format="%", tickCount=5)),
        color=alt.Color(
            "curve:N",
            sort=names,
            scale=alt.Scale(domain=names, range=colours),
            legend=alt.Legend(title=None, orient="top", columns=1, labelLimit=330, symbolType="circle"),
        ),
    )
    lines = base.mark_line(strokeWidth=2, interpolate="linear").encode(order=alt.Order("y:Q"))
    dots = base.properties(data=alt.InlineData(values=marks)).mark_point(filled=True, size=40, opacity=0.55)
    return svg_of(alt.layer(lines, dots.encode(description="said:N")).properties(width=WIDTH, height=200))


def _thinned(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    """Return about as many points as can be told apart, the last among them."""
    step = max(1, len(points) // _MARKS)
    return [*points[:-1:step], points[-1]]


def ladders(sides: Sequence[Side]) -> list[Figure]:
    """Draw the efficiency ladder of a direction or two of each run; of several, of the same directions."""
    keys = list(
        dict.fromkeys(
            (row["link"], row["direction"]) for _, result in sides for row in shown_directions(result)
        )
    )
    caption = "From the line rate to payload, GB/s; what is lost on each rung stands beside it."
    figures = []
    for link, direction in keys[: 2 * len(sides)]:
        rows = [
            (side, row)
            for side, result in sides
            for row in result.links.filter(link=link, direction=direction).iter_rows(named=True)
        ]
        figures.append(Figure(f"{link} {direction}", caption, _ladder(rows)))
    return figures


def _ladder(sides: Sequence[tuple[str, Row]]) -> str:
    import altair as alt

    rows: list[Row] = []
    for side, row in sides:
        for number, rung in enumerate(rungs_of(row)):
            value, lost = rung.gb_per_s, rung.lost_gb_per_s
            rows.append(
                {
                    "rung": rung.name,
                    "side": side,
                    "line": f"{rung.name}, {side}" if side else rung.name,
                    "value": value,
                    "label": f"{value:.3f}{f'  ({-lost:+.3f})' if number else ''}",
                    "said": f"{f'{side}: ' if side else ''}{rung.name}: {value:.3f} GB/s"
                    f"{f', {lost:.3f} less' if number else ''}",
                }
            )
    order = [row["line"] for words in RUNGS.values() for row in rows if row["rung"] == words]
    largest = max(row["value"] for row in rows)
    base = alt.Chart(alt.InlineData(values=rows)).encode(y=lines_of(order))
    colour = alt.Color(
        "rung:N", scale=alt.Scale(domain=list(RUNGS.values()), range=list(_RUNG_COLOURS)), legend=None
    )
    x = alt.X(
        "value:Q",
        title="GB/s",
        scale=alt.Scale(domain=[0, 1.42 * largest], nice=False),
        axis=alt.Axis(tickCount=6, labelOverlap=True),
    )
    bars = bars_of(base).encode(x=x, color=colour, description="said:N")
    numbers = base.mark_text(align="left", dx=5, dy=BELOW_NAME, color="var(--ink)", fontSize=12)
    return drawn(alt.layer(bars, numbers.encode(x=x, text="label:N"), names_of(base)))


def times(result: RunResult) -> list[Figure]:
    """Draw where the time of the busiest directions went, and what held the requesters back."""
    busiest = result.links.sort("utilisation", descending=True, maintain_order=True)
    groups = grouped(
        busiest.iter_rows(named=True),
        lambda row: (stem(row["link"]), row["direction"]),
        lambda one, other: abs(one["utilisation"] - other["utilisation"]) <= _SAME_USE,
    )[:_MOST_BARS]
    lines = {
        (
            group[0]["link"],
            group[0]["direction"],
        ): f"{together([row['link'] for row in group])} {group[0]['direction']}"
        for group in groups
    }
    rows = [
        (lines[row["link"], row["direction"]], row["category"], row["time_fraction"])
        for row in result.time_attribution.iter_rows(named=True)
        if (row["link"], row["direction"]) in lines and row["time_fraction"] > 0
    ]
    figures = []
    if rows:
        title = "Time of each link direction"
        caption = "Every instant belongs to exactly one; the busiest first."
        figures.append(Figure(title, caption, _shares(rows, list(lines.values()))))
    states: dict[str, dict[str, float]] = {}
    for row in result.requesters.iter_rows(named=True):
        states.setdefault(row["device"], {})[row["state"]] = row["time_fraction"]
    held, devices = [], []
    for alike in grouped(
        states.items(),
        lambda each: stem(each[0]),
        lambda one, other: all(
            abs(share - other[1].get(state, 0.0)) <= _SAME_USE for state, share in one[1].items()
        ),
    )[:_MOST_BARS]:
        devices.append(together([device for device, _ in alike]))
        held += [(devices[-1], state, share) for state, share in alike[0][1].items() if share > 0]
    if held:
        title = "What held the requesters back"
        figures.append(Figure(title, "Shares of the time of each device.", _shares(held, devices)))
    return figures


def _shares(rows: Sequence[tuple[str, str, float]], order: Sequence[str]) -> str:
    import altair as alt

    names = sorted(dict.fromkeys(category for _, category, _ in rows), key=lambda name: rank(spaced(name)))
    others = [name for name in names if name not in _TIME_COLOURS]
    colours = _TIME_COLOURS | {
        name: _OTHER_COLOURS[number % len(_OTHER_COLOURS)] for number, name in enumerate(others)
    }
    domain = [spelled(name) for name in names]
    values = [
        {"line": line, "category": spelled(category), "share": share, "order": names.index(category)}
        | {"said": f"{line}: {spelled(category)} {percent(share, 2)}"}
        for line, category, share in rows
    ]
    base = alt.Chart(alt.InlineData(values=values)).encode(y=lines_of(order))
    bars = bars_of(base).encode(
        x=alt.X(
            "share:Q", title=None, scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(format="%", tickCount=5)
        ),
        color=alt.Color(
            "category:N",
            sort=domain,
            scale=alt.Scale(domain=domain, range=[colours[name] for name in names]),
            legend=alt.Legend(
                title=None, orient="top", columns=2, columnPadding=40, labelLimit=200, symbolType="square"
            ),
        ),
        order=alt.Order("order:Q"),
        description="said:N",
    )
    return drawn(alt.layer(bars, names_of(base)))


def spaced(category: str) -> str:
    """Return a category as `lanewise.plotting` orders them."""
    return category.replace("_", " ")


def gains(result: WhyResult) -> list[Figure]:
    """Draw what each candidate for the limit brings ten times larger."""
    if result.larger.is_empty():
        return []
    rows = [
        (row["what"], row["gain_percent"], f"{row['what']}: {gain(row['gain_percent'])}")
        for row in result.larger.iter_rows(named=True)
    ]
    caption = "Goodput of all data with each possible limit ten times larger, one at a time."
    return [Figure("What would bring more", caption, bars(rows, "change, %"))]
