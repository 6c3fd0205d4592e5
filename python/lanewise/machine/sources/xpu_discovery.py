"""`xpu-smi discovery`: Intel's GPUs, with what their links can do; how they run it does not say.

A table with a row for each statement, or a list of them: name, address, generation and lanes at most, both -1
where the tool could not read them. Source: Intel XPU Manager 1.2, "Discover the devices in this machine", and
outputs of real machines.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Kind
from lanewise.machine.registers import SPEEDS_GT_S, LinkMode
from lanewise.machine.sources.numbers import natural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

_FIRST = r"\|(?: ++(\d++) ++|  ++)\|"
"""A column with a number or nothing. Repetitions give nothing back: else many blanks cost their square."""
LOOKS_LIKE = re.compile(
    rf"^{_FIRST} PCI BDF Address: [0-9a-f]{{4}}:[0-9a-f]{{2}}:[01][0-9a-f]\.[0-7]", re.MULTILINE
)
_ROW = re.compile(rf"{_FIRST} ([A-Z][\w ]{{2,40}}): (.*)$")
_INTEL, _DISPLAY = 0x8086, 0x038000
_DEVICE = re.compile(r"0x([0-9a-f]{4})$")


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all tables in a text."""
    said: dict[str, str] = {}
    for line in lines:
        row = _ROW.match(line.strip())
        if row is not None and row[1]:
            # A number in the first column begins a GPU; rows may be empty.
            _take(said, into)
            said = {}
        if row is not None:
            said[row[2]] = row[3].removesuffix("|").rstrip(" ")
    _take(said, into)
    into.kinds.append("xpu-smi discovery")


def _take(said: dict[str, str], into: Reading) -> None:
    """Make the draft of one GPU."""
    try:
        draft = into.draft(Address.parse(said.get("PCI BDF Address", "")))
    except ValueError:
        return
    draft.kind = Kind.ENDPOINT
    draft.identity |= {"class_code": _DISPLAY, "vendor_id": _INTEL}
    if (device := _DEVICE.match(said.get("PCI Device ID", ""))) is not None:
        draft.identity["device_id"] = int(device[1], 16)
    if name := said.get("Device Name"):
        draft.identity["device_name"] = name
    draft.registers["express"] = True
    number, width = natural(said.get("PCIe Generation")), natural(said.get("PCIe Max Link Width"))
    speed = SPEEDS_GT_S[number - 1] if number and number <= len(SPEEDS_GT_S) else None
    if speed or width:
        draft.link["capability"] = LinkMode(speed, width or None)
