"""ASPM on devices whose latency matters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PERFORMANCE, Bearing, Rule, rule
from lanewise.health.doctor.rig import Leaf, Rig, Trial
from lanewise.machine.lanes import LAST_WITHOUT_FLITS
from lanewise.machine.sleep import enters_l1_2, exit_latency_ns, sleep_states, sleep_table, with_l1_2

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Function, Link
    from lanewise.machine.view import View

ASPM = Rule(
    id="aspm-enabled",
    what="Active State Power Management is enabled on the link of a drive, network adapter or accelerator.",
    why="A link that went to sleep needs to wake before it moves anything: up to 4 us from L0s, 1 to 64 us "
    "and more from L1, and up to milliseconds more from L1.2, where its clock and common mode are off. Under "
    "steady load it never sleeps; single small operations each pay for the wake-up.",
    severity="info: firmware enables it by default, and under load it costs nothing",
    cost="simulated: a register read after a pause, with a link that sleeps and wakes in the Exit Latency of "
    "its slower end, and from L1.2 in T_POWER_ON and T_COMMONMODE besides, and with one that is awake; where "
    "no end states an Exit Latency, the specification's range",
    fix="On machines whose latency matters boot with `pcie_aspm.policy=performance` (or `pcie_aspm=off`), "
    "or switch ASPM off in the firmware setup.",
    references=(
        "PCIe Base 5.0 §5.4.1 (Active State Power Management)",
        "§5.5 (L1 PM Substates)",
        "§7.5.3.7 (Link Control, ASPM Control)",
    ),
    not_said="Links on which only one end has it enabled for L1: both ends must agree.",
    bearing=Bearing.EXPLAINS,
    profiles=PERFORMANCE,
)

_PAUSE_US = 100
"""A pause after which a link sleeps in any case."""

_LONGEST_FROM_L1_2_NS = 3_355_000
"""T_POWER_ON is at most 3,100 us, T_COMMONMODE 255 us: a longer pause sees the whole of the wake-up."""

_EXIT = {"L0s": "up to 4 us to wake from L0s", "L1": "1 to 64 us to wake from L1"}


@rule(ASPM)
def sleeping_links(view: View, this: Rule) -> Iterable[Finding]:
    """Find fast devices whose links may sleep."""
    for link in view.links:
        device = next(filter(view.is_device, link.lower), None)
        states = sleep_states(link)
        if device is None or not states:
            continue
        trial = _trial(link, states, view)
        yield this.finding(
            Severity.INFO,
            device.address.short,
            f"the link of {device.address.short} may sleep: ASPM {' and '.join(_named(link, states))}",
            [
                *(f"{end.address.short} {_setting(end)}" for end in (link.upper, link.device)),
                f"{device.address.short} is {device.name}",
            ],
            cost=None if trial else f"first operation after a pause: {_EXIT[states[-1]]}",
            trial=trial,
        )


def _trial(link: Link, states: tuple[str, ...], view: View) -> Trial | None:
    """Compare a register read after a pause; None when no exit latency or no mode of the link is known.

    Links in Flit Mode have no L0s, and their L1 is not simulated.
    """
    deepest_ns = exit_latency_ns(link, states[-1])
    lanes = view.leaf_lanes(link.device)
    if deepest_ns is None or lanes is None or lanes.generation > LAST_WITHOUT_FLITS:
        return None
    table = sleep_table(link)
    if table is not None and enters_l1_2(link):
        table = with_l1_2(link, table)
        deepest_ns += _LONGEST_FROM_L1_2_NS
    pause_us = _PAUSE_US + round(2 * deepest_ns / 1000)
    leaf = Leaf(lanes, pause_us=pause_us, sleep=table)
    asleep = Rig(uplinks=(), leaves=(leaf,), mps=view.payload(link.device))
    what = f"a register read after a pause, from {_named(link, states)[-1]}"
    return Trial(asleep, asleep.with_leaves(sleep=None), what, quantity="latency")


def _named(link: Link, states: tuple[str, ...]) -> list[str]:
    """Name the states, L1 by the substate that a link goes on to."""
    return [("L1.2" if state == "L1" and enters_l1_2(link) else state) for state in states]


def _setting(end: Function) -> str:
    """Say what an end has enabled, if the source tells."""
    states = end.link.aspm_enabled
    if states is None:
        return "LnkCtl: not in the source; L1 has to be enabled there, too"
    enabled = f"{' '.join(states)} Enabled" if states else "Disabled"
    return f"LnkCtl: ASPM {enabled}{_exit_words(end)}{_l1_2_words(end)}"


def _l1_2_words(end: Function) -> str:
    if "ASPM_L1.2" not in (end.link.l1_substates_enabled or ()):
        return ""
    times = (("T_CommonMode", end.link.l1_2_common_mode_s), ("T_PwrOn", end.link.l1_2_power_on_s))
    said = [f"{name}={1e6 * seconds:g}us" for name, seconds in times if seconds is not None]
    return "; ".join(["; L1SubCtl1: ASPM_L1.2+", *said])


def _exit_words(end: Function) -> str:
    latencies = (("L0s", end.link.exit_latency_l0s_s), ("L1", end.link.exit_latency_l1_s))
    said = [f"{state} <{1e6 * seconds:g}us" for state, seconds in latencies if seconds is not None]
    return f"; LnkCap: Exit Latency {', '.join(said)}" if said else ""
