"""Whether GPUs have links of their own between them, as far as names and other functions of the machine tell.

What a vendor's tool says about two GPUs is `Machine.own_links`; this is for sources without such a tool.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.model import OWN_LINKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.model import Function, Machine

_NVIDIA = 0x10DE

_MODULES = re.compile(r"\b(?:SXM\d?|OAM|MI2[05]0X?|MI3\d\dX|HGX|GB[23]00|NVL)\b")
"""Names of GPUs that come with links between them, on one board or by a bridge (pci.ids)."""


def come_with_own_links(machine: Machine, gpus: Sequence[Function]) -> bool:
    """Whether GPUs are modules that always have links between them, or a source shows such links."""
    return any(map(_is_module, gpus)) or shows_own_links(machine, gpus)


def shows_own_links(machine: Machine, gpus: Sequence[Function]) -> bool:
    """Whether some source shows links between GPUs, like NVLink, or the switches that such links need."""
    addresses = {gpu.address for gpu in gpus}
    shown = any(
        relation.path in OWN_LINKS and {relation.first_address, relation.second_address} & addresses
        for relation in machine.relations
    )
    return shown or any(
        function.identity.vendor_id == _NVIDIA and function.is_class(0x0680) for function in machine
    )


def _is_module(gpu: Function) -> bool:
    return _MODULES.search(gpu.name) is not None
