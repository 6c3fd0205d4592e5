"""What a cluster costs: `--ray local` beside processes of this machine, and the driver alone.

.venv/bin/python benches/cluster.py points [COUNT]     # 5,000 points either way
.venv/bin/python benches/cluster.py driver [HOSTS]     # what the driver spends on calls and on points
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lanewise.study.cluster import runner
from lanewise.study.running import run_study
from lanewise.study.store import FINISHED, open_study
from lanewise.study.study import Study, StudyResult, make_study

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = f"LANEWISE_BENCHMARK={os.getpid()}"
os.environ.update([MARK.split("=")])
SWITCH = Path(__file__).parents[1] / "scenarios" / "switch.toml"


def points(count: int) -> None:
    """Run the same study both ways."""
    study = make_study(SWITCH, over=[f"sw0.latency=1 ns..{count} ns:1 ns"])
    local, local_used = _timed("local", study, None)
    there, there_used = _timed("--ray local", study, "local")
    assert there.table.equals(local.table)
    print(f"--ray local takes {there_used / local_used:.3f} times as much of processors")


def _timed(what: str, study: Study, ray: str | None) -> tuple[StudyResult, float]:
    """Run a study, print the seconds it took; return what came of it, and seconds of processors.

    Those do not hang on what else the machine does.
    """
    start, used, begun, spent = time.perf_counter(), processors_s(), (0, 0.0, 0.0), (0, 0.0)

    def hear(done: int, total: int) -> None:
        nonlocal begun, spent
        if done and not begun[0]:
            begun = (done, time.perf_counter() - start, processors_s() - used)
        # What runs the points has ended when the last one is heard of.
        elif 0.9 * total < done < total:
            spent = (done, processors_s() - used)

    with tempfile.TemporaryDirectory() as folder:
        result = run_study(study, Path(folder) / "study", ray=ray, on_progress=hear)
    wall_s = time.perf_counter() - start
    point_s = (spent[1] - begun[2]) / (spent[0] - begun[0])
    used_s = begun[2] + (study.size - begun[0]) * point_s
    print(
        f"{what:12} {wall_s:6.1f} s, the first points after {begun[1]:4.1f} s; processors {used_s:6.1f} s: "
        f"{begun[2]:5.1f} s until then, {1e3 * point_s:6.2f} ms a point"
    )
    return result, used_s


def processors_s() -> float:
    """Return seconds of processors that this process took, and all that has its mark: what it began."""
    used = 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if folder.name == str(os.getpid()) or MARK.encode() in (folder / "environ").read_bytes():
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                used += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    return used


def stand_in() -> type[Any]:
    """Return hosts that answer at once, with rows like those of a run."""
    # What a run of `SWITCH` gives.
    row = run_study(make_study(SWITCH, over=["sw0.latency=1 ns"]), processes=1).outcomes[0].row

    class Host:
        def versions(self) -> dict[str, None]:
            return {}

        def begin(self, work: object, processes: int) -> None:
            pass

        def exchange(self, given: list[Any], within_s: float) -> list[Any]:
            return [(number, "done", row, None, 0.0) for number, _ in given]

    return Host


def driver(hosts: int) -> None:
    """Time the driver where hosts take no time, for calls of different sizes."""
    host = stand_in()
    runner.host_class = lambda: host
    runner.check_versions = lambda *_: None
    runner.MOST_CORES = 1
    for size in (1, 16, 64, 256):
        count = size * 100 * hosts
        runner.share = lambda *, waiting, size=size, **_: min(waiting, size)
        study = make_study(SWITCH, over=["sw0.latency=1 ns"], seeds=min(count, 10_000))
        # One thread of this process at a time: what others of it do is in its time, too.
        with (
            tempfile.TemporaryDirectory() as folder,
            open_study(Path(folder) / "x", study.asked()) as journal,
        ):
            spent = _spent(study, hosts, count, journal.add)
            kept = (Path(folder) / "x" / FINISHED).stat().st_size / len(study.points)
        print(f"{size:4} points a call: {spent}   {kept:.0f} B of a point on the disk")


def _spent(study: Study, hosts: int, count: int, keep: Callable[[Any], None]) -> str:
    runs = runner.ClusterRunner(study.work(), "local", hosts)
    done, found = 0, []
    runs.give(study.points[:hosts])
    while runs.left:
        done += len(runs.take())
    start, used = time.perf_counter(), time.process_time()
    runs.give(study.points)
    while runs.left:
        found += runs.take()
    wall_s, cpu_s = time.perf_counter() - start, time.process_time() - used
    runs.end()
    used = time.process_time()
    for at in range(0, len(found), 64):
        keep(found[at : at + 64])
    kept_s = time.process_time() - used
    return (
        f"{1e6 * cpu_s / len(found):7.1f} us a point, {len(found) / wall_s:7.0f} points/s, "
        f"and {1e6 * kept_s / len(found):5.1f} us to keep it"
    )


if __name__ == "__main__":
    what, *more = sys.argv[1:] or ["points"]
    {"points": points, "driver": driver}[what](int(more[0]) if more else {"points": 5000, "driver": 2}[what])
