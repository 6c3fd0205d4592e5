"""In what two scenarios differ as they are written: parameters, and components that only one has.

Each difference can be applied to the one scenario, or taken back from the other. Titles, comments and values
that mean the same are no differences.
"""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING

from lanewise.alike_names import stem
from lanewise.alike_names import together as of_alike
from lanewise.errors import InputError
from lanewise.kept import KeptScenario, put_names, with_names
from lanewise.runs.simulator import resolve
from lanewise.scenario.text import scenario_text
from lanewise.scenario_text import written_tables
from lanewise.written import DASH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lanewise.results import ExplainResult

    Override = tuple[str, str]
    Place = tuple[str, ...]
    Tables = dict[str, object]

_COMPONENTS = ("host", "switch", "endpoint", "storage", "network", "system")
"""Tables of tables: a component has a name, which is unique among all of them."""
_WORDS = ("title",)
"""Keys that nothing is simulated by."""


@dataclass(frozen=True)
class Written:
    """A scenario as it is written, with the overrides of its run."""

    tables: Tables
    """Workloads by name, or by number where they have none."""
    overrides: tuple[Override, ...]
    part_files: Mapping[str, str] = field(default_factory=dict)
    """Texts of files with parts, by the names that they have here."""

    @classmethod
    def read(
        cls,
        text: str,
        overrides: Sequence[Override],
        part_files: Mapping[str, str] | None = None,
        *,
        renamed: Mapping[str, str] | None = None,
    ) -> Written:
        """Read the text of a scenario that was run, with other names for part files that are `renamed`."""
        renamed = renamed or {}
        tables = dict(deepcopy(dict(written_tables(text))))
        put_names(tables, renamed)
        workloads = tables.get("workload")
        if isinstance(workloads, list):
            tables["workload"] = {
                str(each.get("name", f"#{number}")): each for number, each in enumerate(workloads)
            }
        files = {renamed.get(name, name): text for name, text in (part_files or {}).items()}
        return cls(tables, with_names(overrides, renamed), files)

    @cached_property
    def text(self) -> str:
        """What the core reads."""
        tables = dict(self.tables)
        if isinstance(workloads := tables.get("workload"), dict):
            tables["workload"] = list(workloads.values())
        return scenario_text(tables)

    @property
    def kept(self) -> KeptScenario:
        """What is simulated, but for the overrides."""
        return KeptScenario("<text>", self.text, self.part_files)

    @cached_property
    def resolved(self) -> ExplainResult:
        """Every parameter; `lanewise.InputError` for a scenario that is none."""
        return resolve(self.kept, self.overrides)

    @cached_property
    def problem(self) -> InputError | None:
        """Why it is no scenario; None for one that is."""
        try:
            self.resolved  # noqa: B018
        except InputError as error:
            return error
        return None

    @property
    def means(self) -> object:
        """What is simulated: equal for scenarios that are the same in other words."""
        document = self.resolved.document
        values = [(row["path"], row["value"]) for row in document["parameters"]]
        return values, document["links"], document["functions"]

    @cached_property
    def values(self) -> Mapping[str, str]:
        """Values of all parameters in force by path, with those of the first of several alike."""
        if self.problem is not None:
            return {}
        values = {row["path"]: str(row["value"]) for row in self.resolved.document["parameters"]}
        return {path.replace("[0]", ""): value for path, value in values.items()} | values

    def at(self, place: Place) -> object | None:
        """Return what stands at a place; None for nothing."""
        found: object = self.tables
        for key in place:
            if not isinstance(found, dict) or key not in found:
                return None
            found = found[key]
        return found

    def with_places_of(self, other: Written, places: Sequence[Place], paths: Sequence[str]) -> Written:
        """Return this scenario with what the other has at places and as overrides of paths."""
        tables = deepcopy(self.tables)
        for place in places:
            _put(tables, place, other.at(place))
        tables = {key: tables[key] for key in sorted(tables, key=_order_in(other.tables, self.tables))}
        if isinstance(workloads := tables.get("workload"), dict):
            order = _order_in(other.at(("workload",)), self.at(("workload",)))
            tables["workload"] = {key: workloads[key] for key in sorted(workloads, key=order)}
        kept = [pair for pair in self.overrides if pair[0] not in paths]
        overrides = (*kept, *(pair for pair in other.overrides if pair[0] in paths))
        return Written(tables, overrides, {**other.part_files, **self.part_files})


def read_both(
    kept: tuple[KeptScenario, KeptScenario],
    overrides: tuple[Sequence[Override], Sequence[Override]],
    letters: tuple[str, str],
) -> tuple[Written, Written]:
    """Read two scenarios that were run, of which each may get what the other has.

    Files with parts that have the same name in both, and say different things, are called by `letters`, too,
    like ``A/mine.toml``: so they are a difference like any other.
    """
    files, others = (each.part_files for each in kept)
    clash = [name for name in files if name in others and files[name] != others[name]]
    a, b = (
        Written.read(each.text, own, each.part_files, renamed={name: f"{letter}/{name}" for name in clash})
        for each, own, letter in zip(kept, overrides, letters, strict=True)
    )
    return a, b


def _order_in(*tables: object) -> Callable[[str], int]:
    """Return by what keys are sorted: as in the first table, then as in the next."""
    keys = list(dict.fromkeys(key for each in tables if isinstance(each, dict) for key in each))
    return keys.index


def _put(tables: Tables, place: Place, value: object | None) -> None:
    """Put a value at a place, or take away what is there."""
    *above, last = place
    found: object = tables
    for key in above:
        if not isinstance(found, dict):
            return
        if value is None and key not in found:
            return
        found = found.setdefault(key, {})
    if not isinstance(found, dict):
        return
    if value is None:
        found.pop(last, None)
    else:
        found[last] = deepcopy(value)


@dataclass(frozen=True)
class Difference:
    """Something that differs between two scenarios, or several such things that go together."""

    names: tuple[str, ...]
    """Parameters, as `explain` calls them, or components."""
    values_a: tuple[str, ...]
    """What each is in a."""
    values_b: tuple[str, ...]
    """What each is in b."""
    places: tuple[Place, ...] = ()
    paths: tuple[str, ...] = ()
    """Of overrides."""

    def put_into(self, one: Written, other: Written) -> Written:
        """Return one scenario with this as the other has it."""
        return one.with_places_of(other, self.places, self.paths)

    @property
    def lines(self) -> list[tuple[str, str, str]]:
        """Name, value in a and value in b of each; those of alike components as one."""
        alike: dict[tuple[str, str, str], list[str]] = {}
        for name, a, b in zip(self.names, self.values_a, self.values_b, strict=True):
            alike.setdefault((stem(name), a, b), []).append(name)
        return [(of_alike(names), a, b) for (_, a, b), names in alike.items()]

    @property
    def component(self) -> str:
        """Name of the component, or the kind of thing, that it is a difference of."""
        return self.names[0].partition(".")[0]


def together(differences: Sequence[Difference]) -> Difference:
    """Return several differences as one."""
    return Difference(
        tuple(name for each in differences for name in each.names),
        tuple(value for each in differences for value in each.values_a),
        tuple(value for each in differences for value in each.values_b),
        tuple(place for each in differences for place in each.places),
        tuple(path for each in differences for path in each.paths),
    )


def differences(a: Written, b: Written) -> list[Difference]:
    """Return in what two scenarios differ, each by itself where it can be: applied to a, taken back from b.

    What can only be applied with others (a switch, and a card that moves behind it) is one difference.
    """
    found = _loads_as_one([each for each in _by_name(_raw(a, b)) if _matters(each, a, b)])
    if len(found) < 2:
        return [_told(each, a, b) for each in found]
    alone = [each for each in found if _fits(each, a, b)]
    joined = [each for each in found if each not in alone]
    if joined:
        whole = together(joined)
        if alone and not _fits(whole, a, b):
            alone, whole = [], together(found)
        return [_told(each, a, b) for each in (*alone, whole)]
    return [_told(each, a, b) for each in alone]


def _loads_as_one(found: Sequence[Difference]) -> list[Difference]:
    """Put workloads that only one scenario has together: with none of them nothing is asked for."""
    loads = [
        each for each in found if all(place[:-1] == ("workload",) for place in each.places) and not each.paths
    ]
    return (
        list(found) if len(loads) < 2 else [*(each for each in found if each not in loads), together(loads)]
    )


def fewer(found: Sequence[Difference], most: int) -> list[Difference]:
    """Put differences together where there are more than so many: of alike components, then of each one."""
    if len(found) <= most:
        return list(found)
    alike: dict[object, list[Difference]] = {}
    for each in found:
        words = tuple(map(stem, each.names)), each.values_a, each.values_b
        alike.setdefault(words, []).append(each)
    found = [together(group) for group in alike.values()]
    if len(found) <= most:
        return found
    order = {each.component: number for number, each in reversed(list(enumerate(found)))}
    by_component = sorted(found, key=lambda each: order[each.component])
    return [together(list(group)) for _, group in groupby(by_component, lambda each: each.component)]


def _fits(difference: Difference, a: Written, b: Written) -> bool:
    """Whether both scenarios stay scenarios with this as the other has it."""
    return difference.put_into(a, b).problem is None and difference.put_into(b, a).problem is None


def _matters(difference: Difference, a: Written, b: Written) -> bool:
    """Whether anything is simulated otherwise because of it."""
    pairs = ((a, difference.put_into(a, b)), (b, difference.put_into(b, a)))
    return any(with_it.problem is not None or with_it.means != as_is.means for as_is, with_it in pairs)


def _raw(a: Written, b: Written) -> Iterator[Difference]:
    """Yield each place and each override that differs."""
    for place in _places((), a.tables, b.tables):
        yield Difference((_name(place),), ("",), ("",), places=(place,))
    sides = [dict(each.overrides) for each in (a, b)]
    for path in dict.fromkeys([*sides[0], *sides[1]]):
        if sides[0].get(path) != sides[1].get(path):
            yield Difference((path,), ("",), ("",), paths=(path,))


def _by_name(found: Iterator[Difference]) -> list[Difference]:
    """Put a parameter that a file and an override set together: one hides the other."""
    by_name: dict[tuple[str, ...], list[Difference]] = {}
    for each in found:
        by_name.setdefault(each.names, []).append(each)
    return [
        Difference(
            names,
            ("",),
            ("",),
            tuple(place for each in alike for place in each.places),
            tuple(path for each in alike for path in each.paths),
        )
        for names, alike in by_name.items()
    ]


def _places(place: Place, a: object, b: object) -> Iterator[Place]:
    if a == b or (len(place) == 1 and place[0] in _WORDS):
        return
    is_component = len(place) == 2 and place[0] in (*_COMPONENTS, "workload")
    if not isinstance(a, dict) or not isinstance(b, dict):
        if is_component or not place or isinstance(a if a is not None else b, dict) is False:
            yield place
            return
        # A table that only one has: each of its keys by itself.
        a, b = (each if isinstance(each, dict) else {} for each in (a, b))
    for key in dict.fromkeys([*a, *b]):
        yield from _places((*place, str(key)), a.get(key), b.get(key))


def _name(place: Place) -> str:
    return ".".join(place[1:] if len(place) > 1 and place[0] in _COMPONENTS else place)


def _told(difference: Difference, a: Written, b: Written) -> Difference:
    """Return the difference with its values, as they are in force where that is known."""
    values_a, values_b = (
        tuple(_value(name, side, difference) for name in difference.names) for side in (a, b)
    )
    return Difference(difference.names, values_a, values_b, difference.places, difference.paths)


def _value(name: str, side: Written, difference: Difference) -> str:
    if name in side.values:
        return side.values[name]
    overrides = dict(side.overrides)
    if name in overrides:
        return overrides[name]
    place = next((each for each in difference.places if _name(each) == name), ())
    value = side.at(place) if place else None
    if value is None:
        return DASH
    is_component = len(place) == 2 and isinstance(value, dict)
    return "there" if is_component else value if isinstance(value, str) else json.dumps(value)
