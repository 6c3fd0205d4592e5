"""Pictures of results, as Altair charts: a notebook shows them, ``.save("x.svg")`` writes them.

Needs the extra ``report``. Bars show what the tables have, in their units; only the order is made here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from lanewise.errors import InputError
from lanewise.extras import need
from lanewise.rungs import COLOURS, RUNGS, rungs_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import altair as alt

    from lanewise.columns import Row

MOST_BARS = 24
"""Flows or directions of links in one picture: the busiest."""
_WIDTH = 520
_COLOURS = {
    "payload": "#1f4e8c",
    "header": "#5b8fd0",
    "framing": "#a9c8ec",
    "dllp": "#e6a23c",
    "ordered_set": "#7a7a7a",
    "replay": "#d64a8a",
    "idle": "#ececec",
    "down": "#303030",
}
_BLOCKED = ("#c0504d", "#e08e6d", "#8c2d2a", "#b58fc2", "#6f9e6c", "#c2b35a")
"""Of what keeps a link from sending, in the order in which it is met."""
_SIDES = ("#a9c8ec", "#1f4e8c")


def run_chart(what: str, flows: pl.DataFrame, links: pl.DataFrame, time: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw a run: ``goodput`` of its flows, ``time`` of its links, or the ``ladder`` of the busiest one."""
    need("report", "a picture")
    match what:
        case "goodput":
            return _goodput(flows)
        case "time":
            return _time(links, time)
        case "ladder":
            return _ladder(links)
    raise InputError(f"there is no picture {what!r} of a run; there are 'goodput', 'time' and 'ladder'")


def comparison_chart(names: tuple[str, str], flows: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw two runs: the goodput of each flow in both, in MiB/s."""
    need("report", "a picture")
    import altair as alt

    called = names if names[0] != names[1] else (f"{names[0]} (a)", f"{names[1]} (b)")
    rows = [
        {"flow": f"{row['flow']} ({row['direction']})", "side": name, "value": row[f"{side}_mib_per_s"]}
        for row in flows.head(MOST_BARS).to_dicts()
        for name, side in zip(called, "ab", strict=True)
    ]
    chart: alt.Chart = (
        _chart(rows, "Goodput of each flow")
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title="MiB/s", axis=_numbers()),
            y=_lines("flow", rows),
            yOffset=alt.YOffset("side:N", sort=list(called)),
            color=alt.Color(
                "side:N",
                sort=list(called),
                scale=alt.Scale(domain=list(called), range=_SIDES),
                legend=_legend(),
            ),
            tooltip=["flow:N", "side:N", alt.Tooltip("value:Q", title="MiB/s", format=",.1f")],
        )
    )
    return chart


def sides_chart(called: Mapping[str, str], table: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw what each side reached over what the first did, for rows that both have; a line is at 1.

    `called` says what each side is called in the table, and in the picture. Of many rows those are drawn
    whose ratios are farthest from 1.
    """
    need("report", "a picture")
    import altair as alt

    first, *others = called
    compared = table.filter(table["side"].is_in(others) & (table["ratio"] > 0))
    if compared.is_empty():
        raise InputError("there is no picture of this comparison: no row is compared with the first side")
    lines = compared.select(
        line=pl.concat_str("row", pl.format("({})", "direction"), separator=" ", ignore_nulls=True)
    )
    far = compared.select(pl.col("ratio").log().abs()).to_series()
    farthest = lines.with_columns(far=far).sort("far", descending=True, maintain_order=True)
    chosen = farthest["line"].unique(maintain_order=True).head(MOST_BARS)
    rows = [
        {
            "line": row["line"],
            "side": called[row["side"]],
            "ratio": row["ratio"],
            "value": row[row["compared"]],
            "compared": row["compared"],
        }
        for row in compared.with_columns(lines).filter(pl.col("line").is_in(chosen)).to_dicts()
    ]
    named = [called[other] for other in others]
    scale = alt.Scale(domain=named, range=_SIDES[-len(named) :]) if len(named) <= len(_SIDES) else alt.Scale()
    bars = (
        _chart(rows, f"Ratios to {called[first]}")
        .mark_bar()
        .encode(
            x=alt.X("ratio:Q", title="ratio", axis=_numbers()),
            y=_lines("line", rows),
            yOffset=alt.YOffset("side:N", sort=named),
            color=alt.Color("side:N", sort=named, scale=scale, legend=_legend()),
            tooltip=[
                "line:N",
                "side:N",
                alt.Tooltip("ratio:Q", format=".3f"),
                alt.Tooltip("value:Q", format=",.4~g"),
                "compared:N",
            ],
        )
    )
    one = _chart([{"one": 1}], "").mark_rule(color="#c0504d").encode(x="one:Q")
    return alt.layer(bars, one)


def prediction_chart(table: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw what devices should reach, in GB/s: alone and all at once, with a stroke at the ceiling."""
    need("report", "a picture")
    import altair as alt

    several = table["bdf"].n_unique() > 1
    kinds = {"alone": "alone_gb_per_s", "all at once": "together_gb_per_s"}
    rows = [
        {
            "line": f"{row['bdf']} {row['benchmark']}" if several else row["benchmark"],
            "kind": kind,
            "value": row[column],
            "ceiling": row["ceiling_gb_per_s"],
        }
        for row in table.filter(table["alone_gb_per_s"].is_not_null()).head(2 * MOST_BARS).to_dicts()
        for kind, column in kinds.items()
        if row[column] is not None
    ]
    base = _chart(rows, "What devices should reach; strokes are ceilings").encode(y=_lines("line", rows))
    bars = base.mark_bar().encode(
        x=alt.X("value:Q", title="GB/s", axis=_numbers()),
        yOffset=alt.YOffset("kind:N", sort=list(kinds)),
        color=alt.Color("kind:N", scale=alt.Scale(domain=list(kinds), range=_SIDES), legend=_legend()),
        tooltip=["line:N", "kind:N", alt.Tooltip("value:Q", title="GB/s", format=".2f")],
    )
    ceilings = base.mark_tick(color="#c0504d", thickness=2, size=18).encode(
        x=alt.X("ceiling:Q", title="GB/s"),
        tooltip=["line:N", alt.Tooltip("ceiling:Q", title="ceiling, GB/s", format=".2f")],
    )
    return alt.layer(bars, ceilings)


def why_chart(larger: pl.DataFrame) -> alt.TopLevelMixin:
    """Draw what each candidate for a limit brings ten times larger, in percent of goodput."""
    need("report", "a picture")
    import altair as alt

    rows = [
        {"what": row["what"], "names": ", ".join(row["names"]), "gain": row["gain_percent"]}
        for row in larger.head(MOST_BARS).to_dicts()
    ]
    chart: alt.Chart = (
        _chart(rows, "Gain from each limit, made ten times larger")
        .mark_bar(color=_SIDES[1])
        .encode(
            x=alt.X("gain:Q", title="goodput gained, %", axis=_numbers()),
            y=_lines("what", rows),
            tooltip=["what:N", "names:N", alt.Tooltip("gain:Q", title="%", format=".2f")],
        )
    )
    return chart


def _goodput(flows: pl.DataFrame) -> alt.TopLevelMixin:
    import altair as alt

    rows = [
        {"flow": row["flow"], "direction": row["direction"], "value": row["goodput_gb_per_s"]}
        for row in _largest(flows, "goodput_gb_per_s").to_dicts()
    ]
    chart: alt.Chart = (
        _chart(rows, "Goodput of each flow")
        .mark_bar()
        .encode(
            x=alt.X("value:Q", title="GB/s", axis=_numbers()),
            y=_lines("flow", rows),
            color=alt.Color("direction:N", scale=alt.Scale(scheme="tableau10"), legend=_legend()),
            tooltip=["flow:N", "direction:N", alt.Tooltip("value:Q", title="GB/s", format=".3f")],
        )
    )
    return chart


def _time(links: pl.DataFrame, time: pl.DataFrame) -> alt.TopLevelMixin:
    import altair as alt

    busiest = [(row["link"], row["direction"]) for row in _largest(links, "utilisation").to_dicts()]
    rows = [
        {
            "line": f"{row['link']} {row['direction']}",
            "category": row["category"].replace("_", " "),
            "share": row["time_fraction"],
            "order": position,
        }
        for position, row in enumerate(time.to_dicts())
        if (row["link"], row["direction"]) in busiest and row["time_fraction"] > 0
    ]
    rows.sort(key=lambda row: (rank(row["category"]), row["order"]))
    for position, row in enumerate(rows):
        row["order"] = position
    found = list(dict.fromkeys(row["category"] for row in rows))
    chart: alt.Chart = (
        _chart(rows, "Where the time of each link direction went")
        .mark_bar()
        .encode(
            x=alt.X(
                "share:Q",
                title="share of the time",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            y=alt.Y("line:N", sort=[f"{link} {way}" for link, way in busiest], title=None, axis=_axis()),
            color=alt.Color(
                "category:N",
                sort=found,
                scale=alt.Scale(domain=found, range=_colours(found)),
                legend=_legend(),
            ),
            order=alt.Order("order:Q"),
            tooltip=["line:N", "category:N", alt.Tooltip("share:Q", format=".1%")],
        )
    )
    return chart


def _ladder(links: pl.DataFrame) -> alt.TopLevelMixin:
    import altair as alt

    (busiest,) = links.sort("utilisation", descending=True, maintain_order=True).head(1).to_dicts()
    rows = [{"rung": rung.name, "value": rung.gb_per_s} for rung in rungs_of(busiest)]
    order = list(RUNGS.values())
    base = _chart(rows, f"Efficiency ladder of {busiest['link']} {busiest['direction']}").encode(
        x=alt.X("value:Q", title="GB/s", axis=_numbers()),
        y=alt.Y("rung:N", sort=order, title=None, axis=_axis()),
    )
    bars = base.mark_bar().encode(
        color=alt.Color(
            "rung:N",
            scale=alt.Scale(domain=order, range=list(COLOURS)),
            legend=None,
        )
    )
    numbers = base.mark_text(align="left", dx=4).encode(text=alt.Text("value:Q", format=".3f"))
    return alt.layer(bars, numbers).properties(width=_WIDTH, height=alt.Step(24))


def _largest(table: pl.DataFrame, column: str) -> pl.DataFrame:
    return table.sort(column, descending=True, nulls_last=True, maintain_order=True).head(MOST_BARS)


def rank(category: str) -> int:
    """Return the place of a category: what is sent, what keeps a link from sending, nothing to send."""
    order = [name.replace("_", " ") for name in _COLOURS]
    if category in ("idle", "down"):
        return len(order)
    return order.index(category) if category in order else len(order) - 1


def _colours(categories: Sequence[str]) -> list[str]:
    known = {name.replace("_", " "): colour for name, colour in _COLOURS.items()}
    others = [category for category in categories if category not in known]
    known |= {category: _BLOCKED[place % len(_BLOCKED)] for place, category in enumerate(others)}
    return [known[category] for category in categories]


def _chart(rows: list[Row], title: str) -> alt.Chart:
    import altair as alt

    return alt.Chart(alt.InlineData(values=rows)).properties(title=title, width=_WIDTH)


def _lines(field: str, rows: list[Row]) -> alt.Y:
    import altair as alt

    order = list(dict.fromkeys(row[field] for row in rows))
    return alt.Y(f"{field}:N", sort=order, title=None, axis=_axis())


def _axis() -> alt.Axis:
    import altair as alt

    return alt.Axis(ticks=False, domain=False, labelLimit=320, labelPadding=6)


def _numbers() -> alt.Axis:
    import altair as alt

    return alt.Axis(tickCount=7, labelOverlap=True)


def _legend() -> alt.Legend:
    import altair as alt

    return alt.Legend(title=None, orient="bottom", columns=4, labelLimit=300)
