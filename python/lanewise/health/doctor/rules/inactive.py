"""Ports and devices in a state in which they cannot work, although something is to work there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor import alike
from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PROVISIONING, Bearing, Rule, rule
from lanewise.machine.model import PORTS_TO_LINKS
from lanewise.machine.view import is_emulated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lanewise.machine.model import Function, Link
    from lanewise.machine.view import View

_ASLEEP = frozenset({"D3hot", "D3cold", "D3"})
_CARRIES_NOTHING = {"is disabled", "is held in reset"}

LINK = Rule(
    id="link-inactive",
    what="A port says that its link is down, disabled, in reset, asleep or training, or one end that it has "
    "no lanes, and a device behind it still answers.",
    why="Registers are read one after the other: a link that goes down while they are read, or comes up and "
    "goes down again, shows one healthy end and one that is not. A link that is disabled or held in reset "
    "carries nothing.",
    severity="error where the link is disabled or held in reset; info where a port says only that it trains "
    "and that its link is active; warning otherwise",
    cost="stated: what goes through the link fails, or fails now and then",
    fix="Take the dump again. If it stays so, read what the log says about the port (`dmesg | grep BDF`), "
    "reseat the card, look at riser and cable.",
    references=(
        "PCIe Base 5.0 §7.5.3.7 (Link Control)",
        "§7.5.3.8 (Link Status)",
        "§7.5.1.3.13 (Bridge Control, Secondary Bus Reset)",
    ),
    not_said="Presence Detect, which many boards do not wire; ports without a device (see `slot-no-link`); "
    "Thunderbolt and USB4; the ports that a hypervisor makes up; links inside a chip.",
    bearing=Bearing.DISTURBS,
    profiles=PROVISIONING,
)

ASLEEP = Rule(
    id="device-asleep",
    what="A device with a driver is in D3.",
    why="In D3 a device moves no data. Network and display drivers put idle devices there; the drivers of "
    "drives and of RDMA adapters do not. If one of several GPUs does not wake, it is the one that fails.",
    severity="warning for drives, for adapters for RDMA, and for one GPU of several that are all awake; info "
    "otherwise",
    cost="stated: the device moves no data until it wakes",
    fix="Look for the device in the log (`dmesg | grep BDF`); wake it: `echo on > "
    "/sys/bus/pci/devices/BDF/power/control`. If it does not wake: cold start, then another slot.",
    references=("PCIe Base 5.0 §5.3.1 (device power states)",),
    not_said="Devices without a driver, or held for a virtual machine; sound and USB of GPUs; devices on "
    "slow links.",
    bearing=Bearing.DISTURBS,
    profiles=PROVISIONING,
)

INTERRUPTS = Rule(
    id="interrupts-off",
    what="A drive or network adapter has a driver and no interrupt messages: MSI and MSI-X are off, or "
    "masked. Or a device has no interrupt at all: legacy interrupts (INTx) are switched off, too.",
    why="Such devices need an interrupt for each queue. Without messages their drivers share one interrupt "
    "line with others, or poll; where all of MSI-X is masked, no interrupt arrives.",
    severity="warning where all messages are masked, where a GPU or adapter for RDMA has no interrupt at "
    "all, and where drives or "
    "adapters for RDMA of the same kind "
    "have theirs; info otherwise, and for devices on slow links",
    cost="stated: slow or hanging transfers",
    fix="Look for the reason in the log (`dmesg | grep -e BDF -e 'MSI'`); boot without `pci=nomsi`; unbind "
    "the driver and bind it again.",
    references=("PCIe Base 5.0 §6.1.4 (MSI and MSI-X)", "§7.7.2.2 (Message Control, Function Mask)"),
    not_said="GPUs that could use INTx, whose drivers switch messages on when software uses them; virtual "
    "functions; devices held for a virtual machine or by a program; slow devices if no other of their kind "
    "has messages.",
    bearing=Bearing.DISTURBS,
    profiles=PROVISIONING,
)


_AT_ONCE = frozenset({"igb", "igc", "e1000e", "r8169"})
"""Drivers of gigabit adapters that switch messages on as soon as they are bound (Linux 6.1)."""


@rule(LINK)
def inactive_links(view: View, this: Rule) -> Iterable[Finding]:
    """Find ports that say that what is behind them cannot be."""
    for link in view.machine.links:
        port = link.upper
        awake = [f for f in link.lower if not view.is_dead(f) and f.registers.power_state not in _ASLEEP]
        if link.on_die or not awake or port.kind not in PORTS_TO_LINKS or not view.machine.measured:
            continue
        if view.is_thunderbolt(port) or is_emulated(port) or is_emulated(link.device):
            continue
        signs = dict(_signs(view, link))
        if not signs:
            continue
        bdf, hard = port.address.short, bool(signs.keys() & _CARRIES_NOTHING)
        yield this.finding(
            Severity.ERROR if hard else Severity.WARNING,
            bdf,
            f"the link of {bdf} {' and '.join(signs)}, and {awake[0].address.short} behind it answers",
            [*signs.values(), f"{awake[0].address.short} is {awake[0].name}"],
            also=[f.address.short for f in awake],
        )


def _signs(view: View, link: Link) -> Iterator[tuple[str, str]]:
    """List what a port says against its link, each with its evidence."""
    port, bdf = link.upper, link.upper.address.short
    registers = port.link
    if registers.disabled:
        yield "is disabled", f"{bdf} LnkCtl: Disabled+ ({port.name})"
    if port.registers.secondary_reset:
        yield "is held in reset", f"{bdf} BridgeCtl: >Reset+ ({port.name})"
    if registers.data_link_active is False and registers.data_link_active_reporting:
        yield "is down", f"{bdf} LnkSta: DLActive- ({port.name})"
    elif any(map(view.is_data_mover, link.lower)) and 0 in (registers.status.width, link.now.width):
        end = link.upper if registers.status.width == 0 else link.device
        yield "has no lanes", f"{end.address.short} LnkSta: Width x0 ({end.name})"
    elif _contradicts_its_port(view, link):
        yield (
            "has no lanes at its lower end",
            f"{link.device.address.short} LnkSta: Width x0, LnkCap: x{link.device.link.capability.width} "
            f"({link.device.name}); {bdf} LnkSta: x{registers.status.width} ({port.name})",
        )
    if registers.training:
        yield "trains", f"{bdf} LnkSta: Train+ ({port.name})"
    if port.registers.power_state in _ASLEEP:
        yield "sleeps", f"{bdf} Status: {port.registers.power_state} ({port.name})"


def _contradicts_its_port(view: View, link: Link) -> bool:
    """Whether a device that moves data says that it has no lanes, and the port above counts some.

    Of a virtual function the register is reserved, and of a device that can have no lanes it says nothing.
    """
    device = link.device
    said = device.link.status.width == 0 and bool(device.link.capability.width)
    return said and bool(link.upper.link.status.width) and not device.virtual and view.is_data_mover(device)


@rule(ASLEEP)
def sleeping_devices(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices that should be awake."""
    for function in view.machine:
        if function.registers.power_state not in _ASLEEP or not _works_for_the_host(view, function):
            continue
        likes = next((each for each in alike.groups(view) if function in each), [])
        others = [one for one in likes if one is not function]
        all_awake = len(others) >= 2 and all(one.registers.power_state == "D0" for one in others)
        bad = function.is_nvme or function.does_rdma or (view.is_compute_gpu(function) and all_awake)
        bdf = function.address.short
        yield this.finding(
            Severity.WARNING if bad else Severity.INFO,
            bdf,
            f"{bdf} sleeps, although {function.driver} drives it",
            [
                f"{bdf} Status: {function.registers.power_state}; driver in use: {function.driver} "
                f"({function.name})",
                *([f"all {len(others)} others of its kind are in D0"] if all_awake else []),
            ],
        )


@rule(INTERRUPTS)
def silent_interrupts(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices whose driver hears nothing of them."""
    for function in view.machine:
        registers = function.registers
        if registers.interrupts is not False and not registers.interrupts_masked:
            continue
        mute = registers.interrupts is False and registers.wire_interrupts_off is True
        counts = function.is_nvme or function.does_rdma or function.is_nic or function.is_storage
        counts = counts or (mute and view.is_compute_gpu(function))
        if not counts or not _is_driven(view, function) or registers.power_state in _ASLEEP:
            continue
        likes, masked = _likes(view, function), bool(registers.interrupts_masked)
        odd = sum(bool(one.registers.interrupts) for one in likes) * 2 >= max(len(likes), 1)
        fast = view.moves_data(function)
        if not fast and not odd and not mute and function.driver not in _AT_ONCE:
            continue
        # Drivers of plain network adapters may switch messages on only when their interface is up.
        loud = masked or (odd and (not function.is_nic or function.does_rdma))
        loud = loud or (mute and (function.does_rdma or view.is_compute_gpu(function)))
        bdf = function.address.short
        how = "are all masked" if masked else "are off, by message and by wire," if mute else "are off"
        yield this.finding(
            Severity.WARNING if fast and loud else Severity.INFO,
            bdf,
            f"{'interrupts' if mute else 'interrupt messages'} of {bdf} {how} although {function.driver} "
            "drives it",
            [
                f"{bdf} {'MSI-X: Enable+ Masked+' if masked else 'MSI and MSI-X: Enable-'} ({function.name})",
                *([f"{bdf} Control: DisINTx+"] if mute else []),
                *([f"others of its kind have them ({len(likes)} devices)"] if odd else []),
            ],
        )


def _likes(view: View, function: Function) -> list[Function]:
    """List what is the same product with the same driver: other functions of the card among them."""
    same = (function.identity.vendor_id, function.identity.device_id, function.name, function.driver)
    return [
        other
        for other in view.machine
        if other is not function
        and not other.virtual
        and (other.identity.vendor_id, other.identity.device_id, other.name, other.driver) == same
    ]


def _works_for_the_host(view: View, function: Function) -> bool:
    """Whether a driver of the host is bound to a device that moves data on a fast link."""
    return view.moves_data(function) and _is_driven(view, function)


def _is_driven(view: View, function: Function) -> bool:
    return (
        bool(function.driver)
        and not function.virtual
        and not is_emulated(function)
        and not view.is_held_by_another(function)
        and not view.is_dead(function)
    )
