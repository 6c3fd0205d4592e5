"""Cells that are computed from other cells: what a publication says in prose rather than in a table.

An operand is the id of another cell or value of the same experiment, or a plain number. Units are the
writer's business: both operands of a ratio are in the same one.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Operand = str | float

_PAIRS: dict[str, Callable[[float, float], float]] = {
    "ratio_of": lambda a, b: a / b,
    "percent_of": lambda a, b: 100 * a / b,
    "percent_change_of": lambda a, b: 100 * (a / b - 1),
    "difference_of": lambda a, b: a - b,
}
_LISTS: dict[str, Callable[[Sequence[float]], float]] = {
    "sum_of": sum,
    "mean_of": fmean,
    "max_of": max,
    "min_of": min,
}

FORMULAS = (*_PAIRS, *_LISTS)
"""What a cell may be: of two operands the ratio, percentage, change in percent (from the second to the
first) or difference; of any number of them the sum, mean, largest or smallest."""


@dataclass(frozen=True)
class Formula:
    """One of `FORMULAS` with its operands."""

    name: str
    operands: tuple[Operand, ...]

    @classmethod
    def of_entry(cls, entry: Mapping[str, object]) -> Formula | None:
        """Read the formula of a cell's table; None without one, ValueError for a wrong one."""
        names = [name for name in FORMULAS if name in entry]
        if not names:
            return None
        if len(names) > 1:
            raise ValueError(f"has both '{names[0]}' and '{names[1]}'")
        operands = cast("list[Operand]", entry[names[0]])
        if names[0] in _PAIRS and len(operands) != 2:
            raise ValueError(f"'{names[0]}' needs two operands, and has {len(operands)}")
        if not operands:
            raise ValueError(f"'{names[0]}' needs operands")
        return cls(names[0], tuple(item if isinstance(item, str) else float(item) for item in operands))

    @property
    def cells(self) -> Iterator[str]:
        """The ids among the operands."""
        return (operand for operand in self.operands if isinstance(operand, str))

    def value(self, value_of: Callable[[str], float]) -> float:
        """Compute it from the values of its operands."""
        numbers = [value_of(operand) if isinstance(operand, str) else operand for operand in self.operands]
        if self.name in _PAIRS:
            return _PAIRS[self.name](*numbers)
        return _LISTS[self.name](numbers)

    def __str__(self) -> str:
        """In words, like 'percent change of with, without'."""
        operands = [operand if isinstance(operand, str) else f"{operand:g}" for operand in self.operands]
        return f"{self.name.replace('_', ' ')} {', '.join(operands)}"
