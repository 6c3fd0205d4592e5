"""`lspci -t` and `-tv`, a tree drawn with characters; and ``ls -l /sys/bus/pci/devices``.

In the drawing a column is a level: what stands right of a function is below it. ``[0000:3b]`` opens a root
bus, ``[3c-3e]`` behind a function is its secondary and subordinate bus, and a line that begins with a blank
goes on with the bus of the column it starts in. Names tell neither kinds nor links, so none are stated.
Source: pciutils, ``ls-tree.c``, read for the format only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.draft import Draft
from lanewise.machine.model import Buses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

_ROOT = re.compile(r"[-+|\\ ]*-\[(?:([0-9a-f]{4,8}):)?([0-9a-f]{2})(?:-[0-9a-f]{2})?\]")
_FUNCTION = re.compile(r"[-\\]*+(\+?)-*+([0-9a-f]{2})\.([0-7])")
"""A function behind a line; a plus is where more lines start."""
_BUSES = re.compile(r"-\[([0-9a-f]{2})(?:-([0-9a-f]{2}))?\]")
_IDS = re.compile(r"\[([0-9a-f]{4}):([0-9a-f]{4})\]$")
_MEMBER = re.compile(r"([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) -> ((?:[^\s/]*/)*)(\S+)")
_MOST_COLUMNS = 600

LOOKS_LIKE_TREE = re.compile(
    r"^[ \t>]*[-+\\][-+]*\[(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}(?:-[0-9a-f]{2})?\][-+]", re.MULTILINE
)
"""The first line of a tree."""
LOOKS_LIKE_LINKS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] -> \S*/devices/", re.MULTILINE)
"""A line of ``ls -l``."""


def read(lines: Sequence[str], into: Reading, *, alone: bool = True) -> None:
    """Read all trees in a text; where they do not stand alone, other lines are somebody else's."""
    levels: list[tuple[int, int, int, Address | None]] = []
    reading = False
    for number, full_line in enumerate(lines, start=1):
        line = full_line.rstrip()[:_MOST_COLUMNS].expandtabs()
        root = _ROOT.match(line)
        if root is not None:
            reading = True
            # A tree starts anew; its columns say which lines belong to it.
            levels = [(_column(line, root.end()), int(root[1] or "0", 16), int(root[2], 16), None)]
            _line(line, root.end(), levels, into)
        elif reading and line.lstrip(" |").startswith(("+-", "\\-")):
            start = len(line) - len(line.lstrip(" |"))
            left: list[tuple[int, int, int, Address | None]] = []
            while len(levels) > 1 and levels[-1][0] > start:
                left.append(levels.pop())
            above = levels[-1][0]
            if left and above < start and line[above] == "|":
                # A web page took blanks away: the bus above goes on behind its bar, and this one is below it.
                levels.append(left.pop())
            _line(line, start, levels, into)
        elif line.strip() and reading and alone:
            into.not_understood(number, line)
    into.shows_tree = True
    into.kinds.append("lspci tree")


def _line(line: str, start: int, levels: list[tuple[int, int, int, Address | None]], into: Reading) -> None:
    """Read the functions that follow each other on a line, each below the one before."""
    at = start
    while True:
        match = _FUNCTION.match(line, at)
        if match is None:
            return
        _, domain, bus, parent = levels[-1]
        draft = Draft(Address(domain, bus, int(match[2], 16) & 31, int(match[3])))
        draft.parent = parent
        into.add(draft)
        buses = _BUSES.match(line, match.end())
        if buses is None:
            _name(line[match.end() :].strip(), draft)
            return
        secondary, subordinate = int(buses[1], 16), int(buses[2] or buses[1], 16)
        draft.buses = Buses(bus, secondary, subordinate)
        at = buses.end()
        levels.append((_column(line, at), domain, secondary, draft.address))


def _column(line: str, at: int) -> int:
    """Return the column in which further lines of a bus start: that of the plus, if there is one."""
    match = _FUNCTION.match(line, at)
    return match.start(1) if match else at


def _name(text: str, draft: Draft) -> None:
    ids = _IDS.search(text)
    if ids is not None:
        draft.identity["vendor_id"], draft.identity["device_id"] = int(ids[1], 16), int(ids[2], 16)
        text = text[: ids.start()].strip()
    if text:
        draft.identity["device_name"] = text


def read_links(lines: Sequence[str], into: Reading) -> None:
    """Read ``0000:18:00.0 -> ../../../devices/pci0000:17/0000:17:00.0/0000:18:00.0``."""
    for number, line in enumerate(lines, start=1):
        match = _MEMBER.search(line)
        if match is None:
            if line.strip() and not line.startswith(("total ", "d")):
                into.not_understood(number, line)
            continue
        path = [part for part in match[2].split("/") if _is_address(part)]
        draft = Draft(Address.parse(match[1]))
        draft.parent = Address.parse(path[-1]) if path else None
        into.add(draft)
    into.shows_tree = True
    into.kinds.append("list of /sys/bus/pci/devices")


def _is_address(text: str) -> bool:
    try:
        Address.parse(text)
    except ValueError:
        return False
    return True
