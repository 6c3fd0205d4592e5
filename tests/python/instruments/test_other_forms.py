"""Forms of outputs that versions, options and pages make: parts of sums, lone processes, older tables."""

# ruff: noqa: E501

from __future__ import annotations

import re

import pytest

from lanewise.health.judge.detect import parse_measurement
from lanewise.tools.instruments.measurement import ImportProblemError

# Numbers made up; the form is that of perftest's run_iter_bw and print_full_bw_report.
PARTS = """\
                    Send Bidirectional BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_0
 Number of qps   : 1\t\tTransport type : IB
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    1000             389.10             389.02 \t\t   0.005797
---------------------------------------------------------------------------------------

 Local results:
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    1000             195.10             194.52 \t\t   0.002898
---------------------------------------------------------------------------------------

 Remote results:
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 8388608    1000             194.00             194.50 \t\t   0.002898
---------------------------------------------------------------------------------------
"""


def test_what_either_side_sent_is_no_bandwidth_of_both() -> None:
    result = parse_measurement(PARTS)
    (case,) = result.cases
    assert (case.direction, case.bandwidth_bytes_per_s) == ("both", pytest.approx(389.02e9 / 8))
    sides = [case.raw[f"{side} results"] for side in ("local", "remote")]
    assert [side["BW average[Gb/sec]"] for side in sides] == [194.52, 194.50]  # type: ignore[index]
    assert not result.not_understood


def test_one_side_alone_goes_one_way() -> None:
    below = PARTS.index(" #bytes")
    text = PARTS[:below] + PARTS[PARTS.index(" Local") : PARTS.index(" Remote")]
    (case,) = parse_measurement(text).cases
    assert (case.direction, case.bandwidth_bytes_per_s) == ("send", pytest.approx(194.52e9 / 8))


TABLE = """\
# nThread 1 nGpus 1 minBytes 32 maxBytes 134217728 step: 2(factor) warmup iters: 5 iters: 20 validation: 1
#
# Using devices
#   Rank  0 Pid 1821213 on node01 device  0 [0x07] NVIDIA A100-SXM4-40GB
#   Rank  1 Pid 1821214 on node01 device  1 [0x0f] NVIDIA A100-SXM4-40GB
#
#                                                     out-of-place                       in-place
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
   134217728      33554432   float     sum   1265.0  106.10  185.68  2e-07   1266.2  106.00  185.50  2e-07
"""


def test_nccl_tests_whose_signs_of_comments_a_page_took_away() -> None:
    whole, bare = parse_measurement(TABLE), parse_measurement(re.sub(r"(?m)^#", "", TABLE))
    assert bare.cases == whole.cases
    assert bare.raw == whole.raw
    assert not bare.not_understood


def test_processes_that_are_all_rank_0_are_alone() -> None:
    text = TABLE.replace("Rank  1", "Rank  0").replace("106.10  185.68", "106.10    0.00")
    result = parse_measurement(text)
    assert [case.workers for case in result.cases] == [1]
    assert result.raw["alone"] is True
    assert "built without MPI=1" in result.not_understood[0]
    assert "alone" not in parse_measurement(TABLE).raw
    assert "alone" not in parse_measurement(TABLE + TABLE).raw


OF_NCCL_1 = """\
all_reduce_test 10000000
# Using devices
#   Rank  0 uses device  0 [0x0a] GeForce GTX TITAN X
#   Rank  1 uses device  1 [0x09] GeForce GTX TITAN X

#                                                 out-of-place                    in-place
#      bytes             N    type      op     time  algbw  busbw      res     time  algbw  busbw      res
    10000000      10000000    char     sum    1.628   6.14   9.21    0e+00    1.932   5.18   7.77    0e+00
    10000000       2500000     int    prod    1.611   6.21   9.31    0e+00    1.626   6.15   9.23    0e+00
"""
ROOTED = """\
      bytes             N    type      op  root    time  algbw  busbw      res     time  algbw  busbw      res
    67108864      67108864    char     sum    1   11.569   5.80   5.80    0e+00   11.617   5.78   5.78    0e+00
"""


def test_tables_of_nccl_1_have_milliseconds() -> None:
    """10,000,000 B in 1.628 ms are the 6.14 GB/s of the row."""
    first, second = parse_measurement(OF_NCCL_1).cases
    assert (first.name, first.block_bytes, first.raw["redop"]) == ("all_reduce 10000000 B", 10_000_000, "sum")
    assert first.bandwidth_bytes_per_s == pytest.approx(9.21e9)
    assert first.latency is not None
    assert first.latency.mean_ns == pytest.approx(1.628e6)
    assert second.raw["in place"] == {"time": 1.626, "algbw": 6.15, "busbw": 9.23, "wrong": 0.0}
    (rooted,) = parse_measurement(ROOTED).cases
    assert (rooted.bandwidth_bytes_per_s, rooted.raw["algbw"]) == (pytest.approx(5.8e9), 5.8)


def test_transfers_as_early_versions_of_transferbench_have_them() -> None:
    text = """\
Test 1: [1073741824 bytes]
 Transfer 00: G00 -> [GPU 00:004] -> G01 |     8.413 GB/s |  127.626 ms | LOCAL-PCIE-2
 Transfer 01: C00 -> [GPU 00:004] -> G00 |     8.406 GB/s |  127.742 ms | LOCAL-PCIE-2
 Aggregate Bandwidth (CPU timed)         |    16.518 GB/s |  128.139 ms | Overhead: 0.397 ms

Test 2: [67108864 bytes]
 Transfer 00: G00 -> [DMA 00:001] -> C00 |    13.400 GB/s |    5.008 ms | LOCAL-PCIE-2
"""
    cases = parse_measurement(text).cases
    assert [(case.direction, case.target, case.block_bytes, case.raw["at once"]) for case in cases] == [
        ("write", "GPU 0 -> GPU 1", 1 << 30, 2),
        ("write", "GPU 0", 1 << 30, 2),
        ("read", "GPU 0", 1 << 26, 1),
    ]
    assert cases[2].bandwidth_bytes_per_s == pytest.approx(13.4e9)


def test_transfers_from_the_source_of_a_page() -> None:
    text = (
        "   Test 1:\n   Executor: GPU 00 \\| 47.772 GB/s \\| 1.405 ms \\| 67108864 bytes \\| 47.774 GB/s (sum)\n"
        "   Transfer 00 \\| 47.774 GB/s \\| 1.405 ms \\| 67108864 bytes \\| G0 -> GPU00:004 -> G1\n"
    )
    (case,) = parse_measurement(text).cases
    assert (case.target, case.bandwidth_bytes_per_s) == ("GPU 0 -> GPU 1", pytest.approx(47.774e9))


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("IOPS=5.02M, BW=2.45GiB/s, IOS/call=32/32\nMaximum IOPS=5.02M\n", "t/io_uring"),
        ("IOPS=240096, IOS/call=32/31, inflight=91 (91)\n", "t/io_uring"),
        ("     size(B)    count(elems)     type    time(us)    algbw(GB/s)    busbw(GB/s)\n", "nccom-test"),
    ],
)
def test_tools_that_are_not_read_are_named(text: str, tool: str) -> None:
    with pytest.raises(ImportProblemError, match=f"an output of {tool}, which is not read"):
        parse_measurement(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fio: pid=8281, err=84/file:io_u.c:2141, func=io_u_queued_complete, error=X\n", "an error of fio"),
        ("sha256: verify failed at file a.0.0 offset 6, length 3\n", "an error of fio"),
        ("a: (g=0): rw=read, bs=(R) 1024KiB-1024KiB\n...\nfio-3.16\n", "the beginning of an output of fio"),
        ("Jobs: 4 (f=4): [R(4)][36.4%][r=395MiB/s]\n", "the beginning of an output of fio"),
        ("==\n= Dbench Summary =\n==\nSequential Read/Write: 65MiB/s / 43MiB/s\n", "dbench's summary"),
        (
            "iperf3: error - control socket has closed unexpectedly\n",
            "iperf3 failed: iperf3: error - control",
        ),
        (
            "# nThread 1 nGpus 1 minBytes 4 maxBytes 8\n#\n# Using devices\n"
            "#  Rank  0 Group  0 Pid 42 on rig7 device  0 [0x07] NVIDIA A100-SXM4-40GB\n"
            "rig7: Test NCCL failure common.cu:1012 'unhandled system error (run with NCCL_DEBUG=INFO) / '\n",
            "nccl-tests failed: Test NCCL failure common.cu:1012 'unhandled system error",
        ),
    ],
)
def test_what_has_no_result_says_what_it_is(text: str, said: str) -> None:
    with pytest.raises(ImportProblemError, match=said):
        parse_measurement(text)


def test_buffers_of_gpus_are_told() -> None:
    text = "# OSU MPI-CUDA Bandwidth Test v5.7\n# Send Buffer on HOST (H) and Receive Buffer on {} ({})\n# Size      Bandwidth (MB/s)\n4194304              4036.15\n"
    for where, gpu in (("DEVICE", ""), ("HOST", None)):
        (case,) = parse_measurement(text.format(where, where[0])).cases
        assert case.raw.get("gpu") == gpu


def test_memory_of_the_sample_for_opencl() -> None:
    text = "[oclBandwidthTest] starting...\nHost to Device Bandwidth, 1 Device(s), Paged memory, direct access\n   Transfer Size (Bytes)\tBandwidth(MB/s)\n   33554432\t\t\t9471.2\n"
    (case,) = parse_measurement(text).cases
    assert (case.raw["memory"], case.bandwidth_bytes_per_s) == ("pageable", 9471.2 * 2**20)


# In the form of reports of CrystalDiskMark 3.0.1 to 3.0.3; numbers of one on a public page.
OF_CRYSTALDISKMARK_3 = """\
-----------------------------------------------------------------------
CrystalDiskMark 3.0.1 x64 (C) 2007-2010 hiyohiyo
                           Crystal Dew World : http://crystalmark.info/
-----------------------------------------------------------------------
* MB/s = 1,000,000 byte/s [SATA/300 = 300,000,000 byte/s]

           Sequential Read :   505.825 MB/s
         Random Read 512KB :   381.142 MB/s
   Random Write 4KB (QD=1) :    63.703 MB/s [ 15552.6 IOPS]
   Random Read 4KB (QD=32) :   271.859 MB/s [ 66371.9 IOPS]

  Test : 1000 MB [C: 33.0% (39.3/119.1 GB)] (x5)
"""


def test_crystaldiskmark_3_names_queues_of_small_blocks_only() -> None:
    result = parse_measurement(OF_CRYSTALDISKMARK_3)
    assert (result.version, result.raw["drive"]) == ("3.0.1", "C:")
    assert [(case.direction, case.block_bytes, case.queue_depth) for case in result.cases] == [
        ("read", None, 1),
        ("read", 512 << 10, 1),
        ("write", 4096, 1),
        ("read", 4096, 32),
    ]
    assert [case.bandwidth_bytes_per_s for case in result.cases] == pytest.approx(
        [505.825e6, 381.142e6, 63.703e6, 271.859e6]
    )


def test_a_client_below_its_server_in_one_log_is_no_server() -> None:
    """Each side's command begins its own words; which side it is turns the direction on the link."""
    waiting = "************************************\n* Waiting for client to connect... *\n************************************\n"
    server = f"# ib_write_bw -d mlx5_1 --report_gbits\n{waiting}"
    client = "# ib_write_bw -d mlx5_1 --report_gbits 192.168.2.1\n"
    table = PARTS[: PARTS.index("\n Local")].replace("Send Bidirectional", "RDMA_Write")
    (case,) = parse_measurement(server + client + table).cases
    assert "side" not in case.raw
    (case,) = parse_measurement(server + "$ ib_write_bw 192.168.2.1\n" + table).cases
    assert "side" not in case.raw
    (case,) = parse_measurement(server + table).cases
    assert case.raw["side"] == "server"
