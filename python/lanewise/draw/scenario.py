"""The topology of a scenario, or of a run: hosts, slots, switches, endpoints with their parts.

What `explain` returns has all of it but what is behind adapters and between them: drives and networks stand
in the scenario as it is written, and are added where that is at hand. Results of a run alone have links and
nothing else.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from lanewise.alike_names import stem
from lanewise.draw.model import Link, LinkUse, Node, Sort, State, Topology

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lanewise.documents import Explain, NegotiatedLink, Run
    from lanewise.documents import Link as RunLink

_INSTANCE = re.compile(r"\[\d+\]")
_MODE = re.compile(r"gen(\d+) x(\d+)")
_FORCED = (".link.slot_reducer", ".link.force_width", ".link.force_generation")
"""What decides a link although both ends can do more."""
_OTHER_SIDE = ".ntb.to"
_ABOUT_TOPOLOGY = (".generation", ".width", ".link", ".socket", ".count", ".kind", _OTHER_SIDE)
_DEFAULTS = "catalog/defaults-"
"""Values of all hosts of a generation, below those of a part."""
_SORTS = (".nvme.", ".rdma.", ".ethernet.", ".ports.")
"""Tables that say of which sort a device is."""
_MOST_DRIVES = 4096


def of_scenario(explained: Explain, written: Mapping[str, Any] | None = None) -> Topology:
    """Return the topology of what `explain` says; `written` is the scenario as it is in its file, or nothing.

    `written` adds drives behind adapters, and networks, which `explain` does not place.
    """
    rig = _Rig(explained)
    tops = rig.tops()
    notes = [*rig.bridges(), *_add_what_is_behind(rig, written or {})]
    return Topology(explained["title"], tuple(tops), tuple(notes))


def of_run(run: Run) -> Topology:
    """Return the topology of the results of a run alone: links as they came up, no parts, no free slots."""
    tops = trees(run["links"])
    for top in tops:
        top.sort = Sort.HOST
        for node in top.walk():
            if node.link is not None and node.below:
                node.sort = Sort.SWITCH
    return Topology(run["title"], tuple(tops))


def use_of(run: Run) -> dict[str, LinkUse]:
    """Return how much each link of a run was in use, by its name."""
    return {
        link["name"]: LinkUse(
            upstream_gb_per_s=link["upstream"]["ladder"]["goodput_gb_per_s"],
            downstream_gb_per_s=link["downstream"]["ladder"]["goodput_gb_per_s"],
            upstream=link["upstream"]["utilisation"],
            downstream=link["downstream"]["utilisation"],
        )
        for link in run["links"]
    }


def trees(links: Iterable[NegotiatedLink | RunLink]) -> list[Node]:
    """Return the devices that have nothing above them, in the order of the links."""
    nodes: dict[str, Node] = {}
    lower = set()
    for link in links:
        above, _, slot = str(link["upper"]).partition(".")
        # In results the port of the device below is named, too.
        own = str(link["lower"]).partition(".")[0]
        for name in (above, own):
            if name not in nodes:
                nodes[name] = Node(name, alike=stem(name))
        node = nodes[own]
        lower.add(node.name)
        node.slot = node.slot_alike = slot
        mode = f"{link['generation']} {link['width']}"
        node.link = Link(own, mode, lanes=int(link["width"].removeprefix("x")))
        nodes[above].below.append(node)
    return [node for name, node in nodes.items() if name not in lower]


class _Rig:
    """What `explain` says of a scenario, by name."""

    def __init__(self, explained: Explain) -> None:
        self.links = explained["links"]
        self.functions = explained["functions"]
        self.nodes: dict[str, Node] = {}
        self.parts: dict[str, str] = {}
        self._values: dict[str, str] = {}
        self._tables: dict[str, set[str]] = defaultdict(set)
        found: dict[str, Counter[str]] = defaultdict(Counter)
        for parameter in explained["parameters"]:
            path, place = parameter["path"], parameter["place"]
            # Millions of parameters may be there, and few are about the topology.
            if path.endswith(_ABOUT_TOPOLOGY):
                self._values[path] = parameter["value"]
            if any(table in path for table in _SORTS):
                component, table, *_ = path.split(".")
                self._tables[component].add(table)
            if place.startswith("catalog/") and not place.startswith(_DEFAULTS):
                component = path.partition(".")[0]
                found[component][place.removeprefix("catalog/").partition(".toml")[0]] += 1
        for component, places in found.items():
            self.parts[component] = places.most_common(1)[0][0]

    def value(self, component: str, key: str) -> str | None:
        """Return a parameter of a component; one of several alike has those that all have in common."""
        path = f"{component}.{key}"
        return self._values.get(path) or self._values.get(_INSTANCE.sub("", path))

    def bridges(self) -> list[str]:
        """Return a line for each non-transparent bridge: its sides are in the pictures of two hosts."""
        sides = {
            path.removesuffix(_OTHER_SIDE): to for path, to in self._values.items() if _OTHER_SIDE in path
        }
        return [f"{one} and {to} are one non-transparent bridge" for one, to in sides.items() if to != "none"]

    def tops(self) -> list[Node]:
        """Return hosts, with all below them in the order of their ports."""
        tops = trees(self.links)
        self.nodes = {node.name: node for top in tops for node in top.walk()}
        for function in self.functions:
            host = function["host"]
            if host not in self.nodes:
                self.nodes[host] = Node(host, alike=stem(host))
                tops.append(self.nodes[host])
        order = {function["host"]: number for number, function in reversed([*enumerate(self.functions)])}
        tops.sort(key=lambda top: order.get(top.name, 0))
        for link in self.links:
            self._describe(self.nodes[link["name"]], link)
        for top in tops:
            top.sort = Sort.HOST
            top.detail = self._part(top.name)
            top.alike = (stem(top.name), top.detail)
        self._add_free_slots()
        for top in tops:
            self._part_sockets(top)
        return tops

    def _describe(self, node: Node, link: NegotiatedLink) -> None:
        first, _, elsewhere = node.name.partition("@")
        node.detail = self._part(first)
        node.sort = self._sort(node, first)
        node.alike = (stem(node.name), node.detail)
        limits = {link["generation_limited_by"], link["width_limited_by"]}
        could = self._both_can(node.name, link["upper"])
        mode = f"{link['generation']} {link['width']}"
        forced = sorted(limit for limit in limits if limit.endswith(_FORCED))
        state = State.BELOW if forced and could != mode else State.UP
        if elsewhere:
            node.detail, state = "moves here during the run", State.EMPTY
        why = [f"generation decided by {link['generation_limited_by']}"]
        why += [f"width by {link['width_limited_by']}", f"MPS {link['mps_bytes']} B"]
        node.link = Link(
            link["name"],
            mode,
            lanes=int(link["width"].removeprefix("x")),
            state=state,
            could=(could or "more") if state is State.BELOW else "",
            why=", ".join(why),
        )

    def _part(self, name: str) -> str:
        return self.parts.get(name) or self.parts.get(_INSTANCE.sub("", name), "")

    def _sort(self, node: Node, name: str) -> Sort:
        tables = self._tables.get(name) or self._tables.get(_INSTANCE.sub("", name), set())
        if node.below or "ports" in tables:
            return Sort.SWITCH
        if "nvme" in tables:
            return Sort.STORAGE
        return Sort.NETWORK if tables & {"rdma", "ethernet"} else Sort.DEVICE

    def _both_can(self, name: str, upper: str) -> str | None:
        """Return what the ends of a link have in common, like ``gen3 x16``; None when that is not said."""
        generation, width = self.value(name, "generation"), self.value(name, "width")
        lower = f"{generation} {width}" if generation and width else self._port_can(f"{name}.port0")
        ends = [_MODE.match(mode or "") for mode in (self._port_can(upper), lower)]
        known = [(int(end[1]), int(end[2])) for end in ends if end is not None]
        if len(known) < 2:
            return None
        generations, widths = zip(*known, strict=True)
        return f"gen{min(generations)} x{min(widths)}"

    def _port_can(self, port: str) -> str | None:
        component, _, name = port.partition(".")
        keys = (f"slots.{name}.link", f"ports.{name}.link")
        return next(filter(None, (self.value(component, key) for key in keys)), None)

    def _add_free_slots(self) -> None:
        """Add root ports and ports of switches with nothing below, and put all below a device in order."""
        used = {link["upper"] for link in self.links}
        order: dict[str, int] = {}
        for position, function in enumerate(self.functions):
            port = function["name"]
            component, _, slot = port.partition(".")
            order[port] = position
            if port in used or function["kind"] not in {"root port", "downstream port"}:
                continue
            can = self._port_can(port) or ""
            free = Node(port, "free", can, sort=Sort.EMPTY, alike=can, slot=slot, slot_alike=stem(slot))
            mode = _MODE.match(can)
            free.link = Link(port, can, lanes=int(mode[2]) if mode else None, state=State.EMPTY)
            if component in self.nodes:
                self.nodes[component].below.append(free)
        for name, node in self.nodes.items():
            node.below.sort(
                key=lambda below, name=name: (  # type: ignore[misc]
                    below.sort is Sort.EMPTY,
                    order.get(f"{name}.{below.slot}", 0),
                )
            )
            for below in node.below:
                below.slot_alike = stem(below.slot)

    def _part_sockets(self, host: Node) -> None:
        """Put the slots of a host below its sockets, where there are several."""
        sockets = {
            below.name: self.value(host.name, f"slots.{below.slot}.socket") or "0" for below in host.below
        }
        if len(set(sockets.values())) < 2:
            return
        parts = {}
        for socket in sorted(set(sockets.values())):
            name = f"{host.name} socket {socket}"
            parts[socket] = Node(name, f"socket {socket}", sort=Sort.HOST, alike=name)
        for below in host.below:
            parts[sockets[below.name]].below.append(below)
        host.below = list(parts.values())


def _add_what_is_behind(rig: _Rig, written: Mapping[str, Any]) -> list[str]:
    """Put drives behind their adapters, and return a line for each network."""
    for name, table in _tables(written, "storage"):
        node = rig.nodes.get(str(table.get("attach", "")))
        if node is None:
            continue
        said = rig.value(name, "count") or "1"
        count = min(int(said), _MOST_DRIVES) if said.isdecimal() else 1
        part = rig.parts.get(name, "")
        for number in range(count):
            drive = f"{name}[{number}]" if count > 1 else name
            below = Node(drive, detail=part, sort=Sort.STORAGE, alike=(name, part))
            below.link = Link(drive, state=State.WIRE)
            node.below.append(below)
    notes = []
    for name, table in _tables(written, "network"):
        ends = table.get("ends")
        if isinstance(ends, list) and ends:
            kind = rig.value(name, "kind") or str(table.get("kind", "network"))
            notes.append(f"{name} ({kind}) joins {' and '.join(map(str, ends))}")
    return notes


def _tables(written: Mapping[str, Any], kind: str) -> list[tuple[str, Mapping[str, Any]]]:
    tables = written.get(kind)
    if not isinstance(tables, dict):
        return []
    return [(name, table) for name, table in tables.items() if isinstance(table, dict)]
