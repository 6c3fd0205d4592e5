"""Errors that ESXi tells in words of its own: from firmware, and those that a processor blames on a device.

`ApeiHEST` prints the device with its registers, `MCA` the device alone.
Source: Broadcom, knowledge base articles 399748 and 394465 (``vmkernel.log``), read for the wording only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.extended_capabilities import UNCORRECTABLE_BITS
from lanewise.machine.registers import WITHOUT_DETAILS

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Mapping

SIGNS = ("ApeiHEST: ", " reported by PCI ")
"""One of them is in every such line."""
_ADDRESS = r"[0-9a-f]{4}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"
_HANDED_OVER = re.compile(
    rf"ApeiHEST: \d{{1,6}}: Fatal error from ({_ADDRESS})(?:.{{0,160}}?AERUeSts: 0x([0-9a-f]{{1,8}})\b)?"
)
_BLAMED = re.compile(rf"MCA: \d{{1,6}}: UC .{{0,160}}?I/O error reported by PCI ({_ADDRESS})")


def count(line: str, into: Mapping[Address, Counter[str]]) -> bool:
    """Count the error that a line tells, as `registers.Errors.counters`; `into` makes what it lacks."""
    found = _HANDED_OVER.search(line) or _BLAMED.search(line)
    if found is None:
        return False
    status = int(found[2] or "0", 16) if found.re is _HANDED_OVER else 0
    names = [name for bit, name in UNCORRECTABLE_BITS.items() if status >> bit & 1] or [WITHOUT_DETAILS]
    into[Address.parse(found[1])].update(f"fatal.{name}" for name in ("TOTAL", *names))
    return True
