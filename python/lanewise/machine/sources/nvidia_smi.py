"""`nvidia-smi -q`, as text and (``-x``) as XML: what each GPU says of itself and its link.

Text is indented lines ``Key : value`` below headings; ``Max`` and ``Current`` are below ``PCIe Generation``
and ``Link Width``. Parts of it will do (``-d PCI``, or what `grep` left). What it says of health is read by
`nvidia_health`. Leaves out temperatures, power, programs, and clocks. Source: nvidia-smi of drivers 352 to
595, and its manual.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.gpu_health import GpuHealth
from lanewise.machine.kernel_event import EventKind, KernelEvent
from lanewise.machine.sources import nvidia_gpu, nvidia_health, xml
from lanewise.machine.sources.numbers import natural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.address import Address
    from lanewise.machine.assembly import Reading

_ADDRESS = r"(?:[0-9A-Fa-f]{4,8}:)[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-7]"
LOOKS_LIKE = re.compile(
    rf"^[ \t>|]{{0,40}}(?:GPU {_ADDRESS}|Bus Id[ \t]{{0,60}}: {_ADDRESS})[ \t]*$"
    rf"|device handle for (?:GPU|gpu) ?(?:\d{{1,3}}: ?)?{_ADDRESS}[^\n:]{{0,40}}: "
    rf"|infoROM is corrupted at gpu {_ADDRESS}",
    re.MULTILINE,
)
"""The heading of a GPU, its address, or that there is no reaching it."""
_LOST = re.compile(
    rf"(?:device handle for (?:GPU|gpu) ?(?:\d{{1,3}}: ?)?|GPU at PCI:)({_ADDRESS})"
    r"[^\n:]{0,40}: ([^\n]{1,80})"
)

_CORRUPTED = re.compile(rf"infoROM is corrupted at gpu ({_ADDRESS})")

_TEXT = {
    ("", "Product Name"): "name",
    ("", "VBIOS Version"): "vbios",
    ("PCI", "Base Classcode"): "base_class",
    ("PCI", "Sub Classcode"): "sub_class",
    ("PCI", "Device Id"): "device_id",
    ("PCI", "Sub System Id"): "sub_device_id",
    ("PCIe Generation", "Max"): "max",
    ("PCIe Generation", "Current"): "current",
    ("PCIe Generation", "Device Current"): "gpucurrent",
    ("PCIe Generation", "Device Max"): "gpumax",
    ("PCIe Generation", "Host Max"): "hostmax",
    ("Link Width", "Max"): "width.max",
    ("Link Width", "Current"): "width.current",
    ("", "Replays Since Reset"): "replays",
    ("", "Replay Number Rollovers"): "rollovers",
    ("", "Performance State"): "pstate",
    ("GPU Reset Status", "Reset Required"): "reset required",
    ("GPU Reset Status", "Drain and Reset Recommended"): "drain recommended",
    ("Clocks Event Reasons", "Idle"): "idle",
    ("Clocks Throttle Reasons", "Idle"): "idle",
}
"""Heading (any where it is empty) and key, and what they are called in `nvidia_gpu.take`."""
_XML = {
    "product_name": "name",
    "vbios_version": "vbios",
    "pci_base_class": "base_class",
    "pci_sub_class": "sub_class",
    "pci_device_id": "device_id",
    "pci_sub_system_id": "sub_device_id",
    "max_link_gen": "max",
    "current_link_gen": "current",
    "device_current_link_gen": "gpucurrent",
    "max_device_link_gen": "gpumax",
    "max_host_link_gen": "hostmax",
    "max_link_width": "width.max",
    "current_link_width": "width.current",
    "replay_counter": "replays",
    "replay_rollover_counter": "rollovers",
    "performance_state": "pstate",
    "reset_required": "reset required",
    "drain_and_reset_recommended": "drain recommended",
    "clocks_event_reason_gpu_idle": "idle",
    "clocks_throttle_reason_gpu_idle": "idle",
}
ROOT = "nvidia_smi_log"
"""The outermost element of the XML."""


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all GPUs of a text."""
    said: dict[str, str] = {}
    heading, depth = "", 0
    above: list[tuple[int, str]] = []
    attached = None
    before = set(into.drafts)
    for line in lines:
        text = line.lstrip(" \t>|")
        key, colon, value = (part.strip() for part in text.partition(":"))
        if LOOKS_LIKE.match(line) and text.startswith("GPU "):
            _finish(said, into)
            said = {"address": text[4:].strip(), "headed": "yes"}
            above = []
        elif key == "Bus Id" and nvidia_gpu.address_of(value) is not None:
            if "address" in said and not said.pop("headed", None):
                _finish(said, into)
                said = {}
            said["address"] = value
        elif not colon and text.strip():
            heading, depth = text.strip(), len(line) - len(text)
            above = [*_above(above, depth), (depth, heading)]
        elif colon:
            indent = len(line) - len(text)
            inside = heading if indent > depth or indent == 0 else ""
            known = _TEXT.get((inside, key)) or _TEXT.get(("", key))
            if known is not None:
                said.setdefault(known, value)
            elif key == "Attached GPUs":
                attached = natural(value)
            else:
                names = [name for _, name in (_above(above, indent) if indent else above)]
                nvidia_health.take(names, key, value, said)
    _finish(said, into)
    into.lists_all_gpus = attached is not None and _listed(before, into) == attached
    _lost(lines, into)
    if into.drafts.keys() - before:
        into.kinds.append("nvidia-smi")


def _above(headings: list[tuple[int, str]], indent: int) -> list[tuple[int, str]]:
    """Return the headings that a line stands below, by their indentation."""
    return [one for one in headings if one[0] < indent]


def _listed(before: set[Address], into: Reading) -> int:
    """Count the GPUs that were read; ports above them are made up."""
    return sum(not into.drafts[new].function.get("implied") for new in into.drafts.keys() - before)


def _finish(said: dict[str, str], into: Reading) -> None:
    address = nvidia_gpu.address_of(said.get("address", ""))
    if address is not None:
        nvidia_gpu.take(said, address, into)


def _lost(lines: Sequence[str], into: Reading) -> None:
    """Take GPUs that the driver cannot reach: what is lost on the bus is an event, as in a kernel log."""
    for line in lines:
        corrupted = _CORRUPTED.search(line) if "infoROM" in line else None
        gpu = nvidia_gpu.address_of(corrupted[1]) if corrupted is not None else None
        if gpu is not None:
            if gpu not in into.drafts:
                nvidia_gpu.take({}, gpu, into)
            health = into.drafts[gpu].function.get("health") or GpuHealth()
            into.drafts[gpu].function["health"] = health._replace(inforom_corrupted=True)
        lost = _LOST.search(line) if "device handle for" in line else None
        address = nvidia_gpu.address_of(lost[1]) if lost is not None else None
        if lost is None or address is None:
            continue
        if address not in into.drafts:
            nvidia_gpu.take({}, address, into)
        kind = EventKind.GPU_LOST if "lost" in lost[2].lower() else EventKind.DEVICE_FAILED
        into.events.append(KernelEvent(kind, line.strip()[:200], address))


def read_xml(data: bytes, into: Reading) -> None:
    """Read all GPUs of the XML; raises InputError for XML that defines entities."""
    said: dict[str, str] = {}
    path: list[str] = []
    attached: list[str] = []
    before = set(into.drafts)

    def start(name: str, attributes: dict[str, str]) -> None:
        path.append(name)
        if name == "gpu":
            said.clear()
            said["address"] = attributes.get("id", "")

    def end(name: str) -> None:
        path.pop()
        if name == "gpu":
            _finish(said, into)

    def text(words: str) -> None:
        known = _XML.get(path[-1]) if path else None
        value = words.strip()[:200]
        if known is not None and value:
            said.setdefault(known, value)
        elif value and path[-1] == "attached_gpus":
            attached.append(value)
        elif value:
            nvidia_health.take(path[:-1], path[-1], value, said)

    xml.parse(data, start, end, into, text=text)
    into.lists_all_gpus = attached[:1] == [str(_listed(before, into))]
    into.kinds.append("nvidia-smi")
