"""Which unit a result column is in.

Names of quantities carry their unit: ``goodput_gb_per_s`` is in GB/s, ``latency_ns_p99`` in nanoseconds.
Here the name is read back, for headings and for the metadata of Parquet columns. No quantity is converted.
"""

from __future__ import annotations

_UNITS = {
    "gb_per_s": "GB/s",
    "mib_per_s": "MiB/s",
    "gbit_per_s": "Gb/s",
    "operations_per_s": "1/s",
    "events_per_s": "1/s",
    "tlp_hops_per_s": "1/s",
    "bytes_per_idle_port": "B",
    "percent": "%",
    "points": "percentage points",
    "fraction": "1",
    "utilisation": "1",
    "ratio": "1",
    "ticks": "2^-10 ps",
    "bytes": "B",
    "ns": "ns",
    "s": "s",
}


def unit_of(column: str) -> str | None:
    """Return the unit that the name of a column states, or None for names, counts and flags."""
    parts = column.split("_")
    for size in (4, 3, 2, 1):
        for start in range(len(parts) - size, -1, -1):
            unit = _UNITS.get("_".join(parts[start : start + size]))
            if unit is not None:
                return unit
    return None
