"""Devices that lost their configuration under a running driver."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PROVISIONING, Bearing, Rule, rule
from lanewise.health.doctor.rules.bars import lacking_bars
from lanewise.health.doctor.words import sign
from lanewise.machine.view import is_emulated, is_management

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Bar, Function
    from lanewise.machine.view import View

LOST = Rule(
    id="configuration-lost",
    what="A driver is bound to a device that does not decode its memory, has bus mastering switched off, "
    "or whose "
    "BARs are empty.",
    why="After a reset, a reloaded FPGA image or a failed resume the device is back at its defaults while "
    "the kernel still assumes the values that it wrote. The link is up at full speed; reads return ones "
    "and DMA "
    "never starts. Where only bus mastering is off, its driver may also have failed to start it.",
    severity="error when memory is not decoded or BARs are empty; warning when only bus mastering is off",
    cost="stated: the device does not work until it is configured again",
    fix="Unbind the driver, remove the device (`echo 1 > /sys/bus/pci/devices/BDF/remove`), rescan (`echo "
    "1 > /sys/bus/pci/rescan`), and compare MPS of device and port afterwards.",
    references=(
        "PCIe Base 5.0 §7.5.1.1.3 (Command)",
        "§7.5.1.2.1 (Base Address Registers)",
        "§6.6.1 (Conventional Reset)",
    ),
    not_said="Devices that sleep, or are kept for a virtual machine (vfio-pci): drivers switch those off "
    "on purpose.",
    bearing=Bearing.DISTURBS,
    profiles=PROVISIONING,
)

_SLEEPING = frozenset({"D1", "D2", "D3hot", "D3cold", "D3"})


@rule(LOST)
def lost_configurations(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices at their defaults under a driver."""
    for function in view.machine:
        # Without an address nothing can be decoded, and that is the fault (`bar-unassigned`).
        if not _should_work(view, function) or lacking_bars(view, function):
            continue
        registers = function.registers
        memory_bars = [bar for bar in registers.bars or () if not bar.io and bar.index < 6]
        empty = [bar for bar in memory_bars if bar.virtual]
        blind = bool(memory_bars) and _does_not_decode(function, memory_bars)
        mute = registers.bus_master is False and _masters_the_bus(view, function)
        if not (blind or empty or mute):
            continue
        bdf = function.address.short
        lost = f"{bdf} lost its configuration: {_words(blind=blind, empty=bool(empty), mute=mute)}"
        yield this.finding(
            Severity.ERROR if blind or empty else Severity.WARNING,
            bdf,
            lost if blind or empty else f"{bdf} may not start DMA, although {function.driver} drives it",
            _evidence(function),
        )


def _should_work(view: View, function: Function) -> bool:
    return (
        bool(function.driver)
        and not function.is_bridge
        and not function.virtual
        and (
            function.registers.express is True or _shows_its_header(view, function) or _is_awake_usb(function)
        )
        and function.registers.power_state not in _SLEEPING
        and not view.is_held_by_another(function)
    )


def _is_awake_usb(function: Function) -> bool:
    """Whether it is a USB host that says that it is awake: those of chipsets have no link."""
    return function.driver == "xhci_hcd" and function.registers.power_state == "D0"


def _shows_its_header(view: View, function: Function) -> bool:
    """Whether it is a device behind a bridge in a dump of an ordinary user, which shows no capabilities."""
    behind = function.address.bus != 0 and not is_emulated(function)
    return function.registers.express is None and behind and view.is_data_mover(function)


def _masters_the_bus(view: View, function: Function) -> bool:
    """Whether a driver of such a device starts DMA as soon as it is bound, however slow its link is.

    Where its power state is not shown, a network adapter may sleep because nobody uses it.
    """
    if function.registers.express is None and function.is_nic and not function.does_rdma:
        return False
    return view.is_data_mover(function) and not is_emulated(function) and not is_management(function)


def _does_not_decode(function: Function, bars: list[Bar]) -> bool:
    """Whether Command says so, or `lspci` behind a BAR, or the kernel that no driver switched it on."""
    registers = function.registers
    off = registers.memory_enabled is False or registers.enabled is False
    return off or any(bar.disabled for bar in bars)


def _words(*, blind: bool, empty: bool, mute: bool) -> str:
    said = [
        words
        for words, applies in (
            ("it answers no access to its memory", blind),
            ("its BARs are empty", empty),
            ("it cannot read or write memory, because bus mastering is off", mute),
        )
        if applies
    ]
    return ", ".join(said)


def _evidence(function: Function) -> list[str]:
    registers, transfers = function.registers, function.transfers
    lines = [
        f"{function.address.short} Control: Mem{sign(registers.memory_enabled)} "
        f"BusMaster{sign(registers.bus_master)}; driver in use: {function.driver} ({function.name})"
    ]
    lines += [
        f"{function.address.short} Region {bar.index}: {'[virtual]' if bar.virtual else '[disabled]'}"
        for bar in registers.bars or ()
        if (bar.virtual or bar.disabled) and bar.index < 6
    ]
    if registers.enabled is False:
        lines.append(f"{function.address.short} enable: 0")
    if (
        transfers.mps is not None
        and transfers.mps_supported is not None
        and transfers.mps < transfers.mps_supported
    ):
        lines.append(
            f"{function.address.short} DevCtl: MaxPayload {transfers.mps} bytes of "
            f"{transfers.mps_supported}, the value after a reset"
            if transfers.mps == 128
            else f"{function.address.short} DevCtl: MaxPayload {transfers.mps} bytes of "
            f"{transfers.mps_supported}"
        )
    return lines
