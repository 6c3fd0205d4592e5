"""ASPM on devices whose latency matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.doctor.finding import Cost, Finding, Severity
from lanewise.doctor.registry import Bearing, Rule, rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Function, Link
    from lanewise.machine.view import View

ASPM = Rule(
    id="aspm-enabled",
    what="Active State Power Management is enabled on the link of a drive, network adapter or accelerator.",
    why="A link that went to sleep needs to wake before it moves anything: up to 4 us from L0s, 1 to 64 "
    "us and more from L1. Under steady load it never sleeps; with single small operations each one pays.",
    severity="warning for network adapters of a server; info elsewhere, where saving power is the point",
    cost="stated: the Exit Latency of the slower end where it says one, else the specification's range; the "
    "simulator keeps links awake",
    fix="On machines whose latency matters boot with `pcie_aspm.policy=performance` (or `pcie_aspm=off`), "
    "or switch ASPM off in the firmware setup.",
    references=(
        "PCIe Base 5.0 §5.4.1 (Active State Power Management)",
        "§7.5.3.7 (Link Control, ASPM Control)",
    ),
    not_said="Links on which only one end has it enabled for L1: both ends must agree.",
    bearing=Bearing.EXPLAINS,
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
                f"Enabled{_exit_words(end)}"
                for end in (link.upper, link.device)
            ]
            + [f"{device.address.short} is {device.name}"],
        )
        yield replace(finding, cost=_cost(link, "L1" if "L1" in states else "L0s"))


def _cost(link: Link, state: str) -> Cost:
    """State the longest time that the slower end takes to wake, or the specification's range."""
    known = [
        seconds
        for end in (link.upper.link, link.device.link)
        if (seconds := end.exit_latency_l1_s if state == "L1" else end.exit_latency_l0s_s) is not None
    ]
    if not known:
        return Cost(f"first operation after a pause: {_EXIT[state]}")
    ns = 1e9 * max(known)
    time = f"{ns / 1e3:g} us" if ns >= 1000 else f"{ns:g} ns"
    return Cost(f"first operation after a pause: up to {time} to wake from {state}", ns=ns)


def _exit_words(end: Function) -> str:
    latencies = (("L0s", end.link.exit_latency_l0s_s), ("L1", end.link.exit_latency_l1_s))
    said = [f"{state} <{1e6 * seconds:g}us" for state, seconds in latencies if seconds is not None]
    return f"; LnkCap: Exit Latency {', '.join(said)}" if said else ""


def _states(link: Link) -> list[str]:
    """States the link can enter: L1 needs both ends, L0s is a matter of each transmitter."""
    upper, lower = link.upper.link.aspm_enabled, link.device.link.aspm_enabled
    if lower is None:
        return []
    states = ["L0s"] if "L0s" in lower or "L0s" in (upper or ()) else []
    if "L1" in lower and (upper is None or "L1" in upper):
        states.append("L1")
    return states
