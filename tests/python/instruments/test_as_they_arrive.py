"""Outputs as people keep them: behind warnings, appended to each other, of newer and older versions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lanewise.health.judge.detect import parse_measurement
from lanewise.tools.instruments.measurement import ImportProblemError, case_called

WARNING = "fio: this platform does not support process shared mutexes, forcing use of threads.\nnote: x{y\n"


def fio(name: str, bw_bytes: int, **more: Any) -> dict[str, Any]:
    numbers = {"io_bytes": bw_bytes, "bw_bytes": bw_bytes, "iops": bw_bytes / 4096, "total_ios": 10}
    return {"jobname": name, "read": numbers, "write": {"total_ios": 0}, "job options": {"bs": "4k"}, **more}


def run_of(*jobs: dict[str, Any], key: str = "jobs") -> str:
    return json.dumps({"fio version": "fio-3.36", "global options": {}, key: list(jobs)}, indent=1)


class TestFio:
    def test_behind_warnings_with_braces_and_before_a_prompt(self) -> None:
        result = parse_measurement(f"{WARNING}{run_of(fio('a', 10**9))}\nroot@box:~# \n")
        assert [case.name for case in result.cases] == ["a read"]
        assert len(result.not_understood) == 3

    def test_of_intervals_the_last_counts_and_of_runs_all(self) -> None:
        intervals = run_of(fio("a", 10**9)) + "\n" + run_of(fio("a", 2 * 10**9)) + "\n" + run_of(fio("b", 3))
        result = parse_measurement(intervals)
        assert [(c.name, c.bandwidth_bytes_per_s) for c in result.cases] == [("a read", 2e9), ("b read", 3)]

    def test_a_client_with_two_servers(self) -> None:
        servers = [fio("job", 10**9, hostname=host, port=8765) for host in ("rig1", "rig2")]
        result = parse_measurement(run_of(*servers, fio("All clients", 2 * 10**9), key="client_stats"))
        assert [case.bandwidth_bytes_per_s for case in result.cases] == [1e9, 1e9]
        assert [case.raw["hostname"] for case in result.cases] == ["rig1", "rig2"]

    def test_directions_reported_together(self) -> None:
        job = fio("job", 10**9)
        job["mixed"] = job.pop("read")
        (case,) = parse_measurement(run_of(job)).cases
        assert case.direction == "both"
        assert case.block_bytes == 4096

    @pytest.mark.parametrize(
        "text",
        [
            "fio-3.28\nStarting 1 process\n\nRun status group 0:\n   READ: bw=3.1GiB/s (3.3GB/s)\n",
            "3;fio-3.28;job;0;0;1048576;102400;25600;10240\n",
            "   READ: io=1024MB, aggrb=4GB/s, minb=4GB/s, maxb=4GB/s, mint=200msec, maxt=200msec\n",
        ],
    )
    def test_other_formats_are_told_what_to_do(self, text: str) -> None:
        with pytest.raises(ImportProblemError, match="--output-format=json"):
            parse_measurement(text)

    def test_the_second_terse_format_is_named(self) -> None:
        with pytest.raises(
            ImportProblemError, match="version 2 of fio's terse format; versions 3 to 5 are read"
        ):
            parse_measurement("2;job;0;0;1048576;102400;25600;10240\n")

    def test_a_job_file_is_no_result(self) -> None:
        text = "[global]\nioengine=libaio\nbs=128k\n\n[seq]\nrw=read\n"
        with pytest.raises(
            ImportProblemError,
            match=r"is a job file of fio, not a result: 'lanewise run SCENARIO --fio a\.fio'",
        ):
            parse_measurement(text, source="a.fio")


START = {
    "version": "iperf 3.18",
    "system_info": "Linux rig7 6.8.0",
    "test_start": {"protocol": "TCP", "num_streams": 8, "blksize": 131072},
}
END = {"sum_sent": {"bits_per_second": 9.9e10}, "sum_received": {"bits_per_second": 9.8e10}}


class TestIperf3:
    def test_a_server_that_appends_tests(self) -> None:
        one = json.dumps({"start": START, "intervals": [], "end": END}, indent=1)
        failed = json.dumps({"start": START, "error": "error - the client has terminated"})
        result = parse_measurement("warning: this system has no IPv6\n" + one + "\n" + failed + "\n" + one)
        assert [case.bandwidth_bytes_per_s for case in result.cases] == [9.8e10 / 8] * 2
        assert any("terminated" in line for line in result.not_understood)

    def test_a_stream_of_events(self) -> None:
        events = [("start", START), ("interval", {"sum": {}}), ("end", END)]
        text = "\n".join(json.dumps({"event": event, "data": data}) for event, data in events)
        (case,) = parse_measurement(text).cases
        assert (case.workers, case.bandwidth_bytes_per_s) == (8, 9.8e10 / 8)


PERFTEST = """\
---------------------------------------------------------------------------------------
                    RDMA_Write BW Test
 Dual-port       : OFF\t\tDevice         : mlx5_3
 Number of qps   : 4\t\tTransport type : IB
 TX depth        : 128
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[{unit}/sec]    BW average[{unit}/sec]   MsgRate[Mpps]   CPU_Util[%]
Conflicting CPU frequency values detected: 800.000000 != 3700.000000. CPU Frequency is not max.
 65536      5000             23504.12            23500.00\t\t     0.376000\t     6.25
---------------------------------------------------------------------------------------
"""


class TestPerftest:
    @pytest.mark.parametrize(("unit", "bytes_of_it"), [("MB", 2**20), ("MiB", 2**20), ("Gb", 1e9 / 8)])
    def test_units_of_old_and_new_versions(self, unit: str, bytes_of_it: float) -> None:
        (case,) = parse_measurement(PERFTEST.format(unit=unit)).cases
        assert case.bandwidth_bytes_per_s == 23500 * bytes_of_it
        assert (case.target, case.workers, case.queue_depth) == ("mlx5_3", 4, 128)

    @pytest.mark.parametrize(("average", "unit"), [(23500.0, 2**20), (197.13, 1e9 / 8)])
    def test_json_whose_unit_follows_from_the_rate(self, average: float, unit: float) -> None:
        results = {"MsgSize": 65536, "n_iterations": 5000, "BW_average": average, "MsgRate": 0.376}
        text = json.dumps(
            {"test_info": {"test": "RDMA_Write_BW_Test", "Device": "mlx5_3"}, "results": results}
        )
        (case,) = parse_measurement(text).cases
        assert case.bandwidth_bytes_per_s == average * unit
        assert (case.target, case.direction) == ("mlx5_3", "write")

    @pytest.mark.parametrize("quoted", ["", '"'])
    def test_json_without_quotation_marks(self, quoted: str) -> None:
        """As versions wrote it whose files no JSON parser reads."""
        text = (
            '{\ntest_info: {\ntest: RDMA_Write BW Test,\nDual-port: "OFF",\nDevice: "mlx5_0",\n'
            f"Number_of_qps: 4\n}},\n{quoted}results{quoted}: {{\n{quoted}MsgSize{quoted}: 65536,\n"
            "n_iterations: 5000,\nBW_peak: 0.00,\nBW_average: 196.35,\nMsgRate: 0.374508\n}\n}\n"
        )
        (case,) = parse_measurement(text).cases
        assert case.bandwidth_bytes_per_s == 196.35e9 / 8
        assert (case.target, case.direction, case.workers) == ("mlx5_0", "write", 4)

    def test_a_servers_banner_is_nothing_to_remark_on(self) -> None:
        stars = "*" * 36
        banner = f"{stars}\n* Waiting for client to connect... *\n{stars}\n"
        text = PERFTEST.format(unit="MB")
        assert not any("Waiting" in line for line in parse_measurement(banner + text).not_understood)


BANDWIDTH_CSV = """\
[CUDA Bandwidth Test] - Starting...
Running on...

 Device 1: Example GPU
 Shmoo Mode

....
bandwidthTest-H2D-Pinned, Bandwidth = 26.1 GB/s, Time = 0.00123 s, Size = 32000000 bytes, NumDevsUsed = 1
bandwidthTest-D2H-Pinned, Bandwidth = 11659.1 MB/s, Time = 0.00274 s, Size = 33554432 bytes, NumDevsUsed = 1
bandwidthTest-D2D, Bandwidth = 2000.5 GB/s, Time = 0.00002 s, Size = 32000000 bytes, NumDevsUsed = 1
Result = PASS
"""


class TestCopies:
    def test_lines_of_bandwidth_test_with_csv(self) -> None:
        result = parse_measurement(BANDWIDTH_CSV)
        assert result.tool == "bandwidthTest"
        there, back, _ = result.cases
        assert (there.bandwidth_bytes_per_s, there.direction, there.target) == (26.1e9, "write", "GPU 1")
        assert (back.bandwidth_bytes_per_s, back.block_bytes) == (11659.1 * 2**20, 1 << 25)
        assert back.raw["memory"] == "pinned"

    def test_json_of_nvbandwidth_behind_a_launcher(self) -> None:
        test = {
            "name": "host_to_device_memcpy_ce",
            "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
            "bandwidth_matrix": [["55.10"]],
        }
        text = "mpirun: {rank 0}\n" + json.dumps({"nvbandwidth": {"version": "v0.8", "testcases": [test]}})
        (case,) = parse_measurement(text.replace("{rank 0}", "rank 0")).cases
        assert case.bandwidth_bytes_per_s == 55.1e9

    def test_nvbandwidth_quoted_in_a_message(self) -> None:
        text = """Is this in order?

> Running host_to_device_memcpy_sm.
memcpy SM CPU(row) -> GPU(column) bandwidth (GB/s)
0         1
0     35.19     35.25
"""
        cases = parse_measurement(text).cases
        assert [case.bandwidth_bytes_per_s for case in cases] == [35.19e9, 35.25e9]
        assert cases[0].direction == "write"

    def test_nvbandwidth_whose_test_is_named_below_only(self) -> None:
        text = """nvbandwidth Version: v0.8

...

memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)
           0         1
 0       N/A     26.34
 1     21.82       N/A

SUM device_to_device_memcpy_read_ce 48.16
"""
        first, second = parse_measurement(text).cases
        assert first.name == "device_to_device_memcpy_read_ce GPU0 GPU1"
        assert (second.target, second.direction) == ("GPU 1 -> GPU 0", "read")
        with pytest.raises(ImportProblemError, match="no matrix"):
            parse_measurement(text.partition("SUM")[0])

    def test_nvbandwidth_without_a_gpu_says_so(self) -> None:
        text = "nvbandwidth Version: v0.8\n\n[CUDA_ERROR_NO_DEVICE] no CUDA-capable device is detected\n"
        with pytest.raises(ImportProblemError, match="CUDA_ERROR_NO_DEVICE"):
            parse_measurement(text)


ROCM = """\
........
          RocmBandwidthTest Version: 2.6.0

          Launch Command is: rocm-bandwidth-test (rocm_bandwidth -a + rocm_bandwidth -A)


          Device: 0,  Example Processor
          Device: 1,  Example Instinct,  GPU-00a1,  19:0.0
          Device: 2,  Example Instinct,  GPU-00a2,  0001:67:0.0

          Inter-Device Access

          D/D       0         1         2

          0         1         1         1

          Unidirectional copy peak bandwidth GB/s

          D/D       0           1           2

          0         N/A         13.750      13.769

          1         14.250      540.849     11.500

          2         14.260      11.400      541.000


          Bidirectional copy peak bandwidth GB/s

          D/D       0           1           2

          0         N/A         22.100      22.200

          1         22.100      N/A         19.500

          2         22.200      19.500      N/A
"""


class TestRocm:
    def test_matrices_without_what_stays_inside_a_gpu(self) -> None:
        result = parse_measurement(ROCM)
        assert (result.tool, result.version, len(result.cases)) == ("rocm_bandwidth_test", "2.6.0", 9)
        there, back = (case_called(result, f"unidirectional {name}") for name in ("0 1", "1 0"))
        assert (there.direction, there.target, there.bandwidth_bytes_per_s) == (
            "write",
            "0000:19:00.0",
            13.75e9,
        )
        assert (back.direction, back.target) == ("read", "0000:19:00.0")

    def test_peers_and_both_ways(self) -> None:
        result = parse_measurement(ROCM)
        assert case_called(result, "unidirectional 1 2").target == "0000:19:00.0 -> 0001:67:00.0"
        assert case_called(result, "bidirectional 1 2").direction == "both"

    def test_the_oldest_version_has_no_addresses(self) -> None:
        text = ROCM.replace(",  GPU-00a1,  19:0.0", "").replace(",  GPU-00a2,  0001:67:0.0", "")
        text = text.replace("copy peak", "peak").replace("Bidirectional", "Bdirectional")
        result = parse_measurement(text)
        assert case_called(result, "unidirectional 0 1").target == "GPU 0"
        assert case_called(result, "bidirectional 0 2").direction == "both"

    def test_without_the_list_of_devices_processors_are_those_that_copy_nothing_to_themselves(self) -> None:
        text = """kernel 6.8
          Unidirectional copy peak bandwidth GB/s

          D/D       0           1           2           3

          0         N/A         N/A         28.349      26.813

          1         N/A         N/A         24.861      28.351

          2         28.527      25.018      925.889     48.902

          3         11.283      28.531      49.920      887.683
"""
        result = parse_measurement(text)
        to, back = (case_called(result, f"unidirectional {pair}") for pair in ("1 3", "3 0"))
        assert (to.direction, to.target) == ("write", "GPU 1")
        assert (back.direction, back.target, back.bandwidth_bytes_per_s) == ("read", "GPU 1", 11.283e9)
        assert case_called(result, "unidirectional 2 3").target == "GPU 0 -> GPU 1"


def test_hostile_braces_are_cheap() -> None:
    with pytest.raises(ImportProblemError):
        parse_measurement("{" * 200_000)
    with pytest.raises(ImportProblemError):
        parse_measurement('{"a":' * 100_000)
