"""`xpu-smi topology -m`: how Intel's GPUs reach each other, on top of another source or alone.

A matrix of tiles, called ``GPU 1/0`` for the first of the second card; what is said of the tiles of two cards
is taken together, and paths inside a card (``MDF``) are left out. ``XL24`` is 24 lanes of Xe Link, ``XL*`` Xe
Link by way of another tile. Source: Intel XPU Manager 1.2 and 2.0, "Topology", and outputs of real machines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.model import Relation
from lanewise.machine.sources.topo import Matrix, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

_TILE = r"GPU \d{1,3}/\d{1,2}"
_HEADING = re.compile(rf"\s*(?:{_TILE}\s+)+CPU Affinity\s*$")
_ROW = re.compile(r"\s*GPU (\d{1,3})/\d{1,2}\s+(\S.*)")
_XE_LINK = re.compile(r"XL(\d{1,4}|\*)$")
_PATHS = {"SYS", "NODE", "PHB", "PXB", "PIX"}
_INTEL = 0x8086


def read(lines: Sequence[str]) -> Matrix:
    """Read the first matrix; further ones are of other machines."""
    matrix = Matrix(vendor=_INTEL, tool="xpu-smi")
    cards: list[int] = []
    between: dict[tuple[int, int], list[str]] = {}
    for number, line in enumerate(lines):
        row = _ROW.match(line)
        if not cards and _HEADING.match(line):
            cards = [int(card) for card in re.findall(r"GPU (\d+)/", line)]
        elif row is not None and cards:
            card, words = int(row[1]), row[2].split()
            for other, path in zip(cards, words, strict=False):
                if other > card:
                    between.setdefault((card, other), []).append(path)
            _add_row(f"GPU{card}", words[len(cards) :], matrix.rows)
        elif matrix.rows:
            break
        else:
            continue
        matrix.taken.add(number)
    matrix.relations = [_relation(*pair, paths) for pair, paths in between.items()]
    return matrix


def _add_row(name: str, behind: list[str], rows: list[Row]) -> None:
    """Keep a card, once for all its tiles, with the CPUs near it."""
    if all(row.name != name for row in rows):
        rows.append(Row(name, behind[0] if behind and behind[0][0].isdigit() else None, None))


def _relation(first: int, second: int, paths: list[str]) -> Relation:
    """Join what is said of the tiles of two cards: lanes of Xe Link add up, other paths are the same."""
    names = f"GPU{first}", f"GPU{second}"
    links = [link[1] for path in paths if (link := _XE_LINK.match(path))]
    if links:
        return Relation(*names, "XL", links=sum(int(lanes) for lanes in links if lanes != "*") or None)
    return Relation(*names, next((path for path in paths if path in _PATHS), "SYS"))
