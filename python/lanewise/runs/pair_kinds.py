"""Which pairs of a scenario's devices are alike, so that one of them speaks for all.

A pair is what joins its two devices: the links from each to the root port, the parameters of the ports above
them, where the two ways meet, and whether a side link joins the two. Names and numbers do not count; which
socket and which stack a root port is at counts only as far as both are at one, and the socket of a device's
buffers as far as it is that of its root port. Taken from `explain`, so nothing here knows what a default is.

What `explain` says of one of several components (``gpu[2].mrrs``) holds before what it says of all
(``gpu.mrrs``).
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Hashable

    from lanewise.documents import Explain, NegotiatedLink

_NUMBER = re.compile(r"\[\d+\]")
_PLACES = ("socket", "stack")
_RELATIVE = (*_PLACES, "memory_socket")
"""Parameters of a root port or device whose value says only which others it goes with."""

Step: TypeAlias = tuple[str, "Hashable"]
"""The port above a link by name, and what there is to say about port and link."""


class PairKinds:
    """The devices of one resolved scenario, and how alike pairs of them are."""

    def __init__(self, explained: Explain) -> None:
        """Take what `explain` says of the scenario."""
        self._explained = explained
        self._found: dict[tuple[str, ...], Hashable] = {}

    def kind(self, first: str, second: str) -> Hashable:
        """Return what is the same for all pairs that are alike: from the first device to the second."""
        ways = [self._way(name) for name in (first, second)]
        ports = [[port for port, _ in way] for way in ways]
        shared = sum(port in ports[1] for port in ports[0])
        roots = [port[-1] for port in ports]
        together = tuple(self._of_slot(roots[0], key) == self._of_slot(roots[1], key) for key in _PLACES)
        hosts = tuple(root.partition(".")[0] for root in roots)
        facts = tuple(tuple(fact for _, fact in way) for way in ways)
        near = tuple(self._has_near_memory(*end) for end in zip((first, second), roots, strict=True))
        beside = self.are_joined(first, second)
        return facts, shared, roots[0] == roots[1], together, hosts, near, beside

    def are_joined(self, first: str, second: str) -> bool:
        """Whether a side link joins two devices: their copies take it in place of PCI Express."""
        groups = [self._side_group(name) for name in (first, second)]
        return first != second and groups[0] is not None and groups[0] == groups[1]

    @cached_property
    def devices(self) -> list[str]:
        """Endpoints, in the order of their addresses."""
        return [each["name"] for each in self._explained["functions"] if each["kind"] == "endpoint"]

    @cached_property
    def _in_order(self) -> list[str]:
        """Endpoints, those of one name in the order of their numbers."""
        return sorted(self.devices, key=lambda name: [int(number[1:-1]) for number in _NUMBER.findall(name)])

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

    def host_of(self, name: str) -> str:
        """Name the host that a device is below."""
        return self._way(name)[-1][0].partition(".")[0]

    def _way(self, name: str) -> list[Step]:
        """List the links from a device to its root port, nearest first."""
        way: list[Step] = []
        below: str | None = name
        while below is not None and below in self._links:
            link = self._links[below]
            upper, _, port = link["upper"].rpartition(".")
            inside = upper in self._links
            places = _both(f"{upper}.ports.{port}") if inside else _both(_slot(link["upper"]))
            mode = (link["generation"], link["width"], link["flit"], link["mps_bytes"])
            way.append((link["upper"], (self._settings(*_both(below)), mode, self._settings(*places))))
            below = upper if inside else None
        return way

    def _told(self, path: str) -> object:
        """Return a parameter of one component, or of all of its name; None where neither is."""
        return self._parameters.get(path, self._parameters.get(base_of(path)))

    def _of_slot(self, root: str, key: str) -> object:
        return self._told(f"{_slot(root)}.{key}")

    def _side_group(self, name: str) -> Hashable:
        """Return what is the same for all devices that side links join; None for a device without one."""
        if self._told(f"{name}.side_link.rate") is None:
            return None
        host, joins = self.host_of(name), str(self._told(f"{name}.side_link.joins"))
        if joins == "auto":
            return host
        row = [
            each for each in self._in_order if base_of(each) == base_of(name) and self.host_of(each) == host
        ]
        return host, base_of(name), row.index(name) // int(joins)

    def _has_near_memory(self, name: str, root: str) -> bool:
        """Whether a device's buffers are at the socket of its root port; they are where nothing is said."""
        path = next(
            (f"{each}.memory_socket" for each in (name, base_of(name)) if self._is_written(each)), None
        )
        socket = self._of_slot(root, "socket")
        socket = "0" if socket is None else str(socket)
        return path is None or str(self._parameters[path]) in {"auto", socket}

    def _is_written(self, name: str) -> bool:
        return self._places.get(f"{name}.memory_socket", "default") not in {"default", "computed"}

    def _settings(self, *prefixes: str) -> Hashable:
        """Return what a component or port is set to, without those of ports of a switch; later ones hold."""
        if prefixes not in self._found:
            told: dict[str, str] = {}
            for prefix in prefixes:
                start = f"{prefix}."
                told |= {
                    path.removeprefix(start): str(value)
                    for path, value in self._parameters.items()
                    if path.startswith(start)
                }
            self._found[prefixes] = tuple(
                (key, told[key])
                for key in sorted(told)
                if key not in _RELATIVE and not key.startswith("ports.")
            )
        return self._found[prefixes]


def base_of(name: str) -> str:
    """Return the name under which a component's parameters are: ``gpu`` for ``gpu[3]``."""
    return _NUMBER.sub("", name)


def _both(name: str) -> tuple[str, ...]:
    """Return where parameters of a component are: of all of its name, then its own."""
    return tuple(dict.fromkeys((base_of(name), name)))


def _slot(port: str) -> str:
    """Return where a root port's parameters are: ``server.slots.slot1`` for ``server.slot1``."""
    host, _, slot = port.rpartition(".")
    return f"{host}.slots.{slot}"
