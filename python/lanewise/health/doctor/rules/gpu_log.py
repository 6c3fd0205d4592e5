"""What the kernel log tells of errors inside GPUs, and of accesses of devices that the IOMMU blocked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.health.doctor.words import who
from lanewise.health.doctor.xids import RECOVERY, Meaning, is_of_a_switch, is_recovery, meaning, name
from lanewise.machine.address import Address
from lanewise.machine.model import EventKind
from lanewise.machine.topology import is_inside_amd
from lanewise.machine.view import is_management

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lanewise.machine.model import KernelEvent
    from lanewise.machine.view import View

_MOST_LINES = 4
_MOST_NAMED = 3
_AFTER_A_LOSS = frozenset({43, 45, 119, 120, RECOVERY})
"""Xids that follow when a GPU fell off the bus: `device-lost` tells of that."""

GPU = Rule(
    id="gpu-error",
    what="The kernel log, or that of NVIDIA's Fabric Manager, has an error that a GPU or NVSwitch reported "
    "by number (Xid, SXid), or memory errors that the driver of an AMD GPU counted.",
    why="The driver names by number what failed: memory, a link between GPUs, firmware, a program. After "
    "some of these errors the GPU no longer computes, or computes wrong results, although it is listed and "
    "its link is healthy.",
    severity="error where the GPU is to be reset or replaced, or its node started again (Xid 46, 48, 57, 58, "
    "62, 64, 95, 109, 110, 119, 120, 136, 140, 143, 155, 157, 158, 161, fatal 74 and 144 to 150, fatal "
    "SXids, 154 as it says); warning where a reset can wait, or a look will do (54, 61, 63, 92, 94, 121 to "
    "125, 156, 160, others of 74 and 144 to 150), and for an error after which 154 says None, or after which "
    "the node was started again; info for what programs cause (13, 31, 32, 43, 45), SXids that are not "
    "fatal, and other numbers",
    cost="stated: programs on the GPU were stopped, or their results are in doubt",
    fix="Drain the node and reset the GPU (`nvidia-smi --gpu-reset -i BDF`), or start the node again. Then "
    "test the GPU (`dcgmi diag -r 3`). If the same error comes again: replace the GPU of BDF.",
    references=("NVIDIA, Xid Errors", "NVIDIA, GPU Debug Guidelines", "NVIDIA, Fabric Manager User Guide"),
    not_said="Xid 79 and 167, and what follows them (see `device-lost`); before the last boot, what programs "
    "cause and what can wait.",
    bearing=Bearing.DISTURBS,
)
_OF_PROGRAMS = (
    "Look for the program in the line, and for a fault in it (`compute-sanitizer`). Where different programs "
    "fail so on this GPU alone, test the GPU: `dcgmi diag -r 3`."
)
_STARTED_AGAIN = (
    "The node has been started again since. Test the GPU (`dcgmi diag -r 3`) before it gets work. If the "
    "same error comes again: replace the GPU of BDF."
)
_TO_REPLACE = (
    "Take the GPU of BDF out of service, collect `nvidia-bug-report.sh`, and replace the GPU: a reset does "
    "not repair this."
)
_OF_A_SWITCH = (
    "Drain the node and reset all GPUs together, which resets the switches between them (`nvidia-smi "
    "--gpu-reset`), or start the node again; then look at the log of Fabric Manager. If the same error comes "
    "again: the links of that port (`nvidia-smi nvlink -e`), its GPU, then the board with the switch of BDF."
)
_OF_A_SWITCH_THAT_GOES_ON = (
    "Nothing, where it was once: the switch goes on. If the same port reports again, look at the links of "
    "its GPU (`nvidia-smi nvlink -e`)."
)

BLOCKED = Rule(
    id="dma-fault",
    what="The IOMMU blocked accesses of a device to memory, or its interrupts.",
    why="The device read or wrote an address that it had not been given. Its transfer failed. The device, "
    "its firmware or its driver has a fault, or firmware of the host still uses a device that the kernel has "
    "taken over.",
    severity="warning; info for management controllers, USB, sound, displays of processors, devices that "
    "are held for a virtual machine or by a program, and for fewer than 10 interrupts that were blocked for "
    "another reason than their format",
    cost="stated: transfers of the device failed",
    fix="Read what the driver of BDF says at that time (`dmesg | grep BDF`). Update firmware and driver of "
    "the device, then the firmware of the host. Start Linux with `iommu=pt`, which lets such accesses pass: "
    "where the device works then, its driver or the firmware's tables are the first suspects; where it does "
    "not, the device.",
    references=(
        "Intel Virtualization Technology for Directed I/O 4.1 §7 (Translation Faults)",
        "AMD I/O Virtualization Technology 3.10 §2.5 (Event Logging)",
        "Arm SMMU Architecture 3.3 §7.3 (Event records)",
    ),
    not_said="Lines before the last boot.",
    bearing=Bearing.DISTURBS,
)


_DISPLAY_OF_INTEL, _INTELS_IOMMU = Address(0, 0, 2, 0), "DMAR"
"""Where the display of Intel's processors is, and how its IOMMU begins a line."""
_OF_FORMAT = "compatibility format"
_MANY_INTERRUPTS = 10
"""From here on it is no start of a kernel any more. Assumed."""
_BUSES_OF_THE_BOARD = 0xF0
"""From here on boards give numbers to their I/O APICs and timers, like f0:1f.7. Assumed."""
_OF_INTERRUPTS = (
    "The driver of BDF waits for interrupts that do not come: see which of its devices are missing or late "
    "(`dmesg | grep -e BDF -e 'timed out'`; behind Intel VMD: its drives). Update kernel and firmware; to "
    "try, start without interrupt remapping (`intremap=off`)."
)


@rule(GPU)
def gpu_errors(view: View, this: Rule) -> Iterable[Finding]:
    """Find GPUs that reported errors: one finding for each, as severe as the worst."""
    lost = {event.address for event in view.machine.events if event.kind is EventKind.GPU_LOST}
    of: dict[Address | None, list[KernelEvent]] = {}
    for event in view.machine.events:
        after_a_loss = event.address in lost and event.number in _AFTER_A_LOSS
        if event.kind is EventKind.GPU_ERROR and not after_a_loss:
            of.setdefault(event.address, []).append(event)
    for address, events in of.items():
        finding = _of_one(view, this, address, events)
        if finding is not None:
            yield finding
    yield from _of_earlier_boots(view, this, told=set(of), lost=lost)


def _of_earlier_boots(
    view: View, this: Rule, told: set[Address | None], lost: set[Address | None]
) -> Iterator[Finding]:
    """Tell of GPUs in order since the last boot that had errors before it after which a GPU is no use."""
    lost = lost | {e.address for e in view.machine.events if e.kind is EventKind.GPU_LOST_BEFORE}
    of: dict[Address | None, list[KernelEvent]] = {}
    for event in view.machine.events:
        if event.kind is not EventKind.GPU_ERROR_BEFORE or event.address in told:
            continue
        after_a_loss = event.address in lost and event.number in _AFTER_A_LOSS
        if meaning(event).severity is Severity.ERROR and event.number != RECOVERY and not after_a_loss:
            of.setdefault(event.address, []).append(event)
    for address, events in of.items():
        place = "" if address is None else address.short
        function = view.machine.functions.get(address) if address is not None else None
        said = ", ".join(f"{name(event)} ({meaning(event).words})" for event in events[:_MOST_NAMED])
        yield this.finding(
            Severity.WARNING,
            place,
            f"{_whose(events)} at {place or 'a GPU'}: {said}, in an earlier boot, and may come back",
            [
                *(event.line for event in events[:_MOST_LINES]),
                *who(place, function),
            ],
            fix=_fix(meaning(events[0]), events) or _STARTED_AGAIN,
        )


def _of_one(view: View, this: Rule, address: Address | None, events: list[KernelEvent]) -> Finding | None:
    """Tell of one GPU, or of one that no line names."""
    again = is_recovery(events[-1])
    if again:
        events = [event for event in events if not is_recovery(event)]
        if not events:
            return None
    first: dict[str, KernelEvent] = {}
    for event in sorted(events, key=lambda event: -meaning(event).severity.rank):
        first.setdefault(name(event), event)
    worst = meaning(next(iter(first.values())))
    shown = [event for event in first.values() if meaning(event).severity is worst.severity]
    severity = _milder(worst.severity) if again else worst.severity
    place = "" if address is None else address.short
    said = ", ".join(f"{name(event)} ({meaning(event).words})" for event in shown[:_MOST_NAMED])
    more = f" and {len(shown) - _MOST_NAMED} more" if len(shown) > _MOST_NAMED else ""
    function = view.machine.functions.get(address) if address is not None else None
    return this.finding(
        severity,
        place,
        f"{_whose(shown)} at {place or 'a GPU'}: {said}{more}{', and was reset since' if again else ''}",
        [
            *(event.line for event in list(first.values())[:_MOST_LINES]),
            *who(place, function),
            *([f"{len(events)} lines of that kind in the log"] if len(events) > len(first) else []),
        ],
        fix=_fix(worst, shown),
    )


def _milder(severity: Severity) -> Severity:
    return Severity.WARNING if severity is Severity.ERROR else Severity.INFO


def _whose(events: list[KernelEvent]) -> str:
    return "errors of an NVSwitch" if all(map(is_of_a_switch, events)) else "GPU errors"


def _fix(worst: Meaning, shown: list[KernelEvent]) -> str | None:
    if all(map(is_of_a_switch, shown)):
        return _OF_A_SWITCH_THAT_GOES_ON if worst.severity is Severity.INFO else _OF_A_SWITCH
    if any(meaning(event).replace for event in shown):
        return _TO_REPLACE
    return _OF_PROGRAMS if worst.severity is Severity.INFO else None


@rule(BLOCKED)
def blocked_accesses(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices whose accesses the IOMMU blocked: one finding for each."""
    of: dict[Address, list[KernelEvent]] = {}
    for event in view.machine.events:
        if event.kind is EventKind.DMA_BLOCKED and event.address is not None:
            of.setdefault(event.address, []).append(event)
    yield from _blocked_interrupts(view, this)
    for address, events in of.items():
        function, bdf = view.machine.functions.get(address), address.short
        times = f"{len(events)} accesses" if len(events) > 1 else "an access"
        yield this.finding(
            Severity.WARNING if _matters(view, address, events[0]) else Severity.INFO,
            bdf,
            f"the IOMMU blocked {times} of {bdf} to memory",
            [
                *(event.line for event in events[:2]),
                *who(bdf, function),
            ],
        )
    yield from _blocked_of_nobody(view, this)


def _blocked_of_nobody(view: View, this: Rule) -> Iterator[Finding]:
    """Tell of accesses that an SMMU blocked in the wording that has only the numbers of its event record."""
    events = [e for e in view.machine.events if e.kind is EventKind.DMA_BLOCKED and e.address is None]
    if events:
        times = f"{len(events)} accesses" if len(events) > 1 else "an access"
        yield this.finding(
            Severity.WARNING,
            "",
            f"the IOMMU blocked {times} of a device to memory; the log has only the device's StreamID",
            [event.line for event in events[:2]],
            fix="The upper half of the first number below that line is the StreamID, whose last 16 bits are "
            "often the Requester ID: 0x0300 is 03:00.0. Read what that device's driver says at that time. "
            "Update firmware and driver of the device, then the firmware of the host.",
        )


def _blocked_interrupts(view: View, this: Rule) -> Iterator[Finding]:
    """Find devices whose interrupts the IOMMU blocked.

    One in a format that interrupt remapping does not take never reaches the driver. Others are blocked once
    or twice while the kernel starts, because the firmware had left its own on.
    """
    of: dict[Address, list[KernelEvent]] = {}
    for event in view.machine.events:
        if event.kind is EventKind.INTERRUPT_BLOCKED and event.address is not None:
            of.setdefault(event.address, []).append(event)
    for address, events in of.items():
        function, bdf = view.machine.functions.get(address), address.short
        of_format = [event for event in events if _OF_FORMAT in event.line]
        clear = (bool(of_format) or len(events) >= _MANY_INTERRUPTS) and not _is_of_the_board(view, address)
        times = f"{len(events)} interrupts" if len(events) > 1 else "an interrupt"
        yield this.finding(
            Severity.WARNING if clear else Severity.INFO,
            bdf,
            f"the IOMMU blocked {times} of {bdf}" + (", sent without remapping" if of_format else ""),
            [
                *(event.line for event in (of_format or events)[:2]),
                *who(bdf, function),
            ],
            fix=_OF_INTERRUPTS.replace("BDF", bdf),
        )


def _is_of_the_board(view: View, address: Address) -> bool:
    """Whether it is no PCI device: an I/O APIC or a timer of a board by Intel, which nobody lists."""
    by_log = view.machine.kinds == ("kernel log",)
    return (address.bus >= _BUSES_OF_THE_BOARD and by_log) or (
        not by_log and address not in view.machine.functions
    )


def _matters(view: View, address: Address, event: KernelEvent) -> bool:
    """Whether a device moves data for the host; of one that is not listed only Intel's display is known."""
    function = view.machine.functions.get(address)
    if function is None or function.identity.class_code is None:
        return address != _DISPLAY_OF_INTEL or _INTELS_IOMMU not in event.line
    if is_management(function) or function.virtual or view.is_held_by_another(function):
        return False
    of_a_processor = is_inside_amd(function) or (function.is_gpu and address.bus == 0)
    return view.is_data_mover(function) and not of_a_processor
