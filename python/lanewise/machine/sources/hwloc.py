"""hwloc XML, versions 1, 2 and 3: bridges and devices with the bandwidth of their link.

A link's bandwidth in GB/s is one number for speed times width after line coding; where only one combination
of the two gives it, both are known, else the speed and width stay unknown. 0 means that hwloc does not know.
Bridges may have been pruned from the file, and then devices hang below the host bridge as if they had no
link. Links between GPUs are read by `hwloc_links`. Source: hwloc 2.12, ``topology-xml.c`` and
``pci-common.c`` (``hwloc__pci_link_speed``), read for the format only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.draft import Draft
from lanewise.machine.link_bandwidth import modes_of
from lanewise.machine.model import Buses, NumaNode
from lanewise.machine.sources import xml
from lanewise.machine.sources.hwloc_links import GpuLinks
from lanewise.machine.sources.numbers import natural

if TYPE_CHECKING:
    from lanewise.machine.assembly import Reading
    from lanewise.machine.said import IdentityName

_TYPE = re.compile(
    r"([0-9a-f]{4}) \[([0-9a-f]{4}):([0-9a-f]{4})\]"
    r"(?: \[([0-9a-f]{4}):([0-9a-f]{4})\] ([0-9a-f]{2})(?: ([0-9a-f]{2}))?)?"
)
_BUSES = re.compile(r"[0-9a-f]{1,8}:\[([0-9a-f]{1,2})-([0-9a-f]{1,2})\]")
_MOST_GB_S = 1000.0
_NAMES: dict[str, IdentityName] = {"PCIVendor": "vendor_name", "PCIDevice": "device_name"}
_NVME = 0x0108


class _Reader:
    """Follows the nesting of objects."""

    def __init__(self, into: Reading) -> None:
        self.into = into
        self.bridges: list[Address | None] = []
        """For each open object, the bridge it is below or is."""
        self.nodes: list[int | None] = []
        self.device: list[Draft | None] = []
        self.names: list[str] = []
        """For each open object, what hwloc calls it."""
        self.gpu_links = GpuLinks()
        self.unknown_speeds: set[Address] = set()
        """The same function may stand in several places."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Open an element."""
        if name == "topology":
            self.into.kinds.append(f"hwloc XML {attributes.get('version', '1')}")
        elif name == "object":
            self._object(attributes)
        elif name == "info":
            self._info(attributes.get("name", ""), attributes.get("value", ""))
        else:
            self.gpu_links.start(name, attributes)

    def end(self, name: str) -> None:
        """Close an element."""
        if name == "object" and self.device:
            self.bridges.pop()
            self.nodes.pop()
            self.device.pop()
            self.names.pop()
        else:
            self.gpu_links.end(name)

    def _object(self, attributes: dict[str, str]) -> None:
        kind = attributes.get("type", "")
        above = self.bridges[-1] if self.bridges else None
        node = _only_node(attributes.get("nodeset")) if "nodeset" in attributes else None
        node = node if node is not None else self.nodes[-1] if self.nodes else None
        draft = None
        if kind in ("PCIDev", "Bridge") and "pci_busid" in attributes:
            draft = self._function(attributes, above, node)
            above = draft.address if draft is not None and kind == "Bridge" else above
        elif kind == "Bridge":
            above = None
        elif kind == "NUMANode":
            self._numa_node(attributes)
        elif kind == "OSDev" and attributes.get("name") and self.device and self.device[-1] is not None:
            # What is said of it is said of its device.
            draft = self.device[-1]
            draft.add_interface(attributes["name"])
        self.bridges.append(above)
        self.nodes.append(node)
        self.device.append(draft)
        self.names.append(attributes.get("name", ""))
        if draft is not None:
            self.gpu_links.saw(attributes, draft.address)

    def _function(self, attributes: dict[str, str], above: Address | None, node: int | None) -> Draft | None:
        try:
            draft = Draft(Address.parse(attributes["pci_busid"]))
        except ValueError:
            return None
        draft.parent = above
        if node is not None:
            draft.function["numa_node"] = node
        numbers = _TYPE.match(attributes.get("pci_type", ""))
        if numbers:
            _identify(draft, numbers)
        buses = _BUSES.match(attributes.get("bridge_pci", ""))
        if buses:
            draft.buses = Buses(draft.address.bus, int(buses[1], 16), int(buses[2], 16))
        try:
            gb_s = float(attributes.get("pci_link_speed", "0"))
        except ValueError:
            gb_s = 0.0
        if 0 < gb_s < _MOST_GB_S:
            modes = modes_of(gb_s)
            draft.registers["express"] = True
            draft.link["bandwidth_gb_s"] = gb_s
            if len(modes) == 1:
                draft.link["status"] = modes[0]
        else:
            self.unknown_speeds.add(draft.address)
        self.into.add(draft)
        return draft

    def _numa_node(self, attributes: dict[str, str]) -> None:
        index = natural(attributes.get("os_index"))
        if index is not None:
            self.into.numa_nodes.append(NumaNode(index))

    def _info(self, name: str, value: str) -> None:
        draft = self.device[-1] if self.device else None
        if name == "HostName":
            self.into.hostname = value
        elif draft is None:
            return
        elif name == "XGMIPeers":
            self.gpu_links.peers(self.names[-1], value)
        elif name == "PCISlot":
            draft.function["physical_slot"] = value
        elif name in _NAMES:
            draft.identity[_NAMES[name]] = value
        elif name == "Model" and _is_drive(draft) and not value.startswith("LVM "):
            draft.function["model"] = value


def _identify(draft: Draft, numbers: re.Match[str]) -> None:
    identity = draft.identity
    identity["class_code"] = int(numbers[1], 16) << 8 | int(numbers[7] or "0", 16)
    identity["vendor_id"], identity["device_id"] = int(numbers[2], 16), int(numbers[3], 16)
    if numbers[4] and numbers[4] != "0000":
        identity["subsystem_vendor_id"], identity["subsystem_id"] = int(numbers[4], 16), int(numbers[5], 16)
    if numbers[6]:
        identity["revision"] = int(numbers[6], 16)


def _is_drive(draft: Draft) -> bool:
    """Whether what is said of a disk below a function is said of the function: others have several."""
    return (draft.identity.get("class_code") or 0) >> 8 == _NVME


def _only_node(nodeset: str | None) -> int | None:
    """Return the node of a bit mask that has exactly one."""
    try:
        mask = int(
            "".join(part.removeprefix("0x").zfill(8) for part in (nodeset or "0").split(",")) or "0", 16
        )
    except ValueError:
        return None
    return mask.bit_length() - 1 if mask and mask & (mask - 1) == 0 else None


def read(data: bytes, into: Reading) -> None:
    """Read a topology."""
    into.shows_tree = True
    reader = _Reader(into)
    xml.parse(data, reader.start, reader.end, into, text=reader.gpu_links.text)
    reader.gpu_links.put_into(into)
    if reader.unknown_speeds:
        unknown = len(reader.unknown_speeds)
        into.note(f"hwloc does not know the link of {unknown} of {len(into.drafts)} functions")
