"""Every dump of real machines is read, and shows what its index says it shows.

The index was counted by other means (for hexadecimal dumps from the bytes, checked against `lspci`), so the
numbers are parsed from it and compared one by one. Skips without the folder: see machine_dumps.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

import pytest
from machine_dumps import corpus_files, corpus_folder

from lanewise.errors import InputError
from lanewise.machine import read
from lanewise.machine.model import ENDPOINTS, Kind

if TYPE_CHECKING:
    from pathlib import Path

    from lanewise.machine.model import Machine

pytestmark = pytest.mark.skipif(corpus_folder() is None, reason="no folder of dumps")

NOT_A_TOPOLOGY = {"azure-ncv4-graph.xml", "p2p-status-not-topo.txt"}
LSPCI = corpus_files("lspci-vvv", "lspci-xxxx")
INTERNAL = re.compile(r"(\d+)x ([\d.]+)GT/s x(\d+)")


@cache
def index() -> dict[str, str]:
    """Return the last column of each line of the index, by file."""
    folder = corpus_folder()
    assert folder is not None
    rows = (
        line.split("|") for line in (folder / "INDEX.md").read_text().splitlines() if line.startswith("| ")
    )
    return {row[1].strip(): row[-2].strip() for row in rows if len(row) > 5}


@cache
def machine(path: Path) -> Machine:
    return read(path)


def number(pattern: str, path: Path) -> int | None:
    """Return the number that the index gives in a phrase."""
    match = re.search(pattern, index()[path.name])
    return int(match[1]) if match else None


def pairs(pattern: str, path: Path) -> dict[int, int] | None:
    """Return ``512:2/4096:41`` as a dictionary."""
    match = re.search(pattern + r" (\d+:[\d:/]+)", index()[path.name])
    return None if match is None else {int(k): int(v) for k, v in (p.split(":") for p in match[1].split("/"))}


class TestEveryDump:
    @pytest.mark.parametrize("path", corpus_files(), ids=lambda path: path.name)
    def test_is_read_or_refused_with_a_reason(self, path: Path) -> None:
        if path.name in NOT_A_TOPOLOGY:
            with pytest.raises(InputError, match="topology"):
                read(path)
        else:
            assert machine(path).kinds


@pytest.mark.parametrize("path", LSPCI, ids=lambda path: path.name)
class TestLspciDump:
    def test_has_the_functions_of_the_index(self, path: Path) -> None:
        expected = number(r"(\d+) functions?,", path)
        if expected is None:
            pytest.skip("the index counts nothing here")
        assert len(machine(path)) == expected
        express = number(r"(\d+) Express", path)
        if express is not None:
            assert sum(f.registers.express is True for f in machine(path)) == express

    def test_has_the_links_of_the_index(self, path: Path) -> None:
        expected = number(r"(\d+) links?[ ;(.]", path)
        if expected is None:
            pytest.skip("the index counts nothing here")
        links = machine(path).links
        assert len(links) == expected
        modes = re.search(r"\d+ links? \(([^)]*)\)", index()[path.name])
        if modes is not None:
            listed = {(float(g), int(w)): int(n) for n, g, w in INTERNAL.findall(modes[1])}
            assert Counter((link.now.gt_s, link.now.width) for link in links) == listed

    def test_has_the_empty_ports_of_the_index(self, path: Path) -> None:
        if "functions" not in index()[path.name]:
            pytest.skip("the index counts nothing here")
        assert len(machine(path).empty_ports) == (number(r"(\d+) ports? without Express partner", path) or 0)

    def test_has_links_below_capability_as_in_the_index(self, path: Path) -> None:
        if "functions" not in index()[path.name]:
            pytest.skip("the index counts nothing here")
        below = [link for link in machine(path).links if link.below_speed or link.below_width]
        assert len(below) == (number(r"(\d+) links below what both ends support", path) or 0)

    def test_has_the_switches_of_the_index(self, path: Path) -> None:
        if "functions" not in index()[path.name]:
            pytest.skip("the index counts nothing here")
        assert len(machine(path).switches) == (number(r"(\d+) switch upstream ports", path) or 0)

    def test_misses_the_ports_that_the_index_misses(self, path: Path) -> None:
        if "functions" not in index()[path.name]:
            pytest.skip("the index counts nothing here")
        lower = {*ENDPOINTS, Kind.UPSTREAM_PORT, Kind.PCIE_TO_PCI_BRIDGE}
        alone = [f for f in machine(path) if f.kind in lower and f.parent is None]
        assert len(alone) == (number(r"(\d+) functions whose upstream port is not in the file", path) or 0)

    def test_has_the_payload_sizes_of_the_index(self, path: Path) -> None:
        expected = pairs(r"[;,] MPS", path)
        if expected is None:
            pytest.skip("the index counts nothing here")
        functions = [f for f in machine(path) if f.registers.link is not None]
        assert Counter(f.transfers.mps for f in functions) == expected

    def test_has_the_read_request_sizes_of_the_index(self, path: Path) -> None:
        expected = pairs("endpoint MRRS", path)
        if expected is None:
            pytest.skip("the index counts nothing here")
        assert Counter(f.transfers.mrrs for f in machine(path) if f.kind in ENDPOINTS) == expected


class TestTraps:
    def test_access_denied_tells_no_types(self) -> None:
        machine = read_named("lspci-vvv/amd-a10-8700p-access-denied.v")
        assert not machine.links
        assert {f.kind for f in machine if f.children or f.registers.link} <= {None}
        assert sum(f.kind is None for f in machine) == 16
        assert any("access denied" in note for note in machine.notes)
        assert any(f.children for f in machine)

    def test_a_lookalike_tells_no_links(self) -> None:
        machine = read_named("lspci-vvv/lookalike-winlspci-tigerlake.txt")
        assert not machine.links
        assert all(f.registers.link is None and f.kind is None for f in machine)
        assert machine.not_understood.count > 100

    def test_two_captures_are_one_machine(self) -> None:
        machine = read_named("lspci-vvv/nanopc-t4-two-captures.vvv")
        assert [str(f.address) for f in machine] == ["0000:00:00.0", "0000:01:00.0"]
        assert any("several captures" in note for note in machine.notes)

    def test_lost_configuration_is_seen(self) -> None:
        (before,) = read_named("lspci-vvv/alinx-artix7-normal.vvv")
        (after,) = read_named("lspci-vvv/alinx-artix7-after-reload.vvv")
        assert (before.transfers.mps, after.transfers.mps, after.transfers.mps_supported) == (256, 128, 512)
        assert (before.registers.bus_master, after.registers.bus_master) == (True, False)
        assert after.registers.bars is not None
        assert after.registers.bars[0].virtual
        assert after.driver == before.driver is not None

    def test_bridge_paths_give_parents(self) -> None:
        machine = read_named("lspci-vvv/supermicro-6049p-pp.vvv")
        drive = machine["b1:00.0"]
        assert [str(f.address) for f in machine.path(drive)] == [
            "0000:b0:08.0",
            "0000:af:00.0",
            "0000:ae:00.0",
        ]

    def test_damaged_hexadecimal_rows_are_mended(self) -> None:
        machine = read_named("lspci-xxxx/huananzhi-x99-bd4.vvvxxxx")
        assert len(machine) == 87
        assert sum("pcilib" in text for _, text in machine.not_understood.samples) <= 1

    def test_links_inside_a_chip_are_known(self) -> None:
        machine = read_named("lspci-xxxx/huananzhi-x99-bd4.vvvxxxx")
        inside = [link.name for link in machine.links if link.on_die]
        assert inside == ["04:00.0 -> 05:00.0"]

    def test_idle_gpus_are_known(self) -> None:
        machine = read_named("lspci-vvv/asus-esc8000a-e13p-8xrtxpro6000.vvv")
        assert sum(machine.is_idle_gpu(link) for link in machine.links) == 8

    def test_latched_errors_and_lanes_are_seen(self) -> None:
        machine = read_named("lspci-vvv/dell-xe9680-8xh100.vvv")
        gpus = [
            f for f in machine if f.is_gpu and f.identity.vendor_id == 0x10DE and f.link.status.gt_s == 32.0
        ]
        assert len(gpus) == 8
        assert all({"RxErr", "BadTLP"} <= (f.errors.correctable_status or set()) for f in gpus)
        assert sum(bool(f.link.lane_errors) for f in machine) >= 8
        redirecting = [
            f for f in machine if f.registers.acs and "ReqRedir" in (f.registers.acs.enabled or ())
        ]
        assert [f.address.short for f in redirecting] == ["82:00.0", "82:01.0", "82:02.0", "82:03.0"]

    def test_domains_above_ffff(self) -> None:
        machine = read_named("sysfs/sun-domain-32bit.tar.bz2")
        assert 0x10000 in machine.domains
        assert str(machine["10000:00:04.0"].address) == "10000:00:04.0"

    def test_sysfs_without_pci(self) -> None:
        assert len(read_named("sysfs/s390x-no-pci.tar.gz")) == 0

    def test_sysfs_links_of_every_port(self) -> None:
        machine = read_named("sysfs/nec-a300-8-8xve.tar.bz2")
        assert len(machine.switches) == 3
        assert [len(switch.downstream) for switch in machine.switches] == [5, 5, 1]
        onboard = machine.link_above(machine["60:00.0"])
        assert onboard is not None
        assert onboard.on_die

    def test_sysfs_counters(self) -> None:
        machine = read_named("sysfs/procfs-fixture-pci.tar.gz")
        counted = [f for f in machine if f.errors.counters]
        assert counted
        assert counted[0].errors.counter("correctable.RxErr") is not None
        assert str(machine["00:02.1"].link.status) == "8GT/s x4"
        assert machine["00:02.1"].link.capability.width == 8

    def test_wrong_line_code_of_hwloc(self) -> None:
        machine = read_named("hwloc-xml/corona-8xmi60.xml")
        assert sum(str(f.link.status) == "5GT/s x1" for f in machine) >= 3

    @pytest.mark.parametrize("path", corpus_files("hwloc-xml"), ids=lambda path: path.name)
    def test_hwloc_devices(self, path: Path) -> None:
        bridges = number(r"(\d+) bridges", path)
        devices = number(r"(\d+) PCI devices", path)
        functions = list(machine(path))
        assert devices is not None
        assert bridges is not None
        assert devices <= len(functions) <= devices + bridges
        speeds = re.search(r"pci_link_speed ((?:[\d.]+: \d+(?:, )?)+)", index()[path.name])
        assert speeds is not None
        zero = dict(pair.split(": ") for pair in speeds[1].rstrip(". ").split(", ")).get("0", "0")
        unknown = sum(f.link.bandwidth_gb_s is None for f in functions if not f.is_class(0x0604))
        assert unknown == int(zero)

    @pytest.mark.parametrize("path", corpus_files("nccl-xml"), ids=lambda path: path.name)
    def test_nccl_links(self, path: Path) -> None:
        if path.name in NOT_A_TOPOLOGY:
            pytest.skip("no topology")
        found = machine(path)
        assert sum(not f.implied for f in found) == number(r"pci (\d+)", path)
        assert len(found.links) == number(r"pci (\d+)", path)
        listed: Counter[tuple[float | None, int | None]] = Counter()
        for speed, width, count in re.findall(r"'([^']*)' x(\d+): (\d+)", index()[path.name]):
            gt_s = float(speed.split()[0]) if speed else None
            listed[(gt_s, int(width) or None)] += int(count)
        if listed:
            assert Counter((link.now.gt_s, link.now.width) for link in found.links) == listed
        assert not found.measured

    def test_matrix_on_top_of_a_machine(self) -> None:
        folder = corpus_folder()
        assert folder is not None
        found = read(
            folder / "lspci-vvv/asus-esc8000a-e13p-8xrtxpro6000.vvv",
            overlays=[folder / "nvidia-smi-topo/asus-esc8000a-e13p-8gpu.txt"],
        )
        gpus = [f for f in found if "GPU0" in f.interfaces or "GPU1" in f.interfaces]
        relation = found.relation(*gpus)
        assert relation is not None
        assert relation.path == "PIX"
        assert found.root_port(gpus[0]) == found.root_port(gpus[1])

    def test_names_come_from_the_legend(self) -> None:
        found = read_named("nvidia-smi-topo/wrx90-2gpu-2nic.txt")
        assert {r.path for r in found.relations if {r.first, r.second} == {"mlx5_0", "mlx5_1"}} == {"PIX"}


def read_named(name: str) -> Machine:
    folder = corpus_folder()
    assert folder is not None
    return machine(folder / name)
