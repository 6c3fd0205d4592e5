"""Boot logs of OpenBSD and NetBSD: every function with its place, its name and its driver.

``nvme0 at pci1 dev 0 function 0: ...`` stands on a bus that another line places, ``pci1 at ppb0 bus 1``: so
the log has the tree, and addresses. What no driver took is ``... at pci0 dev 22 function 0 not configured``.
NetBSD also says of its ports what they can do, and how a link runs that does less (``ppb3: link is x1 @
2.5GT/s``); devices' own ends are in neither. FreeBSD's log numbers its buses in the order in which it finds
them, so it has no addresses, and is not read. Left out: devices of which a log does not say the bus.
Source: OpenBSD 7.4, sys/dev/pci (pci.c, ppb.c, pci_subr.c); NetBSD 10, sys/dev/pci (pci.c, ppb.c,
pci_subr.c), read for the wording only; public logs of both.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Buses, Kind
from lanewise.machine.registers import LinkMode
from lanewise.machine.sources.numbers import line_rate, natural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading
    from lanewise.machine.draft import Draft

_FRONT = r"^[ \t>]{0,8}(?:\[[ \d.]{1,20}\] ?)?"
"""NetBSD puts the time since the start before each line."""
_UNIT = r"[a-z][a-z\d]{0,14}\d"
_PLACE = r"at pci(\d{1,3}) dev (\d{1,2}) function ([0-7])"
LOOKS_LIKE = re.compile(rf"{_FRONT}{_UNIT} {_PLACE}(?![0-9a-z])", re.MULTILINE)
"""A device with a driver."""
_TAKEN = re.compile(rf"{_FRONT}({_UNIT}) {_PLACE}(?::? (.{{0,200}}))?$")
_LEFT = re.compile(rf"{_FRONT}(\S.{{0,160}}?) {_PLACE} not configured")
_BUS = re.compile(rf"{_FRONT}pci(\d{{1,3}}) at ({_UNIT})(?: bus (\d{{1,3}}))?(?![\w.])")
_PORT = re.compile(
    rf"{_FRONT}(ppb\d{{1,3}}): PCI Express capability version \d{{1,2}} <([^>]{{1,60}})>(?: x(\d{{1,2}}) @ "
    r"([\d.]{1,5})GT/s)?"
)
_RUNS = re.compile(rf"{_FRONT}(ppb\d{{1,3}}): link is x(\d{{1,2}}) @ ([\d.]{{1,5}})GT/s")
_START = re.compile(rf"{_FRONT}(?:OpenBSD|NetBSD) \d{{1,2}}\.\d")
_QUOTED = re.compile(r'"([^"]{1,120})"')
_REVISION = re.compile(r"[ (,]{1,2}rev(?:\.|ision)? ?0x([0-9a-f]{2})\b")
_NUMBERS = re.compile(r"vendor (?:0x)?([0-9a-f]{4}),? (?:unknown )?product (?:0x)?([0-9a-f]{4})\b")
"""What a kernel without names says."""
_UNKNOWN = re.compile(r'vendor "([^"]{1,60})", unknown product 0x([0-9a-f]{4})\b')
_ETHERNET = re.compile(r"\(class network subclass ethernet|\(ethernet network")

_KINDS = {
    "Root Port of PCI-E Root Complex": Kind.ROOT_PORT,
    "Upstream Port of PCI-E Switch": Kind.UPSTREAM_PORT,
    "Downstream Port of PCI-E Switch": Kind.DOWNSTREAM_PORT,
    "PCI-E to PCI/PCI-X Bridge": Kind.PCIE_TO_PCI_BRIDGE,
    "PCI/PCI-X to PCI-E Bridge": Kind.PCI_TO_PCIE_BRIDGE,
}
_BRIDGE = 0x060400
_CLASSES = {
    **dict.fromkeys(("ppb",), _BRIDGE),
    **dict.fromkeys(("pchb",), 0x060000),
    **dict.fromkeys(("pcib", "ichlpcib", "tcpcib"), 0x060100),
    **dict.fromkeys(("nvme",), 0x010802),
    **dict.fromkeys(("ahci", "ahcisata"), 0x010601),
    **dict.fromkeys(("mfi", "mfii", "ciss", "arc", "arcmsr"), 0x010400),
    **dict.fromkeys(("mpi", "mpii", "mpt"), 0x010700),
    **dict.fromkeys(("xhci",), 0x0C0330),
    **dict.fromkeys(("ehci",), 0x0C0320),
    **dict.fromkeys(
        ("inteldrm", "radeondrm", "radeondrmkms", "amdgpu", "i915drmkms", "vga", "genfb"), 0x030000
    ),
    **dict.fromkeys(("azalia", "hdaudio"), 0x040300),
    **dict.fromkeys(
        (
            *("em", "wm", "ix", "ixg", "ixl", "igc", "ice", "re", "rge", "bge", "bnx", "bnxt", "mcx", "aq"),
            *("alc", "ale", "age", "msk", "sk", "nfe", "vge", "aqc", "ixv", "iavf", "mskc", "skc", "ena"),
        ),
        0x020000,
    ),
    **dict.fromkeys(("iwm", "iwx", "iwn", "athn", "bwfm", "mwx", "qwx", "ral", "rtwn"), 0x028000),
}
"""Classes of what drivers of these names drive; of the others nothing is said."""


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all functions that a log names."""
    log = _Log(into)
    for line in lines:
        log.take(line)
    log.take_kinds()
    into.shows_tree = True
    into.kinds.append("boot log of BSD")
    into.note(
        "a boot log of OpenBSD or NetBSD has the tree, and of links at most what ports say; 'lspci -vvv' of "
        "pciutils as root shows both ends"
    )


class _Log:
    """What the lines before have said: which bus is which, and which unit is where."""

    def __init__(self, into: Reading) -> None:
        self._into = into
        self._forget()

    def _forget(self) -> None:
        """Start a boot: units are counted anew."""
        self._buses: dict[str, tuple[int, int, Address | None]] = {}
        """By the number of a `pci`: domain, bus and the bridge above."""
        self._units: dict[str, Draft] = {}
        self._roots: set[tuple[int, int]] = set()

    def take(self, line: str) -> None:
        """Read one line."""
        if " at " not in line and ": " not in line:
            if _START.match(line):
                self._forget()
            return
        if _START.match(line):
            self._forget()
        elif (bus := _BUS.match(line)) is not None:
            self._take_bus(bus)
        elif (taken := _TAKEN.match(line)) is not None:
            self._take_function(taken)
        elif (left := _LEFT.match(line)) is not None:
            draft = self._draft(left[2], left[3], left[4])
            if draft is not None:
                _name(draft, left[1])
                draft.function["driver"], draft.function["driver_known"] = None, True
                if _ETHERNET.search(left[1]):
                    draft.identity.setdefault("class_code", 0x020000)
        elif (port := _PORT.match(line)) is not None and port[1] in self._units:
            draft = self._units[port[1]]
            draft.kind = _KINDS.get(port[2])
            if port[3] is not None:
                draft.link["capability"] = LinkMode(line_rate(port[4]), natural(port[3]))
        elif (runs := _RUNS.match(line)) is not None and runs[1] in self._units:
            self._units[runs[1]].link["status"] = LinkMode(line_rate(runs[3]), natural(runs[2]))

    def take_kinds(self) -> None:
        """Call what is at the lower end of a port's link an endpoint: only ports say what they are."""
        for draft in self._into.drafts.values():
            above = self._into.drafts.get(draft.parent) if draft.parent is not None else None
            below_a_port = above is not None and above.kind in (Kind.ROOT_PORT, Kind.DOWNSTREAM_PORT)
            if below_a_port and draft.kind is None and draft.identity.get("class_code") != _BRIDGE:
                draft.kind = Kind.ENDPOINT

    def _take_bus(self, bus: re.Match[str]) -> None:
        """Place a bus: below a bridge, or at the root, of a further domain where its number is taken."""
        above, number = self._units.get(bus[2]), min(int(bus[3] or 0), 0xFF)
        if above is not None:
            domain = above.address.domain
            above.buses = Buses(above.address.bus, number, number)
            self._buses[bus[1]] = (domain, number, above.address)
            return
        domain = 0
        while (domain, number) in self._roots:
            domain += 1
        self._roots.add((domain, number))
        self._buses[bus[1]] = (domain, number, None)

    def _take_function(self, taken: re.Match[str]) -> None:
        unit, text = taken[1], taken[5] or ""
        draft = self._draft(taken[2], taken[3], taken[4])
        if draft is None:
            return
        self._units[unit] = draft
        driver = unit.rstrip("0123456789")
        draft.function["driver"], draft.function["driver_known"] = driver, True
        draft.add_interface(unit)
        if driver in _CLASSES:
            draft.identity["class_code"] = _CLASSES[driver]
        _name(draft, text)

    def _draft(self, bus: str, device: str, function: str) -> Draft | None:
        """Return the function at a place; None where no line has said which bus that is."""
        if bus not in self._buses or int(device) > 0x1F:
            return None
        domain, number, above = self._buses[bus]
        draft = self._into.draft(Address(domain, number, int(device), int(function)))
        draft.parent = above
        return draft


def _name(draft: Draft, text: str) -> None:
    """Take a device's name, in quotation marks or before the last brackets, its numbers, and its revision."""
    revision, quoted, numbers = _REVISION.search(text), _QUOTED.search(text), _NUMBERS.match(text)
    in_brackets = text.rfind(" (")
    name = quoted[1] if quoted is not None else text[:in_brackets] if in_brackets > 0 else text
    if numbers is not None:
        draft.identity["vendor_id"], draft.identity["device_id"] = int(numbers[1], 16), int(numbers[2], 16)
    elif (unknown := _UNKNOWN.match(text)) is not None:
        draft.identity["vendor_name"], draft.identity["device_id"] = unknown[1], int(unknown[2], 16)
    elif name.strip():
        draft.identity["device_name"] = name.strip()
    if revision is not None:
        draft.identity["revision"] = int(revision[1], 16)
