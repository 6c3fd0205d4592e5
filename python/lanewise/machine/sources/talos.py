"""Talos Linux: ``talosctl get pcidevices -o yaml``, one document of YAML per function.

Tells class, vendor and product in words and numbers, and the driver; nothing of links, and not who is below
whom. Read line by line, for the few keys that count. Source: Talos 1.5 to 1.11, ``PCIDeviceSpec``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.sources.numbers import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

LOOKS_LIKE = re.compile(r"^[ \t]{1,12}type: PCIDevices\.hardware\.talos\.dev[ \t]*$", re.MULTILINE)
"""The type of the resource."""
_PAIR = re.compile(
    r"^[ \t]{0,12}(node|type|id|class_id|subclass_id|vendor_id|product_id|product|vendor|driver): (.{1,200})$"
)
_WANTED = "PCIDevices.hardware.talos.dev"


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all functions; of several nodes only the first is one machine."""
    document: dict[str, str] = {}
    node = None
    for line in [*lines, "---"]:
        pair = _PAIR.match(line)
        if line.startswith("---") or (pair is not None and pair[1] == "node" and "type" in document):
            node = node or document.get("node")
            if document.get("node", node) == node:
                _function(document, into)
            else:
                into.note(f"several nodes are in it: only the first, {node}, was read")
            document = {}
        if pair is not None:
            document.setdefault(pair[1], pair[2].strip(" \"'"))
    into.hostname = into.hostname or node
    into.kinds.append("Talos")


def _function(document: dict[str, str], into: Reading) -> None:
    if document.get("type") != _WANTED:
        return
    try:
        draft = into.draft(Address.parse(document.get("id", "")))
    except ValueError:
        return
    identity = draft.identity
    base, sub = (whole(document.get(key), 16) for key in ("class_id", "subclass_id"))
    if base is not None and sub is not None:
        identity["class_code"] = (base & 0xFF) << 16 | (sub & 0xFF) << 8
    for key, field in (("vendor_id", "vendor_id"), ("product_id", "device_id")):
        number = whole(document.get(key), 16)
        if number is not None:
            identity[field] = number & 0xFFFF
    identity["vendor_name"], identity["device_name"] = document.get("vendor"), document.get("product")
    if "driver" in document:
        draft.function["driver"], draft.function["driver_known"] = document["driver"], True
