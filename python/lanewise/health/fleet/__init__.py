"""What should be in the machines of a fleet: files that say so, and what a machine has of it.

    from lanewise.health.fleet import baseline, compare, read_fleet_file
    from lanewise.machine import read

    text = baseline(read("lspci.txt"))
    comparison = compare(read("other.txt"), read_fleet_file("fleet.toml"))

A fleet file is TOML: kinds of devices with how many there are, how their links run and how they are set,
where each sits, and waivers of findings. `baseline` writes one from a machine, `read_fleet_file` reads one
with all of its mistakes at once, `compare` holds a machine against one. Findings are made of that by
`lanewise.health.doctor`.
"""

from __future__ import annotations

from lanewise.health.fleet.baseline import baseline as baseline
from lanewise.health.fleet.comparison import compare as compare
from lanewise.health.fleet.reading import read_fleet_file as read_fleet_file

__all__ = ["baseline", "compare", "read_fleet_file"]
