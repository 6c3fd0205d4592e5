"""What logs, containers, shells and pages put before every line, or take away there."""

# ruff: noqa: E501

from __future__ import annotations

from collections.abc import Callable

import pytest

from lanewise.health.judge.detect import parse_measurement
from lanewise.tools.instruments.measurement import ImportProblemError, Measurement

OSU = """\
# OSU MPI Bandwidth Test v5.6.2
# Size      Bandwidth (MB/s)
16384                6610.37
32768                7990.58
65536                9070.25
131072               8950.88
262144               9920.00
524288              10580.61
1048576             10870.27
2097152             10490.39
4194304             10330.01
8388608             10330.02
16777216            10330.03
33554432            10330.04
67108864            10330.05
134217728           10330.06
268435456           10330.07
536870912           10330.08
1073741824          10330.09
2147483648          10330.10
4294967296          10330.11
"""
FIO = """\
mix: (g=0): rw=randrw, bs=(R) 128KiB-128KiB, (W) 128KiB-128KiB, (T) 128KiB-128KiB, ioengine=io_uring, iodepth=32
fio-3.36
Starting 1 process

mix: (groupid=0, jobs=1): err= 0: pid=4211: Tue Jan 14 20:11:02 2025
  read: IOPS=29.7k, BW=3711MiB/s (3891MB/s)(43.5GiB/12003msec)
    clat (usec): min=88, max=22183, avg=3420.72, stdev=1422.16
  write: IOPS=12.7k, BW=1591MiB/s (1668MB/s)(18.6GiB/12003msec); 0 zone resets
    clat (usec): min=20, max=20010, avg=2061.31, stdev=1210.09

Disk stats (read/write):
  nvme0n1: ios=238000/0, merge=0/0, ticks=310000/0, in_queue=310000, util=99.10%
"""
PEERS = """\
[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]
Device: 0, NVIDIA A40, pciBusID: 1, pciDeviceID: 0, pciDomainID:0
Device: 1, NVIDIA A40, pciBusID: 25, pciDeviceID: 0, pciDomainID:0
Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)
   D\\D     0      1
     0 916.96  26.36
     1  26.36 922.92
"""
IPERF3 = """\
Connecting to host 10.0.0.2, port 5201
[  5] local 10.0.0.1 port 51234 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-10.00  sec  22.8 GBytes  81.3 Gbits/sec    0            sender
[  5]   0.00-10.00  sec  22.8 GBytes  81.2 Gbits/sec                  receiver
"""
DISKSPD = """\
Command Line: diskspd -b64K -d10 -o8 -t1 -w0 -c2G temp.dat
\t\tpath: 'temp.dat'
\t\tblock size: 64KiB
\t\tnumber of outstanding I/O operations per thread: 8
Results for timespan 1:
actual test time:       10.01s
Read IO
thread |       bytes     |     I/Os     |    MiB/s   |  I/O per s |  file
     0 |     13538885632 |       206587 |    1290.11 |   20641.78 | temp.dat (2GiB)
total:        13538885632 |       206587 |    1290.11 |   20641.78
"""
OUTPUTS = (OSU, FIO, PEERS, IPERF3, DISKSPD)
Said = tuple[str, str | None, str | None, int | None, float | None]


def said(measurement: Measurement) -> list[Said]:
    return [
        (case.name, case.direction, case.target, case.block_bytes, case.bandwidth_bytes_per_s)
        for case in measurement.cases
    ]


def before(put: Callable[[int], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(put(at) + line for at, line in enumerate(text.splitlines(), 1))


WAYS = {
    "a code block of Markdown": before(lambda at: "    "),
    "a tab": before(lambda at: "\t"),
    "a code block in a quote": before(lambda at: ">     "),
    "a container's log": before(lambda at: f"2024-01-01T00:00:{at:02d}.123456789Z stdout F "),
    "a pod": before(lambda at: "[pod/bench-0/fio] "),
    "a pod and a time": before(lambda at: f"[pod/bench-0/fio] 2024-01-01T00:00:{at:02d}.123Z "),
    "a job's log": before(lambda at: f"2024-01-01T00:00:{at:02d}.123456Z 01O "),
    "a rank": before(lambda at: "0: "),
    "a host": before(lambda at: "node01: "),
    "a level": before(lambda at: f"2024-01-01 00:00:{at:02d},123 INFO     run:run.py:88 "),
    "a logger without blanks": before(lambda at: "INFO:root:"),
    "line numbers": before(lambda at: f"{at:6d}\t"),
    "line numbers and a bar": before(lambda at: f"{at:4d} | "),
    "marks of a comment": before(lambda at: "# "),
    "a diff": before(lambda at: "+"),
    "colours": before(lambda at: "\x1b[32m"),
    "nothing: the blanks are gone": lambda text: "\n".join(line.strip() for line in text.splitlines()),
    "empty lines between": lambda text: text.replace("\n", "\n\n"),
    "a page": lambda text: text.replace("\n", "<br>\n"),
}


@pytest.mark.parametrize("way", WAYS)
def test_outputs_say_what_they_say_without_it(way: str) -> None:
    for text in OUTPUTS:
        assert said(parse_measurement(WAYS[way](text))) == said(parse_measurement(text))


def test_a_few_lines_of_a_shell_are_left_alone() -> None:
    text = WAYS["a pod"](OSU + FIO) + "\ncommand terminated with exit code 1\n"
    assert said(parse_measurement(text)) == said(parse_measurement(OSU + FIO))


def test_a_table_is_not_cut_where_nothing_reads_it() -> None:
    rows = "\n".join(f"{size} {size // 3} 1.0" for size in range(40))
    with pytest.raises(ImportProblemError, match="it begins with '0 0"):
        parse_measurement(rows)


def test_marks_of_a_wiki_before_nvbandwidth_are_no_json() -> None:
    text = (
        "{noformat}\nnvbandwidth Version: v0.8\nRunning host_to_device_memcpy_ce.\n"
        "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n           0\n 0     25.13\n{noformat}\n"
    )
    (case,) = parse_measurement(text).cases
    assert case.bandwidth_bytes_per_s == 25.13e9
