"""Studies on a Ray cluster: results are those of this machine, whatever is lost on the way."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lanewise.study.cluster.session import connect
from lanewise.study.cluster.versions import ClusterError
from lanewise.study.running import run_study
from lanewise.study.search import Search
from lanewise.study.store import FINISHED, TABLE, read_finished
from lanewise.study.study import make_study

ray = pytest.importorskip("ray", reason="Ray is not installed: make test-cluster installs it")

if TYPE_CHECKING:
    from cluster_nodes import Nodes

    from lanewise.study.study import Study

ROOT = Path(__file__).parents[2]
SWITCH = ROOT / "scenarios" / "switch.toml"

# What Ray leaves open, it says when it is collected.
pytestmark = pytest.mark.filterwarnings("ignore")


def study(*latencies: object) -> Study:
    return make_study(SWITCH, over=[f"sw0.latency={','.join(f'{latency} ns' for latency in latencies)}"])


def test_a_run_over_three_nodes_of_which_one_is_killed_ends_with_equal_results(
    nodes: Nodes, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asked = study(*range(100, 400))
    victim = nodes.add(LANEWISE_TEST_VICTIM=str(nodes.hold("all")))
    notes: list[str] = []
    killed: list[int] = []

    def kill_in_the_middle(done: int, total: int) -> None:
        if done >= total // 3 and not killed:
            killed.append(done)
            nodes.cluster.remove_node(victim, allow_graceful=False)

    result = run_study(
        asked, tmp_path / "ray", ray=nodes.address, on_progress=kill_in_the_middle, on_note=notes.append
    )
    assert result.is_complete
    assert set(result.table["status"]) == {"done"}
    (note,) = notes
    assert "points are run again" in note
    begun = nodes.runs()
    assert len(begun) == 300
    assert set(begun.values()) <= {1, 2}, "what was in flight is run once more"
    kept = read_finished(tmp_path / "ray")
    assert len(kept) == 300, "each point has one line"

    run_study(asked, tmp_path / "local")
    assert (tmp_path / "ray" / TABLE).read_bytes() == (tmp_path / "local" / TABLE).read_bytes()
    assert capfd.readouterr() == ("", ""), "nothing of Ray is said in our terminal"


def test_points_that_end_what_runs_them_are_given_up_and_no_other_one_is(nodes: Nodes) -> None:
    """One ends its process, as on this machine; one ends its host, with all that the host has."""
    nodes.runs()
    latencies = [*range(100, 110), 666, 667, *range(110, 120)]
    notes: list[str] = []
    result = run_study(study(*latencies), ray=nodes.address, on_note=notes.append)
    of_points = result.table.iter_rows(named=True)
    rows = {f"{latency} ns": row for latency, row in zip(latencies, of_points, strict=True)}
    own, host = rows.pop("666 ns"), rows.pop("667 ns")
    assert (own["status"], host["status"]) == ("failed", "failed")
    assert own["error"] == "its process died 3 times, the last time with signal 9"
    assert "what ran it was lost 3 times" in host["error"]
    assert {row["status"] for row in rows.values()} == {"done"}
    begun = nodes.runs()
    assert begun["667 ns"] == 3
    assert 3 <= begun["666 ns"] <= 9, "three times on a host, and a host may be lost"
    assert len(notes) == 3

    local = run_study(study(*(latency for latency in latencies if latency < 600))).table
    there = result.table.filter(result.table["status"] == "done")
    assert there.drop("point").equals(local.drop("point"))


def test_a_node_with_another_lanewise_is_refused(nodes: Nodes, tmp_path: Path) -> None:
    (tmp_path / "lanewise").mkdir()
    (tmp_path / "lanewise" / "__init__.py").write_text("__version__ = '0.0.7'\n")
    held = nodes.hold("all")  # The other nodes finish nothing before this one is looked at.
    other = nodes.add(PYTHONPATH=str(tmp_path))
    try:
        with pytest.raises(ClusterError, match=r"node .* has Lanewise 0\.0\.7, and here is .*: install the"):
            run_study(study(*range(100, 110)), ray=nodes.address)
        (tmp_path / "lanewise" / "__init__.py").write_text("raise ImportError('a part is missing')\n")
        with pytest.raises(ClusterError, match=r"node .* has no Lanewise: .*a part is missing"):
            run_study(study(*range(100, 110)), ray=nodes.address)
    finally:
        held.unlink()
        nodes.cluster.remove_node(other, allow_graceful=False)


def test_a_cluster_with_another_ray_is_refused(nodes: Nodes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray, "__version__", "2.3.1")
    with pytest.raises(ClusterError, match=r"has another Ray or Python: .*Ray: 2\.3\.1"):
        run_study(study(100), ray=nodes.address)


def test_a_study_whose_driver_is_killed_goes_on(nodes: Nodes, tmp_path: Path) -> None:
    asked = make_study(SWITCH, over=["sw0.latency=100 ns..300 ns:1 ns"])
    nodes.runs()
    held = nodes.hold("250 ns")
    folder = tmp_path / "study"
    arguments = ["sweep", str(SWITCH), "--over", asked.over[0], "--out", str(folder), "--ray", nodes.address]
    command = [sys.executable, "-c", "from lanewise.cli import main; main()", *arguments]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as driver:
        while not (folder / FINISHED).exists() or not (folder / FINISHED).stat().st_size:
            assert driver.poll() is None
            time.sleep(0.02)
        driver.send_signal(signal.SIGKILL)
    held.unlink()
    kept = read_finished(folder)
    assert 0 < len(kept) < asked.size
    nodes.runs()
    result = run_study(asked, folder, ray=nodes.address)
    assert result.is_complete
    assert read_finished(folder)[: len(kept)] == kept
    begun = nodes.runs()
    finished = {dict(outcome.overrides)["sw0.latency"] for outcome in kept}
    assert not finished & set(begun), "what was finished is not run again"
    assert result.table.equals(run_study(asked).table)


def test_a_program_with_a_connection_of_its_own_keeps_it(nodes: Nodes) -> None:
    ray.init(address=nodes.address, logging_level="CRITICAL", log_to_driver=False)
    try:
        assert run_study(study(100, 101), ray="auto").is_complete
        assert ray.is_initialized()
    finally:
        ray.shutdown()


def test_a_client_outside_of_the_cluster(nodes: Nodes) -> None:
    pytest.importorskip("grpc")
    done = sweep("--ray", f"ray://127.0.0.1:{nodes.client_port}", "--over", "sw0.latency=100 ns,101 ns")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [point["status"] for point in json.loads(done.stdout)["points"]] == ["done", "done"]


@pytest.mark.parametrize(
    ("refusals", "connects"),
    [
        (["Starting Ray client server failed. See ray_client_server_23000.err"], 2),
        (["Initialization failure from server: ZombieProcess: PID still exists but it's a zombie"] * 2, 3),
        (["Initialization failure from server: no such file"] * 3, None),
        (["Ray client: no route"], None),
    ],
)
def test_a_client_whose_server_did_not_come_up_asks_again(
    monkeypatch: pytest.MonkeyPatch, refusals: list[str], connects: int | None
) -> None:
    asked = []

    def init(**_: object) -> None:
        asked.append(1)
        if len(asked) <= len(refusals):
            raise ConnectionError(refusals[len(asked) - 1])

    with socket.create_server(("127.0.0.1", 0)) as listener, monkeypatch.context() as patch:
        patch.setattr(ray, "init", init)
        address = f"ray://127.0.0.1:{listener.getsockname()[1]}"
        if connects is None:
            with pytest.raises(ClusterError, match="cannot connect to .*" + refusals[-1][-8:]):
                connect(address)
            assert len(asked) == len(refusals)
        else:
            connect(address)()
            assert len(asked) == connects


def test_a_cluster_on_this_machine_leaves_nothing(tmp_path: Path) -> None:
    before = set(Path("/tmp").glob("lanewise-ray-*"))
    home = tmp_path / "home"
    home.mkdir()
    done = sweep("--ray", "local", "--processes", "1", "--over", "sw0.latency=100 ns,101 ns", HOME=str(home))
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert [point["status"] for point in json.loads(done.stdout)["points"]] == ["done", "done"]
    assert set(Path("/tmp").glob("lanewise-ray-*")) == before
    assert not (home / ".ray").exists()


def test_a_search_on_a_cluster_is_the_search_of_this_machine() -> None:
    """Which trials are chosen depends on no order in which runs come back."""
    pytest.importorskip("optuna")
    asked = make_study(
        SWITCH,
        over=["sw0.latency=100 ns..400 ns:10 ns", "card0.link.force_width=x1,x2,x4"],
        seeds=2,
        search=Search(("goodput",), ("mean_us",), trials=20),
    )
    there = run_study(asked, ray="local", processes=2)
    here = run_study(asked, processes=1)
    assert len(there.trials) == 20
    assert len(there.outcomes) == 40
    assert there.table.equals(here.table)
    assert [trial.number for trial in there.best] == [trial.number for trial in here.best]


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("nonsense", "is not an address of a Ray cluster: write ray://HOST:10001"),
        ("ray://:10001", "is not an address"),
        ("host:99999", "is not an address"),
        ("127.0.0.1:1", "nothing answers at '127.0.0.1:1'"),
        ("ray://127.0.0.1:1", "nothing answers at 'ray://127.0.0.1:1'"),
    ],
)
def test_addresses_where_no_cluster_is(address: str, said: str) -> None:
    with pytest.raises(ClusterError, match=said):
        run_study(study(100), ray=address)


def sweep(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from lanewise.cli import main; main()", "sweep", str(SWITCH), "--json"]
    return subprocess.run(
        [*command, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=os.environ | environment,
    )
