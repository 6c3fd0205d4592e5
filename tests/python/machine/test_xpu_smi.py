"""What `xpu-smi topology -m` tells of Intel's GPUs, alone and on top of what `lspci` lists."""

from __future__ import annotations

from lanewise.machine import read_bytes
from lanewise.machine.model import Machine

LISTED = """\
00:02.0 VGA compatible controller [0300]: Intel Corporation UHD Graphics [8086:4680]
40:00.0 Display controller [0380]: Intel Corporation Ponte Vecchio [8086:0bda]
8c:00.0 Display controller [0380]: Intel Corporation Ponte Vecchio [8086:0bda]
"""
TWO = """\
         GPU 0/0  GPU 1/0  CPU Affinity
GPU 0/0  S        XL24     0-71
GPU 1/0  XL24     S        72-143
"""
TILES = """\
         GPU 0/0  GPU 0/1  GPU 1/0  GPU 1/1  CPU Affinity
GPU 0/0  S        MDF      XL8      XL*      0-71
GPU 0/1  MDF      S        XL*      XL8      0-71
GPU 1/0  XL8      XL*      S        MDF      72-143
GPU 1/1  XL*      XL8      MDF      S        72-143
"""
APART = TWO.replace("XL24", "SYS ")


def related(machine: Machine) -> list[tuple[str, str, str, int | None]]:
    return [(r.first, r.second, r.path, r.links) for r in machine.relations]


def test_alone_it_names_cards_and_what_joins_them() -> None:
    machine = read_bytes(f"$ xpu-smi topology -m\n{TWO}".encode())
    assert machine.kinds == ("xpu-smi topology",)
    assert related(machine) == [("GPU0", "GPU1", "XL", 24)]


def test_tiles_of_two_cards_are_put_together() -> None:
    assert related(read_bytes(TILES.encode())) == [("GPU0", "GPU1", "XL", 16)]


def test_by_way_of_another_tile_is_a_link_of_an_unknown_number_of_lanes() -> None:
    assert related(read_bytes(TILES.replace("XL8", "XL*").encode())) == [("GPU0", "GPU1", "XL", None)]


def test_paths_over_pci_express_stay_what_they_are() -> None:
    assert related(read_bytes(APART.encode())) == [("GPU0", "GPU1", "SYS", None)]


def test_on_top_of_a_list_cards_get_their_addresses_and_graphics_of_the_processor_none() -> None:
    text = LISTED.replace("UHD", "GPU of another maker").replace("8086:4680", "1234:4680") + "\n" + TWO
    machine = read_bytes(text.encode())
    first, second = machine["40:00.0"], machine["8c:00.0"]
    assert machine.own_links(first, second) == "Xe Link"
    assert (first.local_cpus, second.local_cpus) == ("0-71", "72-143")
    assert "GPU1" in second.interfaces
    assert machine.not_understood.count == 0


def test_more_gpus_than_rows_is_said() -> None:
    machine = read_bytes(f"{LISTED}\n{TWO}".encode())
    assert any("'xpu-smi' lists 2 GPUs of 3" in note for note in machine.notes)


def test_cut_and_strange_matrices() -> None:
    assert related(read_bytes(TILES.rpartition("XL*")[0].encode())) == [("GPU0", "GPU1", "XL", 16)]
    strange = TWO.replace("XL24", "QQ")
    assert related(read_bytes(strange.encode())) == [("GPU0", "GPU1", "SYS", None)]


DISCOVERED = """\
+-----------+-------------------------------------------------+
| Device ID | Device Information                              |
+-----------+-------------------------------------------------+
| 0         | Device Type: GPU                                |
|           | Device Name: Intel(R) Data Center GPU Flex 170  |
|           | PCI Device ID: 0x56c0                           |
|           |                                                 |
|           | PCI BDF Address: 0000:4d:00.0                   |
|           | PCIe Generation: 4                              |
|           | PCIe Max Link Width: 16                         |
+-----------+-------------------------------------------------+
| 1         | Device Name: Intel(R) Data Center GPU Flex 170  |
|           | PCI BDF Address: 0000:8a:00.0                   |
|           | PCIe Generation: -1                             |
|           | PCIe Max Link Width: -1                         |
+-----------+-------------------------------------------------+
"""


def test_discovery_lists_gpus_and_what_their_links_can_do() -> None:
    machine = read_bytes(DISCOVERED.encode())
    assert machine.kinds == ("xpu-smi discovery",)
    first, second = machine
    assert (first.address.short, str(first.link.capability)) == ("4d:00.0", "16GT/s x16")
    assert "Flex 170" in first.name
    assert (second.address.short, second.link.capability.known) == ("8a:00.0", False)
    assert first.is_gpu
    assert second.is_gpu
