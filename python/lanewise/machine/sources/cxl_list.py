"""`cxl list -M`: memory behind CXL by address, and with ``-H`` whether the device calls itself healthy.

Names (``mem0``), sizes and nodes come with every list. What a device says of its health is ``Critical`` here
where it asks to be replaced or its memory cannot be used, ``Warning`` where it asks for anything else.
Source: ndctl 80, ``Documentation/cxl/cxl-list.txt`` and ``cxl/json.c`` (`util_cxl_memdev_health_to_json`),
read for the format only; CXL 3.0, 8.2.9.8.3.1 (Get Health Info).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Kind
from lanewise.machine.kernel_event import EventKind, KernelEvent
from lanewise.machine.sources.documents import documents_of, objects_of, text_at
from lanewise.machine.sources.numbers import natural

if TYPE_CHECKING:
    from lanewise.machine.assembly import Reading

JSON_SIGNS = re.compile(r'"memdev" ?: ?"mem\d')
_MEMORY = 0x050210
"""Class of memory behind CXL: PCI Code and ID Assignment 1.16."""
_CRITICAL = re.compile(r"hw_replacement_needed|media_not_ready|media_(?:persistence|data)_lost")
_WARNING = re.compile(r"maintenance_needed|performance_degraded|media_\w{4,32}_loss(?:_imminent)?")


def read_document(document: str, into: Reading) -> None:
    """Read all memory devices that are functions of this machine."""
    before = len(into.drafts)
    for found in documents_of(document):
        for one in objects_of(found):
            address = Address.find(text_at(one, "host")) if isinstance(one.get("memdev"), str) else None
            if address is not None:
                _memory(address, one, into)
    if len(into.drafts) > before:
        into.kinds.append("cxl list")


def _memory(address: Address, said: dict[str, object], into: Reading) -> None:
    draft = into.draft(address)
    draft.kind = Kind.ENDPOINT
    draft.identity["class_code"] = _MEMORY
    draft.add_interface(text_at(said, "memdev"))
    draft.function["numa_node"] = natural(text_at(said, "numa_node"))
    health = said.get("health")
    if not isinstance(health, dict):
        return
    bad = [key for key, value in health.items() if _is_bad(key, value)]
    critical = [key for key in bad if _CRITICAL.fullmatch(key) or health[key] == "critical"]
    draft.function["stated_health"] = "Critical" if critical else "Warning" if bad else "OK"
    if bad:
        told = ", ".join(f"{key} {str(health[key]).lower()}" for key in [*critical, *bad])
        line = f"cxl list: {text_at(said, 'memdev')}: {', '.join(dict.fromkeys(told.split(', ')))}"
        into.events.append(KernelEvent(EventKind.CALLED_UNHEALTHY, line, address))


def _is_bad(key: str, value: object) -> bool:
    if key == "media_normal":
        return value is False
    if value is True:
        return bool(_CRITICAL.fullmatch(key) or _WARNING.fullmatch(key))
    return value in ("warning", "critical") and key.startswith("ext_")
