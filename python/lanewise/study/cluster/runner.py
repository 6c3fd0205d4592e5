"""Points shared among hosts of a cluster. What a lost host had in its hands is run again elsewhere.

A host has one call under way at any time, which takes points and gives outcomes; `shares.py` says how many.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

from lanewise.study.cluster.host import MOST_CORES, host_class
from lanewise.study.cluster.session import answers, connect, head_address
from lanewise.study.cluster.shares import gather_s, share
from lanewise.study.cluster.versions import ClusterError, check_versions
from lanewise.study.runner import MOST_TRIES
from lanewise.study.worker import Outcome

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from concurrent.futures import Future

    from lanewise.study.points import Point
    from lanewise.study.worker import Work

_LOOK_S = 5.0
"""How often nodes are looked for that have come."""

_PATIENCE_S = 300.0
"""Assumed: others may hold all cores of the cluster for so long before that is an error."""

_MOST_STARTS = 3
"""Hosts of a node that end before they say anything, until the node is left alone."""

_LATELY = 0.3
"""Weight of the newest points in how long one takes."""


@dataclass(eq=False)
class _Host:
    actor: Any
    node: str
    address: str
    cores: int
    points: dict[int, Point] = field(default_factory=dict)
    point_s: float | None = None
    """A point takes so long here, lately."""
    then: Callable[[_Host, Any], None] | None = None
    """Takes the answer to the call that is under way."""
    is_greeted: bool = False
    is_late: bool = False
    """Whether it was started once others had been."""
    is_alone: bool = False
    """Whether what it has is a suspect with nothing beside it on its node."""


_ACTOR = re.compile(r"\b[Tt]he actor\b(?: [0-9a-f]{32})?")

_Answer: TypeAlias = "tuple[_Host, Future[Any]]"


class ClusterRunner:
    """Runs points on a Ray cluster; a `Runner`."""

    def __init__(
        self,
        work: Work,
        address: str,
        processes: int | None = None,
        on_note: Callable[[str], None] | None = None,
    ) -> None:
        """Connect; `processes` are at most so many on each node.

        `on_note` hears of hosts that are lost. Raises MissingPackageError and ClusterError as `connect` does.
        """
        self._work = work
        self._processes = processes
        self._note = on_note or (lambda _: None)
        self._waiting: deque[Point] = deque()
        self._suspects: deque[Point] = deque()
        """Lost with others all times but one: each has a node for itself now, and pays for no other one."""
        self._for_one: dict[str, _Host] = {}
        """Nodes that finish what they have, and then run a suspect on this host and nothing beside it."""
        self._found: list[Outcome] = []
        self._tries: Counter[int] = Counter()
        self._hosts: dict[_Host, None] = {}
        """In the order in which they came. What they have together is counted, as there may be thousands."""
        self._cores = 0
        self._cores_of: Counter[str] = Counter()
        """By node."""
        self._error: ClusterError | None = None
        """To be raised once what was found before it has been taken."""
        self._has_started = False
        self._in_flight = 0
        self._bad_starts: Counter[str] = Counter()
        self._last_loss = ""
        self._answers: SimpleQueue[_Answer] = SimpleQueue()
        self._look_at = 0.0
        self._heard_at = monotonic()
        self._let_go = connect(address, processes)
        self._head = head_address()
        self._head_answers = True

    @property
    def left(self) -> int:
        """Points without an outcome yet, and outcomes that were not taken."""
        return len(self._found) + self._unfinished

    @property
    def _unfinished(self) -> int:
        return len(self._waiting) + len(self._suspects) + self._in_flight

    def give(self, points: Iterable[Point]) -> None:
        """Run these, too."""
        self._waiting.extend(points)
        self._look_at = 0.0
        self._feed_idle()

    def take(self, timeout_s: float | None = None) -> list[Outcome]:
        """Return what has come, and wait for the first of it; nothing when the time is over or none is left.

        ClusterError for a node with another Ray or Lanewise that is there from the start, and when no node is
        left; outcomes that came before it are returned first, and the next call raises it.
        """
        until = math.inf if timeout_s is None else monotonic() + max(timeout_s, 0.0)
        while not self._found and self._unfinished and self._error is None:
            self._look_for_nodes()
            try:
                answer = self._answers.get(timeout=max(min(until, self._look_at) - monotonic(), 0.0))
            except Empty:
                if monotonic() >= until:
                    break
                continue
            self._hear_out(*answer)
        while not self._answers.empty():
            self._hear_out(*self._answers.get())
        if self._error is not None and not self._found:
            raise self._error
        found, self._found = self._found, []
        return found

    def end(self) -> None:
        """End the hosts, and let go of the cluster."""
        import ray

        for host in self._hosts:
            with suppress(Exception):
                ray.kill(host.actor)
        self._hosts.clear()
        self._for_one.clear()
        self._let_go()

    # Hosts come and go.

    def _look_for_nodes(self) -> None:
        """Start hosts where nodes have room for one, now and then."""
        if monotonic() < self._look_at:
            return
        self._look_at = monotonic() + _LOOK_S
        import ray

        if not self._hears_of_nodes():
            return
        for node in ray.nodes():
            if node["Alive"] and self._bad_starts[node["NodeID"]] < _MOST_STARTS:
                self._start_on(node)
        self._has_started = self._has_started or bool(self._hosts)
        if not self._hosts:
            why = f" ({self._last_loss})" if self._last_loss else ""
            raise ClusterError(
                f"no node of the cluster runs points{why}; {self._unfinished} are not finished"
            )
        if not any(host.is_greeted for host in self._hosts) and monotonic() - self._heard_at > _PATIENCE_S:
            raise ClusterError(f"none of the cluster's {self._cores} cores came free in {_PATIENCE_S:.0f} s")

    def _hears_of_nodes(self) -> bool:
        """Whether the head of the cluster answers; a question about nodes would wait for it.

        It may come back. Ray ends a process that is without it for a minute, and nothing in here can say why
        then.
        """
        answered, self._head_answers = self._head_answers, self._head is None or answers(*self._head)
        if answered and not self._head_answers:
            self._note(
                "the head of the cluster does not answer: after a minute without it Ray ends this process, "
                "with exit status 1. What is finished is kept, and the same command continues from there"
            )
        return self._head_answers

    def _start_on(self, node: Mapping[str, Any]) -> None:
        """Start hosts on all cores of a node that have none, as far as there are points for them."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        name, all_cores = node["NodeID"], int(node["Resources"].get("CPU", 0))
        free = min(all_cores, self._processes or all_cores)
        free -= self._cores_of[name]
        while free > 0 and self._cores < self._unfinished:
            cores = min(free, MOST_CORES)
            free -= cores
            placed = NodeAffinitySchedulingStrategy(node_id=name, soft=False)
            actor = ray.remote(host_class()).options(num_cpus=cores, scheduling_strategy=placed).remote()
            host = _Host(actor, name, node["NodeManagerAddress"], cores, is_late=self._has_started)
            self._hosts[host] = None
            self._cores += cores
            self._cores_of[name] += cores
            self._call(host, "versions", then=self._greeted)

    def _greeted(self, host: _Host, found: Mapping[str, str | None]) -> None:
        try:
            check_versions(found, host.address)
        except ClusterError as error:
            if not host.is_late:
                raise
            self._leave_alone(host, error)
            return
        host.is_greeted = True
        self._bad_starts[host.node] = 0
        self._call(host, "begin", self._work, host.cores, then=lambda host, _: self._feed(host))

    def _leave_alone(self, host: _Host, error: ClusterError) -> None:
        """Do without a node that came late and cannot be used: the study goes on with the others."""
        self._drop(host)
        if self._bad_starts[host.node] < _MOST_STARTS:
            self._note(f"a node that came late is left alone: {error}")
        self._bad_starts[host.node] = _MOST_STARTS
        self._last_loss = str(error)

    def _drop(self, host: _Host) -> None:
        import ray

        del self._hosts[host]
        self._cores -= host.cores
        self._cores_of[host.node] -= host.cores
        self._in_flight -= len(host.points)
        if self._for_one.get(host.node) is host:
            del self._for_one[host.node]
        with suppress(Exception):
            ray.kill(host.actor)

    def _lost(self, host: _Host, error: Exception) -> None:
        """Do without a host: what it had in its hands is run again, or given up.

        A point is given up only if it was lost with nothing beside it on its node: others may have taken the
        node with them.
        """
        self._drop(host)
        self._bad_starts[host.node] += not host.is_greeted
        for point in reversed(host.points.values()):
            most = MOST_TRIES if host.is_alone else MOST_TRIES - 1
            tries = min(self._tries[point.number] + 1, most)
            self._tries[point.number] = tries
            if tries >= MOST_TRIES:
                said = f"what ran it was lost {MOST_TRIES} times, the last time on {host.address}"
                self._found.append(Outcome(point.number, "failed", {}, said, overrides=point.overrides))
            elif tries == MOST_TRIES - 1:
                self._suspects.append(point)
            else:
                self._waiting.appendleft(point)
        if host.points:
            self._note(f"{host.address} was lost ({_reason(error)}): {len(host.points)} points are run again")
        self._last_loss = f"{host.address}: {_reason(error)}"
        self._look_at = 0.0
        self._feed_idle()

    # Calls go out, and answers come back.

    def _call(self, host: _Host, method: str, *given: object, then: Callable[[_Host, Any], None]) -> None:
        host.then = then
        answer = getattr(host.actor, method).remote(*given).future()
        answer.add_done_callback(lambda future: self._answers.put((host, future)))

    def _hear_out(self, host: _Host, answer: Future[Any]) -> None:
        """Hear an answer, and keep an error for when all that was found is taken."""
        try:
            self._hear(host, answer)
        except ClusterError as error:
            self._error = self._error or error

    def _hear(self, host: _Host, answer: Future[Any]) -> None:
        from ray.exceptions import RayError, RayTaskError

        if host not in self._hosts:
            return
        try:
            found = answer.result()
        except RayTaskError as error:
            raise ClusterError(f"a host on {host.address} failed: {_reason(error)}") from error
        except RayError as error:
            self._lost(host, error)
            return
        self._heard_at = monotonic()
        then, host.then = host.then, None
        assert then is not None
        then(host, found)

    def _exchanged(self, host: _Host, found: Iterable[tuple[Any, ...]]) -> None:
        walls = []
        for number, status, row, error, wall_s in found:
            overrides = host.points.pop(number).overrides
            self._in_flight -= 1
            self._found.append(Outcome(number, status, row, error, wall_s, overrides))
            walls.append(wall_s)
        if walls:
            mean_s = sum(walls) / len(walls)
            before_s = mean_s if host.point_s is None else host.point_s
            host.point_s = before_s + _LATELY * (mean_s - before_s)
        is_kept_free = host.node in self._for_one
        self._feed(host)
        if is_kept_free:
            # A suspect may wait for this host to be done, or others for the suspect.
            self._feed_idle()

    def _feed_idle(self) -> None:
        """Feed hosts that do nothing; those of suspects first, as others of their nodes may wait for them."""
        kept_free = list(self._for_one.values())
        for host in (*kept_free, *(host for host in list(self._hosts) if host not in kept_free)):
            if host.is_greeted and host.then is None:
                self._feed(host)

    def _feed(self, host: _Host) -> None:
        """Give a host its next points, and hear of those that it has; nothing where there are none."""
        points = self._next_of(host)
        if not points and not host.points:
            return
        host.points |= {point.number: point for point in points}
        self._in_flight += len(points)
        given = [(point.number, point.overrides) for point in points]
        self._call(host, "exchange", given, gather_s(len(self._hosts)), then=self._exchanged)

    def _next_of(self, host: _Host) -> list[Point]:
        node = host.node
        if node not in self._for_one and len(self._for_one) < len(self._suspects):
            self._for_one[node] = host
        if node in self._for_one:
            if self._for_one[node] is not host or host.points:
                return []
            if self._suspects:
                if any(each.points for each in self._hosts if each.node == node):
                    return []
                host.is_alone = True
                return [self._suspects.popleft()]
            del self._for_one[node]
            host.is_alone = False
        count = share(
            cores=host.cores,
            in_hand=len(host.points),
            point_s=host.point_s,
            waiting=len(self._waiting),
            hosts=len(self._hosts),
            all_cores=self._cores,
        )
        return [self._waiting.popleft() for _ in range(count)]


def _reason(error: Exception) -> str:
    """Return the first line of what Ray says, without what names its actors."""
    cause = getattr(error, "cause", None)
    text = f"{type(cause).__name__}: {cause}" if isinstance(cause, Exception) else str(error)
    line = _ACTOR.sub("its process", text.strip().partition("\n")[0]).rstrip(".: ")
    return textwrap.shorten(line, 120, placeholder=" …") or type(error).__name__
