"""How fast the simulator is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.cli.tables import style

if TYPE_CHECKING:
    from lanewise.results import BenchResult


NOTE = (
    "M is 10⁶; one TLP over one link is one hop; audits of what is conserved are part of the wall time; "
    "x2 is on two threads, after the same on one"
)


def print_bench(result: BenchResult) -> None:
    """Print one line per benchmark."""
    table = style.table()
    style.labels(table, "\nbenchmark")
    style.numbers(
        table, "M TLP\nhops/s", "M\nevents/s", "simulated\nms", "wall\ns", "audits\n%", "bytes per\nidle port"
    )
    style.numbers(table, "times as fast\nas one thread")
    for row in result.benchmarks.iter_rows(named=True):
        table.add_row(
            row["benchmark"],
            style.fixed(row["tlp_hops_per_s"] / 1e6, 2),
            style.fixed(row["events_per_s"] / 1e6, 2),
            style.fixed(row["simulated_s"] * 1e3, 2),
            style.fixed(row["wall_s"], 2),
            style.fixed(row["audit_percent"], 2),
            style.fixed(row["bytes_per_idle_port"], 0),
            "" if row["speedup"] is None else style.fixed(row["speedup"], 2),
        )
    style.emit(style.titled("Speed", table, note=NOTE))
