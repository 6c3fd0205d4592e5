"""GPUs that the tool of their driver does not reach, or not all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.machine.model import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

_NVIDIA, _AMD = 0x10DE, 0x1002
_MISMATCH = "Driver/library version mismatch"
_LOAD_AGAIN = (
    "The driver was updated, and the old one is still loaded: start the node again, or stop what uses the "
    "GPUs and load the module again (`rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia; modprobe nvidia`). "
    "Then look again: until then no program can start work on the GPUs, and nothing is known about them."
)

UNREACHED = Rule(
    id="gpu-unreachable",
    what="`nvidia-smi` or `rocm-smi` finds no GPU, cannot talk to its driver, or lists fewer GPUs than the "
    "driver "
    "has.",
    why="No program can use a GPU that the tool does not reach. The driver is not loaded, does not fit the "
    "kernel or the library, or gave up the GPUs when it started them.",
    severity="error where no GPU is reached; warning where some are missing; info where none is there, "
    "where all of them are held for virtual machines, and where the tool does not fit the driver that is "
    "loaded, and so says nothing about the GPUs",
    cost="stated: the GPUs cannot be used",
    fix="See whether the driver is loaded (`lsmod | grep -e nvidia -e amdgpu`) and what it says (`dmesg | "
    "grep -i "
    "-e nvrm -e amdgpu`). After an update of the kernel or the driver: build the module again (`dkms "
    "status`), "
    "and start the node again. RmInitAdapter or Xid lines in the log: see `device-lost` and `gpu-error`.",
    references=("NVIDIA, nvidia-smi manual", "AMD, rocm-smi and amd-smi documentation"),
    not_said="Matrices of `nvidia-smi topo` where the other source does not show the drivers.",
    bearing=Bearing.DISTURBS,
)


@rule(UNREACHED)
def unreached_gpus(view: View, this: Rule) -> Iterable[Finding]:
    """Say once that a tool reached no GPU, or too few."""
    for event in view.machine.events:
        if event.kind is not EventKind.NO_GPUS:
            continue
        amd = "amdgpu" in event.line or "Unable to detect" in event.line
        gpus = [gpu for gpu in view.machine if _is_of(gpu, _AMD if amd else _NVIDIA)]
        names = [gpu.address.short for gpu in gpus]
        some = any(word in event.line for word in ("listed", "GPU handle for", "shut down NVML"))
        held = bool(gpus) and all(map(view.is_held_by_another, gpus))
        absent = bool(view.machine.functions) and not gpus
        tool = "rocm-smi" if amd else "nvidia-smi"
        if _MISMATCH in event.line:
            yield this.finding(
                Severity.INFO,
                names[0] if names else "",
                "nvidia-smi shows nothing: its library has another version than the driver that is loaded",
                [event.line],
                also=names[1:],
                fix=_LOAD_AGAIN,
            )
            return
        yield this.finding(
            Severity.INFO if held or absent else Severity.WARNING if some else Severity.ERROR,
            names[0] if names else "",
            f"{tool} reaches {'not all' if some else 'none'} of the GPUs",
            [
                event.line,
                *(f"{gpu.address.short} is {gpu.name}, driver {gpu.driver or 'none'}" for gpu in gpus[:2]),
            ],
            also=names[1:],
        )
        return


def _is_of(function: Function, vendor: int) -> bool:
    return function.is_gpu and function.identity.vendor_id == vendor and not function.virtual
