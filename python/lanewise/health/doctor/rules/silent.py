"""Devices that do not answer: every register reads as ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.machine.model import EventKind
from lanewise.machine.topology import is_switch_of_gpu

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

DEAD = Rule(
    id="device-dead",
    what="A device does not answer: its registers read as ones (`rev ff`, `Unknown header type 7f`).",
    why="A read without a completion returns ones. The kernel still lists the device because it was there "
    "at boot; no data can be moved to or from it, and its driver waits or fails.",
    severity="error; warning for a GPU, or the switch in one, that may be switched off beside one in the "
    "processor, unless the log says that it fell off the bus, and info where the source says that no driver "
    "is bound to it; info below a bridge in D3, for a device without driver that moves no data and is no "
    "FPGA, which firmware may have switched off, and for the sound of a GPU that answers",
    cost="stated: the device is out of service",
    fix="Check the power of the card: its cables, its slot, its lamps. Switch the machine off, take its "
    "power away for a minute, reseat the card. Without a restart: `echo 1 > "
    "/sys/bus/pci/devices/BDF/remove`, then `echo 1 > /sys/bus/pci/rescan`. If the device goes away again, "
    "replace it.",
    references=("PCIe Base 5.0 §2.3.2 (Completion Handling Rules)", "§7.5.1.1.1 (Vendor ID)"),
    not_said="Devices in D3cold, which the kernel switched off; virtual functions, whose Vendor ID reads as "
    "ones.",
    bearing=Bearing.DISTURBS,
)


_OF_BMCS = frozenset({0x102B, 0x1A03})
_ASLEEP = ("D3hot", "D3cold", "D3")
_BMC_NAMES = ("Matrox", "ASPEED")
"""Makers of the displays that BMCs have: no laptop has one, so nothing there is switched off."""
_MOVE_DATA = (0x01, 0x02, 0x03, 0x06, 0x0B, 0x0C, 0x12)
_OF_FPGAS = frozenset({0x10EE, 0x1172, 0x1204})
_FPGA_NAMES = ("Xilinx", "Altera", "Lattice")
"""Makers of FPGAs. Source: pci.ids."""


@rule(DEAD)
def dead_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices that do not answer: each once, with what is below it."""
    devices: dict[tuple[int, int, int], list[Function]] = {}
    for function in view.machine:
        if view.is_dead(function):
            top = next(
                (step for step in reversed(view.machine.path(function)) if view.is_dead(step)), function
            )
            devices.setdefault(top.address.slot, []).append(function)
    for functions in devices.values():
        first, bdf = functions[0], functions[0].address.short
        port = view.machine.parent(first)
        down = port is not None and port.link.data_link_active is False
        fell = any(view.events_at(function.address, EventKind.GPU_LOST) for function in functions)
        asleep = _may_be_switched_off(view, functions) and not fell
        severity = Severity.ERROR if any(map(_matters, functions)) else Severity.INFO
        if asleep:
            severity = Severity.INFO if _is_left_alone(functions) else Severity.WARNING
        sleeper = _asleep_above(view, first)
        title, fix = f"{bdf} does not answer: all of its registers read as ones", _fix(view, first)
        if _is_side_function(view, functions):
            severity, fix = Severity.INFO, _SIDE
            title = f"{bdf} does not answer, while the GPU that it is part of does: it is switched off"
        elif sleeper is not None:
            severity, fix = Severity.INFO, _WAKE.replace("PORT", str(sleeper.address))
            title = f"{bdf} does not answer, because {sleeper.address.short} above it sleeps"
        elif down and port is not None:
            title = f"{bdf} does not answer, because the link of {port.address.short} above it is down"
        elif asleep:
            title = f"{bdf} does not answer: it is dead, or switched off to save power"
            fix = _SWITCHED_OFF
        elif fell:
            title = f"{bdf} does not answer: it fell off the bus"
        yield this.finding(
            severity,
            bdf,
            title,
            [
                *(f"{f.address.short} {sign}" for f in functions[:4] for sign in f.registers.no_answer),
                f"{bdf} is {first.name}" + (f"; driver in use: {first.driver}" if first.driver else ""),
                *([f"{sleeper.address.short} Status: {sleeper.registers.power_state}"] if sleeper else []),
                *_port_lines(port),
                *(event.line for function in functions for event in view.events_at(function.address)[:4]),
            ],
            also=[function.address.short for function in functions[1:]],
            fix=fix,
            cost=None if sleeper is None else "none, if it wakes when it is used",
        )


_WAKE = (
    "Nothing, if it answers when it is used: use it, or keep it awake (`echo on > "
    "/sys/bus/pci/devices/PORT/power/control`, and the same for BDF), and take the dump again."
)
"""Source: Linux, Documentation/power/pci.rst (runtime power management), and its sysfs-devices-power ABI."""

_SWITCHED_OFF = (
    "Nothing, if a tool or the driver cuts off its power while it is idle (bbswitch, vga_switcheroo, "
    "`prime-select intel`): run something on it (`prime-run`, `DRI_PRIME=1`) and take the dump again. If it "
    "does not answer then either: switch the machine off, and take its power away for a minute."
)
_SIDE = "Nothing, unless it is needed: the GPU's driver or the firmware setup switches it on."
_OF_THE_BOARD = (
    "It is part of the processor or chipset: see whether the firmware setup has it switched off. Otherwise "
    "switch the machine off, take its power away for a minute, and update its firmware."
)


def _fix(view: View, first: Function) -> str | None:
    """Return what to do about what is on no card, whose power one could check."""
    of_the_board = first.address.bus == 0 and view.machine.parent(first) is None and not view.is_guest
    return _OF_THE_BOARD if of_the_board else None


def _is_left_alone(functions: list[Function]) -> bool:
    """Whether no driver has a device: one that died in use keeps its driver, and tools unbind it first."""
    return all(function.driver_known and not function.driver for function in functions)


def _asleep_above(view: View, function: Function) -> Function | None:
    """Return the nearest bridge above that is in D3: systems put one there when all below it sleep."""
    for step in reversed(view.machine.path(function)):
        if step is not function and step.registers.power_state in _ASLEEP:
            return step
    # A switch that does not answer hides its bus numbers: what is behind it hangs on no bridge that answers.
    bus, domain = function.address.bus, function.address.domain
    for bridge in view.machine:
        buses = bridge.buses
        if buses is None or bridge.address.domain != domain or view.is_dead(bridge):
            continue
        if buses.secondary <= bus <= buses.subordinate and bridge.registers.power_state in _ASLEEP:
            return bridge
    return None


def _matters(function: Function) -> bool:
    """Whether it is missed: a driver is bound, or its kind moves data."""
    return bool(function.driver) or function.is_class(*_MOVE_DATA) or _is_fpga(function)


def _is_fpga(function: Function) -> bool:
    """Whether its maker makes FPGAs, whose images say which class they are; no firmware cuts one off."""
    return function.identity.vendor_id in _OF_FPGAS or function.name.startswith(_FPGA_NAMES)


def _is_side_function(view: View, functions: list[Function]) -> bool:
    """Whether these are sound or USB of a GPU that answers: drivers of laptops' GPUs switch those off."""
    beside = view.machine.functions.get(functions[0].address._replace(function=0))
    answers = beside is not None and beside.is_gpu and not view.is_dead(beside)
    return answers and all(f.is_class(0x04, 0x0C) for f in functions)


def _may_be_switched_off(view: View, functions: list[Function]) -> bool:
    """Whether this is the second GPU of a laptop, which drivers and tools cut off from power."""
    if not all(f.is_gpu or is_switch_of_gpu(f) or f.is_class(0x04, 0x0C) for f in functions):
        return False
    inside = any(function.has_display and _is_inside(view, function) for function in view.machine)
    if is_switch_of_gpu(functions[0]):
        # Of a few lines nobody can tell what else the machine has.
        return inside or all(map(view.is_dead, view.machine))
    return inside and functions[0].is_gpu


def _is_inside(view: View, function: Function) -> bool:
    """Whether a display is inside the processor: on its root bus, or behind AMD's internal bridge.

    A list without a tree does not tell where the display of a server's BMC is; its maker does.
    """
    if function.identity.vendor_id in _OF_BMCS or function.name.startswith(_BMC_NAMES):
        return False
    link = view.machine.link_above(function)
    return function.parent is None if link is None else link.on_die and not link.upper.is_class(0x03)


def _port_lines(port: Function | None) -> list[str]:
    if port is None or port.link.data_link_active is None:
        return []
    active = "DLActive+" if port.link.data_link_active else "DLActive-"
    return [f"{port.address.short} LnkSta: {port.link.status}, {active} ({port.name})"]
