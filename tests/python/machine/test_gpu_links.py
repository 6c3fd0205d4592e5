"""Links between GPUs in hwloc XML, and who no longer speaks of PCI Express between such GPUs."""

from __future__ import annotations

import pytest

from lanewise.health.doctor import diagnose
from lanewise.health.judge import judge
from lanewise.health.predict import predict
from lanewise.machine import read_bytes
from lanewise.tools.instruments.measurement import Case, Measurement

GPUS = ("01:00.0", "02:00.0", "03:00.0")
JOINED = "0 50000 0 50000 0 0 0 0 0"
APART = "0 0 0 0 0 0 0 0 0"


def gpu(number: int, *, peers: str = "") -> str:
    bus = f"{number + 1:02x}"
    info = f'<info name="XGMIPeers" value="{peers}"/>' if peers else ""
    return (
        f'<object type="Bridge" gp_index="{10 + number}" bridge_type="1-1" '
        f'pci_busid="0000:00:0{number + 1}.0" pci_type="0604 [8086:1234] [0000:0000] 01" '
        f'bridge_pci="0000:[{bus}-{bus}]" pci_link_speed="31.507692">'
        f'<object type="PCIDev" gp_index="{20 + number}" pci_busid="0000:{bus}:00.0" '
        'pci_type="0302 [10de:20b5] [10de:1533] a1" pci_link_speed="31.507692">'
        f'<object type="OSDev" gp_index="{30 + number}" name="gpu{number}" osdev_type="1">{info}</object>'
        "</object></object>"
    )


def topology(distances: str = "", *gpus: str) -> bytes:
    inner = "".join(gpus or [gpu(number) for number in range(len(GPUS))])
    return (
        f'<topology version="2.0"><object type="Machine"><object type="Bridge" bridge_type="0-1" depth="0" '
        f'bridge_pci="0000:[00-03]">{inner}</object></object>{distances}</topology>'
    ).encode()


def matrix(values: str, name: str = "NVLinkBandwidth", *, count: int = 3, indexing: str = "gp") -> str:
    rows = "".join(f"<u64values>{row} </u64values>" for row in (values[:7], values[7:]))
    return (
        f'<distances2 type="OSDev" nbobjs="{count}" kind="9" name="{name}" indexing="{indexing}">'
        f'<indexes length="9">30 31 32 </indexes>{rows}</distances2>'
    )


def test_a_matrix_joins_those_with_any_bandwidth() -> None:
    machine = read_bytes(topology(matrix(JOINED)))
    (relation,) = machine.relations
    assert (relation.first, relation.second, relation.path, relation.links) == ("gpu0", "gpu1", "NV", None)
    first, second, third = (machine[address] for address in GPUS)
    assert machine.own_links(first, second) == machine.own_links(second, first) == "NVLink"
    assert machine.own_links(first, third) is None


def test_tiles_of_cards_joined_by_xe_link_are_their_cards() -> None:
    second = '</object><object type="OSDev" gp_index="4{}" name="ze{}.1" osdev_type="1"/></object>'
    tiles = [gpu(n).replace("</object></object>", second.format(n, n), 1) for n in range(2)]
    values = "0 8 5 0 8 0 0 5 5 0 0 8 0 5 8 0"
    links = matrix(values, "XeLinkBandwidth", count=4).replace("30 31 32", "30 40 31 41")
    machine = read_bytes(topology(links, *tiles))
    assert [relation.path for relation in machine.relations] == ["XL"]
    assert machine.own_links(machine[GPUS[0]], machine[GPUS[1]]) == "Xe Link"


def test_xgmi_as_a_matrix_and_as_a_list_of_peers_is_one() -> None:
    peers = gpu(0, peers="gpu1 "), gpu(1, peers="gpu0 nobody "), gpu(2)
    for text in (
        topology(matrix(JOINED, "XGMIBandwidth")),
        topology("", *peers),
        topology(matrix(JOINED, "XGMIBandwidth"), *peers),
    ):
        assert [(r.path, r.first, r.second) for r in read_bytes(text).relations] == [("XGMI", "gpu0", "gpu1")]


def test_a_switch_of_such_links_joins_and_a_gpu_does_not() -> None:
    switch = (
        '<object type="PCIDev" gp_index="40" pci_busid="0000:04:00.0" '
        'pci_type="0680 [10de:1ac2] [10de:12ff] a1" pci_link_speed="1.0"></object>'
    )
    hetero = (
        '<distances2hetero nbobjs="3" kind="25" name="NVLinkBandwidth">'
        "<indexes>OSDev:30 OSDev:31 {}</indexes>"
        "<u64values>0 0 9 0 0 9 9 9 0</u64values></distances2hetero>"
    )
    for middle, joined in (("PCIDev:40", "NVLink"), ("OSDev:32", None)):
        machine = read_bytes(topology(hetero.format(middle), *map(gpu, range(3)), switch))
        assert machine.own_links(machine[GPUS[0]], machine[GPUS[1]]) == joined


@pytest.mark.parametrize(
    "distances",
    [
        matrix(JOINED, "XGMIHops"),
        matrix(JOINED, indexing="os"),
        matrix(JOINED, count=4),
        matrix(JOINED, count=10**9),
        matrix("0 5 0 5 0 0 0 0"),
        matrix("0 x x x 0 x x x 0"),
        matrix(JOINED).replace("30 31 32", "30 77 32"),
    ],
    ids=["hops", "numbers of the system", "cut", "flood", "short", "no numbers", "unknown object"],
)
def test_what_tells_of_no_links_joins_nothing(distances: str) -> None:
    assert read_bytes(topology(distances)).relations == ()


def test_neither_doctor_nor_prediction_speaks_of_pci_express_between_them() -> None:
    joined = read_bytes(topology(matrix(JOINED), gpu(0), gpu(1)))
    apart = read_bytes(topology(matrix(APART), gpu(0), gpu(1)))
    assert [f.rule for f in diagnose(apart, cost=False).findings if f.rule == "gpus-apart"] == ["gpus-apart"]
    assert [f.rule for f in diagnose(joined, cost=False).findings if f.rule == "gpus-apart"] == []
    assert any("peer" in row.benchmark for row in predict(apart, together=False).rows)
    prediction = predict(joined, together=False)
    assert not any("peer" in row.benchmark for row in prediction.rows)
    assert any("NVLink" in note for note in prediction.notes)


def test_a_copy_over_them_is_not_judged() -> None:
    machine = read_bytes(topology(matrix(JOINED)))
    copy = Case(name="copy", direction="write", target="GPU 0 -> GPU 1", bandwidth_bytes_per_s=40e9)
    (case,) = judge(Measurement(tool="p2pBandwidthLatencyTest", version=None, cases=(copy,)), machine).cases
    assert case.binding == "a copy over NVLink: nothing crosses PCI Express"
