"""What a reader asks of a run first: what it gives, why not more, and what would help."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from lanewise.flow_limits import limiting_wires
from lanewise.report.content import Section
from lanewise.report.rows import alike_groups, called
from lanewise.results import WhyResult
from lanewise.written import counted, gain, percent, time_scale

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.columns import Row
    from lanewise.results import RunResult

_BRINGS_PERCENT = 1.0
"""What brings less is told as bringing nothing: runs are only as narrow as that."""
_IN_FULL = 0.99
_MORE = "more flow"
_LITTLE = 0.1
"""Goodput in GB/s below which operations a second say more."""


def total_goodput(result: RunResult) -> float:
    """Return the goodput of all flows of data, GB/s; what one device reads and another writes counts once."""
    return result.goodput_gb_per_s


def largest_latency(result: RunResult) -> tuple[Row, str] | None:
    """Return the flow of data that moved most and has a p99 or a p50, and which of both it has."""
    for name in ("latency_ns_p99", "latency_ns_p50"):
        known = result.data_flows.filter(result.data_flows[name].is_not_null())
        if not known.is_empty():
            return known.sort("goodput_gb_per_s", descending=True, maintain_order=True).row(
                0, named=True
            ), name
    return None


def time_text(nanoseconds: float) -> str:
    """Write a time with the unit that suits it."""
    unit, scale = time_scale([nanoseconds])
    return f"{nanoseconds / scale:,.{2 if scale > 1 else 1}f} {unit}"


def tiles(result: RunResult) -> Iterator[tuple[str, str]]:
    """Yield the numbers that matter most, each with what it is."""
    goodput = total_goodput(result)
    moving = result.flows_in_total.filter(result.flows_in_total["payload_bytes"] > 0)
    if goodput:
        yield f"{goodput:.3f} GB/s", f"goodput of all data, {counted(moving.height, 'flow')}"
    if goodput < _LITTLE and (done := result.operations_per_s):
        yield f"{done:,.0f}", "operations a second"
    limit = result.document.get("limited_by")
    if limit is not None:
        how = "in use:" if limit["in_use"] else "of the time was waited for"
        yield percent(limit["share"]), f"{how} {limit['name']}"
    if (latency := largest_latency(result)) is not None:
        row, which = latency
        word = (row["counted"] or "operations").removesuffix("s")
        yield (
            time_text(row[which]),
            f"{which.removeprefix('latency_ns_')} of a {row['direction']} {word} of {row['flow']}",
        )
    if isinstance(result, WhyResult) and not result.larger.is_empty():
        best = result.larger.row(0, named=True)
        yield gain(best["gain_percent"]), f"brings ten times larger: {best['what']}"


def in_short(result: RunResult) -> Section:
    """Return the questions with what the results say to them."""
    return Section(
        "In short",
        answers=[
            ("What does it give?", _gives(result)),
            ("Why not more?", _why_not_more(result)),
            ("What would help?", _would_help(result)),
        ],
    )


def _gives(result: RunResult) -> str:
    moving = result.flows_in_total.filter(result.flows_in_total["payload_bytes"] > 0)
    if result.end_reason == "Stalled":
        waiting = "; ".join(result.document.get("stalled_waiting", []))
        return f"The run stalled: nothing moves any more{f': {waiting}' if waiting else ''}."
    if moving.is_empty():
        done = result.operations_per_s
        return f"No bytes of data, and {done:,.0f} operations a second." if done else "Nothing moved."
    said = f"{total_goodput(result):.3f} GB/s of data"
    if moving.height > 1:
        largest = moving.sort("goodput_gb_per_s", descending=True, maintain_order=True)
        groups = alike_groups(
            list(largest.iter_rows(named=True)), "flow", ("direction",), ("goodput_gb_per_s",)
        )
        named = ", ".join(
            f"{called(group, 'flow')} ({group[0]['direction']}) "
            f"{'each ' if len(group) > 1 else ''}{group[0]['goodput_gb_per_s']:.3f}"
            for group in groups[:4]
        )
        left = sum(map(len, groups[4:]))
        said += f" in all: {named}{f' and {counted(left, _MORE)}' if left else ''}"
    if total_goodput(result) < _LITTLE and (done := result.operations_per_s) is not None:
        said += f", in {done:,.0f} operations a second"
    said += "."
    if (latency := largest_latency(result)) is not None:
        row, which = latency
        word = (row["counted"] or "operations").removesuffix("s")
        share = "99 %" if which.endswith("99") else "half"
        said += (
            f" Of {row['flow']}, {share} of the {row['direction']} {word}s take at most "
            f"{time_text(row[which])}."
        )
    return said


def _why_not_more(result: RunResult) -> str:
    if result.limited_by is None:
        return "Nothing was found that limits it."
    how = f"{result.limited_by}. This goes by the time that others waited for it."
    if isinstance(result, WhyResult):
        how = f"{result.verdict}." if _helps(result) else how
    limit = result.document["limited_by"]
    parts = [how]
    if limit is None:
        return how
    if limit["of_goodput"] and limit["of_goodput"] < 0.995:
        parts.append(f"It limits {percent(limit['of_goodput'], 0)} of the data.")
    if limit["alike"]:
        parts.append(f"In the same case: {', '.join(limit['alike'][:6])}.")
    known = limiting_wires(result.document)
    others = [
        f"{row['link']} {row['direction']}"
        for row in result.links.iter_rows(named=True)
        if row["utilisation"] >= _IN_FULL and (row["link"], row["direction"]) not in known
    ]
    if others:
        rest = f" and {len(others) - 6} more" if len(others) > 6 else ""
        parts.append(f"Also in use all the time: {', '.join(others[:6])}{rest}.")
    return " ".join(parts)


def _would_help(result: RunResult) -> str:
    if not isinstance(result, WhyResult):
        return (
            "Not tried in this run. With --why, Lanewise runs the scenario again with each possible limit "
            f"ten times larger, and ranks what that brings.{_edits(result)}"
        )
    helps = _helps(result)
    idle = [row for row in result.larger.iter_rows(named=True) if row not in helps]
    if not helps:
        tried = f" ({'; '.join(row['what'] for row in idle)})" if idle else ""
        return f"None of what was tried{tried}: ten times more of each brings less than 1 %."
    said = "; ".join(f"{row['what']}: {gain(row['gain_percent'])}" for row in helps)
    text = f"Ten times more of one of these: {said}."
    if idle:
        text += f" Of no use: {'; '.join(row['what'] for row in idle)}."
    return text


def _edits(result: RunResult) -> str:
    """Name the edits that would make the limit larger, and the command that tries the first of them."""
    limit = result.document.get("limited_by")
    edits = [] if limit is None else limit.get("edits", [])
    if not edits:
        return ""
    settings = " ".join(shlex.quote(f"{each['path']}={each['after']}") for each in edits[0]["settings"])
    named = "; ".join(edit["what"] for edit in edits)
    return f" Edits that make it larger: {named}. To try the first: lanewise whatif FILE {settings}"


def _helps(result: WhyResult) -> list[Row]:
    """Return the candidates for the limit that bring something."""
    return [row for row in result.larger.iter_rows(named=True) if row["gain_percent"] >= _BRINGS_PERCENT]
