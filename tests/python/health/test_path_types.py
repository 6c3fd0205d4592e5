"""The words of `nvidia-smi topo -m` follow from the tree: of machines made up, and of real ones."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from machines import GPU, NIC, function, machine, switched

from lanewise.health.predict.peers import predict_peers
from lanewise.machine import read
from lanewise.machine.model import Function, Kind, Machine
from lanewise.machine.path_type import PathType, path_type
from lanewise.machine.view import View

WRX90 = Path(__file__).parent / "wrx90"
CORPUS = Path(os.environ.get("LANEWISE_CORPUS") or Path(__file__).parents[4] / "shared" / "corpus")


def port(bdf: str, numa: int | None = None) -> Function:
    return function(bdf, Kind.ROOT_PORT, numa_node=numa)


def gpu(bdf: str, parent: str, numa: int | None = None) -> Function:
    return function(bdf, Kind.ENDPOINT, parent=parent, class_code=GPU, vendor=0x10DE, numa_node=numa)


def way(made: Machine, first: str, second: str) -> str:
    kind = path_type(made, made[first], made[second])
    assert kind == path_type(made, made[second], made[first]), "the way is the same from either end"
    return kind.value


def test_one_switch_is_pix() -> None:
    assert way(switched({"class_code": GPU}, {"class_code": NIC}), "03:00.0", "04:00.0") == "PIX"


def test_functions_of_one_card_are_pix() -> None:
    """Two ports of an adapter, as `nvidia-smi topo -m` prints them (luigifcruz/stelline)."""
    card = machine(port("20:01.1"), gpu("21:00.0", "20:01.1"), gpu("21:00.1", "20:01.1"))
    assert way(card, "21:00.0", "21:00.1") == "PIX"


@pytest.mark.parametrize(("second", "expected"), [("05:00.0", "PIX"), ("09:00.0", "PXB"), ("07:00.0", "PXB")])
def test_several_switches_are_pxb(second: str, expected: str) -> None:
    """A switch with two GPUs (04, 05), beside one more below it (07), and a second of its kind (09)."""
    made = machine(
        port("00:01.0"),
        function("01:00.0", Kind.UPSTREAM_PORT, parent="00:01.0"),
        *(function(f"02:0{n}.0", Kind.DOWNSTREAM_PORT, parent="01:00.0") for n in range(3)),
        function("03:00.0", Kind.UPSTREAM_PORT, parent="02:00.0"),
        *(function(f"0a:0{n}.0", Kind.DOWNSTREAM_PORT, parent="03:00.0") for n in range(2)),
        gpu("04:00.0", "0a:00.0"),
        gpu("05:00.0", "0a:01.0"),
        gpu("07:00.0", "02:01.0"),
        function("08:00.0", Kind.UPSTREAM_PORT, parent="02:02.0"),
        function("0b:00.0", Kind.DOWNSTREAM_PORT, parent="08:00.0"),
        gpu("09:00.0", "0b:00.0"),
    )
    assert way(made, "04:00.0", second) == expected


def test_a_switch_inside_a_gpu_does_not_count() -> None:
    """Navi's ports 1002:1478 and 1479 are between the GPU and the switch that joins it to an adapter."""
    inner: dict[str, Any] = {"vendor": 0x1002}
    made = machine(
        port("00:01.0"),
        function("01:00.0", Kind.UPSTREAM_PORT, parent="00:01.0"),
        function("02:00.0", Kind.DOWNSTREAM_PORT, parent="01:00.0"),
        function("02:01.0", Kind.DOWNSTREAM_PORT, parent="01:00.0"),
        function("03:00.0", Kind.UPSTREAM_PORT, parent="02:00.0", **inner),
        function("04:00.0", Kind.DOWNSTREAM_PORT, parent="03:00.0", **inner),
        function("05:00.0", Kind.ENDPOINT, parent="04:00.0", class_code=GPU, **inner),
        function("06:00.0", Kind.ENDPOINT, parent="02:01.0", class_code=NIC),
    )
    assert way(made, "05:00.0", "06:00.0") == "PXB", "ports that nobody knows as those of a GPU"
    navi = dict(made.functions)
    for bdf, device_id in (("03:00.0", 0x1478), ("04:00.0", 0x1479)):
        one = made[bdf]
        navi[one.address] = replace(one, identity=replace(one.identity, device_id=device_id))
    known = Machine(functions=navi, source="made up")
    assert way(known, "05:00.0", "06:00.0") == "PIX"


@pytest.mark.parametrize(
    ("second", "numa", "expected"),
    [
        (("c0:03.1", "c2:00.0"), (0, 0), "PHB"),
        (("20:01.1", "21:00.0"), (0, 0), "NODE"),
        (("20:01.1", "21:00.0"), (0, 1), "SYS"),
        (("20:01.1", "21:00.0"), (0, None), "NODE"),
        (("20:01.1", "21:00.0"), (None, None), "NODE"),
    ],
)
def test_the_root_joins_the_rest(
    second: tuple[str, str], numa: tuple[int | None, int | None], expected: str
) -> None:
    """On a WRX90 board, GPUs of one root bus are PHB, an adapter of another NODE (luigifcruz/stelline)."""
    root, device = second
    made = machine(
        port("c0:01.1", numa[0]), gpu("c1:00.0", "c0:01.1"), port(root, numa[1]), gpu(device, root)
    )
    assert way(made, "c1:00.0", device) == expected, "the NUMA node may be told of the port alone"


@pytest.mark.parametrize(
    ("numa", "expected"), [((0, 0), "PHB"), ((0, 1), "SYS"), ((None, None), "NODE"), ((0, None), "NODE")]
)
def test_ports_that_a_source_leaves_out_have_no_bus_of_their_own(
    numa: tuple[int | None, int | None], expected: str
) -> None:
    """NCCL's files have processors and no root ports: the addresses of those are made up."""
    ports = [replace(port(f"00:0{n}.0", node), implied=True) for n, node in enumerate(numa)]
    made = machine(*ports, *(gpu(f"0{n + 1}:00.0", f"00:0{n}.0") for n in range(2)))
    assert way(made, "01:00.0", "02:00.0") == expected


def test_a_filtered_dump_says_of_an_adapter_and_gpus_what_nvidia_smi_prints() -> None:
    """Two GPUs of one host bridge and an adapter of another, of a real machine, without any port.

    That the GPUs are at one host bridge, PHB, cannot be known from such a dump: it has neither ports nor NUMA
    nodes, so that NODE stands for what is unknown.
    """
    lines = (WRX90 / "topo.txt").read_text(encoding="utf-8").splitlines()
    printed = {line.split()[0]: line.split()[1:5] for line in lines if line.startswith(("GPU", "NIC0"))}
    assert printed["NIC0"][:2] == ["NODE", "NODE"]
    assert printed["GPU0"][1] == "PHB"
    peers = predict_peers(read(WRX90 / "lspci.vvv"))
    found = {(each.device, each.peer): each.path for each in peers.pairs}
    gpus = "c1:00.0", "c2:00.0"
    assert [found["21:00.0", gpu] for gpu in gpus] == printed["NIC0"][:2]
    assert found[gpus] == found[gpus[::-1]] == "NODE"
    assert [each.path for each in peers.adapters] == ["NODE", "NODE"]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no folder of dumps")
def test_gpus_of_two_processors_in_a_file_of_nccl_are_apart() -> None:
    made = read(CORPUS / "nccl-xml" / "rtx3090-2x2.xml")
    gpus = [device for device in View(made).devices if device.is_gpu]
    assert [path_type(made, gpus[0], other).value for other in gpus[1:]].count("SYS") == 2


def test_ways_are_in_order() -> None:
    assert [kind.value for kind in sorted(PathType, key=lambda kind: kind.rank)] == [
        "PIX",
        "PXB",
        "PHB",
        "NODE",
        "SYS",
    ]
    assert [kind.below_root for kind in PathType] == [True, True, False, False, False]


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no folder of dumps")
def test_the_matrix_of_a_real_machine_is_what_nvidia_smi_prints() -> None:
    """ASUS ESC8000A-E13P, eight GPUs below four switches at two sockets: its `lspci`, and its `topo -m`."""
    made = read(CORPUS / "lspci-vvv" / "asus-esc8000a-e13p-8xrtxpro6000.vvv")
    gpus = [device for device in View(made).devices if device.is_gpu]
    lines = (CORPUS / "nvidia-smi-topo" / "asus-esc8000a-e13p-8gpu.txt").read_text().splitlines()
    printed = [line.split()[1:9] for line in lines if line.startswith("GPU")]
    assert len(printed) == len(gpus) == 8
    ours = [["X" if a is b else path_type(made, a, b).value for b in gpus] for a in gpus]
    assert ours == printed


@pytest.mark.skipif(not CORPUS.is_dir(), reason="no folder of dumps")
def test_gpus_of_a_dgx_2_are_in_pairs_of_pairs() -> None:
    """A DGX-2 has a switch for two GPUs, a switch above two of those, and four such trees."""
    made = read(CORPUS / "hwloc-xml" / "dgx2.xml")
    gpus = [device for device in View(made).devices if device.is_gpu]
    first = [path_type(made, gpus[0], other).value for other in gpus[1:]]
    assert first == ["PIX", "PXB", "PXB", *["NODE"] * 4, *["SYS"] * 8]
