"""What tests, latches and set-up have left in registers of a link that is in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PROVISIONING, Bearing, Rule, rule
from lanewise.machine.model import PORTS_TO_LINKS
from lanewise.machine.view import is_emulated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

TEST_MODE = Rule(
    id="link-test-mode",
    what="One end of a link is set up for a test of its signals: compliance mode, or another voltage than "
    "the "
    "normal one.",
    why="These bits are for laboratories. With compliance mode set, the link sends a test pattern and no "
    "data "
    "after its next reset; with another voltage the other end may receive errors.",
    severity="warning; info where the link runs faster than the same registers say that it can",
    cost="stated: the link may not come up again, or have errors",
    fix="Clear the bits (`setpci -s BDF CAP_EXP+30.w=0:0f90`), and find the script or firmware that set "
    "them. A "
    "cold start clears them, too.",
    references=("PCIe Base 5.0 §7.5.3.19 (Link Control 2: Enter Compliance, Transmit Margin)", "§4.2.6.2"),
    bearing=Bearing.DISTURBS,
    profiles=PROVISIONING,
)

LATCH = Rule(
    id="slot-latch-open",
    what="The retention latch of a slot is open, or its attention lamp is on, and a device works in it.",
    why="With an open latch the card is not held: it may lose contact, and the slot's power goes off when "
    "software sees the latch. The system or an operator lights the lamp at a slot that needs attention.",
    severity="warning for an open latch; info for the lamp",
    cost="stated: none yet",
    fix="Latch: push the card home and close the latch. Lamp: read why it is on in the log of the management "
    "controller (`ipmitool sel list`); switch it off with `echo 0 > /sys/bus/pci/slots/NAME/attention`.",
    references=("PCIe Base 5.0 §7.5.3.11 (Slot Status, MRL Sensor State)", "§6.7.1 (Hot-Plug elements)"),
    not_said="Slots without a sensor for the latch; empty slots.",
    profiles=PROVISIONING,
)

SELF_TEST = Rule(
    id="self-test-failed",
    what="A device says that its built-in self-test failed.",
    why="The device tested itself when it was asked to, and found a fault. The register keeps the result.",
    severity="warning",
    cost="stated: the device may fail in use",
    fix="Run the test again: `setpci -s BDF BIST=40`, wait two seconds, read `setpci -s BDF BIST`: 80 means "
    "passed. If it fails again: update the firmware of the device, or replace it.",
    references=("PCIe Base 5.0 §7.5.1.1.10 (BIST register)",),
    profiles=PROVISIONING,
)

CHANNEL = Rule(
    id="channel-pending",
    what="The virtual channel that every link needs, VC0, is still being set up although the link is in use.",
    why="Flow control of VC0 is exchanged when a link comes up, in microseconds. An end that still waits "
    "for it "
    "did not see what the other end sent.",
    severity="warning",
    cost="stated: the link may carry nothing",
    fix="Reset the link: `setpci -s PORT CAP_EXP+10.w=20:20` retrains it. If the bit stays: cold start, "
    "reseat "
    "the card, update its firmware.",
    references=("PCIe Base 5.0 §7.9.1.8 (VC Resource Status, VC Negotiation Pending)", "§3.4.1"),
    not_said="Devices that move no data.",
    profiles=PROVISIONING,
)


@rule(TEST_MODE)
def test_modes(view: View, this: Rule) -> Iterable[Finding]:
    """Find ends of links that are set up for tests."""
    for link in view.live_links:
        for end, other in ((link.upper, link.device), (link.device, link.upper)):
            if end.link.test_modes and not is_emulated(end):
                bdf = end.address.short
                contradicts = _contradicts_itself(end)
                yield this.finding(
                    Severity.INFO if contradicts else Severity.WARNING,
                    bdf,
                    f"{bdf} is set up for a test of its link to {other.address.short}: "
                    f"{', '.join(end.link.test_modes)}",
                    [f"{bdf} LnkCtl2: {', '.join(end.link.test_modes)} set ({end.name})"]
                    + (
                        [
                            f"{bdf} LnkCap2: no speed above {max(end.link.supported_gt_s or (0.0,)):g}GT/s, "
                            f"and its link runs at {end.link.status.gt_s:g}GT/s: what this port says in its "
                            "newer registers is not right"
                        ]
                        if contradicts
                        else []
                    ),
                    also=[other.address.short],
                )


def _contradicts_itself(end: Function) -> bool:
    """Whether a link runs faster than its end says in Link Capabilities 2 that it can."""
    able, now = end.link.supported_gt_s, end.link.status.gt_s
    return bool(able) and now is not None and now > max(able or (now,))


@rule(LATCH)
def open_latches(view: View, this: Rule) -> Iterable[Finding]:
    """Find slots in use whose latch is open, or whose lamp is on."""
    for link in view.live_links:
        port, slot = link.upper, link.upper.registers.slot
        if slot is None or view.machine.role(port) not in PORTS_TO_LINKS:
            continue
        latch = bool(slot.latch_open and slot.latch_sensor)
        if not latch and slot.attention not in ("on", "blink"):
            continue
        bdf, device = port.address.short, link.device.address.short
        name = f"slot {slot.number}" if slot.number else "the slot"
        what = "the latch is open" if latch else "the attention lamp is on"
        register = "SltSta: MRL+" if latch else f"SltCtl: AttnInd {(slot.attention or '').capitalize()}"
        yield this.finding(
            Severity.WARNING if latch else Severity.INFO,
            bdf,
            f"{what} at {name} of {bdf}, in which {device} works",
            [f"{bdf} {register} ({port.name})", f"{device} is {link.device.name}"],
            also=[device],
        )


@rule(SELF_TEST)
def failed_self_tests(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices whose self-test failed."""
    for function in view.machine:
        if function.registers.self_test and not view.is_dead(function):
            bdf, code = function.address.short, function.registers.self_test
            yield this.finding(
                Severity.WARNING,
                bdf,
                f"the self-test of {bdf} failed with code {code}",
                [f"{bdf} BIST result: {code:02x} ({function.name})"],
            )


@rule(CHANNEL)
def pending_channels(view: View, this: Rule) -> Iterable[Finding]:
    """Find ends of links whose virtual channel never came up."""
    for link in view.live_links:
        if not any(map(view.is_data_mover, link.lower)):
            continue
        for end in (link.upper, link.device):
            if end.registers.channel_pending:
                bdf = end.address.short
                yield this.finding(
                    Severity.WARNING,
                    bdf,
                    f"virtual channel 0 of {bdf} is still being set up",
                    [f"{bdf} VC0 Status: NegoPending+ ({end.name})"],
                    fix=this.fix.replace("PORT", link.upper.address.short),
                )
