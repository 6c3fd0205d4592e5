"""Rows of one drive in a table of SPDK's tools, one for each core or job, added up.

MB/s and MiB/s are 2**20 bytes there, latencies microseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.tools.instruments.measurement import Latency

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass
class AddedRows:
    """The rows of one drive."""

    iops: float = 0.0
    bytes_per_s: float = 0.0
    waited: float = 0.0
    """Mean latency times operations."""
    least: float = float("inf")
    most: float = 0.0
    count: int = 0

    def add(self, row: Mapping[str, str | None]) -> None:
        """Add a row: `iops`, `rate`, and `mean`, `least` and `most` of its latencies if it has them."""
        iops = float(row["iops"] or 0)
        self.iops += iops
        self.bytes_per_s += float(row["rate"] or 0) * 2**20
        self.count += 1
        mean, least, most = (row.get(key) for key in ("mean", "least", "most"))
        if mean and least and most:
            self.waited += iops * float(mean)
            self.least = min(self.least, float(least))
            self.most = max(self.most, float(most))

    @property
    def latency(self) -> Latency | None:
        """Latency of all rows; None where nothing was done or no row has any."""
        if not self.iops or not self.most:
            return None
        mean = self.waited / self.iops
        return Latency(mean_ns=1e3 * mean, min_ns=1e3 * self.least, max_ns=1e3 * self.most)

    @property
    def io_bytes(self) -> int | None:
        """Bytes of an I/O, in whole sectors; None where nothing was done."""
        return max(512, 512 * round(self.bytes_per_s / self.iops / 512)) if self.iops else None


DIRECTIONS = {"read": "read", "randread": "read", "write": "write", "randwrite": "write"}
"""Of what the option -w says; of mixes, "both"."""


def direction_of(way: str) -> str | None:
    """Return the direction of what -w says; None where it says another thing."""
    return DIRECTIONS.get(way, "both" if "rw" in way else None)
