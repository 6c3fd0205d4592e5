"""`pciconf -lvbBc` of FreeBSD (and of what is built on it: OPNsense, pfSense, TrueNAS Core).

A function is a line like ``nvme0@pci0:4:0:0: class=0x010802 ...`` with domain, bus, device and function in
decimal, and the lines below it that are indented: names, BARs, capabilities. Versions before 13 write vendor
and device as one number, ``chip=0xDDDDVVVV``, and before 11 the link on the same line as the payload. Which
buses are behind a bridge is printed with ``-B`` alone; without it nothing is known of who is below whom, and
each device tells of its own end of its link. Errors that are latched are counted, and named with ``-e``. Left
out: windows of bridges, and what ``-e`` says of Status and Device Status, which bus scans set.
Source: FreeBSD, usr.sbin/pciconf/pciconf.c, cap.c and err.c of 9.0 to 14.1, read for the wording only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.draft import Draft
from lanewise.machine.function import Buses, Kind
from lanewise.machine.registers import Bar, LinkMode
from lanewise.machine.sources import error_names
from lanewise.machine.sources.numbers import line_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading
    from lanewise.machine.said import IdentityName, IdentityNumber

_HEAD = re.compile(
    r"[ \t>]*(\w*?[A-Za-z_])\d*@pci(\d{1,5}):(\d{1,3}):(\d{1,2}):(\d):\s+class=0x([0-9a-f]{6})\s(.*)$"
)
_IDS = re.compile(r"\b(vendor|device|subvendor|subdevice)=0x([0-9a-f]{4})\b")
_OLD_IDS = re.compile(r"\b(card|chip)=0x([0-9a-f]{4})([0-9a-f]{4})\b")
_RECORD = re.compile(
    r"[ \t>]*(e?cap [0-9a-f]{2,4}\[[0-9a-f]+\]|vendor|device|class|subclass|bar +\[[0-9a-f]{2}\]|bus range"
    r"|(?:PCI|PCI-e) errors|Fatal|Non-fatal|Corrected|window\[[0-9a-f]{2}\]) *+= *+(.*)"
)
_BAR = re.compile(r"type (.{0,40}?), range (\d+), base (0x[0-9a-f]{1,16}), size (\d+), (en|dis)abled")
_PAYLOAD = re.compile(r"max data (\d+)\((\d+)\)")
_READ = re.compile(r"max read (\d+)")
_LINK = re.compile(r"link x(\d+)\(x(\d+)\)(?:\s+speed ([\d.]+|undef)\(([\d.]+|undef)\))?")
_ASPM = re.compile(r"ASPM ([\w/]+)\(([\w/]+)\)")
_LANES = re.compile(r"lane errors (?:0x)?([0-9a-f]+)")
_AER = re.compile(r"AER \d{1,2} (\d{1,2}) fatal")
"""How many bits of errors are latched that the function takes for fatal; the others bus scans leave, too."""
_ERRORS = {
    **error_names.NAMES,
    "Surprise Link Down Error": "SDES",
    "Receiver Overflow Error": "RxOF",
    "Unsupported Request": "UnsupReq",
    "REPLAY_NUM Rollover": "Rollover",
}
_ERROR = re.compile("|".join(map(re.escape, sorted(_ERRORS, key=len, reverse=True))))
"""Errors by the words of ``-e``: one stands in each line, and lines are joined."""
_BUSES = re.compile(r"(\d{1,3})-(\d{1,3})")
_POWER = re.compile(r"current (D\d)")

_ONE_END = (
    "pciconf was asked without -B which buses are behind a bridge: only one end of each link is known; "
    "'pciconf -lvbBc' as root shows both"
)
LOOKS_LIKE_PCICONF = re.compile(r"^[ \t>]*\w+@pci\d+:\d+:\d+:\d:\s+class=0x", re.MULTILINE)
"""The first line of a function."""

# Longest first: "legacy endpoint" and "root endpoint" before "endpoint".
_KINDS = (
    ("legacy endpoint", Kind.LEGACY_ENDPOINT),
    ("root endpoint", Kind.INTEGRATED_ENDPOINT),
    ("endpoint", Kind.ENDPOINT),
    ("root port", Kind.ROOT_PORT),
    ("upstream port", Kind.UPSTREAM_PORT),
    ("downstream port", Kind.DOWNSTREAM_PORT),
    ("PCI to PCIe bridge", Kind.PCI_TO_PCIE_BRIDGE),
    ("PCI bridge", Kind.PCIE_TO_PCI_BRIDGE),
    ("event collector", Kind.EVENT_COLLECTOR),
)
_FIELDS: dict[str, IdentityNumber] = {
    "vendor": "vendor_id",
    "device": "device_id",
    "subvendor": "subsystem_vendor_id",
    "subdevice": "subsystem_id",
}
_NAMES: dict[str, IdentityName] = {"vendor": "vendor_name", "device": "device_name"}


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all functions in a text."""
    draft: Draft | None = None
    key = text = ""
    seen_capabilities = seen_buses = False
    for number, line in enumerate(lines, start=1):
        head, record = _HEAD.match(line), _RECORD.match(line)
        if head is None and record is None and draft is not None and line[:1] in " \t" and line.strip():
            text += " " + line.strip()
            continue
        if draft is not None:
            _take(draft, key, text)
            key = text = ""
        if head is not None:
            draft = _function(head)
            into.add(draft)
        elif record is not None and draft is not None:
            key, text = record[1], record[2]
            seen_capabilities |= "cap" in key
            seen_buses |= key == "bus range"
        elif line.strip():
            into.not_understood(number, line)
    if draft is not None:
        _take(draft, key, text)
    into.kinds.append("pciconf")
    if not seen_buses:
        into.note(_ONE_END)
    if not seen_capabilities:
        into.note("no capabilities in it: 'pciconf -lvbBc' as root shows links")


def _function(head: re.Match[str]) -> Draft:
    domain, bus, device, function = (int(head[index]) for index in range(2, 6))
    draft = Draft(Address(domain, bus & 0xFF, device & 31, function & 7))
    identity = draft.identity
    identity["class_code"] = int(head[6], 16)
    for name, number in _IDS.findall(head[7]):
        identity[_FIELDS[name]] = int(number, 16)
    for name, device_id, vendor_id in _OLD_IDS.findall(head[7]):
        chip = name == "chip"
        identity["device_id" if chip else "subsystem_id"] = int(device_id, 16)
        identity["vendor_id" if chip else "subsystem_vendor_id"] = int(vendor_id, 16)
    draft.function["driver"] = None if head[1] == "none" else head[1]
    draft.function["driver_known"] = True
    return draft


def _take(draft: Draft, key: str, text: str) -> None:
    """Read a record about a function."""
    if key in _NAMES:
        draft.identity[_NAMES[key]] = text.strip(" '")
    elif key.startswith("bar"):
        _bar(draft, key, text)
    elif key == "bus range":
        buses = _BUSES.match(text)
        if buses and int(buses[1]):
            draft.buses = Buses(draft.address.bus, int(buses[1]), int(buses[2]))
    elif key.startswith("cap 10"):
        _express(draft, text)
    elif key.startswith("cap 01"):
        power = _POWER.search(text)
        if power:
            draft.registers["power_state"] = "D3hot" if power[1] == "D3" else power[1]
    elif key.startswith("ecap 0001"):
        fatal = _AER.search(text)
        if fatal and int(fatal[1]):
            counts = (("fatal.TOTAL", int(fatal[1])), ("latched.TOTAL", int(fatal[1])))
            draft.errors["counters"] = counts
    elif key in ("Fatal", "Non-fatal", "Corrected"):
        _latched(draft, key, frozenset(_ERRORS[words] for words in _ERROR.findall(text)))
    elif key.startswith("ecap 0019"):
        lanes = _LANES.search(text)
        if lanes:
            bits = int(lanes[1], 16)
            draft.link["lane_errors"] = tuple(lane for lane in range(32) if bits >> lane & 1)


def _latched(draft: Draft, how: str, errors: frozenset[str]) -> None:
    """Take errors that a register of AER holds: with their names, how many there are is no news."""
    if how == "Corrected":
        draft.errors["correctable_status"] = errors
        return
    if how == "Fatal":
        draft.errors["uncorrectable_severity"] = errors
    draft.errors.pop("counters", None)
    draft.errors["uncorrectable_status"] = errors | (draft.errors.get("uncorrectable_status") or frozenset())


def _bar(draft: Draft, key: str, text: str) -> None:
    match = _BAR.search(text)
    if match is None:
        return
    if draft.bars is None:
        draft.bars = []
    draft.bars.append(
        Bar(
            index=(int(key.partition("[")[2].rstrip("]"), 16) - 0x10) // 4,
            address=int(match[3], 16) or None,
            size=int(match[4]),
            io="I/O" in match[1],
            bits64=match[2] == "64",
            prefetchable="Prefetchable" in match[1],
            virtual=False,
            disabled=match[5] == "dis",
            ignored=False,
        )
    )


def _express(draft: Draft, text: str) -> None:
    draft.registers["express"] = True
    what = text.partition("max data")[0]
    draft.kind = next((kind for words, kind in _KINDS if words in what), None)
    transfers, payload, request = draft.transfers, _PAYLOAD.search(text), _READ.search(text)
    if payload:
        transfers["mps"], transfers["mps_supported"] = int(payload[1]), int(payload[2])
    if request:
        transfers["mrrs"] = int(request[1])
        # Versions that print no read size print no flags either.
        words = text.partition("link x")[0].split()
        transfers["relaxed_ordering"], transfers["no_snoop"] = "RO" in words, "NS" in words
    link = _LINK.search(text)
    if link:
        draft.link["status"] = _mode(link[3], link[1])
        draft.link["capability"] = _mode(link[4], link[2])
    aspm = _ASPM.search(text)
    if aspm:
        draft.link["aspm_enabled"] = _states(aspm[1])
        draft.link["aspm_supported"] = _states(aspm[2])


def _mode(speed: str | None, width: str) -> LinkMode:
    return LinkMode(line_rate(speed), int(width))


def _states(text: str) -> tuple[str, ...]:
    return tuple(state for state in ("L0s", "L1") if state in text)
