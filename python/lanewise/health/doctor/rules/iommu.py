"""The IOMMU between GPUs and memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PERFORMANCE, Bearing, Rule, rule
from lanewise.health.doctor.words import listed
from lanewise.machine.model import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.view import View

_TRANSLATING = frozenset({"DMA", "DMA-FQ"})
_MANY = 4
"""GPUs from which on a machine is there for them. Assumed."""

TRANSLATED = Rule(
    id="iommu-translated",
    what="The IOMMU translates the addresses of GPUs although nothing needs it.",
    why="Each access of a GPU to memory, or to another GPU, goes through page tables: misses cost "
    "bandwidth, and transfers between GPUs are sent to the root complex or fail. Passthrough keeps the "
    "IOMMU for virtual machines and leaves the devices of the host alone.",
    severity="warning with four GPUs and more, with two that have no display, or two beside an RDMA adapter; "
    "info with two others",
    cost="stated: bandwidth between GPUs and to memory; how much depends on the size of transfers. For "
    "pairs below a switch, `lanewise predict --peers` says it",
    fix="Boot with `iommu=pt` (in GRUB_CMDLINE_LINUX, then `update-grub` and a restart), and look for "
    "`Default domain type: Passthrough` in the log.",
    references=(
        "Linux, Documentation/ABI/testing/sysfs-kernel-iommu_groups",
        "Linux, Documentation/admin-guide/kernel-parameters.txt (iommu.passthrough)",
    ),
    not_said="A single GPU; GPUs that are held for a virtual machine; guests; sources that do not tell.",
    bearing=Bearing.LIMITS_PEERS,
    profiles=PERFORMANCE,
)


@rule(TRANSLATED)
def translated_gpus(view: View, this: Rule) -> Iterable[Finding]:
    """Say once which GPUs are translated."""
    gpus = [
        function
        for function in view.machine
        if view.is_compute_gpu(function)
        and not function.virtual
        and not view.is_held_by_another(function)
        and (view.machine.link_above(function) is not None or function.link.capability.known)
    ]
    if view.is_guest or len(gpus) < 2:
        return
    translated = [function for function in gpus if function.iommu_type in _TRANSLATING]
    evidence = [
        f"{f.address.short} iommu_group {f.iommu_group}: {f.iommu_type} ({f.name})" for f in translated[:4]
    ]
    if not any(function.iommu_type for function in gpus):
        lines = [event.line for event in view.machine.events if event.kind is EventKind.IOMMU]
        told = [line for line in lines if "Default domain type" in line]
        if not told or "Translated" not in told[-1]:
            return
        translated, evidence = gpus, [told[-1]]
    if not translated:
        return
    rdma = any(function.does_rdma for function in view.machine)
    only_compute = all(function.is_class(0x0302, 0x12) for function in translated)
    many = len(translated) >= _MANY or (len(translated) > 1 and (rdma or only_compute))
    yield this.finding(
        Severity.WARNING if many else Severity.INFO,
        translated[0].address.short,
        f"the IOMMU translates the memory accesses of {len(translated)} of {len(gpus)} GPUs "
        f"({listed(translated)})",
        evidence,
        also=[function.address.short for function in translated[1:]],
    )
