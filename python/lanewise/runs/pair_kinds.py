"""Which pairs of a scenario's devices are alike, so that one of them speaks for all.

A pair is what joins its two devices: the links from each to the root port, the parameters of the ports above
them, and where the two ways meet. Names and numbers do not count; which socket and which stack a root port is
at counts only as far as both are at one, and the socket of a device's buffers as far as it is that of its
root port. Taken from `explain`, so nothing here knows what a default is.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Hashable

    from lanewise.documents import Explain, NegotiatedLink

_NUMBER = re.compile(r"\[\d+\]")
_RELATIVE = ("socket", "stack", "memory_socket")
"""Parameters of a root port or device whose value says only which others it goes with."""

Step: TypeAlias = tuple[str, "Hashable"]
"""The port above a link by name, and what there is to say about port and link."""


class PairKinds:
    """The devices of one resolved scenario, and how alike pairs of them are."""

    def __init__(self, explained: Explain) -> None:
        """Take what `explain` says of the scenario."""
        self._explained = explained
        self._found: dict[str, Hashable] = {}

    def kind(self, first: str, second: str) -> Hashable:
        """Return what is the same for all pairs that are alike: from the first device to the second."""
        ways = [self._way(name) for name in (first, second)]
        ports = [[port for port, _ in way] for way in ways]
        shared = sum(port in ports[1] for port in ports[0])
        roots = [port[-1] for port in ports]
        together = tuple(
            self._parameters.get(f"{_slot(roots[0])}.{key}")
            == self._parameters.get(f"{_slot(roots[1])}.{key}")
            for key in ("socket", "stack")
        )
        hosts = tuple(root.partition(".")[0] for root in roots)
        facts = tuple(tuple(fact for _, fact in way) for way in ways)
        near = tuple(self._has_near_memory(*end) for end in zip((first, second), roots, strict=True))
        return facts, shared, roots[0] == roots[1], together, hosts, near

    @cached_property
    def devices(self) -> list[str]:
        """Endpoints, in the order of their addresses."""
        return [each["name"] for each in self._explained["functions"] if each["kind"] == "endpoint"]

    @cached_property
    def addresses(self) -> dict[str, str]:
        """Address of each endpoint, like ``0000:01:00.0``."""
        return {each["name"]: each["address"] for each in self._explained["functions"]}

    @cached_property
    def gpus(self) -> list[str]:
        """Endpoints whose copy engines the scenario or a catalog part describes."""
        told = {
            path.partition(".")[0]
            for path, place in self._places.items()
            if ".copy_engine." in path and place not in {"default", "computed"}
        }
        return [name for name in self.devices if base_of(name) in told or name in told]

    @cached_property
    def _places(self) -> dict[str, str]:
        return {each["path"]: each["place"] for each in self._explained["parameters"]}

    @cached_property
    def _parameters(self) -> dict[str, object]:
        return {each["path"]: each["value"] for each in self._explained["parameters"]}

    @cached_property
    def _links(self) -> dict[str, NegotiatedLink]:
        return {each["lower"]: each for each in self._explained["links"]}

    def _way(self, name: str) -> list[Step]:
        """List the links from a device to its root port, nearest first."""
        way: list[Step] = []
        below: str | None = name
        while below is not None and below in self._links:
            link = self._links[below]
            upper, _, port = link["upper"].rpartition(".")
            inside = upper in self._links
            place = f"{base_of(upper)}.ports.{port}" if inside else _slot(link["upper"])
            mode = (link["generation"], link["width"], link["flit"], link["mps_bytes"])
            way.append((link["upper"], (self._settings(base_of(below)), mode, self._settings(place))))
            below = upper if inside else None
        return way

    def _has_near_memory(self, name: str, root: str) -> bool:
        """Whether a device's buffers are at the socket of its root port; they are where nothing is said."""
        path = next(
            (f"{each}.memory_socket" for each in (name, base_of(name)) if self._is_written(each)), None
        )
        socket = str(self._parameters.get(f"{_slot(root)}.socket", 0))
        return path is None or str(self._parameters[path]) in {"auto", socket}

    def _is_written(self, name: str) -> bool:
        return self._places.get(f"{name}.memory_socket", "default") not in {"default", "computed"}

    def _settings(self, prefix: str) -> Hashable:
        """Return the parameters of a component, or of a port, but those of a switch's ports."""
        if prefix not in self._found:
            start = f"{prefix}."
            told = (
                (path.removeprefix(start), str(value))
                for path, value in self._parameters.items()
                if path.startswith(start)
            )
            self._found[prefix] = tuple(
                (key, value) for key, value in told if key not in _RELATIVE and not key.startswith("ports.")
            )
        return self._found[prefix]


def base_of(name: str) -> str:
    """Return the name under which a component's parameters are: ``gpu`` for ``gpu[3]``."""
    return _NUMBER.sub("", name)


def _slot(port: str) -> str:
    """Return where a root port's parameters are: ``server.slots.slot1`` for ``server.slot1``."""
    host, _, slot = port.rpartition(".")
    return f"{host}.slots.{slot}"
