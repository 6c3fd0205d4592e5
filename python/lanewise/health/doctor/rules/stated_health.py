"""Devices that the management controller of a server, or a tool that asked them, calls unhealthy."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.machine.model import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.view import View

HEALTH = Rule(
    id="device-health",
    what="The management controller of the server (BMC), or a tool that asks a device or its driver "
    "(`npu-smi`, `dcgmi`, `xpu-smi health`, `devlink health`, `cxl list -H`, `nvme list-subsys`), says that "
    "the device is not healthy.",
    why="Controllers and devices see of themselves what the host may not: power, temperature, errors of "
    "their memory, firmware that stopped. `Critical` asks for attention at once, `Warning` soon.",
    severity="error for Critical: also for tests of `dcgmi diag` that a GPU fails, for firmware that "
    "`devlink` finds in error, and for a drive that is dead; warning for Warning, and for Alarm of `npu-smi`",
    cost="stated: the device may fail, or has failed",
    fix="Read why in the controller's log (System Event Log, `/redfish/v1/Systems/*/LogServices`) and in the "
    "Conditions of the device's Status; then look at power, temperature and seat of the device.",
    references=(
        "DMTF DSP0268, Redfish Data Model (Status, Health)",
        "Huawei, npu-smi Command Reference",
        "NVIDIA, DCGM User Guide (Health Checks, Diagnostics)",
        "Linux, Documentation/networking/devlink/devlink-health.rst",
        "CXL 3.0 §8.2.9.8.3.1 (Get Health Info)",
    ),
    bearing=Bearing.DISTURBS,
)

_OF_AN_NPU = (
    "Ask for the codes of its errors (`npu-smi info -t health -i NPU`), and look them up in Huawei's list of "
    "health management faults; then look at power, temperature and seat of the card."
)


_FIXES = {
    "npu-smi": _OF_AN_NPU,
    "dcgmi": "Look at what it says, and test that GPU alone when nothing runs on it (`dcgmi diag -r 3 -i "
    "GPU`). For PCIe: compare its link with that of the other GPUs (`lspci -vvv -s BDF | grep -e LnkCap -e "
    "LnkSta`), look for errors of the ports above it, reseat the card. For memory: reset the GPU or start "
    "the node again, so that rows can be remapped.",
    "xpu-smi health": "Look at what it says: temperature and power first. For Xe Link: compare its ports "
    "with those of the other GPUs (`xpu-smi stats -d GPU`). Then start the node again, and reseat the card.",
    "devlink": "Ask what the firmware found (`devlink health diagnose pci/BDF reporter NAME`, `devlink "
    "health dump show pci/BDF reporter NAME`) and what the driver says (`dmesg | grep BDF`). Then `devlink "
    "health recover pci/BDF reporter NAME`, or load the driver again. If it comes again: update its "
    "firmware.",
    "cxl list": "Read its events (`cxl monitor`, `dmesg | grep -i cxl`) and back up what is in it. Take its "
    "memory offline (`daxctl offline-memory`), and replace the device where it asks for that.",
    "nvme list-subsys": "See why the driver gave the drive up (`dmesg | grep -e BDF -e nvme`). Rescan "
    "its slot (`echo 1 > /sys/bus/pci/devices/BDF/remove; echo 1 > /sys/bus/pci/rescan`); reseat "
    "it if it does not come back.",
}
"""What to do, by who said it."""


@rule(HEALTH)
def unhealthy_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices that are called unhealthy: one finding for each device, at its first function."""
    told, by_tool = set(), "npu-smi" in view.machine.kinds
    said = defaultdict(list)
    for event in view.machine.events:
        if event.kind is EventKind.CALLED_UNHEALTHY and event.address is not None:
            said[event.address].append(event.line)
    for function in view.machine:
        health = function.stated_health
        if health not in ("Warning", "Critical") or function.address.slot in told:
            continue
        told.add(function.address.slot)
        bdf = function.address.short
        lines = said[function.address]
        who = lines[0].partition(":")[0] if lines else "npu-smi" if by_tool else "the management controller"
        what = f": {lines[0].partition(': ')[2]}" if lines else f": {health}"
        fix = _FIXES.get(who)
        yield this.finding(
            Severity.ERROR if health == "Critical" else Severity.WARNING,
            bdf,
            f"{who} says that {bdf} is not healthy{what}",
            [*lines, f"{bdf} {'Health' if who in _FIXES else 'Status, Health'}: {health} ({function.name})"],
            fix=None if fix is None else fix.replace("BDF", bdf),
        )
