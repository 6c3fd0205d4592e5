"""Devices without addresses: BARs that got none, bridges that pass nothing on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.health.doctor.words import size
from lanewise.machine.address import Address
from lanewise.machine.model import ENDPOINTS, Bar, EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

_ROM = 6
_OF_THE_HOST = Address(0, 0, 0, 0)
"""The host bridge, or the root port of a host controller on a board of Arm or RISC-V: some of these ports
have a BAR as large as all of their windows, which gets no address and which no driver uses. In domains of a
hypervisor, which have other numbers, a device may be at that place."""
_ELSEWHERE = "Enhanced Allocation"

UNASSIGNED = Rule(
    id="bar-unassigned",
    what="A device has no address for its registers or memory: a BAR is unassigned, ignored, or lost.",
    why="The CPU reaches a device by the addresses in its BARs. Without one the driver cannot start, or can "
    "use only a part of the device. Large BARs need room above 4 GiB that firmware must offer.",
    severity="error for devices with a driver, GPUs, network, storage and accelerators; warning otherwise",
    cost="stated: the device, or what lies behind that BAR, cannot be used",
    fix="In the firmware setup enable Above 4G Decoding (64-bit BARs, MMIO High Base and Size); boot with "
    "`pci=realloc`; update firmware. After a hot plug remove the device and rescan: `echo 1 > "
    "/sys/bus/pci/devices/BDF/remove; echo 1 > /sys/bus/pci/rescan`.",
    references=("PCIe Base 5.0 §7.5.1.2.1 (Base Address Registers)",),
    not_said="Expansion ROMs, I/O ports, BARs of virtual functions and of bridges; a BAR that the kernel log "
    "first calls unassigned and then assigns.",
    bearing=Bearing.DISTURBS,
)

CLOSED = Rule(
    id="bridge-window-closed",
    what="A bridge passes no memory on to the devices below it.",
    why="The CPU reaches a device only through the windows of all bridges above it. A port whose windows are "
    "closed, or that does not decode memory, cuts off everything below.",
    severity="error",
    cost="stated: the devices below the bridge cannot be used",
    fix="Remove the bridge and rescan: `echo 1 > /sys/bus/pci/devices/BDF/remove; echo 1 > "
    "/sys/bus/pci/rescan`; or boot with `pci=realloc`; update firmware.",
    references=("PCIe Base 5.0 §7.5.1.3.8 (Memory Base and Limit)", "§7.5.1.1.3 (Command)"),
    not_said="Bridges without devices that have memory BARs.",
    bearing=Bearing.DISTURBS,
)


@rule(UNASSIGNED)
def unassigned_bars(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices without addresses, by registers or by the log."""
    told: set[Address] = set()
    for function in view.machine:
        lacking = lacking_bars(view, function)
        if not lacking:
            continue
        told.add(function.address)
        bdf = function.address.short
        bars = [bar for bar in function.registers.bars or () if _is_memory(bar)]
        every = "any of its BARs" if len(lacking) == len(bars) and len(bars) > 1 else _named(lacking)
        above = view.machine.parent(function)
        yield this.finding(
            Severity.ERROR if _matters(function) else Severity.WARNING,
            bdf,
            f"{bdf} has no address for {every}, so its memory cannot be reached",
            [
                *(f"{bdf} Region {bar.index}: {_as_read(bar)} ({function.name})" for bar in lacking),
                *([f"{bdf} Control: Mem-"] if function.registers.memory_enabled is False else []),
                *([f"{bdf} driver in use: {function.driver or 'none'}"] if function.driver_known else []),
                *(_window_lines(above) if above is not None and _is_closed(above) else []),
                *(event.line for event in view.events_at(function.address, EventKind.NO_SPACE)[:4]),
            ],
        )
    yield from _logged(view, this, told)


def lacking_bars(view: View, function: Function) -> list[Bar]:
    """Return the memory BARs of an endpoint that have no address; none for those that have a reason."""
    registers = function.registers
    if function.is_bridge or function.virtual or view.is_dead(function) or registers.express is False:
        return []
    if view.machine.role(function) not in (*ENDPOINTS, None):
        return []
    if registers.bars == () and _cannot_do_without(function):
        return [Bar(0, unassigned=True)]
    return [
        bar
        for bar in registers.bars or ()
        if _is_memory(bar)
        and (bar.unassigned or bar.ignored or bar.address is None or _is_lost(view, function, bar))
    ]


def _cannot_do_without(function: Function) -> bool:
    """Whether a kind of device always has memory BARs, unless it says by other means where it is (7.8.5)."""
    kinds = function.is_nvme or function.is_gpu or function.is_class(0x0200, 0x0207, 0x0B, 0x12)
    return kinds and function.registers.express is True and _ELSEWHERE not in function.registers.capabilities


def _is_lost(view: View, function: Function, bar: Bar) -> bool:
    """Whether only the kernel knows an address; of a device with a driver `configuration-lost` tells.

    Sources that name no driver at all, like lspci under Windows, do not say which it is: there systems keep
    addresses of devices that sleep, and of BARs that registers do not hold.
    """
    if not bar.virtual or function.driver is not None or function.registers.express is not True:
        return False
    asleep = function.registers.power_state in ("D3hot", "D3cold", "D3")
    return not asleep and any(other.driver for other in view.machine)


def _is_memory(bar: Bar) -> bool:
    return not bar.io and bar.index < _ROM


def _logged(view: View, this: Rule, told: set[Address]) -> Iterable[Finding]:
    """Find what only the log tells: a dump that shows the addresses may be older, or younger."""
    addresses = {e.address: None for e in view.machine.events if e.kind is EventKind.NO_SPACE and e.address}
    for address in addresses:
        function = view.machine.functions.get(address)
        if address in told or address == _OF_THE_HOST:
            continue
        if function is not None and (function.is_bridge or function.virtual):
            continue
        shown = function is not None and _has_addresses(function)
        events = view.events_at(address, EventKind.NO_SPACE)
        numbers = sorted({event.number for event in events if event.number is not None})
        yield this.finding(
            Severity.ERROR if not shown and (function is None or _matters(function)) else Severity.WARNING,
            address.short,
            f"{address.short} got no address for BAR {', '.join(map(str, numbers))}"
            + (", says the log, but the dump shows some" if shown else ""),
            [event.line for event in events[:4]],
        )


def _has_addresses(function: Function) -> bool:
    bars = [bar for bar in function.registers.bars or () if _is_memory(bar)]
    return bool(bars) and all(bar.assigned for bar in bars)


def _matters(function: Function) -> bool:
    return bool(function.driver) or function.is_class(0x01, 0x02, 0x03, 0x0B, 0x12)


def _named(bars: list[Bar]) -> str:
    return f"BAR {', '.join(str(bar.index) for bar in bars)}"


def _as_read(bar: Bar) -> str:
    """Write a BAR as `lspci` does."""
    place = (
        "<ignored>"
        if bar.ignored
        else "[virtual]"
        if bar.virtual
        else "<unassigned>"
        if bar.unassigned
        else "0"
    )
    width = "64-bit" if bar.bits64 else "32-bit"
    kind = "prefetchable" if bar.prefetchable else "non-prefetchable"
    return f"Memory at {place} ({width}, {kind})" + (f" [size={size(bar.size)}]" if bar.size else "")


@rule(CLOSED)
def closed_windows(view: View, this: Rule) -> Iterable[Finding]:
    """Find bridges that cut off what is below them."""
    for bridge in view.machine:
        if not view.passes_on(bridge) or not (_is_closed(bridge) or _is_blind(bridge)):
            continue
        cut = [f for f in view.machine.descendants(bridge) if _wants_memory(view, f)]
        if not cut:
            continue
        bdf = bridge.address.short
        how = "passes no memory addresses on" if _is_closed(bridge) else "answers no memory access (Mem-)"
        yield this.finding(
            Severity.ERROR,
            bdf,
            f"{cut[0].address.short} cannot be reached: the bridge {bdf} above it {how}",
            [
                *(_window_lines(bridge) if _is_closed(bridge) else [f"{bdf} Control: Mem- ({bridge.name})"]),
                *(
                    f"{f.address.short} Region {bar.index} is memory ({f.name})"
                    for f in cut[:4]
                    for bar in _bars(f)[:1]
                ),
            ],
            also=[f.address.short for f in cut],
        )


def _is_closed(bridge: Function) -> bool:
    """Whether both kinds of windows are known and closed."""
    windows = bridge.registers.windows or ()
    return {window.prefetchable for window in windows} == {True, False} and not any(w.size for w in windows)


def _is_blind(bridge: Function) -> bool:
    return bridge.registers.memory_enabled is False


def _wants_memory(view: View, function: Function) -> bool:
    """Whether a device has memory of which the bridge is the only thing that is missing."""
    if function.is_bridge or function.virtual or view.is_dead(function):
        return False
    return any(bar.assigned for bar in _bars(function)) and (
        function.driver is not None or function.registers.memory_enabled is not False
    )


def _bars(function: Function) -> list[Bar]:
    return [bar for bar in function.registers.bars or () if _is_memory(bar)]


def _window_lines(bridge: Function) -> list[str]:
    return [
        f"{bridge.address.short} {'Prefetchable memory' if window.prefetchable else 'Memory'} behind bridge: "
        f"[disabled] ({bridge.name})"
        for window in bridge.registers.windows or ()
        if not window.size
    ]
