"""One machine, captured in ten ways under QEMU, is the same machine in all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from machine_dumps import DUMPS

from lanewise.machine import read
from lanewise.machine.model import Kind, LinkMode

if TYPE_CHECKING:
    from lanewise.machine.model import Machine

FULL = ["qemu.vvv", "qemu.nnDvvv", "qemu.PP.vvv", "qemu.xxxx", "qemu.vvvxxxx", "qemu.sysfs.tar.gz"]
LINKS = [
    "00:01.0 -> 01:00.0",
    "00:02.0 -> 02:00.0",
    "03:00.0 -> 04:00.0",
    "03:01.0 -> 05:00.0",
    "03:02.0 -> 06:00.0",
    "80:00.0 -> 81:00.0",
    "c0:00.0 -> c1:00.0",
]


def shape(machine: Machine) -> dict[str, str | None]:
    """Return who is below whom."""
    return {str(f.address): None if f.parent is None else str(f.parent) for f in machine}


@pytest.mark.parametrize("name", FULL)
class TestFullCapture:
    def test_has_the_same_shape(self, name: str) -> None:
        assert shape(read(DUMPS / name)) == shape(read(DUMPS / "qemu.vvv"))

    def test_has_the_same_links(self, name: str) -> None:
        machine = read(DUMPS / name)
        assert [link.name for link in machine.links] == LINKS
        assert [f.address.short for f in machine.empty_ports] == ["00:03.0", "03:03.0"]

    def test_says_the_same_of_every_function(self, name: str) -> None:
        machine, reference = read(DUMPS / name), read(DUMPS / "qemu.xxxx")
        for function in reference:
            other = machine[function.address]
            assert other.kind is function.kind
            assert other.link.status == function.link.status
            assert other.link.capability == function.link.capability
            assert other.link.target_gt_s == function.link.target_gt_s
            assert other.transfers.mps == function.transfers.mps
            assert other.transfers.mrrs == function.transfers.mrrs
            assert other.transfers.relaxed_ordering == function.transfers.relaxed_ordering
            assert other.errors.uncorrectable_mask == function.errors.uncorrectable_mask
            assert other.errors.correctable_status == function.errors.correctable_status
            assert other.registers.acs == function.registers.acs
            assert other.identity.class_code == function.identity.class_code
            assert other.identity.vendor_id == function.identity.vendor_id

    def test_understands_every_line(self, name: str) -> None:
        assert read(DUMPS / name).not_understood.count == 0


class TestTheMachine:
    def test_kinds_and_names(self) -> None:
        machine = read(DUMPS / "qemu.nnDvvv")
        kinds = {f.address.short: f.kind for f in machine}
        assert kinds["00:01.0"] is Kind.ROOT_PORT
        assert kinds["02:00.0"] is Kind.UPSTREAM_PORT
        assert kinds["03:01.0"] is Kind.DOWNSTREAM_PORT
        assert kinds["01:00.0"] is Kind.ENDPOINT
        assert kinds["00:00.0"] is Kind.HOST_BRIDGE
        assert machine["01:00.0"].is_nvme
        assert machine["04:00.0"].is_nic
        assert machine["04:00.0"].name == "Intel Corporation 82574L Gigabit Network Connection"

    def test_switch_and_paths(self) -> None:
        machine = read(DUMPS / "qemu.vvv")
        (switch,) = machine.switches
        assert switch.upstream.address.short == "02:00.0"
        assert [port.address.short for port in switch.downstream] == [
            "03:00.0",
            "03:01.0",
            "03:02.0",
            "03:03.0",
        ]
        card = machine["04:00.0"]
        assert [f.address.short for f in machine.path(card)] == ["03:00.0", "02:00.0", "00:02.0"]
        assert [link.upper.address.short for link in machine.link_path(card)] == ["03:00.0", "00:02.0"]
        root = machine.root_port(card)
        assert root is not None
        assert machine.partner(root) == machine["02:00.0"]
        assert machine.partner(machine["02:00.0"]) == root

    def test_a_port_faster_than_its_device_is_no_link_below_its_limit(self) -> None:
        machine = read(DUMPS / "qemu.vvv")
        link = machine.link_above(machine["01:00.0"])
        assert link is not None
        assert link.upper.link.capability == LinkMode(16.0, 4)
        assert link.limit == link.now == LinkMode(2.5, 1)
        assert not link.below_speed
        assert not link.below_width

    def test_sysfs_knows_more(self) -> None:
        machine = read(DUMPS / "qemu.sysfs.tar.gz")
        assert machine.hostname == "qemu"
        assert [node.index for node in machine.numa_nodes] == [0, 1]
        assert machine["81:00.0"].numa_node == 1
        assert machine["01:00.0"].driver == "nvme"
        assert any(name.startswith("nvme") for name in machine["01:00.0"].interfaces)
        bars = machine["01:00.0"].registers.bars
        assert bars is not None
        assert bars[0].size == 16384

    def test_an_ordinary_user_sees_the_tree_and_no_links(self) -> None:
        machine = read(DUMPS / "qemu.user.vvv")
        assert shape(machine) == shape(read(DUMPS / "qemu.vvv"))
        assert not machine.links
        assert any("access denied" in note for note in machine.notes)

    @pytest.mark.parametrize("name", ["qemu.tv", "qemu.t"])
    def test_a_drawing_shows_the_tree(self, name: str) -> None:
        machine = read(DUMPS / name)
        assert shape(machine) == shape(read(DUMPS / "qemu.vvv"))
        assert [link.name for link in machine.links] == LINKS
        assert {link.now for link in machine.links} == {LinkMode()}
        assert machine.role(machine["02:00.0"]) is Kind.UPSTREAM_PORT

    def test_a_plain_list_shows_functions_only(self) -> None:
        machine = read(DUMPS / "qemu.txt")
        assert len(machine) == len(read(DUMPS / "qemu.vvv"))
        assert not machine.links
        assert {f.parent for f in machine} == {None}
