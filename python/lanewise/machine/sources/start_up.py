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
from typing import TYPE_CHECKING

from lanewise.machine.address import Address
from lanewise.machine.kernel_event import EventKind, KernelEvent
from lanewise.machine.sources import driver_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ADDRESS = r"([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7])"
_NO_CONTROLLER = re.compile(rf"{_ADDRESS}: (?:pciehp: )?Slot #\d{{1,6}} AttnBtn. PwrCtrl-")
_POWER_FAULT = re.compile(rf"{_ADDRESS}: (?:pciehp: )?Slot\([^()]{{0,16}}\): [Pp]ower fault")
_SOON = 20
"""Lines in which ports say what their slots have, and then what they see there. Assumed."""
_FAILED_START = "failed with error -"
_OF_A_NAME = 3
"""Characters that drivers of one adapter share: ``mlx5_core`` and ``mlx5_ib``."""
_MOST_SEARCHED = 500

Told = list[tuple[KernelEvent, str]]
"""Events, and the drivers that spoke."""


def without_what_is_no_fault(told: Told, lines: Sequence[str]) -> Told:
    """Return the events that still count once the lines around them are read."""
    if any(_is_a_power_fault(event) for event, _ in told):
        told = _without_first(told, _old_power_faults(lines), _is_a_power_fault)
    if any(_is_a_failed_start(event) for event, _ in told):
        told = _without_first(told, _started_by_another(told, lines), _is_a_failed_start)
    return told


def _is_a_power_fault(event: KernelEvent) -> bool:
    return event.kind is EventKind.POWER_FAULT


def _is_a_failed_start(event: KernelEvent) -> bool:
    of_a_driver = event.kind in (EventKind.DEVICE_FAILED, EventKind.COMPLAINED)
    return of_a_driver and event.address is not None and _FAILED_START in event.line


def _without_first(told: Told, addresses: set[Address], is_meant: Callable[[KernelEvent], bool]) -> Told:
    """Leave out the first event that is meant, of each of some addresses."""
    left, kept = set(addresses), []
    for event, driver in told:
        if event.address in left and is_meant(event):
            left.discard(event.address)
        else:
            kept.append((event, driver))
    return kept


def _old_power_faults(lines: Sequence[str]) -> set[Address]:
    """Return the ports whose first power fault stands right below their slot without a power controller."""
    said: dict[str, int] = {}
    old: set[Address] = set()
    for number, full_line in enumerate(lines):
        line = full_line[:_MOST_SEARCHED]
        if "PwrCtrl-" in line and (slot := _NO_CONTROLLER.search(line)) is not None:
            said[slot[1]] = number
        elif "ower fault" in line and (fault := _POWER_FAULT.search(line)) is not None:
            soon = number - said.pop(fault[1], -_SOON) < _SOON
            old |= {Address.parse(fault[1])} if soon else set()
    return old


def _started_by_another(told: Told, lines: Sequence[str]) -> set[Address]:
    """Return the devices that one driver could not start, and of which another one speaks below that."""
    failed = {
        str(event.address): driver for event, driver in told if _is_a_failed_start(event) and event.address
    }
    waiting: dict[str, str] = {}
    found: set[Address] = set()
    for full_line in lines:
        line = full_line[:_MOST_SEARCHED]
        address = next((one for one in failed if one in line), None)
        if address is None:
            continue
        if _FAILED_START in line:
            waiting[address] = failed[address]
            found.discard(Address.parse(address))
        elif address in waiting and (spoken := driver_lines.speaker(line)) is not None:
            driver, of = spoken
            if of == address and driver[:_OF_A_NAME] != waiting[address][:_OF_A_NAME]:
                found.add(Address.parse(address))
    return found
