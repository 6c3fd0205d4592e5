"""The tables of an experiment's files, as types: which keys each has, and what kind of value each takes.

``shape.py`` checks files by these annotations, so that ``reading.py`` may rely on them; tables that are
typed here and checked elsewhere are those of null models (``nulls.py``), ladders and ``sensitivity.toml``.
"""

from __future__ import annotations

from typing import TypeAlias, TypedDict

Where: TypeAlias = dict[str, str | list[str]]
"""Rows of a table of results: the values allowed by column."""


class LadderEntry(TypedDict, total=False):
    """The links of a ladder; as `Ladder`."""

    generation: int
    lanes: int
    links: int
    directions: int
    payload_bytes: int
    header_dwords: int
    ecrc: bool
    dllp_fraction: float


class Computed(TypedDict, total=False):
    """What may be computed from other cells; one of these."""

    ratio_of: list[str | float]
    percent_of: list[str | float]
    percent_change_of: list[str | float]
    difference_of: list[str | float]
    sum_of: list[str | float]
    mean_of: list[str | float]
    max_of: list[str | float]
    min_of: list[str | float]


_Lent = TypedDict("_Lent", {"from": str}, total=False)
"""The folder of another experiment."""


class NullEntry(Computed, _Lent, total=False):
    """What would be said of a cell without a simulator."""

    copy: str
    times: float
    line: list[str]
    overhead: float
    shifted_by: str
    at_most: float


class ValueEntry(Computed, total=False):
    """A number and the way to get it."""

    id: str
    unit: str
    note: str
    scenario: str
    metric: str
    rung: str
    variations: list[str]
    fits: list[str]
    seeds: int
    set: dict[str, object]
    ladder: LadderEntry
    where: Where


class CellEntry(ValueEntry, total=False):
    """A published number."""

    published: float
    band_percent: float
    band_points: float
    printed_to: float
    verdict: str
    role: str
    claim: str
    exact: str
    between: list[float]
    null: NullEntry


class FitEntry(_Lent, total=False):
    """What may be fitted."""

    name: str
    unit: str
    why: str
    of: str
    parameters: list[str]
    cells: list[str]
    between: list[float]
    whole: bool


class OddityEntry(TypedDict, total=False):
    """What contradicts itself in a publication."""

    where: str
    what: str
    reading: str


class PlotEntry(TypedDict, total=False):
    """How cells become a figure."""

    title: str
    kind: str
    pattern: str
    x: str


class FittedEntry(TypedDict, total=False):
    """What a calibration found."""

    name: str
    parameters: list[str]
    value: str | int
    plus_minus: str
    fitted_on: list[str]


class MissEntry(TypedDict, total=False):
    """A cell that is known to be outside its band."""

    cell: str
    simulated: float
    why: str


class Expected(TypedDict, total=False):
    """``expected.toml``."""

    id: str
    title: str
    source: str
    unit: str
    metric: str
    where: Where
    variation: dict[str, dict[str, object]]
    ladder: LadderEntry
    seeds: int
    cell: list[CellEntry]
    value: list[ValueEntry]
    fit: list[FitEntry]
    oddity: list[OddityEntry]
    plot: list[PlotEntry]


class Fitted(TypedDict, total=False):
    """``fitted.toml``."""

    fitted: list[FittedEntry]


class Misses(TypedDict, total=False):
    """``misses.toml``."""

    miss: list[MissEntry]


class EffectEntry(TypedDict, total=False):
    """How far a parameter moves a cell."""

    parameter: str
    paths: list[str]
    value: str
    provenance: str
    lower: str
    higher: str
    lower_percent: float
    higher_percent: float


class RestingEntry(TypedDict, total=False):
    """What a cell rests on."""

    cell: str
    simulated: float
    unit: str
    rests_from: float
    moved_by: list[EffectEntry]


class RestsOn(TypedDict, total=False):
    """``sensitivity.toml``."""

    version: str
    made_on: str
    inputs: str
    runs: int
    varied: list[str]
    one_way: list[str]
    refused: list[str]
    cell: list[RestingEntry]
