"""What was measured beside what was possible: kinds of outputs, devices, verdicts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from machines import GPU, NIC, NVME, function, machine, pair, switched

from lanewise.cli.tables.judgement import print_judgement
from lanewise.health.doctor import diagnose
from lanewise.health.judge import Judgement, Verdict, judge
from lanewise.health.judge.detect import decoded, parse_measurement
from lanewise.health.judge.matching import match
from lanewise.machine import read_bytes
from lanewise.machine.model import Address, Errors, Kind, Machine, Relation
from lanewise.tools.instruments.measurement import Case, ImportProblemError, Measurement

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

DUMPS = Path(__file__).parents[1] / "machine" / "dumps"


def fio(gb_per_s: float, *, filename: str = "/dev/nvme0n1", clones: int = 1, depth: int = 32) -> str:
    job = {
        "jobname": "seq",
        "job options": {"rw": "read", "bs": "128k", "iodepth": str(depth), "filename": filename},
        "usr_cpu": 3.0,
        "sys_cpu": 40.0,
        "read": {"io_bytes": 10**9, "total_ios": 8000, "bw_bytes": int(gb_per_s * 1e9 / clones), "iops": 1.0},
    }
    return json.dumps({"fio version": "fio-3.35", "jobs": [job] * clones})


def drives(**device: object) -> Machine:
    return pair(interfaces=("nvme0",), **device)  # type: ignore[arg-type]


def judged(text: str, machine: Machine, device: str | None = None) -> Judgement:
    address = None if device is None else Address.parse(device)
    return judge(parse_measurement(text, source="out"), machine, device=address)


def test_close_to_the_link_is_as_good_as_it_gets() -> None:
    (case,) = judged(fio(7.0), drives()).cases
    assert case.bdf == "01:00.0"
    assert case.verdict is Verdict.GOOD
    assert case.predicted_gb_per_s == pytest.approx(7.18, rel=0.01)
    assert case.ratio == pytest.approx(7.0 / (case.predicted_gb_per_s or 1.0))
    assert "full towards the host" in case.binding


def test_far_below_a_link_in_order_is_the_hosts_matter() -> None:
    (case,) = judged(fio(3.0), drives()).cases
    assert case.verdict is Verdict.HOST
    assert any("40 % system time" in line for line in case.evidence)


def test_a_fault_on_the_way_comes_first() -> None:
    judgement = judged(fio(3.4), drives(now="16 x2"))
    (case,) = judgement.cases
    assert case.verdict is Verdict.WRONG
    assert "x2 of x4 lanes" in case.evidence[0]
    assert judgement.misconfigured


PEERS = (
    "P2P (Peer-to-Peer) GPU Bandwidth Latency Test\nUnidirectional P2P=Enabled Bandwidth Matrix "
    "(GB/s)\n   D\\D     0      1\n     0 700.0  12.0\n     1 12.0 700.0\n"
)
TO_DEVICE = (
    "[CUDA Bandwidth Test] - Starting...\n Device 0: Example\n Host to Device Bandwidth, 1 Device(s)\n"
    " PINNED Memory Transfers\n   Transfer Size (Bytes)\tBandwidth(GB/s)\n   32000000\t\t\t26.8\n"
)


def test_redirection_holds_back_peers_and_no_copies_from_the_host() -> None:
    gpus = switched(*[{"class_code": GPU, "vendor": 0x10DE}] * 2, acs=frozenset({"ReqRedir"}))
    (copy,) = judged(TO_DEVICE, gpus, "03:00.0").cases
    assert copy.verdict is Verdict.GOOD
    assert {case.verdict for case in judged(PEERS, gpus).cases} == {Verdict.WRONG}


def test_more_than_simulated_is_not_more_than_the_link_carries() -> None:
    """Only what no link of PCI Express carries tells of links that the description does not show."""
    gpus = switched(*[{"class_code": GPU, "vendor": 0x10DE}] * 2)
    small = [  # Its packets have 128 B.
        replace(one, identity=replace(one.identity, device_name="AD102 [GeForce RTX 4090]"))
        if one.kind is Kind.ENDPOINT
        else one
        for one in gpus
    ]
    (within, _) = judged(PEERS.replace("12.0", "28.0"), machine(*small)).cases
    assert within.ratio == pytest.approx(1.1, abs=0.05)
    assert within.verdict is Verdict.GOOD
    assert any("within the 28." in line for line in within.evidence)
    (beyond, _) = judged(PEERS.replace("12.0", "56.0"), gpus).cases
    assert (beyond.verdict, "NVLink" in beyond.binding) == (Verdict.NONE, True)


def test_a_copy_from_a_gpu_to_itself_crosses_no_link() -> None:
    gpus = switched(*[{"class_code": GPU, "vendor": 0x10DE}] * 2)
    case = Case(name="copy", target="GPU0 -> GPU0", bandwidth_bytes_per_s=1e12)
    (judgement,) = judge(Measurement(tool="nvbandwidth", version=None, cases=(case,)), gpus).cases
    assert judgement.verdict is Verdict.NONE
    assert "inside one GPU" in judgement.binding


def test_a_fault_of_either_peer_holds_back_both() -> None:
    gpu = {"class_code": GPU, "vendor": 0x10DE}
    for narrow in (0, 1):
        devices = [{**gpu, "now": "16 x8"} if number == narrow else gpu for number in (0, 1)]
        cases = judged(PEERS, switched(*devices)).cases
        assert {case.verdict for case in cases} == {Verdict.WRONG}


def test_few_reads_in_flight_hold_back_reads_of_memory_only() -> None:
    """fio's reads are writes to memory; a copy to a GPU reads it."""
    starved = {"mrrs": 128, "extended_tags": False}
    (read,) = judged(fio(7.0), drives(transfers=starved)).cases
    assert read.verdict is Verdict.GOOD
    assert any(f.rule == "mrrs-small" for f in diagnose(drives(transfers=starved), cost=False).findings)
    gpu = pair(port={"can": "16 x16"}, can="16 x16", class_code=GPU, vendor=0x10DE, transfers=starved)
    (copy,) = judged(TO_DEVICE.replace("26.8", "4.0"), gpu).cases
    assert copy.verdict is Verdict.WRONG


def test_errors_that_did_no_harm_are_no_verdict() -> None:
    """A result that is as good as it gets was not held back by bad packets of some other day."""
    bits = Errors(correctable_status=frozenset({"BadTLP", "Rollover"}))
    marked = drives(registers={"errors": bits})
    (good,) = judged(fio(7.0), marked).cases
    assert good.verdict is Verdict.GOOD
    (slow,) = judged(fio(3.0), marked).cases
    assert slow.verdict is Verdict.WRONG


def test_a_slot_that_limits_is_no_fault_but_explains() -> None:
    (case,) = judged(fio(3.5), drives(port={"can": "8 x4"}, can="16 x4", now="8 x4")).cases
    assert case.verdict is Verdict.GOOD
    assert any("device-above-slot" in line for line in case.evidence)


def test_more_than_the_link_carries_cannot_have_crossed_it() -> None:
    (case,) = judged(fio(20.0), drives()).cases
    assert case.verdict is Verdict.TOO_GOOD


def test_clones_of_a_job_are_one_result() -> None:
    (case,) = judged(fio(7.0, clones=4, depth=8), drives()).cases
    assert case.measured_gb_per_s == pytest.approx(7.0)
    assert case.verdict is Verdict.GOOD


def of_hosts(*hosts: str, groups: tuple[int, ...] = (0, 0)) -> str:
    """A client's output of two hosts: each drive reads at 3.5 GB/s, which together would be a full link."""
    (job,) = json.loads(fio(3.5))["jobs"]
    jobs = [{**job, "hostname": host, "groupid": group} for host, group in zip(hosts, groups, strict=True)]
    return json.dumps({"fio version": "fio-3.35", "client_stats": jobs})


def test_jobs_of_other_hosts_groups_and_runs_are_no_clones() -> None:
    (job,) = json.loads(fio(3.5))["jobs"]
    runs = [
        json.dumps({"fio version": "fio-3.35", "jobs": jobs})
        for jobs in ([job], [job, {**job, "jobname": "x"}])
    ]
    for text, several in (
        (of_hosts("node1", "node2"), 2),
        (of_hosts("node1", "node1", groups=(0, 1)), 2),
        (of_hosts("node1", "node1"), 1),
        ("\n".join(runs), 3),
    ):
        cases = judged(text, drives()).cases
        assert [case.measured_gb_per_s for case in cases] == [
            pytest.approx(7.0 / several if several < 3 else 3.5)
        ] * several


@pytest.mark.parametrize(
    ("named", "here", "is_elsewhere"),
    [
        ("node2", "node1", True),
        ("Node1.example.com", "node1", False),
        ("192.0.2.7", "node1", False),
        ("localhost", "node1", False),
        ("node2", None, False),
    ],
)
def test_what_another_host_measured_is_no_result_of_this_one(
    named: str, here: str | None, is_elsewhere: bool
) -> None:
    (case,) = judged(of_hosts(named, groups=(0,)), replace(drives(), hostname=here)).cases
    assert (case.verdict is Verdict.NONE) is is_elsewhere
    assert (
        case.binding == "measured on node2, and this is node1: it is another machine's result"
    ) is is_elsewhere


def test_the_only_drive_is_meant_and_one_of_several_must_be_named() -> None:
    (case,) = judged(fio(7.0, filename="/data/file"), pair()).cases
    assert case.verdict is Verdict.GOOD
    two = switched({"can": "16 x4"}, {"can": "16 x4"})
    (unknown,) = judged(fio(7.0, filename="/data/file"), two).cases
    assert unknown.verdict is Verdict.NONE
    assert "--device: 03:00.0, 04:00.0" in unknown.binding
    (named,) = judged(fio(7.0, filename="/data/file"), two, "04:00.0").cases
    assert (named.bdf, named.verdict) == ("04:00.0", Verdict.GOOD)


def test_a_machine_without_such_a_device_is_the_reason_and_no_name_of_one_is_asked_for() -> None:
    gpu = switched({"can": "16 x4", "class_code": 0x030000})
    (case,) = judged(fio(7.0, filename="/dev/nvme0n1"), gpu).cases
    assert case.verdict is Verdict.NONE
    assert "no device of this class; --machine names a dump" in case.binding
    assert "--device" not in case.binding


def test_a_drive_whose_link_an_ordinary_user_cannot_see_is_not_missing() -> None:
    """GitHub, anhdle14/HP-Omen-15-ce000, lspci.txt."""
    text = """\
3e:00.0 Non-Volatile memory controller: Samsung Electronics Co Ltd NVMe SSD Controller SM961/PM961 (rev 01)
\tCapabilities: <access denied>
\tKernel driver in use: nvme
"""
    (case,) = judged(fio(7.0, filename="/dev/nvme0n1"), read_bytes(text.encode())).cases
    assert case.verdict is Verdict.NONE
    assert "does not tell the link of 3e:00.0; take it as root" in case.binding


def test_a_drive_that_only_the_tree_lists_may_be_the_one_that_was_measured() -> None:
    """A page with `lspci -tv` of the machine and `lspci -vvv -s` of the RAID controller beside its drives."""
    text = """\
$ lspci -tv
-[0000:00]-+-01.0-[01]----00.0  Samsung Electronics Co Ltd NVMe SSD Controller SM961/PM961/SM963
           \\-01.1-[02]----00.0  Broadcom / LSI MegaRAID SAS-3 3108 [Invader]

$ sudo lspci -vvv -s 02:00.0
02:00.0 RAID bus controller: Broadcom / LSI MegaRAID SAS-3 3108 [Invader] (rev 02)
\tCapabilities: [70] Express (v2) Endpoint, MSI 00
\t\tLnkCap:\tPort #0, Speed 5GT/s, Width x2, ASPM L0s L1
\t\tLnkSta:\tSpeed 5GT/s, Width x1 (downgraded)
"""
    (case,) = judged(fio(7.0, filename="/data/file"), read_bytes(text.encode())).cases
    assert case.bdf is None
    assert "--device: 02:00.0; the dump does not tell the link of 01:00.0" in case.binding


def test_names_and_tools_tell_which_devices_may_be_meant() -> None:
    """One NVMe drive beside a SATA controller, one RDMA adapter beside the port for management."""
    beside = [
        ("81:00.0", {"class_code": 0x010601}),
        ("82:00.0", {"class_code": NIC}),
        ("83:00.0", {"class_code": NIC}),
    ]
    server = machine(
        *(function(f"80:0{number}.0", Kind.ROOT_PORT, can="16 x4") for number in (1, 2, 3, 4)),
        function("84:00.0", Kind.ENDPOINT, can="16 x4", parent="80:04.0"),
        *(
            function(bdf, Kind.ENDPOINT, can="16 x4", parent=f"80:0{number}.0", **more)
            for number, (bdf, more) in enumerate(beside, start=1)
        ),
    )
    adapter = Address.parse("83:00.0")
    named = replace(server[adapter].identity, device_name="MT2910 Family [ConnectX-7]")
    server = replace(
        server, functions={**server.functions, adapter: replace(server[adapter], identity=named)}
    )
    assert judged(fio(3.0, filename="/dev/nvme7n1"), server).cases[0].bdf == "84:00.0"
    assert judged(fio(0.5, filename="/dev/sdb"), server).cases[0].bdf == "81:00.0"
    assert judged(fio(0.5, filename="/data/large"), server).cases[0].bdf is None
    write = Case(name="65536 B", direction="write", block_bytes=65536, bandwidth_bytes_per_s=6e9)
    rdma = Measurement(tool="perftest", version=None, cases=(write,))
    assert match(rdma.cases[0], rdma, server).function == server[adapter]


def test_a_file_whose_name_sounds_random_is_read_in_order() -> None:
    measurement = parse_measurement(fio(7.0, filename="/mnt/brand/strand"), source="out")
    found = match(measurement.cases[0], measurement, pair())
    assert found.benchmark is not None
    assert found.benchmark.workload["kind"] == "fio"
    assert found.benchmark.workload["rw"] == "read"


def test_a_device_with_a_name_is_found() -> None:
    two = switched({"can": "16 x4", "interfaces": ("nvme0",)}, {"can": "16 x4", "interfaces": ("nvme1",)})
    (case,) = judged(fio(7.0, filename="/dev/nvme1n1p2"), two).cases
    assert case.bdf == "04:00.0"


def test_copies_to_gpus_are_the_gpus_reads() -> None:
    gpu = pair(port={"can": "16 x16"}, can="16 x16", now="2.5 x16", class_code=GPU, vendor=0x10DE)
    (case,) = judged(TO_DEVICE, gpu).cases
    assert case.bdf == "01:00.0"
    assert case.verdict is Verdict.GOOD
    assert "away from the host" in case.binding


def sleeping_gpu(now: str) -> Machine:
    return pair(port={"can": "16 x16"}, can="16 x16", now=now, class_code=GPU, vendor=0x10DE)


@pytest.mark.parametrize(("now", "measured"), [("2.5 x16", "3.40"), ("5 x16", "6.80")])
def test_a_copy_at_the_speed_of_an_idle_link_did_not_wake_it(now: str, measured: str) -> None:
    slow = TO_DEVICE.replace("26.8", measured)
    (case,) = judged(slow, sleeping_gpu(now)).cases
    assert case.verdict is Verdict.WRONG
    (said,) = case.evidence
    assert f"the link of 01:00.0 runs at {now.replace(' ', 'GT/s ')} in the dump" in said
    assert said.endswith("take the dump while it is busy [gpu-link-idle]")


@pytest.mark.parametrize(
    ("text", "now"),
    [
        (TO_DEVICE.replace("26.8", "12.0"), "2.5 x16"),
        (TO_DEVICE.replace("26.8", "2.0"), "2.5 x16"),
        (TO_DEVICE.replace("26.8", "3.40").replace("PINNED", "PAGEABLE"), "2.5 x16"),
        (TO_DEVICE.replace("26.8", "3.40"), "16 x16"),
    ],
    ids=["faster than that", "slower than that", "pageable memory", "awake"],
)
def test_other_slow_copies_are_the_hosts_matter(text: str, now: str) -> None:
    (case,) = judged(text, sleeping_gpu(now)).cases
    assert case.verdict is Verdict.HOST
    assert not any("one operation at a time" in line for line in case.evidence), "32 MB take milliseconds"


def test_one_small_operation_at_a_time_is_decided_by_latency() -> None:
    (case,) = judged(fio(3.0, depth=1), drives()).cases
    assert any("one operation at a time" in line for line in case.evidence)


def test_peer_copies_stay_below_their_switch() -> None:
    text = (
        "P2P (Peer-to-Peer) GPU Bandwidth Latency Test\nUnidirectional P2P=Enabled Bandwidth Matrix "
        "(GB/s)\n   D\\D     0      1\n     0 700.0  27.0\n     1 27.0 700.0\nBidirectional P2P=Enabled "
        "Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 700.0  54.0\n     1 54.0 700.0\n"
    )
    gpus = switched(*[{"class_code": GPU, "vendor": 0x10DE}] * 2, uplink="8 x4")
    cases = judged(text, gpus).cases
    assert len(cases) == 4
    assert {case.verdict for case in cases} == {Verdict.GOOD}


READS = (
    "nvbandwidth Version: v0.8\n\nRunning device_to_device_memcpy_{test}_ce.\nmemcpy CE GPU(row) -> "
    "GPU(column) bandwidth (GB/s)\n           0         1\n 0       N/A     26.34\n 1     26.30       N/A\n\n"
)


@pytest.mark.parametrize(
    ("text", "way"),
    [
        (READS.format(test="read"), "read"),
        (READS.format(test="write"), "write"),
        (PEERS, "write"),
        (PEERS.replace("Bandwidth Matrix", "Bandwidth (P2P Reads) Matrix"), "read"),
        (
            "Test 1:\n Executor: GPU 01 | 26.3 GB/s | 1.4 ms | 67108864 bytes | 26.3 GB/s (sum)\n"
            "     Transfer 00 | 26.3 GB/s | 1.405 ms | 67108864 bytes | G1 -> GPU00:004 -> G0\n",
            "read",
        ),
        (
            "Unidirectional copy peak bandwidth GB/s [Remote read / Local write] (GPU-Executor: GFX)\n"
            " SRC\\EXE+DST    CPU 00    GPU 00    GPU 01\n  GPU 01  ->     23.43     26.3    109.78\n",
            "read",
        ),
    ],
)
def test_copies_between_peers_go_as_the_test_says(text: str, way: str) -> None:
    """A GPU that reads its peer is set beside reads, which requests and completions hold back."""
    gpus = switched(*[{"class_code": GPU, "vendor": 0x10DE}] * 2)
    measurement = parse_measurement(text)
    case = next(case for case in measurement.cases if (case.target or "").count("GPU") == 2)
    benchmark = match(case, measurement, gpus).benchmark
    assert benchmark is not None
    assert (benchmark.direction, benchmark.workload["direction"]) == (way, way)
    assert benchmark.function.address < benchmark.peer.address  # type: ignore[union-attr]
    (result, *_) = judged(text, gpus).cases
    assert result.predicted_gb_per_s is not None


def test_peers_that_read_both_ways_read() -> None:
    text = READS.format(test="read").replace("memcpy_read", "bidirectional_memcpy_read")
    measurement = parse_measurement(text.replace("->", "<->").replace("(column) ", "(column) Total "))
    gpus = switched(*[{"class_code": GPU, "vendor": 0x10DE}] * 2)
    benchmark = match(measurement.cases[0], measurement, gpus).benchmark
    assert benchmark is not None
    assert benchmark.direction == "both"
    assert [benchmark.workload["direction"], *(each["direction"] for each in benchmark.beside)] == [
        "read"
    ] * 2


def test_atomic_operations_and_processes_that_are_alone_are_not_judged() -> None:
    atomic = (
        "                    Atomic FETCH_AND_ADD BW Test\n"
        " Dual-port       : OFF\t\tDevice         : mlx5_0\n"
        " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
        " 8          5                0.06               0.06               0.008390\n"
    )
    (case,) = judged(atomic, pair(class_code=NIC), "01:00.0").cases
    assert (case.verdict, "atomic" in case.binding) == (Verdict.NONE, True)
    ranks = "".join(
        f"#  Rank  0 Group  0 Pid {host} on node{host} device  0 [0x03] NVIDIA L4\n" for host in (1, 2)
    )
    lone = (
        f"# Using devices\n{ranks}"
        "#       size         count      type   redop    root     time   algbw   busbw\n"
        "   134217728      33554432     float     sum      -1     5.00  262.10    0.00\n"
    )
    gpus = switched(*[{"class_code": GPU, "vendor": 0x10DE}] * 2)
    (case,) = judged(lone, gpus).cases
    assert (case.verdict, "ran alone" in case.binding) == (Verdict.NONE, True)


def test_network_results_are_set_beside_the_adapters_link() -> None:
    text = json.dumps(
        {
            "start": {
                "version": "iperf 3.16",
                "test_start": {"protocol": "TCP", "num_streams": 4, "blksize": 131072},
            },
            "end": {"sum_sent": {"bits_per_second": 20e9}, "sum_received": {"bits_per_second": 20e9}},
        }
    )
    (case,) = judged(text, pair(class_code=NIC)).cases
    assert case.measured_gb_per_s == 2.5
    assert case.verdict is Verdict.HOST


def test_latencies_and_unknown_ways_are_not_judged() -> None:
    latency = Measurement(tool="perftest", version=None, cases=(Case(name="x", direction="ping-pong"),))
    (case,) = judge(latency, pair(class_code=NIC)).cases
    assert case.verdict is Verdict.NONE
    nameless = machine(function("01:00.0", Kind.ENDPOINT))
    blind = replace(nameless, functions={a: replace(f, kind=None) for a, f in nameless.functions.items()})
    (unknown,) = judged(fio(1.0), blind).cases
    assert unknown.verdict is Verdict.NONE


@pytest.mark.parametrize("text", ["", "hello\nworld", "{}", '{"fio version": 1}', "[1, 2]", "{" * 5000])
def test_what_no_tool_wrote_is_refused_with_those_that_are_known(text: str) -> None:
    with pytest.raises(ImportProblemError, match=r"nvbandwidth|fio"):
        parse_measurement(text)


@pytest.mark.parametrize("rate", ["-5", "1e400", "NaN"])
def test_rates_that_cannot_be_are_refused(rate: str) -> None:
    with pytest.raises(ImportProblemError, match=r"states .* bytes a second"):
        parse_measurement(fio(1.0).replace('"bw_bytes": 1000000000', f'"bw_bytes": {rate}'))


@pytest.mark.parametrize(
    "damaged",
    [
        fio(1.0).replace(
            '"total_ios": 8000', '"total_ios": 1e400, "clat_ns": {"percentile": {"50.0": null}}'
        ),
        "RDMA_Write BW Test\n #bytes     #iter\n 65536  5000  97.1  97.0  0.18\n",
    ],
)
def test_values_of_another_kind_are_damage_and_no_fault_of_ours(damaged: str) -> None:
    with pytest.raises(ImportProblemError):
        parse_measurement(damaged, source="out")


def test_json_that_is_cut_says_where() -> None:
    with pytest.raises(ImportProblemError, match=r"is incomplete or damaged: .*line 1 column"):
        parse_measurement(fio(1.0)[:-20])


def test_encodings() -> None:
    assert decoded("a\u2192b".encode("utf-16"), "x") == "a\u2192b"
    assert decoded(b"\xef\xbb\xbfa", "x") == "a"
    assert decoded(b"caf\xe9", "x") == "caf\u00e9"
    with pytest.raises(ImportProblemError, match="binary"):
        decoded(b"\x7fELF\0\0", "x")


def test_json_has_the_documented_keys() -> None:
    document = json.loads(judged(fio(7.0), drives()).to_json())
    assert {"tool", "source", "machine", "cases", "notes"} <= set(document)
    wanted = {
        "name",
        "bdf",
        "measured_gb_per_s",
        "predicted_gb_per_s",
        "ratio",
        "verdict",
        "binding",
        "evidence",
    }
    assert set(document["cases"][0]) == wanted


class TestVerb:
    @pytest.mark.parametrize(("device", "status"), [("01:00.0", 0), (None, 2)])
    def test_what_could_not_be_judged_is_no_success(
        self, device: str | None, status: int, lanewise: Callable[..., Result], tmp_path: Path
    ) -> None:
        output = tmp_path / "fio.json"
        output.write_text(fio(0.01, filename="/data/file"))
        which = [] if device is None else ["--device", device]
        result = lanewise("import", str(output), "--machine", str(DUMPS / "qemu.vvv"), *which)
        assert result.exit_code == status
        assert ("was judged" in result.stderr) == (status == 2)
        assert "0.01 GB/s" in result.stdout or status == 0

    @pytest.mark.parametrize(
        ("rate", "words"),
        [
            (7.0, "\n    bound by the link of 01:00.0"),
            (3.0, "\n    what is possible is bound by the link of 01:00.0"),
            (20.0, "\n    what is possible is bound by the link of 01:00.0"),
        ],
    )
    def test_a_link_binds_what_is_possible_and_no_result_far_from_it(
        self, rate: float, words: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        print_judgement(judged(fio(rate), drives()))
        assert words in capsys.readouterr().out

    def test_one_of_two_files_is_not_enough(self, lanewise: Callable[..., Result], tmp_path: Path) -> None:
        for name, drive in (("known", "/dev/nvme0n1"), ("unknown", "/data/file")):
            (tmp_path / name).write_text(fio(0.01, filename=drive))
        files = [str(tmp_path / name) for name in ("known", "unknown")]
        result = lanewise("import", *files, "--machine", str(DUMPS / "qemu.sysfs.tar.gz"))
        assert result.exit_code == 2
        assert f"nothing in '{files[1]}'" in result.stderr
        assert files[0] not in result.stderr


def test_a_collective_over_pci_express_is_judged() -> None:
    """GPUs of which the driver says that PCI Express alone joins them."""
    text = (
        "# nThread 1 nGpus 2 minBytes 8 maxBytes 8589934592 step: 2(factor)\n"
        "#  Rank  0 Group  0 Pid 5484 on node1 device  0 [0x03] NVIDIA L40S\n"
        "#  Rank  1 Group  0 Pid 5484 on node1 device  1 [0x04] NVIDIA L40S\n"
        "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
        "   536870912     134217728     float     sum      -1    43330   {0}   {0}      0\n"
        "# Collective test concluded: all_reduce_perf\n"
    )
    gpu = {"can": "16 x16", "class_code": GPU, "vendor": 0x10DE}
    alone = switched(gpu, gpu)
    first, second = (f.address for f in alone if f.is_gpu)
    by_switch = Relation("GPU0", "GPU1", "PIX", first_address=first, second_address=second)
    joined = replace(alone, relations=(by_switch,))
    (good,), (bad,) = (judged(text.format(rate), joined).cases for rate in ("27.90", "12.38"))
    assert good.predicted_gb_per_s == pytest.approx(28.7, rel=0.02)
    assert (good.bdf, good.verdict) == (first.short, Verdict.GOOD)
    assert bad.ratio == pytest.approx(12.38 / 28.7, rel=0.02)
    assert bad.verdict not in (Verdict.GOOD, Verdict.NONE)
    assert judged(text.format("27.90"), alone).cases[0].verdict is Verdict.NONE


def test_a_collective_is_not_judged_on_a_machine_without_gpus() -> None:
    """The reason is the machine, of which it says nothing else."""
    text = (
        "#       size         count      type   redop    root     time   algbw   busbw #wrong\n"
        "   536870912     134217728     float     sum      -1    43330   12.4   12.4      0\n"
    )
    (without,) = judged(text, drives()).cases
    assert without.verdict is Verdict.NONE
    assert "shows no GPU" in without.binding


RDMA = """\
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_7
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 65536      5000             11000.12            10988.40\t\t   0.175814
"""


def several_kinds() -> Machine:
    """Return a switch with a drive, a GPU and two adapters below it."""
    kinds = (NVME, GPU, NIC, NIC)
    return switched(*({"class_code": kind, "vendor": 0x10DE if kind == GPU else 0x15B3} for kind in kinds))


@pytest.mark.parametrize(
    ("text", "device", "reason"),
    [
        (
            RDMA,
            "03:00.0",
            "perftest measures RDMA adapters, and 03:00.0 is a drive; the machine has 05:00.0, 06:00.0",
        ),
        (
            RDMA,
            "04:00.0",
            "perftest measures RDMA adapters, and 04:00.0 is a GPU; the machine has 05:00.0, 06:00.0",
        ),
        (
            fio(3.0),
            "05:00.0",
            "fio measures drives, and 05:00.0 is a network adapter; the machine has 03:00.0",
        ),
        (
            TO_DEVICE,
            "03:00.0",
            "bandwidthTest measures GPUs, and 03:00.0 is a drive; the machine has 04:00.0",
        ),
    ],
)
def test_a_device_of_another_kind_than_the_tool_measures_is_refused(
    text: str, device: str, reason: str
) -> None:
    judgement = judged(text, several_kinds(), device)
    assert judgement.reason_for_nothing == reason
    assert {case.predicted_gb_per_s for case in judgement.cases} == {None}


def test_of_outputs_of_two_tools_a_device_is_chosen_for_those_that_measure_its_kind() -> None:
    judgement = judged(f"{RDMA}\n{TO_DEVICE}", several_kinds(), "05:00.0")
    assert {case.bdf for case in judgement.cases} == {"04:00.0", "05:00.0"}


def test_a_device_whose_class_nobody_tells_may_be_chosen() -> None:
    known = several_kinds()
    nameless = known["05:00.0"]
    nameless = replace(nameless, identity=replace(nameless.identity, class_code=None))
    known = replace(known, functions={**known.functions, nameless.address: nameless})
    (case,) = judged(RDMA, known, "05:00.0").cases
    assert case.bdf == "05:00.0"
    assert case.ratio is not None


def test_a_drive_far_below_its_link_is_suspected_first() -> None:
    (case,) = judged(fio(3.0), drives()).cases
    assert case.evidence[0].endswith("; 01:00.0 itself is the first suspect, then host and software")
    (case,) = judged(
        TO_DEVICE.replace("26.8", "13.4"),
        pair(class_code=GPU, vendor=0x10DE, can="16 x16", port={"can": "16 x16"}),
    ).cases
    assert case.verdict is Verdict.HOST
    assert case.evidence[0].endswith("something beyond it is slower")


def _jobs(*names: str, groups: tuple[int, ...] = (0, 0)) -> str:
    jobs = [json.loads(fio(3.0, filename=f"/dev/{name}n1"))["jobs"][0] for name in names]
    for job, name, group in zip(jobs, names, groups, strict=False):
        job |= {"jobname": name, "groupid": group}
    return json.dumps({"fio version": "fio-3.35", "jobs": jobs})


@pytest.mark.parametrize(
    ("text", "is_said"),
    [
        (_jobs("nvme0"), False),
        (_jobs("nvme0", "nvme1"), True),
        (_jobs("nvme0", "nvme1", groups=(0, 1)), False),
        (fio(3.0, filename="/dev/nvme0n1:/dev/nvme1n1"), True),
    ],
    ids=["one drive", "two at once", "one after the other", "one job on two"],
)
def test_a_shared_uplink_explains_a_result_of_devices_that_were_at_work_at_once(
    text: str, is_said: bool
) -> None:
    known = switched(
        *({"can": "16 x4", "interfaces": (f"nvme{number}",)} for number in range(4)), uplink="16 x4"
    )
    cases = judged(text, known).cases
    assert {case.verdict for case in cases} == {Verdict.HOST}
    said = [any("[switch-oversubscribed]" in line for line in case.evidence) for case in cases]
    assert set(said) == {is_said}
