"""Talos Linux: ``talosctl get pcidevices`` as a table, and with ``-o yaml`` as one document per function.

Both tell class, vendor and product in words; YAML has the numbers and the driver, too. Nothing of links, and
not who is below whom. YAML is read line by line, for the few keys that count. Columns of the table are three
blanks apart, and an unclassified device has no subclass. Source: Talos 1.5 to 1.11, ``PCIDeviceSpec``, and
outputs of machines.
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
_ROW = r"^[ \t>]{0,16}(\S{1,80})[ \t]{1,80}hardware[ \t]{1,80}PCIDevice[ \t]{1,80}"
LOOKS_LIKE_TABLE = re.compile(_ROW + r"[0-9a-f]{4,8}:", re.MULTILINE)
"""A row of the table: node, namespace, type, and the address as the name."""
_FUNCTION_ROW = re.compile(_ROW + r"([0-9a-f:.]{12,16})[ \t]{1,80}\d{1,9}(?:[ \t]{2,80}(\S.{0,400}))?$")
_BETWEEN = re.compile(r" {2,}")
_WITHOUT_SUBCLASS = "Unclassified device"


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


def read_table(lines: Sequence[str], into: Reading) -> None:
    """Read all rows; of several nodes only the first is one machine."""
    for line in lines:
        row = _FUNCTION_ROW.match(line.rstrip())
        if row is None:
            continue
        if row[1] != (into.hostname or row[1]):
            into.note(f"several nodes are in it: only the first, {into.hostname}, was read")
            continue
        try:
            draft = into.draft(Address.parse(row[2]))
        except ValueError:
            continue
        into.hostname = row[1]
        words = _BETWEEN.split(row[3] or "")
        if words[0] == _WITHOUT_SUBCLASS:
            words.insert(1, words[0])
        names = (*words[1:], None, None, None)
        draft.identity["class_name"] = names[0] or words[0] or None
        draft.identity["vendor_name"], draft.identity["device_name"] = names[1], names[2]
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
    vendor, device = (whole(document.get(key), 16) for key in ("vendor_id", "product_id"))
    if vendor is not None:
        identity["vendor_id"] = vendor & 0xFFFF
    if device is not None:
        identity["device_id"] = device & 0xFFFF
    identity["vendor_name"], identity["device_name"] = document.get("vendor"), document.get("product")
    if "driver" in document:
        draft.function["driver"], draft.function["driver_known"] = document["driver"], True
