"""Who runs points: shares of a cluster's hosts, and that nothing of a cluster is needed without one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lanewise import extras
from lanewise.study import pool
from lanewise.study.cluster.shares import MOST_AHEAD, gather_s, share
from lanewise.study.cluster.versions import ClusterError
from lanewise.study.pool import LocalPool
from lanewise.study.running import run_study
from lanewise.study.study import make_study
from lanewise.study.worker import Work

if TYPE_CHECKING:
    from collections.abc import Callable

    from click.testing import Result

ROOT = Path(__file__).parents[3]

WAITS = """
import json, sys, time
from pathlib import Path
sys.stdin.readline()
for line in sys.stdin:
    number, _ = json.loads(line)
    Path({folder!r}, str(number)).touch()
    while not Path({folder!r}, "go").exists():
        time.sleep(0.01)
    print(json.dumps(dict(number=number, status="done", row={{}})), flush=True)
"""


def test_each_process_has_a_point_before_one_has_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, switch: Path
) -> None:
    """Three points on three processes run at the same time: none starts once another one has ended."""
    worker = tmp_path / "worker.py"
    worker.write_text(WAITS.format(folder=str(tmp_path)))
    started = subprocess.Popen
    monkeypatch.setattr(
        pool.subprocess, "Popen", lambda command, **given: started([sys.executable, str(worker)], **given)
    )
    runner = LocalPool(Work("x", "", ()), 3)
    try:
        runner.give(make_study(switch, over=["sw0.latency=1 ns,2 ns,3 ns"]).points)
        # Without end where two points are with one process.
        while not all((tmp_path / str(number)).exists() for number in range(3)):
            assert runner.take(0.01) == []
        (tmp_path / "go").touch()
        found = []
        while runner.left:
            found += runner.take()
        assert sorted(outcome.number for outcome in found) == [0, 1, 2]
        assert runner.take() == []
    finally:
        runner.end()


def shared(**given: float | None) -> int:
    usual: dict[str, float | None] = {
        "cores": 4, "in_hand": 0, "point_s": 0.02, "waiting": 100_000, "hosts": 10, "all_cores": 40
    }  # fmt: skip
    return share(**(usual | given))  # type: ignore[arg-type]


def test_a_host_has_a_point_for_each_core_until_it_is_known_how_long_one_takes() -> None:
    assert shared(point_s=None) == 4
    assert shared(point_s=None, in_hand=3) == 1
    assert shared(point_s=None, waiting=2) == 2


def test_a_host_has_ahead_what_it_finishes_in_two_calls() -> None:
    assert gather_s(10) == 0.25
    assert shared() == 4 + 2 * 0.25 * 4 / 0.02
    assert shared(in_hand=104) == 0
    assert shared(point_s=60.0) == 4 + 1, "long points are not held back from other hosts"
    assert shared(point_s=1e-9, waiting=10**6, cores=16, all_cores=16) == 16 + MOST_AHEAD
    # Where a host calls less often, it has more.
    assert gather_s(1000) == 2.0
    assert shared(hosts=1000, all_cores=4000, waiting=10**6) == 500, "half of its part of what waits"


def test_what_is_left_at_the_end_is_shared() -> None:
    assert shared(waiting=200) == 10
    assert shared(waiting=8) == 4, "for each of its cores"
    assert shared(waiting=8, in_hand=4) == 1
    assert shared(waiting=0) == 0


def test_without_ray_a_cluster_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, lanewise: Callable[..., Result], switch: Path
) -> None:
    needed = {"cluster": ["ray[client]>=2.40"]}
    monkeypatch.setattr(extras, "requirements", lambda extra: needed.get(extra, []))
    monkeypatch.setattr(extras, "_is_installed", lambda _: False)
    done = lanewise("sweep", switch, "--over", "sw0.latency=1 ns", "--ray", "local")
    assert done.exit_code == 2
    assert "--ray needs ray (extra 'cluster'), which is not installed" in done.stderr
    assert "pip install 'ray[client]>=2.40'" in done.stderr


def test_an_address_that_is_none_is_refused_before_anything_is_imported(switch: Path) -> None:
    with pytest.raises(ClusterError, match="is not an address of a Ray cluster"):
        run_study(make_study(switch, over=["sw0.latency=1 ns"]), ray="nonsense")


def test_ray_is_not_imported_without_a_cluster(switch: Path) -> None:
    code = f"""
import sys
import lanewise
assert lanewise.sweep({str(switch)!r}, ["sw0.latency=1 ns"]).is_complete
import lanewise.study.cluster.runner
assert "ray" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ({"ray": "2.3.1"}, "has Ray 2.3.1, and here is 2.60.0"),
        (
            {"lanewise": None, "error": "ModuleNotFoundError: no"},
            "has no Lanewise: install .*ModuleNotFoundError",
        ),
        ({"lanewise": "0.0.7"}, "has Lanewise 0.0.7, and here is"),
        ({"core": "another"}, "with another build of the simulator, whose results may differ"),
        ({"core": None, "error": "OSError: no"}, r"another build of the simulator \(OSError: no\)"),
        ({}, None),
    ],
)
def test_what_a_node_has_is_what_is_here(
    monkeypatch: pytest.MonkeyPatch, found: dict[str, str | None], said: str | None
) -> None:
    import types

    from lanewise import __version__
    from lanewise.runs.cache import core_hash
    from lanewise.study.cluster.versions import check_versions

    stand_in = types.ModuleType("ray")
    stand_in.__version__ = "2.60.0"  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ray", stand_in)
    same = {"node": "n7", "ray": "2.60.0", "lanewise": __version__, "core": core_hash(), "error": None}
    if said is None:
        check_versions(same | found, "10.0.0.7")
    else:
        with pytest.raises(ClusterError, match=rf"node n7 \(10\.0\.0\.7\) .*{said}"):
            check_versions(same | found, "10.0.0.7")
