"""Flows before, during and after each change of the machine, such as a drive that changes hosts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.cli.tables import style

if TYPE_CHECKING:
    from rich.console import Group

    from lanewise.results import RunResult

_MOST_PHASES = 12


def phases_table(result: RunResult) -> Group:
    """Make a table with a section for each phase and a row for each flow that moves data in any of them."""
    import polars as pl

    flows = result.phases.filter(pl.col("direction") != "control")
    moving = flows.filter(pl.col("payload_bytes") > 0).select("flow", "device", "direction").unique()
    flows = flows.join(moving, on=["flow", "device", "direction"], how="semi")
    table = style.table()
    style.words(table, "phase")
    style.numbers(table, "from", "to")
    style.words(table, "flow")
    style.labels(table, "direction")
    style.numbers(table, "GB/s", "operations/s")
    phases = flows.partition_by("start_s", maintain_order=True)
    for phase in phases[:_MOST_PHASES]:
        for row, flow in enumerate(phase.iter_rows(named=True)):
            first = row == 0
            table.add_row(
                flow["phase"] if first else "",
                style.fixed(1e3 * flow["start_s"], 3) if first else "",
                style.fixed(1e3 * flow["end_s"], 3) if first else "",
                flow["flow"],
                flow["direction"],
                style.fixed(flow["goodput_gb_per_s"], 3),
                style.fixed(flow["operations_per_s"], 0),
            )
        table.add_section()
    left_out = len(phases) - _MOST_PHASES
    more = f"; {left_out} more with --json" if left_out > 0 else ""
    return style.titled("Phases", table, note=f"ms of simulated time{more}")
