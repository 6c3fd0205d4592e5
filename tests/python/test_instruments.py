"""Outputs of benchmark tools: real ones read, simulated ones written so that they read back as simulated."""

from __future__ import annotations

import json
from operator import mod
from pathlib import Path
from typing import Any

import documents
import pytest

import lanewise
from lanewise.results import ExplainResult, RunResult
from lanewise.tools.instruments import fio, gdsio, iometer, nccl_tests, osu, perftest, smartflow
from lanewise.tools.instruments.measurement import ImportProblemError, Measurement, case_called
from lanewise.tools.instruments.native import WRITTEN, write_as
from lanewise.tools.instruments.simulated import NoSuchInstrumentError

CAPTURED = Path(__file__).parent / "captured"
ROOT = Path(__file__).parents[2]

# The formats of perftest 6.06, as its binaries hold them.
BANDWIDTH_FORMAT = " %-7lu    %-10lu       %-7.2lf            %-7.2lf\t\t   %-7.6lf"
LATENCY_FORMAT = (
    " %-7lu %lu          %-7.2f        %-7.2f      %-7.2f  \t       %-7.2f     \t%-7.2f\t\t%-7.2f \t\t%-7.2f"
)

FIO_METRICS = {
    "load.read.io_bytes": 13_107_200.0,
    "load.read.io_kbytes": 12_800.0,
    "load.read.bw_bytes": 1_310_720_000.0,
    "load.read.bw": 1_280_000.0,
    "load.read.iops": 10_000.0,
    "load.read.runtime": 10.0,
    "load.read.total_ios": 100.0,
    "load.read.clat_ns.min": 1_000.0,
    "load.read.clat_ns.max": 9_000.0,
    "load.read.clat_ns.mean": 5_000.5,
    "load.read.clat_ns.stddev": 12.5,
    "load.read.clat_ns.N": 100.0,
    "load.read.clat_ns.percentile.50.000000": 5_000.0,
    "load.read.clat_ns.percentile.99.900000": 8_900.0,
    "load.write.total_ios": 0.0,
    "load.usr_cpu": 12.5,
    "load.sys_cpu": 30.0,
}
FIO_OPTIONS = {
    "filename": "[ssd0, ssd1]",
    "rw": "read",
    "bs": "128 KiB",
    "iodepth": "64",
    "numjobs": "8",
    "ioengine": "libaio",
    "direct": "true",
    "runtime": "none",
    "group_reporting": "true",
}

WRITE_BW_METRICS = {
    "bytes (B)": 65_536.0,
    "iterations": 5_000.0,
    "BW peak (MiB/s)": 11_500.25,
    "BW average (MiB/s)": 11_487.5,
    "BW average (Gb/s)": 96.364,
    "MsgRate (Mpps)": 0.1838,
}
WRITE_LAT_METRICS = {
    "bytes (B)": 2.0,
    "iterations": 1_000.0,
    "t_min (us)": 0.8,
    "t_max (us)": 2.5,
    "t_typical (us)": 0.85,
    "t_avg (us)": 0.86,
    "t_stdev (us)": 0.05,
    "99 % percentile (us)": 0.97,
    "99.9 % percentile (us)": 1.4,
}
SMARTFLOW_METRICS = {
    "throughput 64 B (Mb/s)": 711.4,
    "throughput 64 B (% of line)": 17.785,
    "throughput 64 B (frames/s)": 1_058_630.0,
    "throughput 512 B (Mb/s)": 3_513.0,
    "frame loss 64 B at 10.00 % (%)": 0.25,
    "latency 64 B at 10.00 % minimum (us)": 12.0,
    "latency 64 B at 10.00 % average (us)": 20.5,
    "latency 64 B at 10.00 % maximum (us)": 41.0,
    "latency 64 B at 10.00 % standard deviation (us)": 6.5,
    "latency 64 B at 10.00 % up to 25.0 us (frames)": 90.0,
    "latency 64 B at 10.00 % above 25.0 us (frames)": 10.0,
    "latency 64 B at 10.00 % east frame 1 (us)": 14.0,
    "64 B at 10.00 % east sent (frames)": 50.0,
    "64 B at 10.00 % group gold lost (frames)": 1.0,
    "64 B at 10.00 % east latency average (us)": 21.5,
}
ALL_READ = {
    "Total I/Os per Second": 5_400.0,
    "Read I/Os per Second": 5_400.0,
    "Write I/Os per Second": 0.0,
    "Total MBs per Second": 1_634.0,
    "Read MBs per Second": 1_634.0,
    "Write MBs per Second": 0.0,
    "Average I/O Response Time (ms)": 2.9,
    "Maximum I/O Response Time (ms)": 3.1,
    "% CPU Utilization (total)": 3.8,
    "Total Error Count": 0.0,
    "Read Error Count": 0.0,
    "Write Error Count": 0.0,
}


GDSIO_OPTIONS = {"io_type": "read", "xfer_type": "GPUD", "threads": "8", "io_size": "1 MiB"}
GDSIO_METRICS = {
    "Throughput (GiB/sec)": 24.5,
    "Avg_Latency (usecs)": 1289.5,
    "ops": 100.0,
    "DataSetSize (KiB)": 102_400.0,
    "total_time (secs)": 0.004,
}

COLLECTIVE_METRICS = {
    "time (us)": 100.0,
    "algbw (GB/s)": 10.49,
    "busbw (GB/s)": 15.73,
    "operations": 7.0,
}


def simulated(tool: str, workload: str, kind: str, metrics: dict[str, float], options: dict[str, str]) -> str:
    document = documents.run_document()
    document["instruments"] = [
        {"workload": workload, "kind": kind, "metrics": [{"name": k, "value": v} for k, v in metrics.items()]}
    ]
    parameters = [{"path": f"workload.{workload}.{name}", "value": value} for name, value in options.items()]
    return write_as(
        tool, RunResult(document), ExplainResult({"title": "", "parameters": parameters, "links": []})
    )


def fio_text() -> str:
    return simulated("fio", "load", "fio", FIO_METRICS, FIO_OPTIONS)


def test_real_fio_json_is_read() -> None:
    text = (CAPTURED / "fio-3.33-two-jobs.json").read_text()
    measurement = fio.parse(text, source="captured")
    assert (measurement.tool, measurement.version, measurement.simulated) == ("fio", "3.33", False)
    assert [case.name for case in measurement.cases] == ["randread read", "mixed read", "mixed write"]
    document = json.loads(text)
    case, numbers = measurement.cases[0], document["jobs"][0]["read"]
    assert case.bandwidth_bytes_per_s == numbers["bw_bytes"]
    assert case.operations_per_s == numbers["iops"]
    assert (case.block_bytes, case.queue_depth, case.workers) == (4096, 8, 2)
    assert case.latency
    assert case.latency.mean_ns == numbers["clat_ns"]["mean"]
    assert case.latency.percentiles_ns[99.9] == numbers["clat_ns"]["percentile"]["99.900000"]
    json.dumps(measurement.document())


def test_our_fio_json_reads_back_and_has_the_shape_of_real_ones() -> None:
    ours = json.loads(fio_text())
    real = json.loads((CAPTURED / "fio-3.33-two-jobs.json").read_text())
    assert set(ours) == set(real)
    assert set(ours["jobs"][0]) == set(real["jobs"][0])
    assert set(ours["jobs"][0]["read"]) == set(real["jobs"][0]["read"])
    assert set(ours["jobs"][0]["read"]["clat_ns"]) == set(real["jobs"][0]["read"]["clat_ns"])
    for name, value in real["jobs"][0]["read"].items():
        assert type(ours["jobs"][0]["read"][name]) is type(value), name
    assert ours["jobs"][0]["job options"]["bs"] == "131072"

    measurement = fio.parse(fio_text())
    assert measurement.simulated
    (case,) = measurement.cases
    assert case.bandwidth_bytes_per_s == 1_310_720_000
    assert (case.block_bytes, case.queue_depth, case.target) == (131_072, 512, "ssd0:ssd1")
    assert case.latency
    assert case.latency.percentiles_ns == {50.0: 5_000.0, 99.9: 8_900.0}


def test_ranges_of_latency_and_depth_are_those_of_real_outputs() -> None:
    """What an I/O took and how deep it was queued, as a script for real outputs looks it up."""
    result = lanewise.run(ROOT / "scenarios/nvme_fio.toml")
    ours = json.loads(write_as("fio", result, lanewise.explain(ROOT / "scenarios/nvme_fio.toml")))["jobs"][0]
    real = json.loads((CAPTURED / "fio-3.33-two-jobs.json").read_text())["jobs"][0]
    tables = [
        name for name in real if name.startswith(("latency_", "iodepth_")) and isinstance(real[name], dict)
    ]
    assert len(tables) == 6
    for name in tables:
        assert list(ours[name]) == list(real[name]), name
    assert sum(sum(ours[f"latency_{unit}"].values()) for unit in ("ns", "us", "ms")) == pytest.approx(100)
    # 128 KiB of 128 that are open, at 7 GB/s: 2.4 ms.
    assert ours["latency_ms"]["4"] == 100.0
    assert ours["iodepth_level"][">=64"] == 100.0
    assert ours["iodepth_submit"]["4"] == 100.0


def test_clones_that_are_not_reported_together_are_jobs_of_one_name() -> None:
    metrics = {"load[0].read.total_ios": 3.0, "load[0].read.bw_bytes": 7.0, "load[1].read.total_ios": 4.0}
    text = simulated("fio", "load", "fio", metrics, {**FIO_OPTIONS, "group_reporting": "false"})
    measurement = fio.parse(text)
    assert [case.name for case in measurement.cases] == ["load read", "load read"]
    assert [case.operations for case in measurement.cases] == [3, 4]
    assert [case.raw["groupid"] for case in measurement.cases] == [0, 0]
    assert [(case.queue_depth, case.workers) for case in measurement.cases] == [(64, 1), (64, 1)]


def test_fio_before_version_3_counts_in_microseconds_and_kibibytes() -> None:
    job = {
        "jobname": "old",
        "job options": {"bs": "4k,8k"},
        "write": {
            "bw": 1000,
            "iops": 125.0,
            "total_ios": 5,
            "clat": {"mean": 3.5, "percentile": {"99.000000": 9}},
        },
    }
    text = "fio: a warning\n" + json.dumps({"fio version": "fio-2.16", "jobs": [job]})
    measurement = fio.parse(text)
    (case,) = measurement.cases
    assert case.bandwidth_bytes_per_s == 1_024_000
    assert case.block_bytes == 8192
    assert case.latency
    assert case.latency.mean_ns == 3_500
    assert case.latency.percentiles_ns == {99.0: 9_000}
    assert measurement.not_understood == ("fio: a warning",)


def test_a_perftest_bandwidth_table_has_the_columns_of_the_real_one() -> None:
    options = {"tool": "ib_write_bw", "queue_pairs": "1", "tx_depth": "128"}
    text = simulated("perftest", "wire", "perftest", WRITE_BW_METRICS, options)
    row = mod(BANDWIDTH_FORMAT, (65536, 5000, 11500.25, 11487.5, 0.1838))
    assert row in text.splitlines()
    (case,) = perftest.parse(text).cases
    assert case.name == "RDMA_Write BW Test 65536 B"
    assert (case.direction, case.queue_depth, case.workers) == ("write", 128, 1)
    assert case.bandwidth_bytes_per_s == pytest.approx(11_487.5 * 2**20)
    assert case.operations_per_s == pytest.approx(183_800)


def test_a_perftest_latency_table_reads_back() -> None:
    text = simulated("perftest", "wire", "perftest", WRITE_LAT_METRICS, {"tool": "ib_write_lat"})
    row = mod(LATENCY_FORMAT, (2, 1000, 0.8, 2.5, 0.85, 0.86, 0.05, 0.97, 1.4))
    assert row in text.splitlines()
    measurement = perftest.parse(text)
    (case,) = measurement.cases
    assert measurement.simulated
    assert case.direction == "ping-pong"
    assert case.latency
    assert case.latency.mean_ns == pytest.approx(860)
    assert case.latency.percentiles_ns == {50.0: 850.0, 99.0: 970.0, 99.9: pytest.approx(1_400.0)}


def test_perftest_output_of_a_client_is_read_with_what_stands_around_it() -> None:
    text = "\n".join(
        [
            "---------------------------------------------------------------------------------------",
            "                    RDMA_Read BW Test",
            " Dual-port       : OFF\t\tDevice         : mlx5_0",
            " Number of qps   : 2\t\tTransport type : IB",
            " TX depth        : 64",
            " Mtu             : 4096[B]",
            " local address: LID 0x01 QPN 0x0187 PSN 0x6f8a9c OUT 0x10 RKey 0x1fff VAddr 0x007f",
            " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]",
            "Conflicting CPU frequency values detected: 1200.0 != 3591.6. CPU Frequency is not max.",
            " 65536      1000             97.61              97.60              0.186157",
            "---------------------------------------------------------------------------------------",
        ]
    )
    measurement = perftest.parse(text)
    (case,) = measurement.cases
    assert (case.direction, case.target, case.queue_depth, case.workers) == ("read", "mlx5_0", 64, 2)
    assert case.bandwidth_bytes_per_s == pytest.approx(97.60e9 / 8)
    assert "Conflicting CPU frequency" in measurement.not_understood[0]


def test_osu_tables_of_old_and_new_versions_are_read() -> None:
    text = "\n".join(
        [
            "# OSU MPI Bandwidth Test v3.1.1",
            "# Size        Bandwidth (MB/s)",
            "1                         1.46",
            "4194304                3912.50",
            "# OSU MPI Bi-Directional Bandwidth Test v5.9",
            "# Size      Bandwidth (MB/s)",
            "65536                 7700.00",
            "# OSU MPI Latency Test v7.1",
            "# Size          Avg Latency(us)",
            "0                       1.42",
            "mpirun: a warning",
        ]
    )
    measurement = osu.parse(text)
    assert [case.direction for case in measurement.cases] == ["send", "send", "both", "ping-pong"]
    assert measurement.cases[1].bandwidth_bytes_per_s == pytest.approx(3_912.5e6)
    assert measurement.cases[3].latency
    assert measurement.cases[3].latency.mean_ns == pytest.approx(1_420)
    assert measurement.not_understood == ("line 11: mpirun: a warning",)


@pytest.mark.parametrize(
    ("tool", "metrics", "direction"),
    [
        ("osu_bw", {"Size (B)": 65_536.0, "Bandwidth (MB/s)": 3_900.0}, "send"),
        ("osu_bibw", {"Size (B)": 65_536.0, "Bandwidth (MB/s)": 7_800.0}, "both"),
        ("osu_latency", {"Size (B)": 8.0, "Latency (us)": 1.75}, "ping-pong"),
    ],
)
def test_our_osu_tables_read_back(tool: str, metrics: dict[str, float], direction: str) -> None:
    measurement = osu.parse(simulated("osu", "mpi", "osu", metrics, {"tool": tool}))
    (case,) = measurement.cases
    assert measurement.simulated
    assert (case.block_bytes, case.direction) == (metrics["Size (B)"], direction)
    if tool == "osu_latency":
        assert case.latency
        assert case.latency.mean_ns == 1_750
    else:
        assert case.bandwidth_bytes_per_s == 1e6 * metrics["Bandwidth (MB/s)"]


ONE_LINE = '[{ size = "310 KiB", percent = 100, read = 100, random = 0 }]'


def test_our_iometer_file_reads_back() -> None:
    options = {"access": ONE_LINE, "workers": "4", "outstanding": "1"}
    text = simulated("iometer", "drives", "iometer", ALL_READ, options)
    assert "317440,100,100,0,0,1,0,0" in text.splitlines()
    *_, row = (line.split(",") for line in text.splitlines() if line.startswith("ALL,"))
    columns = dict(zip(iometer.COLUMNS, row, strict=True))
    assert [columns[name] for name in ("Errors", "Read Errors", "Write Errors")] == ["0", "0", "0"]
    measurement = iometer.parse(text)
    (case,) = measurement.cases
    assert measurement.version == "2004.07.30 simulated by Lanewise 0.1.0"
    assert (case.name, case.direction, case.workers, case.queue_depth) == ("ALL All drives", "read", 4, 1)
    assert case.block_bytes == 317_440
    assert case.bandwidth_bytes_per_s == pytest.approx(1_634 * 2**20)
    assert case.latency
    assert case.latency.mean_ns == pytest.approx(2.9e6)


def test_our_iometer_file_has_the_whole_access_specification() -> None:
    access = (
        '[{ size = "64 KiB", percent = 33, read = 0, random = 100 }, '
        '{ size = "4 KiB", percent = 67, read = 100, random = 0, delay = "1500 us", burst = 8, '
        'alignment = "4 KiB", reply = "512 B" }]'
    )
    options = {"access": access, "managers": "2", "workers": "4", "outstanding": "1", "targets": "[a, b]"}
    lines = simulated("iometer", "drives", "iometer", ALL_READ, options).splitlines()
    assert lines[lines.index("'Results") - 3 :][:2] == [
        "65536,33,0,100,0,1,0,0",
        "4096,67,100,0,1.5,8,4096,512",
    ]
    assert lines[lines.index("'Results") + 2].startswith("ALL,All,drives,2,8,2,")


def test_our_iometer_file_has_managers_workers_and_disks() -> None:
    rig = ROOT / "scenarios/storage.toml"
    two = {"workload.read.managers": "2", "workload.read.workers": "2"}
    explained = lanewise.explain(rig, overrides=two)
    text = write_as("iometer", lanewise.run(rig, overrides=two), explained)
    lines = text[text.index("ALL,") :].splitlines()[:15]
    assert [line.split(",")[0] for line in lines] == [
        "ALL",
        *(["MANAGER", *["WORKER", "DISK", "DISK"] * 2] * 2),
    ]
    assert [line.split(",")[1] for line in lines[1:6]] == [
        *("Manager 1", "Worker 1", "disks0[0]", "disks0[4]", "Worker 2")
    ]
    rows = [dict(zip(iometer.COLUMNS, line.split(","), strict=True)) for line in lines]
    assert [(row["# Managers"], row["# Workers"], row["# Disks"]) for row in rows[:3]] == [
        ("2", "4", "8"),
        ("", "2", "4"),
        ("", "", "2"),
    ]
    for kind in ("MANAGER", "WORKER", "DISK"):
        rates = [float(row["IOps"]) for row in rows if row["'Target Type"] == kind]
        assert sum(rates) == pytest.approx(float(rows[0]["IOps"])), kind
    cases = iometer.parse(text).cases
    assert [case.name for case in cases[:3]] == [
        "ALL All read",
        "MANAGER Manager 1 read",
        "WORKER Worker 1 read",
    ]


def iometer_row(document: documents.Document) -> dict[str, str]:
    parameters = [{"path": "workload.drives.access", "value": ONE_LINE}]
    explained = ExplainResult({"title": "", "parameters": parameters, "links": []})
    text = write_as("iometer", RunResult(document), explained)
    (row,) = (line.split(",") for line in text.splitlines() if line.startswith("ALL,"))
    return dict(zip(iometer.COLUMNS, row, strict=True))


def test_the_network_group_counts_frames_of_the_host_both_ways() -> None:
    document = documents.run_document()
    document["instruments"] = [{"workload": "drives", "kind": "iometer", "metrics": []}]
    row = iometer_row(document)
    assert (row["Packets/Second"], row["Packet Errors"]) == ("0.000000", "0")
    frames = {**documents.flow("nic0.0 > nic0.1", "nic0", 0.1), "direction": "frames"}
    document["flows"].append({**frames, "operations_per_s": 21_000.0})
    assert iometer_row(document)["Packets/Second"] == "42000.000000"
    document["instruments"].append({"workload": "database", "kind": "transactions", "metrics": []})
    assert iometer_row(document)["Packets/Second"] == ""


def test_iometer_1_1_names_its_megabytes() -> None:
    columns = list(iometer.COLUMNS)
    binary = ["MiBps (Binary)", "Read MiBps (Binary)", "Write MiBps (Binary)"]
    columns[9:12] = [*binary, "MBps (Decimal)", "Read MBps (Decimal)", "Write MBps (Decimal)"]
    row = dict.fromkeys(columns, "0") | {
        "'Target Type": "WORKER",
        "Target Name": "Worker 1",
        binary[0]: "100",
    }
    text = "'Results\n" + ",".join(columns) + "\n" + ",".join(row.values()) + "\n"
    (case,) = iometer.parse(text).cases
    assert case.bandwidth_bytes_per_s == 100 * 2**20


def test_our_smartflow_tables_read_back() -> None:
    text = simulated("smartflow", "pair", "smartflow", SMARTFLOW_METRICS, {})
    measurement = smartflow.parse(text)
    assert measurement.not_understood == ()
    throughput = case_called(measurement, "Throughput 64 B")
    assert throughput.bandwidth_bytes_per_s == pytest.approx(711.4e6 / 8)
    assert throughput.operations_per_s == 1_058_630
    latency = case_called(measurement, "Latency 64 B Load (%) 10.00")
    assert latency.latency
    assert latency.latency.mean_ns == 20_500
    assert latency.latency.stddev_ns == 6_500
    tests = {case.raw["test"] for case in measurement.cases}
    assert tests == set(smartflow.TESTS)
    with pytest.raises(ImportProblemError, match="has no case 'Throughput 9 B'; it has Throughput 64 B"):
        case_called(measurement, "Throughput 9 B")


def test_groups_have_rows_of_their_own_in_smartflow_tables() -> None:
    metrics = SMARTFLOW_METRICS | {
        "latency 64 B at 10.00 % group voice and video average (us)": 11.5,
        "frame loss 64 B at 10.00 % group bulk (%)": 0.5,
        "frame loss 64 B at 10.00 % priority 5 (%)": 0.0,
    }
    text = simulated("smartflow", "pair", "smartflow", metrics, {})
    assert "64,10.00,all,0.25" in text.splitlines()
    assert {"64,10.00,group bulk,0.5", "64,10.00,priority 5,0"} <= set(text.splitlines())
    measurement = smartflow.parse(text)
    voice = case_called(measurement, "Latency 64 B Load (%) 10.00 Flow group voice and video")
    assert voice.latency
    assert voice.latency.mean_ns == 11_500
    everything = case_called(measurement, "Latency 64 B Load (%) 10.00 Flow all")
    assert everything.latency
    assert everything.latency.mean_ns == 20_500


@pytest.mark.parametrize(
    ("module", "text", "says"),
    [
        (fio, "no json here", "run fio with --output-format=json"),
        (fio, '{"fio version": "fio-3.33", "jobs": [', "is the output complete"),
        (fio, '{"jobs": []}', "no 'fio version'"),
        (fio, '{"fio version": "fio-3.33", "jobs": [{"read": 7}, 8]}', "has done any I/O"),
        (perftest, "#bytes #iterations BW\n", "is the output of the client complete"),
        (osu, "# OSU MPI Latency Test v5.9\n", "no sizes"),
        (iometer, "'Results\n", "is the file complete"),
        (
            iometer,
            "'Target Type,Target Name,Access Specification Name,IOps\nALL,All,x,many\n",
            "line 2: IOps is 'many'",
        ),
        (smartflow, "Throughput\n", "no rows under a heading"),
        (smartflow, "Frame Size (B),Load (%)\nsmall,1\n", "line 2: invalid literal"),
    ],
)
def test_what_cannot_be_read_is_said(module: Any, text: str, says: str) -> None:
    with pytest.raises(ImportProblemError) as caught:
        module.parse(text)
    assert says in str(caught.value)


def test_each_tool_knows_its_own_output_and_no_other() -> None:
    texts = {
        "perftest": simulated("perftest", "w", "perftest", WRITE_BW_METRICS, {"tool": "ib_write_bw"}),
        "osu": simulated("osu", "mpi", "osu", {"Size (B)": 8.0, "Bandwidth (MB/s)": 1.0}, {"tool": "osu_bw"}),
        "iometer": simulated("iometer", "d", "iometer", ALL_READ, {"access": "[]"}),
        "smartflow": simulated("smartflow", "pair", "smartflow", SMARTFLOW_METRICS, {}),
        "nccl-tests": simulated("nccl-tests", "ring", "collective", COLLECTIVE_METRICS, {"size": "1 MiB"}),
    }
    texts["gdsio"] = simulated("gdsio", "read", "gdsio", GDSIO_METRICS, GDSIO_OPTIONS)
    modules = {
        "gdsio": gdsio,
        "perftest": perftest,
        "osu": osu,
        "iometer": iometer,
        "smartflow": smartflow,
        "nccl-tests": nccl_tests,
    }
    for name, text in texts.items():
        assert [tool for tool, module in modules.items() if module.recognizes(text)] == [name]
        assert isinstance(modules[name].parse(text), Measurement)
    assert fio.recognizes(json.loads(fio_text()))
    assert {*texts, "fio"} == set(WRITTEN)


def test_gdsio_is_read_as_it_was_written() -> None:
    (case,) = gdsio.parse(simulated("gdsio", "read", "gdsio", GDSIO_METRICS, GDSIO_OPTIONS)).cases
    assert (case.direction, case.block_bytes, case.workers, case.operations) == ("read", 1 << 20, 8, 100)
    assert case.bandwidth_bytes_per_s == pytest.approx(24.5 * 2**30)
    assert case.latency
    assert case.latency.mean_ns == pytest.approx(1_289_500)


def test_a_run_without_the_instrument_says_what_it_has() -> None:
    with pytest.raises(NoSuchInstrumentError, match=r"no workload of kind 'osu'.* its instruments: iometer"):
        simulated("osu", "drives", "iometer", ALL_READ, {})


def test_an_unknown_format_is_refused_before_anything_runs(lanewise: Any, core: Any, tmp_path: Path) -> None:
    (tmp_path / "rig.toml").write_text("")
    result = lanewise("run", tmp_path / "rig.toml", "--as", "dd")
    assert result.exit_code == 2
    assert "there is no output format 'dd'; there are fio, gdsio, perftest" in result.stderr
    assert core.asked == []


def test_a_scenario_without_the_workload_is_refused_before_it_is_run(lanewise: Any, tmp_path: Path) -> None:
    scenario = Path(__file__).parents[2] / "scenarios" / "first_rig.toml"
    result = lanewise("run", scenario, "--as", "fio", "--out", tmp_path / "run")
    assert result.exit_code == 2
    assert "no workload of kind 'fio'" in result.stderr
    assert list(tmp_path.iterdir()) == []
