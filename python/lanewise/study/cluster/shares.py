"""How many points a host is given, and for how long it gathers outcomes: numbers alone, without Ray.

A host holds a point for each of its cores, and ahead what it finishes until the call after the next, at the
rate that it has shown. So messages come by the second however short points are, and what is in flight is
bounded. Towards the end a host is given no more than its part of the rest, so that all are done at about the
same time.
"""

from __future__ import annotations

import math

WITHIN_S = 0.25
"""A host answers so long after the first outcome at the latest, where there are few hosts."""

CALL_S = 0.002
"""Of the driver, twice what a call takes there: docs/how-to/run-a-study-on-a-cluster.md has it measured."""

AHEAD_CALLS = 2.0
"""Of what a host finishes in a call, it holds so much ahead: one call's worth while the other one is on its
way."""

MOST_AHEAD = 4096
"""Points ahead of one host: a bound on the driver's memory, and on what is run again when the host is
lost."""


def gather_s(hosts: int) -> float:
    """Return for how long a host gathers outcomes: longer with many, so that the driver keeps up."""
    return max(WITHIN_S, hosts * CALL_S)


def share(
    *, cores: int, in_hand: int, point_s: float | None, waiting: int, hosts: int, all_cores: int
) -> int:
    """Return how many more points a host is given.

    It has so many cores and points in its hands; `point_s` is how long one takes there, None where that is
    not known yet. So many points wait for all hosts, which have so many cores together.
    """
    ahead = 0
    if point_s is not None:
        ahead = math.ceil(min(AHEAD_CALLS * gather_s(hosts) * cores / max(point_s, 1e-6), MOST_AHEAD))
    wanted = cores + ahead - in_hand
    fair = max(math.ceil(waiting * cores / max(all_cores, cores) / 2), cores - in_hand)
    return max(0, min(wanted, fair, waiting))
