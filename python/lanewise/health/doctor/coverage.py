"""How much of a machine a source shows, and whether that is enough to say that nothing is wrong.

Silence of the rules is good news only where they could see. The faults that fail a node are in its links: a
link is seen where the source says how it runs and what it could do, at both ends or, of a device whose port
is not in the source and that does all it can, at one. So every check needs four links in five; one may
sleep. A check of performance also needs the payload sizes of four functions in five, because what is set too
small is most of what it looks for. Errors, drivers and BARs are counted and said, and no check fails for want
of them: many devices have no error registers, and no dump of registers alone names drivers.

What a hypervisor makes up counts for nothing, and so does what a file declares rather than reads. A source
that was cut off is never enough: nobody knows what came after that. Nor is one of which something was left
out: another machine in the same file, or an earlier capture that contradicts the later one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Profile
from lanewise.health.doctor.words import listed
from lanewise.machine.lanes import rate_of
from lanewise.machine.model import ENDPOINTS, PORTS_TO_LINKS, Kind
from lanewise.machine.view import is_emulated

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lanewise.machine.model import Function, Link
    from lanewise.machine.view import View

_ENOUGH = 0.8
"""Share of links, and of payload sizes, that must be readable. Assumed: devices that sleep hide a few."""

_NEEDED = {
    Profile.PROVISIONING: ("links",),
    Profile.PERFORMANCE: ("links", "payloads"),
    Profile.ALL: ("links", "payloads"),
}
"""What each profile cannot do without."""

_ON_LINKS = ENDPOINTS | PORTS_TO_LINKS | {Kind.UPSTREAM_PORT}
_LOWER_ENDS = ENDPOINTS | {Kind.UPSTREAM_PORT}
_HOST_BRIDGE = 0x0600

AS_ROOT = "'sudo lspci -vvv' shows them, where there are any"
ALL_DEVICES = "'sudo lspci -vvv' of all devices, without '-s', shows them"
IN_A_GUEST = (
    "this is a virtual machine, and only its host sees the links: check the host, and let the guest pass "
    "with --allow-unexamined"
)
AGAIN = "take the whole dump again"
ONE_EACH = "give each capture a file of its own"
DECLARED = "the file declares links that were not read from a machine: check the machine itself"


@dataclass(frozen=True)
class Known:
    """Of how many things of a kind a source tells."""

    what: str
    known: int
    of: int

    @property
    def enough(self) -> bool:
        """Whether all but a few are known."""
        return self.known >= _ENOUGH * self.of

    def __str__(self) -> str:
        """Like ``links (3 of 20 are readable)``."""
        return f"{self.what} ({self.known} of {self.of} readable)"


def readable(view: View) -> tuple[Known, ...]:
    """Count what a source tells of links, payloads, errors, drivers and BARs."""
    on_links = [f for f in _real(view) if view.machine.role(f) in _ON_LINKS]
    devices = [f for f in _real(view) if not f.is_bridge and not f.is_class(_HOST_BRIDGE)]
    return (
        _count("links", (seen for _, seen in _links(view))),
        _count("payloads", (f.transfers.mps is not None for f in on_links)),
        _count("errors", (_tells_errors(f) for f in on_links)),
        _count("drivers", (f.driver_known or bool(f.driver) for f in devices)),
        _count("BARs", (f.registers.bars is not None for f in devices)),
    )


def missing(view: View, profile: Profile, known: Iterable[Known]) -> str:
    """Say what would have to be readable and is not, and how to come by it; empty where enough is."""
    if view.machine.breaks_off:
        return f"{view.machine.breaks_off}; {AGAIN}"
    if view.machine.left_out:
        return f"{'; '.join(view.machine.left_out)}; {ONE_EACH}"
    by_name = {one.what: one for one in known}
    links = by_name["links"]
    if links.of == 0 and (view.is_guest or not any(f.registers.express for f in _real(view))):
        lack = "no link is to be seen"
    elif not view.machine.measured:
        lack = f"{links.of} links are declared"
    else:
        lack = ", ".join(str(by_name[what]) for what in _NEEDED[profile] if not by_name[what].enough)
    return f"{lack}; {_remedy(view, links)}" if lack else ""


def unseen(view: View) -> str:
    """Name the devices that move data whose link is not seen, where enough is; empty where there is none."""
    devices = [
        function
        for function, seen in _links(view)
        if not seen and view.stands_for_device(function) and view.is_data_mover(function)
    ]
    if not devices:
        return ""
    return f"not examined, because the source does not tell enough of the link: {listed(devices)}"


def _remedy(view: View, links: Known) -> str:
    if not view.machine.measured:
        return DECLARED
    if view.is_guest and not links.known:
        return IN_A_GUEST
    # Whoever may read the settings of one device may read those of all: the others were not asked for.
    is_part = any(
        _is_without_port(view, f) for f in _real(view) if f.tells_link and f.transfers.mps is not None
    )
    return ALL_DEVICES if is_part else AS_ROOT


def _is_without_port(view: View, function: Function) -> bool:
    """Whether a device is at the lower end of a link whose port the source leaves out, or names at most."""
    if view.machine.role(function) not in _LOWER_ENDS:
        return False
    link = view.machine.link_above(function)
    return link is None or link.upper.registers.express is None


def _real(view: View) -> Iterator[Function]:
    """List what is hardware and has registers of its own."""
    return (f for f in view.machine if not f.virtual and not f.implied and not is_emulated(f))


def _links(view: View) -> Iterator[tuple[Function, bool]]:
    """List lower ends of links, and functions that may be one, with whether the link is seen."""
    for link in view.links:
        # Wires to hardware that is awake.
        if not is_emulated(link.device) and not view.is_switched_off(link):
            yield link.device, _is_seen(link)
    alone = list(_alone(view))
    for function in alone:
        yield function, _is_seen_alone(view, function)
    told = {function.address for function in alone}
    for function in _closed(view):
        if function.address not in told:
            yield function, False


def _alone(view: View) -> Iterator[Function]:
    """List the lower ends of links whose port is not in the source, and functions that may be one."""
    for function in _real(view):
        role = view.machine.role(function)
        may_be = role is None and function.registers.express and not function.is_bridge
        lower = (role in _LOWER_ENDS or may_be) and view.stands_for_device(function)
        if lower and view.machine.link_above(function) is None:
            yield function


def _closed(view: View) -> Iterator[Function]:
    """List the functions whose capabilities could not be read, in a source that shows no tree."""
    if not view.machine.shows_tree:
        for function in _real(view):
            registers = function.registers
            # What does not answer is a finding (`device-dead`), no lack of the source.
            if registers.express is None and not registers.no_answer and not function.is_class(_HOST_BRIDGE):
                yield function


def _is_seen(link: Link) -> bool:
    """Whether a link says how it runs and what it could do; a port that is made up says nothing.

    Where the reader made it up (`Function.implied`), the device speaks alone, as without any port.
    """
    own = link.device.link
    at_its_best = own.capability.known and (own.status == own.capability or link.upper.implied)
    # Lanes that are none are a statement, too: the link is down.
    return link.now.width is not None and (at_its_best or link.limit.known or _is_judged(link.device))


def _is_seen_alone(view: View, function: Function) -> bool:
    """Whether one end tells enough: why a fast device does less than it can, only the other end tells.

    The speed of a GPU says nothing: it sleeps.
    """
    if view.outer_end(function) is not function:
        return False
    (gt_s, width), able = function.link.status, function.link.capability
    less = (width or 0) < (able.width or 0) or (not function.is_gpu and (gt_s or 0.0) < (able.gt_s or 0.0))
    if width is not None and less and view.is_worth_tuning(rate_of(able) or 0.0):
        return False
    return width is not None and (able.known or _is_judged(function))


def _is_judged(function: Function) -> bool:
    """Whether `lspci` itself says how the link compares to what the function can do: ok, or downgraded."""
    return function.link.said_of_speed is not None and function.link.said_of_width is not None


def _tells_errors(function: Function) -> bool:
    return function.errors.correctable_status is not None or function.errors.counters is not None


def _count(what: str, known: Iterable[bool]) -> Known:
    each = list(known)
    return Known(what, sum(each), len(each))
