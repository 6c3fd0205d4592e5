"""Tools whose outputs people have and that are not read, by a line that only they print.

A message names the tool and what measures the same and is read, so that a person need not look for it.
"""

from __future__ import annotations

import re

_DRIVES = "fio, CrystalDiskMark or SPDK's perf"
_NETWORKS = "iperf3"
_RDMA = "perftest, ucx_perftest or OSU's benchmarks"
_GPUS = "nvbandwidth, p2pBandwidthLatencyTest or rocm_bandwidth_test"
_NOTHING = ""
"""What does not cross PCI Express, or has no tool beside it."""
_SIGNS = (
    ("iperf 2", _NETWORKS, r"^Client connecting to \S+, (?:TCP|UDP) port"),
    ("netperf", _NETWORKS, r"^(?:MIGRATED )?(?:TCP|UDP|SCTP|OMNI)[ _]\S{0,20}.{0,40} TEST from "),
    ("NTTTCP", _NETWORKS, r"<ntttcp[rs]\b|^NTTTCP for "),
    ("qperf", f"{_NETWORKS}, {_RDMA}", r"^(?:tcp|udp|sctp|rc|uc|ud|rds)_\w{2,30}:$"),
    ("sockperf", _NETWORKS, r"^sockperf: "),
    ("fabtests", _RDMA, r"^bytes +#sent +#ack +total +time +MB/sec"),
    ("the Intel MPI Benchmarks", _RDMA, r"^#[ \t]*Intel\(R\) MPI Benchmarks"),
    ("GPCNeT", _RDMA, r"^Network Tests v\d"),
    ("dpdk-testpmd", _NOTHING, r"^[ \t]*-{4,}[ \t]*Forward statistics for port|packet forwarding mode"),
    ("Pktgen", _NOTHING, r"Pktgen:/>|^Pktgen \d|Copyright.{0,60}Intel Corporation.{0,60}\n.{0,200}Pktgen"),
    ("busGrind", _GPUS, r"^Host/Device Bandwidth Matrix"),
    ("AS SSD", _DRIVES, r"\bAS SSD Benchmark\b"),
    ("hdparm", _DRIVES, r"^ ?Timing (?:O_DIRECT |buffered |cached )\w* ?(?:disk )?reads"),
    ("dd", _DRIVES, r"^\d+ bytes \(.{0,60}\) copied, [\d.]+ s"),
    ("t/io_uring", "fio with --ioengine=io_uring", r"^IOPS=[\d.]+[KM]?, (?:BW(?:PS)?=|IOS/call=)"),
    ("nccom-test", _NOTHING, r"^[ \t]*size\(B\)[ \t]+count\(elems\)"),
    ("IOR", _DRIVES, r"^IOR-\d"),
    ("sysbench", _DRIVES, r"^sysbench \d"),
    ("Intel's Memory Latency Checker", _NOTHING, r"^Intel\(R\) Memory Latency Checker"),
    ("STREAM", _NOTHING, r"^STREAM version"),
    ("lmbench", _NOTHING, r"^\[?lmbench\d"),
)
_COMPILED = tuple((name, instead, re.compile(sign, re.MULTILINE)) for name, instead, sign in _SIGNS)
_MOST_SEARCHED = 1 << 20


def said_of_unread(text: str) -> str | None:
    """Say which tool wrote a text that is not read, and what is read instead; None for any other text."""
    head = text[:_MOST_SEARCHED]
    for name, instead, sign in _COMPILED:
        if sign.search(head):
            use = f"; use {instead} instead" if instead else ""
            return f"an output of {name}, which is not read{use}"
    return None
