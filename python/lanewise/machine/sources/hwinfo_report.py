"""Reports of HWiNFO, Windows' tool: devices by address, how their links run, and the way to each.

A section for each device, as text of the report or as copied from its window (without brackets, with tabs).
Numbers of addresses are decimal. ``Location Paths`` has device and function of each bridge on the way from
the root, in hexadecimal (``PCIROOT(0)#PCI(0801)#PCI(0000)``): the device whose path is the beginning of
another's is the bridge above it. Windows itself has no segments there.
Source: reports in public threads; Microsoft, DEVPKEY_Device_LocationPaths.
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

_PLACE = re.compile(
    r"^[ \t>|]{0,16}PCI Address \(Bus:Device:Function\) Number:[ \t|]{1,80}(\d{1,3}):(\d{1,2}):([0-7])\b",
    re.MULTILINE,
)
LOOKS_LIKE = _PLACE
_FIELD = re.compile(
    r"[ \t>|]{0,16}([A-Z][^:\n]{2,60}?)(?::[ \t|]{1,80}|[ \t|]{2,80})(\S.{0,200}?)[ \t|]{0,80}$"
)
_NUMBERS = re.compile(r"PCI\\VEN_([0-9A-F]{4})&DEV_([0-9A-F]{4})(?:&SUBSYS_([0-9A-F]{4})([0-9A-F]{4}))?")
_RATE = re.compile(r"([\d.]{1,4}) GT/s")
_LANES = re.compile(r"(\d{1,2})x")
_BYTES = re.compile(r"(\d{2,4}) bytes")
_STEP = re.compile(r"#PCI\([0-9A-F]{4}\)")
_KINDS = {
    "Root Port of PCI Express Root Complex": Kind.ROOT_PORT,
    "PCI Express Endpoint": Kind.ENDPOINT,
    "Legacy PCI Express Endpoint": Kind.LEGACY_ENDPOINT,
    "Upstream Port of PCI Express Switch": Kind.UPSTREAM_PORT,
    "Downstream Port of PCI Express Switch": Kind.DOWNSTREAM_PORT,
    "Root Complex Integrated Endpoint": Kind.INTEGRATED_ENDPOINT,
    "PCI Express to PCI/PCI-X Bridge": Kind.PCIE_TO_PCI_BRIDGE,
}
_CLASSES = (
    (re.compile(r"NVM|Non-Volatile"), 0x010802),
    (re.compile(r"VGA"), 0x030000),
    (re.compile(r"3D"), 0x030200),
    (re.compile(r"Display"), 0x038000),
    (re.compile(r"AHCI"), 0x010601),
    (re.compile(r"RAID"), 0x010400),
    (re.compile(r"SAS|Mass Storage"), 0x010700),
    (re.compile(r"Ethernet"), 0x020000),
    (re.compile(r"Network|Wireless"), 0x028000),
    (re.compile(r"Audio"), 0x040300),
    (re.compile(r"Host"), 0x060000),
    (re.compile(r"ISA"), 0x060100),
    (re.compile(r"PCI-to-PCI|Bridge"), 0x060400),
    (re.compile(r"xHCI|USB"), 0x0C0330),
    (re.compile(r"SMBus"), 0x0C0500),
)
"""What is in the words for a class, and the class."""
_BRIDGES = (Kind.ROOT_PORT, Kind.UPSTREAM_PORT, Kind.DOWNSTREAM_PORT, Kind.PCIE_TO_PCI_BRIDGE)


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all devices of a report; what stands before the address of a device is its name and class."""
    before: dict[str, str] = {}
    draft: Draft | None = None
    paths: dict[str, Address] = {}
    for line in lines:
        field, place = _FIELD.match(line), _PLACE.match(line)
        if place is not None:
            draft = _begin(before, place, into)
        if place is not None or field is None:
            continue
        name, value = field[1].strip(), field[2]
        if name == "Device Name":
            before, draft = {name: value}, None
        elif draft is None:
            before.setdefault(name, value)
        elif name == "Location Paths":
            paths.setdefault(value, draft.address)
        else:
            _take(draft, name, value)
    _place(paths, into)
    into.shows_tree = bool(paths)
    into.kinds.append("HWiNFO")


def _begin(before: dict[str, str], place: re.Match[str], into: Reading) -> Draft | None:
    bus, device, function = (int(part) for part in place.groups())
    if bus > 0xFF or device > 0x1F:
        return None
    draft = into.draft(Address(0, bus, device, function))
    draft.identity["device_name"] = before.get("Device Name")
    words = before.get("Device Class", "")
    draft.identity["class_code"] = next((code for sign, code in _CLASSES if sign.search(words)), None)
    return draft


def _take(draft: Draft, name: str, value: str) -> None:
    """Take one statement; a link that is not negotiated has no width and no speed."""
    rate, lanes, size = _RATE.match(value), _LANES.match(value), _BYTES.match(value)
    status, able = draft.link.get("status", LinkMode()), draft.link.get("capability", LinkMode())
    if name == "Hardware ID" and (numbers := _NUMBERS.search(value)) is not None:
        draft.identity["vendor_id"], draft.identity["device_id"] = int(numbers[1], 16), int(numbers[2], 16)
        if numbers[3]:
            draft.identity["subsystem_id"] = int(numbers[3], 16)
            draft.identity["subsystem_vendor_id"] = int(numbers[4], 16)
    elif name == "Device/Port Type":
        draft.kind = _KINDS.get(value)
        draft.registers["express"] = True
    elif name == "Current Link Speed" and rate is not None:
        draft.link["status"] = status._replace(gt_s=line_rate(rate[1]))
    elif name == "Current Link Width" and lanes is not None:
        draft.link["status"] = status._replace(width=natural(lanes[1]))
    elif name == "Maximum Link Speed" and rate is not None:
        draft.link["capability"] = able._replace(gt_s=line_rate(rate[1]))
    elif name == "Maximum Link Width" and lanes is not None:
        draft.link["capability"] = able._replace(width=natural(lanes[1]))
    elif name == "Maximum Payload Size" and size is not None:
        draft.transfers["mps"] = int(size[1])
    elif name == "Maximum Payload Size Supported" and size is not None:
        draft.transfers["mps_supported"] = int(size[1])


def _place(paths: dict[str, Address], into: Reading) -> None:
    """Put each device below the one whose path its own goes on from."""
    below: dict[Address, list[int]] = {}
    for path, address in paths.items():
        steps = list(_STEP.finditer(path))
        above = paths.get(path[: steps[-1].start()]) if len(steps) > 1 else None
        if above is not None and above != address:
            into.drafts[address].parent = above
            below.setdefault(above, []).append(address.bus)
    for bridge, buses in below.items():
        draft = into.drafts[bridge]
        draft.buses = Buses(bridge.bus, min(buses), max(buses))
        draft.identity["class_code"] = 0x060400
