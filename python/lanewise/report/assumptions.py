"""Which values that no specification fixes a run may rest on, and where each comes from.

Whether a value moves a result is known when it was tried (`lanewise.experiment.dependence`). Behind those
that do, all are listed: first numbers of components that data went through, those of what limits the run
before others, then what says that something is switched off, or never the limit, and the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.experiment.candidates import STEP, candidates_of
from lanewise.report.content import Section, Table
from lanewise.written import DASH, gain, percent

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lanewise.columns import Row
    from lanewise.rests_on import Dependence
    from lanewise.results import RunResult

_ORDER = {"assumed": 0, "calibrated": 1, "published": 2, "datasheet": 3}
_MOST_FOLDED = 2_000
_EFFECTS = (
    *("parameter", "#value", "provenance"),
    *("#lower", "#goodput", "#latency", "#higher", "#goodput", "#latency"),
    "source",
)
_COLUMNS = ("parameter", "#value", "provenance", "source")


def section(result: RunResult) -> Section:
    """Return the values that move the result where they were varied, and all others behind them."""
    rows = list(result.assumptions.iter_rows(named=True))
    if not rows:
        return Section("What it rests on")
    found = result.rests_on
    said, effects = _not_varied(result, len(rows)), []
    if found is not None:
        said, effects = found.said(len(rows)), [_effect(each) for each in found.effects]
    matter = _that_may_matter(result, rows)
    chosen = {row["path"] for row in matter}
    others = [row for row in rows if row["path"] not in chosen]
    tables = []
    if effects:
        note = (
            f"what {percent(STEP, 0)} less and more of each changes; half and twice where that is refused, "
            f"{DASH} where neither is"
        )
        tables.append(Table("Values that matter", _EFFECTS, effects, note))
    for title, listed in (
        ("Numbers of what the data went through, and their sources", matter),
        ("All others that no specification fixes", others),
    ):
        written = list(_written(listed))[:_MOST_FOLDED]
        if written:
            tables.append(Table(f"{title}: {len(written)}", _COLUMNS, written, folded=True))
    return Section("What it rests on", sentences=said, tables=tables)


def _not_varied(result: RunResult, number: int) -> list[str]:
    limit = _limit_of(result)
    return [
        f"{number} values in force are fixed by no specification. None was varied; with --sensitivity, "
        f"Lanewise varies them and says which move the result. Listed are those of what the data went through"
        f"{f', of {limit} first' if limit else ''}. To try one: lanewise whatif FILE PATH=VALUE."
    ]


def _effect(each: Dependence) -> tuple[str, ...]:
    more = f" and {len(each.paths) - 4} more" if len(each.paths) > 4 else ""
    changes = [
        change
        for moved in (each.lower, each.higher)
        for change in (moved.value, gain(moved.goodput_percent), gain(moved.latency_percent))
    ]
    return ", ".join(each.paths[:4]) + more, each.value, each.provenance, *changes, each.source


def _limit_of(result: RunResult) -> str:
    """Name the component that limits the run; nothing where none does, or an older version did not say it."""
    limit = result.document.get("limited_by")
    places = [] if limit is None else limit.get("places", [])
    return places[0]["component"] if places else ""


def _that_may_matter(result: RunResult, rows: Sequence[Row]) -> list[Row]:
    on_the_way = _components_in_use(result)
    varied = {path for one in candidates_of(result.document["assumptions"]) for path in one.paths}
    limit = _limit_of(result)
    # Results of older versions do not say it.
    out_of_the_way = {
        each["path"] for each in result.document["assumptions"] if each.get("is_out_of_the_way", False)
    }
    kept = [
        row
        for row in rows
        if row["path"] in varied
        and _component(row["path"]) in on_the_way
        and row["path"] not in out_of_the_way
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
