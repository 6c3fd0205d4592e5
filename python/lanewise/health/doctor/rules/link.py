"""Links that run below what both of their ends can do: fewer lanes, less speed, or asleep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor import alike
from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.health.doctor.rig import both_ways
from lanewise.health.doctor.severity import by_loss, payload_share
from lanewise.health.doctor.words import SOLDERED, port_words
from lanewise.machine.lanes import rate_of
from lanewise.machine.model import IDLE_GPU_GT_S, LinkMode
from lanewise.machine.topology import is_chipset_uplink

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.health.doctor.rig import Trial
    from lanewise.machine.model import Function, Link
    from lanewise.machine.view import View

_CHIPSET_LANES = 4
"""Lanes between AMD's processors and chipsets: 4, or 8 on TRX40 and WRX80. AMD, chipset block diagrams."""

WIDTH = Rule(
    id="link-width",
    what="A link runs on fewer lanes than both of its ends have.",
    why="Bandwidth falls with the lanes. A card that is not seated, a dirty contact, a damaged trace, a "
    "riser or a BIOS setting that splits the slot are the usual reasons, and nothing else in the system "
    "says so.",
    severity="warning; info for soldered devices, which have the lanes that the board gives them (a chipset "
    "has four), and for "
    "devices whose own wires or media need no more",
    cost="simulated: the link alone, DMA both ways, at its present width and at the width that both ends "
    "have, at its present speed (for a GPU, at its full speed)",
    fix="Reseat the card, clean its contacts, try it in another slot; check slot bifurcation in the "
    "firmware setup, and risers and cables. If lanes are still missing in another slot, replace the card.",
    references=(
        "PCIe Base 5.0 §7.5.3.6 (Link Capabilities)",
        "§7.5.3.8 (Link Status)",
        "§4.2.6.3 (Configuration)",
    ),
    not_said="Devices whose slot has fewer lanes than they have (see `device-above-slot`); links inside a "
    "chip.",
    bearing=Bearing.LIMITS,
)

SPEED = Rule(
    id="link-speed",
    what="A link runs slower than both of its ends can, and its device is not a GPU that saves power.",
    why="A step down in speed halves bandwidth. Links fall back when equalization or signal quality "
    "fails, and stay there until they are retrained; a port whose Target Link Speed is low, by a firmware "
    "setting or by a kernel that could not train it otherwise, does not try.",
    severity="warning; info on links below 1.9 GB/s whose port is told to stay slow and whose device is "
    "not known, for devices whose own wires or media need no more, and where nothing tells what a device is "
    "that has all of its lanes at 2.5 or 5 GT/s",
    cost="simulated: the link alone, DMA both ways, at its present speed and at the speed that both ends "
    "have, on its present lanes",
    fix="Look for a speed limit of that slot in the firmware setup and update firmware; reseat the card; "
    "replace riser or cable. To see whether the speed holds, set Target Link Speed of the port above and "
    "retrain: `setpci -s PORT CAP_EXP+30.w=SPEED:f; setpci -s PORT CAP_EXP+10.w=20:20`.",
    references=(
        "PCIe Base 5.0 §7.5.3.8 (Link Status)",
        "§7.5.3.19 (Link Control 2, Target Link Speed)",
        "§4.2.6.4.3 (Recovery.Speed)",
    ),
    not_said="GPUs at 2.5 or 5 GT/s, as idle ones are (see `gpu-link-idle`), unless a register holds them "
    "there; devices limited by the slot "
    "(see `device-above-slot`); links inside a chip.",
    bearing=Bearing.LIMITS,
)

IDLE = Rule(
    id="gpu-link-idle",
    what="The link of a GPU runs at 2.5 or 5 GT/s although it could do more, at full width: most likely it "
    "is idle and saves power.",
    why="GPU drivers lower the link speed without load and raise it within milliseconds under load, so a "
    "dump of an idle machine shows 2.5 GT/s on a healthy Gen4 or Gen5 card. The note is there so "
    "that "
    "the card is not replaced.",
    severity="info",
    cost="stated: none under load",
    fix="Nothing, unless it stays so under load: keep the GPU busy (a copy loop, `nvidia-smi dmon`) and "
    "take the dump again.",
    references=("PCIe Base 5.0 §6.11 (Link Speed Management)",),
    not_said="GPUs at 8 GT/s and more that could run faster, which do not sleep (see `link-speed`).",
)


@rule(WIDTH)
def narrow_links(view: View, this: Rule) -> Iterable[Finding]:
    """Find links with lanes missing."""
    for link in view.live_links:
        if not link.below_width:
            continue
        soldered = view.is_wired_on_board(link) and not _lacks_lanes_of_chipset(link)
        title = f"{link.device.address.short} runs on x{link.now.width} of x{link.limit.width} lanes" + (
            ", most likely by the wiring of the board" if soldered else ""
        )
        yield this.finding(
            Severity.INFO if soldered else _severity(view, link, link.limit),
            link.device.address.short,
            title,
            _evidence(link),
            fix=SOLDERED if soldered else _WIDER_UPLINK if _is_uplink(view, link) else None,
            cost=_cost_without_dma(link),
            trial=None if _cost_without_dma(link) else _wider(view, link),
        )


@rule(SPEED)
def slow_links(view: View, this: Rule) -> Iterable[Finding]:
    """Find links that fell back."""
    for link in view.live_links:
        if not link.below_speed or view.machine.is_slow_as_idle_gpus(link):
            continue
        held = _held(view, link)
        severity = _severity(view, link, link.limit)
        chosen = held is not None and not view.is_worth_tuning(rate_of(link.limit) or 0.0)
        if chosen and view.own_rate(link.device) is None:
            severity = Severity.INFO
        reason, evidence = "", _evidence(link)
        if held is not None:
            word = "and" if held[0] is link.device and held[0].link.target_gt_s == held[1] else "because"
            reason = f", {word} {held[0].address.short} {_how(held)}"
            evidence.append(_register_line(held))
        elif _may_be_idle_gpu(link):
            severity, reason = Severity.INFO, ", as idle GPUs do; what it is the source does not say"
        if link.upper.link.bandwidth_autonomous or link.device.link.bandwidth_autonomous:
            evidence.append(
                f"{link.upper.address.short} LnkSta: ABWMgmt+ (it changed speed or width at some time)"
            )
        yield this.finding(
            severity,
            link.device.address.short,
            f"{link.device.address.short} runs at {link.now.gt_s:g}GT/s of {link.limit.gt_s:g}GT/s{reason}",
            evidence,
            fix=_fix(_FASTER_UPLINK if _is_uplink(view, link) else this.fix, link),
            cost=_cost_without_dma(link),
            trial=None
            if _cost_without_dma(link)
            else _trial(view, link, link.now, LinkMode(link.limit.gt_s, link.now.width)),
        )


def _may_be_idle_gpu(link: Link) -> bool:
    """Whether a device of which nothing but its link is known has all its lanes at the lowest speed."""
    identity, slowest = link.device.identity, (link.now.gt_s or 0.0) <= IDLE_GPU_GT_S
    nameless = identity.class_code is None and identity.device_id is None and identity.device_name is None
    return nameless and slowest and not link.below_width and not link.device.is_bridge


def _cost_without_dma(link: Link) -> str | None:
    """Say what a link costs whose device does no DMA over it that could be simulated; None for others."""
    if link.device.has_c2c:
        return "none under load: its data go over NVLink-C2C"
    now, then = rate_of(link.now), rate_of(link.limit)
    if not link.device.is_cxl_memory or now is None or then is None:
        return None
    return f"loads and stores of its memory have {100 * now / then:.0f} % of the link that both ends can do"


_WIDER_UPLINK = (
    "BDF is the uplink of a switch: look at the cable, riser or backplane that joins it to the port above, "
    "at bifurcation in the firmware setup, and at the firmware of the switch; then a cold start."
)
_FASTER_UPLINK = (
    "BDF is the uplink of a switch: look for a speed limit of PORT in the firmware setup, and at the cable, "
    "riser or backplane between the two; update the firmware of the switch. To see whether the speed holds: "
    "`setpci -s PORT CAP_EXP+30.w=SPEED:f; setpci -s PORT CAP_EXP+10.w=20:20`."
)


def _lacks_lanes_of_chipset(link: Link) -> bool:
    """Whether the uplink of a chipset has fewer lanes than boards give it, whatever both ends could do."""
    return is_chipset_uplink(link.upper, link.device) and (link.now.width or 0) < _CHIPSET_LANES


def _is_uplink(view: View, link: Link) -> bool:
    """Whether a link leads to a switch that is no part of a GPU's chip: nothing there can be reseated."""
    return link.device.is_bridge and view.machine.gpu_below(link) is None


def _severity(view: View, link: Link, fixed: LinkMode) -> Severity:
    """Return a warning, unless the device has no use for what it lost."""
    if link.device.has_c2c:
        return Severity.INFO
    now, then = rate_of(link.now), rate_of(fixed)
    if now is None or then is None:
        return Severity.WARNING
    share = payload_share(view.payload(link.device))
    return by_loss(now * share, then * share, view.own_rate(link.device))


def _how(held: tuple[Function, float]) -> str:
    end, speed = held
    if end.link.target_gt_s == speed:
        return f"is told to stay at {speed:g}GT/s"
    return "may not change the speed by itself"


def _held(view: View, link: Link) -> tuple[Function, float] | None:
    """Return which end holds a link, as `Link.held`.

    Hardware Autonomous Speed Disable is no limit by itself: an end that comes up at full speed stays there.
    Where another link with that bit runs at full speed, the bit is not why this one does not.
    """
    held = link.held
    if held is None or held[0].link.target_gt_s == held[1]:
        return held
    others = (
        end.link.autonomous_speed_disabled
        for other in view.live_links
        if other is not link and other.now.gt_s is not None and other.now.gt_s == other.limit.gt_s
        for end in (other.upper, other.device)
    )
    return None if any(others) else held


def _register_line(held: tuple[Function, float]) -> str:
    end, speed = held
    if end.link.target_gt_s == speed:
        return f"{end.address.short} LnkCtl2: Target Link Speed: {speed:g}GT/s"
    return f"{end.address.short} LnkCtl2: SpeedDis+"


def _fix(words: str, link: Link) -> str:
    """Fill in the port above and the code of the speed that both ends can do."""
    speed = f"{link.limit.generation or 1:x}"
    port = link.upper
    where = "$(basename $(dirname $(readlink -f /sys/bus/pci/devices/BDF)))" if port.implied else None
    return words.replace("PORT", where or port.address.short).replace("SPEED", speed)


@rule(IDLE)
def idle_gpus(view: View, this: Rule) -> Iterable[Finding]:
    """Say once which GPU links only sleep."""
    slow = alike.slow_gpus(view)
    idle = [(link.device, link.now) for link in view.live_links if _is_idle(view, link)] + [
        (function, function.link.status) for function in view.machine if _is_idle_alone(view, function)
    ]
    # One that sleeps while all its likes are awake is not sleeping with them (`odd-one-out`).
    idle = [(device, now) for device, now in idle if device.address not in slow]
    if not idle:
        return
    count = "1 GPU link runs" if len(idle) == 1 else f"{len(idle)} GPU links run"
    speeds = sorted({f"{now.gt_s:g}" for _, now in idle})
    yield this.finding(
        Severity.INFO,
        idle[0][0].address.short,
        f"{count} at {' or '.join(speeds)} GT/s at full width, as idle GPUs do",
        [_device_line(device, now) for device, now in idle],
        also=[device.address.short for device, _ in idle[1:]],
    )


def _is_idle(view: View, link: Link) -> bool:
    """Whether a link is that of an idle GPU, with all lanes that its device has where no port is known."""
    return view.machine.is_idle_gpu(link) and link.now.width == (link.limit.width or link.reach.width)


def _is_idle_alone(view: View, function: Function) -> bool:
    """Whether a GPU whose port is not in the source runs as idle ones do."""
    could, now = function.link.capability, function.link.status
    alone = function.is_gpu and view.machine.measured and view.machine.link_above(function) is None
    alone = alone and function.idle is not False
    if not alone or function.virtual or could.gt_s is None or now.gt_s is None:
        return False
    return now.gt_s < could.gt_s and now.gt_s <= IDLE_GPU_GT_S and now.width == could.width


def _device_line(device: Function, now: LinkMode) -> str:
    state = f", {device.performance_state}" if device.performance_state else ""
    return f"{device.address.short} LnkSta: {now}{state}; LnkCap: {device.link.capability} ({device.name})"


def _evidence(link: Link) -> list[str]:
    upper, device = link.upper, link.device
    return [
        _device_line(device, link.now),
        f"{port_words(upper)} LnkCap: {upper.link.capability} ({upper.name})",
    ]


def _wider(view: View, link: Link) -> Trial | None:
    """Try all lanes at the speed of now; a GPU's speed comes back under load, its lanes do not."""
    speed = link.limit.gt_s if view.machine.is_slow_as_idle_gpus(link) else link.now.gt_s
    return _trial(view, link, LinkMode(speed, link.now.width), LinkMode(speed, link.limit.width))


def _trial(view: View, link: Link, as_is: LinkMode, fixed: LinkMode) -> Trial | None:
    mps = min(view.payload(link.device), view.payload(link.upper))
    return both_ways(as_is, fixed, mps=mps, mrrs=view.reads(link.device), own=view.own_rate(link.device))
