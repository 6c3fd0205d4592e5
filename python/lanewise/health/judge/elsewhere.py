"""Results that say nothing about a link of this machine: taken in memory, within one machine, on another one.

The output itself tells: addresses of both ends, the file that was read, what the GPUs and hosts are called.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from lanewise.machine.model import Machine
    from lanewise.tools.instruments.measurement import Case, Measurement

_IN_MEMORY = ("/dev/shm/", "/dev/ram", "/dev/zram", "/dev/null", "/dev/zero", "/dev/pmem", "/dev/dax")
_WITHIN = {
    "loopback": "both ends on one machine (loopback): nothing crosses PCI Express",
    "one port": "both ends are one port (loopback): its link carries the data both ways, and no wire is "
    "between",
    "fabrics": "a drive of another machine, over a network (NVMe over Fabrics)",
}
"""What is said of a case, by the field that its reader sets."""
_OTHER_DRIVES = (
    (re.compile(r"/dev/(?:rbd|nbd|drbd)\d"), "is a drive over a network"),
    (re.compile(r"/dev/mmcblk\d"), "is an SD card or eMMC, and no drive on PCI Express"),
)
_NVIDIA = 0x10DE
_NO_ENGINES = frozenset({"null", "cpuio"})
_MODEL = re.compile(
    r"\b(?:GH|GB|H|A|B|V|P|L|T|MI)\d{1,3}[SXA]?(?=\b|-)|\b(?:RTX|GTX) (?:PRO )?A?\d{4}\b|\bRTX A\d{4}\b"
)
"""What tells one model of GPU from another. Longer names of one model differ in memory and shape."""
_SEVERAL = re.compile(r"\b((?:RTX|GTX) )(\d{4})/(\d{4})\b")
"""Models that one number of a device stands for, like ``Quadro RTX 6000/8000``."""


def not_over_pcie(case: Case, tool: str) -> str:
    """Say why a result is not of one device's link, as far as the output tells; empty when it may be."""
    if within := next((words for field, words in _WITHIN.items() if case.raw.get(field)), ""):
        return within
    if other := case.raw.get("elsewhere"):
        return f"a result of {other}, of no drive of this machine"
    if name := case.raw.get("in memory"):
        return f"'{name}' is in memory: nothing crosses PCI Express"
    target = str(case.target or "")
    if tool == "fio" and target.startswith(_IN_MEMORY):
        return f"'{target}' is in memory: nothing crosses PCI Express"
    if other := next((words for form, words in _OTHER_DRIVES if form.match(target)), ""):
        return f"'{target}' {other}"
    engine = str(case.options.get("ioengine", ""))
    return (
        f"fio's engine '{engine}' moves nothing to a device"
        if tool == "fio" and engine in _NO_ENGINES
        else ""
    )


def another_host(case: Case, machine: Machine) -> str:
    """Say on which other host a job ran, where its tool and the description name both; empty otherwise."""
    measured, here = _host(case.raw.get("hostname")), _host(machine.hostname)
    if not measured or not here or measured == here:
        return ""
    return f"measured on {measured}, and this is {here}: it is another machine's result"


def _host(name: object) -> str:
    """Return the first part of a host's name; nothing for addresses, and for what every host is called."""
    first = str(name or "").strip().lower().partition(".")[0]
    is_name = re.fullmatch(r"[a-z0-9_-]{1,63}", first) and not first.isdecimal() and first != "localhost"
    return first if is_name else ""


def another_machine(case: Case, measurement: Measurement, machine: Machine) -> str:
    """Say why a result was not measured on this machine: its GPUs are none of this machine's.

    The GPUs are those that a case names, where its tool names them for each; a paste may be of several
    machines.
    """
    gpus = [gpu for gpu in machine if gpu.is_gpu]
    here = {model for gpu in gpus for model in _models(gpu.name)}
    own = case.raw.get("device") or ()
    names = [own] if isinstance(own, str) else list(cast("tuple[str, ...]", own))
    if names and any(gpu.identity.vendor_id == _NVIDIA and not _models(gpu.name) for gpu in gpus):
        # Of several, the one that is not known by name may be the one.
        names = []
    told = [*map(_models, names)] or [
        {model for name in measurement.listed("device names") for model in _models(name)}
    ]
    measured = {model for models in told if here and not models & here for model in models}
    if not measured:
        return ""
    return (
        f"measured on {', '.join(sorted(measured))}, and the GPUs here are {', '.join(sorted(here))}: "
        "it is another machine's result"
    )


def _models(name: str) -> set[str]:
    """Return the models in a GPU's name, such as H100 or MI300X; brackets hold the name that is sold."""
    sold = re.search(r"\[([^\]]{1,80})\]", name)
    return set(_MODEL.findall(_SEVERAL.sub(r"\1\2 \1\3", sold[1] if sold else name)))
