"""What Dell's servers keep in a log of their own, whatever system runs on them: one message for each event.

``A fatal error was detected on a component at bus 59 device 0 function 0.`` (PCI1318) has numbers in decimal,
and no segment, and so has a link that firmware could not train (``Bus:174 Dev:3 F:0``, UEFI0067). Messages
that name a slot in place of a bus (PCI1360) come beside one that has the bus.
Source: Dell, knowledge base article 000225721 (PCI1318, PCI1360); messages PCI1308 and UEFI0067 as users
quote them. Which words there are for errors that were corrected is assumed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.kernel_event import EventKind, KernelEvent
from lanewise.machine.registers import WITHOUT_DETAILS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

_ERROR = (
    r"\b(?P<what>[\w/-]{1,20}(?: [\w/-]{1,20}){0,4}) was detected on a component at bus (?P<bus>\d{1,3}) "
    r"device (?P<device>\d{1,2}) function (?P<function>[0-7])\b"
)
_NO_LINK = (
    r"PCIe link training failure is observed in Bus:(?P<no_bus>\d{1,3}) Dev:(?P<no_device>\d{1,2}) "
    r"F:(?P<no_function>[0-7])\b"
)
LOOKS_LIKE = re.compile(f"{_ERROR}|{_NO_LINK}", re.IGNORECASE)


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all messages in a text."""
    counted: defaultdict[Address, Counter[str]] = defaultdict(Counter)
    failed: dict[Address, str] = {}
    for line in lines:
        for found in LOOKS_LIKE.finditer(line):
            no_link = found["no_bus"] is not None
            names = ("no_bus", "no_device", "no_function") if no_link else ("bus", "device", "function")
            bus, device, function = (int(found[name]) for name in names)
            if bus > 0xFF or device > 0x1F:
                continue
            address = Address(0, bus, device, function)
            if no_link:
                failed.setdefault(address, found[0])
            else:
                prefix = _prefix(found["what"].lower())
                counted[address].update([f"{prefix}.TOTAL", f"{prefix}.{WITHOUT_DETAILS}"])
    for address, counts in sorted(counted.items()):
        into.draft(address).errors |= {"counters": tuple(sorted(counts.items())), "counted_in_log": True}
    for address, line in sorted(failed.items()):
        into.draft(address)
        into.events.append(KernelEvent(EventKind.NO_LINK, line, address))
    if counted or failed:
        into.kinds.append("log of iDRAC")


def _prefix(what: str) -> str:
    """Return how bad an error is; parity and system errors are none that a link repeats."""
    if "non-fatal" in what or "nonfatal" in what:
        return "nonfatal"
    words = re.split(r"[ /-]", what)
    return "correctable" if {"correctable", "corrected"} & set(words) else "fatal"
