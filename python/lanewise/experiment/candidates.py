"""Which parameters of a scenario may be varied to see what rests on them, and by how much.

What is assumed, calibrated or published may; what a specification or a data sheet fixes is not. What a
workload does may as well, and so may how long a run is: it was chosen. Parameters of equal parts that
have equal values (both adapters, all ports) are one candidate and are varied together. A number is varied by
20 % both ways; a one becomes two, as nothing is nearer. Where the core refuses that, as of a size that has to
be a power of two, it is halved or doubled; where that is refused, too, there is no such value (`tried`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from lanewise.quantity import kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence

    from lanewise.documents import Assumption, ExplainedParameter, Run

STEP = 0.2
"""Relative change of a varied number."""

_CANDIDATES = ("assumed", "calibrated", "published")
QUANTITY = re.compile(r"(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?: (?P<unit>[A-Za-z/%]+))?")
"""A number and its unit, as `explain` prints them."""
_NOT_VARIED = (
    *("capacity", "memory_base", "mmio_base", "register_bar", "memory_bar"),
    *("seed", "count", "event_limit", "memory_limit", "confidence_level"),
)
"""What moves no time when it is varied a little, or says how a run is made."""
_JUST_WRITTEN = ("written in the scenario without a source", "given on the command line")
"""Sources of what the person who runs it has chosen."""
_MOST_SAID = 3
_CHOICES = ("workload", "run")
"""Tables whose choices are varied; a choice elsewhere says which machine it is."""


@dataclass(frozen=True)
class Candidate:
    """Parameters of equal parts with one value, varied together."""

    name: str
    paths: tuple[str, ...]
    value: str
    provenance: str
    lower: str
    higher: str
    harmful: str
    """Whichever of both slows things down; the other one where that is refused."""
    refused: tuple[str, ...] = ()
    """Of both, what no scenario may say; see `tried`."""
    is_halved: bool = False
    """Whether either is half or twice the value."""

    @property
    def is_fixed(self) -> bool:
        """Whether it can be neither lower nor higher."""
        return {self.lower, self.higher} <= {self.value, *self.refused}

    @property
    def entry(self) -> str:
        """It and its value, as lists of what was varied have it."""
        return f"{self.name} = {self.value}"


def candidates_of(
    parameters: Iterable[ExplainedParameter | Assumption], *, but: Container[str] = ()
) -> Iterator[Candidate]:
    """Yield what may be varied of the parameters that `explain` lists, equal parts together; not `but`."""
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for row in parameters:
        leaf = row["path"].rpartition(".")[2]
        if row["provenance"] not in _CANDIDATES or leaf in _NOT_VARIED or row["path"] in but:
            continue
        if row.get("role") == "choice" and row["path"].partition(".")[0] not in _CHOICES:
            continue
        name = re.sub(r"\d+(?=\.|$)", "#", row["path"])
        grouped.setdefault((name, str(row["value"]), row["provenance"]), []).append(row["path"])
    for (name, value, provenance), paths in grouped.items():
        match = QUANTITY.fullmatch(value)
        if match is None or not float(match["number"]):
            continue
        low, high = _both_ways(match, (1 - STEP, 1 + STEP))
        if value == low == high:
            continue
        harmful = _harmful(value, low, high, ())
        yield Candidate(name, tuple(paths), value, provenance, low, high, harmful)


def size_of_limit(run: Run) -> str:
    """Say which values that no specification fixes make the limit of a run as large as it is.

    Nothing of a wire: how fast that is, is a choice. Nothing of a value that the scenario states itself.
    """
    limit = run.get("limited_by")
    if limit is None or limit["kind"] == "wire":
        return ""
    # Results of older versions have no edits.
    sizes = {setting["path"] for edit in limit.get("edits", []) for setting in edit["settings"]}
    of_others = [row for row in run["assumptions"] if row["source"] not in _JUST_WRITTEN]
    found = [one for one in candidates_of(of_others) if sizes.intersection(one.paths)]
    said = [f"{one.paths[0]} = {one.value} ({one.provenance})" for one in found[:_MOST_SAID]]
    more = f" and {len(found) - _MOST_SAID} more" if len(found) > _MOST_SAID else ""
    return f"Its size comes from {', '.join(said)}{more}." if said else ""


def tried(
    candidates: Sequence[Candidate], is_allowed: Callable[[Sequence[tuple[str, str]]], bool]
) -> list[Candidate]:
    """Return candidates with values that are allowed: by 20 %, or else half or twice, or else `refused`.

    `is_allowed` says whether there can be a scenario with other values. It is asked of many at once, and of
    parts where it refuses them.
    """
    found = list(candidates)
    for is_lower in (True, False):
        at = _refused(found, range(len(found)), is_lower, is_allowed)
        for index in at:
            one = found[index]
            match = QUANTITY.fullmatch(one.value)
            assert match is not None
            half, twice = _both_ways(match, (0.5, 2.0))
            low, high = (half, one.higher) if is_lower else (one.lower, twice)
            found[index] = replace(one, lower=low, higher=high, is_halved=True)
        for index in _refused(found, at, is_lower, is_allowed):
            one = found[index]
            found[index] = replace(one, refused=(*one.refused, one.lower if is_lower else one.higher))
    return [replace(one, harmful=_harmful(one.value, one.lower, one.higher, one.refused)) for one in found]


def _refused(
    candidates: Sequence[Candidate],
    at: Sequence[int],
    is_lower: bool,
    is_allowed: Callable[[Sequence[tuple[str, str]]], bool],
) -> list[int]:
    """Return those of the candidates at `at` whose lower or higher value is refused by itself."""
    values = [
        (path, value)
        for one in (candidates[index] for index in at)
        if (value := one.lower if is_lower else one.higher) != one.value
        for path in one.paths
    ]
    if not values or is_allowed(values):
        return []
    if len(at) == 1:
        return list(at)
    middle = len(at) // 2
    return [
        index
        for part in (at[:middle], at[middle:])
        for index in _refused(candidates, part, is_lower, is_allowed)
    ]


def _harmful(value: str, low: str, high: str, refused: Sequence[str]) -> str:
    """Return which of two values slows things down, if it is allowed.

    Twice as much of a one that holds nothing up shows as little as half of it would: it is tried alone.
    """
    is_time = kind_of(value.rpartition(" ")[2]) == "time"
    first, second = (high, low) if is_time or value == low else (low, high)
    return second if first in refused else first


def _both_ways(match: re.Match[str], factors: tuple[float, float]) -> tuple[str, str]:
    """Return the lower and the higher value to try."""
    number, unit = match["number"], match["unit"]
    whole = "." not in number and "e" not in number and kind_of(unit or "") not in ("rate", "time")
    values = [float(number) * factor for factor in factors]
    texts = [str(max(1, round(value))) if whole else f"{value:.6g}" for value in values]
    if whole and texts[1] == number:
        texts[1] = str(int(number) + 1)
    if whole and texts[0] == number and number != "1":
        texts[0] = str(int(number) - 1)
    return (f"{texts[0]} {unit or ''}".strip(), f"{texts[1]} {unit or ''}".strip())


def by_component(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Group candidates by what they belong to, like a host or a drive; others apart.

    Ones all grow, sizes are halved, and what cannot be lowered helps: among themselves effects add up.
    """
    groups: dict[str, list[Candidate]] = {}
    for one in candidates:
        if one.value == one.lower:
            key = "ones"
        elif one.harmful != _harmful(one.value, one.lower, one.higher, ()):
            key = "helps"
        elif one.is_halved:
            key = "halved"
        else:
            key = one.name.partition(".")[0] + "."
        groups.setdefault(key, []).append(one)
    return list(groups.values())
