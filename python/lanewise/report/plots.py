"""Figures of a report, as SVG text to stand in a page.

Colours are CSS variables of the page, so that one drawing suits light and dark. Nothing in it is scripted; a
mark says its numbers when the pointer rests on it.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NotRequired, TypedDict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import altair as alt

    from lanewise.experiment.definition import Plot
    from lanewise.experiment.reproduced_cell import ReproducedCell, SimulatedValue
    from lanewise.experiment.reproduction import ReproducedExperiment

SERIES_COLOURS = tuple(f"var(--series-{number})" for number in range(1, 7))
_WIDTH = 620
_LINES_HEIGHT = 300
_IN_BYTES = " (B)"
_BINARY_LABEL = (
    "datum.value >= 1048576 ? format(datum.value / 1048576, '~g') + ' MiB' : "
    "datum.value >= 1024 ? format(datum.value / 1024, '~g') + ' KiB' : datum.value + ' B'"
)
"""A label of Vega for a size."""
_LOGARITHMIC_FROM = 8
"""An axis whose largest value is this many times the smallest is logarithmic."""


class _Row(TypedDict):
    """One mark of a figure."""

    x: str | float
    y: float
    series: str
    kind: str
    """published or simulated."""
    said: str
    """What it says when it is pointed at."""
    low: float | None
    """Where the band around it begins."""
    high: float | None
    role: NotRequired[str]


@dataclass(frozen=True)
class Figure:
    """One drawing with its caption."""

    title: str
    caption: str
    svg: str


@contextmanager
def unchecked() -> Iterator[None]:
    """Do without the check of each part of a chart against the schema of Vega-Lite.

    It finds mistakes of this file, takes longer than drawing, and is left to the tests.
    """
    from altair.utils.schemapi import debug_mode

    with debug_mode(False):
        yield


def figures(experiment: ReproducedExperiment) -> list[Figure]:
    """Draw the figures of an experiment: those its folder describes, or a bar for each of its cells."""
    drawn = [figure for plot in experiment.definition.plots if (figure := _described(plot, experiment))]
    return drawn or _bars_by_unit(experiment)


def overview(experiments: Sequence[ReproducedExperiment]) -> Figure | None:
    """Draw the error of every predicted cell, one line for each experiment."""
    import altair as alt

    points = [
        {
            "experiment": experiment.id,
            "error": cell.error,
            "judged": "in points" if cell.is_judged_in_points else "in percent",
            "said": f"{experiment.id} {cell.cell}: {_error(cell)}",
        }
        for experiment in experiments
        for cell in experiment.predicted
        if cell.error is not None
    ]
    if not points:
        return None
    order = [
        experiment.id for experiment in experiments if any(p["experiment"] == experiment.id for p in points)
    ]
    base = alt.Chart(alt.InlineData(values=points)).encode(
        y=alt.Y("experiment:N", sort=order, title=None, axis=alt.Axis(grid=True, ticks=False)),
    )
    dots = base.mark_point(filled=True, size=55, opacity=0.8).encode(
        x=alt.X(
            "error:Q",
            title="simulated against published, percent or points",
            axis=alt.Axis(format="+", tickCount=9, labelOverlap=True),
        ),
        color=alt.Color("judged:N", scale=scale_of(["in percent", "in points"]), legend=legend_above()),
        description="said:N",
    )
    zero = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color="var(--ink)").encode(x="zero:Q")
    return Figure(
        title="Errors of all predicted cells",
        caption="Each mark is a cell that nothing was fitted on, and nothing chosen with it in view.",
        svg=svg_of((zero + dots).properties(width=_WIDTH - 60, height=alt.Step(24))),
    )


def _described(plot: Plot, experiment: ReproducedExperiment) -> Figure | None:
    shape = re.compile(
        re.escape(plot.pattern).replace(r"\{x\}", "(?P<x>.+?)").replace(r"\{series\}", "(?P<series>.+?)")
    )
    matched = [
        (match.groupdict(), cell) for cell in experiment.cells if (match := shape.fullmatch(cell.cell))
    ]
    values = [
        (match.groupdict(), value) for value in experiment.values if (match := shape.fullmatch(value.id))
    ]
    if not matched and not values:
        return None
    rows = [
        row
        for names, cell in matched
        for row in _rows(cell, x=names["x"], series=names.get("series", cell.unit))
    ]
    rows += [
        _value_row(value, x=names["x"], series=names.get("series", value.unit)) for names, value in values
    ]
    unit = ", ".join(
        dict.fromkeys([*(cell.unit for _, cell in matched), *(value.unit for _, value in values)])
    )
    if plot.kind == "lines":
        return Figure(plot.title, _caption(rows, _LINES_CAPTION), _lines(rows, plot.x, unit))
    return Figure(plot.title, _caption(rows, _BARS_CAPTION), _bars(rows, unit))


_LINES_CAPTION = "Dashed with rings: published. Solid: simulated."
_BARS_CAPTION = "Bar: simulated. Mark: published. Thin line: the band around the published number."


def _caption(rows: list[_Row], caption: str) -> str:
    """Explain what is published, where anything in a figure is."""
    return caption if any(row["kind"] == "published" for row in rows) else ""


def _bars_by_unit(experiment: ReproducedExperiment) -> list[Figure]:
    """Draw cells that no plot describes: rows named by the first part of the id, one figure for each unit."""
    drawn = []
    shown = [cell for cell in experiment.cells if cell.simulated is not None and cell.published is not None]
    units = [value.unit for value in experiment.values] + [cell.unit for cell in shown]
    for unit in dict.fromkeys(units):
        rows = []
        for value in experiment.values:
            if value.unit == unit:
                series, _, x = value.id.replace("_", " ").rpartition("/")
                rows.append(_value_row(value, x=x, series=series))
        for cell in shown:
            if cell.unit == unit:
                series, _, x = cell.cell.rpartition("/")
                rows += _rows(cell, x=x, series=series)
        caption = _caption(rows, _BARS_CAPTION)
        title = "Published and simulated" if caption else "Simulated; not published"
        drawn.append(Figure(f"{title}, {unit}", caption, _bars(rows, unit)))
    return drawn


def _value_row(value: SimulatedValue, *, x: str, series: str) -> _Row:
    return {
        "x": x,
        "series": series,
        "said": f"{value.id}: simulated {_number(value.simulated)} {value.unit}",
        "low": None,
        "high": None,
        "kind": "simulated",
        "y": value.simulated,
    }


def _rows(cell: ReproducedCell, *, x: str, series: str) -> list[_Row]:
    """Return a published and a simulated row of a cell, for whichever number it has."""
    low = high = None
    if cell.published is not None and cell.role != "excluded":
        half = cell.band_points
        if half is None and cell.band_percent is not None:
            half = abs(cell.published) * cell.band_percent / 100
        if half is not None:
            low, high = cell.published - half, cell.published + half
    if cell.between is not None:
        low, high = cell.between
    said = (
        f"{cell.cell}: published {_number(cell.published)}, simulated {_number(cell.simulated)} {cell.unit}"
    )
    numbers = (("published", cell.published), ("simulated", cell.simulated))
    return [
        {
            "x": x.replace("_", " "),
            "series": series.replace("_", " "),
            "role": cell.role,
            "said": said,
            "low": low,
            "high": high,
            "kind": kind,
            "y": value,
        }
        for kind, value in numbers
        if value is not None
    ]


def _lines(rows: list[_Row], x_title: str, unit: str) -> str:
    import altair as alt

    sizes = sorted({float(row["x"]) for row in rows})
    rows = [{**row, "x": float(row["x"])} for row in rows]
    logarithmic = sizes[0] > 0 and sizes[-1] / sizes[0] >= _LOGARITHMIC_FROM
    numbers = [row["y"] for row in rows if row["y"] > 0]
    steep = bool(numbers) and min(numbers) > 0 and max(numbers) / min(numbers) >= 50
    series = list(dict.fromkeys(row["series"] for row in rows))
    # Long numbers of bytes would be read as decimal thousands; their labels have units.
    long_sizes = x_title.endswith(_IN_BYTES) and sizes[-1] >= 1e5
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "x:Q",
            title=x_title.removesuffix(_IN_BYTES) if long_sizes else x_title,
            scale=alt.Scale(type="log" if logarithmic else "linear", nice=False),
            axis=alt.Axis(
                values=_readable(sizes),
                labelFlush=False,
                labelOverlap=False,
                labelExpr=_BINARY_LABEL if long_sizes else alt.Undefined,
                format="~s" if sizes[-1] >= 1e5 else "d",
                grid=False,
            ),
        ),
        y=alt.Y("y:Q", title=unit, scale=alt.Scale(type="log" if steep else "linear", zero=not steep)),
        color=alt.Color("series:N", scale=scale_of(series), sort=series, legend=legend_above()),
        detail="kind:N",
    )
    published = base.transform_filter("datum.kind === 'published'")
    simulated = base.transform_filter("datum.kind === 'simulated'")
    layers = [
        published.mark_line(strokeDash=[3, 4], strokeWidth=1.2, opacity=0.8),
        published.mark_point(filled=False, size=70, strokeWidth=1.6).encode(description="said:N"),
        simulated.mark_line(strokeWidth=2),
        simulated.mark_point(filled=True, size=32).encode(description="said:N"),
    ]
    return svg_of(alt.layer(*layers).properties(width=_WIDTH - 60, height=_LINES_HEIGHT))


def _readable(sizes: list[float]) -> list[float]:
    """Leave out labels that would touch on a logarithmic axis."""
    kept: list[float] = []
    for size in reversed(sizes):
        if not kept or size <= 0 or kept[-1] / size >= 1.22:
            kept.append(size)
    return kept


def _bars(rows: list[_Row], unit: str) -> str:
    import altair as alt

    names = [f"{row['series']} \N{MIDDLE DOT} {row['x']}".strip(" \N{MIDDLE DOT}") for row in rows]
    lines = [{**row, "line": name} for row, name in zip(rows, names, strict=True)]
    order = list(dict.fromkeys(names))
    columns = list(dict.fromkeys(str(row["x"]) for row in rows))
    if len(columns) == len(order):
        columns = []  # Every bar is a row of its own; colours would say nothing.
    base = alt.Chart(alt.InlineData(values=lines)).encode(
        y=alt.Y("line:N", sort=order, title=None, axis=alt.Axis(ticks=False, labelLimit=260, labelPadding=8)),
    )
    colour = (
        alt.Color("x:N", scale=scale_of(columns), sort=columns, legend=None)
        if columns
        else alt.value(SERIES_COLOURS[0])
    )
    width = alt.X("y:Q", title=unit, axis=alt.Axis(tickCount=6, labelOverlap=True))
    layers = [
        base.transform_filter("datum.kind === 'simulated'")
        .mark_bar(height={"band": 0.62}, opacity=0.85)
        .encode(x=width, color=colour, description="said:N"),
        base.transform_filter("datum.kind === 'published' && datum.low !== null")
        .mark_rule(color="var(--ink)", strokeWidth=1.5)
        .encode(x=alt.X("low:Q", title=unit), x2="high:Q", description="said:N"),
        base.transform_filter("datum.kind === 'published'")
        .mark_tick(color="var(--ink)", thickness=3, height={"band": 0.8})
        .encode(x=width, description="said:N"),
    ]
    return svg_of(alt.layer(*layers).properties(width=_WIDTH - 160, height=alt.Step(21)))


def scale_of(domain: Sequence[str]) -> alt.Scale:
    """Give each of some names a colour of the page."""
    import altair as alt

    colours = [SERIES_COLOURS[number % len(SERIES_COLOURS)] for number in range(len(domain))]
    return alt.Scale(domain=list(domain), range=colours)


def legend_above() -> alt.Legend:
    """Return the legend that all figures have."""
    import altair as alt

    return alt.Legend(title=None, orient="top", symbolType="circle", labelLimit=300)


def svg_of(chart: alt.Chart | alt.LayerChart | alt.FacetChart) -> str:
    """Return a chart as SVG that has the colours and the width of the page, and speaks when pointed at."""
    import vl_convert
    from altair.utils import schemapi

    configured = (
        chart.configure(
            background="transparent",
            font="system-ui, sans-serif",
            padding={"left": 26, "right": 12, "top": 4, "bottom": 4},
        )
        .configure_view(stroke=None)
        .configure_axis(
            labelColor="var(--ink-soft)",
            titleColor="var(--ink-soft)",
            gridColor="var(--rule)",
            domainColor="var(--rule)",
            tickColor="var(--rule)",
            labelFontSize=12,
            titleFontSize=12,
            titleFontWeight="normal",
        )
        .configure_legend(labelColor="var(--ink)", labelFontSize=12)
    )
    svg = str(vl_convert.vegalite_to_svg(configured.to_dict(validate=schemapi.DEBUG_MODE)))
    return _fit_to_page(_speak(svg))


def _speak(svg: str) -> str:
    """Give each mark the text that browsers show when the pointer rests on it."""
    return re.sub(
        r'<path aria-label="([^"]*)"([^>]*)/>',
        r'<path aria-label="\1"\2><title>\1</title></path>',
        svg,
    )


def _fit_to_page(svg: str) -> str:
    """Let the page decide on the width, up to the drawn one."""
    width = re.search(r'width="([\d.]+)"', svg)
    drawn = width.group(1) if width else str(_WIDTH)
    return re.sub(
        r'width="[\d.]+" height="[\d.]+"',
        f'role="img" style="width:100%;max-width:{1.3 * float(drawn):.0f}px;height:auto"',
        svg,
        count=1,
    )


def _error(cell: ReproducedCell) -> str:
    if cell.is_judged_in_points and cell.error_points is not None:
        return f"{cell.error_points:+.2f} points"
    return f"{cell.error_percent:+.2f} %" if cell.error_percent is not None else ""


def _number(value: float | None) -> str:
    return "\N{EN DASH}" if value is None else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
