"""A drive of each kind does what is published of it: one I/O at a time, many, and large ones, all at once.

No figure is fitted alone: latencies come from the stations' times, rates from their rates, and neither adds
to the other. The host is the one beside which the times of the parts were worked out: 3.4 us of
software for an operation, which is the default, and memory that answers in 200 ns. With the memory of a
default host of Gen5, 480 ns, and its way to the core, a read alone takes 0.3 us longer and a write 0.65 us.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import lanewise

if TYPE_CHECKING:
    from pathlib import Path

RIG = """
title = "One drive"
[host.server]
slots = {{ slot1 = "gen5 x4" }}
memory_latency = "200 ns"
core_latency = "0 ns"
[endpoint.ssd]
part = "{part}"
attach = "server.slot1"
[[workload]]
kind = "fio"
name = "job"
filename = ["ssd"]
ioengine = "libaio"
group_reporting = true
rw = "{rw}"
bs = "{block}"
iodepth = {depth}
numjobs = {jobs}
[run]
warm_up = "{warm_up}"
"""

# Latency in us of a read and a write of 4 KiB alone; thousands of such reads and writes a second; GB/s of
# reads and writes of 128 KiB. None where nothing is published. Sources: those of the parts' values.
FIGURES: dict[str, tuple[float | None, ...]] = {
    "intel-p3700": (77.9, 30.0, 460.0, 90.0, 2.8, 1.9),
    "intel-p4500": (115.0, 13.0, 645.0, 62.5, 3.2, 1.8),
    "intel-p4800x": (8.9, 10.0, 550.0, None, 2.4, 2.0),
    "samsung-970-evo-plus": (52.1, 16.2, 600.0, None, 3.5, 3.3),
    "samsung-pm9a3": (None, None, 900.0, 200.0, 6.5, 3.5),
    "kioxia-cd7": (75.0, 14.0, 1_050.0, None, 6.45, 5.6),
    "micron-9550-pro": (60.0, 15.0, 3_300.0, 400.0, 14.0, 10.0),
}

JOBS = (
    ("randread", "4 KiB", 1, 1, "1 ms"),
    ("randwrite", "4 KiB", 1, 1, "1 ms"),
    ("randread", "4 KiB", 64, 16, "2 ms"),
    ("randwrite", "4 KiB", 32, 8, "8 ms"),
    ("read", "128 KiB", 32, 1, "2 ms"),
    ("write", "128 KiB", 32, 1, "2 ms"),
)


def measured(folder: Path, part: str, job: tuple[str, str, int, int, str]) -> dict[str, float]:
    """Return fio's numbers of a job on a part."""
    rw, block, depth, jobs, warm_up = job
    rig = folder / "rig.toml"
    rig.write_text(RIG.format(part=part, rw=rw, block=block, depth=depth, jobs=jobs, warm_up=warm_up))
    # Latencies are published of drives with room in their buffers, rates of drives that are full.
    alone = {"ssd.nvme.preconditioned": str(depth * jobs > 1).lower()}
    rows = lanewise.run(rig, overrides=alone).instruments.to_dicts()
    return {row["metric"].removeprefix("job."): row["value"] for row in rows}


@pytest.mark.parametrize("part", FIGURES)
def test_a_drive_has_all_of_its_published_figures_at_once(part: str, tmp_path: Path) -> None:
    for number, (figure, job) in enumerate(zip(FIGURES[part], JOBS, strict=True)):
        if figure is None:
            continue
        metrics = measured(tmp_path, part, job)
        side = "write" if "write" in job[0] else "read"
        if number < 2:
            simulated = metrics[f"{side}.lat_ns.mean"] / 1e3
        elif number < 4:
            simulated = metrics[f"{side}.iops"] / 1e3
        else:
            simulated = metrics[f"{side}.bw_bytes"] / 1e9
        assert simulated == pytest.approx(figure, rel=0.02), f"{job[0]} {job[1]} at {job[2]} x {job[3]}"
