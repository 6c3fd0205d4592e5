"""What a cluster costs: `--ray local` beside processes of this machine, and the driver alone.

.venv/bin/python benches/cluster.py points [COUNT]     # 5,000 points of a few ms either way
.venv/bin/python benches/cluster.py enclosure [COUNT]  # 1,000 points of some 20 ms either way
.venv/bin/python benches/cluster.py driver [HOSTS]     # what the driver spends on calls and on points
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from lanewise.study.cluster import runner
from lanewise.study.running import run_study
from lanewise.study.store import FINISHED, open_study
from lanewise.study.study import Study, StudyResult, make_study

if TYPE_CHECKING:
    from collections.abc import Callable

os.environ["LANEWISE_BENCHMARK"] = str(os.getpid())
MARK = f"LANEWISE_BENCHMARK={os.getpid()}"
CLOCK = os.sysconf("SC_CLK_TCK")
SWITCH = Path(__file__).parents[1] / "scenarios" / "switch.toml"
ENCLOSURE = SWITCH.with_name("enclosure.toml")


def points(count: int) -> None:
    """Run points that take a few ms both ways."""
    _both_ways(make_study(SWITCH, over=[f"sw0.latency=1 ns..{count} ns:1 ns"]))


def enclosure(count: int) -> None:
    """Run points of 24 drives both ways: they take some 20 ms."""
    _both_ways(make_study(ENCLOSURE, over=[f"enclosure.latency=1 ns..{count} ns:1 ns"]))


def _both_ways(study: Study) -> None:
    local, local_used = _timed("local", study, None)
    there, there_used = _timed("--ray local", study, "local")
    assert there.table.equals(local.table)
    print(f"--ray local takes {there_used / local_used:.3f} times as much of processors")


def _timed(what: str, study: Study, ray: str | None) -> tuple[StudyResult, float]:
    """Run a study, print the seconds it took; return what came of it, and seconds of processors.

    Those hang less on what else the machine does. They are told apart by who spent them: what runs the points
    does the same work both ways, so that what it takes more of is not the cluster's.
    """
    start, used = time.perf_counter(), processor_ticks()
    begun, spent = (0, 0.0, Counter[str]()), (0, 0.0, Counter[str]())

    def hear(done: int, total: int) -> None:
        nonlocal begun, spent
        if done and not begun[0]:
            begun = (done, time.perf_counter() - start, processor_ticks() - used)
        # What runs the points has ended when the last one is heard of.
        elif 0.9 * total < done < total:
            spent = (done, time.perf_counter() - start, processor_ticks() - used)

    with tempfile.TemporaryDirectory() as folder:
        result = run_study(study, Path(folder) / "study", ray=ray, on_progress=hear)
    wall_s = time.perf_counter() - start
    each = {who: (spent[2][who] - begun[2][who]) / CLOCK / (spent[0] - begun[0]) for who in spent[2]}
    point_s = sum(each.values())
    begun_s = begun[2].total() / CLOCK
    used_s = begun_s + (study.size - begun[0]) * point_s
    print(
        f"{what:12} {wall_s:6.1f} s, the first points after {begun[1]:4.1f} s; processors {used_s:6.1f} s: "
        f"{begun_s:5.1f} s until then, {1e3 * point_s:6.2f} ms a point"
    )
    print(
        f"{'':12} at a load of {os.getloadavg()[0]:.1f}; "
        f"{spent[0] - begun[0]} points in {spent[1] - begun[1]:.1f} s, which are:"
    )
    shares = sorted(each.items(), key=lambda share: -share[1])
    print(f"{'':12} ms a point: {', '.join(f'{who} {1e3 * s:.2f}' for who, s in shares)}", flush=True)
    return result, used_s


POINTS = "points"
WHO = {"lanewise.study.worker": POINTS, "ray::LanewiseHost": "hosts", "raylet": "raylet", "gcs_server": "gcs"}
"""Who spends seconds of processors, by what its command line has."""


def processor_ticks() -> Counter[str]:
    """Return ticks of processors that this process took, and all that has its mark: what it began."""
    used: Counter[str] = Counter()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_own = folder.name == str(os.getpid())
            if is_own or MARK.encode() in (folder / "environ").read_bytes():
                said = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                who = next((name for part, name in WHO.items() if part in said), "others of Ray")
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
                used["driver" if is_own else who] += sum(map(int, fields[11:15]))
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
    for size in (1, 16, 64, 256):
        count = size * 100 * hosts
        study = make_study(SWITCH, over=["sw0.latency=1 ns"], seeds=min(count, 10_000))
        stands_in: dict[str, Any] = {
            "host_class": lambda: host,
            "check_versions": lambda *_: None,
            "MOST_CORES": 1,
            "share": lambda *, waiting, size=size, **_: min(waiting, size),
        }
        # One thread of this process at a time: what others of it do is in its time, too.
        with (
            tempfile.TemporaryDirectory() as folder,
            open_study(Path(folder) / "x", study.asked()) as journal,
            mock.patch.multiple(runner, **stands_in),
        ):
            spent = _spent(study, hosts, count, journal.add)
            kept = (Path(folder) / "x" / FINISHED).stat().st_size / len(study.points)
        print(f"{size:4} points a call: {spent}   {kept:.0f} B of a point on the disk")


def _taken(runs: runner.ClusterRunner) -> list[Any]:
    """Return what comes of all points that were given."""
    found: list[Any] = []
    while runs.left:
        found += runs.take()
    return found


def _spent(study: Study, hosts: int, count: int, keep: Callable[[Any], None]) -> str:
    runs = runner.ClusterRunner(study.work(), "local", hosts)
    runs.give(study.points[:hosts])
    _taken(runs)
    start, used = time.perf_counter(), time.process_time()
    runs.give(study.points)
    found = _taken(runs)
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
    do, count = {"points": (points, 5000), "enclosure": (enclosure, 1000), "driver": (driver, 2)}[what]
    do(int(more[0]) if more else count)
