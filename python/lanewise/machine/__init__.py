"""Real machines: what `lspci`, sysfs, hwloc, NCCL and `nvidia-smi` say about them, as one `Machine`.

    from lanewise.machine import read

    machine = read("lspci.txt")
    for link in machine.links:
        print(link.name, link.now, link.limit)

Reading imports nothing but the standard library, so that `lanewise scan` starts at once.
"""

from __future__ import annotations

from lanewise.machine.reading import read as read
from lanewise.machine.reading import read_bytes as read_bytes

__all__ = ["read", "read_bytes"]
