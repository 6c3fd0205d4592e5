"""A machine as a tree, like `lspci -tv`, with each link and how it is set up on the line of its device.

A port and the device at the other end of its link share a line. Written without Rich, which alone would take
longer to load than a machine takes to read.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import TYPE_CHECKING

from lanewise.cli.streams import unwrapped, without_controls
from lanewise.machine.model import ENDPOINTS, PORTS_TO_LINKS, Kind, LinkMode
from lanewise.machine.topology import is_behind_own_switch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.machine.model import Function, Link, Machine

_WIDTH_WITHOUT_TERMINAL = 100
_WIDEST = 140
_LINK, _ABLE, _PAYLOAD, _NODE, _DRIVER = 11, 11, 8, 4, 10
_COLUMNS = _LINK + _ABLE + _PAYLOAD + _NODE + _DRIVER + 5 * 2
_STYLES = {"bold": "1", "dim": "2", "yellow": "33", "cyan": "36"}
_OURS = re.compile(r"(\x1b\[(?:0|" + "|".join(_STYLES.values()) + r")m)")
"""What colours lines here."""
_QUIET_KINDS = frozenset(
    {Kind.INTEGRATED_ENDPOINT, Kind.EVENT_COLLECTOR, Kind.HOST_BRIDGE, Kind.CONVENTIONAL}
)
_MOST_PAIRS = 5
"""Pairs of devices that are named for each kind of relation."""
_WIDEST_SLOT_NAME = 30


class _Printer:
    def __init__(self, machine: Machine, *, everything: bool) -> None:
        self.machine = machine
        self.everything = everything
        terminal = sys.stdout.isatty()
        self.colour = terminal and "NO_COLOR" not in os.environ and os.environ.get("TERM") != "dumb"
        given = terminal or "COLUMNS" in os.environ
        width = shutil.get_terminal_size().columns if given else _WIDTH_WITHOUT_TERMINAL
        self.left = max(30, min(width, _WIDEST) - _COLUMNS)
        self.many_domains = len({a.domain for a, f in machine.functions.items() if not f.implied}) > 1
        self.hidden = 0

    def lines(self) -> Iterator[str]:
        """Yield the whole output, line by line."""
        yield from self._heading()
        for bus, functions in self._roots():
            shown = [function for function in functions if self._worth_a_line(function)]
            self.hidden += len(functions) - len(shown)
            if shown:
                yield self._style(bus, "bold")
            for number, function in enumerate(shown):
                yield from self._branch(function, "", last=number == len(shown) - 1)
        yield ""
        yield from self._summary()
        yield from self._slots()
        yield from self._relations()

    def _heading(self) -> Iterator[str]:
        source = ", ".join(self.machine.kinds)
        name = f"{self.machine.hostname}, " if self.machine.hostname else ""
        yield self._style(f"{self.machine.source}", "bold") + f"   {name}{source}"
        yield self._style(
            f"{'':{self.left}}  {'link now':{_LINK}}  {'port/device':{_ABLE}}  {'MPS/MRRS':{_PAYLOAD}}  "
            f"{'node':{_NODE}}  driver".rstrip(),
            "dim",
        )

    def _roots(self) -> list[tuple[str, list[Function]]]:
        """Group what has no parent by root bus."""
        buses: dict[tuple[int, int], list[Function]] = {}
        for function in self.machine.roots:
            address = function.address
            key = (-1, 0) if function.implied else (address.domain, address.bus)
            buses.setdefault(key, []).append(function)
        return [
            (
                "root ports that the file leaves out" if key[0] < 0 else f"[{key[0]:04x}:{key[1]:02x}]",
                functions,
            )
            for key, functions in buses.items()
        ]

    def _worth_a_line(self, function: Function) -> bool:
        """Whether a function on a root bus is shown without --all."""
        if self.everything or function.children or function.registers.express is None:
            return True
        return function.kind not in _QUIET_KINDS or function.is_gpu or function.is_nic

    def _branch(self, function: Function, indent: str, *, last: bool) -> Iterator[str]:
        machine = self.machine
        link = machine.link_below(function)
        mark = "└─ " if last else "├─ "
        below = indent + ("   " if last else "│  ")
        if link is None:
            yield self._line(indent + mark, self._words(function), function, None)
            children = list(machine.children(function))
        else:
            device = link.device
            yield self._line(indent + mark, self._words(device, port=function), device, link)
            others = [child for child in machine.children(function) if child.address != device.address]
            children = [*others, *machine.children(device)]
        for number, child in enumerate(children):
            yield from self._branch(child, below, last=number == len(children) - 1)

    def _address(self, function: Function) -> str:
        if function.implied:
            return "·"
        return str(function.address) if self.many_domains else function.address.short

    def _words(self, function: Function, port: Function | None = None) -> str:
        address = self._address(function)
        words = f"{self._address(port)}→{address}" if port is not None else address
        role = self.machine.role(function)
        name = _short_name(function)
        if port is None and role in PORTS_TO_LINKS:
            slot = function.registers.slot
            where = f", slot {slot.number}" if slot is not None and slot.number else ""
            empty = not function.children and not (function.buses is None and function.link.status.known)
            name = f"(empty {role}{where})" if empty else f"({role}) {name}"
        elif role is Kind.UPSTREAM_PORT:
            name = f"switch {name}"
        return f"{words} {name}"

    def _line(self, prefix: str, words: str, function: Function, link: Link | None) -> str:
        text = prefix + words
        if len(text) > self.left:
            text = text[: self.left - 1] + "…"
        now, able, style = "", "", ""
        if link is not None:
            now, able, style = self._link(link)
        elif _is_told(function) and self.machine.link_above(function) is None:
            able = _brief(function.link.capability) if function.link.capability.known else ""
            able = "inside chip" if is_behind_own_switch(function) else able
            if not function.is_bridge or self.machine.role(function) is Kind.UPSTREAM_PORT:
                now = str(function.link.status)
        transfers = function.transfers
        payload = "" if transfers.mps is None or function.virtual else str(transfers.mps)
        if payload and transfers.mrrs and self.machine.role(function) in ENDPOINTS:
            payload += f"/{transfers.mrrs}"
        node = "" if function.numa_node is None else str(function.numa_node)
        right = f"{payload:{_PAYLOAD}}  {node:>{_NODE}}  {(function.driver or '')[:_DRIVER]}"
        return f"{text:{self.left}}  {self._style(f'{now:{_LINK}}', style)}  {able:{_ABLE}}  {right}".rstrip()

    def _link(self, link: Link) -> tuple[str, str, str]:
        """Return what a link does, what its ends can, and in which colour."""
        bandwidth = link.device.link.bandwidth_gb_s
        if link.now == LinkMode() and bandwidth:
            return f"{bandwidth:.2f} GB/s", "", ""
        upper, lower = link.upper.link.capability, link.device.link.capability
        known = [_brief(mode) for mode in (upper, lower) if mode.gt_s is not None]
        able = "/".join(dict.fromkeys(known))
        now = "unknown" if link.now.gt_s is None and not link.now.width else str(link.now)
        if link.on_die:
            return now, "a tunnel" if link.tunnel else "inside chip", "dim"
        if self.machine.is_idle_gpu(link):
            return now, able, "cyan"
        return now, able, "yellow" if link.below_speed or link.below_width else ""

    def _summary(self) -> Iterator[str]:
        machine = self.machine
        links = [link for link in machine.links if not link.on_die]
        below = [link for link in links if link.below_speed or link.below_width]
        idle = sum(machine.is_idle_gpu(link) for link in below)
        count = sum(not function.implied for function in machine)
        counts = ((count, "function"), (len(links), "link"), (len(machine.switches), "switch"))
        text = ", ".join(_many(number, noun) for number, noun in counts)
        if any(link.limit.gt_s for link in links):
            text += f"; {len(below)} below what both ends can do"
            text += f", {idle} of them idle GPUs" if idle else ""
        yield text
        chipset = machine.chipset
        ports = [port for port in chipset.ports if machine.link_below(port)] if chipset else []
        if chipset is not None and ports:
            where = ", ".join(map(self._address, ports))
            yield f"{chipset.name}: its link to the processor, DMI, {chipset.uplink}, carries {where}"
        if self.hidden:
            yield f"{_many(self.hidden, 'function')} without a link not shown; --all shows them"

    def _slots(self) -> Iterator[str]:
        """Yield the slots of the board, as its firmware describes them."""
        slots = self.machine.slots
        if not slots:
            return
        yield ""
        yield self._style("Slots, as the firmware says", "bold")
        name = min(max(len(slot.name) for slot in slots), _WIDEST_SLOT_NAME)
        kind = max(len(str(slot)) for slot in slots)
        for slot in slots:
            device = self.machine.functions[slot.device] if slot.device else None
            if device is not None:
                inside = f"{self._address(device)} {_short_name(device)}"
            else:
                inside = {True: "in use", False: "free", None: ""}[slot.used]
            line = f"{slot.name[:name]:{name}}  {slot!s:{kind}}  {inside}".rstrip()
            yield line[: self.left + _COLUMNS]

    def _relations(self) -> Iterator[str]:
        relations = self.machine.relations
        if not relations:
            return
        yield ""
        yield self._style("Between devices", "bold")
        by_path: dict[str, list[str]] = {}
        for relation in relations:
            path = f"{relation.path}{relation.links or ''}"
            by_path.setdefault(path, []).append(f"{relation.first}-{relation.second}")
        for path, pairs in by_path.items():
            left_out = len(pairs) - _MOST_PAIRS
            rest = f" and {left_out} more" if left_out > 0 else ""
            yield f"{path:6}{', '.join(pairs[:_MOST_PAIRS])}{rest}"

    def _style(self, text: str, style: str) -> str:
        return f"\x1b[{_STYLES[style]}m{text}\x1b[0m" if style and self.colour else text


def _is_told(function: Function) -> bool:
    """Whether a source tells of the end of a link."""
    return function.link.capability.known or function.link.status.known


def _brief(mode: LinkMode) -> str:
    """Write a mode in few characters: ``16x4`` for 16 GT/s and four lanes."""
    if mode.gt_s is None and mode.width is None:
        return "?"
    speed = "?" if mode.gt_s is None else f"{mode.gt_s:g}"
    return f"{speed}x{'?' if mode.width is None else mode.width}"


def _short_name(function: Function) -> str:
    """Return the device's name, or what is known of it."""
    identity = function.identity
    return identity.device_name or identity.without_name or "unknown device"


def _many(count: int, noun: str) -> str:
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{count} {noun if count == 1 else plural}"


def print_machine(machine: Machine, *, everything: bool) -> None:
    """Print the tree."""
    printer = _Printer(machine, everything=everything)
    if not printer.colour:
        sys.stdout.writelines(f"{line}\n" for line in printer.lines())
        return
    stream = unwrapped(sys.stdout)
    for line in printer.lines():
        # Every second piece is one of ours.
        pieces = [
            piece if number % 2 else without_controls(piece) for number, piece in enumerate(_OURS.split(line))
        ]
        stream.write("".join(pieces) + "\n")
