"""One function's block of text: cuts it into capabilities and records, and hands each to its reader.

A line is ``Key: what it says``; some go on over the next lines, which have no key of their own. Indentation
is not relied upon, because copying spoils it. Capabilities that `registers` leaves out are passed over; in
the others, lines with an unknown key are counted as not understood.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from lanewise.machine.model import Kind
from lanewise.machine.sources.lspci_text import express, extended, header
from lanewise.machine.sources.lspci_text.flags import has_flags
from lanewise.machine.sources.lspci_text.ignored import IGNORED

if TYPE_CHECKING:
    from collections.abc import Callable

    from lanewise.machine.assembly import Reading
    from lanewise.machine.draft import Draft

_CAPABILITY = re.compile(r"\[([0-9a-f]{2,3})(?: v\d+)?\] (.*)")
_DVSEC = re.compile(r"Vendor=1e98 ID=([0-9a-f]{4})")
_MOST_CAPABILITIES = 1024
"""That fit into the 4096 bytes of a configuration space, at 4 bytes each."""
_MARGIN = " \t>|"
"""What stands before a line: its indentation, and marks of quotes and tables."""
_NEWER, _OLDER = "+\t", ("-\t", "- ")
"""What stands before lines that `diff` found to be of one side alone, where others have a blank."""
_DEAD_HEADER = "!!! Unknown header type 7f"
"""Of a function whose configuration space reads as all ones."""
_ALL_ONES = 0xFF
"""A revision that no device has."""
_REGIONS = ("Expansion ROM at", "Memory at", "I/O ports at", "[virtual]")

RECORDS: dict[str, Callable[[Draft, str], None]] = {**header.RECORDS, **express.RECORDS, **extended.RECORDS}
"""What reads a record, by its key; ``Control`` and such inside a capability go by its first word too."""

_OF_MANY = ("Control", "Status", "Flags")
"""Keys of the header that capabilities have, too."""

FAMILIES = {"Region": header.region, "BAR": extended.resizable_bar}
"""Keys with a number behind."""

# Longest first: "Root Complex ..." before "Root Port", "Legacy Endpoint" before "Endpoint".
_KINDS = (
    ("Root Complex Integrated Endpoint", Kind.INTEGRATED_ENDPOINT),
    ("Root Complex Event Collector", Kind.EVENT_COLLECTOR),
    ("PCI-Express to PCI/PCI-X Bridge", Kind.PCIE_TO_PCI_BRIDGE),
    ("PCI/PCI-X to PCI-Express Bridge", Kind.PCI_TO_PCIE_BRIDGE),
    ("Legacy Endpoint", Kind.LEGACY_ENDPOINT),
    ("Root Port", Kind.ROOT_PORT),
    ("Upstream Port", Kind.UPSTREAM_PORT),
    ("Downstream Port", Kind.DOWNSTREAM_PORT),
    ("Endpoint", Kind.ENDPOINT),
)

_READ_CAPABILITIES = (
    "Express",
    "Power Management",
    "Advanced Error Reporting",
    "Access Control Services",
    "Alternative Routing-ID",
    "Single Root I/O Virtualization",
    "Secondary PCI Express",
    "Downstream Port Containment",
    "L1 PM Substates",
    "Physical Resizable BAR",
    "Virtual Resizable BAR",
    "Resizable BAR",
    "Physical Layer",
    "Device 3",
    "Designated Vendor-Specific",
)


_A_CAPABILITY, _IGNORED = "[", "-"
_BRIDGES = 0x06


@lru_cache(maxsize=4096)
def _known(line: str) -> tuple[str | None, str]:
    """Return the key of a line, or what it is in place of one, and what its reader reads; None for others.

    Lines come again and again: one in ten of a dump is no copy of another.
    """
    stripped = line.removeprefix(_NEWER).lstrip(_MARGIN).rstrip()
    key, colon, rest = stripped.partition(":")
    if not colon:
        return None, ""
    if key in RECORDS:
        return key, stripped
    if rest.startswith(" <access denied>") or _CAPABILITY.match(rest.strip()):
        return _A_CAPABILITY, rest.strip()
    if (family := key.split(" ", 1)[0]) in FAMILIES:
        return family, stripped
    return (_IGNORED if key.split(" [", 1)[0] in IGNORED else None), ""


class BlockReader:
    """Reads the words about one function, line by line."""

    __slots__ = ("capability", "denied", "draft", "passing_over", "pieces", "record", "seen_body")

    def __init__(self, draft: Draft) -> None:
        """Start before the first line."""
        self.draft = draft
        self.capability = ""
        """The capability whose lines come."""
        self.passing_over = False
        """Whether that one is left out of the model."""
        self.record: Callable[[Draft, str], None] | None = None
        """What reads the record that has begun."""
        self.pieces: list[str] = []
        """What that record says, line by line."""
        self.denied = False
        self.seen_body = False

    def take_key(self, line: str) -> bool:
        """Take a line if it begins with a key that is known, as most do."""
        key, text = _known(line)
        if key is None:
            return False
        if key == _A_CAPABILITY:
            self._start_capability(text)
        elif key == _IGNORED:
            self._start_record(_ignore, "")
        else:
            self._start_record(self._reader(key), text)
        return True

    def take(self, line: str, number: int, reading: Reading) -> bool:
        """Take a line without one; whether it was understood."""
        stripped = line.lstrip(_MARGIN).rstrip()
        if not self.capability and stripped.startswith(_REGIONS):
            self._start_record(header.region, stripped)
        elif stripped == _DEAD_HEADER:
            self.draft.registers["no_answer"] = (*self.draft.registers.get("no_answer", ()), stripped)
        elif self.passing_over or (line.startswith(_OLDER) and _looks_like_key(line[1:].strip())):
            pass
        elif self.record and (line[:1] in " \t" or has_flags(stripped)) and not _looks_like_key(stripped):
            if self.record is not header.kernel:
                self.pieces.append(stripped)
        elif stripped.startswith("<"):
            # What `lspci` says about registers that it finds wrong or cannot read.
            pass
        else:
            reading.not_understood(number, line)
            return False
        return True

    def _reader(self, key: str) -> Callable[[Draft, str], None]:
        """Return what reads a record, of the header or of the capability that it stands in."""
        if key in _OF_MANY:
            self.seen_body = True
            if self.capability:
                return RECORDS.get(f"{self.capability.split(' ', 1)[0]} {key}", _ignore)
        elif key == "Region" and self.capability:
            return _ignore
        return RECORDS.get(key) or FAMILIES[key]

    def _start_record(self, reader: Callable[[Draft, str], None], text: str) -> None:
        self.finish_record()
        self.record, self.pieces = reader, [text]

    def _start_capability(self, rest: str) -> None:
        self.finish_record()
        self.seen_body = True
        if rest.startswith("<access denied>"):
            self.denied = True
            return
        match = _CAPABILITY.match(rest)
        self.capability = match[2] if match else "?"
        self.passing_over = not self.capability.startswith(_READ_CAPABILITIES)
        _capability(self.draft, self.capability)

    def finish_record(self) -> None:
        """Hand a complete record to its reader."""
        if self.record is not None:
            self.record(self.draft, " ".join(self.pieces))
            self.record = None

    def finish(self) -> None:
        """End the block: settle what only the whole of it tells."""
        self.finish_record()
        draft = self.draft
        if draft.kind in (Kind.INTEGRATED_ENDPOINT, Kind.EVENT_COLLECTOR):
            # Old versions print reserved link registers.
            draft.link = {}
        if draft.link:
            # What `grep` left of a function may have its link and not the capability around it.
            draft.registers.setdefault("express", True)
            if draft.kind is None and _is_no_bridge(draft):
                draft.kind = Kind.ENDPOINT
        if draft.identity.get("revision") == _ALL_ONES and not draft.registers.keys() - {"no_answer"}:
            draft.registers["no_answer"] = ("(rev ff)", *draft.registers.get("no_answer", ()))
        if draft.registers.get("no_answer"):
            # What else is printed comes from the kernel: a driver, and behind it the modules that fit.
            draft.function.setdefault("driver_known", self.seen_body or "modules" in draft.function)
            return
        if self.denied or not self.seen_body:
            return
        if draft.registers.setdefault("express", False) is False and draft.kind is None:
            draft.kind = _kind_without_express(draft)
        if "driver" not in draft.function:
            draft.function["driver_known"] = True


def _ignore(draft: Draft, text: str) -> None:
    """Read nothing of a record that the model has no room for."""


def _looks_like_key(text: str) -> bool:
    """Whether a line starts with a key of its own: a word, a colon, and something behind."""
    key, colon, rest = text.partition(":")
    return bool(colon) and key.isidentifier() and rest[:1] in (" ", "\t")


def _is_no_bridge(draft: Draft) -> bool:
    """Whether the class of a function is known, and is that of no bridge."""
    code, name = draft.identity.get("class_code"), draft.identity.get("class_name")
    if draft.buses is not None or (code is None and not name):
        return False
    return code >> 16 != _BRIDGES if code is not None else "bridge" not in (name or "").lower()


def _kind_without_express(draft: Draft) -> Kind:
    if draft.buses is not None:
        return Kind.CONVENTIONAL_BRIDGE
    code, name = draft.identity.get("class_code"), draft.identity.get("class_name")
    host = code >> 8 == 0x0600 if code is not None else name == "Host bridge"
    return Kind.HOST_BRIDGE if host else Kind.CONVENTIONAL


def _interrupts(draft: Draft, text: str) -> None:
    """Read ``MSI: Enable+ Count=1/1`` and ``MSI-X: Enable+ Count=9 Masked-``, of which one is on at most."""
    on = "Enable+" in text
    draft.registers["interrupts"] = bool(draft.registers.get("interrupts")) or on
    if text.startswith("MSI-X"):
        draft.registers["interrupts_masked"] = on and "Masked+" in text


def _capability(draft: Draft, text: str) -> None:
    name = text.split(",", 1)[0].split(" (v", 1)[0]
    names = draft.registers.setdefault("capabilities", ())
    if len(names) == _MOST_CAPABILITIES:
        return
    draft.registers["capabilities"] = (*names, name)
    if text.startswith("Express"):
        draft.registers["express"] = True
        draft.kind = next((kind for words, kind in _KINDS if words in text), None)
        if "FLIT+" in text or "FltMode+" in text:
            draft.link["flit_mode_supported"] = True
    elif text.startswith("MSI"):
        _interrupts(draft, text)
    elif text.startswith("Alternative Routing-ID"):
        draft.registers["ari"] = True
    elif text.startswith("Designated Vendor-Specific"):
        dvsec = _DVSEC.search(text)
        if dvsec:
            draft.cxl["dvsec_ids"] = (*draft.cxl.get("dvsec_ids", ()), int(dvsec[1], 16))
