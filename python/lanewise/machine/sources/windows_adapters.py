"""`Get-NetAdapterHardwareInfo` of Windows: network adapters by address, and how their links run.

Numbers are decimal and end where their headings do; the name begins the row, and cells may be empty. What the
links could do stands nowhere. Source: outputs in public texts.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.registers import LinkMode
from lanewise.machine.sources.numbers import line_rate, natural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

LOOKS_LIKE = re.compile(
    r"^[ \t>#]{0,8}Name {1,80}Segment Bus Device Function Slot NumaNode PcieLinkSpeed PcieLinkWidth",
    re.MULTILINE,
)
_PLACE = ("Segment", "Bus", "Device", "Function")
_WORD = re.compile(r"\S+")
_SPEED = re.compile(r"([\d.]{1,4}) GT/s$")
_NETWORK = 0x020000
_MOST = (0xFFFF, 0xFF, 0x1F, 7)


def read(lines: Sequence[str], into: Reading) -> set[int]:
    """Read all rows of such tables; return the indices of lines that were read."""
    ends: dict[str, int] = {}
    taken: set[int] = set()
    rows = 0
    for number, line in enumerate(lines):
        if LOOKS_LIKE.match(line):
            ends = {word[0]: word.end() for word in _WORD.finditer(line)}
        elif ends and line.lstrip(" \t>#").startswith("---"):
            pass
        elif ends and _row(line, ends, into):
            rows += 1
        else:
            ends = {}
            continue
        taken.add(number)
    if not rows:
        return set()
    into.kinds.append("Get-NetAdapterHardwareInfo")
    return taken


def _row(line: str, ends: dict[str, int], into: Reading) -> bool:
    """Take a row; False for a line that is none."""
    names = list(ends)
    cells = {name: line[ends[before] : ends[name]].strip() for before, name in pairwise(names)}
    segment = re.fullmatch(r"(.*\S) +(\d{1,5})", line[: ends["Segment"]])
    if segment is None:
        return False
    place = [natural(value) for value in (segment[2], *(cells[name] for name in _PLACE[1:]))]
    if any(n is None or n > most for n, most in zip(place, _MOST, strict=True)):
        return False
    draft = into.draft(Address(*(n for n in place if n is not None)))
    draft.identity["class_code"] = _NETWORK
    draft.add_interface(segment[1].strip(" \t>#"))
    draft.function["numa_node"] = natural(cells["NumaNode"])
    draft.function["physical_slot"] = cells["Slot"] or None
    speed, width = _SPEED.match(cells["PcieLinkSpeed"]), natural(cells["PcieLinkWidth"])
    if speed is not None and width:
        draft.link["status"] = LinkMode(line_rate(speed[1]), width)
        draft.registers["express"] = True
    return True
