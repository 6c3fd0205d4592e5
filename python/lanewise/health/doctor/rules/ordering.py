"""Relaxed Ordering that is off where it helps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PERFORMANCE, Bearing, Rule, rule
from lanewise.health.doctor.rig import Leaf, Rig, Trial

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

_SLOW_RELAXED_ROOT_PORTS = frozenset([*range(0x6F01, 0x6F0F), *range(0x2F01, 0x2F0F)])
"""Root ports of Haswell and Broadwell servers: Linux switches it off below them (drivers/pci/quirks.c)."""

_WORTH_GB_PER_S = 12.0
"""Assumed: on narrower links in-order writes keep up with any host."""

RELAXED = Rule(
    id="relaxed-ordering-off",
    what="Relaxed Ordering is off on a network adapter, InfiniBand adapter or GPU with a fast link.",
    why="Without it every write waits for the one before at the host, and completions wait behind writes. "
    "On hosts with several dies per socket, this has been seen to cost adapters of 100 Gb/s and more a good "
    "part of their rate.",
    severity="info",
    cost="simulated: reads and writes at once, strictly ordered and relaxed; what the host adds by itself "
    "is not included",
    fix="Let the driver set it (for mlx5 `mlxconfig ... PCI_WR_ORDERING=1`, for others a module option), "
    "unless an erratum of the root port forbids it.",
    references=("PCIe Base 5.0 §2.4 (Transaction Ordering)", "§7.5.3.4 (Enable Relaxed Ordering)"),
    not_said="Root ports of Haswell and Broadwell servers, where an erratum makes relaxed writes slow and "
    "Linux switches them off.",
    bearing=Bearing.EXPLAINS,
    profiles=PERFORMANCE,
)


@rule(RELAXED)
def strict_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find fast devices that may not relax."""
    for function in view.devices:
        rate = view.possible_rate(function)
        gains = function.is_nic or view.is_compute_gpu(function)
        if (
            function.transfers.relaxed_ordering is not False
            or not gains
            or rate is None
            or rate < _WORTH_GB_PER_S
        ):
            continue
        root = view.machine.root_port(function)
        if (
            root is not None
            and root.identity.vendor_id == 0x8086
            and root.identity.device_id in _SLOW_RELAXED_ROOT_PORTS
        ):
            continue
        yield this.finding(
            Severity.INFO,
            function.address.short,
            f"{function.address.short} must keep all its requests in order",
            [f"{function.address.short} DevCtl: RlxdOrd- ({function.name})"],
            trial=_trial(view, function),
        )


def _trial(view: View, function: Function) -> Trial | None:
    lanes = view.leaf_lanes(function)
    if lanes is None:
        return None
    leaf = Leaf(lanes, "both", mrrs=view.reads(function), tag_bits=view.tag_bits(function))
    as_is = Rig((), (leaf,), mps=view.payload(function))
    fixed = replace(as_is, leaves=(replace(leaf, relaxed_ordering=True),))
    return Trial(as_is, fixed, "reads and writes at once", own=view.own_rate(function))
