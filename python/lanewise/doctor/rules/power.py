"""ASPM on devices whose latency matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.doctor.finding import Cost, Finding, Severity
from lanewise.doctor.registry import Rule, rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.doctor.view import View
    from lanewise.machine.model import Link

ASPM = Rule(
    id="aspm-enabled",
    what="Active State Power Management is enabled on the link of a drive, network adapter or accelerator.",
    why="A link that went to sleep needs to wake before it moves anything: up to 4 us from L0s, 1 to 64 "
    "us and more from L1. Under steady load it never sleeps; with single small operations each one pays.",
    severity="warning for network adapters of a server; info elsewhere, where saving power is the point",
    cost="stated: the specification's range for the state that is enabled; the simulator keeps links awake",
    fix="On machines whose latency matters boot with `pcie_aspm.policy=performance` (or `pcie_aspm=off`), "
    "or switch ASPM off in the firmware setup.",
    references=(
        "PCIe Base 5.0 §5.4.1 (Active State Power Management)",
        "§7.5.3.7 (Link Control, ASPM Control)",
    ),
    not_said="Links on which only one end has it enabled for L1: both ends must agree.",
)

_EXIT = {"L0s": "up to 4 us to wake from L0s", "L1": "1 to 64 us to wake from L1"}


@rule(ASPM)
def sleeping_links(view: View, this: Rule) -> Iterable[Finding]:
    """Find fast devices whose links may sleep."""
    from dataclasses import replace

    for link in view.links:
        device = next((function for function in link.lower if function in view.devices), None)
        states = _states(link)
        if device is None or not states:
            continue
        critical = device.is_nic and view.is_server()
        finding = this.finding(
            Severity.WARNING if critical else Severity.INFO,
            device.address.short,
            f"the link of {device.address.short} may sleep: ASPM {' and '.join(states)}",
            [
                f"{end.address.short} LnkCtl: ASPM {' '.join(end.link.aspm_enabled or ()) or 'not known'} "
                "Enabled"
                for end in (link.upper, link.device)
            ]
            + [f"{device.address.short} is {device.name}"],
        )
        deepest = "L1" if "L1" in states else "L0s"
        yield replace(finding, cost=Cost(f"first operation after a pause: {_EXIT[deepest]}"))


def _states(link: Link) -> list[str]:
    """States the link can enter: L1 needs both ends, L0s is a matter of each transmitter."""
    upper, lower = link.upper.link.aspm_enabled, link.device.link.aspm_enabled
    if lower is None:
        return []
    states = ["L0s"] if "L0s" in lower or "L0s" in (upper or ()) else []
    if "L1" in lower and (upper is None or "L1" in upper):
        states.append("L1")
    return states
