"""What pairs of devices carry, what redirects them, and which adapter is for which GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from machines import GPU, NIC, NVME, function, machine, switched

from lanewise.cli.tables.peers import print_peers
from lanewise.errors import InputError
from lanewise.health.doctor import diagnose
from lanewise.health.doctor.finding import Compared
from lanewise.health.predict.nearest import nearest_adapters
from lanewise.health.predict.pairs import Pair
from lanewise.health.predict.peers import predict_peers
from lanewise.health.predict.peers_result import PeerPrediction
from lanewise.machine.model import Acs, Kind, Machine, Relation
from lanewise.machine.moves import together
from lanewise.machine.path_type import path_type
from lanewise.oracle.wire import payload_ceiling_gb_per_s

REDIRECT = frozenset({"ReqRedir", "CmpltRedir"})
NV: dict[str, Any] = {"class_code": GPU, "vendor": 0x10DE}
ADAPTER: dict[str, Any] = {"class_code": NIC}
FIRST, SECOND = "03:00.0", "04:00.0"


def pair(peers: PeerPrediction, device: str, peer: str) -> Pair:
    return next(each for each in peers.pairs if (each.device, each.peer) == (device, peer))


def test_a_pair_below_a_switch_reaches_its_links_and_never_the_uplink() -> None:
    """Writes of 256 B with headers of four DW fill a Gen4 x16 link; the uplink is a quarter of it."""
    found = pair(predict_peers(switched(NV, ADAPTER, uplink="16 x4")), SECOND, FIRST)
    ceiling = payload_ceiling_gb_per_s("memory write", generation=4, lanes=16, payload=256, address=1 << 40)
    assert (found.path, found.redirected_by) == ("PIX", None)
    assert found.write_gb_per_s == found.write_direct_gb_per_s == pytest.approx(ceiling, rel=0.01)
    assert found.write_gb_per_s is not None
    assert found.write_gb_per_s <= ceiling


def test_redirected_packets_share_the_uplink_with_nothing_and_are_held_to_it() -> None:
    """Each goes up the uplink once and down once: a quarter of the lanes, a quarter of the rate.

    Either direction has data, and the DLLPs for the other: at most 4 % of it.
    """
    found = pair(predict_peers(switched(NV, ADAPTER, uplink="16 x4", acs=REDIRECT)), SECOND, FIRST)
    ceiling = payload_ceiling_gb_per_s("memory write", generation=4, lanes=4, payload=256, address=1 << 40)
    assert found.redirected_by == "ACS"
    assert found.write_gb_per_s is not None
    assert found.write_gb_per_s == found.write_redirected_gb_per_s
    assert 0.96 * ceiling < found.write_gb_per_s < ceiling
    assert found.write_direct_gb_per_s == pytest.approx(4 * ceiling, rel=0.02)
    assert found.latency_direct_ns is not None
    assert found.latency_redirected_ns is not None
    assert found.latency_redirected_ns > found.latency_direct_ns + 100, "the way to the root port and back"


def test_the_port_above_the_one_that_sends_decides() -> None:
    """ReqRedir at one GPU's port sends up what that GPU writes, and not what the other writes into it."""
    made = switched(NV, NV)
    port = made["02:00.0"]
    redirecting = replace(port, registers=port.registers._replace(acs=Acs(REDIRECT, REDIRECT)))
    peers = predict_peers(replace(made, functions={**made.functions, port.address: redirecting}))
    assert pair(peers, FIRST, SECOND).redirected_by == "ACS"
    assert pair(peers, SECOND, FIRST).redirected_by is None


@pytest.mark.parametrize(
    ("how", "by"), [("DMA", "IOMMU"), ("DMA-FQ", "IOMMU"), ("identity", None), (None, None)]
)
def test_translated_addresses_go_up_to_the_root(how: str | None, by: str | None) -> None:
    peers = predict_peers(switched(NV, {**ADAPTER, "iommu_type": how}, uplink="16 x4"))
    found = pair(peers, SECOND, FIRST)
    assert found.redirected_by == by
    assert found.write_gb_per_s == (found.write_redirected_gb_per_s if by else found.write_direct_gb_per_s)


def rooted(*numa: int | None) -> Machine:
    """Make GPUs at root ports of their own, Gen4 x16, one at each of the NUMA nodes."""
    functions = []
    for number, node in enumerate(numa):
        bus = 0x10 * (number + 1)
        functions += [
            function(f"{bus:02x}:01.0", Kind.ROOT_PORT, numa_node=node),
            function(f"{bus + 1:02x}:00.0", Kind.ENDPOINT, parent=f"{bus:02x}:01.0", numa_node=node, **NV),
        ]
    return machine(*functions)


def test_pairs_that_only_the_root_joins_have_one_way() -> None:
    peers = predict_peers(rooted(0, 0, 1))
    assert [each.path for each in peers.pairs] == ["NODE", "SYS", "NODE", "SYS", "SYS", "SYS"]
    for each in peers.pairs:
        assert each.write_direct_gb_per_s is None
        assert each.write_redirected_gb_per_s is None
        assert each.write_gb_per_s is not None
    near, far = peers.pairs[0], peers.pairs[1]
    assert near.latency_ns is not None
    assert far.latency_ns is not None
    assert far.latency_ns > near.latency_ns, "the link between the sockets is longer"


def test_alike_pairs_are_simulated_once() -> None:
    few, many = (predict_peers(switched(*[NV] * count)) for count in (3, 6))
    assert (len(few.pairs), len(many.pairs)) == (6, 30)
    assert few.simulations == many.simulations


def test_links_of_their_own_take_the_place_of_a_simulation() -> None:
    made = switched(NV, NV, ADAPTER)
    nvlink = Relation("GPU0", "GPU1", "NV", 18, made[FIRST].address, made[SECOND].address)
    peers = predict_peers(replace(made, relations=(nvlink,)))
    found = pair(peers, FIRST, SECOND)
    assert (found.own_links, found.path, found.write_gb_per_s) == ("NVLink", "PIX", None)
    assert pair(peers, "05:00.0", FIRST).write_gb_per_s is not None
    assert any("NVLink" in note for note in peers.notes)


def test_drives_are_rows_and_no_columns() -> None:
    peers = predict_peers(switched(NV, {"class_code": NVME, "can": "16 x4"}))
    assert [(each.device, each.peer) for each in peers.pairs] == [(SECOND, FIRST)]
    assert [each.name for each in peers.devices] == ["GPU0", "NVMe0"]


def test_named_devices_have_all_their_pairs_and_no_others() -> None:
    made = switched(NV, NV, ADAPTER)
    peers = predict_peers(made, devices=[made["05:00.0"].address])
    assert [(each.device, each.peer) for each in peers.pairs] == [("05:00.0", FIRST), ("05:00.0", SECOND)]


def test_adapters_are_chosen_among_all_also_where_devices_are_named() -> None:
    """Three GPUs and two adapters: with one GPU named, its adapter is the one that it has among all."""
    made = switched(NV, NV, NV, ADAPTER, ADAPTER)
    whole = {each.gpu: each for each in predict_peers(made).adapters}
    (one,) = predict_peers(made, devices=[made[SECOND].address]).adapters
    assert one == whole[SECOND]
    by_nic = predict_peers(made, devices=[made["06:00.0"].address]).adapters
    assert by_nic == tuple(each for each in whole.values() if each.nic == "06:00.0")


@pytest.mark.parametrize(
    ("made", "words"),
    [(switched(ADAPTER, ADAPTER), "no GPU"), (switched(NV), "the only device"), (rooted(), "no GPU")],
)
def test_why_there_are_no_pairs(made: Machine, words: str) -> None:
    with pytest.raises(InputError, match=words):
        predict_peers(made)


def cost_of(made: Machine, rule: str) -> Compared:
    (finding,) = [each for each in diagnose(made).findings if each.rule == rule]
    assert finding.cost is not None
    assert finding.cost.compared is not None
    return finding.cost.compared


def test_the_doctor_prices_redirection_in_the_machines_own_tree() -> None:
    """Redirected, both flows go up one link, which has half the lanes of those that they have without."""
    made = switched(NV, ADAPTER, uplink="16 x8", acs=REDIRECT)
    compared = cost_of(made, "acs-redirect")
    ceiling = payload_ceiling_gb_per_s("memory write", generation=4, lanes=16, payload=256, address=1 << 40)
    assert 0.96 * 2 * ceiling < compared.fixed < 2 * ceiling
    assert 0.92 * ceiling / 2 < compared.as_is < ceiling / 2
    direct = pair(predict_peers(made), SECOND, FIRST).write_direct_gb_per_s
    assert direct is not None
    assert compared.fixed == pytest.approx(2 * direct, rel=0.02), "the same simulation as that of the pairs"


def test_the_doctor_prices_distance_in_the_machines_own_tree() -> None:
    """4 KiB from an adapter at the other socket: the latency of the pair, and that below one switch."""
    gpus = rooted(0)
    nic = [
        function("80:01.0", Kind.ROOT_PORT, numa_node=1),
        function("81:00.0", Kind.ENDPOINT, parent="80:01.0", numa_node=1, **ADAPTER),
    ]
    made = machine(*gpus, *nic)
    compared = cost_of(made, "peers-apart")
    assert compared.as_is == pair(predict_peers(made), "81:00.0", "11:00.0").latency_ns
    assert compared.fixed < compared.as_is - 100


def test_devices_put_below_one_switch_keep_what_they_are() -> None:
    made = rooted(0, 1)
    near = together(made, made["11:00.0"], made["21:00.0"])
    first, second = near["11:00.0"], near["21:00.0"]
    assert path_type(near, first, second) == "PIX"
    assert [str(each.now) for each in near.links] == ["16GT/s x16"] * 3
    assert predict_peers(near).pairs[0].redirected_by is None


def joined(nic: str, gpu: str, path: str, rate: float = 25.0) -> Pair:
    names = [name for name in Pair.__dataclass_fields__ if name not in ("device", "peer", "path")]
    figures: dict[str, Any] = dict.fromkeys(names)
    figures |= {"write_gb_per_s": rate, "read_gb_per_s": rate}
    return Pair(device=nic, peer=gpu, path=path, **figures)


def test_the_nearest_adapter_comes_before_a_faster_one() -> None:
    (chosen,) = nearest_adapters([joined("n0", "g0", "PXB", 12.0), joined("n1", "g0", "NODE", 50.0)], ["g0"])
    assert (chosen.nic, chosen.path, chosen.as_near) == ("n0", "PXB", ())


def test_of_adapters_as_near_the_faster_one_is_chosen() -> None:
    (chosen,) = nearest_adapters([joined("n0", "g0", "PIX", 12.0), joined("n1", "g0", "PIX", 50.0)], ["g0"])
    assert (chosen.nic, chosen.as_near) == ("n1", ("n0",))


def test_each_gpu_gets_its_own_where_there_are_enough() -> None:
    """g0 could have either, g1 only n0: who has fewer to choose from chooses first."""
    pairs = [joined("n0", "g0", "PIX"), joined("n1", "g0", "PIX"), joined("n0", "g1", "PIX")]
    chosen = nearest_adapters([*pairs, joined("n1", "g1", "SYS")], ["g0", "g1"])
    assert [(each.gpu, each.nic, each.shared_by) for each in chosen] == [("g0", "n1", 1), ("g1", "n0", 1)]


def test_gpus_share_evenly_where_there_are_too_few() -> None:
    gpus = ["g0", "g1", "g2", "g3"]
    pairs = [joined(nic, gpu, "PXB") for gpu in gpus for nic in ("n0", "n1")]
    assert [each.shared_by for each in nearest_adapters(pairs, gpus)] == [2, 2, 2, 2]


def test_adapters_without_rates_are_shared_evenly() -> None:
    pairs = [joined(nic, gpu, "PIX", 0.0) for gpu in ("g0", "g1") for nic in ("n0", "n1")]
    assert [each.nic for each in nearest_adapters(pairs, ["g0", "g1"])] == ["n0", "n1"]


def test_adapters_come_before_drives_and_named_devices_before_all(monkeypatch: pytest.MonkeyPatch) -> None:
    made = switched(NV, {"class_code": NVME}, {"class_code": NVME}, ADAPTER)
    monkeypatch.setattr("lanewise.health.predict.peers.MOST_OTHERS", 1)
    peers = predict_peers(made)
    assert [each.kind for each in peers.devices] == ["GPU", "NIC"]
    assert any("2 drives" in note for note in peers.notes)
    drive = next(each.address for each in made if each.is_nvme)
    assert [each.kind for each in predict_peers(made, devices=[drive]).devices] == ["GPU", "NVMe"]


def test_a_slow_adapter_is_used_only_where_sharing_the_fast_one_gives_less() -> None:
    pairs = [
        joined(nic, gpu, "PIX", rate)
        for gpu in ("g0", "g1")
        for nic, rate in (("fast", 50.0), ("slow", 12.0))
    ]
    assert [each.nic for each in nearest_adapters(pairs, ["g0", "g1"])] == ["fast", "fast"]


@pytest.mark.parametrize(("width", "parts"), [(80, 2), (120, 2), (200, 1)])
def test_tables_fit_a_terminal(
    width: int, parts: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Twenty GPUs do not fit beside each other: the matrix goes on below."""
    monkeypatch.setenv("COLUMNS", str(width))
    print_peers(predict_peers(switched(*[NV] * 20, ADAPTER, acs=REDIRECT)))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    rows = [line for line in lines if line.split()[:1] == ["NIC0"] and "17:00.0" not in line]
    assert len(rows) == 3 * parts, "ways, writes and reads"


@pytest.mark.parametrize(("numa", "expected"), [((0, 1), "SYS"), ((0, 0), "PHB"), ((None, None), "NODE")])
def test_ways_of_devices_whose_ports_are_not_in_the_source_go_by_numa_node(
    numa: tuple[int | None, int | None], expected: str
) -> None:
    """Filtered dumps and guests: ports are made up, and addresses of those say nothing of host bridges."""
    guest = machine(
        function("18:00.0", Kind.ENDPOINT, numa_node=numa[0], **NV),
        function("98:00.0", Kind.ENDPOINT, numa_node=numa[1], **ADAPTER),
    )
    peers = predict_peers(guest)
    (found,) = peers.pairs
    assert found.path == expected
    assert [each.path for each in peers.adapters] == [expected]
    assert any("ways between these go by NUMA node alone" in note for note in peers.notes)
