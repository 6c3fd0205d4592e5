"""Tools for drives besides fio: SPDK's bdevperf, DISKSPD, elbencho and Vdbench."""

# ruff: noqa: E501

from __future__ import annotations

import json

import pytest

from lanewise.health.judge.detect import parse_measurement
from lanewise.tools.instruments.measurement import Case, ImportProblemError


def only(text: str) -> Case:
    (case,) = parse_measurement(text).cases
    return case


BDEVPERF = """Running I/O for 10 seconds...

                                                                                                Latency(us)
Device Information                     : runtime(s)       IOPS      MiB/s     Fail/s     TO/s    Average        min        max
Job: Nvme0n1 (Core Mask 0x1, workload: randrw, percentage: 70, depth: 128, IO size: 131072)
\t Verification LBA range: start 0x0 length 0x8000
\t Nvme0n1             :      10.00   30000.00    3750.00       0.00     0.00    2000.00     300.00    9000.00
Job: Nvme0n1 (Core Mask 0x2, workload: randrw, percentage: 70, depth: 128, IO size: 131072)
\t Nvme0n1             :      10.00   10000.00    1250.00       0.00     0.00    4000.00     200.00    9100.00
===================================================================================================================
Total                                  :            40000.00    5000.00       0.00     0.00    2500.00     200.00    9100.00
"""
CONFIGURATION = '{"method": "bdev_nvme_attach_controller", "params": {"trtype": "PCIe", "name": "Nvme0", "traddr": "0000:1c:00.0"}}\n'


class TestBdevperf:
    def test_jobs_of_one_device_are_added_up(self) -> None:
        case = only(BDEVPERF)
        assert (case.name, case.direction, case.target) == ("randrw Nvme0n1", "both", "Nvme0n1")
        assert (case.bandwidth_bytes_per_s, case.operations_per_s) == (5000 * 2**20, 40000)
        assert (case.block_bytes, case.queue_depth, case.workers) == (131072, 256, 2)
        assert case.latency is not None
        assert (case.latency.mean_ns, case.latency.min_ns, case.latency.max_ns) == (2.5e6, 200e3, 9.1e6)
        assert (case.raw["read percent"], case.raw["random"]) == ("70", True)

    def test_its_configuration_says_which_drive_it_is(self) -> None:
        assert only(CONFIGURATION + BDEVPERF).target == "0000:1c:00.0"
        assert only(CONFIGURATION.replace("PCIe", "TCP") + BDEVPERF).raw["fabrics"]

    def test_older_versions_say_it_in_the_command(self) -> None:
        text = """$ test/bdev/bdevperf/bdevperf -q 32 -o 4096 -w randread -t 300 -c b.json
Job: Nvme0n1 (Core Mask 0x1)
Nvme0n1             :  407177.81 IOPS    1590.54 MiB/s
Job: Malloc1 (Core Mask 0x1)
Malloc1             :  407177.81 IOPS    1590.54 MiB/s
=============================================================
Total                       :  814355.63 IOPS    3181.08 MiB/s
"""
        drive, memory = parse_measurement(text).cases
        assert (drive.direction, drive.block_bytes, drive.queue_depth) == ("read", 4096, 32)
        assert (drive.operations_per_s, drive.latency) == (407177.81, None)
        assert memory.raw["in memory"] == "Malloc1"

    def test_the_oldest_have_a_list_for_each_core(self) -> None:
        text = """ Logical core: 0
 NVMe0n1             :  103938.83 IO/s     406.01 MB/s
 Logical core: 1
 NVMe0n1             :  103952.32 IO/s     406.06 MB/s
"""
        assert (only(text).workers, only(text).block_bytes) == (2, 4096)

    def test_what_its_rpc_returns(self) -> None:
        result = {
            "job": "Nvme0n1", "core_mask": "0x1", "workload": "randread", "queue_depth": 64, "io_size": 4096,
            "iops": 500000.0, "mibps": 1953.125, "avg_latency_us": 128.0, "min_latency_us": 9, "max_latency_us": 900,
        }  # fmt: skip
        case = only(json.dumps({"results": [result], "core_count": 1}))
        assert (case.name, case.bandwidth_bytes_per_s, case.queue_depth) == ("randread Nvme0n1", 2.048e9, 64)

    def test_a_job_that_failed_is_named(self) -> None:
        failed = BDEVPERF.replace(
            "\t Verification", "Job: Nvme0n1 ended in about 3.21 seconds with error\n\t Verification", 1
        )
        assert parse_measurement(failed).not_understood == ("job 'Nvme0n1' ended after 3.21 s with an error",)


def table(way: str, *rows: tuple[str, int, int]) -> str:
    size, operations = sum(row[1] for row in rows), sum(row[2] for row in rows)
    head = f"{way} IO\nthread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  AvgLat  | LatStdDev |  file\n---\n"
    lines = [
        f"     0 | {size:15} | {count:12} |  4.64 |  1189.03 |    0.840 |     1.051 | {path} (16GiB)\n"
        for path, size, count in rows
    ]
    return f"{head}{''.join(lines)}---\ntotal:   {size} | {operations} | 4.64 | 1189.03 |    0.840 |     1.051\n\n"


def diskspd(*paths: str, write: int = 30) -> str:
    asked = "".join(
        f"    path: '{path}'\n        software cache disabled\n        performing mix test (read/write ratio: 70/30)\n"
        "        block size: 64KiB\n        using random I/O (alignment: 64KiB)\n"
        "        number of outstanding I/O operations per thread: 8\n        threads per file: 2\n"
        for path in paths
    )
    return (
        f"Input parameters:\n\n    timespan:   1\n{asked}\nResults for timespan 1:\n*****\n\nactual test time:       10.00s\n"
        f"thread count:           2\n\n"
        + table("Total", *((path, 10**9 + write, 15000) for path in paths))
        + table("Read", *((path, 10**9, 15000 - write) for path in paths))
        + table("Write", *((path, write, write) for path in paths))
        + "total:\n  %-ile |  Read (ms) | Write (ms) | Total (ms)\n----\n    min |      0.036 |        N/A |      0.036\n"
        "   50th |      0.232 |        N/A |      0.232\n3-nines |      1.608 |        N/A |      1.608\n    max |      7.990 |        N/A |      7.990\n"
    )


class TestDiskspd:
    def test_reads_and_writes_are_bytes_over_time(self) -> None:
        read, write = parse_measurement(diskspd("D:\\a.dat")).cases
        assert (read.name, write.name) == ("read D:\\a.dat", "write D:\\a.dat")
        assert (read.bandwidth_bytes_per_s, write.bandwidth_bytes_per_s) == (1e8, 3.0)
        assert (read.block_bytes, read.queue_depth, read.workers, read.target) == (65536, 16, 2, "D:\\a.dat")
        assert read.latency is not None
        assert (read.latency.mean_ns, read.latency.max_ns) == (0.84e6, 7.99e6)
        assert read.latency.percentiles_ns == {50: 232e3, 99.9: 1.608e6}
        assert read.raw["random"] is True

    def test_each_file_has_the_sum_of_its_threads(self) -> None:
        found = parse_measurement(diskspd("D:\\a.dat", "E:\\a.dat", write=0)).cases
        assert [(case.target, case.bandwidth_bytes_per_s) for case in found] == [
            ("D:\\a.dat", 1e8),
            ("E:\\a.dat", 1e8),
        ]

    def test_files_whose_threads_are_not_all_listed_count_together(self) -> None:
        text = diskspd("D:\\a.dat", "E:\\a.dat", write=0)
        cut = "\n".join(line for line in text.splitlines() if "E:\\a.dat (" not in line)
        case = only(cut)
        assert (case.target, case.bandwidth_bytes_per_s, case.workers) == ("D:\\a.dat, E:\\a.dat", 2e8, 4)

    def test_by_way_of_the_cache(self) -> None:
        text = diskspd("a.dat", write=0).replace("software cache disabled", "using software cache")
        assert only(text).raw["buffered"] is True

    def test_xml(self) -> None:
        text = """<Results>
  <System><ComputerName>rig7</ComputerName><Tool><Version>2.0.21a</Version></Tool></System>
  <Profile><TimeSpans><TimeSpan><Duration>10</Duration><Targets><Target>
    <Path>#1</Path><BlockSize>65536</BlockSize><DisableOSCache>true</DisableOSCache><Random>65536</Random>
    <RequestCount>8</RequestCount><ThreadsPerFile>2</ThreadsPerFile></Target></Targets></TimeSpan></TimeSpans></Profile>
  <TimeSpan><TestTimeSeconds>10.00</TestTimeSeconds>
    <Latency><AverageReadMilliseconds>0.840</AverageReadMilliseconds>
      <Bucket><Percentile>99</Percentile><ReadMilliseconds>1.5</ReadMilliseconds></Bucket></Latency>
    <Thread><Id>0</Id><Target><Path>#1</Path><ReadBytes>500000000</ReadBytes><ReadCount>7000</ReadCount><WriteBytes>0</WriteBytes><WriteCount>0</WriteCount></Target></Thread>
    <Thread><Id>1</Id><Target><Path>#1</Path><ReadBytes>500000000</ReadBytes><ReadCount>8000</ReadCount><WriteBytes>0</WriteBytes><WriteCount>0</WriteCount></Target></Thread>
  </TimeSpan>
</Results>
"""
        result = parse_measurement("> diskspd -Rxml\n" + text)
        (case,) = result.cases
        assert (result.tool, result.version, result.host) == ("DISKSPD", "2.0.21a", "rig7")
        assert (case.target, case.bandwidth_bytes_per_s, case.operations) == ("#1", 1e8, 15000)
        assert (case.block_bytes, case.queue_depth, case.workers) == (65536, 16, 2)
        assert case.latency is not None
        assert case.latency.percentiles_ns == {99: 1.5e6}
        with pytest.raises(ImportProblemError, match="is incomplete or damaged"):
            parse_measurement(text[:-20])


ELBENCHO = """$ elbencho -r -b 4M -t 16 --iodepth 4 --direct -s 10g /dev/nvme0n1
OPERATION   RESULT TYPE         FIRST DONE   LAST DONE
=========== ================    ==========   =========
READ        Elapsed time     :     11.559s     12.559s
            IOPS             :        1770        1600
            Throughput MiB/s :        7080        6400
            Total MiB        :      163840      163840
            IO latency       : [ min=1.20ms avg=40.0ms max=98ms ]
---
"""


class TestElbencho:
    def test_the_last_thread_counts(self) -> None:
        case = only(ELBENCHO)
        assert (case.name, case.direction, case.target) == ("READ /dev/nvme0n1", "read", "/dev/nvme0n1")
        assert (case.bandwidth_bytes_per_s, case.operations_per_s) == (6400 * 2**20, 1600)
        assert (case.block_bytes, case.queue_depth, case.workers) == (4 << 20, 64, 16)
        assert case.latency is not None
        assert case.latency.mean_ns == 40e6
        assert "buffered" not in case.raw

    def test_a_mixed_phase_has_both_ways(self) -> None:
        text = ELBENCHO.replace("READ  ", "RWMIX70 ").replace(
            "            Throughput MiB/s :        7080        6400\n",
            "            MiB/s write      :        2000        1900\n            MiB/s read       :        4500        4400\n",
        )
        found = parse_measurement(text).cases
        assert [(case.name, case.direction) for case in found] == [
            ("RWMIX70 write", "write"),
            ("RWMIX70 read", "read"),
        ]

    def test_object_stores_and_several_hosts_are_of_no_drive_here(self) -> None:
        command = (
            'COMMAND LINE: "elbencho" "--hosts" "10.0.0.1,10.0.0.2" "-w" "-b" "256k" "-t" "1" "/mnt/x" \n'
        )
        text = ELBENCHO.partition("\n")[2].replace("READ ", "WRITE")
        assert only(command + text).raw["elsewhere"] == "several hosts together"
        assert (
            only(command.replace('"-w"', '"-w" "--s3key" "k"') + text).raw["elsewhere"] == "an object store"
        )

    def test_csv(self) -> None:
        text = (
            "ISO date,label,path type,paths,hosts,threads,block size,direct IO,random,IO depth,operation,IOPS [last],"
            "MiB/s [first],MiB/s [last],IO lat us [avg],rwmix read MiB/s [last]\n"
            "2026-01-01T00:00:00+0000,,file,1,1,16,4194304,1,0,4,WRITE,1600,7080,6400,40000,\n"
        )
        case = only(text)
        assert (case.name, case.bandwidth_bytes_per_s, case.queue_depth) == ("WRITE", 6400 * 2**20, 64)

    def test_live_numbers_are_no_result(self) -> None:
        with pytest.raises(ImportProblemError, match="no phase of elbencho"):
            parse_measurement("\n".join(ELBENCHO.splitlines()[:3]) + "\n")


VDBENCH = """Vdbench distribution: vdbench50407 Tue June 05  9:49:29 MDT 2018
sd=sd1,lun=/dev/nvme1n1,openflags=o_direct,threads=64
wd=wd1,sd=sd1,xfersize=8k,rdpct=70,seekpct=100
16:24:29.004 Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=10; For loops: None

Jan 24, 2019    interval        i/o   MB/sec   bytes   read     resp     read    write     read    write     resp  queue  cpu%  cpu%
                               rate  1024**2     i/o    pct     time     resp     resp      max      max   stddev  depth sys+u   sys
16:24:30.156           1      320.0     2.50    8192  70.00    0.739    0.000    0.739     0.00    32.50    2.466    0.2  36.5  25.0
16:24:31.156           2   311000.0  2429.69    8192  70.00    0.200    0.253    0.069     0.00    32.50    2.466   61.7  36.5  25.0
16:24:32.181     avg_2-2   312000.0  2437.50    8192  70.06    0.198    0.253    0.069     6.70    32.50    0.262   61.7   NaN   NaN
"""


class TestVdbench:
    def test_the_averages_of_a_run_count(self) -> None:
        result = parse_measurement(VDBENCH)
        (case,) = result.cases
        assert (result.tool, result.version, case.name) == ("vdbench", "50407", "rd1")
        assert (case.direction, case.raw["read percent"], case.raw["random"]) == ("both", 70.06, True)
        assert (case.bandwidth_bytes_per_s, case.operations_per_s) == (312000 * 8192, 312000)
        assert (case.block_bytes, case.queue_depth, case.target) == (8192, 62, "/dev/nvme1n1")
        assert case.latency is not None
        assert case.latency.mean_ns == pytest.approx(198e3)

    def test_of_a_run_that_broke_off_the_mean_without_the_start(self) -> None:
        case = only("\n".join(VDBENCH.splitlines()[:-1]))
        assert (case.operations_per_s, case.raw["intervals"]) == (311000, 2)

    def test_one_way_and_sequential(self) -> None:
        case = only(VDBENCH.replace("seekpct=100", "seekpct=seq").replace("  70.06 ", " 100.00 "))
        assert (case.direction, case.raw["random"]) == ("read", False)

    def test_other_columns_of_older_versions(self) -> None:
        text = """Starting RD=run1; I/O rate: Uncontrolled MAX
Dec 11, 2012  interval        i/o   MB/sec   bytes   read     resp     resp     resp    cpu%  cpu%
                             rate  1024**2     i/o    pct     time      max   stddev sys+usr   sys
16:35:20.063    avg_2-31  100000.00   781.25    8192 100.00    0.500    6.746    0.262    35.9   6.6
"""
        case = only(text)
        assert (case.direction, case.bandwidth_bytes_per_s, case.queue_depth) == ("read", 100000 * 8192, None)
