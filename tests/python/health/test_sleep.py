"""Links that may sleep: which states, how long they take to wake, and what is made of it."""

from __future__ import annotations

import json

import pytest
from machines import GPU, pair

from lanewise import _core
from lanewise.health.doctor import Severity, diagnose
from lanewise.machine import read_bytes
from lanewise.machine.scenario import scan_to_scenario
from lanewise.machine.sleep import enters_l1_2, exit_latency_ns, sleep_states, sleep_table


def sleepy(port: dict[str, object], device: dict[str, object]) -> object:
    return pair(port={"link": port}, link=device)


@pytest.mark.parametrize(
    ("port", "device", "states"),
    [
        (("L1",), ("L1",), ("L1",)),
        ((), ("L1",), ()),
        (("L0s",), (), ("L0s",)),
        (("L0s", "L1"), ("L0s", "L1"), ("L0s", "L1")),
        (None, ("L1",), ("L1",)),
        (("L1",), None, ()),
    ],
)
def test_l1_needs_both_ends_and_l0s_one(port: object, device: object, states: tuple[str, ...]) -> None:
    (link,) = sleepy({"aspm_enabled": port}, {"aspm_enabled": device}).links  # type: ignore[attr-defined]
    assert sleep_states(link) == states


def test_the_slower_end_counts_and_nothing_is_made_up() -> None:
    machine = sleepy(
        {"aspm_enabled": ("L1",), "exit_latency_l1_s": 16e-6},
        {"aspm_enabled": ("L1",), "exit_latency_l1_s": 64e-6},
    )
    (link,) = machine.links  # type: ignore[attr-defined]
    assert exit_latency_ns(link, "L1") == pytest.approx(64_000)
    assert exit_latency_ns(link, "L0s") is None
    assert sleep_table(link) == {"aspm": "l1", "l1_exit": "64000 ns"}


def test_a_scenario_has_the_sleep_of_the_machine_and_runs() -> None:
    machine = sleepy(
        {"aspm_enabled": ("L0s", "L1"), "exit_latency_l0s_s": 1e-6, "exit_latency_l1_s": 8e-6},
        {"aspm_enabled": ("L0s", "L1"), "exit_latency_l0s_s": 2e-6, "exit_latency_l1_s": 8e-6},
    )
    text = scan_to_scenario(machine)  # type: ignore[arg-type]
    assert 'link = { aspm = "l0s and l1", l0s_exit = "2000 ns", l1_exit = "8000 ns" }' in text
    run = '\n[run]\nwarm_up = "10 us"\ntime_limit = "30 us"\n'
    assert json.loads(_core.run("sleep", source=text + run))["flows"]


L1_2 = {
    "aspm_enabled": ("L1",),
    "l1_substates_enabled": ("ASPM_L1.1", "ASPM_L1.2"),
    "exit_latency_l1_s": 8e-6,
}


def test_a_link_goes_on_to_l1_2_where_both_ends_may() -> None:
    for other, goes_on in [(L1_2, True), ({"aspm_enabled": ("L1",)}, True), ({"aspm_enabled": ()}, False)]:
        (link,) = sleepy(other, L1_2).links  # type: ignore[attr-defined]
        assert enters_l1_2(link) is goes_on
    (link,) = sleepy({**L1_2, "l1_substates_enabled": ("ASPM_L1.1",)}, L1_2).links  # type: ignore[attr-defined]
    assert not enters_l1_2(link)


def test_the_first_operation_after_a_pause_waits_for_power_and_common_mode() -> None:
    port = {**L1_2, "l1_2_power_on_s": 44e-6, "l1_2_common_mode_s": 40e-6}
    device = {**L1_2, "l1_2_power_on_s": 10e-6, "l1_2_common_mode_s": 0.0}
    machine = sleepy(port, device)
    (finding,) = diagnose(machine).findings  # type: ignore[arg-type]
    assert finding.title.endswith("may sleep: ASPM L1.2")
    assert finding.cost is not None
    assert finding.cost.ns == pytest.approx(8_000 + 44_000 + 40_000, abs=10)
    assert "L1SubCtl1: ASPM_L1.2+; T_CommonMode=40us; T_PwrOn=44us" in finding.evidence[0]
    # A device that is busy keeps its link out of L1.2, so a scenario of the machine has only L1.
    assert "l1_2" not in scan_to_scenario(machine)  # type: ignore[arg-type]


LATENCIES = {"exit_latency_l0s_s": 4e-6, "exit_latency_l1_s": 64e-6}


def waking_costs(state: str) -> float:
    ends = {"aspm_enabled": (state,), **LATENCIES}
    (finding,) = diagnose(sleepy(ends, ends)).findings  # type: ignore[arg-type]
    assert finding.cost is not None
    assert finding.cost.basis == "simulated"
    assert finding.cost.ns is not None
    return finding.cost.ns


def test_a_register_read_wakes_a_link_from_l1_once() -> None:
    assert waking_costs("L1") == pytest.approx(64_000, abs=10)


def test_a_register_read_wakes_both_directions_from_l0s_unless_an_update_just_did() -> None:
    assert 4_000 < waking_costs("L0s") <= 8_010


def test_without_latencies_the_cost_is_the_range_of_the_specification() -> None:
    (finding,) = diagnose(sleepy({"aspm_enabled": ("L1",)}, {"aspm_enabled": ("L1",)})).findings  # type: ignore[arg-type]
    assert finding.cost is not None
    assert (finding.cost.basis, finding.cost.ns) == ("stated", None)


def test_what_sleeps_below_its_port_is_woken_and_not_reseated() -> None:
    """A laptop's GPU in D3cold reads as ones; its root port is in D3hot meanwhile."""
    machine = pair(
        port={"registers": {"power_state": "D3hot"}},
        class_code=GPU,
        driver="nvidia",
        registers={"no_answer": ("(rev ff)",)},
    )
    [found] = [each for each in diagnose(machine).findings if each.rule == "device-dead"]
    assert found.severity is Severity.INFO
    assert found.title.endswith("because 00:01.0 above it sleeps")
    assert found.cost is not None
    assert found.cost.what == "none, if it wakes when it is used"
    assert "devices/0000:00:01.0/power/control" in found.fix
    assert "reseat" not in found.fix


SUBSTATES = """
01:00.0 Non-Volatile memory controller: Example Drive
        Capabilities: [70] Express (v2) Endpoint, MSI 00
                LnkCap: Port #0, Speed 8GT/s, Width x4, ASPM L1, Exit Latency L1 <8us
                LnkCtl: ASPM L1 Enabled; RCB 64 bytes, LnkDisable- CommClk+
                LnkSta: Speed 8GT/s, Width x4
        Capabilities: [210 v1] L1 PM Substates
                L1SubCap: PCI-PM_L1.2+ PCI-PM_L1.1+ ASPM_L1.2+ ASPM_L1.1+ L1_PM_Substates+
                          PortCommonModeRestoreTime=60us PortTPowerOnTime=90us
                L1SubCtl1: PCI-PM_L1.2- PCI-PM_L1.1- ASPM_L1.2+ ASPM_L1.1-
                           T_CommonMode=60us LTR1.2_Threshold=98304ns
                L1SubCtl2: T_PwrOn=90us
"""


def test_the_times_of_l1_2_are_those_that_are_set() -> None:
    (drive,) = read_bytes(SUBSTATES.encode())
    link = drive.link
    assert link.l1_substates_enabled == ("ASPM_L1.2",)
    assert (link.l1_2_common_mode_s, link.l1_2_power_on_s) == (pytest.approx(60e-6), pytest.approx(90e-6))
