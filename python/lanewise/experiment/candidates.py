"""Which parameters of a scenario may be varied to see what rests on them, and by how much.

What is assumed, calibrated or published may; what a specification or a data sheet fixes is not. What a
workload does may as well, and so may how long a run is: it was chosen. Parameters of equal parts that
have equal values (both adapters, all ports) are one candidate and are varied together. A number is varied by
20 % both ways; a size that has to be a power of two is halved and doubled; a one becomes two, as nothing is
nearer.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Sequence

    from lanewise.documents import Assumption, ExplainedParameter

STEP = 0.2
"""Relative change of a varied number."""

_CANDIDATES = ("assumed", "calibrated", "published")
_POWERS_OF_TWO = ("mps", "mrrs", "rcb", "completion_combine", "mps_supported", "read_request")
_TIMES = ("ns", "us", "ms", "s")
QUANTITY = re.compile(r"(?P<number>\d+(?:\.\d+)?(?:e[+-]?\d+)?)(?: (?P<unit>[A-Za-z/%]+))?")
"""A number and its unit, as `explain` prints them."""
_NOT_VARIED = (
    *("capacity", "memory_base", "mmio_base", "register_bar", "memory_bar"),
    *("seed", "count", "event_limit", "memory_limit", "confidence_level"),
)
"""What moves no time when it is varied a little, or says how a run is made."""
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
    """Whichever of both slows things down."""


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
        low, high = _both_ways(name.rpartition(".")[2], match["number"], match["unit"])
        if value == low == high:
            continue
        # Twice as much of a one that holds nothing up shows as little as half of it would: it is tried alone.
        harmful = high if match["unit"] in _TIMES or value == low else low
        yield Candidate(name, tuple(paths), value, provenance, low, high, harmful)


def _both_ways(leaf: str, number: str, unit: str | None) -> tuple[str, str]:
    """Return the lower and the higher value to try."""
    whole = "." not in number and "e" not in number and unit not in ("GB/s", "MB/s", *_TIMES)
    factors = (0.5, 2.0) if leaf in _POWERS_OF_TWO else (1 - STEP, 1 + STEP)
    values = [float(number) * factor for factor in factors]
    texts = [str(max(1, round(value))) if whole else f"{value:.6g}" for value in values]
    if whole and texts[1] == number:
        texts[1] = str(int(number) + 1)
    if whole and texts[0] == number and number != "1":
        texts[0] = str(int(number) - 1)
    return (f"{texts[0]} {unit or ''}".strip(), f"{texts[1]} {unit or ''}".strip())


def by_component(candidates: Sequence[Candidate]) -> list[list[Candidate]]:
    """Group candidates by what they belong to, like a host or a drive; powers of two and ones apart.

    Ones all grow, and powers of two are all halved: among themselves effects add up.
    """
    groups: dict[str, list[Candidate]] = {}
    for one in candidates:
        if one.value == one.lower:
            key = "ones"
        elif one.name.rpartition(".")[2] in _POWERS_OF_TWO:
            key = "powers of two"
        else:
            key = one.name.partition(".")[0] + "."
        groups.setdefault(key, []).append(one)
    return list(groups.values())
