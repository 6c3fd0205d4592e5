"""`lstopo` on the console (``lstopo-no-graphics``, ``hwloc-ls``), plain and ``-v``, of hwloc 1.8 to 2.12.

Indentation is nesting. Plain, a device has its address and the word for its class, ``PCI 3b:00.0 (NVMExp)``,
and bridges are nameless: ports that have made-up addresses here, as in NCCL files. hwloc 1 prints vendor and
device in place of the address, ``PCI 8086:1521``, and then ``-v`` is needed. With ``-v`` everything has its
``busid=``, bridges their ``buses=``, and links their bandwidth, ``link=15.75GB/s``. Bridges with one device
may have been left out. Source: hwloc 2.12, ``traversal.c`` and ``lstopo-text.c``, read for the format only.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.link_bandwidth import modes_of
from lanewise.machine.model import Buses, NumaNode
from lanewise.machine.sources.made_up import made_up_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading
    from lanewise.machine.draft import Draft

_FUNCTION = r"(?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"
LOOKS_LIKE = re.compile(
    rf"^[ \t>]{{0,200}}(?:PCI {_FUNCTION} \([A-Za-z0-9_.-]{{1,40}}\)"
    rf"|(?:PCI|PCIBridge|Bridge PCI->PCI)[ \w:#+]{{0,40}}\([^\n]{{0,60}}busid={_FUNCTION})",
    re.MULTILINE,
)
"""A device with its address and class, or anything with a ``busid``."""
_DEVICE = re.compile(rf"PCI (?:L#\d{{1,5}} )?({_FUNCTION})(?: \(([^()]{{1,40}})\))?")
_BUSID = re.compile(rf"\bbusid=({_FUNCTION})")
_IDS = re.compile(r"\bid=([0-9a-f]{4}):([0-9a-f]{4})|^PCI (?:L#\d{1,5} )?([0-9a-f]{4}):([0-9a-f]{4})\b")
_CLASS = re.compile(r"\bclass=([0-9a-f]{4})\(")
_BUSES = re.compile(r"\bbuses=[0-9a-f]{4,8}:\[([0-9a-f]{2})-([0-9a-f]{2})\]")
_LINK = re.compile(r"\blink=(\d{1,4}(?:\.\d{1,6})?)GB/s")
_NAMED = re.compile(r'\b(PCIVendor|PCIDevice|PCISlot)="?([^"()]{1,120})"')
_SLOT = re.compile(r"\bPCISlot=([\w.-]{1,20})")
_NODE = re.compile(r"NUMANode (?:L#\d{1,5} )?\(?P#(\d{1,5})")
_SOFTWARE = re.compile(
    r'(?:Net|OpenFabrics|Block(?:\([^()]{1,20}\))?) (?:L#\d{1,5} )?(?:\([^\n]{0,400}\) )?"([\w.-]{1,40})"'
)
_CLASSES = {
    "NVMExp": 0x010802,
    "NVMe": 0x010802,
    "SATA": 0x010601,
    "RAID": 0x010400,
    "SAS": 0x010700,
    "SCSI": 0x010000,
    "IDE": 0x010100,
    "Storage": 0x018000,
    "Ethernet": 0x020000,
    "Ether": 0x020000,
    "InfiniBand": 0x020700,
    "Fabric": 0x020800,
    "Network": 0x028000,
    "VGA": 0x030000,
    "3D": 0x030200,
    "Display": 0x038000,
    "Co-Processor": 0x0B4000,
    "ProcessingAccelerator": 0x120000,
    "Fibre": 0x0C0400,
    "CXLMem": 0x050210,
}
"""Words of hwloc for classes that matter here."""
_NVME = 0x010802
_BRIDGE = 0x060400


@dataclass
class _Level:
    """One open object."""

    indent: int
    draft: Draft | None = None
    """The function that it is."""
    bridge: Address | None = None
    """The bridge that what is inside is below."""
    nodes: list[int] = field(default_factory=list)
    """NUMA nodes directly inside."""


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all devices below their bridges."""
    levels: list[_Level] = []
    ports: list[Draft] = []
    for line in lines:
        text = line.lstrip(" \t>")
        indent = len(line.expandtabs()) - len(text.expandtabs())
        if not text.strip():
            continue
        while levels and levels[-1].indent >= indent:
            levels.pop()
        level = _Level(indent, bridge=levels[-1].bridge if levels else None)
        node = _NODE.match(text)
        if node is not None:
            _take_node(int(node[1]), level, levels, into)
        draft = _function(text, level, into)
        if draft is not None:
            level.draft = draft
            draft.parent = level.bridge
            draft.function["numa_node"] = _node_of(levels)
            if text.startswith(("PCIBridge", "Bridge PCI->PCI")):
                level.bridge = draft.address
                ports.append(draft)
        elif text.startswith(("HostBridge", "Bridge Host")):
            level.bridge = None
        elif (software := _SOFTWARE.match(text)) is not None and levels and levels[-1].draft is not None:
            levels[-1].draft.add_interface(software[1])
        levels.append(level)
    _forget_empty(ports, into)
    into.shows_tree = True
    into.kinds.append("lstopo")


def _take_node(number: int, level: _Level, levels: list[_Level], into: Reading) -> None:
    """Remember a NUMA node: of what is inside it, as hwloc 1 nests, or beside it, as hwloc 2 does."""
    level.nodes.append(number)
    if levels:
        levels[-1].nodes.append(number)
    if all(node.index != number for node in into.numa_nodes):
        into.numa_nodes.append(NumaNode(number))


def _node_of(levels: list[_Level]) -> int | None:
    """Return the node of the innermost object that has nodes, where that is one."""
    inner = next((level.nodes for level in reversed(levels) if level.nodes), [])
    return inner[0] if len(inner) == 1 else None


def _function(text: str, level: _Level, into: Reading) -> Draft | None:
    """Make the function of a line; nameless bridges get an address that is made up."""
    busid, device = _BUSID.search(text), _DEVICE.match(text)
    is_bridge = text.startswith(("PCIBridge", "Bridge PCI->PCI"))
    if busid is None and device is None and not is_bridge:
        return None
    if busid is None and device is None:
        draft = into.draft(made_up_address(into))
        draft.function["implied"] = True
    else:
        draft = into.draft(Address.parse(busid[1] if busid is not None else device[1] if device else ""))
    identity = draft.identity
    numbers, code = _IDS.search(text), _CLASS.search(text)
    if numbers is not None:
        identity["vendor_id"] = int(numbers[1] or numbers[3], 16)
        identity["device_id"] = int(numbers[2] or numbers[4], 16)
    if code is not None:
        number = int(code[1], 16) << 8
        identity["class_code"] = _NVME if number == _NVME & ~0xFF else number
    elif is_bridge:
        identity["class_code"] = _BRIDGE
    elif device is not None and device[2] in _CLASSES:
        identity["class_code"] = _CLASSES[device[2]]
    _describe(draft, text)
    return draft


def _describe(draft: Draft, text: str) -> None:
    for name, value in _NAMED.findall(text):
        if name != "PCISlot":
            draft.identity["vendor_name" if name == "PCIVendor" else "device_name"] = value
    slot, buses, link = _SLOT.search(text), _BUSES.search(text), _LINK.search(text)
    if slot is not None:
        draft.function["physical_slot"] = slot[1]
    if buses is not None:
        draft.buses = Buses(draft.address.bus, int(buses[1], 16), int(buses[2], 16))
    if link is not None and float(link[1]) > 0:
        draft.registers["express"] = True
        draft.link["bandwidth_gb_s"] = float(link[1])
        modes = modes_of(float(link[1]))
        if len(modes) == 1:
            draft.link["status"] = modes[0]


def _forget_empty(ports: list[Draft], into: Reading) -> None:
    """Drop nameless bridges with nothing below that has an address: nothing is known of them."""
    below = Counter(draft.parent for draft in into.drafts.values())
    for port in reversed(ports):
        if port.function.get("implied") and not below[port.address]:
            below[port.parent] -= 1
            del into.drafts[port.address]
