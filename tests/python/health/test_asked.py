"""What a job asked of its drive, as far as an output tells, and which side an adapter's output is of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from machines import GPU, NIC, pair, switched
from test_judging import drives, fio, judged

from lanewise.health.judge import Verdict, judge
from lanewise.health.judge.asked import asked_of_drive
from lanewise.health.judge.detect import parse_measurement
from lanewise.health.judge.matching import match
from lanewise.tools.instruments.measurement import Case, Latency, Measurement

if TYPE_CHECKING:
    from lanewise.machine.model import Machine


def case(**more: object) -> Case:
    return Case(name="seq read", direction="read", **more)  # type: ignore[arg-type]


def test_results_tell_size_and_depth_where_options_do_not() -> None:
    """133 I/Os a second of 477.7 ms are 64 under way; 68,118 KiB/s are 512 KiB each."""
    unknown = case(bandwidth_bytes_per_s=68118 * 1024, operations_per_s=133, latency=Latency(mean_ns=477.7e6))
    assert asked_of_drive(unknown) == (524_288, 64)


def test_long_blocks_reach_a_drive_in_parts() -> None:
    assert asked_of_drive(case(block_bytes=32 << 20, queue_depth=16)) == (1 << 20, 512)
    (result,) = judged(fio(7.0).replace('"128k"', '"32m"'), drives()).cases
    assert result.verdict is Verdict.GOOD


@pytest.mark.parametrize(
    ("options", "asked"),
    [
        ({"rw": "read", "bs": "4k", "direct": "1"}, (4096, 1)),
        ({"rw": "read", "bs": "4k"}, (128 << 10, 32)),
        ({"rw": "randread", "bs": "4k"}, (4096, 1)),
        ({"rw": "read", "bs": "4k", "buffered": "0"}, (4096, 1)),
        ({"rw": "read", "bs": "4k", "ioengine": "io_uring_cmd"}, (4096, 1)),
        ({"rw": "read", "bs": "4k", "ioengine": "external:/opt/spdk/build/fio/spdk_nvme"}, (4096, 1)),
        ({"rw": "read"}, (4096, 1)),
    ],
)
def test_the_page_cache_reads_ahead(options: dict[str, str], asked: tuple[int, int]) -> None:
    raw = {"job options": options}
    assert asked_of_drive(case(block_bytes=4096, queue_depth=1, raw=raw)) == asked


def test_what_went_by_way_of_the_page_cache_says_so() -> None:
    (direct,) = judged(fio(3.0).replace('"iodepth"', '"direct": "1", "iodepth"'), drives()).cases
    (cached,) = judged(fio(3.0), drives()).cases
    assert not any("page cache" in line for line in direct.evidence)
    assert any("--direct=1 measures the drive" in line for line in cached.evidence)


def test_a_job_over_several_drives_is_set_beside_all_of_them() -> None:
    """Two drives of 16 GT/s x4: below a x8 uplink twice as much is possible, below a x4 one no more."""
    both = fio(12.0, filename="/dev/nvme0n1:/dev/nvme1n1")
    drive = [{"can": "16 x4", "interfaces": (f"nvme{number}",)} for number in range(2)]
    (wide,) = judged(both, switched(*drive, uplink="16 x16")).cases
    (narrow,) = judged(both, switched(*drive, uplink="16 x4")).cases
    assert wide.predicted_gb_per_s == pytest.approx(14.3, rel=0.02)
    assert narrow.predicted_gb_per_s == pytest.approx(7.15, rel=0.02)
    assert (wide.verdict, narrow.verdict) == (Verdict.HOST, Verdict.TOO_GOOD)
    assert any("03:00.0, 04:00.0" in line for line in wide.evidence)


PERFTEST = """\
                    RDMA_{what} BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             97.11             97.09             0.185
"""
SERVER = "* Waiting for client to connect... *\n"
CUDA = "CUDA device 0: PCIe address is 04:00\nPicking device No. 0\n"


def adapters(*kinds: int) -> Machine:
    """Return a switch with devices below it, the first of them a GPU or an adapter that is mlx5_0."""
    return switched(
        *(
            {"class_code": kind, "vendor": 0x10DE if kind == GPU else 0x15B3}
            | ({"interfaces": ("mlx5_0",)} if number == 0 else {})
            for number, kind in enumerate(kinds)
        )
    )


@pytest.mark.parametrize(
    ("what", "direction"), [("Write", "read"), ("Read", "write")], ids=["a write", "a read"]
)
def test_data_goes_the_other_way_at_a_server(what: str, direction: str) -> None:
    measurement = parse_measurement(PERFTEST.format(what=what) + SERVER + PERFTEST.format(what=what))
    client, server = (match(case, measurement, adapters(NIC)).benchmark for case in measurement.cases)
    assert client is not None
    assert server is not None
    assert client.direction == direction
    assert {client.direction, server.direction} == {"read", "write"}


def test_an_adapter_that_reads_a_gpu_is_set_beside_that_way() -> None:
    machine = adapters(NIC, GPU)
    measurement = parse_measurement(CUDA + PERFTEST.format(what="Write"))
    found = match(measurement.cases[0], measurement, machine)
    assert found.benchmark is not None
    assert found.benchmark.peer is machine["04:00.0"]
    assert found.benchmark.direction == "read"
    (case,) = judged(CUDA + PERFTEST.format(what="Write"), machine).cases
    assert case.ratio is not None


@pytest.mark.parametrize(
    ("said", "gpus", "reason"),
    [
        (CUDA.replace("04:00", "99:00"), (GPU, GPU), "0000:99:00.0 is no GPU of this machine"),
        (CUDA.replace("CUDA device", "device"), (GPU, GPU), "the output does not say of which"),
    ],
)
def test_a_gpu_that_is_not_known_is_said(said: str, gpus: tuple[int, ...], reason: str) -> None:
    (case,) = judged(said + PERFTEST.format(what="Write"), adapters(NIC, *gpus)).cases
    assert case.verdict is Verdict.NONE
    assert reason in case.binding


def test_both_ways_between_an_adapter_and_a_gpu() -> None:
    text = CUDA + PERFTEST.format(what="Write Bidirectional")
    (case,) = judged(text, adapters(NIC, GPU)).cases
    assert case.ratio is not None


def test_a_page_around_an_output_is_not_listed_line_by_line() -> None:
    page = "".join(f"{number}. Install what is missing\n" for number in range(1, 30))
    judgement = judged(page + PERFTEST.format(what="Write") + page, adapters(NIC))
    assert len(judgement.notes) == 4
    assert judgement.notes[-1] == "55 more lines of the output say nothing that is read"


SPDK = """\
$ perf -q 32 -o 131072 -w read -t 10
Device Information                     :       IOPS      MiB/s    Average        min        max
{device} NSID 1 from core  0:   50000.00    6250.00     640.00      10.05    1040.94
"""


def test_a_drive_of_spdk_is_named_by_its_address() -> None:
    (case,) = judged(SPDK.format(device="PCIE (0000:01:00.0)"), drives()).cases
    assert (case.bdf, case.verdict) == ("01:00.0", Verdict.GOOD)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (SPDK.format(device="RDMA (addr:10.0.0.2 subnqn:nqn.x)"), "a drive of another machine"),
        (SPDK.format(device="PCIE (0000:01:00.0)").partition("\n")[2], "whether it reads or writes"),
    ],
)
def test_what_spdk_does_not_measure_on_a_link_is_said(text: str, reason: str) -> None:
    (case,) = judged(text, drives()).cases
    assert case.verdict is Verdict.NONE
    assert reason in case.binding


def test_crystaldiskmark_is_about_the_only_drive() -> None:
    text = "[Read]\n  SEQ    1MiB (Q=  8, T= 1):  6900.000 MB/s [   6580.4 IOPS] <  1215.00 us>\n"
    (case,) = judged(text, drives()).cases
    assert (case.bdf, case.verdict) == ("01:00.0", Verdict.GOOD)


def test_drives_that_a_machine_does_not_tell_apart_are_not_taken_for_its_only_one() -> None:
    (case,) = judged(fio(7.0, filename="/dev/nvme2n1:/dev/nvme3n1"), pair()).cases
    assert case.verdict is Verdict.NONE
    assert "several drives (nvme2, nvme3)" in case.binding


def test_more_than_possible_says_what_that_means() -> None:
    (case,) = judged(fio(9.0), drives()).cases
    assert case.verdict is Verdict.TOO_GOOD
    assert any("a cache, compression, or another device" in line for line in case.evidence)


def test_an_adapter_has_no_links_of_its_own_to_a_gpu() -> None:
    text = CUDA + PERFTEST.format(what="Write").replace("97.09", "970.9")
    (case,) = judged(text, adapters(NIC, GPU)).cases
    assert case.verdict is Verdict.TOO_GOOD
    assert "NVLink" not in case.binding


@pytest.mark.parametrize(("reads", "possible"), [(50, 13.7), (70, 9.9), (100, 7.2)])
def test_reads_and_writes_of_a_mixed_load_go_opposite_ways(reads: int, possible: float) -> None:
    mixed = Case(
        name="mixed",
        direction="both" if reads < 100 else "read",
        block_bytes=131072,
        queue_depth=256,
        bandwidth_bytes_per_s=7.9e9,
        raw={"read percent": reads},
    )
    measurement = Measurement(tool="bdevperf", version=None, cases=(mixed,))
    (found,) = judge(measurement, pair()).cases
    assert found.predicted_gb_per_s == pytest.approx(possible, rel=0.02)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"in memory": "Malloc0"}, "'Malloc0' is in memory: nothing crosses PCI Express"),
        ({"elsewhere": "an object store"}, "a result of an object store, of no drive of this machine"),
    ],
)
def test_what_is_of_no_drive_here_is_said(raw: dict[str, str], reason: str) -> None:
    measurement = Measurement(
        tool="elbencho", version=None, cases=(case(bandwidth_bytes_per_s=1e9, raw=raw),)
    )
    assert judge(measurement, pair()).cases[0].binding == reason


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"own link": "XGMI"}, "a copy over XGMI: nothing crosses PCI Express"),
        ({"by way of": "GPU 1"}, "copied by way of GPU 1: over more than one device's link"),
        ({"at once": 2}, "several copies at once"),
    ],
)
def test_transfers_that_are_not_of_one_link_are_said(raw: dict[str, object], reason: str) -> None:
    copied = case(target="GPU 0", bandwidth_bytes_per_s=1e9, raw={"test": "test 1", **raw})
    measurement = Measurement(tool="TransferBench", version=None, cases=(copied,))
    assert judge(measurement, pair(class_code=GPU)).cases[0].binding.startswith(reason)


def test_tests_of_iperf3_at_the_same_time_count_together() -> None:
    lines = [
        f"{title}:  [SUM]   0.00-20.00  sec  50.7 GBytes  {rate} Gbits/sec                  {who}"
        for who in ("sender", "receiver")
        for title, rate in (("a", 21.8), ("b", 21.1))
    ]
    (found,) = judge(parse_measurement("\n".join(lines)), pair(class_code=NIC)).cases
    assert found.name == "TCP send (2 at once)"
    assert found.measured_gb_per_s == pytest.approx(42.9 / 8)
