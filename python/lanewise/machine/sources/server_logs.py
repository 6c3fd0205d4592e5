"""What servers keep in a log of their own, whatever system runs on them: one message for each event.

Dell's iDRAC: ``A fatal error was detected on a component at bus 59 device 0 function 0.`` (PCI1318) has its
numbers in decimal, and no segment, and so has a link that firmware could not train (``Bus:174 Dev:3 F:0``,
UEFI0067). Messages that name a slot in place of a bus (PCI1360) come beside one that has the bus. HPE's iLO:
``(Segment 0x0, Bus 0x61, Device 0x0, Function 0x0)``, with the register that says which errors it were.
Supermicro's event log: ``PCI PERR @Bus85 (DevFn00)``, in hexadecimal. What `ipmitool sel elist` makes of the
records of Dell's servers: ``PCI SERR |PCI bus:3b device:00 function:0``, bus and device in hexadecimal, too;
records that name a slot name no device. ``PCIe Error`` says nothing of how bad it was: not fatal, assumed.

All others have their words and their place in one record: ``Bus: 0xE1 Dev: 0x0 Func: 0x0``, ``B5d/D03/F02``,
``PCI Bus number : 0`` in the lines of a table's cell. Which record tells of PCI Express is told by its words,
how bad it was, too; numbers without ``0x`` are hexadecimal where they are filled up to two digits, and
decimal where they are not (assumed). A record that an error has ended (``Deasserted``) counts nothing.
Source: ipmitool 1.8.19, ``lib/ipmi_sel.c`` (`get_dell_evt_desc`), read for the wording only; Dell, knowledge
base article 000225721 (PCI1318, PCI1360); messages PCI1308 and UEFI0067, and those of HPE and Supermicro, as
users quote them. Which words there are for errors that were corrected is assumed.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.extended_capabilities import UNCORRECTABLE_BITS, bit_names
from lanewise.machine.kernel_event import EventKind, KernelEvent
from lanewise.machine.registers import WITHOUT_DETAILS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.machine.assembly import Reading

_ERROR = (
    r"\b(?P<what>[\w/-]{1,20}(?: [\w/-]{1,20}){0,4}) was detected on a component at bus (?P<bus>\d{1,3}) "
    r"device (?P<device>\d{1,2}) function (?P<function>[0-7])\b"
)
_NO_LINK = (
    r"PCIe link training failure is observed in Bus:(?P<no_bus>\d{1,3}) Dev:(?P<no_device>\d{1,2}) "
    r"F:(?P<no_function>[0-7])\b"
)
_ILO = (
    r"\bUncorrectable PCI Express Error\b.{0,80}?\(Segment 0x(?P<ilo_segment>[0-9a-f]{1,4}), "
    r"Bus 0x(?P<ilo_bus>[0-9a-f]{1,2}), Device 0x(?P<ilo_device>[01]?[0-9a-f]), "
    r"Function 0x(?P<ilo_function>[0-7])\)"
    r"(?:.{0,8}Uncorrectable Error Status: 0x(?P<status>[0-9a-f]{1,8})\b)?"
)
_SUPERMICRO = (
    r"\b(?P<event>PCI [PS]ERR|Bus (?:Correctable|Uncorrectable|Fatal) Error) ?@ ?"
    r"Bus ?(?P<event_bus>[0-9a-f]{2}) ?\(DevFn ?(?P<event_place>[0-9a-f]{2})\)"
)
_IPMITOOL = (
    r"\b(?P<record>PCIe Error|I/O Error|PCI [PS]ERR) ?\| ?PCI bus:(?P<record_bus>[0-9a-f]{2}) "
    r"device:(?P<record_device>[01][0-9a-f]) function:(?P<record_function>[0-7])\b"
)
_MESSAGES = re.compile(f"{_ERROR}|{_NO_LINK}|{_ILO}|{_SUPERMICRO}|{_IPMITOOL}", re.IGNORECASE)
_NUMBER = r"(?: ?number| ?num| ?no)?[ .:#=]{0,4}(?:0x)?"
_PLACE = re.compile(
    rf"\bBus{_NUMBER}(?P<at_bus>[0-9a-f]{{1,3}})\b[ ,;/|()-]{{0,6}}(?:PCI )?Dev(?:ice)?{_NUMBER}"
    rf"(?P<at_device>[0-9a-f]{{1,2}})\b[ ,;/|()-]{{0,6}}(?:PCI )?Fu?n?c?(?:tion)?{_NUMBER}"
    r"(?P<at_function>0?[0-7])\b"
    r"|\bB(?P<short_bus>[0-9a-f]{2})/D(?P<short_device>[0-9a-f]{2})/F(?P<short_function>0?[0-7])\b",
    re.IGNORECASE,
)
"""Where it was, in a record of any other maker."""
_SAID = re.compile(
    r"\bPCI ?-?(?:E|Express)?\b.{0,40}?(?:[SP]ERR\b|\berr)|\bBus (?:Fatal|(?:un-?)?correct\w{2,4})\b"
    r"|\b(?:fatal|correct\w{2,4}|uncorrect\w{2,4})\b.{0,20}\bPCI ?-?(?:E|Express)?\b.{0,20}\berr",
    re.IGNORECASE,
)
"""Words of an error of PCI Express."""
_OTHER = re.compile(r"\bde-?assert|\b(?:ECC|DIMM|memory)\b", re.IGNORECASE)
"""What has ended, and errors of memory, whose controllers have places, too."""
_NONE = re.compile(r"\b(?:no|not|without|zero|0)\b[\w ]{0,20}$", re.IGNORECASE)
_ZERO = re.compile(r"\w{0,4}(?: count)?[ :=]{1,4}0\b", re.IGNORECASE)
"""A record that says that there were no errors."""
_SEGMENT = re.compile(r"\bSeg(?:ment)?(?: ?number)?[ :#=]{0,4}(?:0x)?([0-9a-f]{1,4})\b", re.IGNORECASE)
_NAMED = re.compile(
    r"Vendor ID\b.{0,24}?\b(?:0x)?([0-9a-f]{4})\b.{0,20}Device ID\b.{0,16}?\b(?:0x)?([0-9a-f]{4})\b",
    re.IGNORECASE,
)
_NOT_FATAL = re.compile(r"\bnon-? ?fatal|PERR\b", re.IGNORECASE)
_HOW_BAD = re.compile(r"\b(?:un-?correct|correct|fatal)|SERR\b", re.IGNORECASE)
_BEFORE, _BEHIND, _CLOSE = 240, 160, 30
"""Characters around a place in which its record says what happened, and around those words."""
LOOKS_LIKE = re.compile(
    rf"{_MESSAGES.pattern}|{_PLACE.pattern}|\bPCI Bus number ?: ?\d{{1,3}}[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all messages in a text."""
    counted: defaultdict[Address, Counter[str]] = defaultdict(Counter)
    failed: dict[Address, str] = {}
    for line in _records(lines):
        for found in _MESSAGES.finditer(line):
            address = _address(found)
            if address is None:
                continue
            if found["no_bus"] is not None:
                failed.setdefault(address, found[0])
            elif found["ilo_bus"] is not None:
                names = bit_names(int(found["status"] or "0", 16), UNCORRECTABLE_BITS) or {WITHOUT_DETAILS}
                counted[address].update(f"fatal.{name}" for name in ("TOTAL", *names))
            else:
                prefix = _prefix((found["what"] or found["event"] or found["record"]).lower())
                counted[address].update([f"{prefix}.TOTAL", f"{prefix}.{WITHOUT_DETAILS}"])
        if _MESSAGES.search(line) is None:
            _count_places(line, counted, into)
    for address, counts in sorted(counted.items()):
        into.draft(address).errors |= {"counters": tuple(sorted(counts.items())), "counted_in_log": True}
    for address, line in sorted(failed.items()):
        into.draft(address)
        into.events.append(KernelEvent(EventKind.NO_LINK, line, address))
    if counted or failed:
        into.kinds.append("log of a server")


def _records(lines: Sequence[str]) -> Iterator[str]:
    """Yield lines; rows of a table whose first cell is empty go on with the row before."""
    record = ""
    for line in lines:
        cells = line.strip(" \t>").removeprefix("|").split("|")
        if len(cells) > 2 and not cells[0].strip() and record:
            record += " " + " ".join(cell.strip() for cell in cells if cell.strip())
        else:
            if record:
                yield record
            record = line
    if record:
        yield record


def _count_places(record: str, counted: dict[Address, Counter[str]], into: Reading) -> None:
    """Count the errors of a record by where they were: one, or many where a log is one line of JSON."""
    last = 0
    for found in _PLACE.finditer(record):
        before = record[max(last, found.start() - _BEFORE) : found.start()].replace("_", " ")
        behind = record[found.end() : found.end() + _BEHIND].replace("_", " ")
        last = found.end()
        around = before if _SAID.search(before) else f"{before} {behind}"
        said, address = _SAID.search(around), _placed(found)
        if said is None or address is None or _OTHER.search(f"{before} {behind[:_CLOSE]}"):
            continue
        if _NONE.search(around[max(said.start() - _CLOSE, 0) : said.start()]) or _ZERO.match(
            around[said.end() :]
        ):
            continue
        if (segment := _SEGMENT.search(before)) is not None:
            address = address._replace(domain=int(segment[1], 16))
        prefix = _severity(around[max(said.start() - _CLOSE, 0) :])
        counted[address].update([f"{prefix}.TOTAL", f"{prefix}.{WITHOUT_DETAILS}"])
        if (named := _NAMED.search(behind)) is not None:
            identity = into.draft(address).identity
            identity["vendor_id"], identity["device_id"] = int(named[1], 16), int(named[2], 16)


def _severity(what: str) -> str:
    """Return how bad an error is by its words; of one without any it is not fatal, assumed."""
    if _NOT_FATAL.search(what):
        return "nonfatal"
    how = _HOW_BAD.search(what)
    if how is None:
        return "nonfatal"
    return "correctable" if how[0].lower().startswith("corr") else "fatal"


def _placed(found: re.Match[str]) -> Address | None:
    """Return the device at a place; None where there can be none of these numbers."""
    if found["short_bus"] is not None:
        numbers = [int(found[f"short_{part}"], 16) for part in ("bus", "device", "function")]
    else:
        parts = [found[f"at_{part}"] for part in ("bus", "device", "function")]
        padded = any(len(part) == 2 and part[0] == "0" for part in parts)
        base = (
            16 if padded or "0x" in found[0].lower() or re.search("[a-f]", "".join(parts[:2]).lower()) else 10
        )
        numbers = [int(part, base) for part in parts]
    bus, device, function = numbers
    return Address(0, bus, device, function) if bus <= 0xFF and device <= 0x1F and function < 8 else None


def _address(found: re.Match[str]) -> Address | None:
    """Return the device that a message names; None where there can be none of these numbers."""
    if found["ilo_bus"] is not None:
        numbers = (found[f"ilo_{part}"] for part in ("segment", "bus", "device", "function"))
        return Address(*(int(number, 16) for number in numbers))
    if found["record"] is not None:
        numbers = (found[f"record_{part}"] for part in ("bus", "device", "function"))
        return Address(0, *(int(number, 16) for number in numbers))
    if found["event"] is not None:
        place = int(found["event_place"], 16)
        return Address(0, int(found["event_bus"], 16), place >> 3, place & 7)
    before = "no_" if found["no_bus"] is not None else ""
    bus, device, function = (int(found[before + part]) for part in ("bus", "device", "function"))
    return Address(0, bus, device, function) if bus <= 0xFF and device <= 0x1F else None


def _prefix(what: str) -> str:
    """Return how bad an error is; parity and system errors are none that a link repeats.

    PERR is the parity error of one transfer, SERR an error of the system (PCI Local Bus 3.0, 3.7).
    """
    if "non-fatal" in what or "nonfatal" in what or "perr" in what or what == "pcie error":
        return "nonfatal"
    words = re.split(r"[ /-]", what)
    return "correctable" if {"correctable", "corrected"} & set(words) else "fatal"
