"""Results that are no more than the links of GPUs carry at the speed at which a dump shows them.

GPUs lower the speed of their link when they have nothing to do, so a prediction takes it that the speed comes
back under load. A result that the low speed allows, and no more, says that it did not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lanewise.machine.lanes import rate_of

if TYPE_CHECKING:
    from lanewise.health.predict.benchmarks import Benchmark
    from lanewise.machine.model import Machine


class Asleep(NamedTuple):
    """What the slowest link that seemed to sleep leaves of a prediction."""

    gb_per_s: float
    """What it carries of the benchmark at the speed of the dump."""
    said: str
    """That, in a sentence."""


def link_asleep(machine: Machine, benchmark: Benchmark, predicted: float) -> Asleep | None:
    """Return the slowest link on the way that is below its speed as those of idle GPUs are; None for none."""
    found = []
    functions = [function for function in (benchmark.function, benchmark.peer) if function is not None]
    rates = [rate_of(link.limit) for function in functions for link in machine.link_path(function)]
    # The prediction is that of the narrowest link, awake; what another sleeps at is a part of that.
    narrowest = min((rate for rate in rates if rate is not None), default=None)
    for function in (benchmark.function, benchmark.peer):
        for link in () if function is None else machine.link_path(function):
            now, full = rate_of(link.now), rate_of(link.limit)
            if link.on_die or not machine.is_slow_as_idle_gpus(link) or now is None or full is None:
                continue
            carries = predicted * min(1.0, now / min(full, narrowest or full))
            found.append(
                Asleep(
                    carries,
                    f"the link of {link.device.address.short} runs at {link.now} in the dump, which carries "
                    f"{carries:.2f} GB/s of this: its speed did not come back under load, as that of an idle "
                    "GPU does; take the dump while it is busy [gpu-link-idle]",
                )
            )
    return min(found, default=None)
