"""`nvidia-smi -L`: which GPUs the driver reaches, by number, and nothing of where they are.

One line for each GPU: ``GPU 0: NVIDIA H100 PCIe (UUID: GPU-...)``; those of its parts (``MIG``) are indented
below. It says whether all are there. Source: nvidia-smi of drivers 352 to 595.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.sources.topo import Matrix, Row

if TYPE_CHECKING:
    from collections.abc import Sequence

SIGN = "(UUID: GPU-"
_GPU = re.compile(r"[ \t>]{0,8}GPU (\d{1,3}): [^\n]{1,100} \(UUID: GPU-[0-9a-fA-F-]{4,40}\)?")


def read(lines: Sequence[str]) -> Matrix:
    """Read the list; each number once."""
    found: dict[int, int] = {}
    for number, line in enumerate(lines):
        gpu = _GPU.match(line) if SIGN in line else None
        if gpu is not None:
            found.setdefault(int(gpu[1]), number)
    rows = [Row(f"GPU{index}", None, None) for index in sorted(found)]
    return Matrix(tool="nvidia-smi -L", rows=rows, taken=set(found.values()))
