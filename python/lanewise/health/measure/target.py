"""What to measure, from how a person names it."""

from __future__ import annotations

import os
import re
import shutil
import stat
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.errors import InputError
from lanewise.health.measure.tools import CudaCopy, Fio, Iperf3, Nvbandwidth
from lanewise.machine.address import Address

if TYPE_CHECKING:
    from lanewise.health.measure.tools import Tool


def tool_for(target: str, *, seconds: int, allow_writes: bool) -> Tool:
    """Choose a tool: ``iperf3:HOST[:PORT]``, ``gpu``, or a file or block device for fio."""
    kind, _, rest = target.partition(":")
    if kind == "iperf3":
        host, _, port = rest.partition(":")
        if not host or (port and not port.isdigit()):
            raise InputError(f"'{target}' names no peer; write 'iperf3:HOST' or 'iperf3:HOST:PORT'")
        return Iperf3(host, port=int(port) if port else 5201, seconds=seconds)
    if target == "gpu":
        if shutil.which("nvbandwidth"):
            return Nvbandwidth()
        if shutil.which("nvcc"):
            return CudaCopy()
        raise InputError("neither nvbandwidth nor nvcc is installed, or on the PATH")
    return Fio(target, seconds=seconds, allow_writes=allow_writes)


def device_behind(target: str) -> Address | None:
    """Return the PCI function that a file or block device lies on, as sysfs has it; None when unknown."""
    try:
        status = Path(target).stat()
    except OSError:
        return None
    number = status.st_rdev if stat.S_ISBLK(status.st_mode) else status.st_dev
    way = Path(f"/sys/dev/block/{os.major(number)}:{os.minor(number)}").resolve()
    addresses = re.findall(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]", str(way))
    return Address.parse(addresses[-1]) if addresses else None
