"""Gives functions that are being read their names by number, and their numbers by name.

Works in both directions, because `lspci` without ``-nn`` prints names and no numbers, and rules ask for
numbers. A name that several numbers have gives none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine import pci_ids

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.draft import Draft
    from lanewise.machine.pci_ids import PciIds
    from lanewise.machine.said import IdentitySaid

_DEVICE = re.compile(r"(?:Unknown d|D)evice(?: (?:([0-9a-f]{4}):)?([0-9a-f]{4}))?$")
_CLASS = re.compile(r"(?:Unknown class|Class) \[?([0-9a-f]{4})\]?$")


def complete(drafts: Iterable[Draft]) -> PciIds:
    """Give numbers their names, and names their numbers where they are unmistakable; return the list used."""
    ids = pci_ids.load()
    for draft in drafts:
        _complete_class(draft, ids)
        _complete_device(draft, ids)
    return ids


def _complete_class(draft: Draft, ids: PciIds) -> None:
    identity = draft.identity
    name, code = identity.get("class_name"), identity.get("class_code")
    if code is None and name is not None:
        number = _CLASS.match(name)
        subclass = int(number[1], 16) if number else _class_in(name, ids)
        if subclass is not None:
            identity["class_code"] = subclass << 8 | (draft.interface or 0)
    elif name is None and code is not None:
        identity["class_name"] = ids.class_name(code >> 8)


def _class_in(name: str, ids: PciIds) -> int | None:
    """Look a class up by its name, which ESXi prints behind that of its base class."""
    known = ids.class_by_name(name)
    while known is None and " " in name:
        name = name.partition(" ")[2]
        known = ids.class_by_name(name)
    return known


def _complete_device(draft: Draft, ids: PciIds) -> None:
    identity = draft.identity
    _complete_vendor(identity, ids)
    vendor_id, printed = identity.get("vendor_id"), identity.get("device_name")
    if printed is not None:
        number = _DEVICE.match(printed)
        if number:
            identity["device_name"] = None
            if number[2]:
                identity.setdefault("device_id", int(number[2], 16))
            if number[1]:
                vendor_id = identity.setdefault("vendor_id", int(number[1], 16))
        elif vendor_id is not None and identity.get("device_id") is None:
            identity["device_id"] = ids.device_by_name(vendor_id, printed)
    if vendor_id is None:
        return
    if identity.get("vendor_name") is None and identity.get("device_name") is None:
        # A printed name that begins with no known vendor has one of another year in it.
        identity["vendor_name"] = ids.vendor(vendor_id)
    device_id = identity.get("device_id")
    if identity.get("device_name") is None and device_id is not None:
        identity["device_name"] = ids.device(vendor_id, device_id)


def _complete_vendor(identity: IdentitySaid, ids: PciIds) -> None:
    """Split vendor and device where they are printed as one; lists for programs print them apart."""
    printed, vendor = identity.get("device_name"), identity.get("vendor_name")
    if printed is not None and vendor is None:
        numbers, vendor, rest = ids.split(printed)
        if vendor is None:
            return
        identity["vendor_name"], identity["device_name"] = vendor, rest or None
    elif vendor is not None and identity.get("vendor_id") is None:
        numbers, _, _ = ids.split(vendor)
        rest = printed or ""
    else:
        return
    if len(numbers) > 1:
        numbers = [number for number in numbers if ids.device_by_name(number, rest) is not None]
    if len(numbers) == 1:
        identity.setdefault("vendor_id", numbers[0])
