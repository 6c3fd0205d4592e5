"""Address space: resizable BARs, 64-bit BARs below 4 GiB, virtual functions without ARI."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PERFORMANCE, PROVISIONING, Rule, rule
from lanewise.health.doctor.words import size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.view import View

_LARGE_BAR = 64 << 20
"""Prefetchable 64-bit BARs from this size on crowd the space below 4 GiB. Assumed."""

_FOUR_GIB = 1 << 32

_SMALL_WINDOW = 256 << 20
"""What devices have had by default for as long as GPUs had more."""

_WITHOUT_ARI = 7
"""Functions beside function 0 that a bus without ARI has room for (§6.13)."""

REBAR = Rule(
    id="resizable-bar",
    what="A GPU could show the processor all of its memory, and shows a window of 256 MiB or less.",
    why="With a small window, the driver moves it around, or copies through staging buffers; peer-to-peer "
    "access and large mappings by other devices are limited to what the window shows.",
    severity="info",
    cost="stated: depends on the software; DMA of the GPU itself is not affected",
    fix="Enable Resizable BAR and Above 4G Decoding in the firmware setup, and update GPU firmware and "
    "driver.",
    references=("PCIe Base 5.0 §7.8.6 (Resizable BAR)",),
    not_said="Devices other than GPUs, and windows larger than 256 MiB.",
    profiles=PERFORMANCE,
)

BELOW_4G = Rule(
    id="bar-below-4g",
    what="A large 64-bit prefetchable BAR lies below 4 GiB.",
    why="Space below 4 GiB is scarce: other devices may get none, virtual functions cannot be enabled, "
    "BARs cannot be resized.",
    severity="info",
    cost="stated: none for bandwidth",
    fix="Enable Above 4G Decoding in the firmware setup.",
    references=("PCIe Base 5.0 §7.5.1.2.1 (Base Address Registers)",),
    not_said="BARs below 64 MiB, and 32-bit ones, which can lie nowhere else.",
    profiles=PROVISIONING,
)

VIRTUAL = Rule(
    id="sriov-without-ari",
    what="More virtual functions are enabled than fit on a bus without ARI, and the port above does not "
    "forward ARI.",
    why="Without ARI a bus has room for eight functions. Virtual functions beyond that land on further "
    "bus numbers, or are not found at all.",
    severity="warning",
    cost="stated: virtual functions may be missing",
    fix="Enable ARI (SR-IOV support) in the firmware setup; the port above needs ARI Forwarding in Device "
    "Control 2.",
    references=("PCIe Base 5.0 §6.13 (ARI)", "§9.3.3 (SR-IOV capability)"),
    not_said="Devices whose virtual functions are not enabled.",
    profiles=PROVISIONING,
)


@rule(REBAR)
def small_windows(view: View, this: Rule) -> Iterable[Finding]:
    """Say once which GPUs have a small window that could be larger."""
    small = [
        (function, bar)
        for function in view.machine
        if view.is_compute_gpu(function) and not function.virtual
        for bar in function.registers.resizable_bars
        if not bar.virtual and bar.current and bar.current <= _SMALL_WINDOW < max(bar.supported or (0,))
    ]
    if not small:
        return
    functions = list(dict.fromkeys(function.address for function, _ in small))
    first, bar = small[0]
    more = len(functions) - 1
    who = f"{first.address.short} shows"
    if more:
        who = f"{first.address.short} and {more} more {'GPU' if more == 1 else 'GPUs'} show"
    yield this.finding(
        Severity.INFO,
        first.address.short,
        f"{who} {size(bar.current or 0)} of {'their' if more else 'its'} memory at a time, "
        f"{size(max(bar.supported or (0,)))} is possible",
        [
            f"{function.address.short} BAR {bar.index}: current size {size(bar.current or 0)}, "
            f"supported up to {size(max(bar.supported or (0,)))} ({function.name})"
            for function, bar in small
        ],
        also=[address.short for address in functions[1:]],
    )


@rule(BELOW_4G)
def low_windows(view: View, this: Rule) -> Iterable[Finding]:
    """Find large BARs in the scarce space."""
    for function in view.machine:
        low = [
            bar
            for bar in function.registers.bars or ()
            if bar.bits64
            and bar.prefetchable
            and bar.assigned
            and (bar.size or 0) >= _LARGE_BAR
            and (bar.address or 0) < _FOUR_GIB
        ]
        if not low or function.is_bridge or view.machine.link_above(function) is None:
            continue
        yield this.finding(
            Severity.INFO,
            function.address.short,
            f"{function.address.short} has {size(sum(bar.size or 0 for bar in low))} below 4 GiB that "
            "could lie above",
            [
                f"{function.address.short} Region {bar.index}: Memory at {bar.address:08x} (64-bit, "
                f"prefetchable) [size={size(bar.size or 0)}] ({function.name})"
                for bar in low
            ],
        )


@rule(VIRTUAL)
def virtual_functions_without_ari(view: View, this: Rule) -> Iterable[Finding]:
    """Find virtual functions that have no room."""
    for function in view.machine:
        sriov = function.registers.sriov
        if sriov is None or not sriov.enabled or (sriov.count or 0) <= _WITHOUT_ARI:
            continue
        port = view.machine.parent(function)
        if port is None or port.registers.ari_forwarding is not False:
            continue
        yield this.finding(
            Severity.WARNING,
            function.address.short,
            f"{function.address.short} has {sriov.count} virtual functions, and ARI, which they need, is off",
            [
                f"{function.address.short} IOVCtl: Enable+, Number of VFs: {sriov.count} ({function.name})",
                f"{port.address.short} DevCtl2: ARIFwd- ({port.name})",
            ],
        )
