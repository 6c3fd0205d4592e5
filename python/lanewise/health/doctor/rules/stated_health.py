"""Devices that the management controller of a server calls unhealthy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.view import View

HEALTH = Rule(
    id="device-health",
    what="The management controller of the server (BMC), or `npu-smi`, says that a device is not healthy.",
    why="The controller reads sensors and reports of the device that the host may not see: power, "
    "temperature, errors of its memory. `Critical` asks for attention at once, `Warning` soon.",
    severity="error for Critical; warning for Warning, and for Alarm of `npu-smi`",
    cost="stated: the device may fail, or has failed",
    fix="Read why in the controller's log (System Event Log, `/redfish/v1/Systems/*/LogServices`) and in the "
    "Conditions of the device's Status; then look at power, temperature and seat of the device.",
    references=("DMTF DSP0268, Redfish Data Model (Status, Health)", "Huawei, npu-smi Command Reference"),
    bearing=Bearing.DISTURBS,
)

_OF_AN_NPU = (
    "Ask for the codes of its errors (`npu-smi info -t health -i NPU`), and look them up in Huawei's list of "
    "health management faults; then look at power, temperature and seat of the card."
)


@rule(HEALTH)
def unhealthy_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices that are called unhealthy: one finding for each device, at its first function."""
    told, by_tool = set(), "npu-smi" in view.machine.kinds
    who = "npu-smi" if by_tool else "the management controller"
    for function in view.machine:
        health = function.stated_health
        if health not in ("Warning", "Critical") or function.address.slot in told:
            continue
        told.add(function.address.slot)
        bdf = function.address.short
        yield this.finding(
            Severity.ERROR if health == "Critical" else Severity.WARNING,
            bdf,
            f"{who} says that {bdf} is not healthy: {health}",
            [f"{bdf} {'Health' if by_tool else 'Status, Health'}: {health} ({function.name})"],
            fix=_OF_AN_NPU if by_tool else None,
        )
