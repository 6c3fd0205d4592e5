"""The topology of a scanned machine, as lstopo shows it, with the state of every link.

Sockets and NUMA nodes have root ports, switches and devices below them. A root port and the device at the
other end of its link are one box; so are all functions of one device. Functions of root complexes that move
no data are counted in a note, unless they are asked for. Leaves out: what hangs behind an endpoint.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from lanewise.draw.model import Link, Node, Sort, State, Topology
from lanewise.machine.model import ENDPOINTS, OWN_LINKS, PORTS_TO_LINKS, Kind, LinkMode
from lanewise.machine.view import View, is_management

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Sequence

    from lanewise.machine.chipset import Chipset
    from lanewise.machine.model import Function, Machine
    from lanewise.machine.model import Link as MachineLink

_MOST_NOTES = 4
_BRACKETED = re.compile(r".*\[(.{6,})\]$")
"""Names of `pci.ids` have the name of sale in brackets: ``GA100 [A100 SXM4 80GB]``."""


def of_machine(machine: Machine, *, everything: bool = False) -> Topology:
    """Return the topology of a machine; with `everything`, also functions that move no data."""
    drawing = _Drawing(machine, everything=everything)
    tops = drawing.tops()
    source = "this machine" if machine.source in ("", "/sys") else PurePath(machine.source).name
    title = machine.hostname or ("a machine" if machine.source == "-" else source or machine.source)
    return Topology(title, tuple(tops), tuple(drawing.notes()))


class _Drawing:
    def __init__(self, machine: Machine, *, everything: bool) -> None:
        self.machine, self.view, self.everything = machine, View(machine), everything
        self.many_domains = len({a.domain for a, f in machine.functions.items() if not f.implied}) > 1
        self.hidden = 0

    def tops(self) -> list[Node]:
        """Return sockets and nodes, or the machine as a whole, with what is below."""
        if not self.machine.functions:
            return self._named_only()
        sockets = self.machine.sockets
        known = {function.numa_node for function in self.machine} - {None}
        places: dict[tuple[int | None, int | None], list[Node]] = {}
        chipset = self._chipset()
        for function in self.machine.roots:
            branch = self._branch(function)
            if branch is None:
                self.hidden += 1
                continue
            if chipset is not None and function in chipset[0]:
                chipset[1].below.append(branch)
                if len(chipset[1].below) > 1:
                    continue
                branch = chipset[1]
            # Firmware that gives a node to a few devices of a machine with one says nothing with it.
            place = self._place(function) if len(known) > 1 or sockets else None
            socket = sockets.get(place.address) if place else None
            places.setdefault((socket, place.numa_node if place else None), []).append(branch)
        if not places:
            return [Node("host", sort=Sort.HOST)]
        nodes = [
            self._node(socket, node, branches, several=len(places) > 1)
            for (socket, node), branches in sorted(places.items(), key=lambda item: _order(item[0]))
        ]
        in_sockets = {socket for socket, node in places if socket is not None and node is not None}
        if len(nodes) <= len(in_sockets) or not in_sockets:
            return nodes
        return self._sockets(nodes, sorted(places, key=_order))

    def _chipset(self) -> tuple[Chipset, Node] | None:
        """Return the chipset and a box for it, below which its ports belong; None where none is known."""
        chipset = self.machine.chipset
        if chipset is None:
            return None
        uplink = chipset.uplink
        link = Link(
            "dmi", f"DMI {mode_words(uplink)}", uplink.width, why="no register shows it; as its part says"
        )
        address = self._address(chipset.bridge)
        return chipset, Node(address, chipset.name, address, (chipset.bridge.name,), Sort.SWITCH, link=link)

    def _named_only(self) -> list[Node]:
        """Return the devices of which only relations are known, as in `nvidia-smi topo -m` alone."""
        names = [name for each in self.machine.relations for name in (each.first, each.second)]
        below = [
            Node(name, sort=Sort.GPU if name.startswith("GPU") else Sort.NETWORK, alike=name)
            for name in sorted(dict.fromkeys(names))
        ]
        return [Node("host", sort=Sort.HOST, below=below)]

    def _sockets(self, nodes: Sequence[Node], places: Sequence[tuple[int | None, int | None]]) -> list[Node]:
        """Put several nodes of a socket below it."""
        tops: dict[int, Node] = {}
        found = []
        for node, (socket, _) in zip(nodes, places, strict=True):
            if socket is None:
                found.append(node)
                continue
            if socket not in tops:
                name = f"socket {socket}"
                tops[socket] = Node(name, sort=Sort.HOST, alike=name)
                found.append(tops[socket])
            node.detail = node.detail.removeprefix(f"socket {socket}").removeprefix(", ")
            tops[socket].below.append(node)
        return found

    def _place(self, function: Function) -> Function | None:
        """Return the first function of a branch whose NUMA node is known."""
        if function.numa_node is not None:
            return function
        below = self.machine.descendants(function)
        return next((each for each in below if each.numa_node is not None), None)

    def _node(self, socket: int | None, node: int | None, branches: list[Node], *, several: bool) -> Node:
        named = next((each for each in self.machine.numa_nodes if each.index == node), None)
        detail = f"socket {socket}" if socket is not None else ""
        cpus = f"CPUs {named.cpus}" if named is not None and named.cpus else ""
        head = f"NUMA node {node}"
        if node is None:
            head = "NUMA node not known" if several else "host"
        return Node(
            head,
            detail=", ".join(filter(None, (detail, cpus))),
            sort=Sort.HOST,
            alike=(head, socket),
            below=_gathered(branches),
        )

    def _branch(self, function: Function) -> Node | None:
        """Return what is at a root port or on a root bus; None for what is not shown."""
        if self.machine.role(function) in PORTS_TO_LINKS or function.children:
            link = self.machine.link_below(function)
            if link is not None and link.on_die and not self._is_worth_it(link.lower):
                self.hidden += len(function.children)
                return None
            return self._at_port(function)
        if not (self.everything or _moves_data(function)):
            return None
        return self._device((function,), "", None)

    def _is_worth_it(self, functions: Sequence[Function]) -> bool:
        """Whether any function inside a chip moves data, or leads to what is outside."""
        return self.everything or any(function.children or _moves_data(function) for function in functions)

    def _at_port(self, port: Function) -> Node:
        """Return the device at a port, or what is known of a port with nothing below."""
        link = self.machine.link_below(port)
        slot = self._address(port)
        if link is None:
            children = self.machine.children(port)
            if children:
                node = self._device((port,), "", None)
                node.slot = ""
                return node
            return self._free(port)
        node = self._device(link.lower, slot, self._link(link))
        others = [child for child in self.machine.children(port) if child not in link.lower]
        node.below += self._below(others)
        return node

    def _device(self, functions: Sequence[Function], slot: str, link: Link | None) -> Node:
        """Return the box of a device with all its functions, and what is below its bridges."""
        first = functions[0]
        own = [function for function in functions if not function.virtual]
        virtual = len(functions) - len(own)
        words = self._words(first)
        physical = first.physical_slot or self._physical_slot(first)
        details = [self._address(first), *_interfaces(functions), f"slot {physical}" if physical else ""]
        several = [f"{len(own)} functions" if len(own) > 1 else "", f"{virtual} virtual" if virtual else ""]
        about = [first.name, *(f"{self._address(other)} {self._words(other)}" for other in own[1:9])]
        about += [f"driver {first.driver}"] if first.driver else []
        node = Node(
            self._address(first) or words,
            words,
            ", ".join(filter(None, [*details, *several])),
            tuple(dict.fromkeys(about)),
            sort=self._sort(first),
            slot=slot,
            link=link,
        )
        node.alike = (words, first.is_bridge, len(own), virtual, first.driver, bool(physical))
        children = [child for function in functions for child in self.machine.children(function)]
        node.below = self._below([child for child in children if child not in functions])
        return node

    def _words(self, function: Function) -> str:
        """Return what a device is called, as short as it is sold."""
        identity = function.identity
        name = identity.device_name
        if name:
            sold = _BRACKETED.match(name)
            return sold[1] if sold else name
        if known := identity.without_name:
            return known
        is_switch = self.machine.role(function) is Kind.UPSTREAM_PORT
        return "switch" if is_switch else "bridge" if function.is_bridge else "unknown device"

    def _below(self, children: Iterable[Function]) -> list[Node]:
        found = []
        for child in children:
            is_port = self.machine.role(child) in PORTS_TO_LINKS
            found.append(self._at_port(child) if is_port else self._device((child,), "", None))
        return _gathered(found)

    def _free(self, port: Function) -> Node:
        """Return the box of a port with nothing below it."""
        registers = port.registers.slot
        mode = mode_words(port.link.capability)
        number = registers.number if registers is not None else None
        state, head = State.EMPTY, "free"
        if registers is not None and registers.power_off:
            head = "switched off"
        elif port.link.disabled:
            head = "disabled"
        elif registers is not None and registers.presence:
            state, head = State.DOWN, "no link"
        elif port.buses is None and port.link.status.known:
            state, head = State.UNKNOWN, "not shown"
        detail = ", ".join(filter(None, (mode, f"slot {number}" if number else "")))
        node = Node(self._address(port), head, detail, (port.name,), Sort.EMPTY)
        node.alike, node.slot = (head, mode), self._address(port)
        node.link = Link(node.name, mode, port.link.capability.width, state)
        return node

    def _link(self, link: MachineLink) -> Link:
        now, limit = link.now, link.limit
        state, words = self._state(link)
        could = mode_words(limit)
        mode = mode_words(now)
        if not mode and link.device.link.bandwidth_gb_s:
            mode = f"{link.device.link.bandwidth_gb_s:.2f} GB/s"
        ends = (
            [f"port can {mode_words(link.upper.link.capability)}"] if link.upper.link.capability.known else []
        )
        device = link.device.link.capability
        ends += [f"device can {mode_words(device)}"] if device.known else []
        is_less = state in (State.BELOW, State.ASLEEP) and could and could != mode
        return Link(
            link.name,
            mode,
            now.width or None,
            state,
            could if is_less else "",
            "; ".join(filter(None, [words, *ends])),
        )

    def _state(self, link: MachineLink) -> tuple[State, str]:
        """Return how a link is, and what to say of it."""
        machine, device, port = self.machine, link.device, link.upper.link
        inactive = bool(port.data_link_active_reporting) and port.data_link_active is False
        below = [("speed", link.below_speed), ("width", link.below_width)]
        found = (
            (link.on_die, State.INSIDE, "a tunnel" if link.tunnel else "inside a chip"),
            (not machine.measured, State.UNKNOWN, "as the source declares"),
            (self.view.is_switched_off(link), State.ASLEEP, "the device is in D3cold"),
            (machine.is_idle_gpu(link), State.ASLEEP, "idle GPUs lower the speed"),
            (inactive or link.now.width == 0, State.DOWN, "no link"),
            (self.view.is_dead(device), State.DOWN, "the device does not answer"),
            (
                any(is_so for _, is_so in below),
                State.BELOW,
                " and ".join(what for what, is_so in below if is_so),
            ),
            (link.now.known and link.limit.known, State.UP, ""),
        )
        return next(((state, words) for is_so, state, words in found if is_so), (State.UNKNOWN, ""))

    def _sort(self, function: Function) -> Sort:
        if self.machine.role(function) is Kind.UPSTREAM_PORT:
            return Sort.SWITCH
        if is_management(function):
            return Sort.DEVICE
        if function.is_gpu:
            return Sort.GPU
        if function.is_nic:
            return Sort.NETWORK
        return Sort.STORAGE if function.is_storage else Sort.DEVICE

    def _address(self, function: Function) -> str:
        if function.implied:
            return ""
        return str(function.address) if self.many_domains else function.address.short

    def _physical_slot(self, function: Function) -> str | None:
        slot = self.machine.slot_of(function) if self.machine.slots else None
        return slot.name if slot is not None else None

    def notes(self) -> list[str]:
        """Return what the picture does not draw: links between GPUs, free slots, what is hidden."""
        found = []
        pairs: dict[str, list[str]] = {}
        for relation in self.machine.relations:
            if relation.path in OWN_LINKS:
                path = (
                    f"{OWN_LINKS[relation.path]} \N{MULTIPLICATION SIGN}{relation.links}"
                    if relation.links
                    else OWN_LINKS[relation.path]
                )
                pairs.setdefault(path, []).append(f"{relation.first}-{relation.second}")
        for path, between in pairs.items():
            joined = between[0] if len(between) == 1 else f"{len(between)} pairs, such as {between[0]}"
            found.append(f"{path} joins {joined}")
        free = [
            f"{slot.name} ({slot})" for slot in self.machine.slots if slot.used is False and not slot.device
        ]
        if free:
            found.append(f"free slots, as the firmware says: {', '.join(free)}")
        if not self.machine.measured:
            found.append("links as the source declares them, not as they run")
        if self.hidden:
            functions = "function" if self.hidden == 1 else "functions"
            found.append(f"{self.hidden} {functions} without a link not shown; --all shows them")
        return [*found, *self.machine.notes[:_MOST_NOTES]]


def mode_words(mode: LinkMode) -> str:
    """Write a mode as scenarios do, like ``gen4 x16``; what is unknown as ``?``, nothing when all is."""
    if not mode.gt_s and not mode.width:
        return ""
    speed = f"gen{mode.generation}" if mode.generation else f"{mode.gt_s:g} GT/s" if mode.gt_s else "?"
    return f"{speed} x{mode.width or '?'}"


def _gathered(nodes: Iterable[Node]) -> list[Node]:
    """Put devices beside the first that is like them, by their addresses, and what is free at the end."""
    groups: dict[Hashable, list[Node]] = {}
    for node in nodes:
        how = None if node.link is None else (node.link.mode, node.link.state)
        groups.setdefault((node.sort is Sort.EMPTY, node.alike, how), []).append(node)
    ordered = [node for group in groups.values() for node in group]
    return sorted(ordered, key=lambda node: node.sort is Sort.EMPTY)


def _order(place: tuple[int | None, int | None]) -> tuple[float, float]:
    return tuple(float("inf") if number is None else number for number in place)  # type: ignore[return-value]


def _moves_data(function: Function) -> bool:
    """Whether a function on a root bus is shown: GPUs, adapters, drives, accelerators, lone ends of links."""
    shown = function.is_gpu or function.is_nic or function.is_storage or function.is_class(0x12, 0x0B)
    alone = function.kind in ENDPOINTS and function.link.status.known and function.parent is None
    return (shown or alone) and not function.virtual


def _interfaces(functions: Sequence[Function]) -> list[str]:
    return [name for function in functions for name in function.interfaces][:3]
