"""What `predict` runs with all devices at once, as a scenario file: both routes to it give one answer.

Left out are devices that `predict` says nothing of, and those whose way to the root is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.predict.benchmarks import benchmarks_of
from lanewise.health.predict.wire import pace
from lanewise.machine.missing_ports import with_missing_ports
from lanewise.machine.scenario import endpoint_name, scan_to_scenario
from lanewise.machine.view import View
from lanewise.machine.ways import Ways

if TYPE_CHECKING:
    from lanewise.machine.model import Machine
    from lanewise.scenario.tables import Run

MOST_TOGETHER = 64
"""Devices that are at work at once; machines with more get the first so many."""


def scenario_of(machine: Machine, direction: str = "write") -> str:
    """Write a machine with the benchmark of each device that `predict` runs with all at once.

    `direction` is that of the data: "write" towards the host, "read" from it; or "both", which `predict` does
    not run: plain DMA both ways by every device whose link is known. That is also written where no device has
    a benchmark. Raises `InputError` when no link of the machine is known well enough.
    """
    if direction == "both":
        return scan_to_scenario(machine)
    machine, _ = with_missing_ports(machine)
    known = {function.address for function in Ways(machine, {}).choose(None)}
    devices = [function for function in View(machine).devices_in_any_slot if function.address in known]
    every = [benchmark for function in devices for benchmark in benchmarks_of(function, [])]
    chosen = [each for each in every if each.together and each.direction == direction][:MOST_TOGETHER]
    if not chosen:
        return scan_to_scenario(machine)
    slowest = max(chosen, key=lambda benchmark: benchmark.settle_us)
    run: Run = {
        "warm_up": f"{slowest.settle_us} us",
        "time_limit": f"{slowest.settle_us + slowest.measure_us} us",
    }
    settings: dict[str, list[tuple[str, str]]] = {}
    for benchmark in chosen:
        for path, value in (*benchmark.overrides, *pace(machine, benchmark)):
            name, _, key = path.partition(".")
            assert name == endpoint_name(benchmark.function)
            settings.setdefault(name, []).append((key, value))
    return scan_to_scenario(
        machine,
        endpoints=[benchmark.function.address for benchmark in chosen],
        workload=[benchmark.workload for benchmark in chosen],
        run=run,
        settings=settings,
    )
