"""Parts of one job put together: its clones, and tests at the same time, which report their own parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.tools.instruments.measurement import Case


def run_of(case: Case) -> tuple[object, ...]:
    """Return what jobs have in common that run at once: host, run, and group of fio."""
    return tuple(case.raw.get(name) for name in ("hostname", "document", "groupid"))


def summed(cases: Sequence[Case]) -> list[Case]:
    """Put clones of one job together, and tests at the same time: each reports its own part.

    Jobs of other hosts, of other runs, and of groups that fio runs one after another are no clones.
    """
    groups: dict[tuple[object, ...], list[Case]] = {}
    for number, case in enumerate(cases):
        is_part = "job options" in case.raw or "clone" in case.raw
        clone = case.bandwidth_bytes_per_s is not None and is_part
        at = map(str, run_of(case))
        key = (case.name, case.direction, case.target, case.block_bytes, *at) if clone else (number,)
        groups.setdefault(key, []).append(case)
    return [_sum(alike) if len(alike) > 1 else alike[0] for alike in groups.values()]


def _sum(alike: list[Case]) -> Case:
    first = alike[0]
    return replace(
        first,
        name=f"{first.name} ({len(alike)} {'clones' if first.options else 'at once'})",
        bandwidth_bytes_per_s=sum(case.bandwidth_bytes_per_s or 0.0 for case in alike),
        queue_depth=sum(case.queue_depth or 1 for case in alike),
        workers=sum(case.workers or 1 for case in alike),
    )
