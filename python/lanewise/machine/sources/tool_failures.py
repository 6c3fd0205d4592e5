"""What `nvidia-smi` and its likes print in place of a list when they reach no GPU.

One line without an address; it is kept as an event, as a line of a kernel log would be.
Source: outputs of nvidia-smi of drivers 352 to 595, rocm-smi 5 and 6, amd-smi 24 to 26.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from lanewise.machine.kernel_event import EventKind, KernelEvent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.model import Machine

SIGNS = (
    "NVIDIA-SMI has failed",
    "No devices were found",
    "Failed to initialize NVML",
    "Failed to properly shut down NVML",
    "Unable to determine GPU handle",
    "Unable to detect any GPU",
    "amdgpu not found in modules",
)
"""One of them is in every such text."""
_FAILED = re.compile(
    r"(?:^|[ \t>|$#:])(NVIDIA-SMI has failed because|No devices were found[ \t]*$|"
    r"Failed to initialize NVML: |Failed to properly shut down NVML: |"
    r"Unable to determine GPU handle for GPU |ERROR:.{0,20}Unable to detect any GPU|"
    r"ERROR:.{0,40}amdgpu not found in modules)"
)
_LONGEST = 200


def take(lines: Sequence[str]) -> tuple[KernelEvent, ...]:
    """Return a line that says that no GPU was reached; none where a text only has its words in passing."""
    for line in lines:
        if _FAILED.search(line[:_LONGEST]):
            return (KernelEvent(EventKind.NO_GPUS, line.strip()[:_LONGEST]),)
    return ()


def put_on(machine: Machine, events: tuple[KernelEvent, ...]) -> Machine:
    """Put it on a machine; alone it is one without a function."""
    return replace(machine, events=(*machine.events, *events))
