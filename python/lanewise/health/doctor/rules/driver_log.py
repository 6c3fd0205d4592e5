"""What drivers say in the kernel log of devices that are late, or do less than they could."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.loss_words import ENGINE_RESET, LOSSES, message, what_was_late
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.health.doctor.severity import payload_share
from lanewise.health.doctor.words import who
from lanewise.machine.kernel_event import FAILED_START
from lanewise.machine.lanes import rate_of
from lanewise.machine.model import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, KernelEvent
    from lanewise.machine.view import View

_MOST_LINES = 3
_NVIDIA, _AMD = 0x10DE, 0x1002
_WITHOUT_ATOMICS = re.compile(r"skipped device ([0-9a-f]{4}):([0-9a-f]{4}), PCI rejects atomics")
"""How ROCm's driver names a GPU: by vendor and device."""
_GPU = re.compile(r"NVRM: (GPU\d{1,3})\b")
"""How NVIDIA's open driver names one in some lines: by its number."""
TIMEOUT = Rule(
    id="device-timeout",
    what="The kernel log says that a device did not answer its driver in time: a command to a drive, to the "
    "firmware of an adapter or to a GPU timed out, or an adapter did not send what it was given.",
    why="Commands take microseconds, and drivers wait for seconds. A device that is that late has firmware "
    "that hangs, interrupts that were lost, or a link that loses packets. Programs wait, and after the next "
    "timeout the driver may give up the device.",
    severity="warning; info where the log says later that the device works again, and where the driver of a "
    "GPU reset only one engine of it",
    cost="stated: what was asked of the device had to wait or failed",
    fix="See how often it happens: `dmesg | grep -e BDF -e 'timed out' -e timeout`. Look for errors of the "
    "link at the same time. Update firmware and driver of the device, and switch link power saving off "
    "(`pcie_aspm=off`). If it happens again: reseat the card, then replace it.",
    references=(
        "Linux, drivers/nvme/host/pci.c (nvme_timeout)",
        "Linux, net/sched/sch_generic.c (dev_watchdog)",
        "the table of messages in lanewise/machine/sources/driver_messages",
    ),
    not_said="Devices that `device-lost` reports; lines before the last boot of the log.",
    bearing=Bearing.DISTURBS,
)

LESS = Rule(
    id="device-reduced",
    what="The kernel log says that a driver runs an adapter with less than it can do: without the package "
    "that its firmware needs, or with less power than it asks for.",
    why="The adapter is listed, its link is up, and it moves data; but it does so with one queue, or with "
    "ports that are held down, and no register shows it.",
    severity="warning; info for GPUs with a display that ROCm leaves out, for what a driver says about the "
    "link of its adapter where no source shows that link, and for a GPU whose memory found no room",
    cost="stated: the adapter moves less data than it could",
    fix="Safe Mode: install the DDP package (`/lib/firmware/intel/ice/ddp/ice.pkg`) that fits the driver, "
    "and load the driver again. Insufficient power: put the card into a slot that gives 75 W, or look at the "
    "slot's power limit in the firmware setup (`lspci -vv -s BDF | grep SlotPowerLimit`).",
    references=(
        "Linux, Documentation/networking/device_drivers/ethernet/intel/ice.rst (Safe Mode)",
        "Linux, drivers/net/ethernet/mellanox/mlx5/core/events.c (mlx5_pcie_event)",
        "Linux, drivers/gpu/drm/amd/amdkfd/kfd_device.c (kgd2kfd_device_init)",
    ),
    not_said="What drivers say of a link that carries all ports of their adapter.",
    bearing=Bearing.LIMITS,
)


FAILED_ACCESS = Rule(
    id="drive-errors",
    what="The kernel log says that reads or writes of an NVMe drive failed.",
    why="The drive, or the path to it, could not deliver or keep data. File systems go read-only, arrays "
    "drop "
    "the drive.",
    severity="warning",
    cost="stated: data could not be read or written",
    fix="Ask the drive (`nvme smart-log /dev/NAME`): media errors and used-up spares mean that the drive "
    "has to be replaced. Without them, look for errors of its link (`dmesg | grep -e BDF -e NAME`) and "
    "reseat it.",
    references=("Linux, block/blk-mq.c (blk_print_req_error)", "NVM Express Base 2.0 §5.16.1.3 (SMART)"),
    not_said="Drives that `device-lost` reports, whose accesses fail with them; lines before the last boot.",
    bearing=Bearing.DISTURBS,
)


_SMALL_BAR = "Resizable BAR"
_NO_DMA = "the host reads and writes the GPU's memory through a window; DMA of the GPU is not affected"
_THIN_LINK = re.compile(
    r"PCI-Express bandwidth available for this|not sufficient for optimal performance of this card"
)
"""What i40e, and ixgbe before 4.18, say of adapters whose ports carry more than their link."""
_MATTERS = re.compile(r"nouveau|[Nn]ova|xhci")
"""Drivers of GPUs and USB hosts that the table of messages does not tell of as movers."""
_SMALL = re.compile(
    r"failed with error -|PM: failed to|ower state from|[Ff]ail\w{0,3} (?:to )?[Ee]nabl\w{1,3} "
)
"""In lines about a start, about sleep, or about interrupts: they matter as much as their device does."""

COMPLAINT = Rule(
    id="driver-error",
    what="The kernel log says that a driver met an error of its device that no other rule here knows: a "
    "device or a part of one that failed to start, a reset that failed, a parity error, firmware that "
    "reports a fatal error.",
    why="Drivers write such a line when a device does what it must not do. Some drivers go on, others give "
    "up without another word, and the next start may fail.",
    severity="warning; info where the log says later that the device works again, and for devices that move "
    "no data and that a driver could not start, wake or give interrupts",
    cost="stated: the device cannot be relied upon",
    fix="Read what the driver says before and after that line (`dmesg | grep -e BDF`). Update firmware and "
    "driver of the device. If the error comes again after a cold start: reseat the card, then replace it.",
    references=("the table of messages in lanewise/machine/sources/driver_messages",),
    not_said="Devices that `device-lost` or `device-timeout` reports; what drivers say about firmware files, "
    "virtual functions, cables and remote ends, and of interrupts, unless they could not enable them at all; "
    "drivers of displays, sound and USB; lines before the last boot of the log.",
    bearing=Bearing.DISTURBS,
)


def by_device(view: View) -> dict[str, list[KernelEvent]]:
    """Return events by address, or by the name that the log has where no address is known."""
    found: dict[str, list[KernelEvent]] = {}
    for event in view.machine.events:
        concerned = whom(view, event)
        place = concerned.short if concerned else event.name
        if (skipped := _WITHOUT_ATOMICS.search(event.line)) is not None:
            for gpu in _of_numbers(view, skipped):
                found.setdefault(gpu.address.short, []).append(event)
            continue
        place = place or _gpu_without_address(view, event)
        if place is not None:
            found.setdefault(place, []).append(event)
    return found


def _gpu_without_address(view: View, event: KernelEvent) -> str | None:
    """Name the GPU that a driver speaks of without its address; None for lines about anything else."""
    if "amdgpu" in event.line:
        return _only_gpu(view, vendor=_AMD)
    if event.kind in (EventKind.GPU_LOST, EventKind.GPU_LOST_BEFORE):
        return _only_gpu(view, vendor=_NVIDIA)
    if (named := _GPU.search(event.line)) is not None:
        return _only_gpu(view, vendor=_NVIDIA, called=named[1])
    failed = "NVRM: " in event.line and event.kind is EventKind.DEVICE_FAILED
    return _only_gpu(view, vendor=_NVIDIA) if failed else None


def whom(view: View, event: KernelEvent) -> Address | None:
    """Return the device that a line is about: of a port that recovers, who reported the error.

    Where the log does not say who, it is what the dump has below the port.
    """
    port = view.machine.functions.get(event.address) if event.address is not None else None
    if event.sender is not None or port is None or "AER: " not in event.line:
        return event.sender or event.address
    below = view.machine.children(port)
    return below[0].address if below else event.address


def _of_numbers(view: View, skipped: re.Match[str]) -> list[Function]:
    """Return the GPUs that a line names by vendor and device."""
    numbers = (int(skipped[1], 16), int(skipped[2], 16))
    return [
        function
        for function in view.machine
        if (function.identity.vendor_id, function.identity.device_id) == numbers and function.is_gpu
    ]


def _only_gpu(view: View, vendor: int | None = None, called: str = "a GPU") -> str:
    """Name the GPU of a line without an address, where there is only one."""
    gpus = [
        function
        for function in view.machine
        if view.is_compute_gpu(function) and vendor in (None, function.identity.vendor_id)
    ]
    return gpus[0].address.short if len(gpus) == 1 else called


@rule(TIMEOUT)
def late_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices that were late: one finding for each."""
    for place, events in by_device(view).items():
        late = [event for event in events if event.kind is EventKind.TIMED_OUT]
        if late and not any(event.kind in LOSSES for event in events):
            again = events[-1].kind is EventKind.RECOVERED
            mild = again or all(ENGINE_RESET in event.line for event in late)
            yield this.finding(
                Severity.INFO if mild else Severity.WARNING,
                place,
                what_was_late(place, late, again=again),
                _lines(view, place, late),
            )


@rule(COMPLAINT)
def complaining_drivers(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices of which their driver reports errors: one finding for each."""
    for place, events in by_device(view).items():
        told = [event for event in events if event.kind is EventKind.COMPLAINED]
        if told and not any(event.kind in LOSSES or event.kind is EventKind.TIMED_OUT for event in events):
            again = events[-1].kind is EventKind.RECOVERED or _has_another(view, place, told)
            times = f", {len(told)} times" if len(told) > 1 else ""
            mild = again or _is_a_small_start(view, place, told)
            yield this.finding(
                Severity.INFO if mild else Severity.WARNING,
                place,
                f"the driver of {place} reports an error of it{times}{'; it works again' if again else ''}: "
                f"{message(told[0])}",
                _lines(view, place, told),
            )


def _is_a_small_start(view: View, place: str, told: list[KernelEvent]) -> bool:
    """Whether a driver did not start or wake a device that moves no data; else the driver's name tells."""
    if not all(_SMALL.search(event.line) for event in told):
        return False
    function = view.machine.named(place)
    by_name = any(_MATTERS.search(event.line) for event in told)
    if function is None or function.identity.class_code is None or function.is_wireless:
        return not by_name
    return not (view.is_data_mover(function) or function.is_gpu or by_name)


def _has_another(view: View, place: str, told: list[KernelEvent]) -> bool:
    """Whether a driver could not start a device that has one now."""
    function = view.machine.named(place)
    return (
        all(FAILED_START in event.line for event in told) and function is not None and bool(function.driver)
    )


@rule(FAILED_ACCESS)
def failing_drives(view: View, this: Rule) -> Iterable[Finding]:
    """Find drives whose reads or writes failed: one finding for each."""
    for place, events in by_device(view).items():
        failed = [event for event in events if event.kind is EventKind.ACCESS_FAILED]
        if failed and not any(event.kind in LOSSES for event in events):
            times = f"{len(failed)} reads or writes" if len(failed) > 1 else "a read or write"
            yield this.finding(
                Severity.WARNING,
                place,
                f"{times} of the drive {place} failed",
                _lines(view, place, failed),
                fix=this.fix.replace("NAME", failed[0].name or "nvme0"),
            )


@rule(LESS)
def reduced_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find adapters that their driver holds back: one finding for each."""
    for place, events in by_device(view).items():
        told = [
            event
            for event in events
            if event.kind is EventKind.RUNS_WITH_LESS
            and not (_THIN_LINK.search(event.line) and _is_link_judged(view, place))
        ]
        if told:
            # What a driver says of a link that is too thin follows the line with the speed, which tells more.
            clear = [event for event in told if not _THIN_LINK.search(event.line)]
            severity, why, fix = _why_less(view, place, (clear or told)[-1].line)
            yield this.finding(
                severity,
                place,
                f"{place} does less than it could: {why}",
                _lines(view, place, told),
                fix=fix,
                cost=_NO_DMA if severity is Severity.INFO and _SMALL_BAR in why else None,
            )


def _is_link_judged(view: View, place: str) -> bool:
    """Whether the link of a device is known, so that it is judged by that, or carries all of its ports.

    Drivers give their advice for any link below what the fastest adapter of their family needs.
    """
    function = view.machine.named(place)
    if function is None or not function.link.status.width:
        return False
    rate, own = rate_of(function.link.status), view.own_rate(function)
    carried = None if rate is None else rate * payload_share(view.payload(function))
    return function.link.capability.known or (own is not None and (carried or 0.0) >= own.reads)


def _why_less(view: View, place: str, line: str) -> tuple[Severity, str, str | None]:
    """Say why a device does less, how bad that is, and what to do about it."""
    if "rejects atomics" in line:
        function = view.machine.named(place)
        return (
            Severity.INFO if function is not None and function.has_display else Severity.WARNING,
            "ROCm leaves it out, because its path to the host passes no atomic operations on",
            "Move it to a slot of the processor, or below a switch that routes atomics (`lspci -vvv | grep "
            "AtomicOpsCap`); look for such a setting in the firmware setup.",
        )
    if "Speed 2.5GT/s" in line:
        return (
            Severity.WARNING,
            "its driver finds its link at 2.5 GT/s",
            "Look at both ends (`lspci -vvv -s BDF | grep -e LnkCap -e LnkSta`) and at the speed of the slot "
            "in the firmware setup; reseat the card, look at riser and bifurcation.".replace("BDF", place),
        )
    if _THIN_LINK.search(line):
        return (
            Severity.INFO,
            "its driver says that its link may be too slow for its ports",
            "Compare what it can do with what it has (`lspci -vvv -s BDF | grep -e LnkCap -e LnkSta`), and "
            "look whether the slot has fewer lanes or a lower speed than the adapter.".replace("BDF", place),
        )
    if "resize BAR" in line:
        return (
            Severity.INFO,
            f"there was no room for all of its memory at once ({_SMALL_BAR})",
            f"Switch on {_SMALL_BAR} and decoding above 4 GB in the firmware setup, or start Linux with "
            "`pci=realloc`.",
        )
    power = "power" in line
    why = "its slot gives too little power" if power else "its driver runs it in Safe Mode"
    return Severity.WARNING, why, None


def _lines(view: View, place: str, events: list[KernelEvent]) -> list[str]:
    address = events[-1].address
    function = view.machine.functions.get(address) if address else None
    return [
        *dict.fromkeys(event.line for event in events[:_MOST_LINES]),
        *who(place, function),
    ]
