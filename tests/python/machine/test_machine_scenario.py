"""Scenarios written from machines are accepted by the core, and say what the machine says."""

from __future__ import annotations

import tomllib
from typing import TYPE_CHECKING, Any

import pytest
from machine_dumps import DUMPS, corpus_files

from lanewise import api
from lanewise.errors import InputError
from lanewise.machine import read, read_bytes
from lanewise.machine.scenario import endpoint_name, scan_to_scenario
from lanewise.machine.ways import Change
from lanewise.scenario.tables import WorkloadMmio

if TYPE_CHECKING:
    from pathlib import Path

MACHINES = [
    DUMPS / "qemu.vvv",
    DUMPS / "qemu.sysfs.tar.gz",
    *corpus_files("lspci-vvv", "lspci-xxxx", "sysfs", "hwloc-xml", "nccl-xml"),
]

PORT = """\
{port} PCI bridge: Intel Corporation Device 0001 (prog-if 00 [Normal decode])
	Bus: primary=00, secondary={bus}, subordinate={bus}, sec-latency=0
	Capabilities: [40] Express (v2) Root Port (Slot+), MSI 00
		DevCap:	MaxPayload 512 bytes, PhantFunc 0
		DevCtl:	CorrErr- NonFatalErr- FatalErr- UnsupReq-
			RlxdOrd- ExtTag+ PhantFunc- AuxPwr- NoSnoop-
			MaxPayload {mps} bytes, MaxReadReq 128 bytes
		LnkCap:	Port #1, Speed 16GT/s, Width x16, ASPM not supported
		LnkCtl:	ASPM Disabled; RCB 64 bytes, Disabled- CommClk+
		LnkSta:	{status}
{bus}:00.0 {name}
	Capabilities: [40] Express (v2) Endpoint, MSI 00
		DevCap:	MaxPayload 512 bytes, PhantFunc 0, Latency L0s unlimited, L1 unlimited
		DevCtl:	CorrErr- NonFatalErr- FatalErr- UnsupReq-
			RlxdOrd- ExtTag{tags} PhantFunc- AuxPwr- NoSnoop-
			MaxPayload {mps} bytes, MaxReadReq 512 bytes
		LnkCap:	Port #0, Speed 16GT/s, Width x16, ASPM not supported
		LnkSta:	{status}
"""
SWITCHED_GPU = """\
00:01.0 PCI bridge [0604]: AMD Device [1022:14db] (prog-if 00 [Normal decode])
	Bus: primary=00, secondary=01, subordinate=03, sec-latency=0
	Capabilities: [58] Express (v2) Root Port (Slot+), MSI 00
		LnkCap:	Port #0, Speed 16GT/s, Width x16, ASPM L1
		LnkSta:	Speed 2.5GT/s, Width x16
01:00.0 PCI bridge [0604]: AMD Device [1002:1478] (prog-if 00 [Normal decode])
	Bus: primary=01, secondary=02, subordinate=03, sec-latency=0
	Capabilities: [58] Express (v2) Upstream Port, MSI 00
		LnkCap:	Port #0, Speed 16GT/s, Width x16, ASPM L1
		LnkSta:	Speed 2.5GT/s (downgraded), Width x16
02:00.0 PCI bridge [0604]: AMD Device [1002:1479] (prog-if 00 [Normal decode])
	Bus: primary=02, secondary=03, subordinate=03, sec-latency=0
	Capabilities: [58] Express (v2) Downstream Port (Slot-), MSI 00
		LnkCap:	Port #0, Speed 16GT/s, Width x16, ASPM L1
		LnkSta:	Speed 16GT/s, Width x16
03:00.0 VGA compatible controller [0300]: AMD Device [1002:73bf]
	Capabilities: [64] Express (v2) Legacy Endpoint, MSI 00
		LnkCap:	Port #0, Speed 16GT/s, Width x16, ASPM L1
		LnkSta:	Speed 16GT/s, Width x16
"""
GPU = "3D controller: NVIDIA Corporation GA100 [A100 PCIe 40GB]"
NIC = "Ethernet controller: Intel Corporation Ethernet Controller E810-C for QSFP"


def machine(status: str, name: str, **extra: str) -> str:
    """Write a root port and a device."""
    values = {"port": "00:01.0", "bus": "01", "mps": "256", "tags": "+", **extra}
    return PORT.format(status=status, name=name, **values)


def written(text: str, **options: Any) -> dict[str, Any]:
    """Return the scenario of a dump, parsed."""
    return tomllib.loads(scan_to_scenario(read_bytes(text.encode()), **options))


class TestEveryMachine:
    @pytest.mark.parametrize("path", MACHINES, ids=lambda path: path.name)
    def test_is_accepted_if_it_has_links(self, path: Path, tmp_path: Path) -> None:
        try:
            found = read(path)
        except InputError:
            pytest.skip("no machine")
        if not any(link.now.known or link.device.link.bandwidth_gb_s for link in found.links):
            with pytest.raises(InputError, match="no scenario can be written"):
                scan_to_scenario(found)
            return
        scenario = tmp_path / "machine.toml"
        scenario.write_text(scan_to_scenario(found))
        explained = api.explain(scenario).document
        assert explained["links"]
        assert len(explained["links"]) >= len(tomllib.loads(scenario.read_text())["endpoint"])


class TestWhatIsWritten:
    def test_our_own_machine(self) -> None:
        scenario = tomllib.loads(scan_to_scenario(read(DUMPS / "qemu.vvv")))
        assert sorted(scenario["endpoint"]) == [
            "device_c1_00_0",
            "nic_04_00_0",
            "nic_05_00_0",
            "nic_81_00_0",
            "nvme_01_00_0",
            "nvme_06_00_0",
        ]
        assert scenario["host"]["server"]["slots"]["port_00_01_0"]["link"] == "gen4 x4"
        switch = scenario["switch"]["switch_02_00_0"]
        assert switch["attach"] == "server.port_00_02_0"
        assert switch["ports"]["port_03_00_0"] == "gen1 x1"
        assert scenario["endpoint"]["nic_04_00_0"]["attach"] == "switch_02_00_0.port_03_00_0"

    def test_the_way_to_chosen_devices_and_nothing_else(self) -> None:
        found = read(DUMPS / "qemu.vvv")
        scenario = tomllib.loads(scan_to_scenario(found, endpoints=["04:00.0"]))
        assert list(scenario["endpoint"]) == ["nic_04_00_0"]
        assert list(scenario["host"]["server"]["slots"]) == ["port_00_02_0"]

    def test_what_the_machine_says(self) -> None:
        scenario = written(machine("Speed 16GT/s (ok), Width x16 (ok)", NIC))
        device = scenario["endpoint"]["nic_01_00_0"]
        assert (device["generation"], device["width"]) == ("gen4", "x16")
        assert (device["mrrs"], device["relaxed_ordering"], device["tag_width"]) == ("512 B", False, "8 bits")
        assert scenario["host"]["server"]["slots"]["port_00_01_0"]["mps"] == "256 B"
        assert "link" not in device

    def test_five_bit_tags(self) -> None:
        scenario = written(machine("Speed 16GT/s (ok), Width x16 (ok)", NIC, tags="-"))
        assert scenario["endpoint"]["nic_01_00_0"]["tag_width"] == "5 bits"

    def test_a_link_below_its_limit_is_forced(self) -> None:
        scenario = written(machine("Speed 8GT/s (downgraded), Width x8 (downgraded)", NIC))
        forced = scenario["endpoint"]["nic_01_00_0"]["link"]
        assert forced == {"force_generation": "gen3", "force_width": "x8"}

    def test_an_idle_gpu_is_not(self) -> None:
        scenario = written(machine("Speed 2.5GT/s (downgraded), Width x16 (ok)", GPU))
        assert "link" not in scenario["endpoint"]["gpu_01_00_0"]

    def test_nor_is_one_with_a_switch_inside_its_chip(self) -> None:
        found = read_bytes(SWITCHED_GPU.encode())
        assert [link.name for link in found.links if found.is_idle_gpu(link)] == ["00:01.0 -> 01:00.0"]
        scenario = tomllib.loads(scan_to_scenario(found))
        assert "link" not in scenario["switch"]["switch_01_00_0"]

    def test_a_narrow_idle_gpu_keeps_its_width_and_gets_its_speed(self) -> None:
        scenario = written(machine("Speed 2.5GT/s (downgraded), Width x8 (downgraded)", GPU))
        forced = scenario["endpoint"]["gpu_01_00_0"]["link"]
        assert forced == {"force_generation": "gen4", "force_width": "x8"}

    def test_changes(self) -> None:
        found = read_bytes(machine("Speed 16GT/s (ok), Width x8 (downgraded)", NIC).encode())
        card = found["01:00.0"]
        change = Change(gt_s=32.0, width=4, mps=512, mrrs=4096, relaxed_ordering=True, tag_bits=10)
        scenario = tomllib.loads(scan_to_scenario(found, changes={card.address: change}))
        device = scenario["endpoint"][endpoint_name(card)]
        assert (device["generation"], device["width"], device["mrrs"]) == ("gen5", "x4", "4096 B")
        assert (device["relaxed_ordering"], device["tag_width"]) == (True, "10 bits")
        assert scenario["host"]["server"]["slots"]["port_00_01_0"]["mps"] == "512 B"

    def test_hierarchies_keep_their_own_payload_size(self, tmp_path: Path) -> None:
        text = machine("Speed 16GT/s (ok), Width x16 (ok)", NIC, mps="128") + machine(
            "Speed 16GT/s (ok), Width x16 (ok)", GPU, port="00:02.0", bus="02", mps="512"
        )
        scenario = tmp_path / "two.toml"
        scenario.write_text(scan_to_scenario(read_bytes(text.encode())))
        assert [link["mps_bytes"] for link in api.explain(scenario).document["links"]] == [128, 512]

    def test_a_workload_of_the_callers(self, tmp_path: Path) -> None:
        found = read_bytes(machine("Speed 16GT/s (ok), Width x16 (ok)", NIC).encode())
        name = endpoint_name(found["01:00.0"])
        workload: WorkloadMmio = {"kind": "mmio", "name": "poll", "device": name, "direction": "read"}
        scenario = tmp_path / "poll.toml"
        scenario.write_text(scan_to_scenario(found, workload=[workload]))
        assert tomllib.loads(scenario.read_text())["workload"][0]["kind"] == "mmio"
        assert api.explain(scenario).document["links"]

    def test_names_of_devices_cannot_break_the_file(self) -> None:
        text = machine("Speed 16GT/s (ok), Width x16 (ok)", 'Ethernet controller: "X" \\ \u2028 ]] [run]')
        assert list(written(text)["endpoint"]) == ["nic_01_00_0"]

    def test_it_runs(self, tmp_path: Path) -> None:
        scenario = tmp_path / "run.toml"
        scenario.write_text(scan_to_scenario(read(DUMPS / "qemu.vvv"), endpoints=["04:00.0"]))
        result = api.run(scenario, time_limit="2 ms")
        assert sum(flow["goodput_gb_per_s"] for flow in result.document["flows"]) > 0.3
