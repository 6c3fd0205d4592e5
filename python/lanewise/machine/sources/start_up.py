"""Lines of a kernel log that tell of faults while the machine starts, and of none by what stands beside them.

A driver that could not start a controller is no matter where another driver has it a moment later: with
Intel's VMD on, `ahci` meets the RAID controller that `vmd` is for. A power fault that a port shows as soon as
hot plug starts is old or made up where the slot has no power controller, which alone detects such faults; one
that comes later counts.
Source: Linux, drivers/pci/hotplug/pciehp_hpc.c (`pcie_init`), drivers/pci/controller/vmd.c, 4.19 to 6.17;
PCIe Base 5.0, 7.5.3.11 (Power Fault Detected).
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.kernel_event import FAILED_START, LONGEST_LINE, MOST_SEARCHED, EventKind, KernelEvent
from lanewise.machine.sources import driver_lines
from lanewise.machine.sources.log_stamps import message_of

if TYPE_CHECKING:
    from collections.abc import Sequence

_ADDRESS = r"([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7])"
_ANY_ADDRESS = re.compile(_ADDRESS)
_NO_CONTROLLER = re.compile(rf"{_ADDRESS}: (?:pciehp: )?Slot #\d{{1,6}} AttnBtn. PwrCtrl-")
_SOON = 20
"""Lines in which ports say what their slots have, and then what they see there. Assumed."""
_OF_A_NAME = 3
"""Characters that drivers of one adapter share: ``mlx5_core`` and ``mlx5_ib``."""

Told = list[tuple[KernelEvent, str]]
"""Events, and the drivers that spoke."""
_Meant = dict[str, tuple[Address, str]]
"""Messages of events of one kind, with the device and the driver of each."""
_Past = dict[str, list[bool]]
"""By message, for each of its lines: whether it counts no more. A report with `dmesg` and a journal in it has
each message twice."""


def without_what_is_no_fault(told: Told, lines: Sequence[str]) -> Told:
    """Return the events that still count once the lines around them are read: those since the last boot."""
    told = _without_past(told, _old_power_faults(_power_faults(told), lines))
    return _without_past(told, _started_by_another(_failed_starts(told), lines))


def _power_faults(told: Told) -> _Meant:
    return {
        event.line: (event.address, driver)
        for event, driver in told
        if event.kind is EventKind.POWER_FAULT and event.address is not None
    }


def _failed_starts(told: Told) -> _Meant:
    kinds = (EventKind.DEVICE_FAILED, EventKind.COMPLAINED)
    return {
        event.line: (event.address, driver)
        for event, driver in told
        if event.kind in kinds and event.address is not None and FAILED_START in event.line
    }


def _without_past(told: Told, past: _Past) -> Told:
    """Leave out each event whose line counts no more; lines of a message stand in the order of its events."""
    fates = {message: iter(each) for message, each in past.items()}
    return [pair for pair in told if not (pair[0].line in fates and next(fates[pair[0].line], False))]


def _old_power_faults(meant: _Meant, lines: Sequence[str]) -> _Past:
    """Tell of each power fault whether it stands right below its slot, which has no power controller."""
    said: dict[Address, int] = {}
    past: _Past = defaultdict(list)
    for number, full_line in enumerate(lines if meant else ()):
        line = full_line[:MOST_SEARCHED]
        if "PwrCtrl-" in line and (slot := _NO_CONTROLLER.search(line)) is not None:
            said[Address.parse(slot[1])] = number
        elif "ower fault" in line and (message := message_of(line)[:LONGEST_LINE]) in meant:
            port, _ = meant[message]
            past[message].append(number - said.pop(port, -_SOON) < _SOON)
    return past


def _started_by_another(meant: _Meant, lines: Sequence[str]) -> _Past:
    """Tell of each failed start whether another driver speaks of that device below it."""
    waiting: dict[str, dict[str, list[tuple[str, int]]]] = {}
    """By device and by how the driver's name begins: its failed starts, as messages and places among them."""
    past: _Past = defaultdict(list)
    for full_line in lines if meant else ():
        line = full_line[:MOST_SEARCHED]
        if FAILED_START in line and (message := message_of(line)[:LONGEST_LINE]) in meant:
            device, failed = meant[message]
            drivers = waiting.setdefault(str(device), {})
            drivers.setdefault(failed[:_OF_A_NAME], []).append((message, len(past[message])))
            past[message].append(False)
        elif waiting and (place := _ANY_ADDRESS.search(line)) is not None and place[1] in waiting:
            spoken = driver_lines.speaker(line)
            if spoken is None or spoken[1] != place[1]:
                continue
            drivers = waiting[place[1]]
            for failed in [name for name in drivers if name != spoken[0][:_OF_A_NAME]]:
                for message, at in drivers.pop(failed):
                    past[message][at] = True
    return past
