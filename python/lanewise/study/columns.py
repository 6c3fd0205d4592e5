"""Columns of a study's table: which kind each one has, and the units of its parameters."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from lanewise.study.axes import AxisError, in_base_unit, number_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from lanewise.study.measures import Value

_TEXTS = {"limited_by", "limited_kind", "end_reason", "fingerprint"}
_LARGEST = 2**63 - 1
"""Of a column of whole numbers."""


def unit_of_values(texts: Sequence[str | None]) -> str:
    """Return the unit in which a parameter's column is, that of its first value; '' for none."""
    given = [text for text in texts if text is not None]
    if not given or _numbers(given) is None:
        return ""
    found = number_of(given[0])
    return found[1] if found is not None else ""


def parameter_column(path: str, texts: Sequence[str | None], unit: str) -> pl.Series:
    """Return a parameter's column: numbers where all values are numbers of one kind, else texts.

    Numbers are in `unit`. Whole ones beyond 64 bits are floating-point numbers if each is one exactly.
    """
    import polars as pl

    numbers = _numbers(texts)
    if numbers is None:
        return pl.Series(path, texts, pl.String)
    base = in_base_unit(f"1 {unit}") if unit else None
    scale = base[0] if base else Fraction(1)
    values = [None if number is None else number / scale for number in numbers]
    if any(value is not None and value.denominator != 1 for value in values):
        return pl.Series(path, [None if value is None else float(value) for value in values], pl.Float64)
    whole = [None if value is None else int(value) for value in values]
    if all(value is None or abs(value) <= _LARGEST for value in whole):
        return pl.Series(path, whole, pl.Int64)
    if all(value is None or float(value) == value for value in whole):
        return pl.Series(path, [None if value is None else float(value) for value in whole], pl.Float64)
    return pl.Series(path, texts, pl.String)


def measured_column(name: str, rows: Sequence[Mapping[str, Value]]) -> pl.Series:
    """Return the column of something that was measured: numbers, but for the few that are texts."""
    import polars as pl

    kind = pl.String if name in _TEXTS else pl.Float64
    return pl.Series(name, [row.get(name) for row in rows], kind, strict=False)


def _numbers(texts: Sequence[str | None]) -> list[Fraction | None] | None:
    """Return values as numbers in one base unit; None where one of them is none, or in another unit."""
    try:
        found = [None if text is None else in_base_unit(text) for text in texts]
    except AxisError:
        return None
    if any(number is None and text is not None for number, text in zip(found, texts, strict=True)):
        return None
    if len({number[1] for number in found if number is not None}) != 1:
        return None
    return [None if number is None else number[0] for number in found]
