"""What a cell would be said to be without any simulator: the yardstick beside every prediction.

A null model copies the published number of the cell that was fitted under the same limit, draws a straight
line through fitted cells, or computes from them. It may use published numbers only of calibrated and selected
cells, because those are what the simulator was told as well; any other operand stands for its own null model.

Straight lines over a size are drawn through the size itself, or, with `overhead`, through the time that one
frame takes: (size + overhead) over throughput, which is what a processor that is the limit makes linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanewise.experiment.formula import FORMULAS, Formula

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lanewise.experiment.entries import NullEntry

_KEYS = ("copy", "from", "times", "line", "overhead", "shifted_by", "at_most", *FORMULAS)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class NullModel:
    """One of: a copy, a straight line, a formula; at most `at_most`."""

    copy: str | None = None
    times: float = 1.0
    """What the copied number is multiplied by: three drives for two."""
    line: tuple[str, ...] = ()
    """Two cells, whose sizes are the last numbers of their ids."""
    overhead: float | None = None
    """What is added to a size, in its unit, when the line is through the time of a frame."""
    shifted_by: str | None = None
    """A cell by whose distance from the line the line is moved."""
    formula: Formula | None = None
    at_most: float | None = None
    """A ceiling that everybody knows, such as the line rate of the ports."""
    lender: str = ""
    """Id of the experiment that the copied cell is of; empty for the own one."""
    lent: Mapping[str, float] = field(default_factory=dict)
    """Published numbers of the lender's calibrated cells."""

    @classmethod
    def of_entry(
        cls, entry: NullEntry, *, lender: str = "", lent: Mapping[str, float] | None = None
    ) -> NullModel:
        """Read the table of a null model; ValueError or TypeError for a wrong one."""
        unknown = [key for key in entry if key not in _KEYS]
        if unknown:
            raise ValueError(
                f"'null' has an unknown key {unknown[0]!r}; known are {', '.join(sorted(_KEYS))}"
            )
        formula = Formula.of_entry(entry)
        ways = [way for way in ("copy", "line") if way in entry] + ([formula.name] if formula else [])
        if len(ways) != 1:
            raise ValueError("'null' is one of: a 'copy', a 'line', a formula")
        line = tuple(entry.get("line", ()))
        if line and len(line) != 2:
            raise ValueError("'null' draws its line through two cells")
        return cls(
            copy=entry.get("copy"),
            times=float(entry.get("times", 1)),
            line=line,
            overhead=float(entry["overhead"]) if "overhead" in entry else None,
            shifted_by=entry.get("shifted_by"),
            formula=formula,
            at_most=float(entry["at_most"]) if "at_most" in entry else None,
            lender=lender,
            lent=lent or {},
        )

    @property
    def operands(self) -> tuple[str, ...]:
        """The ids of the cells that it uses."""
        one = tuple(id_ for id_ in (self.copy, self.shifted_by) if id_)
        return (*one, *self.line, *(self.formula.cells if self.formula else ()))

    def value(self, id_: str, published: Callable[[str], float]) -> float:
        """Return what it says of the cell `id_`; `published` gives the number of another cell."""

        def number_of(other: str) -> float:
            return self.lent[other] if other in self.lent else published(other)

        if self.copy is not None:
            number = self.times * number_of(self.copy)
        elif self.formula is not None:
            number = self.formula.value(number_of)
        else:
            number = self._on_line(id_, number_of)
        return number if self.at_most is None else min(number, self.at_most)

    def _on_line(self, id_: str, number_of: Callable[[str], float]) -> float:
        first, second = self.line
        low, high = size_of(first), size_of(second)
        y_low, y_high = self._drawn(low, number_of(first)), self._drawn(high, number_of(second))

        def at(size: float) -> float:
            return y_low + (y_high - y_low) * (size - low) / (high - low)

        shift = 0.0
        if self.shifted_by is not None:
            size = size_of(self.shifted_by)
            shift = self._drawn(size, number_of(self.shifted_by)) - at(size)
        size = size_of(id_)
        # The way back is the same: size over time, or nothing at all.
        return self._drawn(size, at(size) + shift)

    def _drawn(self, size: float, number: float) -> float:
        return number if self.overhead is None else (size + self.overhead) / number

    def __str__(self) -> str:
        """In words, like 'copy of write/without'."""
        if self.copy is not None:
            text = f"copy of {self.lender} {self.copy}" if self.lender else f"copy of {self.copy}"
            text += f", times {self.times:g}" if self.times != 1 else ""
        elif self.formula is not None:
            text = str(self.formula)
        else:
            text = f"straight line through {' and '.join(self.line)}"
            text += ", in time of a frame" if self.overhead is not None else ""
            text += f", moved to {self.shifted_by}" if self.shifted_by else ""
        return text if self.at_most is None else f"{text}, at most {self.at_most:g}"


def size_of(id_: str) -> float:
    """Return the size in a cell's id, its last number; ValueError without one."""
    numbers = _NUMBER.findall(id_)
    if not numbers:
        raise ValueError(f"'{id_}' has no size for a straight line")
    return float(numbers[-1])
