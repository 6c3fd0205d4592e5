"""`lshw`, also `-json`, `-xml` and `-businfo`: the tree, names, drivers, interfaces, names of drives.

The first three are trees of nodes with properties; a function of PCI has ``pci@0000:01:00.0`` as its bus
info. The nodes below a host bridge are beside it on its bus; below other bridges they are below. Neither says
speeds and widths of links, payload sizes or errors, and the numbers of vendor and device only with
``-numeric``. Text is in the language of its user: what a property is follows from its place (description,
product, vendor, physical id, bus info, logical name, in this order) and from what it says, where its name is
not English. ``-businfo`` is a table without a tree. Leaves out: everything that is no function of PCI, and
``-short``, which has no addresses. Source: lshw B.02.19, ``hw.cc`` and ``print.cc``, read for the format
only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanewise.machine import pci_ids
from lanewise.machine.address import Address
from lanewise.machine.function import Buses
from lanewise.machine.sources import xml

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.machine.assembly import Reading
    from lanewise.machine.draft import Draft
    from lanewise.machine.said import IdentityName, IdentityNumber

LOOKS_LIKE_LSHW_JSON = re.compile(r'"businfo"\s*:\s*"pci@[0-9a-fA-F]')
"""The bus info of a function in JSON."""
_BUSINFO = r"pci@[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]"
LOOKS_LIKE_LSHW = re.compile(rf"^[ \t>|]{{1,200}}[^\s:|>][^:\n]{{1,40}}: {_BUSINFO}[ \t]*$", re.MULTILINE)
"""The bus info of a function in text, in any language."""
LOOKS_LIKE_TABLE = re.compile(rf"^[ \t>|]{{0,16}}{_BUSINFO}(?:[ \t]+\S{{1,40}})?[ \t]{{2,}}\S", re.MULTILINE)
"""A row of ``-businfo``."""

_TOKEN = re.compile(r'"((?:[^"\\]++|\\[\s\S])*+)(?:"\s*+(:)?|\\?\Z)|([{}])')
_ESCAPED = re.compile(r"\\(.)")
_NODE = re.compile(r"^([ \t>|]*)\*-(\S+)(?: [^\s:]{1,30}){0,4}\s*$")
_PROPERTY = re.compile(r"^[ \t>|]+([^\W\d_][^:\n]{0,60}): (.*)$")
_ENGLISH = frozenset(
    (
        *("description", "product", "vendor", "physical id", "bus info", "logical name", "version", "date"),
        *(
            "serial",
            "slot",
            "size",
            "capacity",
            "width",
            "clock",
            "capabilities",
            "configuration",
            "resources",
        ),
    )
)
"""Properties as `lshw` calls them without a translation."""
_LOGICAL_NAME = re.compile(r"[a-z/][\w/.@-]{2,40}$")
_FLAGS = frozenset({"bus_master", "cap_list", "pciexpress"})
"""Words that stand among the capabilities of functions, in any language."""
_ROW_CLASSES = {"network": 0x028000, "display": 0x038000, "storage": 0x018000}
_ROW_WORDS = frozenset(_ROW_CLASSES) | {
    "bridge",
    "multimedia",
    "bus",
    "generic",
    "communication",
    "input",
    "processor",
    "memory",
    "system",
    "disk",
}
_NVME = 0x010802
_NUMBERS = re.compile(r"(?<!\s)\s*+\[(?:[0-9a-fA-F]{1,4}:([0-9a-fA-F]{1,4})|([0-9a-fA-F]{4}))\]$")
"""Numbers of ``-numeric``, which have no leading zeros: ``[1106:204]``."""
_VENDOR: tuple[IdentityNumber, IdentityName] = ("vendor_id", "vendor_name")
_DEVICE: tuple[IdentityNumber, IdentityName] = ("device_id", "device_name")
_BUS = re.compile(r"PCIBUS:[0-9a-fA-F]+:([0-9a-fA-F]{1,2})$")
_MOST_DEEP = 200
_LONGEST_VALUE = 4096
_OF_NODES = frozenset({"id", "class", "handle"})
_ELEMENTS = frozenset({"description", "product", "vendor", "businfo", "logicalname", "slot"})
"""Properties of a node in XML that are elements of their own."""
_CLASSES = {
    "NVMe device": "Non-Volatile memory controller",
    "Ethernet interface": "Ethernet controller",
    "Wireless interface": "Network controller",
    "interface": "Infiniband controller",
}
"""What lshw calls a class when it knows more than the class, and `pci.ids` for it."""


@dataclass
class _Node:
    """One node: properties by name; those of ``configuration`` and ``capabilities`` under these words."""

    properties: dict[str, str] = field(default_factory=dict)
    children: list[_Node] = field(default_factory=list)

    def take(self, key: str, value: str) -> None:
        """Keep the first value of a property: of logical names the first is the device's own."""
        self.properties.setdefault(key, value)


def read_xml(data: bytes, into: Reading) -> None:
    """Read what ``lshw -xml`` writes, as far as it goes."""
    _functions(_from_xml(data, into), into)


def read_json(text: str, into: Reading) -> None:
    """Read what ``lshw -json`` writes, as far as it goes."""
    _functions(_from_json(text), into)


def read(lines: Sequence[str], into: Reading) -> None:
    """Read what ``lshw`` writes for people."""
    _functions(_from_text(lines), into)


def _from_json(text: str) -> _Node:
    """Return the tree. What breaks off in the middle has everything up to there."""
    root = _Node()
    stack: list[tuple[_Node, str]] = [(root, "")]
    key = ""
    for match in _TOKEN.finditer(text):
        node, prefix = stack[-1]
        if match[3] == "{":
            if len(stack) > _MOST_DEEP:
                break
            if key in ("configuration", "capabilities"):
                stack.append((node, f"{key}."))
            else:
                node.children.append(_Node())
                stack.append((node.children[-1], ""))
        elif match[3] == "}":
            if len(stack) > 1:
                stack.pop()
            key = ""
        elif match[2]:
            key = match[1]
            if prefix == "capabilities.":
                node.take(prefix + key, "true")
        else:
            node.take(prefix + key, _ESCAPED.sub(r"\1", match[1][:_LONGEST_VALUE]))
    return root


def _from_xml(data: bytes, into: Reading) -> _Node:
    """Return the tree: nodes with an element for each property, settings and capabilities with an ``id``."""
    root = _Node()
    stack = [root]
    words: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        words.clear()
        if name == "node":
            node = _Node({key: value for key, value in attributes.items() if key in _OF_NODES})
            stack[-1].children.append(node)
            stack.append(node)
        elif name == "setting":
            stack[-1].take(f"configuration.{attributes.get('id', '')}", attributes.get("value", ""))
        elif name == "capability":
            stack[-1].take(f"capabilities.{attributes.get('id', '')}", "true")

    def end(name: str) -> None:
        if name == "node" and len(stack) > 1:
            stack.pop()
        elif name in _ELEMENTS:
            stack[-1].take(name, "".join(words).strip()[:_LONGEST_VALUE])
        words.clear()

    xml.parse(data, start, end, into, text=words.append)
    return root


def _from_text(lines: Sequence[str]) -> _Node:
    root = _Node()
    stack: list[tuple[int, _Node]] = [(-1, root)]
    for line in lines:
        start = _NODE.match(line)
        if start is not None:
            depth = len(start[1].expandtabs())
            while stack[-1][0] >= depth:
                stack.pop()
            node = _Node({"id": start[2]})
            stack[-1][1].children.append(node)
            stack.append((depth, node))
        elif (found := _PROPERTY.match(line)) is not None:
            _property(stack[-1][1], found[1], found[2].strip())
    return root


def _property(node: _Node, name: str, value: str) -> None:
    name = name if name in _ENGLISH else _meaning(node, name, value)
    if name in ("configuration", "capabilities"):
        for word in value.split():
            key, _, setting = word.partition("=")
            node.take(f"{name}.{key}", setting or "true")
    elif name == "bus info":
        node.take("businfo", value)
        _name_by_place(node)
    elif name:
        node.take({"logical name": "logicalname"}.get(name, name), value)


def _meaning(node: _Node, name: str, value: str) -> str:
    """Return what a property is called in English; nothing where its value does not tell."""
    words = value.split()
    if value.startswith("pci@"):
        return "bus info"
    if "driver=" in value or "latency=" in value:
        return "configuration"
    if _FLAGS.intersection(words):
        return "capabilities"
    if "businfo" in node.properties:
        after = [key for key in node.properties if key.startswith("after ")]
        node.take(f"after {name}", value)
        return "logical name" if not after and len(words) == 1 and _LOGICAL_NAME.match(value) else ""
    node.take(f"before {len(node.properties)}", value)
    return ""


def _name_by_place(node: _Node) -> None:
    """Name the properties before the bus info: description, product, vendor, physical id, in this order."""
    before = [value for key, value in node.properties.items() if key.startswith("before ")]
    unnamed = [name for name in ("description", "product", "vendor") if name not in node.properties]
    for name, value in zip(unnamed, before[:-1], strict=False):
        node.take(name, value)


def read_table(lines: Sequence[str], into: Reading) -> None:
    """Read ``lshw -businfo``: address, device, class and description, columns of which any may be empty."""
    for line in lines:
        words = line.lstrip(" \t>|").split()
        if not words or not words[0].startswith("pci@"):
            continue
        place = next((number for number, word in enumerate(words[1:3], start=1) if word in _ROW_WORDS), None)
        try:
            address = Address.parse(words[0].removeprefix("pci@"))
        except ValueError:
            continue
        if place is None:
            continue
        draft = into.draft(address)
        device = words[1] if place == 2 else ""
        is_drive = device.startswith("/dev/nvme")
        draft.identity["class_code"] = _NVME if is_drive else _ROW_CLASSES.get(words[place])
        draft.identity["device_name"] = " ".join(words[place + 1 :]) or None
        _interface(draft, device)
    into.kinds.append("lshw")


def _walk(root: _Node) -> Iterator[tuple[_Node, Address | None]]:
    """List nodes with the bridge above them; a host bridge is above nobody."""
    waiting: list[tuple[_Node, Address | None]] = [(root, None)]
    while waiting:
        node, above = waiting.pop()
        yield node, above
        own = _address(node)
        is_bridge = own is not None and node.properties.get("description") != "Host bridge"
        waiting += [(child, own if is_bridge else above) for child in reversed(node.children)]


def _address(node: _Node) -> Address | None:
    kind, at, text = node.properties.get("businfo", "").partition("@")
    if kind != "pci" or not at:
        return None
    try:
        return Address.parse(text)
    except ValueError:
        return None


def _functions(root: _Node, into: Reading) -> None:
    for node, above in _walk(root):
        address = _address(node)
        if address is None:
            _beside(node, above, into)
            continue
        draft = into.draft(address)
        draft.parent = above
        _describe(node, draft)
    into.shows_tree = True
    into.kinds.append("lshw")


def _beside(node: _Node, above: Address | None, into: Reading) -> None:
    """Take what nodes below a function say about it: the drive of an NVMe controller, interfaces."""
    if above is None or above not in into.drafts:
        return
    draft, properties = into.drafts[above], node.properties
    if properties.get("description") == "NVMe device" or properties.get("id", "").startswith("nvme"):
        draft.function.setdefault("model", properties.get("product"))
        _interface(draft, properties.get("logicalname", ""))


def _describe(node: _Node, draft: Draft) -> None:
    properties, identity = node.properties, draft.identity
    description = properties.get("description", "")
    identity["class_name"] = _CLASSES.get(description, description) or None
    base = _ROW_CLASSES.get(properties.get("id", "").partition(":")[0])
    if base is not None and pci_ids.load().class_by_name(identity["class_name"] or "") is None:
        # The description is in another language, and the node is named for its class in any.
        identity["class_name"], identity["class_code"] = None, base
    vendor, product = properties.get("vendor"), properties.get("product")
    if description == "NVMe device":
        # The names are the drive's own, not those of `pci.ids`.
        draft.function["model"] = product
        vendor = product = None
    for printed, id_, name in ((vendor, *_VENDOR), (product, *_DEVICE)):
        number = _NUMBERS.search(printed or "")
        if number is not None:
            identity[id_] = int(number[1] or number[2], 16)
        identity[name] = _NUMBERS.sub("", printed or "") or None
    draft.registers["express"] = "capabilities.pciexpress" in properties or None
    draft.function["driver"] = properties.get("configuration.driver")
    draft.function["driver_known"] = True
    draft.function["firmware"] = properties.get("configuration.firmware")
    draft.function["physical_slot"] = properties.get("slot")
    _interface(draft, properties.get("logicalname", ""))
    bus = _BUS.match(properties.get("handle", ""))
    if bus is not None and description != "Host bridge":
        draft.buses = Buses(draft.address.bus, int(bus[1], 16), int(bus[1], 16))


def _interface(draft: Draft, logical_name: str) -> None:
    name = logical_name.removeprefix("/dev/")
    if name and "/" not in name:
        draft.add_interface(name)
