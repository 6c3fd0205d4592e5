"""CXL devices that came up as plain PCI Express."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PROVISIONING, Rule, rule
from lanewise.health.doctor.words import sign

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.view import View

PLAIN = Rule(
    id="cxl-as-pcie",
    what="A device that can do CXL.mem or CXL.cache trained as plain PCI Express, or has them switched off.",
    why="CXL is negotiated during training. Where host, slot or firmware do not take part, the device "
    "answers as PCI Express only, and its memory is not there.",
    severity="warning",
    cost="stated: the memory or cache of the device cannot be used",
    fix="Enable CXL for the slot in the firmware setup, use a slot that the board wires for CXL, update "
    "firmware of host and device.",
    references=(
        "CXL 2.0 §8.1.3 (DVSEC for CXL devices)",
        "§8.1.8 (Flex Bus port DVSEC)",
        "§6.4 (mode negotiation)",
    ),
    not_said="Devices of which the source tells neither the status of the port nor what is enabled.",
    profiles=PROVISIONING,
)


@rule(PLAIN)
def plain_cxl_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find CXL devices without CXL."""
    for function in view.machine:
        cxl = function.registers.cxl
        if cxl is None or function.is_bridge:
            continue
        lost = [
            name
            for name, capable, trained, enabled in (
                ("CXL.mem", cxl.memory_capable, cxl.link_memory, cxl.memory_enabled),
                ("CXL.cache", cxl.cache_capable, cxl.link_cache, cxl.cache_enabled),
            )
            if capable and (trained is False or enabled is False)
        ]
        if not lost:
            continue
        yield this.finding(
            Severity.WARNING,
            function.address.short,
            f"{function.address.short} can do {' and '.join(lost)} and runs as a plain PCI Express device",
            [
                f"{function.address.short} CXLCap: Cache{sign(cxl.cache_capable)} "
                f"Mem{sign(cxl.memory_capable)} ({function.name})",
                f"{function.address.short} CXLCtl: Cache{sign(cxl.cache_enabled)} "
                f"Mem{sign(cxl.memory_enabled)}; port status: Cache{sign(cxl.link_cache)} "
                f"Mem{sign(cxl.link_memory)}",
            ],
        )
