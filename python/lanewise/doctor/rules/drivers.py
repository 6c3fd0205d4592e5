"""Devices that no driver drives, or another one than their likes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.doctor import alike
from lanewise.doctor.finding import Finding, Severity
from lanewise.doctor.registry import Bearing, Rule, rule
from lanewise.doctor.rules.bars import lacking_bars

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

MISSING = Rule(
    id="driver-missing",
    what="A GPU, NVSwitch, adapter, drive or accelerator has no driver, or another driver than the same "
    "devices beside it.",
    why="A device without a driver does nothing. Where its likes have one, the driver was there and failed "
    "at this one: its log lines say why.",
    severity="warning where devices of the same kind, or another port of the adapter, have a driver; info "
    "for devices that have none by themselves, and for those that are held for a virtual machine or a "
    "program, "
    "unless few are and most of their kind are not",
    cost="stated: the device is not used",
    fix="Read why it failed: `dmesg | grep BDF`. Then bind it: `echo BDF > "
    "/sys/bus/pci/drivers/DRIVER/bind`. If it fails again, reseat the card and compare its firmware with "
    "the others.",
    references=("Linux, Documentation/ABI/testing/sysfs-bus-pci (bind)",),
    not_said="Virtual functions; sources that show no drivers; devices that do not answer (see "
    "`device-dead`) or have no addresses (see `bar-unassigned`), which is why they have none.",
    bearing=Bearing.DISTURBS,
)

_STAND_INS = {
    "nouveau": "which cannot compute at full speed",
    "vfio-pci": "which holds it for a virtual machine",
    "pci-stub": "which only keeps others away",
    "xen-pciback": "which holds it for a virtual machine",
    "uio_pci_generic": "which holds it for a program",
    "igb_uio": "which holds it for a program",
}
"""Drivers that stand in for the device's own, and what they mean."""
_ON_PURPOSE = frozenset(_STAND_INS) - {"nouveau"}


@rule(MISSING)
def missing_drivers(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices without a driver: one of several first, those on their own together."""
    if not any(function.driver for function in view.machine):
        return
    told = set()
    for members in alike.groups_of_any_size(view, bridges=True, integrated=True):
        shown = [member for member in members if member.driver_known and not lacking_bars(view, member)]
        own = [m.driver for m in shown if m.driver and m.driver not in _STAND_INS]
        if not own:
            continue
        usual = max(dict.fromkeys(own), key=own.count)
        for member in shown:
            if member.driver != usual and (
                member.driver is None or own.count(member.driver) <= len(own) // 2
            ):
                told.add(member.address)
                yield _odd(this, member, usual, shown)
    for member, brother in _beside_driven(view):
        if member.address not in told:
            told.add(member.address)
            yield _beside(this, member, brother)
    alone = [
        function
        for members in alike.groups_of_any_size(view)
        for function in members
        if function.driver_known
        and function.driver is None
        and function.address not in told
        and not lacking_bars(view, function)
    ]
    if alone:
        yield this.finding(
            Severity.INFO,
            alone[0].address.short,
            f"no driver for {len(alone)} device{'s' if len(alone) > 1 else ''} that could move data",
            [f"{f.address.short} has no driver ({f.name})" for f in alone[:8]],
            fix="If they are to be used, load their driver; otherwise nothing.",
            also=[f.address.short for f in alone[1:]],
        )


def _beside_driven(view: View) -> Iterator[tuple[Function, Function]]:
    """List ports of adapters without a driver beside another port of the same device that has one."""
    functions = [f for members in alike.groups_of_any_size(view) for f in members if f.is_nic]
    driven = {f.address.slot: f for f in reversed(functions) if f.driver and f.driver not in _STAND_INS}
    for function in functions:
        brother = driven.get(function.address.slot)
        if brother is None or function.driver is not None or not function.driver_known:
            continue
        same = function.identity.device_id == brother.identity.device_id
        if same and function.name == brother.name and not lacking_bars(view, function):
            yield function, brother


def _beside(this: Rule, member: Function, brother: Function) -> Finding:
    bdf, usual = member.address.short, brother.driver or ""
    return this.finding(
        Severity.WARNING,
        bdf,
        f"no driver at {bdf}, a port of the adapter whose port {brother.address.short} has {usual}",
        [
            f"{one.address.short} driver in use: {one.driver or 'none'} ({one.name})"
            for one in (member, brother)
        ],
        fix=_remedy(this, member, usual),
    )


def _remedy(this: Rule, member: Function, usual: str) -> str:
    return this.fix.replace("DRIVER", usual).replace("echo BDF", f"echo {member.address}")


_HELD = (
    "If a virtual machine or a program is to have BDF: nothing. If not, give it back: `echo BDF > "
    "/sys/bus/pci/drivers/HOLDER/unbind; echo BDF > /sys/bus/pci/drivers/DRIVER/bind`, and look for what "
    "binds "
    "it at boot (`driver_override`, `vfio-pci.ids=` of the kernel)."
)


def _odd(this: Rule, member: Function, usual: str, shown: list[Function]) -> Finding:
    bdf, driver = member.address.short, member.driver
    having = sum(one.driver == usual for one in shown)
    on_purpose = driver in _ON_PURPOSE
    rare = alike.is_rare(sum(one.driver in _ON_PURPOSE for one in shown), len(shown))
    fix = _remedy(this, member, usual)
    if on_purpose and driver is not None:
        fix = _HELD.replace("HOLDER", driver).replace("DRIVER", usual).replace("BDF", str(member.address))
    what = "no driver" if driver is None else f"driver {driver}"
    meaning = f", {_STAND_INS[driver]}" if driver in _STAND_INS else ""
    return this.finding(
        Severity.INFO if on_purpose and not rare else Severity.WARNING,
        bdf,
        f"{what} at {bdf}{meaning}; {having} of {len(shown)} devices of its kind have {usual}",
        [
            f"{bdf} driver in use: {driver or 'none'} ({member.name})",
            *([f"{bdf} Control: Mem-"] if member.registers.memory_enabled is False else []),
        ],
        fix=fix,
    )
