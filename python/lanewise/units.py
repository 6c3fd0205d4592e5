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
    "per_s": "1/s",
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
    found = _found(column)
    return None if found is None else _UNITS[found]


def without_unit(column: str) -> str:
    """Return the name of a column without the words that state its unit; all of it if nothing were left.

    >>> without_unit("latency_ns_p99"), without_unit("utilisation")
    ('latency_p99', 'utilisation')
    """
    found = _found(column)
    if found is None or _UNITS[found] == "1" or found.endswith("operations_per_s"):
        return column
    kept = [part for part in f"_{column}_".replace(f"_{found}_", "_").split("_") if part]
    return "_".join(kept) or column


def _found(column: str) -> str | None:
    """Return the words of a column's name that state its unit."""
    parts = column.split("_")
    for size in (4, 3, 2, 1):
        for start in range(len(parts) - size, -1, -1):
            words = "_".join(parts[start : start + size])
            if words in _UNITS:
                return words
    return None
