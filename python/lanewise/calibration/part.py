"""A part of one's own with fitted values: the form of the catalog's parts, in a file that scenarios name.

It says of which part it is a measured example, if the component is one: what is known of that holds on. Its
fitted values are `calibrated`, and name the cells. A component whose part is in a file already has what
that file says.
"""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise import toml
from lanewise._core import VERSION
from lanewise.calibration.named import FitError
from lanewise.calibration.tables import tables_of
from lanewise.errors import ScenarioError
from lanewise.files import refuse_unwritable, write_whole
from lanewise.inputs import STANDARD_INPUT
from lanewise.runs.simulator import called, is_file, resolve

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.calibration.fitting import FittedParameter, OwnCalibration
    from lanewise.calibration.named import Wanted
    from lanewise.runs.simulator import Scenario

_KINDS = ("host", "switch", "endpoint", "storage", "network", "retimer", "cable")
"""Tables of components, which parts describe."""

_LINK = "link"

_ENDING = ".toml"

_ALONE = re.compile(r"^\[(parameters\.[\w-]+)\]\n\n(?=\[\1\.)", re.MULTILINE)
"""The heading of a group that has nothing but values with headings of their own."""


@dataclass(frozen=True)
class Component:
    """What a part is made for."""

    kind: str
    name: str
    part: str | None
    """The part that the scenario names for it."""


@dataclass(frozen=True)
class WrittenPart:
    """A part that was written."""

    file: Path
    component: Component
    stated: tuple[str, ...]
    """Fitted parameters that the scenario states itself, and the place: these stand above the part."""

    def name_for(self, scenario: str) -> str:
        """Return the name by which a scenario in this file has the part."""
        if scenario.startswith("<"):
            return str(self.file.absolute())
        return Path(os.path.relpath(self.file, Path(scenario).parent)).as_posix()


def refuse_parts(
    scenario: Scenario, asked: Sequence[Wanted], overrides: Sequence[tuple[str, str]], out: Path
) -> None:
    """Raise FitError, before anything is fitted, where no part could be written."""
    components = components_of(scenario, [path for one in asked for path in one.parameters], overrides)
    for place in _places(components, out):
        refuse_unwritable(place)


def write_parts(calibration: OwnCalibration, out: Path) -> list[WrittenPart]:
    """Write a part for each component that has a fitted value; none where no value is determined."""
    done = [one for one in calibration.parameters if one.value is not None]
    every = [path for one in calibration.parameters for path in one.known.wanted.parameters]
    components = components_of(calibration.scenario, every, calibration.overrides)
    written = []
    for place, component in zip(_places(components, out), components, strict=True):
        own = [
            (one, path)
            for one in done
            for path in one.known.wanted.parameters
            if path.startswith(f"{component.name}.")
        ]
        if not own:
            continue
        write_whole(place, _text(calibration, component, own, place.name))
        _refuse_unusable(calibration, component, place)
        stated = tuple(
            f"{path} ({one.known.wanted.place})"
            for one, path in own
            if one.known.wanted.place.startswith(f"{calibration.name}:")
        )
        written.append(WrittenPart(place, component, stated))
    return written


def _refuse_unusable(calibration: OwnCalibration, component: Component, place: Path) -> None:
    """Take a part away, and raise FitError, where the scenario does not take it."""
    if not is_file(calibration.scenario) or calibration.name == STANDARD_INPUT:
        return
    named = (f"{component.name}.part", str(place.absolute()))
    try:
        resolve(calibration.scenario, [*calibration.overrides, named])
    except ScenarioError as error:
        place.unlink()
        said = "; ".join(each["message"] for each in error.diagnostics)
        raise FitError(
            f"the fitted values cannot be in a part: {said}. Write them into the scenario"
        ) from error


def components_of(
    scenario: Scenario, paths: Sequence[str], overrides: Sequence[tuple[str, str]]
) -> list[Component]:
    """Return the components that parameters belong to; FitError for a parameter that a part cannot have."""
    tables = tables_of(scenario)
    known = {
        each: (kind, table)
        for kind in _KINDS
        for each, table in (tables.get(kind) or {}).items()
        if isinstance(table, dict)
    }
    found: dict[str, Component] = {}
    for path in paths:
        owner = path.partition(".")[0]
        if owner not in known:
            raise FitError(
                f"'{path}' cannot be in a part: '{owner}' is not a component that {called(scenario)} "
                "declares. Leave out --out, and write the value into the scenario"
            )
        if path.split(".")[1] == _LINK:
            raise FitError(
                f"'{path}' is of a link, which no part has: leave out --out, and write the value into the "
                "scenario"
            )
        kind, table = known[owner]
        part = dict(overrides).get(f"{owner}.part") or table.get("part")
        found[owner] = Component(kind, owner, part if isinstance(part, str) else None)
    return list(found.values())


def _places(components: Sequence[Component], out: Path) -> list[Path]:
    """Return where the part of each component goes: a file for one, a folder for several."""
    is_one_file = out.name.endswith(_ENDING)
    if is_one_file and len(components) > 1:
        names = " and ".join(component.name for component in components)
        files = " and ".join(f"{component.name}{_ENDING}" for component in components)
        raise FitError(
            f"the fitted parameters belong to {names}, and a file has one part: give --out a folder, which "
            f"then has {files}"
        )
    return [out if is_one_file else out / f"{component.name}{_ENDING}" for component in components]


def _text(
    calibration: OwnCalibration,
    component: Component,
    own: Sequence[tuple[FittedParameter, str]],
    name: str,
) -> str:
    """Write a part; what a file says that the component has as its part stays."""
    document = _base(calibration, component)
    parameters = document.setdefault("parameters", {})
    assert isinstance(parameters, dict)
    headed, spread = set(), set()
    for one, path in own:
        keys = path.split(".")[1:]
        group = parameters
        for key in keys[:-1]:
            group = group.setdefault(key, {})
        group[keys[-1]] = {
            "value": one.value,
            "provenance": "calibrated",
            "source": _source(calibration, one),
            "fitted_on": list(calibration.fitted_on),
        }
        place = ("parameters", *keys)
        headed.add(place)
        spread.add((*place, "fitted_on"))
    head = [
        f"Made by {calibration.made_by}, Lanewise {VERSION}.",
        f'A scenario in this folder names it: part = "{name}".',
        "",
    ]
    text = toml.document(document, head=head, headed=headed, spread=spread)
    return _ALONE.sub("", text)


def _base(calibration: OwnCalibration, component: Component) -> dict[str, object]:
    """Return a part without fitted values."""
    data = Path(calibration.data).name
    if component.part is not None and component.part.endswith(_ENDING):
        folder = Path(calibration.name).parent if is_file(calibration.scenario) else Path()
        return tomllib.loads((folder / component.part).read_text(encoding="utf-8"))
    document: dict[str, object] = {
        "title": f"{component.part or component.name}, as measured in {data}",
        "kind": component.kind,
    }
    if component.part is not None:
        document["part"] = component.part
    return document


def _source(calibration: OwnCalibration, one: FittedParameter) -> str:
    """Say how a value was found."""
    errors = calibration.spread("fit")
    others = [other.name for other in calibration.parameters if other is not one]
    together = f", together with {' and '.join(others)}" if others else ""
    met = (
        f"; median error {errors.median_percent:.2g} %, worst {errors.worst_percent:.2g} %" if errors else ""
    )
    return (
        f"least squares over {len(calibration.fitted_on)} cells of {Path(calibration.data).name} with "
        f"{calibration.scenario_in_words}{together}; 95 % interval {one.interval}{met}"
    )
