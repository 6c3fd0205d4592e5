"""Each rule speaks on a machine that has the fault, and is silent on one that only looks like it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from fault_cases import FAULT_CASES
from machines import ACCELERATOR, GPU, NIC, NVME, function, machine, on_chipset, pair, switched

from lanewise import _core
from lanewise.health.doctor import Profile, Severity, diagnose
from lanewise.health.doctor.examination import rules
from lanewise.health.doctor.finding import Finding
from lanewise.health.doctor.registry import Rule
from lanewise.health.doctor.rig import Rig
from lanewise.health.predict import predict
from lanewise.machine.model import (
    SPEEDS_GT_S,
    Address,
    Bar,
    Cxl,
    Dpc,
    Equalization,
    Errors,
    Identity,
    Kind,
    Machine,
    NumaNode,
    Registers,
    Relation,
    ResizableBar,
    Slot,
    Sriov,
)
from lanewise.machine.scenario import scan_to_scenario
from lanewise.scenario import scenario_text

GIB = 1 << 30


def errors(**bits: object) -> dict[str, object]:
    return {"registers": {"errors": Errors(**bits)}}  # type: ignore[arg-type]


def gpu_and_nic(*, nic_below: str) -> Machine:
    """A GPU below one root port, a fast adapter below the same switch or another root port."""
    if nic_below == "switch":
        return switched({"class_code": GPU, "vendor": 0x10DE}, {"class_code": NIC})
    return machine(
        function("00:01.0", Kind.ROOT_PORT),
        function("01:00.0", Kind.ENDPOINT, class_code=GPU, vendor=0x10DE, parent="00:01.0", numa_node=0),
        function("80:01.0", Kind.ROOT_PORT),
        function("81:00.0", Kind.ENDPOINT, class_code=NIC, parent="80:01.0", numa_node=1),
    )


def two_gpus(*, apart: bool, **more: Any) -> Machine:
    """Two GPUs of one kind, below root ports of two sockets or below one switch."""
    kind = {"class_code": GPU, "vendor": 0x10DE}
    if not apart:
        return switched(kind, kind)
    return machine(
        function("00:01.0", Kind.ROOT_PORT),
        function("01:00.0", Kind.ENDPOINT, parent="00:01.0", numa_node=0, **kind),
        function("80:01.0", Kind.ROOT_PORT),
        function("81:00.0", Kind.ENDPOINT, parent="80:01.0", numa_node=1, **kind),
        **more,
    )


def two_nodes(*, device: int | None) -> Machine:
    one = pair(numa_node=device)
    nodes = (NumaNode(0, "0-7"), NumaNode(1, "8-15"))
    return replace(one, numa_nodes=nodes, functions={
        address: f if not f.is_bridge else replace(f, numa_node=0) for address, f in one.functions.items()
    })  # fmt: skip


LOW = (Bar(0, address=0xC0000000, size=1 << 28, bits64=True, prefetchable=True),)
HIGH = (Bar(0, address=0x20_0000_0000, size=1 << 28, bits64=True, prefetchable=True),)
GONE = (Bar(0, address=0xC0000000, size=1 << 16, virtual=True),)
SLOT = Slot(number=1, hot_plug=True, surprise=True)
LOST = {"memory_enabled": False, "bus_master": False, "bars": GONE}

CASES: dict[str, tuple[Machine, Machine, Severity]] = {
    **FAULT_CASES,
    "link-width": (pair(now="16 x2"), pair(can="16 x2"), Severity.WARNING),
    "link-speed": (pair(now="8 x4"), pair(port={"can": "8 x4"}, now="8 x4"), Severity.WARNING),
    "gpu-link-idle": (
        pair(port={"can": "32 x16"}, can="32 x16", now="2.5 x16", class_code=GPU, vendor=0x10DE),
        pair(port={"can": "32 x16"}, can="32 x16", class_code=GPU, vendor=0x10DE),
        Severity.INFO,
    ),
    "device-above-slot": (
        pair(port={"can": "8 x4"}, now="8 x4"),
        pair(port={"can": "32 x16"}),
        Severity.INFO,
    ),
    "slot-lanes-unused": (pair(port={"can": "16 x16"}), pair(port={"can": "16 x4"}), Severity.INFO),
    "switch-oversubscribed": (
        switched(*[{"can": "16 x8"}] * 4),
        switched(*[{"can": "16 x8"}] * 2),
        Severity.INFO,
    ),
    "chipset-oversubscribed": (
        on_chipset(*[{}] * 2),
        on_chipset(*[{}] * 2, number=0x7A04),
        Severity.INFO,
    ),
    "mps-mismatch": (pair(transfers={"mps": 512, "mps_supported": 512}), pair(), Severity.ERROR),
    "mps-small": (
        pair(
            port={"transfers": {"mps": 128, "mps_supported": 512}},
            transfers={"mps": 128, "mps_supported": 512},
            class_code=ACCELERATOR,
        ),
        pair(port={"transfers": {"mps": 128}}, transfers={"mps": 128, "mps_supported": 128}),
        Severity.WARNING,
    ),
    "mrrs-small": (
        pair(port={"can": "32 x16"}, can="32 x16", transfers={"mrrs": 128}),
        pair(transfers={"mrrs": 128}),
        Severity.WARNING,
    ),
    "tags-few": (
        pair(port={"can": "16 x16"}, can="16 x16", transfers={"extended_tags": False}),
        pair(transfers={"extended_tags": False}),
        Severity.WARNING,
    ),
    "rcb-64": (pair(port={"link": {"rcb_bytes": 128}}), pair(), Severity.INFO),
    "relaxed-ordering-off": (
        pair(port={"can": "32 x16"}, can="32 x16", class_code=NIC, transfers={"relaxed_ordering": False}),
        pair(class_code=NIC, transfers={"relaxed_ordering": False}),
        Severity.INFO,
    ),
    "aspm-enabled": (
        pair(
            port={"link": {"aspm_enabled": ("L1",)}},
            link={"aspm_enabled": ("L1",), "exit_latency_l1_s": 8e-6},
        ),
        pair(link={"aspm_enabled": ("L1",)}),
        Severity.INFO,
    ),
    "link-errors": (
        pair(**errors(correctable_status=frozenset({"BadTLP", "Rollover"}))),
        pair(**errors(correctable_status=frozenset({"AdvNonFatalErr"}))),
        Severity.WARNING,
    ),
    "uncorrectable-errors": (
        pair(**errors(uncorrectable_status=frozenset({"MalfTLP"}))),
        pair(**errors(uncorrectable_status=frozenset({"UnsupReq"}))),
        Severity.WARNING,
    ),
    "lane-errors": (pair(link={"lane_errors": (3,)}), pair(link={"lane_errors": ()}), Severity.INFO),
    "completion-timeout": (
        pair(transfers={"completion_timeout_s": (50e-6, 100e-6)}),
        pair(transfers={"completion_timeout_s": (65e-3, 210e-3)}),
        Severity.WARNING,
    ),
    "acs-redirect": (
        switched(*[{"class_code": GPU, "vendor": 0x10DE}] * 2, acs=frozenset({"ReqRedir"})),
        switched(*[{"class_code": GPU, "vendor": 0x10DE}] * 2, acs=frozenset({"SrcValid"})),
        Severity.WARNING,
    ),
    "peers-apart": (gpu_and_nic(nic_below="root"), gpu_and_nic(nic_below="switch"), Severity.INFO),
    "gpus-apart": (two_gpus(apart=True), two_gpus(apart=False), Severity.INFO),
    "numa-unknown": (two_nodes(device=None), two_nodes(device=1), Severity.INFO),
    "numa-mismatch": (two_nodes(device=1), two_nodes(device=0), Severity.INFO),
    "resizable-bar": (
        pair(
            class_code=GPU,
            vendor=0x10DE,
            registers={"resizable_bars": (ResizableBar(1, 1 << 28, (1 << 28, 32 * GIB)),)},
        ),
        pair(
            class_code=GPU,
            vendor=0x10DE,
            registers={"resizable_bars": (ResizableBar(1, 32 * GIB, (1 << 28, 32 * GIB)),)},
        ),
        Severity.INFO,
    ),
    "bar-below-4g": (pair(registers={"bars": LOW}), pair(registers={"bars": HIGH}), Severity.INFO),
    "sriov-without-ari": (
        pair(port={"registers": {"ari_forwarding": False}}, registers={"sriov": Sriov(64, 64, True, 32)}),
        pair(port={"registers": {"ari_forwarding": True}}, registers={"sriov": Sriov(64, 64, True, 32)}),
        Severity.WARNING,
    ),
    "dpc-triggered": (
        pair(port={"registers": {"dpc": Dpc("fatal", triggered=True)}}),
        pair(port={"registers": {"dpc": Dpc("fatal", triggered=False)}}),
        Severity.ERROR,
    ),
    "dpc-off": (
        pair(port={"registers": {"dpc": Dpc("off"), "slot": SLOT}}),
        pair(port={"registers": {"dpc": Dpc("off")}}),
        Severity.INFO,
    ),
    "link-one-end": (
        machine(function("01:00.0", Kind.ENDPOINT, can="16 x16", now="8 x8")),
        machine(
            function("01:00.0", Kind.ENDPOINT, can="16 x16", now="2.5 x16", class_code=GPU),
            function("02:00.0", Kind.ENDPOINT, can="8 x4"),
            function("03:00.0", Kind.ENDPOINT, can="5 x1", now="2.5 x1"),
        ),
        Severity.INFO,
    ),
    "equalization-incomplete": (
        pair(
            port={"can": "32 x4"}, can="32 x4", link={"equalization": (Equalization(32.0, complete=False),)}
        ),
        pair(link={"equalization": (Equalization(16.0, complete=False),)}),
        Severity.WARNING,
    ),
    "cxl-as-pcie": (
        pair(registers={"cxl": Cxl(memory_capable=True, memory_enabled=True, link_memory=False)}),
        pair(registers={"cxl": Cxl(memory_capable=True, memory_enabled=True, link_memory=True)}),
        Severity.WARNING,
    ),
    "configuration-lost": (
        pair(driver="example", registers=LOST),
        pair(driver="vfio-pci", registers=LOST),
        Severity.ERROR,
    ),
}


def found(machine: Machine, rule: str, *, cost: bool = False) -> list[Finding]:
    return [finding for finding in diagnose(machine, cost=cost).findings if finding.rule == rule]


def test_every_rule_has_a_case() -> None:
    assert {rule.id for rule in rules()} == set(CASES)


@pytest.mark.parametrize("rule", CASES)
def test_the_fault_is_found_with_evidence_and_what_looks_like_it_is_not(rule: str) -> None:
    faulty, sound, severity = CASES[rule]
    findings = found(faulty, rule)
    assert findings, "nothing found"
    assert findings[0].severity is severity
    assert findings[0].evidence
    assert findings[0].fix
    assert found(sound, rule) == []


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.id)
def test_every_finding_has_the_kind_of_cost_that_its_rule_says(rule: Rule) -> None:
    for finding in found(CASES[rule.id][0], rule.id, cost=True):
        assert finding.cost is not None
        assert rule.cost.startswith(finding.cost.basis)
        if finding.cost.compared is not None:
            lost = finding.cost.ns if finding.cost.gb_per_s is None else finding.cost.gb_per_s
            assert lost is not None
            assert lost > -0.01 * finding.cost.compared.fixed, "the cure is worse than the disease"


def test_tunnels_of_thunderbolt_are_no_slow_links() -> None:
    """A port for tunnels and the dock behind it report 2.5 GT/s; the drive in the dock has its own link."""
    bridge = {"identity": Identity(0x060400, 0x8086, 0x15EF, device_name="JHL7540 Thunderbolt 3 Bridge")}
    tunnel = Identity(0x060400, 0x8086, 0x9A23, device_name="Thunderbolt 4 PCI Express Root Port #0")
    functions = (
        replace(function("00:07.0", Kind.ROOT_PORT, can="8 x4", now="2.5 x4"), identity=tunnel),
        replace(
            function("2c:00.0", Kind.UPSTREAM_PORT, can="8 x4", now="2.5 x4", parent="00:07.0"), **bridge
        ),
        replace(function("2d:01.0", Kind.DOWNSTREAM_PORT, can="8 x4", parent="2c:00.0"), **bridge),
        function("2e:00.0", Kind.ENDPOINT, can="8 x4", parent="2d:01.0"),
    )
    dock = machine(*functions)
    assert [(link.tunnel, link.on_die) for link in dock.links] == [(True, True), (False, False)]
    assert diagnose(dock, cost=False).links == 1, "as `scan` counts: a link whose registers mean something"
    assert diagnose(dock, cost=False).findings == ()
    assert "tunnels of Thunderbolt" in scan_to_scenario(dock)
    assert any("tunnels of Thunderbolt" in text for text in predict(dock, together=False).assumptions)
    wider = function("2e:00.0", Kind.ENDPOINT, can="16 x4", now="8 x4", parent="2d:01.0")
    (limited,) = diagnose(machine(*functions[:-1], wider), cost=False).findings
    assert limited.rule == "device-above-slot"
    assert limited.fix.startswith("Nothing: the slot is that of a Thunderbolt")


def test_ports_that_a_hypervisor_makes_up_limit_nothing() -> None:
    """A GPU that is passed through has x8 on its host; QEMU's port claims x32 of 16 GT/s."""
    port = Identity(0x060400, 0x1B36, 0x000C, device_name="QEMU PCIe Root port")
    guest = machine(
        replace(function("00:1c.0", Kind.ROOT_PORT, can="16 x32", now="16 x8"), identity=port),
        function("01:00.0", Kind.ENDPOINT, can="16 x16", now="16 x8", class_code=GPU, parent="00:1c.0"),
    )
    (finding,) = diagnose(guest, cost=False).findings
    assert (finding.rule, finding.severity) == ("link-one-end", Severity.INFO)
    assert "hypervisor" in finding.evidence[1]
    assert 'link = "gen4 x8"' in scan_to_scenario(guest)
    asleep = machine(
        replace(function("00:1c.0", Kind.ROOT_PORT, can="16 x32", now="2.5 x16"), identity=port),
        function("01:00.0", Kind.ENDPOINT, can="16 x16", now="2.5 x16", class_code=GPU, parent="00:1c.0"),
    )
    assert diagnose(asleep, cost=False).findings == ()
    assert 'link = "gen4 x16"' in scan_to_scenario(asleep)
    newer = machine(
        replace(function("00:1c.0", Kind.ROOT_PORT, can="16 x32", now="16 x16"), identity=port),
        function("01:00.0", Kind.ENDPOINT, can="32 x16", class_code=GPU, parent="00:1c.0"),
    )
    assert diagnose(newer, cost=False).findings == (), "QEMU's port says 16 GT/s, and the GPU runs at 32 GT/s"
    assert newer.contradictions == ()
    assert {row.link for row in predict(newer, devices=[Address.parse("01:00.0")]).rows} == {"gen5 x16"}


def test_an_nvswitch_without_its_driver_is_one_of_several() -> None:
    switches = [
        function(f"8{n}:00.0", Kind.ENDPOINT, class_code=0x068000, vendor=0x10DE, driver_known=True,
                 driver=None if n == 5 else "nvidia-nvswitch")
        for n in range(3, 7)
    ]  # fmt: skip
    (finding,) = found(machine(*switches), "driver-missing")
    assert (finding.bdf, finding.severity) == ("85:00.0", Severity.WARNING)


def test_a_quarter_of_the_lanes_is_a_fault_even_where_the_slot_is_not_known() -> None:
    """`lspci -vvv -s BDF` of a GPU: x4 of x16 is no slot for it; x8 may be one."""
    for lanes, severity in ((4, Severity.WARNING), (8, Severity.INFO), (16, None)):
        alone = machine(function("01:00.0", Kind.ENDPOINT, can="32 x16", now=f"32 x{lanes}", class_code=GPU))
        diagnosis = diagnose(alone, cost=False, profile=Profile.PROVISIONING)
        assert [f.severity for f in diagnosis.findings] == [severity] * (severity is not None)
        assert diagnosis.examined == (lanes == 16)


def test_devices_of_a_cloud_are_not_to_be_tuned() -> None:
    """The registers of what a hypervisor makes up, and of virtual functions, are for show."""
    amazon = Identity(NVME, 0x1D0F, 0x8061, device_name="NVMe EBS Controller")
    adapter = Identity(NIC, 0x15B3, 0x1016, device_name="MT27710 Family [ConnectX-4 Lx Virtual Function]")
    small = {"mrrs": 128, "extended_tags": False, "relaxed_ordering": False}
    guest = machine(
        replace(function("00:04.0", Kind.ENDPOINT, can="8 x8", transfers=small), identity=amazon),
        replace(function("0001:00:02.0", Kind.ENDPOINT, transfers=small), identity=adapter, virtual=True),
        function("00:1e.0", Kind.ENDPOINT, can="8 x16", now="8 x8", class_code=GPU, vendor=0x10DE),
    )
    (finding,) = diagnose(guest, cost=False).findings
    assert (finding.rule, finding.bdf) == ("link-one-end", "00:1e.0")
    assert "this is a guest" in finding.evidence[1]


def test_a_device_without_its_port_needs_what_its_lanes_carry() -> None:
    """On four lanes of the sixteen that a GPU has, 256 tags of 128 B are enough in flight."""
    lonely = machine(
        function(
            "04:00.0", Kind.ENDPOINT, can="32 x16", now="2.5 x4", class_code=GPU, vendor=0x10DE,
            transfers={"mrrs": 128},
        )
    )  # fmt: skip
    assert [finding.severity for finding in found(lonely, "mrrs-small")] == [Severity.INFO]


def test_errors_of_a_device_without_its_port_are_said() -> None:
    lonely = machine(
        function("01:00.0", Kind.ENDPOINT, **errors(correctable_status=frozenset({"BadTLP", "Rollover"})))
    )
    (finding,) = found(lonely, "link-errors")
    assert (finding.severity, finding.bdf) == (Severity.WARNING, "01:00.0")


def test_a_list_without_registers_is_not_called_in_order() -> None:
    bare = machine(replace(function("01:00.0", Kind.ENDPOINT), registers=Registers(), kind=None))
    diagnosis = diagnose(bare, cost=False)
    assert not diagnosis.examined
    assert "lspci -vvv" in diagnosis.notes[-1]


def test_a_machine_in_order_is_left_in_peace() -> None:
    assert diagnose(pair()).findings == ()


def test_half_the_lanes_cost_half_the_bandwidth_in_the_simulation() -> None:
    (finding,) = found(pair(now="16 x2"), "link-width", cost=True)
    assert finding.cost is not None
    assert finding.trial is not None
    now, whole = (price_of(rig) for rig in (finding.trial.as_is, finding.trial.fixed))
    assert now == pytest.approx(whole / 2, rel=0.05)
    assert finding.cost.gb_per_s == pytest.approx(whole - now)


@pytest.mark.parametrize("gt_s", SPEEDS_GT_S[1:])
def test_a_link_below_its_speed_is_priced_in_every_generation(gt_s: float) -> None:
    slower = SPEEDS_GT_S[SPEEDS_GT_S.index(gt_s) - 1]
    (finding,) = found(
        pair(can=f"{gt_s} x16", port={"can": f"{gt_s} x16"}, now=f"{slower} x16"), "link-speed", cost=True
    )
    assert finding.cost is not None
    assert finding.cost.gb_per_s is not None
    assert finding.cost.gb_per_s > 0


def price_of(rig: Rig) -> float:
    result = json.loads(_core.run("made up", source=scenario_text(rig.scenario())))
    return float(sum(flow["goodput_gb_per_s"] for flow in result["flows"]))


def test_a_soldered_device_has_the_lanes_the_board_gives_it() -> None:
    port = {"can": "5 x4", "registers": {"slot": None}}
    (finding,) = found(pair(port=port, can="5 x2", now="5 x1", class_code=NIC), "link-width")
    assert finding.severity is Severity.INFO
    (drive,) = found(pair(port={"registers": {"slot": None}}, now="16 x2"), "link-width")
    assert drive.severity is Severity.WARNING, "drives come on modules, slot or no slot"


def test_a_speed_that_the_port_is_told_to_keep_is_said_and_costs_fast_devices_a_warning() -> None:
    told = {"link": {"target_gt_s": 8.0}}
    (finding,) = found(pair(port=told, now="8 x4"), "link-speed")
    assert finding.severity is Severity.WARNING
    assert "told to stay at 8GT/s" in finding.title
    slow = pair(port={"can": "5 x1", "link": {"target_gt_s": 2.5}}, can="5 x1", now="2.5 x1", class_code=NIC)
    assert [finding.severity for finding in found(slow, "link-speed")] == [Severity.INFO]


def test_the_target_speed_of_a_device_holds_nothing_back() -> None:
    """Target Link Speed limits a link at its downstream port alone (PCIe Base 5.0 §7.5.3.19)."""
    (finding,) = found(pair(link={"target_gt_s": 8.0}, now="8 x4"), "link-speed")
    assert finding.severity is Severity.WARNING
    assert "because" not in finding.title


def test_a_gpu_that_fell_back_by_a_generation_does_not_sleep() -> None:
    fallen = pair(port={"can": "32 x16"}, can="32 x16", now="16 x16", class_code=GPU, vendor=0x10DE)
    assert found(fallen, "gpu-link-idle") == []
    assert found(fallen, "link-speed")[0].severity is Severity.WARNING


def test_an_idle_gpu_with_a_lane_missing_is_reported_for_the_lane() -> None:
    faulty = pair(port={"can": "32 x16"}, can="32 x16", now="2.5 x8", class_code=GPU, vendor=0x10DE)
    assert found(faulty, "gpu-link-idle") == []
    assert found(faulty, "link-width")[0].severity is Severity.WARNING


def test_declared_links_are_not_judged() -> None:
    assert found(replace(pair(now="8 x2"), measured=False), "link-width") == []


def test_performance_mode_of_linux_is_no_mismatch() -> None:
    below = {"mps": 128, "mps_supported": 128}
    assert found(pair(transfers={**below, "mrrs": 128}), "mps-mismatch") == []
    assert found(pair(transfers={**below, "mrrs": 512}), "mps-mismatch")[0].severity is Severity.ERROR


def test_old_link_errors_are_one_note_and_many_counted_ones_a_warning() -> None:
    bits = frozenset({"BadTLP"})
    (old,) = found(pair(**errors(correctable_status=bits)), "link-errors")
    assert old.severity is Severity.INFO
    counted = pair(**errors(correctable_status=bits, counters=(("correctable.BadTLP", 5000),)))
    (now,) = found(counted, "link-errors")
    assert now.severity is Severity.WARNING
    assert "5000" in now.title


def test_errors_that_only_the_port_received_are_not_said_to_be_at_the_device() -> None:
    latched = errors(correctable_status=frozenset({"RxErr"}))
    (finding,) = found(pair(port=latched), "link-errors")
    assert finding.title == "link errors happened at some time at 00:01.0 above 01:00.0"
    assert finding.fix.startswith("Clear the bits (`setpci -s 00:01.0 ECAP_AER+10.l=ffffffff`)")
    (finding,) = found(pair(port=latched, **latched), "link-errors")
    assert finding.title == "link errors happened at some time at 01:00.0"
    assert "`setpci -s 00:01.0 ECAP_AER+10.l=ffffffff`, and the same for 01:00.0)" in finding.fix


def test_counts_are_compared_and_not_cleared() -> None:
    counted = errors(counters=(("correctable.RxErr", 150),))
    (finding,) = found(pair(port=counted), "link-errors")
    assert finding.title == "150 correctable errors counted at 00:01.0 above 01:00.0"
    assert finding.fix.startswith("Note the counts, run a load, look again. When they rise: reseat")


def test_redirection_costs_what_the_root_port_takes() -> None:
    faulty = CASES["acs-redirect"][0]
    (finding,) = found(faulty, "acs-redirect", cost=True)
    assert finding.cost is not None
    assert finding.cost.gb_per_s is not None
    assert finding.cost.gb_per_s > 10, "both flows share the upstream link"


def test_equal_trials_are_run_once() -> None:
    ports = [function(f"00:0{n}.0", Kind.ROOT_PORT, can="16 x4") for n in range(1, 5)]
    drives = [
        function(f"0{n}:00.0", Kind.ENDPOINT, can="16 x4", now="8 x4", parent=f"00:0{n}.0")
        for n in range(1, 5)
    ]
    diagnosis = diagnose(machine(*ports, *drives))
    assert [finding.rule for finding in diagnosis.findings] == ["link-speed"] * 4
    assert diagnosis.simulations == 2


def test_fixes_name_the_device_that_they_are_for() -> None:
    """What stands in a fix can be pasted into a shell."""
    for rule in CASES:
        for finding in found(CASES[rule][0], rule):
            assert "BDF" not in finding.fix
            assert "devices/" not in finding.fix or "devices/0000:" in finding.fix


def test_the_speed_to_try_again_is_that_of_both_ends() -> None:
    (finding,) = found(CASES["link-speed"][0], "link-speed")
    assert "setpci -s 00:01.0 CAP_EXP+30.w=" in finding.fix
    assert "SPEED" not in finding.fix


def test_lanes_and_speed_that_are_both_missing_are_priced_apart() -> None:
    both = pair(now="8 x2")
    (width,), (speed,) = found(both, "link-width", cost=True), found(both, "link-speed", cost=True)
    links = [
        [rig.leaves[0].link.word for rig in (f.trial.as_is, f.trial.fixed)] for f in (width, speed) if f.trial
    ]
    assert links == [["gen3 x2", "gen3 x4"], ["gen3 x2", "gen4 x2"]]


def test_a_gpu_with_a_lane_missing_has_its_full_speed_under_load() -> None:
    gpu = pair(port={"can": "32 x16"}, can="32 x16", now="2.5 x8", class_code=GPU, vendor=0x10DE)
    assert found(gpu, "link-speed") == []
    (finding,) = found(gpu, "link-width")
    assert finding.trial is not None
    assert finding.trial.as_is.leaves[0].link.word == "gen5 x8"
    lonely = machine(function("01:00.0", Kind.ENDPOINT, can="32 x16", now="2.5 x4", class_code=GPU))
    (unknown,) = found(lonely, "link-one-end")
    assert unknown.trial is not None
    assert unknown.trial.as_is.leaves[0].link.word == "gen5 x4"


@pytest.mark.parametrize(("above", "below", "mrrs", "wrong"), [
    (256, 128, 512, True), (256, 128, 128, False), (128, 256, 512, True), (256, 256, 512, False),
])  # fmt: skip
def test_payloads_that_change_inside_a_switch_are_a_mismatch(
    above: int, below: int, mrrs: int, wrong: bool
) -> None:
    """Both ends of either link agree, and a completion of the root port is still too large for the drive."""
    transfers = {"mps": below, "mrrs": mrrs}
    inside = switched({"transfers": transfers}, transfers=transfers)
    ports = {
        f.address: replace(f, registers=f.registers._replace(transfers=f.transfers._replace(mps=above)))
        for f in inside
        if f.kind in (Kind.ROOT_PORT, Kind.UPSTREAM_PORT)
    }
    findings = found(replace(inside, functions={**inside.functions, **ports}), "mps-mismatch")
    assert [f.bdf for f in findings] == (["02:00.0"] if wrong else [])


@pytest.mark.parametrize(("first", "most"), [("drive", "04:00.0"), ("gpu", "03:00.0")])
def test_small_payloads_are_priced_for_the_device_that_loses_most(first: str, most: str) -> None:
    """All devices below a root port have one setting; a GPU on sixteen lanes has more of it than a drive."""
    drive, gpu = {"can": "32 x4"}, {"can": "32 x16", "class_code": GPU, "vendor": 0x10DE}
    devices = [drive, gpu] if first == "drive" else [gpu, drive]
    whole = switched(*devices, uplink="32 x16")
    small = {
        address: replace(one, registers=one.registers._replace(transfers=one.transfers._replace(mps=128)))
        for address, one in whole.functions.items()
    }
    (found,) = [f for f in diagnose(replace(whole, functions=small)).findings if f.rule == "mps-small"]
    assert found.bdf == most
    assert found.cost is not None
    assert found.cost.gb_per_s is not None
    assert found.cost.gb_per_s > 4, "a drive on four lanes has lost 1.3"
    assert len(found.also) == 1
    assert most not in found.also


@pytest.mark.parametrize("driver", ["vfio-pci", "pciback"])
def test_a_device_that_is_held_for_a_guest_has_lost_nothing(driver: str) -> None:
    """Xen's driver is called otherwise than its module."""
    assert not found(pair(driver=driver, registers=LOST), "configuration-lost")


def test_devices_below_one_port_are_not_redirected() -> None:
    """Redirection at a port is for packets to its sisters; what hangs below one nested switch stays there."""
    nested = switched({"class_code": GPU, "vendor": 0x10DE}, {}, acs=frozenset({"ReqRedir"}))
    second = replace(function("03:00.1", Kind.ENDPOINT, class_code=GPU, vendor=0x10DE, parent="02:00.0"))
    one_port = machine(*(f for f in nested if f.address.short != "04:00.0"), second)
    assert found(nested, "acs-redirect")
    assert found(one_port, "acs-redirect") == []


def test_a_device_with_few_tags_for_good_needs_larger_requests() -> None:
    """32 tags of 512 B are 16 KiB; 31.5 GB/s for a microsecond is twice that."""
    poor = {"extended_tags": False, "extended_tags_supported": False, "ten_bit_tags_requester": False}
    wide = {"port": {"can": "16 x16"}, "can": "16 x16"}
    (finding,) = found(pair(**wide, transfers=poor), "mrrs-small", cost=True)
    assert finding.trial is not None
    assert finding.trial.fixed.leaves[0].mrrs == 1024
    assert finding.cost is not None
    assert (finding.cost.gb_per_s or 0) > 5
    assert found(pair(**wide, transfers={**poor, "mrrs": 1024}), "mrrs-small") == []


@pytest.mark.parametrize(
    ("name", "mrrs", "size"),
    [
        ("GA100 [A100 PCIe 80GB]", 128, None),
        ("GA100 [A100 PCIe 80GB]", 256, None),
        ("GH100 [H100 PCIe]", 128, "256 B"),
        ("GH100 [H100 PCIe]", 256, None),
        ("GX999 [X999 PCIe]", 128, "512 B"),
    ],
)
def test_larger_reads_than_a_gpu_makes_are_of_no_use_to_it(name: str, mrrs: int, size: str | None) -> None:
    """An A100 reads in 128 B and an H100 in 256 B, by their parts in the catalog."""
    link = {"can": "16 x16", "class_code": GPU, "vendor": 0x10DE, "transfers": {"mrrs": mrrs}}
    machine = pair(port={"can": "16 x16"}, **link)
    address = Address.parse("01:00.0")
    gpu = machine[address]
    named = replace(gpu, identity=replace(gpu.identity, device_name=name))
    findings = found(replace(machine, functions={**machine.functions, address: named}), "mrrs-small")
    assert [finding.fix.partition(" to ")[2].partition(":")[0] for finding in findings] == (
        [] if size is None else [size]
    )


def test_each_side_of_a_completion_boundary_has_its_own_cost() -> None:
    (small,) = found(pair(port={"link": {"rcb_bytes": 128}}), "rcb-64")
    (large,) = found(pair(link={"rcb_bytes": 128}), "rcb-64")
    assert small.cost is not None
    assert large.cost is not None
    assert small.cost.what.startswith("none:")
    assert "refuse" in large.cost.what


def test_cxl_that_is_trained_and_switched_off_is_not_in_use() -> None:
    off = Cxl(memory_capable=True, memory_enabled=False, link_memory=True)
    assert found(pair(registers={"cxl": off}), "cxl-as-pcie")
    assert found(pair(registers={"cxl": Cxl(memory_capable=True)}), "cxl-as-pcie") == []


def test_a_port_that_claims_more_lanes_than_its_generation_has_is_no_limit() -> None:
    """QEMU's ports have x32 at any speed; flits run on sixteen lanes at most."""
    port = Identity(0x060400, 0x1B36, 0x000C, device_name="QEMU PCIe Root port")
    guest = machine(
        replace(function("00:1c.0", Kind.ROOT_PORT, can="64 x32"), identity=port),
        function("01:00.0", Kind.ENDPOINT, can="64 x32", class_code=GPU, parent="00:1c.0"),
    )
    assert diagnose(guest).findings == ()


def test_what_manages_a_switch_does_not_share_its_link() -> None:
    machine, *_ = CASES["switch-oversubscribed"]
    (before,) = found(machine, "switch-oversubscribed")
    one = next(f for f in machine if f.address.short == before.also[-1])
    manager = replace(one, identity=replace(one.identity, vendor_id=0x1000, device_id=0x00B2))
    rest = found(
        replace(machine, functions={**machine.functions, one.address: manager}), "switch-oversubscribed"
    )
    assert [len(finding.also) for finding in rest] == [len(before.also) - 1]


def test_gpus_with_links_of_their_own_are_not_apart() -> None:
    first, second = (Address.parse(bdf) for bdf in ("01:00.0", "81:00.0"))
    joined = (Relation("GPU0", "GPU1", "NV", 4, first, second),)
    assert found(two_gpus(apart=True, relations=joined), "gpus-apart") == []
    crossing = (Relation("GPU0", "GPU1", "SYS", None, first, second),)
    (finding,) = found(two_gpus(apart=True, relations=crossing), "gpus-apart", cost=True)
    assert "two sockets" in finding.title
    assert finding.cost is not None
    assert finding.cost.gb_per_s is not None


def test_redirection_is_priced_for_the_fastest_peers() -> None:
    """A drive on four lanes beside two GPUs does not hide what redirection costs those."""
    gpu = {"class_code": GPU, "vendor": 0x10DE}
    slow_first = switched({"can": "16 x4"}, gpu, gpu, acs=frozenset({"ReqRedir"}))
    (finding,) = found(slow_first, "acs-redirect", cost=True)
    (alone,) = found(CASES["acs-redirect"][0], "acs-redirect", cost=True)
    assert finding.cost is not None
    assert alone.cost is not None
    assert finding.cost.gb_per_s == pytest.approx(alone.cost.gb_per_s)


def test_gpus_without_their_ports_are_told_apart_by_speed() -> None:
    """At 2.5 GT/s a GPU sleeps; at 16 GT/s of 32 its slot has no more, or its link fell back."""
    asleep = machine(function("01:00.0", Kind.ENDPOINT, can="32 x16", now="2.5 x16", class_code=GPU))
    assert [finding.rule for finding in diagnose(asleep, cost=False).findings] == ["gpu-link-idle"]
    awake = machine(function("01:00.0", Kind.ENDPOINT, can="32 x16", now="16 x16", class_code=GPU))
    assert [finding.rule for finding in diagnose(awake, cost=False).findings] == ["link-one-end"]
