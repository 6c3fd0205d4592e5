"""libvirt: what ``virsh nodedev-dumpxml`` prints of PCI devices, one after the other.

A ``<device>`` has its address in decimal, its numbers and names, its driver, its IOMMU group and node, and
two modes of its link: ``validity='cap'`` is the most that it can do, ``validity='sta'`` how it runs. Such
text stands below prompts and breaks off, so it is searched, not parsed. Leaves out the tree: the ports on a
device's path say nothing of themselves. Source: libvirt, ``docs/formatnode.rst``, for the form only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Kind
from lanewise.machine.registers import LinkMode
from lanewise.machine.sources.numbers import line_rate, natural, whole

if TYPE_CHECKING:
    from lanewise.machine.assembly import Reading
    from lanewise.machine.draft import Draft

JSON_SIGNS = re.compile(r"<capability type=['\"]pci['\"]>")
"""What every PCI device of libvirt has."""
_DEVICE = re.compile(r"<device>")
_MOST_OF_ONE = 16 << 10
"""Characters of one device that are looked at: those with many virtual functions list them all."""
_PLACE = re.compile(
    r"<domain>(\d{1,9})</domain>\s{0,80}<bus>(\d{1,3})</bus>\s{0,80}<slot>(\d{1,2})</slot>\s{0,80}"
    r"<function>(\d)</function>"
)
_LINK = re.compile(
    r"<link validity=['\"](cap|sta)['\"](?: port=['\"]\d{1,5}['\"])?(?: speed=['\"]([\d.]{1,5})['\"])?"
    r" width=['\"](\d{1,3})['\"]"
)
_CLASS = re.compile(r"<class>(0x[0-9a-f]{6})</class>")
_NUMBER = re.compile(r"<(vendor|product) id=['\"](0x[0-9a-f]{4})['\"](?:/|>([^<\n]{0,200}))")
_DRIVER = re.compile(r"<driver>\s{0,80}<name>([\w-]{1,40})</name>")
_GROUP = re.compile(r"<iommuGroup number=['\"](\d{1,6})['\"]")
_NODE = re.compile(r"<numa node=['\"](\d{1,4})['\"]")
_OWNER = re.compile(
    r"<capability type=['\"]phys_function['\"]>\s{0,80}<address domain=['\"](0x[0-9a-f]{1,8})['\"] "
    r"bus=['\"](0x[0-9a-f]{1,2})['\"] slot=['\"](0x[0-9a-f]{1,2})['\"] function=['\"](0x[0-7])['\"]"
)


def read_document(document: str, into: Reading) -> None:
    """Read all PCI devices of a text."""
    starts = [match.start() for match in _DEVICE.finditer(document)]
    for start, end in zip(starts, [*starts[1:], None], strict=True):
        text = document[start:end][:_MOST_OF_ONE]
        place = _PLACE.search(text) if JSON_SIGNS.search(text) else None
        if place is None:
            continue
        domain, bus, slot, function = map(int, place.groups())
        if bus < 256 and slot < 32 and function < 8:
            _take(into.draft(Address(domain, bus, slot, function)), text)
    if into.drafts:
        into.kinds.append("virsh nodedev")


def _take(draft: Draft, text: str) -> None:
    identity, function = draft.identity, draft.function
    code, driver = _CLASS.search(text), _DRIVER.search(text)
    group, node, owner = _GROUP.search(text), _NODE.search(text), _OWNER.search(text)
    if code is not None and code[1] != "0xffffff":
        identity["class_code"] = int(code[1], 16)
    for what, number, name in _NUMBER.findall(text):
        identity["vendor_id" if what == "vendor" else "device_id"] = int(number, 16)
        if name.strip():
            identity["vendor_name" if what == "vendor" else "device_name"] = name.strip()
    function["driver"], function["driver_known"] = driver[1] if driver else None, True
    function["iommu_group"] = natural(group[1]) if group else None
    function["numa_node"] = natural(node[1]) if node else None
    if owner is not None:
        parts = (whole(part, 0) or 0 for part in owner.groups())
        function["physical_function"], function["virtual"] = Address(*parts), True
    for validity, speed, width in _LINK.findall(text):
        mode = LinkMode(line_rate(speed), natural(width))
        if validity == "cap":
            draft.link["capability"] = mode
        else:
            draft.link["status"] = mode
        draft.registers["express"] = True
    if "type='pci-bridge'" not in text and draft.link:
        draft.kind = Kind.ENDPOINT
