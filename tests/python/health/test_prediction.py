"""What devices should reach, on machines made up for it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from machines import GPU, NIC, function, machine, pair, switched

from lanewise.cli.tables.predict import print_prediction
from lanewise.errors import InputError
from lanewise.health.doctor import diagnose
from lanewise.health.predict import Prediction, Row, predict
from lanewise.health.predict.benchmarks import benchmarks_of
from lanewise.health.predict.machine_change import parse_changes
from lanewise.health.predict.measured import CaseKind
from lanewise.health.predict.peers import predict_peers
from lanewise.health.predict.simulator import half_width_of
from lanewise.machine import read, read_bytes
from lanewise.machine.adapters import port_of
from lanewise.machine.model import Address, Kind, Machine, Slot
from lanewise.machine.own_rate import own_rate
from lanewise.machine.ways import Change

EXAMPLES = Path(__file__).parents[3] / "examples"
DRIVE = Address.parse("01:00.0")


def row(prediction: Prediction, benchmark: str, bdf: str = "01:00.0") -> Row:
    return next(r for r in prediction.rows if r.benchmark == benchmark and r.bdf == bdf)


def test_a_drive_reaches_its_link_and_no_more() -> None:
    prediction = predict(pair())
    read = row(prediction, "fio read 128 KiB")
    assert read.ceiling_gb_per_s == pytest.approx(7.2027, rel=1e-3), "256 B of 280 on a Gen4 x4 link"
    assert read.alone_gb_per_s is not None
    assert 0.99 * 7.2027 < read.alone_gb_per_s <= 7.2027
    assert "full towards the host" in read.binding
    assert "full away from the host" in row(prediction, "fio write 128 KiB").binding
    latency = row(prediction, "fio randread 4 KiB, queue depth 1")
    assert latency.alone_gb_per_s is None
    assert latency.latency_ns is not None
    assert latency.latency_ns > 10_000
    assert "PCI Express" in latency.binding


@pytest.mark.parametrize("can", ["2.5 x16", "5 x16", "8 x8", "16 x4", "32 x2", "64 x1", "128 x1"])
def test_devices_of_every_generation_come_near_their_ceiling(can: str) -> None:
    read = row(predict(pair(port={"can": can}, can=can)), "fio read 128 KiB")
    assert read.ceiling_gb_per_s is not None
    assert read.alone_gb_per_s is not None
    assert 0.97 * read.ceiling_gb_per_s < read.alone_gb_per_s <= read.ceiling_gb_per_s


def test_devices_below_a_switch_share_its_upstream_link() -> None:
    prediction = predict(switched(*[{"can": "16 x8"}] * 4))
    reads = [r for r in prediction.rows if r.benchmark == "fio read 128 KiB"]
    assert len(reads) == 4
    together = [r.together_gb_per_s or 0.0 for r in reads]
    assert sum(together) == pytest.approx(28.7, rel=0.02)
    assert max(together) < 1.1 * min(together), "round robin is fair"
    assert all((r.alone_gb_per_s or 0.0) > 14 for r in reads)


def test_what_binds_all_at_once_is_said_where_it_is_far_less_than_alone() -> None:
    """Of five x8 drives below an x16 uplink each gets two fifths of what it can use, of two each gets all."""
    two, five = (predict(switched(*[{"can": "16 x8"}] * n)) for n in (2, 5))
    for direction, way in (("read", "towards the host"), ("write", "away from the host")):
        benchmark = f"fio {direction} 128 KiB"
        said = [r.binding for r in five.rows if r.benchmark == benchmark]
        alone = [text.partition("; all at once, ")[0] for text in said]
        assert all("; all at once, the link of switch" in text for text in said), said
        assert all(way in text.partition("; all at once, ")[2] for text in said), said
        assert not any("link of switch" in text for text in alone), alone
        assert not any("all at once" in r.binding for r in two.rows if r.benchmark == benchmark)


def test_a_link_that_is_nearly_full_says_what_holds_it_up() -> None:
    """Writes through a PEX890xx wait 4 % of the time for credits, which is all that the link has left."""
    gpus: list[dict[str, Any]] = [{"can": "32 x16", "class_code": GPU, "vendor": 0x10DE}] * 2
    made = switched(*gpus, uplink="32 x16")
    upstream = made["01:00.0"]
    known = replace(upstream.identity, vendor_id=0x1000, device_name="PEX890xx PCIe Gen 5 Switch")
    made = replace(made, functions={**made.functions, upstream.address: replace(upstream, identity=known)})
    prediction = predict(made, together=False)
    words = row(prediction, "device to host", "03:00.0").binding
    assert re.fullmatch(
        r"credits for posted packets on the link of 03:00\.0 towards the host: waited for \d % of the time, "
        r"and in use for 9\d % of it",
        words,
    ), words


def test_a_third_less_all_at_once_has_its_reason_too_and_one_reason_is_said_once() -> None:
    three = predict(switched(*[{"can": "16 x8"}] * 3))
    said = [r.binding for r in three.rows if r.benchmark == "fio read 128 KiB"]
    assert all("; all at once, the link of switch" in text for text in said), said
    narrow = predict(switched(*[{"can": "16 x8"}] * 2, uplink="16 x4"))
    said = [r.binding for r in narrow.rows if r.benchmark == "fio read 128 KiB"]
    assert all("link of switch 01:00.0, full towards the host" in text for text in said), said
    assert all(text.endswith("; all at once, others share it") for text in said), said


def test_all_at_once_each_device_has_the_limit_that_is_on_its_way() -> None:
    """Five x8 drives below an x16 uplink decide; two more share an x4 uplink of their own."""
    many = switched(*[{"can": "16 x8"}] * 5)
    few = [
        function("00:02.0", Kind.ROOT_PORT, can="16 x4"),
        function("20:00.0", Kind.UPSTREAM_PORT, can="16 x4", parent="00:02.0"),
    ]
    for number in range(2):
        port, drive = f"21:{number:02x}.0", f"{0x22 + number:02x}:00.0"
        few.append(function(port, Kind.DOWNSTREAM_PORT, can="16 x4", parent="20:00.0"))
        few.append(function(drive, Kind.ENDPOINT, can="16 x4", parent=port))
    prediction = predict(machine(*many.functions.values(), *few))
    first, other = (row(prediction, "fio read 128 KiB", bdf).binding for bdf in ("03:00.0", "22:00.0"))
    assert first.endswith("; all at once, the link of switch 01:00.0, full towards the host")
    assert other.endswith("; all at once, the link of switch 20:00.0, full towards the host")


def test_equal_devices_are_simulated_once() -> None:
    one, four = (predict(switched(*[{"can": "16 x8"}] * n), together=False).simulations for n in (1, 4))
    assert one == four


@pytest.mark.parametrize(
    ("name", "count", "refused"),
    [
        ("AD102 [GeForce RTX 4090]", 2, True),
        ("GB202 [GeForce RTX 5090]", 2, True),
        ("AD102 [GeForce RTX 4090]", 1, False),
        ("AD102GL [RTX 6000 Ada Generation]", 2, False),
        ("GA102 [GeForce RTX 3090]", 2, False),
        ("GH100 [H100 SXM5 80GB]", 2, False),
    ],
)
def test_gpus_whose_driver_refuses_peers_are_said_to(name: str, count: int, refused: bool) -> None:
    """`nvidia-smi topo -p2p` prints GNS (GPU not supported) for these, whatever is between them."""
    gpus: list[dict[str, Any]] = [{"class_code": GPU, "vendor": 0x10DE}] * count
    made = switched(*gpus, {"class_code": NIC})
    named = {
        gpu.address: replace(gpu, identity=replace(gpu.identity, device_name=name))
        for gpu in made
        if gpu.is_gpu
    }
    made = replace(made, functions={**made.functions, **named})
    modules = "SXM" in name
    for notes in (predict(made, together=False).notes, predict_peers(made).notes):
        assert any("come with links of their own" in note for note in notes) == modules
        assert any("refuses peer access" in note for note in notes) == refused


def test_a_gpu_with_a_switch_inside_has_the_link_of_its_slot() -> None:
    """AMD's GPUs say x16 of 16 GT/s inside; the wire to this one has four lanes of 8 GT/s."""
    inside: dict[str, Any] = {"vendor": 0x1002, "can": "16 x16"}
    functions = [
        function("00:01.0", Kind.ROOT_PORT, can="8 x4"),
        function("01:00.0", Kind.UPSTREAM_PORT, now="8 x4", parent="00:01.0", **inside),
        function("02:00.0", Kind.DOWNSTREAM_PORT, parent="01:00.0", **inside),
        function("03:00.0", Kind.LEGACY_ENDPOINT, parent="02:00.0", class_code=GPU, **inside),
    ]
    functions[1:3] = [
        replace(port, identity=replace(port.identity, device_id=number))
        for port, number in zip(functions[1:3], (0x1478, 0x1479), strict=True)
    ]
    made = machine(*functions)
    assert [link.on_die for link in made.links] == [False, True]
    prediction = predict(made)
    assert {found.link for found in prediction.rows} == {"gen3 x4"}
    assert "links inside a chip carry what the link to the chip does" in prediction.assumptions


def test_gpus_copy_and_reach_their_peer_through_the_switch() -> None:
    gpus = [{"class_code": GPU, "vendor": 0x10DE}] * 2
    prediction = predict(switched(*gpus, uplink="8 x4"), together=False)
    peer = row(prediction, "write to peer 04:00.0", "03:00.0")
    copy = row(prediction, "device to host", "03:00.0")
    assert peer.alone_gb_per_s is not None
    assert copy.alone_gb_per_s is not None
    assert peer.alone_gb_per_s > 28
    assert copy.alone_gb_per_s < 4
    assert peer.ceiling_gb_per_s is not None
    assert peer.ceiling_gb_per_s >= peer.alone_gb_per_s, "the upstream link is not on the way"


def two_sockets(vendor: int) -> Machine:
    """Two GPUs at Gen5 x16, one at each of two sockets."""
    gpu = {"class_code": GPU, "vendor": 0x10DE, "can": "32 x16", "now": "32 x16"}
    return machine(
        function("00:01.0", Kind.ROOT_PORT, vendor=vendor, can="32 x16", now="32 x16", numa_node=0),
        function("01:00.0", Kind.ENDPOINT, parent="00:01.0", numa_node=0, **gpu),
        function("80:01.0", Kind.ROOT_PORT, vendor=vendor, can="32 x16", now="32 x16", numa_node=1),
        function("81:00.0", Kind.ENDPOINT, parent="80:01.0", numa_node=1, **gpu),
    )


@pytest.mark.parametrize(("vendor", "payload"), [(0x1022, 64 * 64 / 80), (0x8086, None)])
def test_peers_at_two_sockets_share_what_joins_them(vendor: int, payload: float | None) -> None:
    peer = row(predict(two_sockets(vendor), together=False), "write to peer 81:00.0")
    assert peer.alone_gb_per_s is not None
    if payload is None:
        assert peer.alone_gb_per_s == pytest.approx(46, rel=0.05), "the root complex cuts to lines of 64 B"
        assert "sockets" not in peer.binding
    else:
        assert peer.alone_gb_per_s == pytest.approx(payload, rel=0.01)
        assert peer.ceiling_gb_per_s == pytest.approx(payload)
        assert "the link between sockets" in peer.binding


def test_peers_are_the_nearest_and_one_at_the_other_socket() -> None:
    four = two_sockets(0x1022)
    gpu = {"class_code": GPU, "vendor": 0x10DE, "can": "32 x16", "now": "32 x16"}
    more = machine(
        *four.functions.values(),
        function("00:02.0", Kind.ROOT_PORT, vendor=0x1022, can="32 x16", now="32 x16", numa_node=0),
        function("02:00.0", Kind.ENDPOINT, parent="00:02.0", numa_node=0, **gpu),
    )
    rows = [r.benchmark for r in predict(more, together=False).rows if r.bdf == "01:00.0"]
    assert [name for name in rows if "peer" in name] == ["write to peer 02:00.0", "write to peer 81:00.0"]


def test_frames_of_adapters_are_counted() -> None:
    small = row(predict(pair(class_code=NIC), together=False), "receive 64 B frames")
    assert small.frames_per_s is not None
    assert small.alone_gb_per_s is not None
    assert small.frames_per_s * 64 == pytest.approx(small.alone_gb_per_s * 1e9)


def test_small_messages_are_those_of_the_adapter_or_said_to_be_of_the_wire_alone() -> None:
    """ConnectX-6 has a published rate, 215 M/s; that of ConnectX-5 is not known, and its row says so."""
    for name, most in (("MT28908 Family [ConnectX-6]", 215e6), ("MT27800 Family [ConnectX-5]", None)):
        small = row(predict(adapter(name, class_code=0x020700), together=False), "RDMA write, receiver 64 B")
        assert small.frames_per_s is not None
        assert small.alone_gb_per_s == pytest.approx(small.frames_per_s * 64 / 1e9)
        if most is None:
            assert "is not known" in small.binding
        else:
            assert small.frames_per_s == pytest.approx(most, rel=1e-3)
            assert small.binding.startswith(
                "the adapter's messages, 215 M/s as published (nvidia-connectx-6)"
            )


def test_a_change_is_simulated_instead_of_what_the_machine_says() -> None:
    slow = pair(port={"can": "8 x4"}, can="16 x4", now="8 x4")
    changes = parse_changes(["01:00.0 -> gen4"], slow)
    before, after = (row(predict(slow, changes=c), "fio read 128 KiB").alone_gb_per_s for c in ({}, changes))
    assert before == pytest.approx(3.59, rel=0.01)
    assert after == pytest.approx(7.18, rel=0.01)


def test_settings_of_a_change() -> None:
    slotted = pair(port={"registers": {"slot": Slot(number=3)}})
    changes = parse_changes(["slot 3 -> 32GT/s x8, mps 512 mrrs 4096 tags 10, relaxed-ordering off"], slotted)
    change = changes[DRIVE]
    assert (change.gt_s, change.width, change.mps, change.mrrs) == (32.0, 8, 512, 4096)
    assert (change.tag_bits, change.relaxed_ordering) == (10, False)


@pytest.mark.parametrize(
    "text",
    [
        "01:00.0->Gen4x8",
        "01:00.0 => PCIe 4.0 x8",
        "0000:01:00.0 → pcie gen 4, x8",
        "slot3 -> 16 GT/s x8",
        "Slot #3 -> pcie4 x8",
        "nvme0 -> gen4 x8",
    ],
)
def test_a_change_may_be_written_in_many_ways(text: str) -> None:
    slotted = pair(port={"registers": {"slot": Slot(number=3)}}, interfaces=("nvme0", "nvme0n1"))
    assert parse_changes([text], slotted) == {DRIVE: Change(gt_s=16.0, width=8)}


def test_sizes_of_a_change_may_have_units() -> None:
    for text in ("mps 512 B, mrrs 4 KiB", "mps=512,mrrs=4K", "MPS 512B MRRS 4096"):
        assert parse_changes([f"01:00.0 -> {text}"], pair()) == {DRIVE: Change(mps=512, mrrs=4096)}


def test_changes_of_one_device_add_up() -> None:
    changes = parse_changes(["01:00.0 -> gen5 x8", "01:00.0 -> x16 aspm off"], pair())
    assert changes == {DRIVE: Change(gt_s=32.0, width=16, asleep=False)}


def test_a_link_that_is_told_not_to_sleep_has_no_sleep_in_its_scenario() -> None:
    sleepy = {"aspm_enabled": ("L1",), "exit_latency_l1_s": 8e-6}
    machine = pair(port={"link": sleepy}, link=sleepy)
    before, after = (
        row(predict(machine, changes=c), "fio randread 4 KiB, queue depth 1").latency_ns
        for c in ({}, parse_changes(["01:00.0 -> aspm off"], machine))
    )
    assert before is not None
    assert after is not None
    assert before - after == pytest.approx(8000, rel=0.01)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("01:00.0 -> gen9", "'gen9' in"),
        ("01:00.0 -> gen10", "'gen10' in"),
        ("01:00.0 -> mps 300", "'300' in"),
        ("01:00.0 -> mrrs 16 KiB", "'16384' in"),
        ("01:00.0 gen5", "is not a change"),
        ("01:00.0 -> fast", "'fast' in"),
        ("01:00.0 ->", "is not a setting; there are gen1 .* aspm off$"),
        ("01:00.0 -> x5", "'5' in"),
        ("09:00.0 -> x4", "no function 09:00.0"),
        ("slot 7 -> x4", "no device in a slot '7'"),
        ("here -> x4", "not an address"),
    ],
)
def test_wrong_changes_say_what_is_allowed(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_changes([text], pair())


def test_a_device_without_its_port_is_predicted_as_if_the_port_matched() -> None:
    alone = machine(function("c1:00.0", Kind.ENDPOINT, class_code=GPU, vendor=0x10DE))
    prediction = predict(alone)
    assert "taken to match" in prediction.notes[0]
    copy = row(prediction, "device to host", "c1:00.0")
    assert copy.alone_gb_per_s == pytest.approx(28.7, rel=0.01)


def test_nothing_to_predict_is_said() -> None:
    with pytest.raises(InputError, match="nothing can be predicted"):
        predict(machine(function("00:01.0", Kind.ROOT_PORT)))
    with pytest.raises(InputError) as memory:
        predict(pair(class_code=0x050210))
    assert "it is memory that the host loads and stores over CXL" in str(memory.value)
    assert str(memory.value).endswith(": 01:00.0"), "the device is named"
    assert "capture as root" not in str(memory.value), "its link is known"


def test_a_gpu_whose_link_nobody_knows_is_left_out_and_the_other_predicted() -> None:
    gpu = {"class_code": GPU, "vendor": 0x10DE}
    two = switched(gpu, gpu)
    blind = {
        f.address: replace(f, registers=f.registers._replace(link=None))
        for f in two
        if f.address.short in ("02:00.0", "03:00.0")
    }
    half = replace(two, functions={**two.functions, **blind})
    named = [Address.parse("03:00.0"), Address.parse("04:00.0")]
    chosen = predict(half, devices=named)
    assert {row.bdf for row in chosen.rows} == {"04:00.0"}
    assert "not predicted, because its link is not known: 03:00.0" in chosen.notes


def test_devices_beyond_those_that_are_simulated_at_once_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lanewise.health.predict.prediction.MOST_TOGETHER", 2)
    many = switched(*[{"can": "16 x4"}] * 3)
    assert any("first 2 of 3" in note for note in predict(many).notes)
    assert predict(many, together=False).notes == ()


def test_a_guest_is_told_to_name_a_device() -> None:
    """What a hypervisor makes up is not chosen by itself; somebody who names it gets its numbers."""
    guest = pair(vendor=0x1B36)
    with pytest.raises(InputError, match="--device"):
        predict(guest)
    assert predict(guest, devices=[DRIVE]).rows


def test_what_was_measured_elsewhere_is_said_of_devices_that_are_known_parts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    unknown = predict(pair())
    assert {row.kind_of_case for row in unknown.rows} == {None}
    assert unknown.document["measured_elsewhere"] == []
    print_prediction(unknown)
    assert "Measured elsewhere" not in capsys.readouterr().out

    can = "32 x16"
    made = pair(port={"can": can}, can=can, class_code=GPU, vendor=0x10DE)
    gpu = made["01:00.0"]
    identity = replace(gpu.identity, vendor_name="NVIDIA Corporation", device_name="GH100 [H100 PCIe]")
    known = predict(replace(made, functions={**made.functions, gpu.address: replace(gpu, identity=identity)}))
    kinds = {row.benchmark: row.kind_of_case for row in known.rows}
    assert kinds["host to device"] == CaseKind.LARGE_COPY
    assert kinds["both ways"] == CaseKind.COPIES_AT_ONCE
    said = known.document["measured_elsewhere"]
    assert [each["kind_of_case"] for each in said] == [CaseKind.LARGE_COPY, CaseKind.COPIES_AT_ONCE]
    assert all(each["low_percent"] <= each["median_percent"] <= each["high_percent"] for each in said)
    print_prediction(known)
    assert f"{CaseKind.LARGE_COPY}" in capsys.readouterr().out


def test_json_has_units_in_its_names() -> None:
    document = json.loads(predict(pair()).to_json())
    told = {
        "format",
        "source",
        "predictions",
        "alike",
        "what_if",
        "assumptions",
        "notes",
        "measured_elsewhere",
    }
    assert set(document) == told
    assert {"ceiling_gb_per_s", "alone_gb_per_s", "together_gb_per_s", "latency_ns"} <= set(
        document["predictions"][0]
    )


def test_small_rdma_writes_are_predicted_for_adapters_that_do_rdma() -> None:
    """A sender's work requests and completions take more of its link than its data do."""
    machine = pair(class_code=NIC)
    address = next(f.address for f in machine if f.is_nic)
    named = replace(
        machine[address], identity=replace(machine[address].identity, device_name="MT27800 [ConnectX-5]")
    )
    known = predict(replace(machine, functions={**machine.functions, address: named}), together=False)
    sender, receiver = (row(known, f"RDMA write, {end} 64 B") for end in ("sender", "receiver"))
    large = row(known, "RDMA write, sender 64 KiB")
    assert sender.alone_gb_per_s is not None
    assert receiver.alone_gb_per_s is not None
    assert large.alone_gb_per_s is not None
    assert 0 < sender.alone_gb_per_s < receiver.alone_gb_per_s < large.alone_gb_per_s
    assert sender.frames_per_s == pytest.approx(1e9 * sender.alone_gb_per_s / 64)
    assert not any("64 B" in r.benchmark and "RDMA" in r.benchmark for r in predict(machine).rows)


def test_waking_links_are_told_from_media() -> None:
    sleepy = {"aspm_enabled": ("L1",), "exit_latency_l1_s": 32e-6}
    words = [
        row(predict(machine, together=False), "fio randread 4 KiB, queue depth 1")
        for machine in (pair(), pair(port={"link": sleepy}, link=sleepy))
    ]
    awake, asleep = (latency.latency_ns for latency in words)
    assert awake is not None
    assert asleep is not None
    assert asleep - awake == pytest.approx(32_000, abs=500)
    assert "waking links 32.0 us (ASPM)" in words[1].binding
    assert "waking" not in words[0].binding
    assert words[0].binding.partition(" us")[0] == words[1].binding.partition(" us")[0]
    for latency, whole in zip(words, (awake, asleep), strict=True):
        shares = [float(share) for share in re.findall(r"([\d.]+) us", latency.binding)]
        assert sum(shares) == pytest.approx(whole / 1e3, abs=0.15), "the shares that are shown add up"


def adapter(name: str, *, ports: int = 1, class_code: int = NIC, can: str = "32 x16") -> Machine:
    """An adapter of a name, with a function for each of its ports."""
    functions = [
        function(f"01:00.{port}", Kind.ENDPOINT, can=can, class_code=class_code, parent="00:01.0")
        for port in range(ports)
    ]
    named = [replace(f, identity=replace(f.identity, device_name=name)) for f in functions]
    return machine(function("00:01.0", Kind.ROOT_PORT, can="32 x16"), *named)


def test_no_adapter_sends_more_than_its_wire_carries() -> None:
    """perftest shows 12.2 GB/s of 100 Gb/s and 49 GB/s of 400 Gb/s, whatever the slot would carry."""
    for name, ports, reached in (
        ("MT27800 Family [ConnectX-5]", 1, 12.24),
        ("MT2910 Family [ConnectX-7]", 1, 48.99),
        ("MT2892 Family [ConnectX-6 Dx]", 2, 12.24),
        ("MT2892 Family [ConnectX-6 Dx]", 1, 24.49),
    ):
        large = row(predict(adapter(name, ports=ports)), "RDMA write, receiver 64 KiB")
        assert large.alone_gb_per_s == pytest.approx(reached, rel=0.002), name
        assert "the wire" in large.binding
    infiniband = row(
        predict(adapter("MT28908 Family [ConnectX-6]", class_code=0x020700)), "RDMA write, sender 64 KiB"
    )
    assert infiniband.alone_gb_per_s == pytest.approx(24.84, rel=0.002)


def test_frames_have_the_gaps_of_the_wire_and_slow_links_stay_the_limit() -> None:
    prediction = predict(adapter("MT27800 Family [ConnectX-5]"))
    small = row(prediction, "receive 64 B frames")
    assert small.frames_per_s == pytest.approx(148.81e6, rel=1e-3), (
        "RFC 2544: 1,488,095 a second for each Gb/s"
    )
    assert small.binding.endswith("; the adapter's own limit is not known")
    assert "not known" not in row(prediction, "receive 9000 B frames").binding
    narrow = row(predict(adapter("MT27800 Family [ConnectX-5]", can="8 x8")), "RDMA write, receiver 64 KiB")
    assert narrow.alone_gb_per_s == pytest.approx(7.18, rel=0.01)
    assert "wire" not in narrow.binding
    nobody = row(predict(adapter("Ethernet Controller")), "receive 64 KiB, plain DMA")
    assert nobody.alone_gb_per_s is not None
    assert nobody.alone_gb_per_s > 50


@pytest.mark.parametrize(
    ("name", "ports", "gb_per_s"),
    [
        ("Ethernet Controller 10G X550T", 2, 10),
        ("Ethernet Connection X722 for 10GbE SFP+", 4, 10),
        ("Ethernet Connection X722 for 1GbE", 1, 1),
        ("BCM57416 NetXtreme-E Dual-Media 10G RDMA Ethernet Controller", 2, 10),
        ("BCM57504 NetXtreme-E 10Gb/25Gb/40Gb/50Gb/100Gb Ethernet", 1, 100),
        ("FastLinQ QL41000 Series 10/25/40/50GbE Controller", 2, 50),
        ("NetXtreme II BCM57711 10-Gigabit PCIe", 1, 10),
        ("Cassini 1 [Slingshot 200Gb]", 1, 200),
        ("OneConnect NIC (Skyhawk)", 2, 10),
        ("T62100-LP-CR Unified Wire Ethernet Controller", 2, 100),
        ("Ethernet Controller E810-C/X557-AT 10GBASE-T", 2, 10),
        ("MT26428 [ConnectX VPI PCIe 2.0 5GT/s - IB QDR / 10GigE]", 1, None),
        ("Ethernet Connection E823-L for SFP", 1, None),
    ],
)
def test_the_speed_that_the_name_of_an_adapter_states_is_that_of_its_wire(
    name: str, ports: int, gb_per_s: float | None
) -> None:
    """Names are those of pci.ids; one shared with InfiniBand, or without a speed, tells of no wire."""
    made = adapter(name, ports=ports)
    port = port_of(made, made["01:00.0"])
    assert (None if port is None else 8 * port.gb_per_s) == gb_per_s


@pytest.mark.parametrize(
    ("name", "gb_per_s"),
    [("Ethernet Controller E810-C for QSFP", 12.5), ("MT27800 Family [ConnectX-5]", 25.0)],
)
def test_ports_of_an_e810_c_share_100_gb_per_s(name: str, gb_per_s: float) -> None:
    """Gen4 x8 is enough for both ports of an E810-CQDA2, and not for both of a ConnectX-5."""
    made = adapter(name, ports=2)
    own = own_rate(made, made["01:00.0"])
    assert own is not None
    assert (own.reads, own.writes) == (gb_per_s, gb_per_s)


def test_adapters_that_do_no_rdma_have_no_benchmark_of_it() -> None:
    """An X710 has no RDMA (Intel, X710 product brief: iWARP and RoCE are of X722 and E810)."""
    names = [found.benchmark for found in predict(adapter("Ethernet Controller X710 for 10GbE SFP+")).rows]
    assert not any("RDMA" in name for name in names)
    large = row(predict(adapter("Ethernet Controller X710 for 10GbE SFP+")), "send 64 KiB, plain DMA")
    assert large.alone_gb_per_s == pytest.approx(1.2472, rel=1e-3), "10 Gb/s less a gap of 20 B per 9000 B"


def test_a_wire_leaves_the_rest_of_an_uplink_to_others() -> None:
    """An adapter of 100 Gb/s and another share 28.7 GB/s; the second gets what the first cannot use."""
    shared = switched({"class_code": NIC}, {"class_code": NIC})
    known = next(f for f in shared if f.is_nic)
    named = replace(known, identity=replace(known.identity, device_name="MT27800 Family [ConnectX-5]"))
    shared = replace(shared, functions={**shared.functions, known.address: named})
    large = ("RDMA write, receiver 64 KiB", "receive 64 KiB, plain DMA")
    rows = [r for r in predict(shared).rows if r.benchmark in large]
    assert [r.together_gb_per_s for r in rows] == [
        pytest.approx(12.2, rel=0.02),
        pytest.approx(16.5, rel=0.02),
    ]


@pytest.mark.parametrize(
    ("device", "port", "change"),
    [
        ({"mps": 512, "mps_supported": 512}, {}, Change()),
        ({"mps": None, "mps_supported": None, "mrrs": None}, {"mps": None, "mps_supported": None}, Change()),
        ({"mps_supported": 512}, {"mps_supported": 512}, Change(mps=128)),
        ({}, {}, Change(mrrs=4096)),
        ({}, {}, Change(mrrs=128)),
    ],
)
def test_all_at_once_a_wire_carries_as_much_whatever_the_packets(
    device: dict[str, Any], port: dict[str, Any], change: Change
) -> None:
    """100 Gb/s are 12.25 GB/s: packets smaller on the way, stated by nobody, or tried."""
    functions = [
        function("00:01.0", Kind.ROOT_PORT, transfers=port),
        function("01:00.0", Kind.ENDPOINT, parent="00:01.0", class_code=NIC, transfers=device),
        function("00:02.0", Kind.ROOT_PORT),
        function("02:00.0", Kind.ENDPOINT, parent="00:02.0"),
    ]
    functions[1] = replace(
        functions[1], identity=replace(functions[1].identity, device_name="MT27800 Family [ConnectX-5]")
    )
    prediction = predict(machine(*functions), changes={Address.parse("01:00.0"): change})
    for side in ("receiver", "sender"):
        found = row(prediction, f"RDMA write, {side} 64 KiB")
        assert found.alone_gb_per_s == pytest.approx(12.25, rel=0.002), side
        assert found.together_gb_per_s == pytest.approx(12.25, rel=0.01), side


@pytest.mark.parametrize(
    ("name", "outstanding"),
    [
        ("MT2910 Family [ConnectX-7]", 8),  # 512 KiB, says its part
        ("MT27800 Family [ConnectX-5]", 2),  # 128 KiB, says its part
        ("BCM57608 NetXtreme-E", 2),  # no part: 2 us of 400 Gb/s are 100 kB, less than any part has
        ("Ethernet Controller", 2),
    ],
)
def test_an_adapter_reads_no_more_at_a_time_than_fits_its_send_buffer(name: str, outstanding: int) -> None:
    card = next(f for f in pair(class_code=NIC) if f.is_nic)
    identity = replace(card.identity, vendor_id=0x15B3 if "ConnectX" in name else 0x14E4, device_name=name)
    of_direction = {
        b.direction: b.workload for b in benchmarks_of(replace(card, identity=identity), []) if b.together
    }
    assert of_direction["read"].get("outstanding") == outstanding
    assert of_direction["write"].get("outstanding") == 16, "what it receives is not in that buffer"


NCCL = """\
<system version="1">
  <cpu numaid="0" affinity="ffff" arch="x86_64" vendor="GenuineIntel">
    <pci busid="0001:00:00.0" class="0x030200" link_speed="16 GT/s" link_width="16"/>
    <pci busid="0101:00:00.0" class="0x020700" link_speed="16 GT/s" link_width="16"/>
    <pci busid="0000:05:00.0" class="0x030000" link_speed="16 GT/s" link_width="16"/>
    <pci busid="0000:06:00.0" class="0x010802" link_speed="2.5 GT/s" link_width="1"/>
    <pci busid="0000:07:00.0" class="0x010802"/>
    <pci busid="0000:08:00.0" class="0x0c0330" link_speed="16 GT/s" link_width="4"/>
  </cpu>
</system>
"""
"""Of the form that cloud vendors write: class and link of a GPU, and not whose it is."""


def test_a_gpu_of_no_stated_maker_is_one() -> None:
    prediction = predict(read_bytes(NCCL.encode()), together=False)
    assert {r.bdf for r in prediction.rows} == {"0001:00:00.0", "0101:00:00.0"}
    assert any(r.benchmark == "host to device" for r in prediction.rows if r.bdf == "0001:00:00.0")


def test_every_device_that_is_left_out_is_said_with_its_reason() -> None:
    prediction = predict(read_bytes(NCCL.encode()), together=False)
    left = [note for note in prediction.notes if note.startswith("not predicted, because")]
    assert left == [
        "not predicted, because it is no GPU, network, storage or computing device by class and maker: "
        "05:00.0, 08:00.0",
        "not predicted, because its link carries less than 1.9 GB/s: 06:00.0",
        "not predicted, because its link is not known: 07:00.0",
    ]
    assert not any("not predicted" in note for note in predict(pair()).notes)
    chosen = predict(read_bytes(NCCL.encode()), devices=[Address.parse("0001:00:00.0")])
    assert not any("not predicted" in note for note in chosen.notes)


def test_a_drive_that_only_its_slot_makes_slow_is_predicted_and_a_slow_card_is_not() -> None:
    """As on a Raspberry Pi 5, whose one lane no other device can use."""
    narrow = {"port": {"can": "5 x1"}, "now": "5 x1"}
    [read] = [r for r in predict(pair(can="8 x4", **narrow)).rows if r.benchmark == "fio read 128 KiB"]
    assert read.link == "gen2 x1"
    assert read.alone_gb_per_s == pytest.approx(0.45, rel=0.03)
    with pytest.raises(InputError, match=r"carries less than 1.9 GB/s: 01:00.0; name one with --device"):
        predict(pair(can="5 x1", **narrow))


def test_a_payload_size_that_no_source_states_is_assumed_and_said_to_be() -> None:
    silent = {"transfers": {"mps": None, "mps_supported": None}}
    [said] = [text for text in predict(pair(port=silent, **silent)).assumptions if "MPS" in text]
    assert said == "01:00.0: MPS 512 B, which the source does not state; with 128 B links carry 12 % less"
    for stated in (pair(), pair(port=silent), pair(**silent)):
        assert not any("MPS" in text for text in predict(stated).assumptions), "one function states it"
    tried = predict(pair(port=silent, **silent), changes={DRIVE: Change(mps=128)})
    assert not any("MPS" in text for text in tried.assumptions)


def test_rates_that_have_not_settled_say_so(capsys: pytest.CaptureFixture[str]) -> None:
    """Of two adapters with the same frames, one goes up and down for longer than is simulated."""
    server = read(EXAMPLES / "gpu-server.txt")
    found = predict(server, devices=[Address.parse("1a:00.0")], together=False)
    receives, sends, writes = (
        row(found, name, "1a:00.0")
        for name in ("receive 64 B frames", "send 1518 B frames", "RDMA write, receiver 64 KiB")
    )
    assert 0 < (receives.alone_half_width_percent or 0) < 0.2
    assert 2 < (sends.alone_half_width_percent or 0) < 10, "as reads come in bursts"
    assert writes.alone_half_width_percent is None, "what the wire carries is published, not simulated"
    document = sends.document()
    assert document["alone_half_width_percent"] == sends.alone_half_width_percent
    assert document["together_half_width_percent"] is None
    assert (document["alone_has_settled"], document["together_has_settled"]) == (False, True)
    assert writes.alone_has_settled
    bounds = [replace(sends, alone_half_width_percent=width).alone_has_settled for width in (1.0, 1.01)]
    assert bounds == [True, False]
    print_prediction(found)
    text = capsys.readouterr().out
    assert re.search(r"receive 64 B frames, 561\.\d M/s +45\.83 +35\.92 ", text)
    assert re.search(r"send 1518 B frames, ~29 M/s +58\.45 +~44 ", text)
    assert "~ had not settled when the time simulated was over" in text
    print_prediction(replace(found, rows=(receives, writes)))
    assert "~" not in capsys.readouterr().out


def test_the_interval_of_a_device_is_that_of_its_flows_together() -> None:
    flows = [
        {
            "device": device,
            "direction": direction,
            "goodput_gb_per_s": goodput,
            "confidence_half_width_percent": percent,
        }
        for device, direction, goodput, percent in (
            ("a", "read", 3.0, 1.0),
            ("a", "write", 1.0, 5.0),
            ("a", "control", 9.0, 99.0),
            ("b", "read", 0.0, None),
            ("c", "read", 1.0, None),
        )
    ]
    result: Any = {"flows": flows}
    assert half_width_of(result, "a") == pytest.approx(2.0)
    assert half_width_of(result, "b") is None
    assert half_width_of(result, "c") is None
    assert half_width_of(result) is None


def test_the_doctor_prices_the_link_and_predict_the_device() -> None:
    """Both speak of one GPU on half its lanes; the words say which of the two is which."""
    server, bdf = read(EXAMPLES / "gpu-server.txt"), "9b:00.0"
    (narrow,) = [each for each in diagnose(server).findings if each.rule == "link-width"]
    assert narrow.cost is not None
    assert narrow.cost.compared is not None
    assert narrow.cost.what.startswith("link alone, both ways: ")
    prediction = predict(server, devices=[Address.parse(bdf)], together=False)
    device = row(prediction, "both ways", bdf).alone_gb_per_s
    assert device is not None
    assert device < 0.95 * narrow.cost.compared.as_is, "its copy engines are part of what is predicted"


def test_what_limits_a_figure_and_is_not_the_machines_own_is_among_the_assumptions() -> None:
    """Behind PEX890xx switches copies end at credits that were fitted to copies made one at a time."""
    prediction = predict(read(EXAMPLES / "gpu-server.txt"))
    said = [text for text in prediction.assumptions if " rest on " in text]
    parts = [re.fullmatch(r".*: rates (.+?) rest on (.+?); .*", text) for text in said]
    limits = {(found[2], found[1]) for found in parts if found}
    assert limits == {("credits.posted_data 512", "alone"), ("credits.completion_data 512", "all at once")}
    assert all("; calibrated: " in text and "one copy at a time" in text for text in said)
    for figures, bindings in (
        ("alone", [row.binding.partition("; all at once, ")[0] for row in prediction.rows]),
        ("all at once", [row.binding.partition("; all at once, ")[2] for row in prediction.rows]),
    ):
        if any("credits for " in binding for binding in bindings):
            assert any(f": rates {figures}" in text for text in said), figures


def test_what_the_machine_states_is_no_assumption_where_it_limits() -> None:
    """A drive that is never the limit on its link, and links that are forced to be slow."""
    for machine_ in (pair(), switched(*[{"can": "16 x8"}] * 4), pair(now="8 x2")):
        assert not [text for text in predict(machine_).assumptions if " rest on " in text]


def test_a_published_rate_that_limits_is_named_with_its_source() -> None:
    said = [text for text in predict(pair(model="SSDPE2KX040T7")).assumptions if " rest on " in text]
    found = {text.partition("; published: ")[0] for text in said if "Lenovo Press" in text}
    assert "01:00.0: rates alone rest on nvme.read_rate 3.2 GB/s" in found
    assert "01:00.0: rates alone rest on nvme.write_rate 1.8 GB/s" in found


def test_devices_that_no_link_leads_to_are_said_too() -> None:
    """A disk controller in the chipset moves data; a USB controller beside it does not count."""
    sata, usb = (
        function(f"00:1f.{number}", Kind.CONVENTIONAL, class_code=code)
        for number, code in ((2, 0x010601), (3, 0x0C0330))
    )
    alone = pair()
    notes = predict(machine(*alone, sata, usb)).notes
    assert "not predicted, because no link of PCI Express leads to it: 00:1f.2" in notes
    assert not any("00:1f.3" in note for note in notes)


def test_a_slow_link_gets_the_time_that_it_takes_to_fill() -> None:
    """131 KiB of frames take 0.7 ms on one lane of Gen1, and were not over when the run was."""
    slow = predict(pair(now="2.5 x1", class_code=NIC))
    sent = row(slow, "send 64 B frames").alone_gb_per_s
    received = row(slow, "receive 64 B frames").alone_gb_per_s
    assert sent == pytest.approx(received, rel=0.05)
    assert 0.13 < (sent or 0) < 0.15


def test_sockets_are_found_once_however_many_devices_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking through all functions for each benchmark makes a dump of many servers quadratic."""
    calls = []

    def counted(machine_: Machine) -> dict[Address, int]:
        calls.append(machine_)
        return {}

    monkeypatch.setattr("lanewise.machine.sockets.found_sockets", counted)
    counts = []
    for drives in (2, 6):
        calls.clear()
        predict(switched(*[{"can": "16 x4"}] * drives))
        counts.append(len(calls))
    assert counts == [1, 1]
