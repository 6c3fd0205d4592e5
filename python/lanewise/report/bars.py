"""Rows of bars: each has its name above it, where it has room however long it is, also on a phone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.report.plots import SERIES_COLOURS, legend_above, svg_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    import altair as alt

WIDTH = 330
"""Of the drawing, in pixels; a page may make it narrower, or wider by a third."""
BELOW_NAME = 8
"""How far below the middle of its row a bar is."""
_LONGEST = 290
"""Of a name: what draws measures with another font than what shows."""
_HEIGHT = 15
_ROW = 38


def bars(rows: Sequence[tuple[str, float, str]], unit: str, colours: Sequence[str] = ()) -> str:
    """Draw a bar for each name: its number, and what it says when it is pointed at."""
    import altair as alt

    values = [
        {"line": line, "value": value, "said": said, "colour": colour}
        for (line, value, said), colour in zip(rows, colours or [""] * len(rows), strict=True)
    ]
    kinds = list(dict.fromkeys(colours))
    palette = [SERIES_COLOURS[number % len(SERIES_COLOURS)] for number in range(len(kinds))]
    colour = (
        alt.Color("colour:N", sort=kinds, scale=alt.Scale(domain=kinds, range=palette), legend=legend_above())
        if len(kinds) > 1
        else alt.value(SERIES_COLOURS[0])
    )
    base = alt.Chart(alt.InlineData(values=values)).encode(y=lines_of([line for line, _, _ in rows]))
    x = alt.X("value:Q", title=unit, axis=alt.Axis(tickCount=6, labelOverlap=True))
    marks = bars_of(base).encode(x=x, color=colour, description="said:N")
    return drawn(alt.layer(marks, names_of(base)))


def lines_of(order: Sequence[str]) -> alt.Y:
    """Return a row for each line, in this order, without an axis."""
    import altair as alt

    return alt.Y("line:N", sort=list(order), title=None, axis=None)


def names_of(base: alt.Chart) -> alt.Chart:
    """Return the names above the bars of a chart."""
    import altair as alt

    names = base.mark_text(align="left", dy=-9, fontSize=12, color="var(--ink-soft)", limit=_LONGEST)
    # One for each line, however many bars it is made of.
    one_each: alt.Chart = names.transform_aggregate(groupby=["line"]).encode(text="line:N", x=alt.value(0))
    return one_each


def drawn(chart: alt.LayerChart | alt.FacetChart) -> str:
    """Return rows of bars as SVG."""
    import altair as alt

    return svg_of(chart.properties(width=WIDTH, height=alt.Step(_ROW)))


def bars_of(base: alt.Chart) -> alt.Chart:
    """Return the bars of a chart, each below its name."""
    bars: alt.Chart = base.mark_bar(height=_HEIGHT, yOffset=BELOW_NAME)
    return bars
