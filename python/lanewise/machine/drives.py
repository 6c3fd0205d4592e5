"""NVMe drives that are known by name, and the catalog parts that have their published rates.

A drive names itself (`Function.model`, from a live system), its subsystem is in `pci.ids`, or its controller
is in no other drive. Controllers of several products, like Samsung's PM9A1/PM9A3/980PRO, say nothing: a name
that could be two drives is neither. Sizes are not told apart: a part has the rates of one, and says of which.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lanewise.machine.function import Function

_PARTS = {
    "samsung-pm9a3": r"\bPM9A3\b|\bMZ(QL2|1L2|OL2)",
    "samsung-pm1733": r"\bPM1733\b|\bMZWLJ",
    "samsung-970-pro": r"\b970 PRO\b",
    "samsung-980-pro": r"\b980 ?PRO\b",
    "samsung-990-pro": r"\b990 ?PRO\b",
    "micron-7300-pro": r"\b7300 PRO\b|\bMicron_7300_MTFDH\w+TDF",
    "micron-7450-pro": r"\b7450 PRO\b|\bMicron_7450_MTFDK\w+TFR",
    "kioxia-cd6": r"\bCD6\b|\bKCD6",
    "kioxia-cm6": r"\bCM6\b|\bKCM6",
    "wd-sn850x": r"\bSN850X\b",
    "intel-p3700": r"\bP3700\b",
    "intel-p4500": r"\bP4500\b|\bSSDPE2KX\d{3}T7",
    "intel-p4510": r"\bP4510\b|\bSSDPE2KX\d{3}T8",
    "intel-d7-p5500": r"\bP55[012]0\b|\bSSDPF2KX",
    "intel-900p": r"\b900P\b|\bSSDPED1D",
    "intel-p4800x": r"\bP4800X\b|\bSSDPE21K",
    "intel-p5800x": r"\bP5800X\b|\bSSDPF21Q",
}
"""Catalog parts, and how the drives call themselves, or `pci.ids` calls them."""

_OTHERS = r"\bPM9A1\b|\bP4600\b|\bP4610\b|\bSM981\b|\b7450 MAX\b|\b7300 MAX\b"
"""Other drives that share controllers with those above."""


def drive_part(function: Function) -> str | None:
    """Return the catalog part of a drive; None when it is not known which drive it is."""
    if not function.is_nvme:
        return None
    identity = function.identity
    for name in (function.model, identity.subsystem_name, identity.device_name):
        if name and not re.search(_OTHERS, name):
            found = [part for part, words in _PARTS.items() if re.search(words, name, re.IGNORECASE)]
            if len(found) == 1:
                return found[0]
    return None
