"""Errors of links that were mended by sending again, and lanes that had them: latched or counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.link_errors import counted, latched
from lanewise.health.doctor.registry import PROVISIONING, Bearing, Rule, rule
from lanewise.health.doctor.words import listed, listed_words
from lanewise.machine.model import ENDPOINTS
from lanewise.machine.registers import BY_ETHTOOL, BY_MLXLINK, MOMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from lanewise.machine.address import Address
    from lanewise.machine.model import Function, Link
    from lanewise.machine.view import View

_MANY_REPLAYS = 1000
"""Replays that a GPU has counted above which bringing up and changing speeds are no explanation. Assumed:
GPUs in order that run for months show some tens."""
_MANY = 100
"""Counted errors above which chance and training are no explanation. Assumed."""

_KEEPS_COMING = 3
"""Times within a minute of a log at which a link had errors, from which on neither chance nor training is an
explanation: links in order have none for hours. Assumed."""

_THEN = (
    "run a load, look again. When they come back: reseat, other slot, other cable or riser, then another "
    "card."
)

CORRECTABLE = Rule(
    id="link-errors",
    what="Correctable link errors are latched or counted: receiver errors, bad TLPs, bad DLLPs, replays.",
    why="Each bad packet is sent again and costs about a microsecond; a link that is made for one bit error "
    "in 10¹² has almost none. A few from training, hot plug or a changing speed are no reason to worry; "
    "rising counts are.",
    severity="info for bits that were latched at an unknown time; warning for bad packets together with "
    "REPLAY_NUM Rollover, for bits on a link that is also below its width or speed, for 100 and more "
    "errors counted, for errors that come at three and more times within one minute of a log, and for 1000 "
    "and more replays that a GPU has counted since it was reset; info at wireless adapters, whose links "
    "sleep and wake",
    cost="stated: each bad packet is replayed, with all that followed it",
    fix=f"Clear the bits (`setpci -s BDF ECAP_AER+10.l=ffffffff`), {_THEN} What was counted stays: note "
    "the counts, and see whether they rise.",
    references=(
        "PCIe Base 5.0 §6.2 (Error Signaling)",
        "§7.8.4.5 (Correctable Error Status)",
        "§3.6 (data link integrity)",
    ),
    not_said="Advisory Non-Fatal errors, which configuration scans cause.",
    bearing=Bearing.DISTURBS,
)

LANES = Rule(
    id="lane-errors",
    what="Lanes have errors latched in Lane Error Status.",
    why="It shows which lanes were received with errors, so it separates one bad contact from a bad link. "
    "Ports latch it during training, too.",
    severity="info",
    cost="stated: none by itself",
    fix="Clear it (`setpci -s BDF ECAP19+8.l=ffffffff`), run a load, and look again (`lspci -vvv -s BDF | "
    "grep "
    "LaneErr`). The same lane twice points at a contact or a trace: reseat the card, then try another slot.",
    references=("PCIe Base 5.0 §7.7.3.3 (Lane Error Status)",),
    profiles=PROVISIONING,
)


@rule(CORRECTABLE)
def link_errors(view: View, this: Rule) -> Iterable[Finding]:
    """Find links whose ends saw damaged packets; those that may be old history are said together."""
    history = []
    for wire in _wires(view):
        ends, device = wire.ends, wire.named
        errors, replays = wire.most(_counted), wire.most(_replays)
        if not any(map(latched, ends)) and not errors and not replays:
            continue
        bits = {bit for end in ends for bit in (*latched(end), *(what for what, _ in counted(end)))}
        again = wire.most(_moments) >= _KEEPS_COMING and not any(f.is_wireless for f in wire.device)
        if replays < _MANY_REPLAYS and not again and not _is_severe(view, wire, bits, errors):
            history.append(wire)
            continue
        what = f"{errors} correctable errors counted" if errors else "damaged packets were seen"
        what = f"{replays} replays counted" if replays >= _MANY_REPLAYS else what
        title = f"{what} at {wire.place}" + (", and they keep coming" if again else "")
        yield this.finding(Severity.WARNING, device.address.short, title, _lines(ends), fix=_remedy(ends))
    if history:
        devices = [wire.named for wire in history]
        yield this.finding(
            Severity.INFO,
            devices[0].address.short,
            f"link errors happened at some time at {listed_words([wire.place for wire in history])}",
            [line for wire in history for line in _lines(wire.ends)],
            fix=_remedy([end for wire in history for end in wire.ends]),
            also=[device.address.short for device in devices[1:]],
        )


def _remedy(ends: Iterable[Function]) -> str:
    """Name the functions whose bits are to be cleared, at either end of a link; counts stay what they are."""
    having = [end for end in ends if latched(end)]
    if not having:
        return f"Note the counts, {_THEN.replace('come back', 'rise')}"
    more = f", and the same for {listed(having[1:])}" if len(having) > 1 else ""
    return f"Clear the bits (`setpci -s {having[0].address.short} ECAP_AER+10.l=ffffffff`{more}), {_THEN}"


class _Wire(NamedTuple):
    """One link as far as the source shows it."""

    device: tuple[Function, ...]
    """Functions of the lower end, or of the only end that is in the source."""
    link: Link | None = None

    @property
    def ends(self) -> tuple[Function, ...]:
        """All functions at it: the port, then the device."""
        return self.device if self.link is None else (self.link.upper, *self.device)

    @property
    def named(self) -> Function:
        """The function of the device that saw errors; the first one where only the port did."""
        return next(filter(_saw_errors, self.device), self.device[0])

    @property
    def place(self) -> str:
        """Where errors were seen: packets that the port received damaged came from the device."""
        named = self.named.address.short
        if self.link is None or _saw_errors(self.named):
            return named
        return f"{self.link.upper.address.short} above {named}"

    def most(self, count: Callable[[Function], int]) -> int:
        """Count at the port and at the device, whose functions each log what happened on their one link."""
        above = 0 if self.link is None else count(self.link.upper)
        return above + max(map(count, self.device))


def _wires(view: View) -> Iterator[_Wire]:
    """List every link, and what is one end of a link whose other end is not in the source.

    An error that belongs to no one function is logged in every function of a device (PCIe Base 5.0,
    6.2.4), and kernels log what each function has: all functions behind one link are looked at together.
    """
    for link in view.machine.links:
        yield _Wire(tuple(f for f in link.lower if not f.virtual) or link.lower, link)
    alone: dict[Address, list[Function]] = {}
    for function in view.machine:
        if function.virtual or function.parent is not None:
            continue
        lonely = view.machine.role(function) in ENDPOINTS or function.errors.counters
        if lonely and view.machine.link_below(function) is None:
            alone.setdefault(_device_of(function), []).append(function)
    yield from (_Wire(tuple(functions)) for functions in alone.values())


def _device_of(function: Function) -> Address:
    """Return the first function of the device at the end of a link; ports of a root have a link each."""
    address = function.address
    below_a_link = address.bus != 0 and address.device == 0 and not function.is_bridge
    return address._replace(function=0) if below_a_link else address


def _is_severe(view: View, wire: _Wire, bits: set[str], errors: int) -> bool:
    if errors < _MANY and any(function.is_wireless for function in wire.device):
        return False
    link = wire.link
    if ("Rollover" in bits and bool(bits & {"BadTLP", "BadDLLP"})) or errors >= _MANY:
        return True
    if link is None or link.on_die:
        return False
    return link.below_width or (link.below_speed and not view.machine.is_idle_gpu(link))


def _lines(ends: tuple[Function, ...]) -> list[str]:
    return [line for end in ends for line in _correctable_lines(end, latched(end))]


def _saw_errors(function: Function) -> bool:
    return bool(latched(function) or _counted(function) or _replays(function))


def _counted(function: Function) -> int:
    return sum(count for _, count in counted(function))


def _replays(function: Function) -> int:
    """Return how often a GPU says it replayed; since an unknown time."""
    return function.errors.counter("correctable.Replay") or 0


def _moments(function: Function) -> int:
    """Return how many times within one minute of a log it had errors."""
    return function.errors.counter(MOMENTS) or 0


def _correctable_lines(function: Function, bits: list[str]) -> list[str]:
    lines = []
    if bits:
        masked = function.errors.correctable_mask or frozenset()
        hidden = " (masked, so the kernel does not log them)" if set(bits) <= masked else ""
        lines.append(
            f"{function.address.short} CESta: {' '.join(f'{bit}+' for bit in bits)}{hidden} ({function.name})"
        )
    if _replays(function):
        lines.append(f"{function.address.short} Replays Since Reset: {_replays(function)}")
    text = ", ".join(f"{count} {what}" for what, count in counted(function))
    where = "in the log" if function.errors.counted_in_log else "aer_dev_correctable"
    where = "by mlxlink" if function.errors.counter(BY_MLXLINK) else where
    where = "by ethtool -S" if function.errors.counter(BY_ETHTOOL) else where
    return [*lines, f"{function.address.short} {where}: {text}"] if text else lines


@rule(LANES)
def lane_errors(view: View, this: Rule) -> Iterable[Finding]:
    """Say once which lanes had errors."""
    bad = [f for f in view.machine if f.link.lane_errors and _is_connected(view, f)]
    if not bad:
        return
    yield this.finding(
        Severity.INFO,
        bad[0].address.short,
        f"lane errors latched at {listed(bad)}",
        [
            f"{function.address.short} LaneErrStat: lane "
            f"{', '.join(map(str, function.link.lane_errors or ()))} ({function.name})"
            for function in bad
        ],
        also=[function.address.short for function in bad[1:]],
    )


def _is_connected(view: View, function: Function) -> bool:
    """Whether there is a link to have errors on; empty ports latch what they please."""
    below: Link | None = view.machine.link_below(function)
    above = view.machine.link_above(function)
    return below is not None or above is not None or view.machine.role(function) in ENDPOINTS
