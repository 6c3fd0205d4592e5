"""Names of a scenario's parts as numbers, so that parts that are alike are the same document.

Numbered are endpoints, switches, and the ports between them, in the order in which they are named; hosts and
the networks keep their names. What refers to a part, in ``attach`` and in workloads, follows.
"""

from __future__ import annotations

import re
from copy import deepcopy
from typing import TYPE_CHECKING, Any, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lanewise.documents import Run
    from lanewise.scenario.tables import Scenario

_REFERENCES = ("name", "device", "target")
"""Keys of a workload that may name a device; `filename` names several."""
_NUMBER = re.compile(r"\bn\d+\b")


class Numbering:
    """Numbers names as they come; a name that was never numbered stays."""

    def __init__(self) -> None:
        """Begin with no names."""
        self._numbers: dict[str, str] = {}

    def number(self, name: str) -> str:
        """Return the number of a name: ``n0`` for the first."""
        return self._numbers.setdefault(name, f"n{len(self._numbers)}")

    def known(self, name: str) -> str:
        """Return the number of a name that has one, else the name."""
        return self._numbers.get(name, name)

    def path(self, path: str) -> str:
        """Return a dotted path, such as a place or an override, in which every known name is a number."""
        return ".".join(map(self.known, path.split(".")))

    def names(self) -> dict[str, str]:
        """Return names by their numbers."""
        return {number: name for name, number in self._numbers.items()}


def numbered(document: Scenario) -> tuple[Scenario, Numbering]:
    """Return a scenario without title whose devices and ports are numbered, and which number is whose."""
    numbering = Numbering()
    # Its own: tables of several kinds are walked alike.
    tables = cast("dict[str, Any]", deepcopy(document))
    tables.pop("title", None)
    for host in tables.get("host", {}).values():
        host["slots"] = _renamed(host.get("slots", {}), numbering, host.get("slots", ()))
    for kind in ("switch", "endpoint"):
        tables[kind] = _components(tables.get(kind, {}), numbering)
    for workload in tables.get("workload", ()):
        for key in _REFERENCES:
            if key in workload:
                workload[key] = numbering.known(workload[key])
        if "filename" in workload:
            workload["filename"] = [numbering.known(name) for name in workload["filename"]]
    return cast("Scenario", tables), numbering


def _components(tables: Mapping[str, dict[str, Any]], numbering: Numbering) -> dict[str, dict[str, Any]]:
    """Give numbers to components, the places they are at, and the ports below them, in this order."""
    found = {}
    for name, table in tables.items():
        number = numbering.number(name)
        if "attach" in table:
            owner, _, port = table["attach"].rpartition(".")
            if owner in tables:
                numbering.number(owner)
            table["attach"] = f"{numbering.known(owner)}.{numbering.number(port)}"
        if "ports" in table:
            table["ports"] = _renamed(table["ports"], numbering, list(table["ports"])[1:])
        found[number] = table
    return found


def _renamed(ports: Mapping[str, Any], numbering: Numbering, to_number: Iterable[str]) -> dict[str, Any]:
    for port in to_number:
        numbering.number(port)
    return {numbering.known(port): value for port, value in ports.items()}


def with_names(run: Run, names: Mapping[str, str]) -> Run:
    """Return results with names for numbers: of all that refers to parts."""

    def named(name: str) -> str:
        return names.get(name, name)

    def of_path(path: str) -> str:
        return ".".join(map(named, path.split(".")))

    found = run.copy()
    found["flows"] = [
        {
            **flow,
            "name": named(flow["name"]),
            "device": named(flow["device"]),
            "limited_by": _everywhere(flow["limited_by"], names),
        }
        for flow in run["flows"]
    ]
    found["links"] = [
        {
            **link,
            "name": named(link["name"]),
            "upper": of_path(link["upper"]),
            "lower": of_path(link["lower"]),
        }
        for link in run["links"]
    ]
    found["requesters"] = [{**each, "device": named(each["device"])} for each in run["requesters"]]
    found["resources"] = [{**each, "name": of_path(each["name"])} for each in run["resources"]]
    found["assumptions"] = [{**each, "path": of_path(each["path"])} for each in run["assumptions"]]
    found["limited_by"] = _everywhere(run["limited_by"], names)
    return found


_Json = TypeVar("_Json")


def _everywhere(value: _Json, names: Mapping[str, str]) -> _Json:
    """Return a part of a document in which every number in a text is a name."""
    if isinstance(value, str):
        return cast("_Json", _NUMBER.sub(lambda found: names.get(found[0], found[0]), value))
    if isinstance(value, dict):
        return cast("_Json", {key: _everywhere(each, names) for key, each in value.items()})
    if isinstance(value, list):
        return cast("_Json", [_everywhere(each, names) for each in value])
    return value
