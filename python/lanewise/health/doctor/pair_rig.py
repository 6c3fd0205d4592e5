"""Two devices that move data to each other, for pricing a finding, as `predict --peers` runs them.

Unlike a `Rig`, it is the machine's own tree, with what a prediction assumes of its host. Left out: devices
whose way to the root is not known; for those a rig of the customary parts stands in.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.health.predict.pair_benchmarks import exchange, large, small
from lanewise.health.predict.pairs import redirection
from lanewise.health.predict.simulator import prepared
from lanewise.machine.ways import Ways

if TYPE_CHECKING:
    from lanewise.health.doctor.rig import Source
    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Machine


@dataclass(frozen=True, eq=False)
class PairRig:
    """A device that writes into another, or both that do."""

    machine: Machine
    device: Address
    peer: Address
    redirected: bool | None = None
    """Whether the switch that joins the two sends them by the root port; None where none joins them."""
    both: bool = False
    """Whether the peer writes to the device at the same time."""
    one_at_a_time: bool = False
    """Whether the device writes 4 KiB, one after another, in place of much at a time."""

    def source(self) -> Source:
        """Make the text of the scenario, with devices by number, so that alike ones are the same."""
        machine = self.machine
        device, peer = machine[self.device], machine[self.peer]
        by_root = self.redirected
        overrides = () if by_root is None else redirection(machine, device, peer, redirect=by_root)
        if self.one_at_a_time:
            benchmark = small(device, peer, overrides)
        elif self.both:
            benchmark = exchange(device, peer, overrides)
        else:
            benchmark = large(device, peer, "write", overrides)
        rig = prepared(machine, benchmark.parties, benchmark.workloads, benchmark)
        return rig.text, tuple((rig.numbering.path(path), value) for path, value in overrides)


def pair_rig_is_known(machine: Machine, device: Function, peer: Function) -> bool:
    """Whether the ways of both devices to the root are known well enough."""
    return len(Ways(machine, {}).choose([device.address, peer.address])) == 2
