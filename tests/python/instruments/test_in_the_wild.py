"""Forms of outputs that public threads and repositories have: several runs, other blanks, quotes, logs."""

# ruff: noqa: E501

from __future__ import annotations

import json

import pytest

from lanewise.health.judge.detect import parse_measurement
from lanewise.tools.instruments.measurement import ImportProblemError, Measurement


def fio_run(drive: str, *, command: str | None = None, depth: int = 32, errors: str = "err= 0") -> str:
    head = f"$ fio --name=a {command} --rw=read --direct=1\n" if command is not None else ""
    return f"""{head}a: (g=0): rw=read, bs=(R) 128KiB-128KiB, (W) 128KiB-128KiB, (T) 128KiB-128KiB, ioengine=libaio, iodepth={depth}
fio-3.28
Starting 1 process

a: (groupid=0, jobs=1): {errors}: pid=1234: Wed Mar  1 10:00:00 2023
  read: IOPS=24.1k, BW=3012MiB/s (3159MB/s)(29.4GiB/10001msec)
    clat (usec): min=200, max=3000, avg=1326.11, stdev=100.00

Run status group 0 (all jobs):
   READ: bw=3012MiB/s (3159MB/s), 3012MiB/s-3012MiB/s (3159MB/s-3159MB/s), io=29.4GiB (31.6GB), run=10001-10001msec

Disk stats (read/write):
  {drive}: ios=238000/0, merge=0/0, ticks=310000/0, in_queue=310000, util=99.10%
"""


def targets(measurement: Measurement) -> list[str | None]:
    return [case.target for case in measurement.cases]


class TestRunsOfFio:
    def test_each_has_the_drive_of_its_own_command(self) -> None:
        text = fio_run("dm-0", command="--filename=/dev/nvme0n1") + fio_run(
            "dm-0", command="--filename=/dev/nvme1n1"
        )
        assert targets(parse_measurement(text)) == ["/dev/nvme0n1", "/dev/nvme1n1"]

    def test_without_commands_each_has_that_of_its_statistics(self) -> None:
        assert targets(parse_measurement(fio_run("nvme0n1") + fio_run("nvme1n1"))) == [
            "/dev/nvme0n1",
            "/dev/nvme1n1",
        ]

    def test_a_loop_over_drives(self) -> None:
        text = fio_run("nvme0n1", command="--filename=/dev/$drive") + fio_run("nvme1n1")
        assert targets(parse_measurement(text)) == ["/dev/nvme0n1", "/dev/nvme1n1"]

    def test_all_files_of_a_command(self) -> None:
        text = fio_run("nvme0n1", command="--filename=/dev/nvme2n1 --filename=/dev/nvme3n1")
        assert targets(parse_measurement(text)) == ["/dev/nvme2n1:/dev/nvme3n1"]

    def test_a_job_that_failed_is_named(self) -> None:
        failed = "err= 5 (file:io_u.c:1747, func=io_u error, error=Input/output error)"
        (said,) = parse_measurement(fio_run("nvme0n1", errors=failed)).not_understood
        assert said.startswith("job 'a' ended with error 5 (Input/output error)")

    def test_what_the_command_says_where_the_first_line_is_cut_off(self) -> None:
        text = fio_run("nvme0n1", command="--filename=/dev/nvme0n1 --bs=4k --iodepth=64 --numjobs=4")
        text = "\n".join(line for line in text.splitlines() if "(g=0)" not in line).replace(
            "jobs=1", "jobs=4"
        )
        (case,) = parse_measurement(text).cases
        assert (case.block_bytes, case.queue_depth, case.workers) == (4096, 256, 4)

    def test_without_a_first_line_depth_and_size_are_not_known(self) -> None:
        text = "\n".join(line for line in fio_run("nvme0n1").splitlines() if "(g=0)" not in line)
        (case,) = parse_measurement(text).cases
        assert (case.block_bytes, case.queue_depth) == (None, None)

    def test_trims_bits_and_rates_without_a_unit(self) -> None:
        text = fio_run("nvme0n1").replace(
            "  read: IOPS=24.1k, BW=3012MiB/s (3159MB/s)", "  trim: IOPS=10, BW=8Gib/s (8590Mb/s)"
        )
        (case,) = parse_measurement(text).cases
        assert (case.name, case.bandwidth_bytes_per_s) == ("a trim", 2**30)
        (case,) = parse_measurement(fio_run("nvme0n1").replace("3012MiB/s (3159MB/s)", "97.7Mi (102M)")).cases
        assert case.bandwidth_bytes_per_s == 97.7 * 2**20

    def test_a_client_of_several_servers(self) -> None:
        lines = [
            line for line in fio_run("nvme0n1").splitlines() if line.startswith(("a:", "  read", "    clat"))
        ]
        texts = [f"<{host}> {line}" for host in ("rig1", "rig2") for line in lines]
        all_clients = [
            line.replace("a: (groupid", "All clients: (groupid") for line in lines if "(g=0)" not in line
        ]
        measurement = parse_measurement("\n".join([*texts, *all_clients]))
        assert [case.raw["hostname"] for case in measurement.cases] == ["rig1", "rig2"]
        (alone,) = parse_measurement("\n".join(all_clients)).cases
        assert alone.raw["elsewhere"] == "all servers together"

    @pytest.mark.parametrize(
        ("reached", "hosts"),
        [
            (
                "hostname={}, be=0, 64-bit, os=Linux, arch=x86-64, fio=fio-3.9, flags=1\n",
                ["server 1", "server 2"],
            ),
            ("", [None, None]),
        ],
    )
    def test_servers_that_are_not_named_are_no_clones(self, reached: str, hosts: list[str | None]) -> None:
        text = "".join(map(reached.format, ("rig1", "rig2"))) + fio_run("nvme0n1")
        job = "\n".join(text.splitlines()[-12:])
        measurement = parse_measurement(f"{text}\n{job[job.index('a: (groupid') :]}")
        assert [case.raw.get("hostname") for case in measurement.cases] == hosts

    def test_a_server_may_be_named_above_its_job(self) -> None:
        job = fio_run("nvme0n1").replace("a: (groupid", "<rig1>\na: (groupid")
        (case,) = parse_measurement(job).cases
        assert case.raw["hostname"] == "rig1"


class TestFioJson:
    def test_servers_of_older_versions_have_no_names(self) -> None:
        read = {"total_ios": 10, "bw_bytes": 10**9, "iops": 1.0}
        jobs = [{"jobname": name, "job options": {}, "read": read} for name in ("a", "a", "All clients")]
        measurement = parse_measurement(json.dumps({"fio version": "fio-3.2", "client_stats": jobs}))
        assert [case.raw["hostname"] for case in measurement.cases] == ["server 1", "server 2"]

    def test_without_options_size_and_depth_are_not_known(self) -> None:
        job = {"jobname": "seq", "write": {"io_bytes": 361984, "bw": 68118, "iops": 133}}
        (case,) = parse_measurement(json.dumps({"fio version": "fio-2.1.4", "jobs": [job]})).cases
        assert (case.block_bytes, case.queue_depth) == (None, None)

    def test_engines_that_wait_have_one_at_a_time(self) -> None:
        read = {"total_ios": 10, "bw_bytes": 10**9, "iops": 1000.0}
        options = {
            "rw": "read",
            "bs": "4k",
            "iodepth": "64",
            "numjobs": "4",
            "group_reporting": "1",
            "ioengine": "psync",
        }
        job = {"jobname": "seq", "job options": options, "read": read}
        (case,) = parse_measurement(json.dumps({"fio version": "fio-3.35", "jobs": [job]})).cases
        assert (case.queue_depth, case.workers) == (4, 4)

    def test_a_job_that_failed_is_named(self) -> None:
        job = {
            "jobname": "seq",
            "error": 5,
            "job options": {"bs": "4k"},
            "read": {"total_ios": 10, "bw_bytes": 10**9, "iops": 1.0},
        }
        (said,) = parse_measurement(json.dumps({"fio version": "fio-3.35", "jobs": [job]})).not_understood
        assert said.startswith("job 'seq' ended with error 5")


PERFTEST = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF          Device         : mlx5_3
 Number of qps   : 4            Transport type : IB
 Connection type : RC           Using SRQ      : OFF
 PCIe relax order: ON
 TX depth        : 128
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 65536      5000             197.11             197.09             0.375919
---------------------------------------------------------------------------------------
"""
SERVER = "*****\n* Waiting for client to connect... *\n*****\n"
CUDA = """\
initializing CUDA
Listing all CUDA devices in system:
CUDA device 0: PCIe address is 17:00
CUDA device 1: PCIe address is CA:00

Picking device No. 1
[pid = 3669, dev = 1] device name = [NVIDIA A30]
creating CUDA Ctx
"""


class TestPerftest:
    def test_tabs_that_a_terminal_made_blanks(self) -> None:
        (case,) = parse_measurement(PERFTEST).cases
        assert (case.target, case.workers, case.queue_depth) == ("mlx5_3", 4, 128)

    @pytest.mark.parametrize(
        ("local", "remote", "is_one"),
        [
            ("LID 0xd06 QPN 0x092f", "LID 0xd06 QPN 0x092e", True),
            ("LID 0xd06 QPN 0x092f", "LID 0xd06 QPN 0x092f", False),
            ("LID 0xd06 QPN 0x092f", "LID 0xd07 QPN 0x092f", False),
            ("LID 0000 QPN 0x0108", "LID 0000 QPN 0x0109", False),
            (
                "LID 0000 QPN 0x0108 PSN 1\n GID: 00:255:255:10:00",
                "LID 0000 QPN 1 PSN 1\n GID: 00:255:255:10:00",
                True,
            ),
            (
                "LID 0000 QPN 0x0108 PSN 1\n GID: 00:255:255:10:00",
                "LID 0000 QPN 1 PSN 1\n GID: 00:255:255:10:01",
                False,
            ),
        ],
    )
    def test_both_ends_may_be_one_port(self, local: str, remote: str, is_one: bool) -> None:
        ends = f" local address: {local}\n remote address: {remote}\n #bytes"
        (case,) = parse_measurement(PERFTEST.replace(" #bytes", ends)).cases
        assert case.raw.get("one port", False) is is_one

    def test_a_server_is_the_other_side(self) -> None:
        there, here = parse_measurement(PERFTEST + SERVER + PERFTEST).cases
        assert (there.raw.get("side"), here.raw.get("side")) == (None, "server")

    def test_the_gpu_whose_memory_is_used(self) -> None:
        (case,) = parse_measurement(CUDA + PERFTEST).cases
        assert case.raw["gpu"] == "0000:ca:00.0"
        (case,) = parse_measurement(CUDA.replace("CUDA device", "device") + PERFTEST).cases
        assert case.raw["gpu"] == ""

    def test_a_head_whose_blanks_a_web_page_took(self) -> None:
        head = "#bytes #iterations t_min[usec] t_max[usec] t_typical[usec] t_avg[usec] t_stdev[usec] 99% percentile[usec] 99.9% percentile[usec]"
        (case,) = parse_measurement(
            f"Send Latency Test\n{head}\n64 1000 0.81 2.58 0.85 0.86 0.06 0.89 2.57\n"
        ).cases
        assert case.latency is not None
        assert (case.latency.mean_ns, case.latency.min_ns, case.latency.max_ns) == (860, 810, 2580)
        assert case.latency.percentiles_ns == {50.0: 850, 99.0: 890, 99.9: 2570}
        narrow = PERFTEST.replace(
            " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
            "#bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]",
        )
        assert parse_measurement(narrow).cases == parse_measurement(PERFTEST).cases

    def test_a_number_that_is_none_is_shown(self) -> None:
        with pytest.raises(
            ImportProblemError, match=r"line 10: '\*\*197.09\*\*' is no number, below 'BW average"
        ):
            parse_measurement(PERFTEST.replace("             197.09", "             **197.09**"))


class TestOnTheirWay:
    @pytest.mark.parametrize(
        "before",
        [
            "2026-03-01T10:00:00.123456789Z ",
            "[2026-03-01 10:00:00] ",
            "Mar  1 10:00:00 rig7 bench[4711]: ",
            "10:00:00 DEBUG| [stdout] ",
            "Wed Mar  1 10:00:00 2026 ",
            "[1,0]<stdout>:",
            "bench-1  | ",
            "> ",
            ">> ",
        ],
    )
    @pytest.mark.parametrize("text", [fio_run("nvme0n1"), PERFTEST])
    def test_with_something_before_every_line(self, before: str, text: str) -> None:
        stamped = "\n".join(before + line for line in text.splitlines())
        assert parse_measurement(stamped).cases == parse_measurement(text).cases

    def test_quoted_in_part(self) -> None:
        matrix = "Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 700.0  12.0\n     1 12.0 700.0\n"
        quoted = "".join(f"> {line}\n" for line in matrix.replace("Uni", "Bi").splitlines())
        assert len(parse_measurement(matrix + quoted).cases) == 4

    def test_in_the_json_of_automation(self) -> None:
        kept = json.dumps({"rc": 0, "results": [{"host": "rig7", "stdout": PERFTEST}]})
        assert parse_measurement(kept).cases == parse_measurement(PERFTEST).cases

    def test_on_a_web_page(self) -> None:
        text = fio_run("nvme0n1").replace("&", "&amp;").replace(">", "&gt;").replace("<", "&lt;")
        page = f"<html><body><p>Slow?</p><pre><code>{text}</code></pre></body></html>"
        assert parse_measurement(page).cases == parse_measurement(fio_run("nvme0n1")).cases


class TestCopies:
    def test_a_pair_without_access_to_each_other_is_copied_through_the_host(self) -> None:
        matrix = "Unidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 700.0  12.0\n     1 12.0 700.0\n"
        apart = "Device=0 CANNOT Access Peer Device=1\nDevice=1 CAN Access Peer Device=0\n"
        there, back = parse_measurement(apart + matrix).cases
        assert (there.raw["peer_access"], back.raw["peer_access"]) == (False, True)

    def test_nvbandwidth_that_failed_its_own_check(self) -> None:
        text = "nvbandwidth Version: v0.7\n\nRunning device_to_device_memcpy_read_ce.\n Invalid value when checking the pattern at 0x70a640000000\n"
        with pytest.raises(ImportProblemError, match="nvbandwidth failed: Invalid value when checking"):
            parse_measurement(text)

    def test_gpus_without_addresses_have_names(self) -> None:
        """Version 0.2 prints no addresses; names tell that it was another machine."""
        table = "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n          0\n0     25.50\n"
        measurement = parse_measurement(
            f"nvbandwidth Version: v0.2\n\nDevice 0: NVIDIA GeForce RTX 4090\n\n{table}"
        )
        assert measurement.raw["device names"] == ["NVIDIA GeForce RTX 4090"]
        assert measurement.cases[0].target == "GPU 0"

    def test_runs_one_below_the_other_have_gpus_of_their_own(self) -> None:
        run = "nvbandwidth Version: v0.8\n\nDevice 0: NVIDIA A40 (00000000:{}:00)\n\nRunning host_to_device_memcpy_sm.\nmemcpy SM CPU(row) -> GPU(column) bandwidth (GB/s)\n           0\n 0     25.13\n\n"
        measurement = parse_measurement(run.format(41) + "$ ./nvbandwidth\n" + run.format(42))
        assert targets(measurement) == ["0000:41:00.0", "0000:42:00.0"]
        assert [case.raw["device"] for case in measurement.cases] == [("NVIDIA A40",)] * 2

    def test_an_error_behind_results_is_told(self) -> None:
        table = "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0\n 0     25.10\n\n"
        error = "[CUDA_ERROR_PEER_ACCESS_UNSUPPORTED] peer access is not supported between these two devices"
        (said,) = parse_measurement(
            f"{table}Running device_to_device_memcpy_read_ce.\n{error}\n"
        ).not_understood
        assert error in said

    def test_tables_whose_arrow_alone_names_the_test(self) -> None:
        text = "".join(
            f"$ ./nvbandwidth -t {number}\nmemcpy CE CPU(row) {arrow} GPU(column) bandwidth (GB/s)\n           0\n 0      {rate}\n\n"
            for number, (arrow, rate) in enumerate([("->", 2.8), ("<-", 3.29), ("<->", 2.47)])
        )
        cases = parse_measurement(text).cases
        assert [case.direction for case in cases] == ["write", "read", "both"]
        assert [case.bandwidth_bytes_per_s for case in cases] == pytest.approx([2.8e9, 3.29e9, 2.47e9])

    def test_the_first_version(self) -> None:
        text = "Running benchmark host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n          0         1\n0      6.20     12.36\n"
        assert [case.direction for case in parse_measurement(text).cases] == ["write", "write"]

    def test_tests_that_were_waived_are_counted(self) -> None:
        table = "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0\n 0     25.10\n\n"
        measurement = parse_measurement(f"nvbandwidth Version: v0.6\n\n{table}Waived: \nWaived: \n")
        assert measurement.not_understood == ("2 tests were waived",)

    def test_writes_between_machines_are_writes(self) -> None:
        text = "Running multinode_device_to_device_memcpy_write_ce.\nmemcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n           0         1\n 0       N/A     22.50\n 1     22.60       N/A\n"
        assert {case.direction for case in parse_measurement(text).cases} == {"write"}


def test_old_nccl_tests_leave_the_reduction_empty_where_there_is_none() -> None:
    text = """\
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144   float            89.00   11.78   10.31    N/A    85.13   12.32   10.78    N/A
"""
    (case,) = parse_measurement(text).cases
    assert (case.raw["busbw"], case.raw["redop"]) == (10.31, "none")
    assert case.raw["in place"] == {"time": 85.13, "algbw": 12.32, "busbw": 10.78}


OSU = """\
[0] MPI startup(): Multi-threaded optimized library
# OSU {test} v5.7.1
# Size          {column}
4                      23.31
"""


@pytest.mark.parametrize(
    ("test", "column", "direction"),
    [
        ("MPI_Get Bandwidth Test", "Bandwidth (MB/s)", "read"),
        ("MPI_Put Bandwidth Test", "Bandwidth (MB/s)", "send"),
        ("MPI_Put Bi-directional Bandwidth Test", "Bandwidth (MB/s)", "both"),
        ("MPI_Compare_and_swap latency Test", "Latency (us)", "ping-pong"),
        ("MPI Non-blocking Allgather Latency Test", "Overall(us)", "ping-pong"),
    ],
)
def test_osu_on_one_side_and_without_blocking(test: str, column: str, direction: str) -> None:
    measurement = parse_measurement(OSU.format(test=test, column=column))
    (case,) = measurement.cases
    assert case.direction == direction
    assert (case.latency is not None and case.latency.mean_ns == 23_310) == ("us" in column)
    assert measurement.not_understood == ()


def test_a_barrier_has_no_sizes() -> None:
    with pytest.raises(ImportProblemError, match="A barrier has no sizes"):
        parse_measurement("# OSU MPI Barrier Latency Test v5.7.1\n# Avg Latency(us)\n             17.22\n")
