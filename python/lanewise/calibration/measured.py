"""What a table of measurements says of a scenario: parameters that rows set, and what was measured.

A column is one of four things, by its name: something measured (``measures.py``), a parameter of the
scenario, whose path may be cut short to its last part where only one parameter has it (``size`` for
``workload.read.size``), one of the words below, or a mistake. A row with two measured columns is two cells.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from difflib import get_close_matches
from math import isfinite
from typing import TYPE_CHECKING

from lanewise.calibration.measures import (
    MeasuredColumn,
    examples,
    measured_column,
    split_unit,
)
from lanewise.calibration.table import TableError
from lanewise.errors import ScenarioError
from lanewise.runs.simulator import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lanewise.calibration.table import DataTable, TableRow
    from lanewise.runs.simulator import Scenario

ROLE, NOTE, NAME, PLUS_MINUS = "role", "note", "name", "plus_minus"
WORDS = (ROLE, NOTE, NAME, PLUS_MINUS)
"""Columns with a meaning of their own."""

_ROLES = {
    **dict.fromkeys(("", "fit", "fitted", "calibrated"), False),
    **dict.fromkeys(("held out", "held-out", "hold out", "hold-out", "held_out", "predicted"), True),
}
"""What `role` may say, and whether such a row is held out."""

_NUMBER = re.compile(
    r"(?P<number>[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*(?P<unit>\S.*)?"
)

MOST_TOLD = 20
"""Mistakes that are listed one by one."""


@dataclass(frozen=True)
class MeasuredCell:
    """One measured number and what it was measured at."""

    id: str
    row: int
    """Number of its row, from 1."""
    line: int
    """Of the file."""
    column: MeasuredColumn
    unit: str
    measured: float
    """In its own unit."""
    rounding: float
    """Half of what its last digit stands for, or what the table says as plus_minus; in its own unit."""
    overrides: tuple[tuple[str, str], ...]
    is_held_out: bool = False
    note: str = ""

    @property
    def factor(self) -> float:
        """What a number in its unit is multiplied by to be one of the simulation."""
        found = self.column.factor(self.unit)
        assert found is not None, "it was checked when it was read"
        return found


@dataclass(frozen=True)
class Measured:
    """A table, understood."""

    name: str
    cells: tuple[MeasuredCell, ...]
    parameters: tuple[str, ...]
    """Paths that rows set, in the order of the columns."""
    needs_percentiles: bool
    """Whether one was measured."""


def read_measured(
    table: DataTable,
    scenario: Scenario,
    overrides: Sequence[tuple[str, str]],
    hold_out: Sequence[str] = (),
) -> Measured:
    """Understand a table; TableError lists every mistake in it."""
    return _Reader(table, scenario, overrides).measured(hold_out)


class _Reader:
    def __init__(self, table: DataTable, scenario: Scenario, overrides: Sequence[tuple[str, str]]) -> None:
        self.table = table
        self.scenario = scenario
        self.overrides = tuple(overrides)
        self.problems: list[str] = []
        self.known = [each["path"] for each in resolve(scenario, overrides).document["parameters"]]
        self.paths: dict[str, tuple[str, str | None]] = {}
        """Path and unit of a column that sets a parameter."""
        self.measures: dict[str, MeasuredColumn] = {}

    def measured(self, hold_out: Sequence[str]) -> Measured:
        for head in self.table.columns:
            self._column(head)
        if not self.measures:
            found = ", ".join(f"'{head}'" for head in self.table.columns)
            self.problems.append(
                f"{self.table.name}: no column says what was measured, like {examples()}; found {found}"
            )
        self._refuse()
        held_out = _held_out(self.table, hold_out, self.paths)
        cells = [
            cell
            for number, row in enumerate(self.table.rows, start=1)
            for cell in self._cells(number, row, is_held_out=number in held_out)
        ]
        self._refuse()
        cells = _distinct(cells)
        self._try_rows(cells)
        self._refuse()
        return Measured(
            self.table.name,
            tuple(cells),
            tuple(path for path, _ in self.paths.values()),
            any(measure.is_percentile for measure in self.measures.values()),
        )

    def _refuse(self) -> None:
        if not self.problems:
            return
        told = self.problems[:MOST_TOLD]
        rest = len(self.problems) - len(told)
        told += [f"and {rest} more"] if rest else []
        raise TableError("\n".join(told))

    def _column(self, head: str) -> None:
        if head.lower() in WORDS:
            return
        measure = measured_column(head)
        if measure is not None:
            unit = measure.unit
            if unit and measure.factor(unit) is None:
                self.problems.append(
                    f"{self.table.name}: column '{head}' is in {unit}, but the simulation has it in "
                    f"{measure.own_unit or 'no unit'}: write it in {measure.allowed}"
                )
            self.measures[head] = measure
            return
        name, unit = split_unit(head)
        paths = self._paths_of(name)
        if len(paths) == 1:
            twin = next((other for other, (path, _) in self.paths.items() if path == paths[0]), None)
            if twin is not None:
                both = f"columns '{twin}' and '{head}' both set '{paths[0]}'"
                self.problems.append(f"{self.table.name}: {both}")
            self.paths[head] = paths[0], unit
            return
        self.problems.append(f"{self.table.name}: {self._no_column(head, name, paths)}")

    def _paths_of(self, name: str) -> list[str]:
        if "." in name or name in self.known:
            return [name] if name in self.known or self._may_be_set(name) else []
        ends = [path for path in self.known if path.rpartition(".")[2] == name]
        of_workloads = [path for path in ends if path.startswith("workload.")]
        return of_workloads or ends

    def _may_be_set(self, path: str) -> bool:
        """Whether a value of a row can be set at a path that is not among those in force."""
        heads = [head for head in self.table.columns if split_unit(head)[0] == path]
        value = next(
            (row.values[head] for row in self.table.rows for head in heads if head in row.values), None
        )
        if value is None:
            return False
        unit = split_unit(heads[0])[1]
        try:
            resolve(self.scenario, [*self.overrides, (path, _with_unit(value, unit))])
        except ScenarioError as error:
            return not any(each["code"] in ("bad-override", "unknown-key") for each in error.diagnostics)
        return True

    def _no_column(self, head: str, name: str, paths: Sequence[str]) -> str:
        if paths:
            listed = ", ".join(f"'{path}'" for path in paths[:4]) + (", …" if len(paths) > 4 else "")
            return f"column '{head}' may be {listed}: write the whole path"
        leaves = {path.rpartition(".")[2] for path in self.known if path.startswith("workload.")}
        near = get_close_matches(
            name, [*self.known, *leaves, "goodput", "operations", "latency", *WORDS], n=1
        )
        meant = f"; did you mean '{near[0]}'?" if near else ""
        return (
            f"column '{head}' is nothing that is measured, like {examples()}, no parameter of the "
            f"scenario, and none of {', '.join(WORDS)}{meant}"
        )

    def _cells(self, number: int, row: TableRow, *, is_held_out: bool) -> Iterator[MeasuredCell]:
        at = self.table.at(row)
        role = row.values.get(self._word(ROLE), "").lower()
        if role not in _ROLES:
            self.problems.append(f"{at}: role is '{role}'; it is 'fit' or 'held out'")
            return
        missing = [head for head in self.paths if head not in row.values]
        if missing:
            self.problems.append(
                f"{at}: there is no value of '{missing[0]}'; each row says what it was measured at"
            )
            return
        pairs = [
            (head, path, _with_unit(row.values[head], unit)) for head, (path, unit) in self.paths.items()
        ]
        overrides = tuple((path, value) for _, path, value in pairs)
        shown = row.values.get(self._word(NAME)) or ", ".join(
            f"{split_unit(head)[0].rpartition('.')[2]} {value}" for head, _, value in pairs
        )
        written = {head: row.values[head] for head in self.measures if head in row.values}
        if not written:
            self.problems.append(f"{at}: nothing was measured: {_listed(self.measures)} is empty")
        for head, text in written.items():
            found = self._number(at, self.measures[head], text, row.values.get(self._word(PLUS_MINUS)))
            if found is None:
                continue
            value, unit, rounding = found
            name = shown or f"row {number}"
            yield MeasuredCell(
                name if len(self.measures) == 1 else f"{name}: {split_unit(head)[0]}",
                number,
                row.line,
                self.measures[head],
                unit,
                value,
                rounding,
                overrides,
                is_held_out=is_held_out or _ROLES[role],
                note=row.values.get(self._word(NOTE), ""),
            )

    def _word(self, word: str) -> str:
        """Return the column that is called so, in capitals or not."""
        return next((head for head in self.table.columns if head.lower() == word), word)

    def _number(
        self, at: str, column: MeasuredColumn, text: str, plus_minus: str | None
    ) -> tuple[float, str, float] | None:
        """Return a measured number, its unit and its rounding."""
        found = _NUMBER.fullmatch(text)
        if found is None:
            self.problems.append(f"{at}: '{column.head}' is '{text}', which is not a number")
            return None
        unit = found["unit"] or column.unit or ("" if not column.own_unit else None)
        if unit is None:
            self.problems.append(
                f"{at}: '{column.head}' is {text} without a unit: call the column '{column.head} "
                f"{column.allowed.partition(',')[0]}', or write the unit behind the number "
                f"({column.allowed})"
            )
            return None
        if column.factor(unit) is None:
            self.problems.append(f"{at}: '{column.head}' is {text}, but {column.allowed} is needed")
            return None
        value = float(found["number"])
        if not isfinite(value) or value <= 0:
            self.problems.append(f"{at}: '{column.head}' is {text}; something that is measured is above 0")
            return None
        rounding = _rounding(found["number"])
        if plus_minus is not None:
            known = _NUMBER.fullmatch(plus_minus)
            if known is None or float(known["number"]) < 0 or (known["unit"] or unit) != unit:
                self.problems.append(
                    f"{at}: plus_minus is '{plus_minus}'; it is a number from 0 on, in the unit of what is "
                    f"measured, {unit}"
                )
                return None
            rounding = max(rounding, float(known["number"]))
        return value, unit, rounding

    def _try_rows(self, cells: Sequence[MeasuredCell]) -> None:
        """Say of each row whose values the scenario does not take, what is wrong with them."""
        tried: set[tuple[tuple[str, str], ...]] = set()
        for cell in cells:
            if cell.overrides in tried:
                continue
            tried.add(cell.overrides)
            try:
                resolve(self.scenario, [*self.overrides, *cell.overrides])
            except ScenarioError as error:
                for each in error.diagnostics:
                    hint = f"; {each['hint']}" if each["hint"] else ""
                    self.problems.append(f"{self.table.name}:{cell.line}: {each['message']}{hint}")


def _distinct(cells: Sequence[MeasuredCell]) -> list[MeasuredCell]:
    """Give each cell a name of its own: of several alike with the number of the row."""
    names = [cell.id for cell in cells]
    return [
        cell if names.count(cell.id) == 1 else replace(cell, id=f"{cell.id} (row {cell.row})")
        for cell in cells
    ]


def _with_unit(value: str, unit: str | None) -> str:
    """Give a number the unit of its column."""
    found = _NUMBER.fullmatch(value)
    return f"{value} {unit}" if unit and found is not None and found["unit"] is None else value


def _rounding(number: str) -> float:
    """Return half of what the last digit of a number stands for, as it is written."""
    digits, _, exponent = number.lower().partition("e")
    places = len(digits.partition(".")[2])
    return 0.5 * 10.0 ** (int(exponent or 0) - places)


def _held_out(
    table: DataTable, asked: Sequence[str], paths: Mapping[str, tuple[str, str | None]]
) -> set[int]:
    """Return the numbers of rows that `--hold-out` names: '2,5..7', or 'size=64 KiB'."""
    found: set[int] = set()
    for text in asked:
        column, equals, value = text.partition("=")
        rows = _rows_where(table, column.strip(), value.strip(), paths) if equals else _rows_named(text)
        beyond = [number for number in rows if not 1 <= number <= len(table.rows)]
        if beyond:
            raise TableError(
                f"--hold-out {text}: there is no row {beyond[0]}; '{table.name}' has rows 1 to "
                f"{len(table.rows)}"
            )
        if not rows:
            raise TableError(
                f"--hold-out '{text}': no row of '{table.name}' has {column.strip()} = {value.strip()}"
            )
        found |= set(rows)
    return found


def _rows_named(text: str) -> list[int]:
    numbers: list[int] = []
    for item in text.split(","):
        low, _, high = item.strip().partition("..")
        try:
            first, last = int(low), int(high or low)
        except ValueError:
            raise TableError(
                f"--hold-out '{text}': give numbers of rows, like '2,5..7', or COLUMN=VALUE, like 'size=64 "
                "KiB'"
            ) from None
        numbers += range(first, min(last, first + 10_000) + 1)
    return numbers


def _rows_where(
    table: DataTable, column: str, value: str, paths: Mapping[str, tuple[str, str | None]]
) -> list[int]:
    from lanewise.study.axes import same_as

    names = {head: head for head in table.columns}
    for head, (path, _) in paths.items():
        names |= {path: head, split_unit(head)[0]: head, path.rpartition(".")[2]: head}
    if column not in names:
        raise TableError(f"--hold-out '{column}={value}': '{table.name}' has no column '{column}'")
    head = names[column]
    unit = paths[head][1] if head in paths else None
    wanted = [same_as(_with_unit(each.strip(), unit)) for each in value.split(",")]
    return [
        number
        for number, row in enumerate(table.rows, start=1)
        if head in row.values and same_as(_with_unit(row.values[head], unit)) in wanted
    ]


def _listed(heads: Mapping[str, object]) -> str:
    return ", ".join(f"'{head}'" for head in heads)
