"""What the wire behind a network adapter carries of a benchmark's payload, from sizes of packets alone.

Upper limits: full rate, one direction never held back by the other, and the largest packets. What a packet
takes on its wire, the core says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise import _core
from lanewise.health.predict.benchmarks import LARGE, LONGEST_FRAME
from lanewise.machine.adapters import port_of
from lanewise.machine.scenario import endpoint_name

if TYPE_CHECKING:
    from lanewise.health.predict.benchmarks import Benchmark
    from lanewise.machine.adapters import Port
    from lanewise.machine.model import Machine

_MTU = 4096
"""Payload of an RDMA packet. Assumed: the largest, which Ethernet has with jumbo frames only."""


def carried_gb_per_s(machine: Machine, benchmark: Benchmark) -> tuple[float, Port] | None:
    """Return the most that the wire carries of a benchmark, and which; None where nobody knows the wire."""
    port = port_of(machine, benchmark.function)
    if port is None:
        return None
    ways = 2 if benchmark.direction == "both" else 1
    return ways * port.gb_per_s * _share(benchmark, port), port


def pace(machine: Machine, benchmark: Benchmark) -> tuple[tuple[str, str], ...]:
    """Return the override that keeps large transfers of an adapter to what its wire carries.

    As the rate of the adapter's own data path, which holds whatever the size of its packets turns out to be.
    """
    known = carried_gb_per_s(machine, benchmark)
    if known is None or benchmark.direction == "both" or benchmark.frame_bytes:
        return ()
    return ((f"{endpoint_name(benchmark.function)}.path_rate", f"{1000 * known[0]:.0f} MB/s"),)


def _share(benchmark: Benchmark, port: Port) -> float:
    size = benchmark.frame_bytes or LARGE
    if benchmark.frame_bytes and not benchmark.rdma:
        return _core.frames_carried(size)
    if not benchmark.function.does_rdma:
        return _core.frames_carried(LONGEST_FRAME)
    return _core.writes_carried(size, mtu_bytes=_MTU, infiniband=port.infiniband)
