"""`xpu-smi health`: Intel's GPUs by number, with the state of each part as the tool judges it.

A table for each GPU: ``Device ID``, then parts (``1. GPU Core Temperature``) with ``Status: Ok``,
``Warning``, ``Critical`` or ``Unknown``, and a description. `xpu-smi discovery` has the addresses. Source:
Intel XPU Manager 1.2, "Get the GPU device component health status", for the form only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.sources.numbered_health import Told

if TYPE_CHECKING:
    from collections.abc import Sequence

_ROW = re.compile(r"[ \t>]{0,16}\|([^|\n]{1,80})\|([^|\n]{0,400})")
_PART = re.compile(r"\d{1,2}\. (\w[\w ]{2,40})$")
_STATUS = re.compile(r"Status: (Ok|Warning|Critical|Unknown)\b")
_HEALTH = {"Ok": "OK", "Warning": "Warning", "Critical": "Critical"}
_SAID = "Description: "
_INTEL = 0x8086


def take(lines: Sequence[str]) -> Told | None:
    """Return what a text says; None where it has no such table."""
    told = Told("xpu-smi health", _INTEL, "xpu-smi discovery")
    gpu: int | None = None
    part, state = "", ""
    for line in lines:
        row = _ROW.match(line)
        if row is None:
            continue
        left, right = row[1].strip(), row[2].strip()
        if left == "Device ID":
            gpu, part = (int(right) if right.isdigit() else None), ""
        elif (named := _PART.match(left)) is not None:
            part = named[1]
        if gpu is None or not part:
            continue
        if (status := _STATUS.match(right)) is not None:
            state = _HEALTH.get(status[1], "")
            told.say(gpu, state or None, f"{part}: {status[1]}" if state else "")
        elif right.startswith(_SAID) and state:
            told.say(gpu, state, f"{part}: {right.removeprefix(_SAID)}")
    return told if told.health else None
