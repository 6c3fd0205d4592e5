"""Copies between a scenario's GPUs: alike pairs once, printed as tools do, and read back."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

import lanewise
from lanewise.cli.commands import app
from lanewise.errors import InputError
from lanewise.runs.copy_matrix import Copies, CopyMatrix, Device
from lanewise.runs.pair_kinds import PairKinds
from lanewise.tools.instruments import cuda_samples, nvbandwidth
from lanewise.tools.instruments.copy_matrices import write_as, write_nvbandwidth, write_p2p
from lanewise.written import DASH

PAIRS = """\
title = "Two switches with two GPUs each, at two sockets"
[host.server]
part = "intel-sapphire-rapids"
peer_to_peer = true
[host.server.slots]
slot1 = { link = "gen5 x16", socket = 0 }
slot2 = { link = "gen5 x16", socket = 1 }
[switch.sw]
part = "broadcom-pex89144"
count = 2
attach = "server.*"
ports = { port0 = "gen5 x16", port1 = "gen5 x16", port2 = "gen5 x16", port3 = "gen5 x8" }
[endpoint.gpu0]
part = "nvidia-h100-pcie"
attach = "sw[0].port1"
[endpoint.gpu1]
part = "nvidia-h100-pcie"
attach = "sw[0].port2"
[endpoint.gpu2]
part = "nvidia-h100-pcie"
attach = "sw[1].port1"
[endpoint.gpu3]
part = "nvidia-h100-pcie"
attach = "sw[1].port2"
[endpoint.narrow]
part = "nvidia-h100-pcie"
attach = "sw[0].port3"
[[workload]]
kind = "dma"
name = "put_aside"
device = "gpu0"
direction = "write"
"""


def made_up(count: int = 2) -> CopyMatrix:
    """Make a matrix in which every number is another."""
    figures = iter(range(1, 1000))

    def rate() -> float:
        return 10.0 + next(figures) / 100

    devices = [
        Device(
            number=n,
            name=f"gpu[{n}]",
            address=f"000{n}:{0xA0 + n:02x}:00.0",
            to_device_gb_per_s=rate(),
            to_host_gb_per_s=rate(),
        )
        for n in range(count)
    ]
    names = [name for name in Copies.__dataclass_fields__ if name not in ("first", "second")]
    copies = [
        Copies(first=one, second=other, **{name: rate() for name in names})
        for one in range(count)
        for other in range(count)
        if one != other
    ]
    return CopyMatrix("Made up", tuple(devices), tuple(copies), "2 us", len(copies))


def test_what_is_written_as_nvbandwidth_is_read_back() -> None:
    matrix = made_up(3)
    read = nvbandwidth.parse(write_nvbandwidth(matrix))
    found = {case.name: (case.bandwidth_bytes_per_s or 0) / 1e9 for case in read.cases}
    assert read.not_understood == ()
    expected = {}
    for each in matrix.devices:
        expected[f"host_to_device_memcpy_ce GPU{each.number}"] = each.to_device_gb_per_s
        expected[f"device_to_host_memcpy_ce GPU{each.number}"] = each.to_host_gb_per_s
    for pair in matrix.copies:
        place = f"GPU{pair.first} GPU{pair.second}"
        expected[f"device_to_device_memcpy_write_ce {place}"] = pair.write_gb_per_s
        expected[f"device_to_device_memcpy_read_ce {place}"] = pair.read_gb_per_s
        for way, first, second in (
            ("write", pair.both_write_first_gb_per_s, pair.both_write_second_gb_per_s),
            ("read", pair.both_read_first_gb_per_s, pair.both_read_second_gb_per_s),
        ):
            test = f"device_to_device_bidirectional_memcpy_{way}_ce"
            expected[f"{test} {way.title()}1 {place}"] = first
            expected[f"{test} {way.title()}2 {place}"] = second
            expected[f"{test} Total {place}"] = first + second
    assert found == pytest.approx(expected, abs=0.005)
    targets = {case.name: case.target for case in read.cases}
    assert targets["device_to_device_memcpy_write_ce GPU0 GPU2"] == "0000:a0:00.0 -> 0002:a2:00.0"


def test_what_is_written_as_p2p_bandwidth_latency_test_is_read_back() -> None:
    matrix = made_up(3)
    read = cuda_samples.parse(write_p2p(matrix))
    assert read.tool == "p2pBandwidthLatencyTest"
    assert len(read.cases) == 3 * 6
    cases = {case.name: case for case in read.cases}
    for pair in matrix.copies:
        place = f"GPU{pair.first} GPU{pair.second}"
        one = cases[f"unidirectional P2P=Enabled {place}"]
        both = cases[f"bidirectional P2P=Enabled {place}"]
        latency = cases[f"latency P2P=Enabled {place}"].latency
        assert one.bandwidth_bytes_per_s == pytest.approx(1e9 * pair.write_gb_per_s, abs=5e6)
        total = pair.both_write_first_gb_per_s + pair.both_write_second_gb_per_s
        assert both.bandwidth_bytes_per_s == pytest.approx(1e9 * total, abs=5e6)
        assert latency is not None
        assert latency.mean_ns == pytest.approx(1e3 * pair.latency_us, abs=5)
    assert cases["unidirectional P2P=Enabled GPU1 GPU2"].target == "0001:a1:00.0 -> 0002:a2:00.0"


def test_columns_are_as_wide_as_those_of_the_tools() -> None:
    """Scripts that cut columns find them: setw(10) behind two columns; "%6.02f " behind "%6d "."""
    lines = write_nvbandwidth(made_up()).splitlines()
    row = lines[lines.index("memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)") + 2]
    assert row == f" 0{'N/A':>10}{10.05 + 0.0:10.2f}"
    lines = write_p2p(made_up()).splitlines()
    title = lines.index("Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)")
    assert lines[title + 1] == "   D\\D     0      1 "
    assert lines[title + 2] == "     0    nan  10.05 "
    assert math.isnan(float(lines[title + 2].split()[1]))


def test_pairs_are_alike_where_the_same_joins_them() -> None:
    kinds = PairKinds(lanewise.explain(PAIRS).document)
    assert kinds.gpus == ["gpu0", "gpu1", "narrow", "gpu2", "gpu3"]
    near = kinds.kind("gpu0", "gpu1")
    far = kinds.kind("gpu0", "gpu2")
    assert near == kinds.kind("gpu1", "gpu0") == kinds.kind("gpu2", "gpu3")
    assert far == kinds.kind("gpu1", "gpu3") == kinds.kind("gpu3", "gpu0")
    narrow, back = kinds.kind("gpu0", "narrow"), kinds.kind("narrow", "gpu0")
    assert len({near, far, narrow, back, kinds.kind("gpu2", "narrow")}) == 5


def test_one_of_alike_pairs_speaks_for_all() -> None:
    """Every pair for itself gives what the matrix has, to the last digits that the order of ports decides."""
    names = ["gpu0", "gpu1", "gpu2", "gpu3"]
    matrix = lanewise.copy_matrix(PAIRS, names)
    assert matrix.kinds == 2
    for one, other in ((2, 3), (1, 3), (3, 0)):
        alone = lanewise.copy_matrix(PAIRS, [names[one], names[other]])
        mine = next(each for each in alone.copies if (each.first < each.second) == (one < other))
        found = next(each for each in matrix.copies if (each.first, each.second) == (one, other))
        skip = ("first", "second")
        assert {k: v for k, v in vars(mine).items() if k not in skip} == pytest.approx(
            {k: v for k, v in vars(found).items() if k not in skip}, rel=2e-3
        )


def test_below_a_switch_is_faster_than_through_the_host_and_a_queued_start_counts() -> None:
    matrix = lanewise.copy_matrix(PAIRS, ["gpu*"], queued_start="5 us")
    near, far = (
        next(each for each in matrix.copies if (each.first, each.second) == pair) for pair in ((0, 1), (0, 2))
    )
    assert near.write_gb_per_s > far.write_gb_per_s
    assert 5.0 < near.latency_us < far.latency_us < 7.0
    assert near.both_write_first_gb_per_s <= near.write_gb_per_s


@pytest.mark.parametrize(
    ("devices", "words"),
    [(["gpu9"], "no device 'gpu9'"), (["gpu0"], "is one device"), (["sw"], "no device 'sw'")],
)
def test_devices_that_are_none(devices: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        lanewise.copy_matrix(PAIRS, devices)


def test_a_scenario_without_gpus_says_what_to_name() -> None:
    with pytest.raises(InputError, match="name devices that copy, like"):
        lanewise.copy_matrix("scenarios/switch.toml")


def test_a_start_that_is_longer_than_the_run_is_said() -> None:
    with pytest.raises(InputError, match="no copy of 16 B ended within 60 us: with 1 ms"):
        lanewise.copy_matrix(PAIRS, ["gpu0", "gpu1"], queued_start="1 ms")


THREE = """\
title = "Three GPUs at root ports"
[host.server]
slots = { "slot1..slot3" = "gen4 x16" }
peer_to_peer = true
[endpoint.gpu]
part = "nvidia-l40s"
count = 3
attach = "server.*"
"""


def test_side_links_have_their_rate() -> None:
    """A copy over one is a single transfer, longer than the time in which packets are counted."""
    matrix = lanewise.copy_matrix(
        THREE, overrides={"gpu.side_link.rate": "300 GB/s", "gpu.side_link.joins": "2"}
    )
    assert matrix.kinds == 2
    near, far = (
        next(each for each in matrix.copies if (each.first, each.second) == pair) for pair in ((0, 1), (0, 2))
    )
    rates = [name for name in Copies.__dataclass_fields__ if name.endswith("_gb_per_s")]
    assert [getattr(near, name) for name in rates] == pytest.approx([300.0] * 6, rel=0.01)
    assert max(getattr(far, name) for name in rates) < 27
    assert near.latency_us == pytest.approx(2.5, rel=0.01)


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (
            {"gpu.side_link.rate": "0.05 GB/s"},
            "ended within 10 s of simulated time; see `gpu.side_link.rate`",
        ),
        (
            {"gpu.copy_engine.overhead": "100 us"},
            "copies between gpu.0. and gpu.1. moved nothing from 30 to 90 us",
        ),
    ],
)
def test_a_matrix_never_says_that_a_pair_moves_nothing(overrides: dict[str, str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        lanewise.copy_matrix(THREE, ["gpu[0]", "gpu[1]"], overrides=overrides)


def test_a_pair_that_cannot_copy_is_named_by_its_devices() -> None:
    with pytest.raises(InputError) as caught:
        lanewise.copy_matrix(PAIRS, ["gpu0", "gpu2"], overrides={"server.peer_to_peer": "false"})
    assert str(caught.value) == (
        "a copy between gpu0 and gpu2 crosses root ports of `server`, which forwards no peer-to-peer "
        "traffic; set `server.peer_to_peer = true` if it does, or put both below one switch"
    )


def test_pairs_that_cannot_copy_leave_the_others_theirs(tmp_path: Path) -> None:
    rig = tmp_path / "pairs.toml"
    rig.write_text(PAIRS.replace("peer_to_peer = true", "peer_to_peer = false"), encoding="utf-8")
    devices = ["gpu0", "gpu1", "gpu2", "gpu3"]
    matrix = lanewise.copy_matrix(rig, devices)
    assert {(each.first, each.second) for each in matrix.copies} == {(0, 1), (1, 0), (2, 3), (3, 2)}
    assert len(matrix.blocked) == 8
    assert matrix.blocked[-1].why.startswith("a copy between gpu3 and gpu1 crosses root ports of `server`")
    text = CliRunner().invoke(app, ["matrix", str(rig), *devices]).stdout
    rows = [line.split() for line in text.partition("Writes")[2].partition("Reads")[0].splitlines()]
    near = f"{matrix.copies[0].write_gb_per_s:.1f}"
    assert ["0", "X", near, DASH, DASH] in rows
    assert "8 pairs cannot copy directly: a copy between gpu0 and gpu2 crosses" in " ".join(text.split())
    read = nvbandwidth.parse(write_nvbandwidth(matrix))
    assert read.not_understood == ()
    assert len([case for case in read.cases if case.name.startswith("device_to_device_memcpy_write")]) == 4
    connected = write_p2p(matrix).partition("P2P Connectivity Matrix")[2].splitlines()
    assert connected[2].split() == ["0", "1", "1", "0", "0"]


def test_one_device_set_apart_has_pairs_of_its_own() -> None:
    matrix = lanewise.copy_matrix(THREE, overrides={"gpu[2].copy_engine.outstanding": "2 KiB"})
    alone = lanewise.copy_matrix(
        THREE, ["gpu[1]", "gpu[2]"], overrides={"gpu[2].copy_engine.outstanding": "2 KiB"}
    )
    reads = {(each.first, each.second): each.read_gb_per_s for each in matrix.copies}
    assert reads[2, 1] == pytest.approx(alone.copies[1].read_gb_per_s, rel=2e-3)
    assert reads[1, 2] == pytest.approx(alone.copies[0].read_gb_per_s, rel=2e-3)
    assert reads[2, 1] < 0.3 * reads[1, 2]
    assert matrix.devices[2].to_device_gb_per_s < 0.3 * matrix.devices[1].to_device_gb_per_s


def test_a_format_that_nobody_has() -> None:
    with pytest.raises(InputError, match="there are nvbandwidth, p2p"):
        write_as("gpu-burn", made_up())


def test_a_scenario_with_one_device_has_no_pair_to_name() -> None:
    alone = THREE.replace("count = 3", "").replace("server.*", "server.slot1").replace("gpu]", "one]")
    with pytest.raises(InputError, match=r"no two devices with copy engines of a catalog part$"):
        lanewise.copy_matrix(alone)


def test_the_devices_that_are_offered_are_below_one_host() -> None:
    slots = "\n".join(
        f'[host.{host}]\nslots = {{ slot1 = "gen4 x16", slot2 = "gen4 x16" }}' for host in ("one", "two")
    )
    cards = "\n".join(
        f'[endpoint.{name}]\npart = "generic-gen4-x16"\nattach = "{slot}"'
        for name, slot in (("a", "one.slot1"), ("b", "two.slot1"), ("c", "two.slot2"))
    )
    with pytest.raises(InputError, match=r"name devices that copy, like b c$"):
        lanewise.copy_matrix(f"{slots}\n{cards}")


TWO_HOSTS = "scenarios/collective_nodes.toml"


@pytest.mark.parametrize(
    ("devices", "words"),
    [
        (["gpu[0]", "gpu1[0]"], r"first and second$"),
        (["gpu[0]", "gpu1"], r"first and second: name devices of it, like gpu1\[0\] gpu1\[1\]"),
    ],
)
def test_devices_of_several_hosts(devices: list[str], words: str) -> None:
    with pytest.raises(InputError, match=f"a matrix is of one host, and these devices are below {words}"):
        lanewise.copy_matrix(TWO_HOSTS, devices)


@pytest.mark.parametrize("path", ["run.time_limit", "workload.put_aside.size"])
def test_what_a_matrix_has_of_its_own_is_not_set(path: str) -> None:
    with pytest.raises(InputError, match=f"'{path}' cannot be set: a matrix has (run|workload)s of its own"):
        lanewise.copy_matrix(PAIRS, ["gpu0", "gpu1"], overrides={path: "1 ms"})


@pytest.mark.parametrize(("start", "words"), [("soon", "is not a number"), ("1 s", "between 0 ns and 10 ms")])
def test_a_queued_start_that_is_none_is_called_so(start: str, words: str) -> None:
    with pytest.raises(
        InputError, match=f"the queued start is .{start}., .*{words}.*; without one it is 2 us"
    ):
        lanewise.copy_matrix(PAIRS, ["gpu0", "gpu1"], queued_start=start)


@pytest.mark.parametrize("arguments", [[], ["--as", "nvbandwidth"], ["--as", "p2p"], ["--json"]])
def test_the_verb_prints_each_form(arguments: list[str], tmp_path: object) -> None:
    result = CliRunner().invoke(app, ["matrix", "scenarios/l40s.toml", "gpu[0]", "gpu[2]", *arguments])
    assert result.exit_code == 0, result.stderr
    if arguments == ["--json"]:
        assert [pair["first"] for pair in json.loads(result.stdout)["pairs"]] == [0, 1]
    else:
        assert "22.8" in result.stdout
