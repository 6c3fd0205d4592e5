"""What ports keep of errors below them: messages that a root port received, and what a bridge saw."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.link_errors import latched
from lanewise.health.doctor.registry import PROVISIONING, Bearing, Rule, rule
from lanewise.machine.address import Address
from lanewise.machine.model import PORTS_TO_LINKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

_HARMLESS = frozenset({"UnsupReq"})

RECEIVED = Rule(
    id="error-message",
    what="A root port has received an error message from a device below it, and no software has handled it.",
    why="Devices report errors to the root port above them, which records the message and its sender. The "
    "kernel clears this record when it handles an error. A record that is left was never handled, even if "
    "the device itself no longer shows anything.",
    severity="warning for messages of uncorrectable errors; info for correctable ones, and where the device "
    "has only an unsupported request latched, as bus scans leave it",
    cost="stated: transactions were lost, or packets were sent again",
    fix="Look for the moment in the log (`dmesg | grep -e AER -e BDF`). Clear the record (`setpci -s PORT "
    "ECAP_AER+30.l=7f`), run a load, and look again (`lspci -vv -s PORT | grep -A2 RootSta`). When it comes "
    "back: reseat the card of BDF, then try another slot and another card.",
    references=(
        "PCIe Base 5.0 §7.8.4.10 (Root Error Status)",
        "§7.8.4.11 (Error Source Identification)",
        "§6.2.4 (Error Signaling)",
    ),
    not_said="Errors that the sender still has latched (see `uncorrectable-errors`, `link-errors`).",
    bearing=Bearing.DISTURBS,
)

BELOW = Rule(
    id="errors-below",
    what="A port has an error latched that it saw on its lower side: a poisoned packet, an aborted request, "
    "an error message.",
    why="Secondary Status keeps what went wrong between the port and the device below it. A poisoned packet "
    "carries data that its sender knew to be damaged.",
    severity="warning for poisoned packets at a port above a device that moves data; info for the others",
    cost="stated: transactions were lost",
    fix="Clear the bits (`setpci -s BDF 1e.w=ffff`), run a load, and look again (`lspci -vv -s BDF | grep "
    "Secondary`). When ParErr or <PERR come back: look for memory errors of the host (`dmesg | grep -i -e "
    "mce -e edac`) and of the device below the port.",
    references=("PCIe Base 5.0 §7.5.1.3.7 (Secondary Status)",),
    not_said="Received Master Abort (<MAbort), which every bus scan sets; bridges to conventional PCI; what "
    "the device or the port says by itself (see `uncorrectable-errors`).",
    bearing=Bearing.DISTURBS,
    profiles=PROVISIONING,
)
_POISON = {"ParErr": "Master Data Parity Error", "<PERR": "Detected Parity Error"}
_OTHER = {
    "<SERR": "an error message",
    "<TAbort": "an aborted request",
    ">TAbort": "an aborted request",
}


@rule(RECEIVED)
def received_messages(view: View, this: Rule) -> Iterable[Finding]:
    """Find root ports that keep messages: one finding for each kind."""
    for port in view.machine:
        status, sources = port.errors.root_status or frozenset(), port.errors.error_sources
        if view.is_dead(port):
            continue
        correctable, uncorrectable = sources or (0, 0)
        if "UERcvd" in status:
            yield from _one(view, this, port, uncorrectable, correctable=False)
        if "CERcvd" in status:
            yield from _one(view, this, port, correctable, correctable=True)


def _one(view: View, this: Rule, port: Function, source: int, *, correctable: bool) -> Iterator[Finding]:
    status = port.errors.root_status or frozenset()
    sender = _sender(view, port, source)
    ends = [port] if sender is None else [port, sender]
    if any(map(_latched_correctable if correctable else _latched_uncorrectable, ends)):
        return
    fatal = not correctable and "FatalMsg" in status
    refused = not correctable and not fatal and any(_refused(end) for end in ends)
    bdf, place = port.address.short, (sender or port).address.short
    bit, field = ("CERcvd", "ERR_COR") if correctable else ("UERcvd", "ERR_FATAL/NONFATAL")
    many = "several messages" if f"Mult{bit}" in status else "a message"
    kind = "correctable" if correctable else "fatal" if fatal else "non-fatal"
    whose = "" if sender is None else f" from {place}"
    set_bits = " ".join(f"{name}+" for name in sorted(status))
    yield this.finding(
        Severity.INFO if correctable or refused else Severity.WARNING,
        place,
        f"{many} of a {kind} error{whose} came to root port {bdf}",
        [
            f"{bdf} RootSta: {set_bits}; ErrorSrc: {field} {source:04x} ({port.name})",
            *([] if sender is None else [f"{place} is {sender.name}"]),
        ],
        fix=this.fix.replace("PORT", bdf),
        also=[] if sender is None else [bdf],
    )


def _sender(view: View, port: Function, source: int) -> Function | None:
    """Return the function with a Requester ID, unless it is the port itself or nobody's."""
    address = Address(port.address.domain, source >> 8, source >> 3 & 0x1F, source & 7)
    function = view.machine.functions.get(address)
    below = function is not None and port in view.machine.path(function)
    return function if below and function is not port else None


def _latched_correctable(function: Function) -> bool:
    return bool(latched(function))


def _latched_uncorrectable(function: Function) -> bool:
    return bool((function.errors.uncorrectable_status or frozenset()) - _HARMLESS)


def _refused(function: Function) -> bool:
    return function.errors.uncorrectable_status == _HARMLESS


@rule(BELOW)
def errors_below(view: View, this: Rule) -> Iterable[Finding]:
    """Find ports whose lower side saw an error."""
    for port in view.machine:
        bits = (port.registers.secondary_status or frozenset()) - {"<MAbort"}
        children = view.machine.children(port)
        if not bits or view.machine.role(port) not in PORTS_TO_LINKS or not children or view.is_dead(port):
            continue
        poisoned = bits & _POISON.keys()
        if poisoned and any(_tells_of_poison(end) for end in (port, *children)):
            continue
        words = sorted({_OTHER[bit] for bit in bits - _POISON.keys()})
        words = ["a poisoned packet", *words] if poisoned else words
        bdf, device = port.address.short, children[0]
        matters = any(map(view.moves_data, view.machine.descendants(port)))
        yield this.finding(
            Severity.WARNING if poisoned and matters else Severity.INFO,
            bdf,
            f"{bdf} saw {' and '.join(words)} on its way to or from {device.address.short}",
            [
                f"{bdf} Secondary status: {' '.join(f'{bit}+' for bit in sorted(bits))} ({port.name})",
                f"{device.address.short} is {device.name}",
            ],
            also=[device.address.short],
        )


def _tells_of_poison(function: Function) -> bool:
    """Whether a function says by itself that a packet was poisoned."""
    uncorrectable = function.errors.uncorrectable_status or frozenset()
    return "TLP" in uncorrectable or bool((function.registers.status or frozenset()) & _POISON.keys())
