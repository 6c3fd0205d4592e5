"""Which parameters are fitted, and between which values.

    nic.tags                          from a quarter of its value to four times that
    nic.path_latency=0 ns..400 ns     between these
    nic0.tags & nic1.tags=8..64       one value for both
    nic*.tags                         one value for all that match

Refused are a parameter that a specification fixes, what was asked of the machine, and what is no number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from math import ceil
from typing import TYPE_CHECKING

from lanewise.errors import InputError, ScenarioError
from lanewise.experiment.candidates import QUANTITY
from lanewise.quantity import amount_in, kind_of
from lanewise.runs.simulator import called, resolve
from lanewise.study.axes import AxisError, number_of, parse_axis

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lanewise.documents import ExplainedParameter, Mistake
    from lanewise.runs.simulator import Scenario

WIDER = 4
"""By how much a parameter's value is divided and multiplied, where no range is given."""

_SECTIONS = ("run", "workload", "firmware")
"""Tables that say what was asked, and how it is simulated."""


class FitError(InputError):
    """A parameter cannot be fitted; the text says why, one line for each."""


@dataclass(frozen=True)
class Wanted:
    """A parameter that is fitted, or several with one value."""

    name: str
    """As it was asked for."""
    parameters: tuple[str, ...]
    """Paths that get the value."""
    unit: str
    low: float
    high: float
    start: float | None
    """What it is without the fit, in its unit; None for no amount, such as "none"."""
    was: str
    """The same as `explain` prints it, and how it is known."""
    provenance: str
    place: str
    """Where that is said."""
    is_whole: bool = False
    """Whether it takes whole numbers only."""

    @property
    def shown_range(self) -> str:
        """The ends of the search in words."""
        return f"{self.written(self.low, _EXACT)} and {self.written(self.high, _EXACT)}"

    def written(self, value: float, digits: int) -> str:
        """Write a value as a scenario does."""
        number = str(round(value)) if self.is_whole else f"{value:.{digits}g}"
        return f"{number} {self.unit}".strip()


def wanted(
    asked: Sequence[str], scenario: Scenario, overrides: Sequence[tuple[str, str]], set_by_rows: Sequence[str]
) -> tuple[Wanted, ...]:
    """Return what is to be fitted; FitError lists all that cannot be."""
    if not asked:
        raise FitError(
            "nothing is fitted: name a parameter with --fit, like --fit 'nic.path_latency=0 ns..400 ns'"
        )
    explained = resolve(scenario, overrides).document["parameters"]
    known = {each["path"]: each for each in explained}
    found: list[Wanted] = []
    problems: list[str] = []
    for text in asked:
        try:
            one = _wanted(text, scenario, overrides, known)
            _refuse_twice(one, found, set_by_rows)
            found.append(one)
        except InputError as error:
            problems.append(str(error))
    if problems:
        raise FitError("\n".join(problems))
    return tuple(found)


def _refuse_twice(one: Wanted, others: Sequence[Wanted], set_by_rows: Sequence[str]) -> None:
    for path in one.parameters:
        if path in set_by_rows:
            raise FitError(f"'{path}' is set by each row of the measurements, and cannot be fitted to them")
        if any(path in other.parameters for other in others):
            raise FitError(f"'{path}' is named twice")


def _wanted(
    text: str,
    scenario: Scenario,
    overrides: Sequence[tuple[str, str]],
    known: Mapping[str, ExplainedParameter],
) -> Wanted:
    names, equals, between = text.partition("=")
    name = names.strip()
    paths = [path for part in name.split("&") for path in _paths(part.strip(), scenario, known)]
    rows = [known[path] for path in paths]
    _refuse_fixed(rows)
    values = list(dict.fromkeys(row["value"] for row in rows))
    found = QUANTITY.fullmatch(values[0]) if len(values) == 1 else None
    low, high, unit = (
        _given(name, between.strip()) if equals else _around(name, values, rows[0], found is not None)
    )
    start = _amount(unit, values[0]) if found is not None else None
    one = Wanted(
        name,
        tuple(paths),
        unit,
        low,
        high,
        start,
        values[0] if len(values) == 1 else "several",
        rows[0]["provenance"],
        rows[0]["place"],
    )
    return _tried(one, scenario, overrides)


def _paths(name: str, scenario: Scenario, known: Mapping[str, ExplainedParameter]) -> list[str]:
    if "*" in name or "?" in name:
        matching = [path for path in known if fnmatchcase(path, name.replace("[", "[[]"))]
        if matching:
            return matching
    if name in known:
        return [name]
    near = get_close_matches(name, known, n=1, cutoff=0.7)
    component = name.partition(".")[0]
    hint = f"did you mean '{near[0]}'? " if near else ""
    listed = component if any(path.startswith(f"{component}.") for path in known) else "*"
    raise FitError(
        f"'{called(scenario)}' has no parameter '{name}'; {hint}To list them: lanewise explain "
        f"{called(scenario)} '{listed}.*'"
    )


def _refuse_fixed(rows: Sequence[ExplainedParameter]) -> None:
    for row in rows:
        path = row["path"]
        if row["provenance"] == "spec":
            raise FitError(
                f"'{path}' is {row['value']}, which a specification fixes ({row['source']}): it is not "
                "fitted. What the rows show has another cause; fit a parameter of the host or the device, "
                "or set what this machine really has with --set"
            )
        if path.partition(".")[0] in _SECTIONS:
            raise FitError(
                f"'{path}' says what was asked of the machine, and is no property of it: give it a column "
                "of the measurements, or set it with --set"
            )


def _given(name: str, between: str) -> tuple[float, float, str]:
    """Read a range."""
    try:
        axis = parse_axis(f"a.b={between}", is_sampled=True)
    except AxisError as error:
        raise FitError(f"'{name}={between}': {error}") from error
    if not axis.between or len(axis.between) != 1:
        raise FitError(f"'{name}={between}': what it lies between is written LOW..HIGH, like '0 ns..400 ns'")
    low_text, high_text = axis.between[0]
    unit = low_text.partition(" ")[2] or high_text.partition(" ")[2]
    low, high = _amount(unit, low_text), _amount(unit, high_text)
    if low is None or high is None or not low < high:
        raise FitError(f"'{name}={between}': the lower end comes first, and both are of one kind")
    return low, high, unit


def _amount(unit: str, text: str) -> float | None:
    """Read a value in a unit, which may be one that the core alone knows; None for one of another kind."""
    found = number_of(text)
    if found is not None and found[1] == unit:
        return float(found[0])
    return amount_in(unit, text) if kind_of(unit) is not None else None


def _around(
    name: str,
    values: Sequence[str],
    row: ExplainedParameter,
    is_number: bool,
) -> tuple[float, float, str]:
    """Return the range around the value that a parameter has."""
    if len(values) > 1:
        raise FitError(
            f"'{name}' has several values, {', '.join(values[:4])}: say between which one value for all of "
            f"them lies, like --fit '{name}={values[0]}..{values[-1]}'"
        )
    value, path = values[0], row["path"]
    example = f"--fit '{name}=LOW..HIGH'"
    if not is_number and value not in ("none", "auto"):
        raise FitError(
            f"'{path}' is {value}, a choice and no amount, which cannot be fitted: 'lanewise sweep' tries "
            "one after the other"
        )
    unit = value.partition(" ")[2]
    amount = _amount(unit, value) if is_number else None
    if not amount:
        raise FitError(f"'{path}' is {value}: say between which values it is looked for, with {example}")
    return amount / WIDER, amount * WIDER, unit


_EXACT = 12
"""Digits with which the ends of a range are written."""

_CERTAIN = ("unknown-choice", "bad-value")
"""Codes of what the core says where a parameter takes certain values only."""


def _tried(one: Wanted, scenario: Scenario, overrides: Sequence[tuple[str, str]]) -> Wanted:
    """Return a parameter whose ends the scenario takes, whole if it takes nothing else."""

    def refused(text: str) -> list[Mistake]:
        try:
            resolve(scenario, [*overrides, *((path, text) for path in one.parameters)])
        except ScenarioError as error:
            return list(error.diagnostics)
        return []

    usual = one.low if one.start is None else one.start
    is_whole = kind_of(one.unit) == "bytes" or (
        not one.unit and bool(refused(f"{int(usual)}.5")) and not refused(str(round(usual)))
    )
    if is_whole:
        one = replace(
            one,
            is_whole=True,
            low=float(max(round(one.low), min(1, ceil(one.low)))),
            high=float(round(one.high)),
        )
    if not one.low < one.high:
        raise FitError(
            f"'{one.name}' is {one.was}, and there is nothing between {one.shown_range} to look for: say "
            f"between which values it lies, with --fit '{one.name}=LOW..HIGH'"
        )
    for value in (one.low, one.high, one.low + 0.37 * (one.high - one.low)):
        mistakes = refused(one.written(value, _EXACT))
        if not mistakes:
            continue
        why = "; ".join(
            f"{each['message']}{'; ' + each['hint'] if each['hint'] else ''}" for each in mistakes
        )
        if any(each["code"] in _CERTAIN for each in mistakes):
            # What the core offers is a value, and no value is asked for here.
            messages = "; ".join(each["message"] for each in mistakes)
            raise FitError(
                f"'{one.name}' takes certain values only, and a fit looks between them: {messages}. "
                "'lanewise sweep' tries one after the other"
            )
        raise FitError(
            f"'{one.name}' is looked for between {one.shown_range}, but {one.written(value, _EXACT)} is "
            f"not possible: {why}. Say between which values with --fit '{one.name}=LOW..HIGH'"
        )
    return one
