"""The job of `heap.rs` with SimPy: links are processes, queues and credits its stores and containers."""

from __future__ import annotations

import json
import time
from collections.abc import Generator
from typing import Any

import simpy

# Nanoseconds: a TLP of 256 B with header and framing at Gen3 x8, a DLLP, the ways through pins and switch.
TLP, DLLP, PROPAGATION, SWITCH = 35.0, 1.0, 5.0, 150.0
CREDITS = 32
HOPS = 20_000

Steps = Generator[Any, Any, None]


class Link:
    """A link towards the root, and the queue in front of it; an endpoint needs none, it always has more."""

    def __init__(self, tree: Tree, above: Link | None, *, endpoint: bool) -> None:
        self.tree, self.above = tree, above
        self.queue = None if endpoint else simpy.Store(tree.env)
        self.room = simpy.Container(tree.env, capacity=CREDITS, init=CREDITS)
        self.back = simpy.Resource(tree.env)
        self.unacknowledged = 0
        tree.env.process(self.send())

    def send(self) -> Steps:
        env = self.tree.env
        while True:
            sender = (yield self.queue.get()) if self.queue else None
            yield self.room.get(1)
            self.unacknowledged += 1
            yield env.timeout(TLP)
            if sender:
                env.process(sender.credit())
            env.process(self.arrive())

    def arrive(self) -> Steps:
        yield self.tree.env.timeout(PROPAGATION)
        self.tree.hops += 1
        self.tree.env.process(self.acknowledge())
        if self.above is None:
            self.tree.env.process(self.credit())
        else:
            yield self.tree.env.timeout(SWITCH)
            yield self.above.queue.put(self)

    def answer(self) -> Steps:
        with self.back.request() as wire:
            yield wire
            yield self.tree.env.timeout(DLLP)
        yield self.tree.env.timeout(PROPAGATION)

    def acknowledge(self) -> Steps:
        yield from self.answer()
        self.unacknowledged -= 1

    def credit(self) -> Steps:
        yield from self.answer()
        yield self.room.put(1)


class Tree:
    """So many links below each of the level above; the last are those of endpoints."""

    def __init__(self, fan_out: list[int]) -> None:
        self.env = simpy.Environment()
        self.hops = 0
        above: list[Link | None] = [None]
        for level, count in enumerate(fan_out):
            endpoint = level + 1 == len(fan_out)
            above = [Link(self, link, endpoint=endpoint) for link in above for _ in range(count)]

    def run(self, hops: int) -> None:
        while self.hops < hops:
            self.env.step()


for job, fan_out in {"chain": [1, 1], "8 endpoints": [1, 8], "512 endpoints": [4, 8, 16]}.items():
    tree = Tree(fan_out)
    tree.run(HOPS // 8)
    hops, started = tree.hops, time.perf_counter()
    tree.run(hops + HOPS)
    wall_s = time.perf_counter() - started
    print(json.dumps({"job": job, "hops": tree.hops - hops, "wall_s": round(wall_s, 6)}))
