"""Tools whose outputs people have and that are not read, by a line that only they print.

A message names the tool and what measures the same and is read, so that a person need not look for it.
"""

from __future__ import annotations

import re

_DRIVES = "use fio, CrystalDiskMark or SPDK's perf instead"
_NETWORKS = "use iperf3 instead"
_RDMA = "use perftest, ucx_perftest or OSU's benchmarks instead"
_BOTH = "use iperf3, perftest, ucx_perftest or OSU's benchmarks instead"
_GPUS = "use nvbandwidth, p2pBandwidthLatencyTest or rocm_bandwidth_test instead"
_FILES = "it counts operations on files, and no transfers; use fio instead"
_MEMORY = "it measures memory, of which nothing crosses PCI Express"
_LOAD = "it says what a GPU does, and not how fast a copy is; use nvbandwidth instead"
_PREDICTED = "compare its rates with what 'lanewise predict' says"
"""Where no tool that is read runs on such devices."""
_NOTHING = ""
"""What does not cross PCI Express, or has no tool beside it."""
_SIGNS = (
    ("iperf 2", _NETWORKS, r"^Client connecting to \S+, (?:TCP|UDP) port"),
    ("netperf", _NETWORKS, r"^(?:MIGRATED )?(?:TCP|UDP|SCTP|OMNI)[ _]\S{0,20}.{0,40} TEST from "),
    ("NTTTCP", _NETWORKS, r"<ntttcp[rs]\b|^NTTTCP for |Throughput\(KB/s\) Avg B / Compl|^ *Bytes\(MEG\) "),
    ("qperf", _BOTH, r"^(?:tcp|udp|sctp|rc|uc|ud|rds)_\w{2,30}:$"),
    ("sockperf", _NETWORKS, r"^sockperf: "),
    ("Latte", _NETWORKS, r"^\ufeff?Protocol +\w{3}\nSendMethod "),
    (
        "fabtests",
        _RDMA,
        r"^bytes +#sent +#ack +total +time +MB/sec|MB/sec +usec/xfer +Mxfers/sec|\bxfer_size: \d{1,12}, iter",
    ),
    (
        "NCCL itself, about the ways that it takes",
        "give the table of nccl-tests (all_reduce_perf)",
        r"\bNCCL INFO (?:Channel \d{2}(?:/\d{1,3})? : |Ring \d{2} : |Trees? \[|Connected all |NET/|P2P )",
    ),
    ("oneCCL's benchmark", _NOTHING, r"^# Benchmarking: \w"),
    (
        "the Intel MPI Benchmarks",
        _RDMA,
        r"^#[ \t]*Intel ?\(R\) MPI Benchmarks|^[ \t]*#bytes +#repetitions +(?:t(?:_min)?\[usec\]|Mbytes/sec)",
    ),
    ("GPCNeT", _RDMA, r"^Network(?:Load)? ?Tests v\d"),
    ("dpdk-test-dma-perf", _PREDICTED, r"\bDMA memcpy performance\b|\blcore, DMA, buffer size, nr_buf\b"),
    ("dpdk-testpmd", _NOTHING, r"^[ \t]*-{4,}[ \t]*Forward statistics for port|packet forwarding mode"),
    ("Pktgen", _NOTHING, r"Pktgen:/>|^Pktgen \d|Copyright.{0,60}Intel Corporation.{0,60}\n.{0,200}Pktgen"),
    ("busGrind", _GPUS, r"^Host/Device Bandwidth Matrix"),
    ("clpeak", _PREDICTED, r"^[ \t]*Transfer bandwidth \(GBPS\)|^[ \t]*enqueueWriteBuffer +:|^<clpeak "),
    ("simpleP2P", _GPUS, r"^\[\S{0,80}simpleP2P\] - Starting"),
    ("hipBusBandwidth", _GPUS, r"^[ \t]*(?:H2D|D2H)_(?:Bandwidth|Time)_\w{2,12}"),
    ("SuperBench's gpu_copy", _GPUS, r"^(?:cpu|gpu\d+)_(?:to|and)_(?:cpu|gpu\d+)_\w{2,60} [\d.]{1,16}$"),
    ("SuperBench", _GPUS, r'^ *"\w{2,40}/[\w-]{2,60}/(?:steptime|throughput)_\w{2,40}":'),
    ("the ROCm Validation Suite", _GPUS, r"\] (?:p2p|pcie)-bandwidth[ \t]++\["),
    ("gdrcopy's copybw", _GPUS, r"^writing test, size=\d|^write BW: [\d.]{1,12} ?MB/s"),
    (
        "Intel's ze_bandwidth or ze_peer",
        _PREDICTED,
        r"^BW \[GBPS\]|\]: +BW = +[\d.]{1,16} GBPS|^Transfer_size,Bandwidth_\(GBPS\)"
        r"|^(?:Uni|Bi|One-|Two-)?directional (?:write|read)\b|\bDevice\(\d\)-+> ?Device\(\d\)|BW \[GBPS\]:",
    ),
    ("xpu-smi diag", _PREDICTED, r"\bIntegration PCIe\b"),
    (
        "dcgmi diag",
        "'lanewise doctor' reads which GPUs fail; for bandwidths use nvbandwidth",
        r'^[ \t]*"DCGM (?:GPU )?Diagnostic"|^\|[- ]*Diagnostic +\| Result',
    ),
    ("dcgmi", _LOAD, r"^#Entity +\w{4,6} |\bdcgm \d+\.\d+ \("),
    ("nvidia-smi dmon", _LOAD, r"^# gpu +(?:pwr|rxpci|sm|gtemp)\b"),
    ("gpu_burn", _LOAD, r"\bGflop/s\).{0,80}\berrors: \d"),
    ("hccl_demo", _NOTHING, r"^\[BENCHMARK\] +(?:NW|Algo) Bandwidth"),
    ("3DMark", _GPUS, r"^3DMark PCI Express feature test|<\w{2,60}3DMarkScore>"),
    ("AS SSD", _DRIVES, r"\bAS SSD Benchmark\b"),
    ("hdparm", _DRIVES, r"^ ?Timing (?:O_DIRECT |buffered |cached )\w* ?(?:disk )?reads"),
    ("sg_dd", _DRIVES, r"^time to transfer data: [\d.]{1,16} secs at "),
    (
        "dd",
        _DRIVES,
        r"^\d{1,20} \S{1,12} \([^)\n]{1,60}\)[^,\n]{0,40}, ?[\d.,]{1,16} \S{1,12}, ?"
        r"[\d.,]{1,16} ?[kKMGT]?i?B/s|^\d{1,20} bytes transferred in [\d.]{1,16} secs",
    ),
    ("Bonnie++", _DRIVES, r"^1\.9\d[a-z]?,1\.9\d[a-z]?,|^Version +[\d.]{3,6}[a-z]? +-{2,}Sequential Output"),
    ("IOzone", _DRIVES, r"^[ \t]*Iozone: Performance Test of File I/O|^[ \t]*k[Bb] +reclen +write "),
    ("PiBenchmarks", _DRIVES, r"^HDParm +(?:Cached )?Disk Read"),
    ("Windows' WinSAT", _DRIVES, r"^Windows System Assessment Tool|^> Disk +(?:Sequential|Random) "),
    ("DeepSpeed's aio test", _DRIVES, r"^\('(?:read|write)', '"),
    (
        "gdsio that is cut at its left",
        "give the whole line, from 'IoType:' on",
        r"Throughput: [\d.]{1,16} GiB/sec, Avg_La",
    ),
    (
        "t/io_uring",
        "use fio with --ioengine=io_uring instead",
        r"^IOPS=[\d.]+[KM]?, (?:BW(?:PS)?=|IOS/call=)",
    ),
    ("nccom-test", _NOTHING, r"^[ \t]*size\(B\)[ \t]+count\(elems\)"),
    ("IOR", _DRIVES, r"^IOR-\d"),
    ("mdtest", _FILES, r"^mdtest-\d"),
    ("sysbench", _DRIVES, r"^sysbench \d"),
    ("Intel's Memory Latency Checker", _MEMORY, r"^Intel\(R\) Memory Latency Checker"),
    ("STREAM", _MEMORY, r"^STREAM (?:version|Benchmark)|^BabelStream"),
    ("mbw", _MEMORY, r"\bMethod: (?:MEMCPY|DUMB|MCBLOCK)[ \t]"),
    ("lmbench", _MEMORY, r"^\[?lmbench\d|L M B E N C H"),
)
_COMPILED = tuple((name, instead, re.compile(sign, re.MULTILINE)) for name, instead, sign in _SIGNS)
_MOST_SEARCHED = 1 << 20


def said_of_unread(text: str) -> str | None:
    """Say which tool wrote a text that is not read, and what is read instead; None for any other text."""
    head = text[:_MOST_SEARCHED]
    for name, instead, sign in _COMPILED:
        if sign.search(head):
            use = f"; {instead}" if instead else ""
            return f"an output of {name}, which is not read{use}"
    return None
