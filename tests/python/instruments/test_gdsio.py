"""gdsio's lines: those of real runs, and those that a simulated run is written as."""

from __future__ import annotations

import pytest

from lanewise.health.judge.detect import parse_measurement
from lanewise.tools.instruments.measurement import ImportProblemError

READ = (
    "IoType: READ XferType: CPU_GPU Threads: 1 DataSetSize: 14325760/10485760(KiB) IOSize: 256(KiB) "
    "Throughput: 1.428755 GiB/sec, Avg_Latency: 170.763581 usecs ops: 55960 total_time 9.562250 secs\n"
)
"""Printed by a virtual machine with a Quadro P400, as its owner published it."""

BATCH = (
    "IoType: WRITE XferType: GPU_BATCH Threads: 1 IoDepth: 8 DataSetSize: 524206080/8388608(KiB) "
    "IOSize: 16384(KiB) Throughput: 1.664916 GiB/sec, "
    "Avg_Latency: 9383.000000 usecs ops: 31995 total_time 300.268538 secs\n"
)

MIXED = (
    "IoType: READ XferType: GPUD Threads: 16 DataSetSize: 103993344/104857600(KiB) \n"
    "IOSize: 16384-32768-4096(KiB) Throughput: 6.168589 GiB/sec, Avg_Latency: 60200.233629 usecs \n"
    "ops: 4236 total_time 16.077547 secs\n"
)
"""As it is pasted: wrapped."""


def test_a_line_has_its_rate_in_bytes_and_its_latency_in_ns() -> None:
    (case,) = parse_measurement(f"$ gdsio -f /mnt/test10G -d 3 -n 0 -w 1 -x 2 -I 0\n{READ}").cases
    assert (case.direction, case.block_bytes, case.workers, case.operations) == ("read", 262_144, 1, 55_960)
    assert case.bandwidth_bytes_per_s == pytest.approx(1.428755 * 2**30)
    assert case.latency is not None
    assert case.latency.mean_ns == pytest.approx(170_763.581)
    assert case.raw["gpu"] == "3"
    # What it moved, over its time, is what it prints.
    assert case.bandwidth_bytes_per_s == pytest.approx(14_325_760 * 1024 / 9.562250, rel=0.002)


def test_depth_mixed_sizes_and_wrapped_lines() -> None:
    batch, mixed = parse_measurement(BATCH + MIXED).cases
    assert (batch.queue_depth, batch.direction) == (8, "write")
    assert (mixed.block_bytes, mixed.workers, mixed.raw["XferType"]) == (None, 16, "GPUD")


def test_a_line_that_breaks_off_is_refused() -> None:
    with pytest.raises(ImportProblemError, match="breaks off"):
        parse_measurement(READ[:120])


def test_a_command_without_a_gpu_has_none() -> None:
    """The GPU of a line is that of the last command above it, and of several there is none."""
    text = (
        f"$ gdsio -f a -d 3 -w 1\n{READ}{READ}$ gdsio -f b -w 1\n{READ}$ gdsio -f /mnt/gdsio/c -d 0\n{READ}"
        f"$ gdsio -f a -d 0 -w 1 -f b -d 1 -w 1\n{READ}$ gdsio -f a -d 2 -f b -d 2\n{READ}"
    )
    found = [case.raw["gpu"] for case in parse_measurement(text).cases]
    assert found == ["3", "3", None, "0", None, "2"]
