"""What devices of one kind are compared by: how their links run.

Where another rule tells of a link, and where an idle GPU lowered its speed, there is no value to compare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lanewise.health.doctor import alike
from lanewise.health.doctor.finding import Severity
from lanewise.machine.model import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

MANY = 4
"""GPUs of a server, or adapters for RDMA, of a kind that have slots alike: hosts are built for so many.
Assumed."""

_ROUNDING = 0.02
"""By how much two ends of one link differ that run alike: hwloc rounds."""


class Trait(NamedTuple):
    """What devices of a kind are compared by."""

    what: str
    value: Callable[[View, Function], Hashable]
    words: Callable[[Hashable], str]
    worse: Callable[[Hashable, Hashable], bool]
    """Whether a value is a loss against the usual one."""
    fewest: int = alike.FEWEST
    """Devices that it takes to call one of them odd."""
    of_two: Callable[[View, Function, Hashable, Hashable], Severity | None] | None = None
    """How bad the worse value is where only two devices are compared; None: two say nothing."""


def speed(view: View, function: Function) -> Hashable:
    """Return how fast a link runs, in GT/s, where no other rule tells of it."""
    return None if function.link.bandwidth_gb_s else alike.link_speed(view, function)


def top_speed(view: View, function: Function) -> Hashable:
    """Return the most that a GPU of a server and its slot can do together, in GT/s."""
    if function.link.bandwidth_gb_s or not (
        view.stands_for_device(function) and is_of_a_server(view, function)
    ):
        return None
    link = view.machine.link_above(function)
    if link is None:
        return function.link.capability.gt_s
    return link.limit.gt_s if view.is_wire(link) else None


def width(view: View, function: Function) -> Hashable:
    """Return how many lanes a link has, where no other rule tells of it."""
    if function.link.bandwidth_gb_s:
        return None
    link = view.machine.link_above(function)
    if not view.stands_for_device(function) or (link is not None and not view.is_wire(link)):
        return None
    if function.link.said_of_width == "downgraded" and function.link.capability.width is None:
        # `link-downgraded` tells of it.
        return None
    if link is None:
        return function.link.status.width or None
    return None if link.below_width else link.now.width or None


def _bandwidth(view: View, function: Function) -> Hashable:
    """Return what hwloc tells of a link, in GB/s; 0 where it does not know that of this one."""
    if not (view.stands_for_device(function) and view.tells_bandwidths):
        return None
    link = view.machine.link_above(function)
    ends = (function, *((link.upper,) if link is not None else ()))
    return min((end.link.bandwidth_gb_s for end in ends if end.link.bandwidth_gb_s), default=0.0)


def _own_bandwidth(view: View, function: Function) -> Hashable:
    """Return what hwloc tells of a device's own end, where the port above says something else."""
    link, own = view.machine.link_above(function), function.link.bandwidth_gb_s
    port = link.upper.link.bandwidth_gb_s if link is not None else None
    return own if own and port and abs(own - port) > _ROUNDING * own else None


def is_of_a_server(view: View, function: Function) -> bool:
    """Whether a GPU is of a kind that servers have in equal slots: without a display, or below a switch.

    Boards of workstations have slots of 16 and of 8 lanes for the same cards.
    """
    if not view.is_compute_gpu(function):
        return False
    link = view.physical_link(function)
    shared = link is not None and link.upper.kind is Kind.DOWNSTREAM_PORT
    return shared or not function.has_display


def less(value: Hashable, usual: Hashable) -> bool:
    """Whether a number is below the usual one."""
    return isinstance(value, int | float) and isinstance(usual, int | float) and value < usual


def _slower(value: Hashable, usual: Hashable) -> bool:
    return isinstance(value, float) and isinstance(usual, float) and 0 < value < usual


def noted(_view: View, _function: Function, _value: Hashable, _theirs: Hashable) -> Severity | None:
    """Say that the worse of two is worth a note."""
    return Severity.INFO


def _gb_per_s(value: Hashable) -> str:
    return f"{value:.1f} GB/s" if value and isinstance(value, float) else "unknown"


def gt_per_s(value: Hashable) -> str:
    """Print a speed as `lspci` does."""
    return f"{value:g}GT/s" if isinstance(value, float) else "?"


OF_LINKS = (
    Trait(
        "link speed",
        speed,
        gt_per_s,
        less,
    ),
    Trait("link width", width, lambda value: f"x{value}", less),
    Trait("link bandwidth", _bandwidth, _gb_per_s, _slower, of_two=noted),
    Trait("bandwidth of its end of the link", _own_bandwidth, _gb_per_s, _slower, of_two=noted),
)
