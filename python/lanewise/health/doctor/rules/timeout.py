"""Completion timeouts that are off or out of the ordinary."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PROVISIONING, Bearing, Rule, rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.view import View

_SHORT_S = 10e-3
"""Base 5.0 §2.8 advises against timeouts below 10 ms."""

TIMEOUT = Rule(
    id="completion-timeout",
    what="The completion timeout of a device is so short that it may fire without a fault, or it is "
    "switched off.",
    why="A read whose completion is lost hangs its requester until the timeout; without one it hangs for "
    "ever. Below 10 ms the timer can run out while a link retrains or a busy memory answers late, and "
    "every such read fails.",
    severity="warning for a range that ends below 10 ms; info for a timeout that is off",
    cost="stated: failed or hanging reads, no bandwidth",
    fix="Set the default range, 50 us to 50 ms, with the timeout switched on: `setpci -s BDF "
    "CAP_EXP+28.w=0:1f`. A driver or the firmware setup that changes it does so again at the next boot.",
    references=("PCIe Base 5.0 §2.8 (Completion Timeout Mechanism)", "§7.5.3.16 (Device Control 2)"),
    not_said="The default range, although it starts at 50 us: devices choose 10 ms or more inside it.",
    bearing=Bearing.DISTURBS,
    profiles=PROVISIONING,
)


@rule(TIMEOUT)
def odd_timeouts(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices with an unusual timer."""
    for function in view.devices:
        transfers = function.transfers
        if transfers.completion_timeout_disabled:
            yield this.finding(
                Severity.INFO,
                function.address.short,
                f"{function.address.short} waits for completions without a time limit",
                [f"{function.address.short} DevCtl2: TimeoutDis+ ({function.name})"],
            )
        elif transfers.completion_timeout_s and transfers.completion_timeout_s[1] < _SHORT_S:
            low, high = transfers.completion_timeout_s
            yield this.finding(
                Severity.WARNING,
                function.address.short,
                f"{function.address.short} gives up on a read after at most {high * 1e3:g} ms",
                [
                    f"{function.address.short} DevCtl2: Completion Timeout {low * 1e6:g} us to "
                    f"{high * 1e6:g} us ({function.name})"
                ],
            )
