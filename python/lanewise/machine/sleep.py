"""Links that may fall asleep by themselves: Active State Power Management as the registers have it.

Models which states a link can enter and how long it takes to leave them. Leaves out after which silence it
enters them, which no register says, and L1.1, whose clock comes back in less than a microsecond. Source: PCI
Express Base Specification 5.0, 5.4.1, 5.5 (L1 PM Substates), 7.5.3.6 (Exit Latency), 7.5.3.7 (ASPM Control)
and 7.8.3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from lanewise.machine.link import Link
    from lanewise.scenario.tables import EndpointLink

_ASPM: dict[tuple[str, ...], Literal["l0s", "l1", "l0s and l1"]] = {
    ("L0s",): "l0s",
    ("L1",): "l1",
    ("L0s", "L1"): "l0s and l1",
}


def sleep_states(link: Link) -> tuple[str, ...]:
    """Return the states that a link can enter: L1 needs both ends, L0s is a matter of each transmitter."""
    upper, lower = link.upper.link.aspm_enabled, link.device.link.aspm_enabled
    if lower is None:
        return ()
    states: tuple[str, ...] = ("L0s",) if "L0s" in lower or "L0s" in (upper or ()) else ()
    if "L1" in lower and (upper is None or "L1" in upper):
        states += ("L1",)
    return states


def exit_latency_ns(link: Link, state: str) -> float | None:
    """Return how long a link takes to leave a state: the slower end counts; None when neither end says."""
    ends = (link.upper.link, link.device.link)
    known = [end.exit_latency_l1_s if state == "L1" else end.exit_latency_l0s_s for end in ends]
    return max((1e9 * seconds for seconds in known if seconds is not None), default=None)


def enters_l1_2(link: Link) -> bool:
    """Return whether a link goes on from L1 to L1.2: both ends have it enabled, as far as the source tells.

    While a device has something to do, it tells the host by Latency Tolerance Reporting (6.18) that it cannot
    wait for so long, and the link stays out of L1.2. So this is about the first operation after a pause.
    """
    upper, lower = link.upper.link.l1_substates_enabled, link.device.link.l1_substates_enabled
    enabled = lower is not None and "ASPM_L1.2" in lower and (upper is None or "ASPM_L1.2" in upper)
    return enabled and "L1" in sleep_states(link)


def with_l1_2(link: Link, table: EndpointLink) -> EndpointLink:
    """Return what `sleep_table` says, with L1.2 and its times, which are those of the slower end.

    Where no end says how long its power takes, that is the value before software sets one (7.8.3.4).
    """
    ends = (link.upper.link, link.device.link)
    power_on = max((end.l1_2_power_on_s for end in ends if end.l1_2_power_on_s is not None), default=10e-6)
    common_mode = max((end.l1_2_common_mode_s or 0.0 for end in ends), default=0.0)
    return {**table, "l1_2_exit": f"{1e6 * (power_on + common_mode):.0f} us"}


def sleep_table(link: Link) -> EndpointLink | None:
    """Return what a scenario's `link` table says of sleep: what no end says has the scenario's defaults.

    Without L1.2, which a device that is busy keeps its link out of.
    """
    states = sleep_states(link)
    if not states:
        return None
    table: EndpointLink = {"aspm": _ASPM[states]}
    for state in states:
        exit_ns = exit_latency_ns(link, state)
        if exit_ns is not None:
            table["l1_exit" if state == "L1" else "l0s_exit"] = f"{exit_ns:.0f} ns"
    return table
