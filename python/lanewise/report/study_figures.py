"""Figures of a study: lines with intervals and knees, heat maps, what moves most, the best points."""

from __future__ import annotations

from string import ascii_uppercase
from typing import TYPE_CHECKING

from lanewise.report.plots import Figure, legend_above, scale_of, svg_of
from lanewise.study.knees import alike
from lanewise.written import DASH, counted, plain, with_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.study.summary import Effect, Spot

_WIDTH = 560
_HEIGHT = 300
_LOGARITHMIC_FROM = 30
MOST_SERIES = 6
"""More lines have no colour of their own."""


def lines(
    spots: Sequence[Spot],
    x: tuple[str, str],
    series: Sequence[str],
    unit: str,
    turns: Sequence[tuple[Spot, Spot]] = (),
) -> Figure:
    """Draw a number along a parameter, whose path and heading are `x`, with a line for each value of others.

    A ring is where another thing becomes the limit, the second one of each of `turns`; a bar is the 95 %
    interval over the seeds. Spots at which the parameter does not vary are not drawn.
    """
    import altair as alt

    path, heading = x
    drawn = [spot for spot in spots if spot.parameters[path] is not None]
    rows = [
        {
            "x": spot.parameters[path],
            "y": spot.value,
            "low": spot.value - (spot.half_width or 0.0),
            "high": spot.value + (spot.half_width or 0.0),
            "series": line_of(spot, series),
            "said": told(spot, unit),
        }
        for spot in drawn
    ]
    names = list(dict.fromkeys(str(row["series"]) for row in rows))
    values = sorted({float(str(row["x"])) for row in rows})
    logarithmic = values[0] > 0 and values[-1] / values[0] >= _LOGARITHMIC_FROM and len(values) < _LINEAR_FROM
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "x:Q",
            title=heading,
            scale=alt.Scale(type="log" if logarithmic else "linear", nice=False),
            axis=alt.Axis(labelFlush=False),
        ),
        color=alt.Color(
            "series:N", scale=scale_of(names), sort=names, legend=legend_above() if series else None
        ),
    )
    knees = alt.Chart(alt.InlineData(values=[_ring(*turn, path) for turn in turns])).encode(
        x="x:Q", y="y:Q", description="said:N"
    )
    y = alt.Y("y:Q", title=unit, scale=alt.Scale(zero=True))
    layers = [
        base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", title=unit), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_point(filled=True, size=34, opacity=1).encode(y=y, description="said:N"),
        knees.mark_point(filled=False, size=190, strokeWidth=2, color="var(--ink)"),
    ]
    by = f"By {series[0]}. " if len(series) == 1 else ""
    caption = f"{by}A ring is where another thing becomes the limit." if turns else by.strip()
    if any(spot.half_width for spot in drawn):
        caption += " A bar is the 95 % interval over the seeds."
    caption = f"{caption}{_left_out(spots, drawn, path)}".strip()
    return Figure(unit, caption, svg_of(alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)))


_LINEAR_FROM = 20
"""So many values along an axis are read on a linear one."""


def heat_map(spots: Sequence[Spot], x: tuple[str, str], y: tuple[str, str], unit: str) -> Figure:
    """Draw a number over two parameters, each with its path and heading; letters say what limits."""
    import altair as alt

    drawn = [spot for spot in spots if spot.parameters[x[0]] is not None]
    limits = list(dict.fromkeys(alike(spot.limited_by) for spot in drawn if spot.limited_by))
    letters = dict(zip(limits, ascii_uppercase, strict=False))
    rows = [
        {
            "x": plain(spot.parameters[x[0]]),
            "y": plain(spot.parameters[y[0]]),
            "value": spot.value,
            "letter": letters.get(alike(spot.limited_by), "") if spot.limited_by else "",
            "said": told(spot, unit),
        }
        for spot in drawn
    ]
    columns, lanes = (_order([spot.parameters[path] for spot in drawn]) for path in (x[0], y[0]))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X("x:N", sort=columns, title=x[1], axis=alt.Axis(labelAngle=0, labelOverlap=True)),
        y=alt.Y(
            "y:N",
            sort=lanes[::-1],
            title=y[1],
            # Above the labels: beside them it would be longer than a map of few rows is high.
            axis=alt.Axis(titleAngle=0, titleAlign="right", titleX=-6, titleY=-10, titleBaseline="bottom"),
        ),
    )
    middle = (max(spot.value for spot in drawn) + min(spot.value for spot in drawn)) / 2
    cells = base.mark_rect().encode(
        color=alt.Color(
            "value:Q", title=unit, scale=alt.Scale(scheme="viridis"), legend=alt.Legend(orient="right")
        ),
        description="said:N",
    )
    words = base.mark_text(fontSize=11).encode(
        text="letter:N",
        color=alt.condition(f"datum.value > {middle}", alt.value("#1d2126"), alt.value("#ffffff")),
    )
    caption = "; ".join(f"{letter}: limited by {limit}" for limit, letter in letters.items())
    if len(limits) > len(letters):
        caption += f"; {len(limits) - len(letters)} more limits have no letter"
    if caption:
        caption += "."
    caption = f"{caption}{_left_out(spots, drawn, x[0])}".strip()
    height = min(max(len(lanes) * 30, 120), 420)
    return Figure(unit, caption, svg_of((cells + words).properties(width=_WIDTH - 70, height=height)))


def _ring(before: Spot, after: Spot, path: str) -> dict[str, object]:
    one, two = alike(str(before.limited_by)), alike(str(after.limited_by))
    said = f"{path} {after.written(path)}: limited by {two}, before by {one}"
    return {"x": after.parameters[path], "y": after.value, "said": said}


def _left_out(spots: Sequence[Spot], drawn: Sequence[Spot], path: str) -> str:
    left = len(spots) - len(drawn)
    return f" Left out: {counted(left, 'point')} without {path}." if left else ""


def tornado(effects: Sequence[Effect], unit: str, middle: float) -> Figure:
    """Draw how far each parameter moves a number, the mean over all others taken, around the mean of all."""
    import altair as alt

    order = [effect.path for effect in effects]
    rows = [
        {
            "path": effect.path,
            "low": effect.least[1],
            "high": effect.most[1],
            "said": f"{effect.path}: "
            f"{effect.least[1]:.4g} {unit} at {with_unit(effect.least[0], effect.unit)}, "
            f"{effect.most[1]:.4g} {unit} at {with_unit(effect.most[0], effect.unit)}",
        }
        for effect in effects
    ]
    bars = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(height=16, color="var(--series-1)")
        .encode(
            y=alt.Y("path:N", sort=order, title=None, axis=alt.Axis(labelLimit=260, ticks=False)),
            x=alt.X(
                "low:Q", title=unit, scale=alt.Scale(zero=False), axis=alt.Axis(labelFlush=False, tickCount=8)
            ),
            x2="high:Q",
            description="said:N",
        )
    )
    line = (
        alt.Chart(alt.InlineData(values=[{"middle": middle}]))
        .mark_rule(strokeWidth=1.5, color="var(--ink)")
        .encode(x="middle:Q")
    )
    caption = (
        "From the least to the most that a parameter gives, the mean over all others taken. "
        "The line is the mean of all points."
    )
    return Figure(
        "What moves most",
        caption,
        svg_of(alt.layer(bars, line).properties(width=_WIDTH - 160, height=alt.Step(30))),
    )


def trade(points: Sequence[tuple[float, float, str]], best: Sequence[int]) -> Figure:
    """Draw goodput in GB/s against latency in us, each with what it is; the best ones are joined."""
    import altair as alt

    rows = [
        {"x": x, "y": y, "said": said, "kind": "best" if index in set(best) else "other"}
        for index, (x, y, said) in enumerate(points)
    ]
    # What is drawn last lies on top.
    rows.sort(key=lambda row: str(row["kind"]) == "best")
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "x:Q", title="GB/s", scale=alt.Scale(zero=False), axis=alt.Axis(labelFlush=False, tickCount=8)
        ),
        y=alt.Y("y:Q", title="99th percentile, us", scale=alt.Scale(zero=False)),
    )
    colour = alt.condition("datum.kind == 'best'", alt.value("var(--series-2)"), alt.value("var(--series-6)"))
    layers = [
        base.transform_filter("datum.kind == 'best'").mark_line(color="var(--series-2)", strokeDash=[4, 3]),
        base.mark_point(filled=True, size=46, opacity=0.85).encode(color=colour, description="said:N"),
    ]
    caption = "On the dashed line are the points that no other one beats in both."
    return Figure(
        "Goodput against latency",
        caption,
        svg_of(alt.layer(*layers).properties(width=_WIDTH, height=_HEIGHT)),
    )


def line_of(spot: Spot, paths: Sequence[str]) -> str:
    """Name the line of a spot: by the value where one parameter tells lines apart."""
    return spot.written(paths[0]) if len(paths) == 1 else label(spot, paths)


def label(spot: Spot, paths: Sequence[str]) -> str:
    """Name a spot by some of its parameters."""
    return ", ".join(f"{path}={spot.written(path)}" for path in paths if spot.parameters[path] is not None)


def told(spot: Spot, unit: str) -> str:
    """Say all of a spot, for the pointer."""
    interval = "" if spot.half_width is None else f" ±{spot.half_width:.2g}"
    limit = f", limited by {alike(spot.limited_by)}" if spot.limited_by else ""
    return f"{label(spot, list(spot.parameters))}: {spot.value:.4g}{interval} {unit}{limit}"


def _order(values: Sequence[object]) -> list[str]:
    """Return values as they are written, in the order of their numbers; texts as they stand, none last."""
    known = list(dict.fromkeys(value for value in values if value is not None))
    numbers = [value for value in known if isinstance(value, int | float)]
    kept: Sequence[object] = sorted(numbers) if len(numbers) == len(known) else known
    return [*dict.fromkeys(map(plain, kept)), *[DASH] * (None in values)]
