"""Figures of a search: how the best got better, its front, and which parameters mattered."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.report.plots import Figure, legend_above, scale_of, svg_of
from lanewise.study.knees import alike

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanewise.study.goals import Goal, Number
    from lanewise.study.search import Search
    from lanewise.study.trials import Trial

_WIDTH = 560
_HEIGHT = 280
_BEST, _KEPT, _MISSED, _OTHER = "best", "keeps all limits", "misses a limit", "other"


def progress(trials: Sequence[Trial], search: Search, best: Sequence[tuple[int, float]]) -> Figure:
    """Draw the first goal over the trials, and the best so far: at which trial it came, and its value."""
    import altair as alt

    goal = search.goals[0]
    rows = [
        {"x": trial.number, "y": value, "kind": _kind(trial, search), "said": told(trial, [goal])}
        for trial in trials
        if (value := trial.values[0]) is not None
    ]
    last = max((trial.number for trial in trials), default=0)
    steps = [{"x": number, "y": value} for number, value in best]
    if steps:
        steps.append({"x": last, "y": steps[-1]["y"]})
    kinds = _kinds(rows)
    points = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_point(filled=True, size=36, opacity=0.9)
        .encode(
            x=alt.X("x:Q", title="trial", scale=alt.Scale(nice=False), axis=alt.Axis(tickMinStep=1)),
            y=alt.Y("y:Q", title=heading(goal), scale=alt.Scale(zero=False)),
            color=alt.Color("kind:N", scale=scale_of(kinds), sort=kinds, legend=legend_above()),
            description="said:N",
        )
    )
    line = (
        alt.Chart(alt.InlineData(values=steps))
        .mark_line(interpolate="step-after", strokeWidth=2, color="var(--ink)")
        .encode(x="x:Q", y="y:Q")
    )
    chart = alt.layer(line, points) if steps else points
    caption = "The line is the best so far of those that keep all limits."
    return Figure("How the best got better", caption, svg_of(chart.properties(width=_WIDTH, height=_HEIGHT)))


def front(trials: Sequence[Trial], best: Sequence[Trial], search: Search, pair: tuple[int, int]) -> Figure:
    """Draw two goals of all trials; with no other goal the front is a line."""
    import altair as alt

    goals = search.goals
    one, other = pair
    among = {trial.number for trial in best}
    rows = [
        {
            "x": trial.values[one],
            "y": trial.values[other],
            "kind": _BEST if trial.number in among else _kind(trial, search),
            "said": told(trial, goals),
        }
        for trial in trials
        if trial.values[one] is not None and trial.values[other] is not None
    ]
    # What is drawn last lies on top.
    kinds = _kinds(rows)
    rows.sort(key=lambda row: -kinds.index(str(row["kind"])))
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        x=alt.X(
            "x:Q",
            title=heading(goals[one]),
            scale=alt.Scale(zero=False),
            axis=alt.Axis(labelFlush=False, tickCount=8),
        ),
        y=alt.Y("y:Q", title=heading(goals[other]), scale=alt.Scale(zero=False)),
    )
    layers = [
        base.transform_filter(f"datum.kind == '{_BEST}'").mark_line(
            color="var(--series-1)", strokeDash=[4, 3]
        ),
        base.mark_point(filled=True, size=46, opacity=0.85).encode(
            color=alt.Color("kind:N", scale=scale_of(kinds), sort=kinds, legend=legend_above()),
            description="said:N",
        ),
    ]
    caption = (
        "On the dashed line are the trials that keep all limits and that no other one beats in all goals."
    )
    title = f"{goals[one].number.text} against {goals[other].number.text}"
    return Figure(
        title,
        caption,
        svg_of(
            alt.layer(*(layers if len(goals) == 2 else layers[1:])).properties(width=_WIDTH, height=_HEIGHT)
        ),
    )


def importance(goal: Goal, found: Mapping[str, float]) -> Figure:
    """Draw which part of a goal's variance among the trials goes with each axis."""
    import altair as alt

    rows = [{"path": path, "part": part, "said": f"{path}: {part:.1%}"} for path, part in found.items()]
    bars = (
        alt.Chart(alt.InlineData(values=rows))
        .mark_bar(height=16, color="var(--series-1)")
        .encode(
            y=alt.Y("path:N", sort=list(found), title=None, axis=alt.Axis(labelLimit=260, ticks=False)),
            x=alt.X(
                "part:Q",
                title="part of the variance",
                axis=alt.Axis(format="%"),
                scale=alt.Scale(domain=[0, 1]),
            ),
            description="said:N",
        )
    )
    caption = "Which part of its variance among the trials goes with each parameter; several may share one."
    return Figure(goal.number.text, caption, svg_of(bars.properties(width=_WIDTH - 160, height=alt.Step(30))))


def heading(goal: Goal) -> str:
    """Return a goal with its unit, as an axis or a column is headed."""
    return with_unit_of(goal.number)


def with_unit_of(number: Number) -> str:
    """Return a number's name with its unit, unless it ends with that."""
    unit = number.unit
    return number.text if not unit or number.text.endswith(unit) else f"{number.text}, {unit}"


def told(trial: Trial, goals: Sequence[Goal]) -> str:
    """Say all of a trial, for the pointer."""
    values = ", ".join(
        f"{heading(goal)} {value:.4g}"
        for goal, value in zip(goals, trial.values, strict=False)
        if value is not None
    )
    point = ", ".join(f"{path}={value}" for path, value in trial.parameters.items())
    limit = f", limited by {alike(trial.limited_by)}" if trial.limited_by else ""
    return f"trial {trial.number}: {point}: {values}{limit}"


def _kind(trial: Trial, search: Search) -> str:
    return _MISSED if not trial.is_feasible else _KEPT if search.limits else _OTHER


def _kinds(rows: Sequence[Mapping[str, object]]) -> list[str]:
    there = {row["kind"] for row in rows}
    return [kind for kind in (_BEST, _KEPT, _OTHER, _MISSED) if kind in there]
