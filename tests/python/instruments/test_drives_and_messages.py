"""CrystalDiskMark, SPDK's perf and ucx_perftest: texts in the forms of their versions, and tools that are not read."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from lanewise.health.judge.detect import parse_measurement
from lanewise.tools.instruments.measurement import ImportProblemError

CRYSTAL = """\
------------------------------------------------------------------------------
CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo
------------------------------------------------------------------------------
* MB/s = 1,000,000 bytes/s [SATA/600 = 600,000,000 bytes/s]

[Read]
  SEQ    1MiB (Q=  8, T= 1):  5024.997 MB/s [   4792.2 IOPS] <  1667.96 us>
  RND    4KiB (Q= 32, T=16):   836.974 MB/s [ 204339.4 IOPS] <    60.86 us>

[Write]
  SEQ    1MiB (Q=  1, T= 1):  4693.229 MB/s [   4475.8 IOPS] <  1782.25 us>

[Mix] Read 70%/Write 30%
  SEQ    1MiB (Q=  8, T= 1):  4000.000 MB/s [   3814.7 IOPS] <  2000.00 us>

   Test: 1 GiB (x5) [D: 55% (256/465GiB)]
"""
OLD_CRYSTAL = """\
CrystalDiskMark 6.0.2 x64 (C) 2007-2018 hiyohiyo
   Sequential Read (Q= 32,T= 1) :   471.231 MB/s
  Sequential Write (Q= 32,T= 1) :   324.382 MB/s
  Random Read 4KiB (Q=  8,T= 8) :   393.900 MB/s [  96167.0 IOPS]
         Sequential Read (T= 1) :   532.327 MB/s
"""
KDISKMARK = """\
                        KDiskMark (3.0.0): https://github.com/JonMagon/KDiskMark
[Read]
Sequential   1 MiB (Q=  8, T= 1):   508.897 MB/s [    497.0 IOPS] < 13840.05 us>
"""


class TestCrystalDiskMark:
    def test_each_line_is_a_test(self) -> None:
        measurement = parse_measurement(CRYSTAL)
        assert (measurement.tool, measurement.version, measurement.raw["drive"]) == (
            "CrystalDiskMark",
            "8.0.4",
            "D:",
        )
        read, rand, write, mix = measurement.cases
        assert (read.name, read.direction) == ("sequential read 1 MiB Q8 T1", "read")
        assert (read.block_bytes, read.queue_depth, read.workers) == (1 << 20, 8, 1)
        assert read.bandwidth_bytes_per_s == pytest.approx(5.024997e9)
        assert (rand.queue_depth, rand.workers, rand.raw["random"]) == (512, 16, True)
        assert (write.direction, mix.direction) == ("write", "both")
        assert write.latency is not None
        assert write.latency.mean_ns == pytest.approx(1_782_250)

    def test_versions_that_name_the_way_in_the_line(self) -> None:
        first, second, third, last = parse_measurement(OLD_CRYSTAL).cases
        assert (first.direction, second.direction) == ("read", "write")
        assert (first.block_bytes, third.block_bytes, third.queue_depth) == (None, 4096, 64)
        assert last.queue_depth == 1

    def test_megabytes_of_kdiskmark_are_thousands_of_kib(self) -> None:
        """497.0 operations of 1 MiB are 521 MB/s, and no 508.897."""
        measurement = parse_measurement(KDISKMARK)
        assert (measurement.tool, measurement.version) == ("KDiskMark", "3.0.0")
        assert measurement.cases[0].bandwidth_bytes_per_s == pytest.approx(497.0 * 2**20, rel=1e-3)

    def test_a_second_column_is_not_left_out_without_a_word(self) -> None:
        line = "[Read]\nSequential 1MiB (Q=  8, T= 1):   160.497 MB/s [    153.1 IOPS]   282.983 MB/s [    269.9 IOPS]\n"
        measurement = parse_measurement(line)
        assert len(measurement.cases) == 1
        assert "second result" in measurement.not_understood[0]

    def test_a_test_of_no_direction_is_refused(self) -> None:
        with pytest.raises(ImportProblemError, match="line 1: no '\\[Read\\]'"):
            parse_measurement(CRYSTAL.partition("[Read]\n")[2].partition("[Write]")[0])


SPDK = """\
$ ./perf -q 64 -s 1024 -w {way} -t 60 -c 0x3 -o 4096 -r 'trtype:PCIe traddr:0000:86:00.0'
========================================================
                                                                           Latency(us)
Device Information                     :       IOPS      MiB/s    Average        min        max
PCIE (0000:86:00.0) NSID 1 from core  0:  176907.23     691.04     361.76      17.77    1889.71
PCIE (0000:86:00.0) NSID 1 from core  1:  176907.23     691.04     561.76      10.00    1900.00
========================================================
Total                                  :  353814.46    1382.08     461.76      10.00    1900.00
"""


class TestSpdkPerf:
    def test_cores_of_one_drive_are_added_up(self) -> None:
        (case,) = parse_measurement(SPDK.format(way="randread")).cases
        assert (case.direction, case.block_bytes, case.queue_depth, case.workers) == ("read", 4096, 128, 2)
        assert case.bandwidth_bytes_per_s == pytest.approx(2 * 691.04 * 2**20)
        assert case.operations_per_s == pytest.approx(353_814.46)
        assert case.latency is not None
        assert case.latency.mean_ns == pytest.approx(461_760)
        assert (case.latency.min_ns, case.latency.max_ns) == (10_000, 1_900_000)
        assert (case.target, case.raw["random"]) == ("PCIE (0000:86:00.0) NSID 1", True)

    def test_mixed_and_without_a_command(self) -> None:
        (mixed,) = parse_measurement(SPDK.format(way="randrw")).cases
        (bare,) = parse_measurement(SPDK.format(way="read").partition("\n")[2]).cases
        assert (mixed.direction, bare.direction) == ("both", None)
        assert (bare.block_bytes, bare.queue_depth) == (4096, None)

    def test_drives_of_other_machines(self) -> None:
        text = SPDK.format(way="read").replace("PCIE (0000:86:00.0)", "RDMA (addr:192.168.1.2 subnqn:nqn.x)")
        (case,) = parse_measurement(text).cases
        assert case.raw["fabrics"] is True


UCX = """\
$ UCX_NET_DEVICES=mlx5_0:1 ucx_perftest -t tag_bw 10.0.0.2 -m cuda
+------------------------------------------+
| API:          protocol layer             |
| Test:         tag match bandwidth        |
| Send memory:  {memory}                       |
| Message size: 1000000                    |
+------------------------------------------+
+--------------+--------------+------------------------------+---------------------+-----------------------+
|              |              |       {kind} (usec)        |   bandwidth (MB/s)  |  message rate (msg/s) |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
|    Stage     | # iterations | 50.0%ile | average | overall |  average |  overall |  average  |  overall  |
+--------------+--------------+----------+---------+---------+----------+----------+-----------+-----------+
[thread 0]               622      0.240  1668.561  1668.561    46821.78   46821.78         599         599
Final:                  1000      0.240  1675.942  1671.351    11615.58   11743.62       12180       12314
"""


class TestUcxPerftest:
    def test_bandwidth_is_over_the_whole_test_in_mebibytes(self) -> None:
        (case,) = parse_measurement(UCX.format(kind="overhead", memory="host")).cases
        assert (case.name, case.target, case.direction) == ("tag_bw 1000000 B", "mlx5_0", "send")
        assert case.bandwidth_bytes_per_s == 11743.62 * 2**20
        assert "gpu" not in case.raw
        assert case.bandwidth_bytes_per_s == pytest.approx(12314 * 1e6, rel=1e-4)

    def test_memory_of_a_gpu_that_is_not_named(self) -> None:
        (case,) = parse_measurement(UCX.format(kind="overhead", memory="cuda")).cases
        assert case.raw["gpu"] == ""

    def test_a_latency_has_no_bandwidth(self) -> None:
        (case,) = parse_measurement(UCX.format(kind=" latency", memory="host")).cases
        assert (case.direction, case.bandwidth_bytes_per_s) == ("ping-pong", None)
        assert case.latency is not None
        assert case.latency.mean_ns == pytest.approx(1_675_942)

    def test_both_ends_on_one_machine(self) -> None:
        text = "Accepted connection from 127.0.0.1:46164\n" + UCX.format(kind="overhead", memory="host")
        assert parse_measurement(text).cases[0].raw["loopback"] is True


def test_the_end_of_iperf3_alone() -> None:
    text = """\
[  5][TX-C]   0.00-10.00  sec  25.3 GBytes  21.7 Gbits/sec    0             sender
[  5][TX-C]   0.00-10.00  sec  25.2 GBytes  21.6 Gbits/sec                  receiver
[  7][RX-C]   0.00-10.00  sec  34.0 GBytes  29.2 Gbits/sec    0             sender
[  7][RX-C]   0.00-10.00  sec  34.0 GBytes  29.1 Gbits/sec                  receiver
"""
    rates = [case.bandwidth_bytes_per_s for case in parse_measurement(text).cases]
    assert rates == pytest.approx([21.6e9 / 8, 29.1e9 / 8])


@pytest.mark.parametrize(
    ("text", "tool"),
    [
        ("Client connecting to 10.0.0.2, TCP port 5001\n", "iperf 2, which is not read; use iperf3 instead"),
        ("tcp_bw:\n    bw  =  1.17 GB/sec\n", "qperf, which is not read"),
        ("MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 20000\n", "netperf, which is not read"),
        (
            "/dev/nvme0n1:\n Timing buffered disk reads: 4000 MB in  3.00 seconds\n",
            "hdparm, which is not read; use fio",
        ),
        ("1073741824 bytes (1.1 GB, 1.0 GiB) copied, 0.5 s, 2.1 GB/s\n", "dd, which is not read"),
        (
            "Intel(R) Memory Latency Checker - v3.9a\n",
            "Memory Latency Checker, which is not read; it measures memory, of which nothing crosses",
        ),
        (
            "536870912 Bytes (537 MB, 512 MiB) kopiert, 1,73096 s, 310 MB/s\n",
            "dd, which is not read; use fio",
        ),
        ("4294967296 bytes transferred in 1.574210 secs (2728331096 bytes/sec)\n", "dd, which is not read"),
        ("time to transfer data: 1.292331 secs at 3323.41 MB/sec\n", "sg_dd, which is not read; use fio"),
        ("NetworkLoad Tests v1.3\n  Network Tests running on 20 nodes\n", "GPCNeT"),
        ("#bytes #repetitions t_min[usec] t_max[usec] Mbytes/sec\n", "the Intel MPI Benchmarks"),
        ("# Benchmarking: allreduce\n\n  #bytes  #repetitions  t_min[usec]\n", "oneCCL's benchmark"),
        ("msg  bytes   iters   total   time     MB/sec    usec/xfer   Mxfers/sec\n", "fabtests"),
        ("Thread  Time(s) Throughput(KB/s) Avg B / Compl\n", "NTTTCP, which is not read; use iperf3"),
        ("    Transfer bandwidth (GBPS)\n      enqueueWriteBuffer              : 20.25\n", "clpeak"),
        ("Device   0 : Host->Device[  1024]:  BW =  0.000137 GBPS  Latency =  7.29 usec\n", "ze_bandwidth"),
        ("One-directional write memory bandwidth\nDevice(0)->Device(1): BW [GBPS]: 19.3\n", "ze_bandwidth"),
        ("Testing DPDK DMA memcpy performance\n", "dpdk-test-dma-perf"),
        ("n1:4:4 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n", "NCCL itself, about the ways"),
        ("[./simpleP2P] - Starting...\n", "simpleP2P, which is not read; use nvbandwidth"),
        ("   H2D_Bandwidth_pinned    524288kB\t  GB/sec\t14.2818\t14.2790\n", "hipBusBandwidth"),
        ("cpu_to_gpu0_by_dma_under_numa0 26.2387\n", "SuperBench's gpu_copy"),
        ("[RESULT] [  3095.6] [action_1] p2p-bandwidth  [1/2] 453 15450\n", "the ROCm Validation Suite"),
        ("writing test, size=131072 offset=0\nwrite BW: 19634.7MB/s\n", "gdrcopy's copybw"),
        ("| Integration PCIe        | Result: Pass   |\n", "xpu-smi diag"),
        ("| Diagnostic                | Result       |\n", "dcgmi diag"),
        ("#Entity   GRACT        TENSO\nID\nGPU 0     0.000\n", "dcgmi, which is not read; it says"),
        ("# gpu   pwr gtemp mtemp    sm\n", "nvidia-smi dmon, which is not read; it says"),
        ("20.4%  proc'd: 1 (19000 Gflop/s) - 2   errors: 0 - 0   temps: 44 C\n", "gpu_burn"),
        ("[BENCHMARK]     NW Bandwidth   : 258.209121 GB/s\n", "hccl_demo"),
        ("3DMark PCI Express feature test 1.1\n", "3DMark"),
        ("1.96,1.96,rig,1,1421800799,7423M,,,,72853,15\n", "Bonnie++, which is not read; use fio"),
        ("\tIozone: Performance Test of File I/O\n", "IOzone, which is not read; use fio"),
        ("HDParm                    Disk Read                 707.07 MB/sec\n", "PiBenchmarks"),
        ("> Disk  Sequential 64.0 Read                   3224.31 MB/s\n", "Windows' WinSAT"),
        ("mdtest-4.0.0 was launched with 16 total task(s)\n", "mdtest, which is not read; it counts"),
        ("AVG\tMethod: MEMCPY\tElapsed: 0.02240\n", "mbw, which is not read; it measures memory"),
        (
            "                 L M B E N C H  3 . 0   S U M M A R Y\n",
            "lmbench, which is not read; it measures",
        ),
        ("Throughput: 2.308903 GiB/sec, Avg_Latency: 81215.056568 usecs\n", "gdsio that is cut"),
        ("Host/Device Bandwidth Matrix (GB/s), memory=Pinned\n   Dir\\D       0      1\n", "busGrind"),
    ],
)
def test_a_tool_that_is_not_read_is_named(text: str, tool: str) -> None:
    with pytest.raises(ImportProblemError) as refused:
        parse_measurement(text, source="out.txt")
    assert f"'out.txt' is an output of {tool}" in str(refused.value).replace("Intel's ", "")


@pytest.mark.parametrize(
    "text",
    [
        '00:00.0 "Host bridge" "Intel Corporation" "DRAM Registers" -r05 "Dell" "Device 07a1"\n',
        "Slot:\t01:00.0\nClass:\tVGA compatible controller\nVendor:\tNVIDIA Corporation\nDevice:\tGA102\n",
        "[  1.0] pci 0000:01:00.0: 8.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x4 link at "
        "0000:00:1b.0 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)\n",
    ],
)
def test_a_dump_of_a_machine_is_known_in_any_form(text: str) -> None:
    with pytest.raises(ImportProblemError) as refused:
        parse_measurement(text, source="out.txt")
    assert "'out.txt' is a dump of a machine, not a result" in str(refused.value)
