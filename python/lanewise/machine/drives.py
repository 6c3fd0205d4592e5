"""NVMe drives that are known by name, and the catalog parts that have their published rates.

A drive names itself (`Function.model`, from a live system), its subsystem is in `pci.ids`, or its controller
is in no other drive. Controllers of several products, like Samsung's PM9A1/PM9A3/980PRO, say nothing: a name
that could be two drives is neither. Sizes are not told apart: a part has the rates of one, and says of which.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.known import known_as
from lanewise.machine.known_parts import DRIVES

if TYPE_CHECKING:
    from lanewise.machine.function import Function

_OTHERS = r"\bPM9A1/|\bP4600\b|\bSM981\b|\b7450 MAX\b|\b7300 MAX\b"
"""Other drives that share controllers with those of the catalog."""


def drive_part(function: Function) -> str | None:
    """Return the catalog part of a drive; None when it is not known which drive it is."""
    if not function.is_nvme:
        return None
    identity = function.identity
    names = (function.model, identity.subsystem_name, identity.device_name)
    telling = [name for name in names if name and not re.search(_OTHERS, name)]
    return known_as(function, telling, DRIVES)
