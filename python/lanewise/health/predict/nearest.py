"""Which network adapter to use for which GPU: the nearest, and of those the one that leaves a GPU most.

For each GPU only adapters with the shortest way (PIX before PXB, and so on) come into question. GPUs with the
fewest of them choose first, and each takes the adapter that would give it most, its rate shared by all that
use it. So each GPU gets its own where there are enough that are about as fast; a fast adapter is shared where
that still gives each GPU more than a slow one would. Of adapters that give as much, or whose rates are not
known, the one with the fewest users is taken. Sets of nearest adapters lie within each other, as
what is below ports of a tree does, so this order leaves none without that could have one.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from lanewise.machine.path_type import PathType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lanewise.documents import PredictPeersAdapter
    from lanewise.health.predict.pairs import Pair


@dataclass(frozen=True, kw_only=True)
class Adapter:
    """The network adapter to use for a GPU."""

    gpu: str
    """Address of the GPU."""
    nic: str
    """Address of the adapter."""
    path: str
    """The way between the two: PIX, PXB, PHB, NODE or SYS."""
    write_gb_per_s: float | None
    """What the adapter writes into the GPU by itself: what it receives. 10⁹ B/s."""
    read_gb_per_s: float | None
    """What the adapter reads from the GPU by itself: what it sends. 10⁹ B/s."""
    shared_by: int
    """GPUs that this adapter is the choice for."""
    as_near: tuple[str, ...]
    """Addresses of other adapters with a way as short."""

    def document(self) -> PredictPeersAdapter:
        """Return the choice as JSON has it."""
        return cast("PredictPeersAdapter", {**vars(self), "as_near": list(self.as_near)})


def nearest_adapters(pairs: Iterable[Pair], gpus: Iterable[str]) -> tuple[Adapter, ...]:
    """Choose for each of the GPUs, which are addresses; `pairs` are of adapters with GPUs."""
    near = {gpu: _nearest([pair for pair in pairs if pair.peer == gpu]) for gpu in gpus}
    chosen = _chosen(near)
    users = Counter(pair.device for pair in chosen.values())
    return tuple(
        Adapter(
            gpu=gpu,
            nic=(pair := chosen[gpu]).device,
            path=pair.path,
            write_gb_per_s=pair.write_gb_per_s,
            read_gb_per_s=pair.read_gb_per_s,
            shared_by=users[pair.device],
            as_near=tuple(other.device for other in near[gpu] if other is not pair),
        )
        for gpu in near
        if gpu in chosen
    )


def _nearest(pairs: list[Pair]) -> list[Pair]:
    """Return the pairs with the shortest way, in their order."""
    shortest = min((PathType(pair.path).rank for pair in pairs), default=0)
    return [pair for pair in pairs if PathType(pair.path).rank == shortest]


def _chosen(near: Mapping[str, list[Pair]]) -> dict[str, Pair]:
    chosen: dict[str, Pair] = {}
    users: Counter[str] = Counter()
    for gpu, pairs in sorted(near.items(), key=lambda item: len(item[1])):
        if not pairs:
            continue
        best = max(pairs, key=lambda pair: _worth(pair, users[pair.device]))
        chosen[gpu] = best
        users[best.device] += 1
    return chosen


def _worth(pair: Pair, users: int) -> tuple[float, int]:
    """Return what an adapter gives to one more GPU; where that is alike, fewer users come first."""
    return pair.slower_gb_per_s / (users + 1), -users
