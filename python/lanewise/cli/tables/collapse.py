"""Rows of a run or of a comparison that say the same of several links, flows or devices, put together.

Alike are rows whose names differ in numbers only, and whose figures differ by less than a hundredth of
themselves or, for shares of the time, by less than a hundredth of the whole. The first stands for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.alike_names import stem
from lanewise.grouping import grouped, same_number, same_percentile

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import polars as pl

    from lanewise.columns import Row

_SAME_SHARE = 0.01


@dataclass(frozen=True)
class LinkRow:
    """A link: both directions, and what each spent its time on."""

    name: str
    directions: tuple[Row, ...]
    shares: Mapping[str, Mapping[str, float]]

    @property
    def busy(self) -> bool:
        """Whether data went over it."""
        return any(row["goodput_gb_per_s"] for row in self.directions)

    @property
    def utilisation(self) -> float:
        """How much of the time its busier direction was in use, 0 to 1."""
        return max(float(row["utilisation"]) for row in self.directions)


def links(table: pl.DataFrame, attribution: pl.DataFrame) -> list[list[LinkRow]]:
    """Return the links of a run, alike ones together, those without data at the end."""
    shares: dict[str, dict[str, dict[str, float]]] = {}
    for row in attribution.iter_rows(named=True):
        of_link = shares.setdefault(row["link"], {}).setdefault(row["direction"], {})
        of_link[row["category"]] = row["time_fraction"]
    rows: dict[str, list[Row]] = {}
    for row in table.iter_rows(named=True):
        rows.setdefault(row["link"], []).append(row)
    found = [LinkRow(name, tuple(own), shares.get(name, {})) for name, own in rows.items()]
    groups = grouped(found, _link_words, _links_alike)
    return sorted(groups, key=lambda group: not group[0].busy)


def _link_words(link: LinkRow) -> tuple[object, ...]:
    first = link.directions[0]
    return (stem(link.name), first["generation"], first["width"], first["mps_bytes"], link.busy)


def _links_alike(one: LinkRow, other: LinkRow) -> bool:
    rates = zip(one.directions, other.directions, strict=True)
    return all(same_number(a["goodput_gb_per_s"], b["goodput_gb_per_s"]) for a, b in rates) and all(
        shares_alike(one.shares[way], other.shares.get(way, {})) for way in one.shares
    )


def shares_alike(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Whether two ways of spending the time are the same to a person."""
    return all(abs(one.get(key, 0.0) - other.get(key, 0.0)) <= _SAME_SHARE for key in {*one, *other})


def least_used(groups: Sequence[list[LinkRow]], most: int) -> tuple[list[list[LinkRow]], list[LinkRow]]:
    """Keep so many groups, in their order, and return the links of the others: those least in use."""
    by_use = sorted(groups, key=lambda group: -group[0].utilisation)
    kept = by_use[:most]
    left = [link for group in by_use[most:] for link in group]
    return [group for group in groups if group in kept], left


def flows(rows: Iterable[Row]) -> list[list[Row]]:
    """Return flows, alike ones together."""

    def words(row: Row) -> tuple[object, ...]:
        return (stem(row["flow"]), stem(row["device"]), row["direction"], row["counted"])

    return grouped(rows, words, _flows_alike)


def _flows_alike(one: Row, other: Row) -> bool:
    figures = ("goodput_gb_per_s", "operations_per_s", "latency_ns_mean")
    tails = one["latency_ns_p99"], other["latency_ns_p99"]
    return all(same_number(one[figure], other[figure]) for figure in figures) and same_percentile(*tails)


def requesters(table: pl.DataFrame) -> list[list[tuple[str, dict[str, float]]]]:
    """Return what held devices back, alike ones together, those that nobody asked at the end."""
    shares: dict[str, dict[str, float]] = {}
    for row in table.iter_rows(named=True):
        shares.setdefault(row["device"], {})[row["state"]] = row["time_fraction"]
    groups = grouped(
        shares.items(), lambda item: stem(item[0]), lambda one, other: shares_alike(one[1], other[1])
    )
    return sorted(groups, key=lambda group: _is_idle(group[0][1]))


def _is_idle(shares: Mapping[str, float]) -> bool:
    return shares.get("nothing_asked", 0.0) > 1 - _SAME_SHARE


def compared_flows(rows: Iterable[Row]) -> list[list[Row]]:
    """Return flows of a comparison, alike ones together."""
    figures = ("a_mib_per_s", "b_mib_per_s", "a_latency_ns_mean", "b_latency_ns_mean")
    return grouped(
        rows,
        lambda row: (stem(row["flow"]), row["direction"]),
        lambda one, other: all(same_number(one[figure], other[figure]) for figure in figures),
    )


def compared_links(rows: Iterable[Row]) -> list[list[tuple[Row, ...]]]:
    """Return links of a comparison, each with a row for either direction, alike ones together."""
    by_link: dict[str, list[Row]] = {}
    for row in rows:
        by_link.setdefault(row["link"], []).append(row)

    def words(link: tuple[Row, ...]) -> tuple[object, ...]:
        return (stem(link[0]["link"]), *(row["direction"] for row in link))

    def close(one: tuple[Row, ...], other: tuple[Row, ...]) -> bool:
        return all(
            same_number(a["a_gb_per_s"], b["a_gb_per_s"])
            and same_number(a["b_gb_per_s"], b["b_gb_per_s"])
            and abs(a["a_utilisation"] - b["a_utilisation"]) <= _SAME_SHARE
            and abs(a["b_utilisation"] - b["b_utilisation"]) <= _SAME_SHARE
            for a, b in zip(one, other, strict=True)
        )

    return grouped((tuple(own) for own in by_link.values()), words, close)


def changes(rows: Iterable[Row]) -> list[list[tuple[Row, ...]]]:
    """Return what moved in each direction of each link, alike ones together."""
    sides: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        sides.setdefault((row["link"], row["direction"]), []).append(row)

    def words(side: tuple[Row, ...]) -> tuple[object, ...]:
        return (stem(side[0]["link"]), side[0]["direction"])

    def close(one: tuple[Row, ...], other: tuple[Row, ...]) -> bool:
        return all(
            shares_alike(_percents(one, percent), _percents(other, percent))
            for percent in ("a_percent", "b_percent")
        )

    return grouped((tuple(side) for side in sides.values()), words, close)


def _percents(side: tuple[Row, ...], which: str) -> dict[str, float]:
    return {row["category"]: row[which] / 100 for row in side}
