"""What a run says in the terms of a benchmark: its instruments as the tools themselves report, or its flows.

A workload that is an instrument (``fio``, ``perftest`` and others) is written as its tool would, and read as
a real output is, so that both are matched alike. A plain flow is matched by the way of its bytes on the link
of its device, by the size of its transfers, and by the class of the device where the scenario tells it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.alike_names import together
from lanewise.errors import InputError
from lanewise.grouping import grouped, same_number
from lanewise.health.judge.detect import parse_measurement
from lanewise.health.judge.matching import class_of
from lanewise.side_by_side.found import Found, of_measurement
from lanewise.tools.instruments.native import WRITTEN, kind_of_workload, write_as
from lanewise.tools.instruments.simulated import size_in_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lanewise.columns import Row
    from lanewise.results import ExplainResult, RunResult
    from lanewise.tools.instruments.measurement import Measurement

_OF_CLASSES = {
    "nvme.": "is_storage",
    "rdma.": "is_nic",
    "ethernet.": "is_nic",
    "copy_engine.": "is_gpu",
    "kernel.": "is_gpu",
}
"""What devices of a class have among their parameters."""
_NUMBER = re.compile(r"(\d{1,6})\]?$")
"""Of a component that is one of several."""
_COPIES = {"host-to-device": "read", "device-to-host": "write"}
"""How the bytes of a copy go on the GPU's link."""


def as_measured(
    run: RunResult, explained: ExplainResult | None, tools: Sequence[str]
) -> tuple[list[Found], list[Measurement]]:
    """Return what a run says beside outputs of these tools, and the outputs that it was written as."""
    outputs = list(_as_outputs(run, explained, tools))
    if outputs:
        return [found for output in outputs for found in of_measurement(output)], outputs
    return of_flows(run, explained), []


def _as_outputs(
    run: RunResult, explained: ExplainResult | None, tools: Sequence[str]
) -> Iterator[Measurement]:
    """Write the instruments of a run as their tools do: of these tools, else of tools of their class."""
    if explained is None:
        return
    kinds = {instrument["kind"] for instrument in run.document["instruments"]}
    there = [tool for tool in WRITTEN if kind_of_workload(tool) in kinds]
    same = [tool for tool in there if tool in tools]
    classes = {class_of(tool) for tool in tools}
    for tool in same or [tool for tool in there if class_of(tool) in classes]:
        try:
            yield parse_measurement(write_as(tool, run, explained), source=run.title)
        except InputError:
            # Nothing was measured in the time of the run: what flowed is still known.
            continue


def of_flows(run: RunResult, explained: ExplainResult | None) -> list[Found]:
    """Return the flows of a run that moved anything, those alike together."""
    values = (
        {}
        if explained is None
        else {row["path"]: str(row["value"]) for row in explained.document["parameters"]}
    )
    rows = [row for row in run.flows_to_show.iter_rows(named=True) if row["direction"] != "control"]
    groups = grouped(
        rows,
        lambda row: (row["flow"].partition(" ")[0], row["direction"]),
        lambda one, other: same_number(one["goodput_gb_per_s"], other["goodput_gb_per_s"]),
    )
    return [_flow(group, values) for group in groups]


def _flow(group: Sequence[Row], values: Mapping[str, str]) -> Found:
    row = group[0]
    workload = f"workload.{row['flow'].partition(' ')[0]}."
    depth = values.get(f"{workload}outstanding", "")
    direction = row["direction"]
    # Of other workloads, reads are those of a user: they are matched as what their tools print, or not.
    is_plain = depth != "" and f"{workload}target" in values
    return Found(
        name=together([each["flow"] for each in group]),
        direction=direction,
        target=together(list(dict.fromkeys(each["device"] for each in group))),
        size_bytes=size_in_bytes(values.get(f"{workload}size", "")),
        queue_depth=int(depth) if depth.isdecimal() else None,
        gb_per_s=row["goodput_gb_per_s"],
        operations_per_s=row["operations_per_s"],
        latency_ns_mean=row["latency_ns_mean"],
        latency_ns_p99=row["latency_ns_p99"],
        kind=_class_of(row["device"], values),
        on_link=_COPIES.get(direction, direction if is_plain and direction in ("read", "write") else None),
        ends=_ends(row["device"], values.get(f"{workload}target", "")),
        alike=len(group),
    )


def _ends(device: str, target: str) -> tuple[int, ...] | None:
    """Return the numbers of the devices of a copy between two; none of one from or to memory."""
    if target in ("", "none", "memory"):
        return ()
    numbers = [_NUMBER.search(name) for name in (device, target)]
    return tuple(int(number[1]) for number in numbers if number) if all(numbers) else None


def _class_of(device: str, values: Mapping[str, str]) -> str | None:
    """Return the class of a device by the parameters that it has; None where they fit several or none."""
    name = device.partition("+")[0].partition("[")[0]
    found = {
        kind for start, kind in _OF_CLASSES.items() if any(p.startswith(f"{name}.{start}") for p in values)
    }
    return found.pop() if len(found) == 1 else None
