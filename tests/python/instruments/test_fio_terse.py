"""fio's terse format: sides by version, sizes that rates tell, and what stands above the line."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from lanewise.health.judge.detect import parse_measurement
from lanewise.tools.instruments.measurement import Case, ImportProblemError

PERCENTILES = ";".join(["50.000000%=200", "99.000000%=900", *["0%=0"] * 18])
BEHIND = ";".join(["1.5%;2.5%;100;0;10", *["0.1%"] * 7, *["0.00%"] * 22])
IDLE = ";".join(
    ["0"] * 6 + ["0.0"] * 2 + ["0"] * 2 + ["0.0"] * 2 + ["0%=0"] * 20 + ["0;0;0.0;0.0;0;0;0.0%;0.0;0.0"]
)


def side(kibibytes: int, operations: int, *, more: str = "") -> str:
    rates = f"{10 * kibibytes};{kibibytes};{operations};10000"
    return (
        f"{rates};1;2;1.5;0.5;100;1000;250.5;10.5;{PERCENTILES};101;1002;252.0;10.5;1;2;99.0%;1.5;0.5{more}"
    )


def line(*sides: str, version: int = 3, name: str = "seq", drives: str = "", error: int = 0) -> str:
    return f"{version};fio-3.36;{name};0;{error};{';'.join(sides)};{BEHIND}{drives}\n"


def cases(text: str) -> tuple[Case, ...]:
    return parse_measurement(text).cases


def test_reads_and_writes_in_kibibytes_with_times_in_microseconds() -> None:
    read, write = cases(line(side(118356, 29589), side(39181, 9795)))
    assert (read.name, write.name) == ("seq read", "seq write")
    assert (read.bandwidth_bytes_per_s, write.operations_per_s) == (118356 * 1024, 9795)
    assert read.latency is not None
    assert (read.latency.mean_ns, read.latency.min_ns) == (250.5e3, 100e3)
    assert read.latency.percentiles_ns == {50: 200e3, 99: 900e3}


def test_a_side_that_did_nothing_is_no_case() -> None:
    (case,) = cases(line(IDLE, side(5_277_549, 1_319_387)))
    assert (case.name, case.block_bytes) == ("seq write", 4096)


@pytest.mark.parametrize(
    ("sides", "version", "names"),
    [
        (2, 3, ["read", "write"]),
        (1, 3, ["mixed"]),
        (3, 3, ["read", "write", "mixed"]),
        (3, 4, ["read", "write", "trim"]),
        (4, 4, ["read", "write", "trim", "mixed"]),
    ],
)
def test_sides_by_version(sides: int, version: int, names: list[str]) -> None:
    text = line(*[side(4000, 1000)] * sides, version=version, drives=";nvme0n1;1;2;3;4;5;6;7;9.9%")
    assert [case.name.split()[1] for case in cases(text)] == names


def test_version_5_has_samples_behind_each_side() -> None:
    found = cases(line(*[side(128_000, 1000, more=";5;1;2;1.5;0.5;5")] * 3, version=5))
    assert [case.block_bytes for case in found] == [131072] * 3


def test_rates_that_fit_no_single_size_tell_none() -> None:
    mixed, slow = cases(line(side(506_202, 4035), side(100, 3)))
    assert mixed.block_bytes is None
    assert slow.block_bytes == 32768


def test_the_command_and_the_first_lines_say_size_depth_and_drive() -> None:
    command = "# fio --name=seq --rw=randrw --group_reporting --filename=/dev/nvme1n1 --numjobs=4 --minimal\n"
    head = "seq: (g=0): rw=randrw, bs=(R) 8192B-8192B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=32\n"
    read, write = cases(command + head + "fio-3.36\n" + line(side(118356, 29589), side(39181, 9795)))
    assert (read.block_bytes, write.block_bytes) == (8192, 4096)
    assert (read.queue_depth, read.workers, read.target) == (128, 4, "/dev/nvme1n1")
    assert read.options["rw"] == "randrw"


def test_the_only_drive_with_statistics_is_the_target() -> None:
    one, two = ";sda;1;2;3;4;5;6;7;9.9%", ";md0;1;2;3;4;5;6;7;9.9%;sdb;1;2;3;4;5;6;7;9.9%"
    assert [case.target for case in cases(line(side(4000, 1000), IDLE, drives=one))] == ["/dev/sda"]
    assert [case.target for case in cases(line(side(4000, 1000), IDLE, drives=two))] == [None]


def test_without_latencies_there_are_none() -> None:
    quiet = side(4000, 1000).replace("100;1000;250.5;10.5", "0;0;0.0;0.0")
    assert cases(line(quiet, IDLE))[0].latency is None


def test_a_job_that_failed_is_named() -> None:
    (said,) = parse_measurement(line(side(4000, 1000), IDLE, error=5)).not_understood
    assert said.startswith("job 'seq' ended with error 5")


def test_a_line_that_breaks_off_says_so() -> None:
    with pytest.raises(
        ImportProblemError, match=r"line 2: \d+ fields of fio's terse format, which breaks off"
    ):
        parse_measurement("fio-3.36\n" + line(side(4000, 1000), IDLE)[:300])


def test_switches_of_a_command_do_not_swallow_the_option_behind_them() -> None:
    text = """$ fio --direct=1 --group_reporting --time_based --filename=/dev/nvme3n1 --rw=read --bs=128k
a: (groupid=0, jobs=1): err= 0: pid=1234: Wed Mar  1 10:00:00 2023
  read: IOPS=24.1k, BW=3012MiB/s (3159MB/s)(29.4GiB/10001msec)
"""
    (case,) = cases(text)
    assert (case.target, case.block_bytes) == ("/dev/nvme3n1", 131072)


FOR_PEOPLE = """\
seq: (groupid=0, jobs=1): err= 0: pid=12: Wed Jul 31 08:34:17 2024
  read: IOPS={iops}, BW={rate}MiB/s (121MB/s)(1024MiB/10000msec)
    clat (usec): min=23, max=97, avg=82.48, stdev= 3.51

Run status group 0 (all jobs):
   READ: bw={rate}MiB/s (121MB/s), {rate}MiB/s-{rate}MiB/s (121MB/s-121MB/s), io=1GiB (1GB), run=10000-10000msec
"""


@pytest.mark.parametrize(("rate", "names"), [("115.6", ["seq read"]), ("90.0", ["seq read"] * 2)])
def test_a_run_in_two_formats_is_told_once(rate: str, names: list[str]) -> None:
    """``--output-format=normal,terse``; a second run of the job at another rate is a case of its own."""
    text = line(side(118356, 29589), IDLE) + FOR_PEOPLE.format(iops="29.6k", rate=rate)
    assert [case.name for case in cases(text)] == names
