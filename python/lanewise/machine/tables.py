"""A machine as Polars tables: its functions, and its links.

Null always means: this source does not say. Speeds are GT/s per lane, sizes bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from lanewise.columns import frame

if TYPE_CHECKING:
    from lanewise.machine.model import Machine

_FUNCTION_COLUMNS = {
    "bdf": pl.String,
    "name": pl.String,
    "kind": pl.String,
    "parent": pl.String,
    "driver": pl.String,
    "numa_node": pl.Int64,
    "mps_bytes": pl.Int64,
    "mrrs_bytes": pl.Int64,
}
_LINK_COLUMNS = {
    "upper": pl.String,
    "lower": pl.String,
    "device": pl.String,
    "now_gt_s": pl.Float64,
    "now_width": pl.Int64,
    "limit_gt_s": pl.Float64,
    "limit_width": pl.Int64,
    "on_die": pl.Boolean,
}


def function_table(machine: Machine) -> pl.DataFrame:
    """Return one row per function, by address; kinds are stated or inferred."""
    rows = (
        {
            "bdf": function.address.short,
            "name": function.name,
            "kind": machine.role(function),
            "parent": None if function.parent is None else function.parent.short,
            "driver": function.driver,
            "numa_node": function.numa_node,
            "mps_bytes": function.transfers.mps,
            "mrrs_bytes": function.transfers.mrrs,
        }
        for function in machine
    )
    return frame(rows, _FUNCTION_COLUMNS)


def link_table(machine: Machine) -> pl.DataFrame:
    """Return one row per link, by the port above: what runs, and the most that both ends can do."""
    rows = (
        {
            "upper": link.upper.address.short,
            "lower": link.device.address.short,
            "device": link.device.name,
            "now_gt_s": link.now.gt_s,
            "now_width": link.now.width,
            "limit_gt_s": link.limit.gt_s,
            "limit_width": link.limit.width,
            "on_die": link.on_die,
        }
        for link in machine.links
    )
    return frame(rows, _LINK_COLUMNS)
