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
    what="The management controller of the server (BMC) says that a device is not healthy.",
    why="The controller reads sensors and reports of the device that the host may not see: power, "
    "temperature, errors of its memory. `Critical` asks for attention at once, `Warning` soon.",
    severity="error for Critical; warning for Warning",
    cost="stated: the device may fail, or has failed",
    fix="Read why in the controller's log (System Event Log, `/redfish/v1/Systems/*/LogServices`) and in the "
    "Conditions of the device's Status; then look at power, temperature and seat of the device.",
    references=("DMTF DSP0268, Redfish Data Model (Status, Health)",),
    bearing=Bearing.DISTURBS,
)


@rule(HEALTH)
def unhealthy_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices that are called unhealthy: one finding for each device, at its first function."""
    told = set()
    for function in view.machine:
        health = function.stated_health
        if health not in ("Warning", "Critical") or function.address.slot in told:
            continue
        told.add(function.address.slot)
        bdf = function.address.short
        yield this.finding(
            Severity.ERROR if health == "Critical" else Severity.WARNING,
            bdf,
            f"the management controller says that {bdf} is not healthy: {health}",
            [f"{bdf} Status, Health: {health} ({function.name})"],
        )
