"""Errors that Windows counts: WHEA-Logger's events about PCI Express, one record for each error.

A record is a message (``Component: PCI Express Root Port``, ``Bus:Device:Function: 0x0:0x1d:0x0``) or a list
of fields, of XML or of the view in which fields have a line each; one event may have both. What is told from
words is only whether an error was fatal, so that messages in other languages count as errors that were
corrected. Which error it was stands in the fields alone.

Source: messages of WHEA-Logger that users quote (GitHub, NebuTech/NBMiner issue 170; technologyhead.com, May
2011); WHEA_ERROR_SOURCE_TYPE of Windows' headers. Names of fields, and that XML may have ``Primary`` before
some of them, are from memory of such events: no whole one was at hand.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.extended_capabilities import CORRECTABLE_BITS, UNCORRECTABLE_BITS, bit_names
from lanewise.machine.registers import WITHOUT_DETAILS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

_PLACE = r"0x([0-9a-f]{1,2}):0x([01]?[0-9a-f]):0x([0-7])\b"
_MESSAGE = (
    r"(?:\bComponent: PCI Express\b[^\n|]{0,60}[\s|]{1,80}Error Source: [^\n|]{1,80}|\(PCI Express\))"
    rf"[\s|]{{1,80}}[^\s|][^\n|]{{0,60}}?: ?(?P<place>{_PLACE})"
)
"""How it names a device, also on one line with bars between; firmware has ``Generic`` as the source."""
_FIELD = r"(?:\b|\")%s[\"']?(?:>|[ \t:]+)[ \t]{0,4}"
LOOKS_LIKE = re.compile(
    rf"{_MESSAGE}|" + _FIELD % r"(?:Primary)?Device" + r"0x[01]?[0-9a-f]\b",
    re.IGNORECASE,
)
_STEP = re.compile(
    r"\b(?P<how>corrected|fatal|uncorrected) hardware error\b"
    r"|(?:<Level>|\bLevel:? {1,20})(?P<level>[1-4]\b|Critical|Error|Warning|Information)"
    rf"|{_MESSAGE}"
    r"|\bVEN_(?P<vendor>[0-9A-F]{4})&(?:amp;)?DEV_(?P<device>[0-9A-F]{4})"
    r"|: ?0x(?P<vendor_id>[0-9a-f]{4}):0x(?P<device_id>[0-9a-f]{4})\b"
    rf"|{_FIELD % 'ErrorSource'}(?P<source>\d{{1,2}})\b"
    r"|" + _FIELD % r"(?P<field>(?:Primary)?(?:Bus|Device|Function)|VendorID|DeviceID|"
    r"(?:Unc|C)orrectableErrorStatus|Segment)" + r"(?P<value>0x[0-9a-f]{1,8})\b",
    re.IGNORECASE,
)
_FATAL = {"1", "2", "critical", "error", "fatal", "uncorrected"}
_PCI_EXPRESS = "4"
"""Of WHEA_ERROR_SOURCE_TYPE."""


class _Events:
    """Counts records as they come."""

    def __init__(self) -> None:
        self.messages: defaultdict[Address, Counter[str]] = defaultdict(Counter)
        self.fields: defaultdict[Address, Counter[str]] = defaultdict(Counter)
        """The same errors, perhaps: an event that is quoted whole has its message and its fields."""
        self.identities: dict[Address, tuple[int, int]] = {}
        self._prefix = "correctable"
        self._last: Address | None = None
        self._open: dict[str, int] | None = None

    def take(self, step: re.Match[str]) -> None:
        """Take the next thing that is said."""
        if said := step["how"] or step["level"]:
            self.close()
            self._prefix = "fatal" if said.lower() in _FATAL else "correctable"
        elif step["place"]:
            self.close()
            bus, device, function = (int(part, 16) for part in step["place"].split(":"))
            self._last = Address(0, bus, device, function)
            self.messages[self._last].update([f"{self._prefix}.TOTAL", f"{self._prefix}.{WITHOUT_DETAILS}"])
        elif step["source"]:
            self.close()
            self._open = {} if step["source"] == _PCI_EXPRESS else None
        elif step["field"]:
            if self._open is not None:
                self._open[step["field"].lower().removeprefix("primary")] = int(step["value"], 16)
        elif self._last is not None:
            numbers = (step["vendor"] or step["vendor_id"], step["device"] or step["device_id"])
            self.identities.setdefault(self._last, (int(numbers[0], 16), int(numbers[1], 16)))

    def close(self) -> None:
        """Count the record whose fields were read."""
        said, self._open = self._open, None
        if said is None or not {"bus", "device", "function"} <= said.keys():
            return
        if said["bus"] > 0xFF or said["device"] > 0x1F or said["function"] > 7:
            return
        address = Address(said.get("segment", 0) & 0xFFFF, said["bus"], said["device"], said["function"])
        fatal = self._prefix == "fatal"
        bits = said.get("uncorrectableerrorstatus" if fatal else "correctableerrorstatus", 0)
        names = bit_names(bits, UNCORRECTABLE_BITS if fatal else CORRECTABLE_BITS) or {WITHOUT_DETAILS}
        self.fields[address].update(f"{self._prefix}.{name}" for name in ("TOTAL", *names))
        if "vendorid" in said and "deviceid" in said:
            self.identities.setdefault(address, (said["vendorid"], said["deviceid"]))


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all records in a text."""
    events = _Events()
    for step in _STEP.finditer("\n".join(lines)):
        events.take(step)
    events.close()
    for address in sorted({*events.messages, *events.fields}):
        message, fields = events.messages[address], events.fields[address]
        more = message if sum(message.values()) > sum(fields.values()) else fields
        draft = into.draft(address)
        draft.errors |= {"counters": tuple(sorted(more.items())), "counted_in_log": True}
        if (numbers := events.identities.get(address)) is not None and 0xFFFF not in numbers:
            draft.identity |= {"vendor_id": numbers[0], "device_id": numbers[1]}
    if events.messages or events.fields:
        into.kinds.append("events of Windows")
