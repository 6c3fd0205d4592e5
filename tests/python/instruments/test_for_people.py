"""Outputs for people: fio's and iperf3's text, nccl-tests, several in one text, and mails of all that."""

# ruff: noqa: E501

from __future__ import annotations

import base64
import quopri
from dataclasses import replace
from pathlib import Path

import pytest

from lanewise.health.judge import judge, read_measurement
from lanewise.health.judge.detect import parse_measurement
from lanewise.health.judge.elsewhere import another_machine
from lanewise.machine import read_bytes

FIO = """\
seq: (g=0): rw=read, bs=(R) 128KiB-128KiB, (W) 128KiB-128KiB, (T) 128KiB-128KiB, ioengine=io_uring, iodepth=32
mix: (g=1): rw=randrw, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, ioengine=libaio, iodepth=4
...
fio-3.37
Starting 5 processes

seq: (groupid=0, jobs=1): err= 0: pid=8371: Fri Apr  5 04:10:23 2024
  read: IOPS=15.6k, BW=1948MiB/s (2043MB/s)(38.0GiB/20001msec)
    slat (nsec): min=1090, max=1481.4k, avg=55032.41, stdev=69677.22
    clat (nsec): min=609, max=2801.4M, avg=1988560.64, stdev=27915244.59
     lat (usec): min=173, max=2801.4k, avg=2043.59, stdev=27915.14
mix: (groupid=1, jobs=4): err= 0: pid=8372: Fri Apr  5 04:10:43 2024
  read: IOPS=76.8k, BW=300MiB/s (315MB/s)(5.86GiB/20001msec)
    clat (usec): min=61, max=1205, avg=103.50, stdev=11.77
  write: IOPS=76.7k, BW=300MiB/s (314MB/s)(5.85GiB/20001msec); 0 zone resets
    clat (usec): min=12, max=905, avg=21.25, stdev=6.10

Run status group 0 (all jobs):
   READ: bw=1948MiB/s (2043MB/s), 1948MiB/s-1948MiB/s (2043MB/s-2043MB/s), io=38.0GiB (40.9GB), run=20001-20001msec

Disk stats (read/write):
  nvme0n1: ios=0/92007, sectors=0/46783080, merge=0/0, ticks=0/910710, in_queue=910709, util=38.83%
"""
FIO_2 = """\
random-write: (g=0): rw=randwrite, bs=8K-8K/8K-8K/8K-8K, ioengine=libaio, iodepth=1
random-write: (groupid=3, jobs=5): err= 0: pid=2462
  write: io=255624KB, bw=19933KB/s, iops=2491 , runt= 12824msec
    clat (usec): min=7 , max=9411 , avg=1443.28, stdev=33091.95
"""
IPERF = """\
Connecting to host 10.0.0.2, port 5201
Reverse mode, remote host 10.0.0.2 is sending
[  5] local 10.0.0.1 port 55578 connected to 10.0.0.2 port 5201
[  7] local 10.0.0.1 port 55579 connected to 10.0.0.2 port 5201
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec   816 MBytes  6.82 Gbits/sec
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-10.00  sec  13.7 GBytes  11.8 Gbits/sec    2             sender
[  5]   0.00-10.00  sec  13.7 GBytes  11.7 Gbits/sec                  receiver
[  7]   0.00-10.00  sec  13.8 GBytes  11.9 Gbits/sec    0             sender
[  7]   0.00-10.00  sec  13.8 GBytes  11.8 Gbits/sec                  receiver
[SUM]   0.00-10.00  sec  27.5 GBytes  23.7 Gbits/sec    2             sender
[SUM]   0.00-10.00  sec  27.5 GBytes  23.5 Gbits/sec                  receiver

iperf Done.
"""
NCCL = """\
# nThread 1 nGpus 2 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1
# Using devices
#  Rank  0 Group  0 Pid 548419 on {first} device  0 [0x07] NVIDIA L40S
#  Rank  1 Group  0 Pid 548419 on {second} device  1 [0x0a] NVIDIA L40S
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
   536870912     134217728     float     sum      -1    43330   12.39   12.39      0    43385   12.37   12.37      0
  1073741824     268435456     float     sum      -1    86786   12.37   12.37      0    86676   12.39   12.39      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 12.38
#
# Collective test concluded: all_reduce_perf
"""
ONE = NCCL.format(first="node1", second="node1")


def test_fio_for_people() -> None:
    measurement = parse_measurement(FIO)
    assert (measurement.tool, measurement.version) == ("fio", "3.37")
    seq, read, write = measurement.cases
    assert (seq.name, seq.block_bytes, seq.queue_depth, seq.workers) == ("seq read", 128 << 10, 32, 1)
    assert seq.bandwidth_bytes_per_s == 1948 * 2**20
    assert seq.latency is not None
    assert seq.latency.mean_ns == 1988560.64
    assert seq.target == "/dev/nvme0n1"
    assert (read.block_bytes, read.queue_depth, read.operations_per_s) == (4096, 16, 76_800)
    assert write.latency is not None
    assert write.latency.mean_ns == pytest.approx(21_250)


def test_fio_of_old() -> None:
    (case,) = parse_measurement(FIO_2).cases
    assert (case.block_bytes, case.workers, case.bandwidth_bytes_per_s) == (8192, 5, 19933 * 1024)


def test_iperf_for_people_counts_the_sum_of_what_arrived() -> None:
    (case,) = parse_measurement(IPERF).cases
    assert (case.name, case.workers) == ("TCP receive", 2)
    assert case.bandwidth_bytes_per_s == pytest.approx(23.5e9 / 8)


def test_nccl_tests() -> None:
    measurement = parse_measurement(ONE)
    last = measurement.cases[-1]
    assert (measurement.tool, last.name, last.block_bytes) == (
        "nccl-tests",
        "all_reduce 1073741824 B",
        1 << 30,
    )
    assert last.bandwidth_bytes_per_s == pytest.approx(12.37e9)
    assert measurement.raw["devices"] == ["0000:07:00.0", "0000:0a:00.0"]
    ranked = "\n".join(f" 0: {line}" for line in ONE.splitlines())
    assert len(parse_measurement(ranked).cases) == 2


def test_several_in_one_text() -> None:
    measurement = parse_measurement(f"{FIO}\n\n{IPERF}\n{ONE}")
    assert {case.raw["tool"] for case in measurement.cases} == {"fio", "iperf3", "nccl-tests"}
    assert len(measurement.cases) == 6


def test_osu_on_gpus_is_no_sample_of_cuda() -> None:
    for mark in ("# ", "#"):
        text = (
            f"{mark}OSU MPI-CUDA Bandwidth Test v5.6\n{mark}Size      Bandwidth (MB/s)\n4194304     12000.5\n"
        )
        measurement = parse_measurement(text)
        assert (measurement.tool, len(measurement.cases)) == ("osu", 1)


@pytest.mark.parametrize("encoding", ["base64", "quoted-printable", "pasted", "pasted base64"])
def test_mails(encoding: str, tmp_path: Path) -> None:
    body = FIO.encode()
    head = (
        "From: somebody@example.org\nTo: list@example.org\nSubject: slow\nMIME-Version: 1.0\n"
        f'Content-Type: text/plain; charset="utf-8"\nContent-Transfer-Encoding: {encoding}\n\n'
    ).encode()
    packed = base64.encodebytes(body) if "base64" in encoding else quopri.encodestring(body)
    (tmp_path / "mail").write_bytes(packed if "pasted" in encoding else head + packed)
    assert [case.name for case in read_measurement(tmp_path / "mail").cases] == [
        "seq read",
        "mix read",
        "mix write",
    ]


GPUS = """\
07:00.0 3D controller: NVIDIA Corporation AD102GL [L40S] (rev a1)
0a:00.0 3D controller: NVIDIA Corporation AD102GL [L40S] (rev a1)
"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (NCCL.format(first="node1", second="node2"), "several machines"),
        (ONE, "nothing says whether NVLink"),
        (ONE.replace("L40S", "H200"), "another machine"),
        (IPERF.replace("10.0.0.2", "127.0.0.1").replace("10.0.0.1", "127.0.0.1"), "loopback"),
        (FIO.replace("nvme0n1", "null"), "in memory"),
        (FIO.replace("nvme0n1", "rbd0"), "is a drive over a network"),
        (FIO.replace("nvme0n1", "mmcblk0"), "is an SD card or eMMC"),
    ],
)
def test_what_is_not_pci_express_is_not_judged_and_it_is_said_why(text: str, reason: str) -> None:
    judgement = judge(parse_measurement(text), read_bytes(GPUS.encode()))
    assert {str(case.verdict) for case in judgement.cases} == {"not judged"}
    assert all(reason in case.binding for case in judgement.cases), judgement.cases[0].binding


def test_names_of_gpus_tell_machines_apart() -> None:
    measurement = parse_measurement(ONE)
    machine = read_bytes(GPUS.encode())
    (*_, case) = measurement.cases
    assert another_machine(case, measurement, machine) == ""
    other = replace(measurement, raw={**measurement.raw, "device names": ["NVIDIA GH200 480GB"]})
    assert "GH200" in another_machine(case, other, machine)


def test_one_number_of_a_device_may_be_two_models() -> None:
    machine = read_bytes(
        b"07:00.0 3D controller: NVIDIA Corporation TU102GL [Quadro RTX 6000/8000] (rev a1)\n"
    )
    measurement = parse_measurement(ONE)
    for name, is_here in (("Quadro RTX 8000", True), ("Quadro RTX 6000", True), ("Quadro RTX 5000", False)):
        named = replace(measurement, raw={**measurement.raw, "device names": [name]})
        assert (another_machine(measurement.cases[-1], named, machine) == "") is is_here


def test_a_paste_of_several_machines_has_cases_of_this_one() -> None:
    one = (
        "[CUDA Bandwidth Test] - Starting...\n Device 0: {}\n Host to Device Bandwidth, 1 Device(s)\n"
        " PINNED Memory Transfers\n   Transfer Size (Bytes)\tBandwidth(GB/s)\n   32000000\t\t\t12.3\n\n"
        "Result = PASS\n"
    )
    judgement = judge(
        parse_measurement(one.format("NVIDIA L40S") + one.format("Tesla T4")), read_bytes(GPUS.encode())
    )
    assert ["T4" in case.binding for case in judgement.cases] == [False, True]


def test_each_of_two_peers_is_one_of_this_machine() -> None:
    text = (
        "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
        "Device: 0, NVIDIA L40S, pciBusID: 7, pciDeviceID: 0, pciDomainID:0\n"
        "Device: 1, {}, pciBusID: a, pciDeviceID: 0, pciDomainID:0\n"
        "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n"
        "     0 700.0  26.3\n     1  26.3 700.0\n"
    )
    for name, is_elsewhere in (("NVIDIA L40S", False), ("NVIDIA GeForce RTX 5090", True)):
        judgement = judge(parse_measurement(text.format(name)), read_bytes(GPUS.encode()))
        assert {"RTX 5090" in case.binding for case in judgement.cases} == {is_elsewhere}
