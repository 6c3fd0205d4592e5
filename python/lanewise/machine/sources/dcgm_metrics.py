"""Metrics of NVIDIA's `dcgm-exporter`, as Prometheus has them: counters and states of GPUs.

A line for each metric and GPU: ``DCGM_FI_DEV_XID_ERRORS{gpu="1",pci_bus_id="00000000:0F:00.0",...} 79``.
Where the label with the address is missing, as in older versions, the number of the GPU is its name and the
address is made up. Taken are the link, replays, the last Xid (0 for none) and errors of memory; metrics of
parts of a GPU (MIG) repeat those of the whole. Source: NVIDIA, DCGM API (field identifiers), and outputs of
dcgm-exporter 2 to 4 in public threads.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.function import Kind
from lanewise.machine.gpu_health import GpuHealth
from lanewise.machine.kernel_event import EventKind, KernelEvent
from lanewise.machine.registers import SPEEDS_GT_S, LinkMode
from lanewise.machine.sources.made_up import made_up_address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

_LINE = re.compile(
    r"[ \t>]{0,16}(DCGM_FI_DEV_[A-Z_]{3,48})\{([^}\n]{1,800})\}[ \t]{1,8}(\d{1,15})(?:\.0{1,9})?\b"
)
LOOKS_LIKE = re.compile(r"^[ \t>]{0,16}DCGM_FI_DEV_[A-Z_]{3,48}\{", re.MULTILINE)
_LABEL = re.compile(r'\b(gpu|pci_bus_id|modelName)="([^"\n]{1,100})"')
_LOST = (79, 167)
"""Xids of GPUs that the bus has lost."""
_NVIDIA, _GPU = 0x10DE, 0x030200


def read(lines: Sequence[str], into: Reading) -> set[int]:
    """Read all metrics of a text; return the indices of lines that were read."""
    taken: set[int] = set()
    said: dict[str, dict[str, int]] = {}
    labels: dict[str, dict[str, str]] = {}
    for at, line in enumerate(lines):
        found = _LINE.match(line)
        if found is None:
            continue
        taken.add(at)
        of = dict(_LABEL.findall(found[2]))
        if (number := of.get("gpu")) is not None:
            labels.setdefault(number, of)
            said.setdefault(number, {}).setdefault(found[1].removeprefix("DCGM_FI_DEV_"), int(found[3]))
    for number, metrics in said.items():
        _gpu(number, labels[number], metrics, into)
    if said:
        into.kinds.append("dcgm-exporter")
    return taken


def _gpu(number: str, labels: dict[str, str], metrics: dict[str, int], into: Reading) -> None:
    address = Address.find(labels.get("pci_bus_id", ""))
    if address is None:
        address = made_up_address(into)
        into.note("addresses of GPUs are made up: newer versions of dcgm-exporter have 'pci_bus_id'")
    draft = into.draft(address)
    draft.kind = Kind.ENDPOINT
    draft.identity |= {"vendor_id": _NVIDIA, "class_code": _GPU, "vendor_name": "NVIDIA Corporation"}
    draft.identity["device_name"] = labels.get("modelName")
    draft.function["driver"], draft.function["driver_known"] = "nvidia", True
    draft.add_interface(f"GPU{number}")
    now = _mode(metrics.get("PCIE_LINK_GEN"), metrics.get("PCIE_LINK_WIDTH"))
    able = _mode(metrics.get("PCIE_MAX_LINK_GEN"), metrics.get("PCIE_MAX_LINK_WIDTH"))
    if now != LinkMode():
        draft.link["status"] = now
    if able != LinkMode():
        draft.link["capability"] = able
        draft.registers["express"] = True
    if (replays := metrics.get("PCIE_REPLAY_COUNTER")) is not None:
        draft.errors["counters"] = (("correctable.Replay", replays),)
    health = GpuHealth(
        uncorrectable=metrics.get("ECC_DBE_VOL_TOTAL"),
        remap_failed=_state(metrics.get("ROW_REMAP_FAILURE")),
        remap_pending=_state(metrics.get("ROW_REMAP_PENDING")),
    )
    if health != GpuHealth():
        draft.function["health"] = health
    if xid := metrics.get("XID_ERRORS"):
        kind = EventKind.GPU_LOST if xid in _LOST else EventKind.GPU_ERROR
        line = f"dcgm-exporter: GPU {number}: Xid (PCI:{address}): {xid}, the last one"
        into.events.append(KernelEvent(kind, line, address, name=f"GPU{number}", number=xid))


def _state(value: int | None) -> bool | None:
    return None if value is None else bool(value)


def _mode(generation: int | None, lanes: int | None) -> LinkMode:
    speed = SPEEDS_GT_S[generation - 1] if generation and generation <= len(SPEEDS_GT_S) else None
    return LinkMode(speed, lanes or None)
