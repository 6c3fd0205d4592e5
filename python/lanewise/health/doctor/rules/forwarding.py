"""Bridges that do not pass on what they should: DMA held up, bus numbers and addresses that collide."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.health.doctor.words import listed, size
from lanewise.machine.model import Bar, Kind
from lanewise.machine.view import is_emulated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lanewise.machine.model import Function, Window
    from lanewise.machine.view import View

_ROM, _HOST_BRIDGE = 6, 0x0600
_LOW = (1 << 32) - 1
_PORTS = frozenset({Kind.ROOT_PORT, Kind.UPSTREAM_PORT, Kind.DOWNSTREAM_PORT})

BLOCKED = Rule(
    id="dma-blocked",
    what="Bus mastering is switched off at a bridge, and a device below it uses it: none of its DMA passes.",
    why="With Bus Master Enable clear, a bridge forwards no requests upstream: reads and writes of the "
    "device below end as Unsupported Request, and so do its interrupts, which are writes.",
    severity="error",
    cost="stated: the devices below the bridge cannot reach memory",
    fix="`setpci -s BDF COMMAND=4:4`; then find out what cleared it (a reset, a driver that was unbound, "
    "firmware), remove the device below and rescan: `echo 1 > /sys/bus/pci/rescan`.",
    references=("PCIe Base 5.0 §7.5.1.1.3 (Command, Bus Master Enable)",),
    not_said="Bridges above devices that do not master the bus either.",
    bearing=Bearing.DISTURBS,
)

BUSES = Rule(
    id="bus-numbers-wrong",
    what="Bus numbers of bridges collide or are missing: two lead to one bus, one leads to a bus outside the "
    "range of the bridge above it, or one has a card or a link and no bus numbers.",
    why="Configuration requests find their way by bus numbers. What lies behind a number that two bridges "
    "claim, or that the bridge above does not pass on, cannot be reached reliably; what lies behind a bridge "
    "without numbers is not listed at all.",
    severity="error; warning where a bridge without numbers shows only the lanes of a link",
    cost="stated: the devices behind the bridge cannot be reached, or are taken for others",
    fix="Boot with `pci=assign-busses` or `pci=realloc`; update firmware; remove the bridge and rescan.",
    references=("PCIe Base 5.0 §7.5.1.3.2 to §7.5.1.3.4 (bus numbers)", "§7.3.3 (configuration routing)"),
    not_said="Sources that infer bus numbers; bridges without numbers that have no link and no card; "
    "CardBus.",
    bearing=Bearing.DISTURBS,
)

CONFLICT = Rule(
    id="address-conflict",
    what="The memory of a device lies outside the windows of the bridge above it, or where another device "
    "is.",
    why="A request to such an address goes to another device, or to none: reads return ones, writes are "
    "lost.",
    severity="error",
    cost="stated: the device, or a part of it, cannot be reached",
    fix="Remove the device and rescan: `echo 1 > /sys/bus/pci/devices/BDF/remove; echo 1 > "
    "/sys/bus/pci/rescan`; or boot with `pci=realloc`; update firmware.",
    references=("PCIe Base 5.0 §7.5.1.2.1 (Base Address Registers)", "§7.5.1.3.8 (Memory Base and Limit)"),
    not_said="Expansion ROMs and I/O; devices whose host bridge translates addresses, by the same shift at "
    "two of them; virtual functions; bridges whose windows are all closed (`bridge-window-closed`); devices "
    "that do not decode memory; host bridges, whose BARs describe what lies behind them.",
    bearing=Bearing.DISTURBS,
)


@rule(BLOCKED)
def blocked_masters(view: View, this: Rule) -> Iterable[Finding]:
    """Find bridges that hold up the requests of devices below them."""
    for bridge in view.machine:
        if not view.passes_on(bridge) or bridge.registers.bus_master is not False:
            continue
        cut = [
            f
            for f in view.machine.descendants(bridge)
            if f.registers.bus_master and not f.is_bridge and not f.virtual and not view.is_dead(f)
        ]
        if not cut:
            continue
        bdf = bridge.address.short
        yield this.finding(
            Severity.ERROR,
            bdf,
            f"{listed(cut)} cannot read or write memory: bus mastering is off at bridge {bdf} above",
            [
                f"{bdf} Control: BusMaster- ({bridge.name})",
                *(f"{f.address.short} Control: BusMaster+ ({f.name})" for f in cut[:4]),
            ],
            also=[f.address.short for f in cut],
        )


@rule(BUSES)
def colliding_buses(view: View, this: Rule) -> Iterable[Finding]:
    """Find bridges whose bus numbers cannot be."""
    first: dict[tuple[int, int], Function] = {}
    for bridge in view.machine:
        buses = bridge.buses
        if bridge.kind not in _PORTS or buses is None or bridge.registers.windows is None:
            continue
        if not buses.secondary:
            yield from _without_numbers(view, this, bridge)
            continue
        other = first.setdefault((bridge.address.domain, buses.secondary), bridge)
        above = view.machine.parent(bridge)
        bdf, why = bridge.address.short, ""
        if other is not bridge:
            why = f"{bdf} and {other.address.short} both lead to bus {buses.secondary:02x}"
        elif buses.subordinate < buses.secondary:
            why = f"the buses behind {bdf} end before they begin"
        elif above is not None and above.kind in _PORTS and above.buses is not None:
            over = buses.subordinate > above.buses.subordinate
            why = f"{bdf} leads to buses that {above.address.short} above it does not pass on" if over else ""
        if why:
            involved = [one for one in (bridge, other, above) if one is not None]
            yield this.finding(
                Severity.ERROR,
                bdf,
                f"bus numbers collide: {why}",
                [_bus_line(one) for one in dict.fromkeys(involved) if one.buses is not None],
                also=[other.address.short] if other is not bridge else _wrong_above(above, why),
            )


def _without_numbers(view: View, this: Rule, bridge: Function) -> Iterator[Finding]:
    """Find a bridge that leads nowhere although something is at the other end of its link."""
    link, slot = bridge.link, bridge.registers.slot
    if bridge.children or is_emulated(bridge) or view.is_dead(bridge):
        return
    bdf, signs = bridge.address.short, []
    if link.data_link_active:
        signs.append(f"{bdf} LnkSta: DLActive+")
    if slot is not None and slot.presence:
        signs.append(f"{bdf} SltSta: PresDet+")
    certain = bool(signs)
    if link.status.width and link.data_link_active is not False:
        signs.append(f"{bdf} LnkSta: Width x{link.status.width}")
    if signs:
        yield this.finding(
            Severity.ERROR if certain else Severity.WARNING,
            bdf,
            f"no bus numbers: {bdf} leads to no bus, and something is at the other end of its link",
            [_bus_line(bridge), *signs],
        )


def _wrong_above(above: Function | None, why: str) -> list[str]:
    """Name the bridge above, where either of the two may be wrong."""
    return [above.address.short] if above is not None and "does not pass" in why else []


def _bus_line(bridge: Function) -> str:
    buses = bridge.buses
    assert buses is not None
    return (
        f"{bridge.address.short} Bus: secondary={buses.secondary:02x}, subordinate={buses.subordinate:02x} "
        f"({bridge.name})"
    )


@rule(CONFLICT)
def conflicting_addresses(view: View, this: Rule) -> Iterable[Finding]:
    """Find memory that no bridge passes on, and memory that two devices claim."""
    taken: dict[int, list[tuple[int, int, Function, Bar]]] = {}
    passed_on = {function.address.domain for function in view.machine if _is_behind_a_window(view, function)}
    shifts = _shifts(view)
    for function in view.machine:
        if function.is_bridge or function.virtual or function.registers.memory_enabled is False:
            continue
        if function.is_class(_HOST_BRIDGE):
            # Its BARs describe the memory that it decodes for all behind it, not registers of its own.
            continue
        for bar in _memory(function):
            bdf, line = function.address.short, _bar_line(function, bar)
            bridge = _bridge_beside(view, function, bar)
            shifted = (function.address.domain, _high_part(bar)) in shifts and _is_shifted(bridge, bar)
            if bridge is not None and function.address.domain in passed_on and not shifted:
                yield this.finding(
                    Severity.ERROR,
                    bdf,
                    f"BAR {bar.index} of {bdf} cannot be reached: bridge {bridge.address.short} does not "
                    f"pass its "
                    "addresses on",
                    [line, *_window_lines(bridge)],
                    also=[bridge.address.short],
                )
            first, last = bar.address or 0, (bar.address or 0) + (bar.size or 1) - 1
            for start, end, other, theirs in taken.get(function.address.domain, ()):
                if first <= end and start <= last and other is not function:
                    yield this.finding(
                        Severity.ERROR,
                        bdf,
                        f"two devices at one address: BAR {bar.index} of {bdf} and BAR {theirs.index} of "
                        f"{other.address.short}",
                        [line, _bar_line(other, theirs)],
                        also=[other.address.short],
                    )
                    break
            taken.setdefault(function.address.domain, []).append((first, last, function, bar))


def _memory(function: Function) -> Iterator[Bar]:
    for bar in function.registers.bars or ():
        if bar.assigned and not bar.io and bar.index < _ROM and not bar.ignored and not bar.disabled:
            yield bar


def _is_behind_a_window(view: View, function: Function) -> bool:
    """Whether a window of the bridge above holds one of its BARs.

    Where none in a domain does, its host bridge translates: lspci shows addresses of the processor at devices
    and those of the bus at bridges, as on POWER.
    """
    bridge = view.machine.parent(function)
    windows = (bridge.registers.windows or ()) if bridge is not None else ()
    return any(_holds(window, bar) for bar in _memory(function) for window in windows)


def _shifts(view: View) -> set[tuple[int, int]]:
    """Return by domain what its host bridge adds to addresses of the bus below 4 GiB.

    On some processors (Loongson, Arm) lspci shows addresses of the processor at devices and those of the bus
    at bridges, for one of the two kinds of memory only. Two devices, each shifted by the same upper half into
    the window above it, show such a translation, and so does one whose BAR has no upper half to hold it.
    """
    seen: dict[tuple[int, int], set[tuple[int, int, int]]] = {}
    certain = set()
    for function in view.machine:
        if function.is_bridge or function.virtual:
            continue
        for bar in _memory(function):
            if _is_shifted(_bridge_beside(view, function, bar), bar):
                key = (function.address.domain, _high_part(bar))
                seen.setdefault(key, set()).add(function.address.slot)
                if not bar.bits64:
                    certain.add(key)
    return certain | {key for key, slots in seen.items() if len(slots) > 1}


def _high_part(bar: Bar) -> int:
    return (bar.address or 0) & ~_LOW


def _is_shifted(bridge: Function | None, bar: Bar) -> bool:
    """Whether a BAR above 4 GiB would lie in a window of its bridge without its upper half."""
    low = (bar.address or 0) & _LOW
    return (
        bridge is not None
        and _high_part(bar) != 0
        and any(w.size and w.first <= low <= w.last for w in bridge.registers.windows or ())
    )


def _bridge_beside(view: View, function: Function, bar: Bar) -> Function | None:
    """Return the bridge above, where its windows are known, one is open, and a BAR is in none of them."""
    bridge = view.machine.parent(function)
    if bridge is None or view.machine.role(bridge) not in _PORTS:
        return None
    windows = bridge.registers.windows or ()
    if {window.prefetchable for window in windows} != {True, False} or not any(w.size for w in windows):
        return None
    return None if any(_holds(window, bar) for window in windows) else bridge


def _holds(window: Window, bar: Bar) -> bool:
    return bool(window.size) and window.first <= (bar.address or 0) <= window.last


def _bar_line(function: Function, bar: Bar) -> str:
    how_much = f" [size={size(bar.size)}]" if bar.size else ""
    place = f"Region {bar.index}: Memory at {bar.address:x}{how_much}"
    return f"{function.address.short} {place} ({function.name})"


def _window_lines(bridge: Function) -> list[str]:
    return [
        f"{bridge.address.short} {'Prefetchable memory' if window.prefetchable else 'Memory'} behind bridge: "
        + (f"{window.first:x}-{window.last:x}" if window.size else "[disabled]")
        for window in bridge.registers.windows or ()
    ]
