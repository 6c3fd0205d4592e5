"""What the doctor says about dumps of real machines, where a folder of them is at hand.

The folder is named by LANEWISE_CORPUS, or lies at ``../shared/corpus`` beside the checkout; without it these
tests skip.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

import pytest

from lanewise.errors import InputError
from lanewise.health.doctor import Diagnosis, Severity, diagnose
from lanewise.health.fleet import baseline
from lanewise.health.fleet.reading import parse_fleet_file
from lanewise.health.judge import Verdict, judge, read_measurement
from lanewise.machine import read, read_bytes

CORPUS = Path(os.environ.get("LANEWISE_CORPUS") or Path(__file__).parents[4] / "shared" / "corpus")
pytestmark = pytest.mark.skipif(not CORPUS.is_dir(), reason="no folder of dumps")


@cache
def doctor(name: str) -> Diagnosis:
    return diagnose(read(CORPUS / name), cost=False)


def rules_of(name: str, least: Severity = Severity.INFO) -> list[str]:
    return [f.rule for f in doctor(name).findings if f.severity.rank >= least.rank]


def bdfs_of(name: str, rule: str) -> list[str]:
    return [bdf for f in doctor(name).findings if f.rule == rule for bdf in (f.bdf, *f.also)]


DUMPS = sorted(
    path.relative_to(CORPUS).as_posix()
    for path in (CORPUS.glob("*/*") if CORPUS.is_dir() else ())
    if path.parent.name != "measured"
)

IN_NEED = {
    "lspci-vvv/alinx-artix7-after-reload.vvv": {"configuration-lost"},
    "lspci-xxxx/pciutils-cap-dvsec-cxl.xxxx": {"cxl-as-pcie"},
    "sysfs/procfs-fixture-pci.tar.gz": {"uncorrectable-errors", "link-errors"},
}
"""The only dumps with warnings or errors: each was looked at and is right."""


@pytest.mark.parametrize("name", DUMPS)
def test_no_false_alarm(name: str) -> None:
    try:
        loud = set(rules_of(name, Severity.WARNING))
    except InputError:
        return
    assert loud == IN_NEED.get(name, set())


RULES_OF_FAULTS = {
    *("device-dead", "slot-no-link", "link-training", "slot-power-fault", "bar-unassigned", "uplink-slow"),
    *("bridge-window-closed", "odd-one-out", "iommu-translated", "link-downgraded", "bandwidth-limited"),
    *("device-lost", "link-lost", "link-retrained", "dpc-triggered"),
}


NOTED = {
    "lspci-vvv/huawei-qingyun-w510-kunpeng920.vvv": {"device-dead"},
    "lspci-vvv/asus-esc8000a-e13p-8xrtxpro6000.vvv": {"odd-one-out"},
}
"""Notes that are true: an engine of a processor that nothing drives does not answer; two of eight GPUs have
10-bit tags off."""


@pytest.mark.parametrize("name", DUMPS)
def test_no_fault_where_there_is_none(name: str) -> None:
    try:
        found = set(rules_of(name)) & RULES_OF_FAULTS
    except InputError:
        return
    assert found == NOTED.get(name, set())


def test_idle_gpus_are_said_to_be_idle_and_nothing_more() -> None:
    name = "lspci-vvv/asus-esc8000a-e13p-8xrtxpro6000.vvv"
    assert len(bdfs_of(name, "gpu-link-idle")) == 8
    assert "link-speed" not in rules_of(name)
    assert bdfs_of("lspci-vvv/lenovo-p920-pp.vvv", "gpu-link-idle") == ["08:00.0"]
    assert len(bdfs_of("lspci-xxxx/lambda-vector-rtx4090.nnDvvvxxx", "gpu-link-idle")) == 3


@pytest.mark.parametrize(
    ("name", "bdf"),
    [
        ("lspci-vvv/lenovo-l490.vvv", "04:00.0"),
        ("lspci-vvv/surface-book1.vvv", "02:00.0"),
        ("lspci-vvv/nanopc-t4-two-captures.vvv", "01:00.0"),
        ("lspci-xxxx/huananzhi-x99-bd4.vvvxxxx", "03:00.0"),
        ("lspci-vvv/pcibench-dell-t630.vvv", "01:00.0"),
    ],
)
def test_devices_that_their_slot_limits(name: str, bdf: str) -> None:
    assert bdf in bdfs_of(name, "device-above-slot")
    assert "link-speed" not in rules_of(name)
    assert "link-width" not in rules_of(name)


def test_the_wiring_of_a_board_is_no_fault() -> None:
    name = "lspci-vvv/dell-r730-p100.vvv"
    narrow = [f for f in doctor(name).findings if f.rule == "link-width"]
    assert {f.bdf for f in narrow} == {"01:00.0", "02:00.0"}
    assert {f.severity for f in narrow} == {Severity.INFO}


def test_lost_configuration_is_told_from_the_same_board_in_order() -> None:
    (lost,) = doctor("lspci-vvv/alinx-artix7-after-reload.vvv").findings
    assert lost.severity is Severity.ERROR
    assert any("MaxPayload 128 bytes of 512" in line for line in lost.evidence)
    assert doctor("lspci-vvv/alinx-artix7-normal.vvv").findings == ()


def test_small_payloads_where_a_card_of_its_own_allows_no_more_are_right() -> None:
    assert "mps-small" not in rules_of("lspci-vvv/lenovo-p920-pp.vvv")
    assert set(bdfs_of("lspci-vvv/supermicro-6049p-pp.vvv", "mps-small")) >= {"18:00.0", "b4:00.0"}


def test_redirection_is_found_where_it_bounces_drives() -> None:
    assert bdfs_of("lspci-vvv/supermicro-6049p-pp.vvv", "acs-redirect")[0] == "af:00.0"
    assert "acs-redirect" not in rules_of("lspci-vvv/dell-xe9680-8xh100.vvv"), "NVSwitches do not talk there"


def test_latched_errors_of_a_machine_at_full_speed_are_a_note() -> None:
    name = "lspci-vvv/dell-xe9680-8xh100.vvv"
    assert len(bdfs_of(name, "link-errors")) == 8
    assert len(bdfs_of(name, "lane-errors")) == 8
    assert rules_of(name, Severity.WARNING) == []


def test_oversubscription_of_a_vector_machine() -> None:
    findings = doctor("sysfs/nec-a300-8-8xve.tar.bz2").findings
    ratios = [f.title for f in findings if f.rule == "switch-oversubscribed"]
    assert len(ratios) == 2
    assert all("5.0 to 1" in title for title in ratios)
    assert "60:00.0" not in {f.bdf for f in findings}, "the network controller inside the chipset is no fault"


def test_capabilities_that_could_not_be_read_are_not_judged() -> None:
    assert doctor("lspci-vvv/amd-a10-8700p-access-denied.v").findings == ()


def test_copies_of_machines_in_order_are_as_good_as_it_gets() -> None:
    copies = judge(
        read_measurement(CORPUS / "measured/stelline-wrx90-bandwidth.txt"),
        read(CORPUS / "lspci-vvv/stelline-wrx90-devices.vvv"),
    )
    verdicts = [case.verdict for case in copies.cases if case.ratio is not None]
    assert verdicts == [Verdict.GOOD] * 6


def test_peers_in_one_chip_are_told_from_peers_across_sockets() -> None:
    peers = judge(
        read_measurement(CORPUS / "measured/asus-esc8000a-e13p-p2p-matrix.txt"),
        read(CORPUS / "lspci-vvv/asus-esc8000a-e13p-8xrtxpro6000.vvv"),
    )
    assert [case.verdict for case in peers.cases].count(Verdict.GOOD) == 24
    assert [case.verdict for case in peers.cases].count(Verdict.HOST) == 32


@pytest.mark.parametrize("name", DUMPS)
def test_every_machine_is_as_its_own_baseline_says(name: str) -> None:
    try:
        machine = read(CORPUS / name)
    except InputError:
        return
    if not machine.functions:
        with pytest.raises(InputError, match="no device that a baseline could expect"):
            baseline(machine)
        return
    file = parse_fleet_file(baseline(machine), "fleet.toml")
    found = diagnose(machine, cost=False, fleet=[file])
    assert [f.title for f in found.findings if f.rule.startswith("expected-")] == []


def test_a_node_of_eight_gpus_with_one_gone_one_narrow_and_an_adapter_elsewhere() -> None:
    dump = "lspci-vvv/dell-xe9680-8xh100.vvv"
    file = parse_fleet_file(baseline(read(CORPUS / dump)), "fleet.toml")
    text = (CORPUS / dump).read_text(encoding="utf-8", errors="replace")
    blocks = re.split(r"^(?=[0-9a-f]{2}:[0-9a-f]{2}\.[0-7] )", text, flags=re.MULTILINE)
    by_address = {block[:7]: block for block in blocks}
    del by_address["5d:00.0"]
    narrow = by_address["9b:00.0"].replace("Speed 32GT/s (ok), Width x16 (ok)", "Speed 32GT/s, Width x8")
    assert narrow != by_address["9b:00.0"]
    by_address["9b:00.0"] = narrow
    adapter, drive = by_address["1a:00.0"], by_address["18:00.0"]
    by_address["1a:00.0"], by_address["18:00.0"] = f"1a:00.0{drive[7:]}", f"18:00.0{adapter[7:]}"
    machine = read_bytes("".join(by_address.values()).encode())
    found = {f.rule: f.bdf for f in diagnose(machine, cost=False, fleet=[file]).findings}
    assert found["expected-missing"] == "5d:00.0"
    assert found["expected-link"] == "9b:00.0"
    assert found["expected-moved"] == "18:00.0"
