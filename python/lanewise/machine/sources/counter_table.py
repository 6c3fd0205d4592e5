"""Counters of errors in a table with a column for each device: what SONiC's ``pcieutil pcie-aer`` prints.

The first row has the devices, the first column the names of errors, the last row the total, which says which
errors these are. Source: sonic-utilities, pull request 1169, for the form only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.sources.numbers import natural

if TYPE_CHECKING:
    from collections.abc import Collection

_MOST_COLUMNS = 256


class CounterTable:
    """Takes such tables row by row."""

    def __init__(self, names: Collection[str], totals: Collection[str]) -> None:
        """Start before the first row; `names` are those of errors, `totals` those that end a table."""
        self._names, self._totals = names, totals
        self._devices: list[Address] = []
        self._rows: list[tuple[str, list[str]]] = []

    def take(self, line: str) -> bool:
        """Take a row; False for one that is none of such a table."""
        cells = [cell.strip() for cell in line.strip(" \t>").strip("|").split("|", _MOST_COLUMNS)]
        if len(cells) < 2:
            return False
        devices = [Address.find(cell) for cell in cells[1:]]
        if None not in devices:
            self._devices = [device for device in devices if device is not None]
            self._rows = []
            return True
        counts = [cell for cell in cells[1:] if natural(cell) is not None]
        if cells[0] not in self._names or not len(counts) == len(cells) - 1 == len(self._devices):
            return False
        self._rows.append((cells[0], counts))
        return True

    def complete(self) -> list[tuple[Address, str, list[str]]]:
        """Return the total's name and the counters of each device once the total came; before, nothing."""
        if not self._rows or self._rows[-1][0] not in self._totals:
            return []
        rows, total = self._rows, self._rows[-1][0]
        self._rows = []
        return [
            (device, total, [f"{name} {counts[place]}" for name, counts in rows])
            for place, device in enumerate(self._devices)
        ]
