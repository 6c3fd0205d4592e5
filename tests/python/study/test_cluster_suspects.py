"""What a cluster's runner does about points that take their node with them, on a cluster that is made up."""

from __future__ import annotations

import sys
from concurrent.futures import Future
from queue import Empty
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from lanewise.study.cluster import runner as module
from lanewise.study.cluster.versions import ClusterError
from lanewise.study.points import Point

KILLER = 3


class _RayError(Exception):
    pass


class _TaskError(_RayError):
    pass


class _Cluster:
    """Nodes whose hosts answer all at once, or end all at once where one of them has the killer."""

    def __init__(self) -> None:
        self.nodes = {"n1": 2}
        self.calls: list[tuple[Any, Future[Any], str, tuple[Any, ...]]] = []
        self.heard: list[Any] = []
        self.put = self.heard.append
        self.alone: list[int] = []

    def actor(self, node: str) -> SimpleNamespace:
        actor = SimpleNamespace(node=node, held=[])

        def method(name: str) -> SimpleNamespace:
            def remote(*given: Any) -> SimpleNamespace:
                future: Future[Any] = Future()
                self.calls.append((actor, future, name, given))
                return SimpleNamespace(future=lambda: future)

            return SimpleNamespace(remote=remote)

        for name in ("versions", "begin", "exchange"):
            setattr(actor, name, method(name))
        return actor

    def empty(self) -> bool:
        return not self.heard

    def get(self, timeout: float | None = None) -> Any:
        if not self.heard:
            self.step()
        if not self.heard:
            raise Empty
        return self.heard.pop(0)

    def step(self) -> None:
        calls, self.calls = self.calls, []
        for actor, _, name, given in calls:
            if name == "exchange":
                actor.held += [number for number, _ in given[0]]
        in_hand = [number for actor, _, name, _ in calls if name == "exchange" for number in actor.held]
        if len(in_hand) == 1:
            self.alone += in_hand
        lost = {actor.node for actor, *_ in calls if KILLER in actor.held}
        for actor, future, name, _ in calls:
            if actor.node in lost:
                future.set_exception(_RayError("the node died"))
            elif name == "exchange":
                done, actor.held = actor.held, []
                future.set_result([(number, "done", {}, "", 0.01) for number in done])
            else:
                future.set_result({"node": actor.node})


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> _Cluster:
    made = _Cluster()

    def options(num_cpus: int, scheduling_strategy: str) -> SimpleNamespace:
        return SimpleNamespace(remote=lambda: made.actor(scheduling_strategy))

    ray, exceptions = ModuleType("ray"), ModuleType("ray.exceptions")
    ray.kill = lambda actor: None  # type: ignore[attr-defined]
    ray.remote = lambda given: SimpleNamespace(options=options)  # type: ignore[attr-defined]
    ray.nodes = lambda: [  # type: ignore[attr-defined]
        {"Alive": True, "NodeID": name, "NodeManagerAddress": name, "Resources": {"CPU": cores}}
        for name, cores in made.nodes.items()
    ]
    exceptions.RayError, exceptions.RayTaskError = _RayError, _TaskError  # type: ignore[attr-defined]
    strategies = ModuleType("ray.util.scheduling_strategies")
    strategies.NodeAffinitySchedulingStrategy = lambda node_id, soft: node_id  # type: ignore[attr-defined]
    for each in (ray, exceptions, ModuleType("ray.util"), strategies):
        monkeypatch.setitem(sys.modules, each.__name__, each)
    monkeypatch.setattr(module, "connect", lambda address, processes: lambda: None)
    monkeypatch.setattr(module, "host_class", lambda: None)
    monkeypatch.setattr(module, "MOST_CORES", 1)
    monkeypatch.setattr(module, "check_versions", lambda found, address: None)
    return made


def _runner(cluster: _Cluster, notes: list[str]) -> module.ClusterRunner:
    made = module.ClusterRunner(None, "made", on_note=notes.append)  # type: ignore[arg-type]
    made._answers = cluster  # type: ignore[assignment]
    return made


@pytest.mark.parametrize("cores", [1, 2, 4])
def test_a_point_that_takes_its_node_is_the_only_one_to_fail(cluster: _Cluster, cores: int) -> None:
    cluster.nodes = {"n1": cores}
    runner = _runner(cluster, [])
    runner.give(Point(number, (("a.n", str(number)),)) for number in range(20))
    found: dict[int, str] = {}
    for _ in range(200):
        if not runner.left:
            break
        found |= {outcome.number: outcome.status for outcome in runner.take()}
    assert found == {number: "failed" if number == KILLER else "done" for number in range(20)}
    assert KILLER in cluster.alone


def test_a_late_node_of_another_version_is_left_alone(
    cluster: _Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(found: dict[str, str], address: str) -> None:
        if address == "n2":
            raise ClusterError("node n2 has another Lanewise")

    monkeypatch.setattr(module, "check_versions", check)
    notes: list[str] = []
    runner = _runner(cluster, notes)
    runner.give(Point(number, ()) for number in range(10, 40))
    found = runner.take()
    cluster.nodes["n2"] = 2
    runner._look_at = 0.0
    while runner.left:
        found += runner.take()
        runner._look_at = 0.0
    assert sorted(outcome.number for outcome in found) == list(range(10, 40))
    assert notes == ["a node that came late is left alone: node n2 has another Lanewise"]


def test_outcomes_that_came_before_an_error_are_returned_first(cluster: _Cluster) -> None:
    runner = _runner(cluster, [])
    runner.give(Point(number, ()) for number in range(10, 40))
    got = runner.take()
    answer: Future[Any] = Future()
    answer.set_exception(_TaskError("wrong"))
    while len(cluster.heard) < 1:
        cluster.step()
    cluster.heard.append((next(iter(runner._hosts)), answer))
    got += runner.take()
    assert got
    with pytest.raises(ClusterError, match="wrong"):
        runner.take()


def test_a_head_that_does_not_answer_is_told_once_and_asked_for_no_nodes(
    cluster: _Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = SimpleNamespace(up=True)
    monkeypatch.setattr(module, "head_address", lambda: ("head", 6379))
    monkeypatch.setattr(module, "answers", lambda host, port: head.up)
    notes: list[str] = []
    runner = _runner(cluster, notes)
    runner.give(Point(number, ()) for number in range(10, 40))
    found = runner.take()
    asked: list[None] = []
    nodes = sys.modules["ray"].nodes
    monkeypatch.setattr(sys.modules["ray"], "nodes", lambda: asked.append(None) or nodes())
    head.up = False
    for _ in range(3):
        runner._look_at = 0.0
        found += runner.take()
    assert asked == []
    (note,) = notes
    assert note.startswith("the head of the cluster does not answer: after a minute")
    head.up = True
    runner._look_at = 0.0
    while runner.left:
        found += runner.take()
    assert asked, "it is back"
    assert sorted(outcome.number for outcome in found) == list(range(10, 40))
    assert len(notes) == 1
