"""GPUs, accelerators, adapters, switches and processors that are known by name or number, and their parts.

A part says what no dump does: the units in which a GPU copies, what an adapter takes for a message. What the
dump does say (link, payload and request sizes, tags) holds before it. Drives are in `drives`; a name that
could be two devices is neither. Cards of one chip have one part where PCI Express cannot tell them apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.machine.drives import drive_part
from lanewise.machine.known import known_as
from lanewise.machine.known_parts import HOSTS, OTHERS, SWITCHES

if TYPE_CHECKING:
    from lanewise.machine.function import Function
    from lanewise.machine.model import Machine

_ACCELERATOR = 0x12
"""Base class of processing accelerators."""


def switch_part(bridge: Function) -> str | None:
    """Return the catalog part for the switch of a bridge; None when its family has none."""
    return known_as(bridge, (bridge.identity.device_name,), SWITCHES)


def host_part(machine: Machine) -> str | None:
    """Return the catalog part of the processors; None when no function of theirs tells which they are.

    Only processors whose host bridges or data fabrics are in no others: none of servers, nor Threadripper,
    which shares them with EPYC. Small boards have no host bridge, and are known by their root ports.
    """
    kinds = {}
    for bridge in machine.host_bridges or machine.roots:
        identity = bridge.identity
        kinds[identity.vendor_id, identity.device_id, identity.device_name] = bridge
    found = {known_as(bridge, (bridge.identity.device_name,), HOSTS) for bridge in kinds.values()} - {None}
    return found.pop() if len(found) == 1 else None


def part_of(function: Function) -> str | None:
    """Return the catalog part of a device; None when it is not known which device it is."""
    if function.virtual:
        return None
    return drive_part(function) or _other_part(function)


def gpu_part(function: Function) -> str | None:
    """Return the catalog part of a GPU, which says what its copy engines do; None for others."""
    return part_of(function) if function.is_gpu else None


def _other_part(function: Function) -> str | None:
    """Return the part of a GPU, an adapter or an accelerator; sound of a graphics card has its name, too."""
    if not (function.is_gpu or function.is_nic or function.is_storage or function.is_class(_ACCELERATOR)):
        return None
    identity = function.identity
    return known_as(function, (identity.subsystem_name, identity.device_name), OTHERS)
