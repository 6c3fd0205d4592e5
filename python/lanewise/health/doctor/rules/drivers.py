"""Devices that no driver drives, or another one than their likes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor import alike
from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.health.doctor.rules.bars import lacking_bars
from lanewise.health.doctor.words import listed
from lanewise.machine.topology import is_inside_chip

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

MISSING = Rule(
    id="driver-missing",
    what="A GPU, NVSwitch, adapter, drive or accelerator has no driver, or another driver than the same "
    "devices beside it.",
    why="A device without a driver does nothing. If equal devices have one, the driver was there and failed "
    "at this one: its log lines say why.",
    severity="warning where devices of the same kind, or another port of the adapter, have a driver, and "
    "for GPUs without a display, accelerators on cards and NVMe drives of a machine whose other devices "
    "have theirs, and adapters for which the kernel has a module; info for other devices without a driver, "
    "for those with another driver, and for those that are held for a virtual machine or a program, unless "
    "the host drives the sound of the same GPU, or only few of their kind are held and other functions of "
    "the same card are not",
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
    "vfio-pci": "which keeps it for a virtual machine, so that the host cannot use it",
    "pci-stub": "which keeps all other drivers away from it",
    "pciback": "which keeps it for a virtual machine, so that the host cannot use it",
    "xen-pciback": "which keeps it for a virtual machine, so that the host cannot use it",
    "uio_pci_generic": "which keeps it for a program like DPDK",
    "igb_uio": "which keeps it for a program like DPDK",
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
                yield _odd(view, this, member, usual, shown)
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
    missed = [function for function in alone if _is_missed(view, function)]
    if missed:
        yield this.finding(
            Severity.WARNING,
            missed[0].address.short,
            f"no driver at {listed(missed)}, while other devices have theirs: nothing can use "
            f"{'it' if len(missed) == 1 else 'them'}",
            [f"{f.address.short} has no driver ({f.name})" for f in missed[:8]],
            fix=_LOAD.replace("BDF", missed[0].address.short),
            also=[f.address.short for f in missed[1:]],
        )
    others = [function for function in alone if function not in missed]
    if others:
        yield this.finding(
            Severity.INFO,
            others[0].address.short,
            f"no driver for {len(others)} device{'s' if len(others) > 1 else ''} that could move data",
            [f"{f.address.short} has no driver ({f.name})" for f in others[:8]],
            fix="If they are to be used, load their driver; otherwise nothing.",
            also=[f.address.short for f in others[1:]],
        )


_LOAD = (
    "See whether its module is there and why it was not loaded or failed: `lspci -k -s BDF` names it under "
    "`Kernel modules`; `modprobe MODULE`, then `dmesg | tail`. After an update of the kernel or the driver "
    "build the module again (`dkms status`). If the device is not to be used, waive this."
)
_NVME, _COMPUTE = 0x0108, (0x0302, 0x0380, 0x0B40, 0x1200)
_ADAPTERS = (0x01, 0x02, 0x0C04, 0x0C06)
"""Network, storage, Fibre Channel and InfiniBand, whose modules are loaded by themselves."""
_INTEL, _AMD_GPU = 0x8086, 0x1002


def _is_missed(view: View, function: Function) -> bool:
    """Whether a machine has it to be used: a GPU without a display, an accelerator, an NVMe drive.

    Cards with a display work without a driver on consoles, laptops switch their second GPU off, and what is
    on the first bus belongs to the chipset, as accelerators in processors do: few who have one wanted it.
    Adapters are left in machines for later, without a driver; where
    the kernel has a module for one, it was loaded for it at boot, and failed.
    """
    if function.modules and function.is_class(*_ADAPTERS) and not function.virtual:
        return function.address.bus != 0
    if not function.is_class(_NVME, *_COMPUTE) or function.virtual:
        return False
    if function.address.bus == 0 or view.is_guest:
        return False
    if function.is_class(*_COMPUTE) and (is_inside_chip(function) or _has_own_graphics(view)):
        return False
    return any(
        other.driver and not other.virtual and view.is_data_mover(other) and other.address != function.address
        for other in view.machine
    )


def _has_own_graphics(view: View) -> bool:
    """Whether a processor with graphics drives the display, as in laptops and desktops."""
    makers = (_INTEL, _AMD_GPU)
    return any(other.has_display and other.identity.vendor_id in makers for other in view.machine)


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
    "If BDF is meant for a virtual machine or for such a program, nothing is wrong. If the host is to use "
    "it, "
    "give it back to its driver: `echo BDF > /sys/bus/pci/drivers/HOLDER/unbind; echo BDF > "
    "/sys/bus/pci/drivers/DRIVER/bind`. Then look for what takes it at boot: `vfio-pci.ids=` in "
    "/proc/cmdline, /etc/modprobe.d, `driver_override` in sysfs."
)


def _is_given_away(view: View, member: Function) -> bool:
    """Whether all functions of a card are held: a host passes one on with its sound and its ports."""
    slot = member.address.slot
    others = [f for f in view.machine if f.address.slot == slot and f is not member and not f.virtual]
    return bool(others) and all(f.driver in _ON_PURPOSE for f in others)


def _is_half_held(view: View, member: Function) -> bool:
    """Whether a GPU is held for a virtual machine that cannot get it: the host drives its sound or USB."""
    slot = member.address.slot
    others = [f.driver for f in view.machine if f.address.slot == slot and f is not member and not f.virtual]
    return (
        member.driver == "vfio-pci" and member.is_gpu and any(d not in (None, *_ON_PURPOSE) for d in others)
    )


def _otherwise_driven(this: Rule, member: Function, usual: str, shown: list[Function]) -> Finding:
    """Note a device that another driver drives than its likes: it is in use, as a boot drive is."""
    bdf, driver = member.address.short, member.driver
    having = sum(one.driver == usual for one in shown)
    return this.finding(
        Severity.INFO,
        bdf,
        f"{bdf} has the driver {driver}; {having} of {len(shown)} devices of its kind have {usual}",
        [f"{bdf} driver in use: {driver} ({member.name})"],
        fix=f"If {driver} is meant to drive it, nothing is wrong: a boot drive stays with the driver of the "
        f"system while a program has the others.",
    )


def _odd(view: View, this: Rule, member: Function, usual: str, shown: list[Function]) -> Finding:
    bdf, driver = member.address.short, member.driver
    having = sum(one.driver == usual for one in shown)
    on_purpose = driver in _ON_PURPOSE
    if driver is not None and driver not in _STAND_INS:
        return _otherwise_driven(this, member, usual, shown)
    half = _is_half_held(view, member)
    rare = half or alike.is_rare(sum(one.driver in _ON_PURPOSE for one in shown), len(shown))
    fix = _remedy(this, member, usual)
    if on_purpose and driver is not None:
        fix = _HELD.replace("HOLDER", driver).replace("DRIVER", usual).replace("BDF", str(member.address))
    what = "no driver" if driver is None else f"driver {driver}"
    meaning = f", {_STAND_INS[driver]}" if driver in _STAND_INS else ""
    return this.finding(
        Severity.INFO if on_purpose and (not rare or _is_given_away(view, member)) else Severity.WARNING,
        bdf,
        f"{what} at {bdf}{meaning}; {having} of {len(shown)} devices of its kind have {usual}",
        [
            f"{bdf} driver in use: {driver or 'none'} ({member.name})",
            *(["the host drives another function of the same card"] if half else []),
            *([f"{bdf} Control: Mem-"] if member.registers.memory_enabled is False else []),
        ],
        fix=fix,
    )
