"""`lshw` and `lshw -json`: who is below whom, names, drivers, interfaces and what drives call themselves.

Both are trees of nodes with properties; a function of PCI has ``pci@0000:01:00.0`` as its bus info. The nodes
below a host bridge are beside it on its bus; below other bridges they are below. Neither says speeds and
widths of links, payload sizes or errors, and the numbers of vendor and device only with ``-numeric``. Leaves
out: everything that is no function of PCI. Source: lshw B.02.19, ``hw.cc`` and ``print.cc``, read for the
format only.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Buses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lanewise.machine.assembly import Reading
    from lanewise.machine.draft import Draft

LOOKS_LIKE_LSHW_JSON = re.compile(r'"businfo"\s*:\s*"pci@[0-9a-fA-F]')
"""The bus info of a function in JSON."""
LOOKS_LIKE_LSHW = re.compile(r"^[ \t>|]*bus info: pci@[0-9a-fA-F]", re.MULTILINE)
"""The bus info of a function in text."""

_TOKEN = re.compile(r'"((?:[^"\\]++|\\[\s\S])*+)(?:"\s*+(:)?|\\?\Z)|([{}])')
_ESCAPED = re.compile(r"\\(.)")
_NODE = re.compile(r"^([ \t>|]*)\*-(\S+)(?: (?:UNCLAIMED|DISABLED))*\s*$")
_PROPERTY = re.compile(r"^[ \t>|]+([a-z][a-z ]*): (.*)$")
_NUMBERS = re.compile(r"(?<!\s)\s*+\[(?:[0-9a-fA-F]{4}:)?([0-9a-fA-F]{4})\]$")
_BUS = re.compile(r"PCIBUS:[0-9a-fA-F]+:([0-9a-fA-F]{1,2})$")
_MOST_DEEP = 200
_LONGEST_VALUE = 4096
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
    if name in ("configuration", "capabilities"):
        for word in value.split():
            key, _, setting = word.partition("=")
            node.take(f"{name}.{key}", setting or "true")
    else:
        node.take({"bus info": "businfo", "logical name": "logicalname"}.get(name, name), value)


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
    vendor, product = properties.get("vendor"), properties.get("product")
    if description == "NVMe device":
        # The names are the drive's own, not those of `pci.ids`.
        draft.function["model"] = product
        vendor = product = None
    for who, printed in (("vendor", vendor), ("device", product)):
        number = _NUMBERS.search(printed or "")
        if number is not None:
            identity[f"{who}_id"] = int(number[1], 16)
        identity[f"{who}_name"] = _NUMBERS.sub("", printed or "") or None
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
