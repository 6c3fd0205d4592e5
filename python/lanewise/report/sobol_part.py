"""What a report says of Sobol indices: a table and a figure for each number that has some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.report.content import Section
from lanewise.report.plots import Figure, legend_above, scale_of, svg_of
from lanewise.report.rows import rows_of
from lanewise.study.sobol import all_indices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.study.sobol import SobolIndex
    from lanewise.study.study import StudyResult

_WIDTH = 400
_ALONE, _WITH_OTHERS = "alone", "with others"


def sobol_section(result: StudyResult, *, drawn: bool) -> Section:
    """Return the indices of every number of a study; an empty section where there are none."""
    figures, tables, sentences = [], [], []
    for number, found in all_indices(result).items():
        if isinstance(found, str):
            sentences.append(f"No Sobol indices of {number}: {found}.")
            continue
        ordered = sorted(found, key=lambda index: -index.total)
        rows = [
            (
                index.axis,
                f"{index.first:z.3f}",
                _interval(index.first_interval),
                f"{index.total:z.3f}",
                _interval(index.total_interval),
            )
            for index in ordered
        ]
        columns = ("parameter", "#alone", "#95 %", "#with others", "#95 %")
        tables += rows_of(f"Sobol indices of {number}", columns, rows)
        if drawn:
            figures.append(sobol_figure(number, ordered))
    return Section("Which part of the variance each parameter makes", sentences, figures, tables)


def sobol_figure(number: str, found: Sequence[SobolIndex]) -> Figure:
    """Draw the first-order and the total index of each parameter, with their intervals."""
    import altair as alt

    rows = [
        {
            "axis": index.axis,
            "kind": kind,
            "part": part,
            "low": low,
            "high": high,
            "said": f"{index.axis}, {kind}: {part:.3f}, {low:.3f} to {high:.3f}",
        }
        for index in found
        for kind, part, (low, high) in (
            (_ALONE, index.first, index.first_interval),
            (_WITH_OTHERS, index.total, index.total_interval),
        )
    ]
    kinds = [_ALONE, _WITH_OTHERS]
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        y=alt.Y(
            "axis:N",
            sort=[index.axis for index in found],
            title=None,
            axis=alt.Axis(labelLimit=260, ticks=False),
        ),
        yOffset=alt.YOffset("kind:N", sort=kinds),
    )
    layers = [
        base.mark_bar(height=11).encode(
            x=alt.X("part:Q", title="part of the variance", axis=alt.Axis(labelFlush=False, tickCount=8)),
            color=alt.Color("kind:N", scale=scale_of(kinds), sort=kinds, legend=legend_above()),
            description="said:N",
        ),
        base.mark_rule(strokeWidth=1.5, color="var(--ink)").encode(x="low:Q", x2="high:Q"),
    ]
    caption = (
        "First-order and total Sobol indices: what a parameter makes alone, and together with others. "
        "A line is the 95 % interval."
    )
    return Figure(number, caption, svg_of(alt.layer(*layers).properties(width=_WIDTH, height=alt.Step(18))))


def _interval(ends: tuple[float, float]) -> str:
    return f"{ends[0]:z.2f} to {ends[1]:z.2f}"
