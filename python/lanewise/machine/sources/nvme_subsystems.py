"""`nvme list-subsys`: which drive is at which address, and whether its controller is alive.

A line for each path, text (``+- nvme0 pcie 0000:01:00.0 live``) or JSON. ``dead`` is a controller that the
driver has given up; one that is ``resetting`` or ``connecting`` has just failed. Paths across a network are
left out. Source: nvme-cli 1.16 to 2.11, ``nvme-print-stdout.c`` and ``nvme-print-json.c``, read for the
format only; Linux, drivers/nvme/host/core.c (`nvme_sysfs_show_state`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Kind
from lanewise.machine.kernel_event import EventKind, KernelEvent
from lanewise.machine.sources.documents import documents_of, objects_of, text_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

_FUNCTION = r"[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7]"
_STATES = {"live": "OK", "new": "OK", "resetting": "Warning", "connecting": "Warning", "dead": "Critical"}
"""What a state is in words of Redfish; ``deleting`` is meant."""
_PATH = re.compile(
    rf"\+-{{1,3}} (nvme\d{{1,5}}) pcie (?:traddr=)?({_FUNCTION})\b.{{0,80}}?\b({'|'.join(_STATES)})\b"
)
LOOKS_LIKE = _PATH
JSON_SIGNS = re.compile(rf'"Transport" ?: ?"pcie",\s{{0,40}}"Address" ?: ?"(?:traddr=)?{_FUNCTION}"')
_NVME = 0x010802


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all paths of a text."""
    found = [path for line in lines for path in _PATH.finditer(line)]
    for path in found:
        _drive(path[1], Address.parse(path[2]), path[3], into)
    if found:
        into.kinds.append("nvme list-subsys")


def read_document(document: str, into: Reading) -> None:
    """Read the same in JSON."""
    before = len(into.drafts)
    for found in documents_of(document):
        for one in objects_of(found):
            address = Address.find(text_at(one, "Address").removeprefix("traddr="))
            if text_at(one, "Transport") == "pcie" and address is not None and text_at(one, "State"):
                _drive(text_at(one, "Name"), address, text_at(one, "State"), into)
    if len(into.drafts) > before:
        into.kinds.append("nvme list-subsys")


def _drive(name: str, address: Address, state: str, into: Reading) -> None:
    draft = into.draft(address)
    draft.kind = Kind.ENDPOINT
    draft.identity["class_code"] = _NVME
    draft.add_interface(name)
    draft.function["driver"], draft.function["driver_known"] = "nvme", True
    health = _STATES.get(state)
    draft.function["stated_health"] = health
    if health not in ("OK", None):
        line = f"nvme list-subsys: {name} pcie {address} {state}"
        into.events.append(KernelEvent(EventKind.CALLED_UNHEALTHY, line, address, name=name))
