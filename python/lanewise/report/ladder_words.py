"""The efficiency ladder of a link direction in sentences: what takes how much of its line rate."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.alike_names import stem
from lanewise.flow_limits import limiting_wires
from lanewise.known_uses import SENT
from lanewise.rungs import rungs_of
from lanewise.written import percent, spelled

if TYPE_CHECKING:
    from lanewise.columns import Row
    from lanewise.results import RunResult

_WORTH_A_WORD = 0.0005


def shown_directions(result: RunResult, most: int = 2) -> list[Row]:
    """Return directions of links whose ladders are worth a picture: what limits, then the busiest."""
    rows = list(
        result.links.sort("utilisation", descending=True, nulls_last=True, maintain_order=True).iter_rows(
            named=True
        )
    )
    named = limiting_wires(result.document)[:1]
    rows.sort(key=lambda row: (row["link"], row["direction"]) not in named)
    # One of those that are alike speaks for all.
    distinct = {(stem(row["link"]), row["direction"]): row for row in reversed(rows)}
    shown = [row for row in rows if row is distinct[stem(row["link"]), row["direction"]]]
    return [row for row in shown[:most] if row["goodput_gb_per_s"]] or rows[:1]


def ladder_sentences(result: RunResult) -> list[str]:
    """Say of each direction that is shown what takes the way from its line rate to its payload."""
    return [_sentence(result, row) for row in shown_directions(result)]


def _sentence(result: RunResult, row: Row) -> str:
    mine = result.time_attribution.filter(link=row["link"], direction=row["direction"])
    shares = dict(zip(mine["category"], mine["time_fraction"], strict=True))
    line, link, tlp, goodput = (rung.gb_per_s for rung in rungs_of(row))
    said = (
        f"{row['link']} {row['direction']}: of {line:.3f} GB/s line rate, coding and ordered sets leave "
        f"{link:.3f}, DLLPs {tlp:.3f}, and {goodput:.3f} GB/s are payload."
    )
    overhead = shares.get("header", 0.0) + shares.get("framing", 0.0)
    # A share of the time is that share of what is left after coding, which older versions do not state.
    if not shares.get("payload") or not goodput or (carried := row["coded_gb_per_s"]) is None:
        return said
    said += f" Headers and framing took {overhead * carried:.3f} GB/s"
    if (replayed := shares.get("replay", 0.0)) >= _WORTH_A_WORD:
        said += f", replays {replayed * carried:.3f} GB/s"
    silent = {
        category: share
        for category, share in shares.items()
        if category not in SENT and share >= _WORTH_A_WORD
    }
    if silent:
        longest = sorted(silent.items(), key=lambda item: -item[1])[:3]
        words = ", ".join(f"{spelled(category)} {percent(share)}" for category, share in longest)
        said += f"; for {percent(sum(silent.values()))} of the time nothing was sent: {words}"
    else:
        said += ", and it was never silent"
    return f"{said}."
