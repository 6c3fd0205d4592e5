"""Which values that no specification fixes a run may rest on, and where each comes from.

Whether a value moves a result is known when it was tried. Where nobody did, those are listed that can:
numbers of components that data went through, those of what limits the run first. What says that something is
switched off, or never the limit, is folded away with the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.experiment.candidates import candidates_of
from lanewise.report.content import Section, Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lanewise.columns import Row
    from lanewise.results import RunResult

_ORDER = {"assumed": 0, "calibrated": 1, "published": 2, "datasheet": 3}
_SAY_NO_MORE = ("never the limit", "links are the limit", "no time depends", "unless")
"""In a source: the value was chosen so that nothing depends on it."""
_MOST = 30
_MOST_FOLDED = 2_000
_COLUMNS = ("parameter", "#value", "provenance", "source")


def section(result: RunResult) -> Section:
    """Return the values that may matter, and all others behind them."""
    rows = list(result.assumptions.iter_rows(named=True))
    if not rows:
        return Section("What it rests on")
    matter = _that_may_matter(result, rows)
    chosen = {row["path"] for row in matter}
    others = [row for row in rows if row["path"] not in chosen]
    shown = list(_written(matter))
    rest = [*shown[_MOST:], *_written(others)][:_MOST_FOLDED]
    what = _limit_of(result)
    said = (
        f"{len(rows)} values in force are fixed by no specification. Below are numbers of what the data went "
        f"through{f', {what} first' if what else ''}; none was varied in this run. To try one: "
        "lanewise whatif FILE PATH=VALUE."
    )
    return Section(
        "What it rests on",
        sentences=[said],
        tables=[
            *([Table("Values that may matter", _COLUMNS, shown[:_MOST])] if shown else []),
            *([Table(f"All others: {len(rest)}", _COLUMNS, rest, folded=True)] if rest else []),
        ],
    )


def _limit_of(result: RunResult) -> str:
    """Name the component that limits the run; nothing where none does."""
    limit = result.document.get("limited_by")
    return "" if limit is None else str(limit["name"]).partition(".")[0]


def _that_may_matter(result: RunResult, rows: Sequence[Row]) -> list[Row]:
    on_the_way = _components_in_use(result)
    varied = {path for one in candidates_of(result.document["assumptions"]) for path in one.paths}
    limit = _limit_of(result)
    kept = [
        row
        for row in rows
        if row["path"] in varied
        and _component(row["path"]) in on_the_way
        and not any(words in (row["source"] or "") for words in _SAY_NO_MORE)
    ]
    return sorted(
        kept, key=lambda row: (_component(row["path"]) != limit, _ORDER.get(row["provenance"], len(_ORDER)))
    )


def _components_in_use(result: RunResult) -> set[str]:
    """Return the devices at both ends of links that data went over."""
    busy = result.links.filter(result.links["goodput_gb_per_s"] > 0)
    return {_component(port) for side in ("upper", "lower") for port in busy[side]} | set(busy["link"])


def _component(path: str) -> str:
    return path.partition(".")[0]


def _written(rows: Iterable[Row]) -> Iterator[tuple[str, str, str, str]]:
    """Write equal values with equal sources once, with all their paths."""
    paths: dict[tuple[str, str, str, str], list[str]] = {}
    for row in rows:
        key = (row["path"].rpartition(".")[2], row["value"], row["provenance"], row["source"] or "")
        paths.setdefault(key, []).append(row["path"])
    for (_, value, provenance, source), places in paths.items():
        more = f" and {len(places) - 4} more" if len(places) > 4 else ""
        yield ", ".join(places[:4]) + more, value, provenance, source
