"""GPUs and network adapters that are known by name or number, and their catalog parts.

A part says what no dump does: the units in which a GPU copies, what an adapter takes for a message. What the
dump does say (link, payload and request sizes, tags) holds before it. Drives are in `drives`; a name that
could be two devices is neither. Cards of one chip have one part where PCI Express cannot tell them apart.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.drives import drive_part

if TYPE_CHECKING:
    from lanewise.machine.function import Function

_NVIDIA, _AMD, _MELLANOX, _INTEL = 0x10DE, 0x1002, 0x15B3, 0x8086

_BY_NUMBER = {
    (_NVIDIA, 0x2BB5): "nvidia-rtx-pro-6000-blackwell",
    (_NVIDIA, 0x2330): "nvidia-h100-sxm",
}
"""Devices that older copies of `pci.ids` do not name.

Numbers in public dumps of an ASUS ESC8000A-E13P and a Dell XE9680.
"""

_BY_NAME = (
    (_NVIDIA, r"\bV100S?\b", "nvidia-v100-pcie"),
    (_NVIDIA, r"Quadro RTX [68]000", "nvidia-rtx-6000-turing"),
    (_NVIDIA, r"\bA[18]00-?\s?-?SXM", "nvidia-a100-sxm"),
    (_NVIDIA, r"\bA100 PCIe|\bA800 \d+GB PCIe", "nvidia-a100-pcie"),
    (_NVIDIA, r"\[A10\]", "nvidia-a10"),
    (_NVIDIA, r"RTX A6000\]", "nvidia-rtx-a6000"),
    (_NVIDIA, r"RTX 4090\]", "nvidia-rtx-4090"),
    (_NVIDIA, r"RTX 6000 Ada", "nvidia-rtx-6000-ada"),
    (_NVIDIA, r"\[L40S?\]", "nvidia-l40s"),
    (_NVIDIA, r"H[18]00 PCIe|H100 NVL", "nvidia-h100-pcie"),
    (_NVIDIA, r"\[H200", "nvidia-h200"),
    (_NVIDIA, r"\[H[18]00\]|\[H100 SXM", "nvidia-h100-sxm"),
    (_NVIDIA, r"\[B200\]|\[HGX B200", "nvidia-b200"),
    (_NVIDIA, r"RTX 5090\]", "nvidia-rtx-5090"),
    (_NVIDIA, r"RTX PRO 6000 Blackwell", "nvidia-rtx-pro-6000-blackwell"),
    (_AMD, r"\bMI100\b", "amd-mi100"),
    (_AMD, r"\bMI250X?\b", "amd-mi250x"),
    (_AMD, r"\bMI300X\b", "amd-mi300x"),
    (_AMD, r"RX 7900 XT", "amd-rx-7900-xtx"),
    (_MELLANOX, r"ConnectX-3( Pro)?\]", "mellanox-connectx-3"),
    (_MELLANOX, r"ConnectX-4 Lx\]", "mellanox-connectx-4-lx"),
    (_MELLANOX, r"ConnectX-4\]", "mellanox-connectx-4"),
    (_MELLANOX, r"ConnectX-5( Ex)?\]", "mellanox-connectx-5"),
    (_MELLANOX, r"ConnectX-6\]", "nvidia-connectx-6"),
    (_MELLANOX, r"ConnectX-6 Dx\]", "nvidia-connectx-6-dx"),
    (_MELLANOX, r"ConnectX-7\]", "nvidia-connectx-7"),
    (_MELLANOX, r"ConnectX-8\]", "nvidia-connectx-8"),
    (_MELLANOX, r"BlueField-3 integrated", "nvidia-bluefield-3"),
    (_INTEL, r"\bE810-C\b", "intel-e810"),
    (_INTEL, r"\b82599", "intel-x520"),
)
"""Vendors, names in `pci.ids`, and parts."""


_SWITCHES = {r"\bPEX890xx\b": "broadcom-pex89144", r"\bPEX880xx\b": "broadcom-pex88096"}
"""Switches, by what `pci.ids` calls their bridges: the family, of which a part stands for all."""


def switch_part(bridge: Function) -> str | None:
    """Return the catalog part for the switch of a bridge; None when its family has none."""
    name = bridge.identity.device_name or ""
    return next((part for words, part in _SWITCHES.items() if re.search(words, name)), None)


def part_of(function: Function) -> str | None:
    """Return the catalog part of a device; None when it is not known which device it is."""
    if function.virtual:
        return None
    return drive_part(function) or _gpu_or_adapter(function)


def gpu_part(function: Function) -> str | None:
    """Return the catalog part of a GPU, which says what its copy engines do; None for others."""
    return part_of(function) if function.is_gpu else None


def _gpu_or_adapter(function: Function) -> str | None:
    identity = function.identity
    if not (function.is_gpu or function.is_nic):
        return None
    if identity.vendor_id is not None and identity.device_id is not None:
        part = _BY_NUMBER.get((identity.vendor_id, identity.device_id))
        if part is not None:
            return part
    for name in (identity.subsystem_name, identity.device_name):
        found = {
            part
            for vendor, words, part in _BY_NAME
            if name and identity.vendor_id == vendor and re.search(words, name)
        }
        if len(found) == 1:
            return found.pop()
    return None
