"""Reads and writes what gdsio of GPUDirect Storage prints: a line for each run.

A line has the kind of I/O and of transfer, threads, what was moved, the size of an I/O, throughput in GiB/s
(2**30 bytes), mean latency of one I/O in microseconds, and time. It says neither drive nor GPU; the command,
if it stands above, does say the GPU (``-d``), unless it names several, of which the
line is the sum. I/Os of mixed sizes (``16384-32768-4096``) have no one size.

Source: outputs of gdsio of CUDA 11 and 12 in public repositories.
"""

from __future__ import annotations

import re
from heapq import merge

from lanewise.tools.instruments.measurement import (
    Case,
    ImportProblemError,
    Latency,
    Measurement,
    refuse_too_many,
)
from lanewise.tools.instruments.simulated import Instrument, SimulatedRun, stated_size

_LINE = re.compile(
    r"IoType:[ \t]*+(?P<io>\w{1,12})\s{1,8}XferType:[ \t]*+(?P<xfer>\w{1,24})"
    r"\s{1,8}Threads:[ \t]*+(?P<threads>\d{1,6})(?:\s{1,8}IoDepth:[ \t]*+(?P<depth>\d{1,6}))?"
    r"\s{1,8}DataSetSize:[ \t]*+(?P<moved>\d{1,18})/(?P<asked>\d{1,18})\(KiB\)"
    r"\s{1,8}IOSize:[ \t]*+(?P<size>[\d-]{1,40})\(KiB\)"
    r"\s{1,8}Throughput:[ \t]*+(?P<rate>[\d.]{1,20})[ \t]*+GiB/sec,?"
    r"\s{1,8}Avg_Latency:[ \t]*+(?P<latency>[\d.]{1,20})[ \t]*+usecs"
    r"\s{1,8}ops:[ \t]*+(?P<ops>\d{1,15})\s{1,8}total_time[ \t]*+(?P<time>[\d.]{1,20})"
)
_SIGN = re.compile(r"\bIoType:[ \t]*+\w{1,12}[ \t]++XferType:")
_COMMAND = re.compile(r"\bgdsio\b(?P<arguments>[ \t][^\n]{0,400}+)")
_GPU = re.compile(r"[ \t]-d[ \t]*+(\d{1,3})\b")


def recognizes(text: str) -> bool:
    """Whether a text looks like an output of gdsio."""
    return _SIGN.search(text) is not None


def parse(text: str, *, source: str | None = None) -> Measurement:
    """Read one output; ImportProblemError says what is wrong with it."""
    cases: list[Case] = []
    gpu = None
    for found in merge(_COMMAND.finditer(text), _LINE.finditer(text), key=re.Match.start):
        if found.re is _COMMAND:
            named = set(_GPU.findall(found["arguments"]))
            gpu = named.pop() if len(named) == 1 else None
            continue
        cases.append(_case(found, gpu))
        refuse_too_many(cases)
    if not cases:
        raise ImportProblemError(
            "the line of 'IoType:' breaks off before 'Throughput', 'Avg_Latency', 'ops' and 'total_time'"
        )
    return Measurement(tool="gdsio", version=None, cases=tuple(cases), source=source)


def _case(line: re.Match[str], gpu: str | None) -> Case:
    try:
        rate, latency_us, seconds = (float(line[name]) for name in ("rate", "latency", "time"))
    except ValueError as error:
        raise ImportProblemError(f"{line[0][:80]}: {error}") from error
    operations, threads = int(line["ops"]), int(line["threads"])
    return Case(
        name=f"{line['io']} {line['xfer']} {line['size']} KiB",
        direction="read" if "READ" in line["io"].upper() else "write",
        block_bytes=1024 * int(line["size"]) if line["size"].isdecimal() else None,
        queue_depth=threads * int(line["depth"] or 1),
        workers=threads,
        bandwidth_bytes_per_s=rate * 2**30,
        operations_per_s=operations / seconds if seconds else None,
        operations=operations,
        # One that is not known is printed as 0.
        latency=Latency(mean_ns=1e3 * latency_us) if latency_us else None,
        raw={"IoType": line["io"], "XferType": line["xfer"], "gpu": gpu, "total_time (secs)": seconds},
    )


def write(run: SimulatedRun) -> str:
    """Return the gdsio workloads of a run as gdsio would print them, a line each."""
    return "".join(_line(instrument) for instrument in run.instruments("gdsio"))


def _line(instrument: Instrument) -> str:
    kind = {"read": "READ", "write": "WRITE", "randread": "RANDREAD", "randwrite": "RANDWRITE"}
    metrics, option = instrument.metrics, instrument.option
    size = stated_size(option("io_size")) // 1024
    moved = round(metrics["DataSetSize (KiB)"])
    return (
        f"IoType: {kind[option('io_type')]} XferType: {option('xfer_type')} Threads: {option('threads')} "
        f"DataSetSize: {moved}/{moved}(KiB) IOSize: {size}(KiB) "
        f"Throughput: {metrics['Throughput (GiB/sec)']:.6f} GiB/sec, "
        f"Avg_Latency: {metrics['Avg_Latency (usecs)']:.6f} usecs ops: {round(metrics['ops'])} "
        f"total_time {metrics['total_time (secs)']:.6f} secs\n"
    )
