"""Errors that lost transactions: in AER, Device Status and Status, or counted by Linux."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.error_words import fixes, in_words
from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import PROVISIONING, Bearing, Rule, rule
from lanewise.machine.model import ENDPOINTS, PORTS_TO_LINKS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lanewise.machine.model import Function
    from lanewise.machine.view import View

_HARMLESS = frozenset({"UnsupReq"})
"""What configuration scans set on machines in order."""

_REFUSED = frozenset({"CmpltAbrt", "UnxCmplt", "ACSViol"})
"""Bits that a device sets when it refuses an access, as one to a function that it does not have during a bus
scan, or sees an answer without a request, as after a reset: no link lost anything. PCIe Base 5.0, 2.3.1."""

_MASKED = frozenset({"ACSViol", "UncorrIntErr"})
"""Bits that say nothing while they are masked: some devices set them then whenever they please."""

_ANY_ERROR = frozenset({"CorrErr", "NonFatalErr", "FatalErr", "UnsupReq"})
"""Bits of Device Status of which an error sets one, whatever it is (7.5.3.5)."""

_OF_BRINGING_UP = frozenset({"FCP", "SDES"})
"""Bits that a link may set while it comes up or goes down. Assumed."""

_POISON = {"ParErr": "Master Data Parity Error", "<PERR": "Detected Parity Error"}
"""Bits of Status that tell of poisoned packets (7.5.1.1.4)."""

_CLEAR_AER = "setpci -s BDF ECAP_AER+4.l=ffffffff; "

UNCORRECTABLE = Rule(
    id="uncorrectable-errors",
    what="Uncorrectable errors are latched or counted.",
    why="Each of them lost a transaction: a poisoned packet, a completion that never came, a malformed "
    "packet, a link that went down. Applications saw an I/O error, or a device was reset. Device Status "
    "records that there was one, even if Advanced Error Reporting is missing or has been cleared.",
    severity="warning; error for those that the device reports as fatal and for fatal ones that the kernel "
    "counted; info for Completer Abort, Unexpected Completion and ACS Violation alone, which refused "
    "accesses and resets leave behind, for reads through a host bridge that is no port, for bits of flow "
    "control and surprise down while Device Status knows of no error, which are from before the last reset, "
    "for a link that went down by surprise because its card left the slot, as the log says, and for "
    "non-fatal ones of slow devices that only Device Status shows",
    cost="stated: transactions were lost",
    fix=f"Find the moment in the log (`dmesg | grep -i -e aer -e BDF`). Clear the bits (`{_CLEAR_AER}"
    "setpci -s BDF CAP_EXP+a.w=f`), run a load, and see whether they come back.",
    references=(
        "PCIe Base 5.0 §6.2.7 (error listing)",
        "§7.8.4.2 (Uncorrectable Error Status)",
        "§7.5.3.5 (Device Status)",
        "§7.5.1.1.4 (Status)",
    ),
    not_said="Unsupported Request, which bus scans leave behind, and a non-fatal error in Device Status "
    "beside it; masked ACS violations and internal errors; Signaled System Error, which such a request "
    "sets, too.",
    bearing=Bearing.DISTURBS,
    profiles=PROVISIONING,
)


_LATCHED = "latched.TOTAL"
"""Of sources that count bits of a register, as `pciconf` does."""


@rule(UNCORRECTABLE)
def uncorrectable_errors(view: View, this: Rule) -> Iterable[Finding]:
    """Find functions that lost transactions."""
    for function in view.machine:
        if function.virtual or view.is_dead(function):
            continue
        bits = _latched(function)
        fatal, nonfatal = _count(function, "fatal"), _count(function, "nonfatal")
        kept = _kept(view, function)
        if not bits and not fatal and not nonfatal and not kept:
            continue
        bdf = function.address.short
        counts = _counted_names(function)
        named = in_words(bits or counts)
        what = ", ".join(filter(None, (named, *kept))) or _in_numbers(function, fatal, nonfatal)
        yield this.finding(
            Severity.INFO
            if set(counts) == {"SDES"} and view.card_left(function.address)
            else Severity.ERROR
            if (fatal and not function.errors.counter(_LATCHED)) or _fatal_bits(function, bits)
            else _severity(view, function, bits, kept, fatal + nonfatal),
            bdf,
            f"uncorrectable errors at {bdf}: {what}",
            list(_lines(function, bits, list(kept.values()), fatal, nonfatal)),
            fix=" ".join((_clearing(this.fix, function), *fixes((*bits, *counts, *_poison(kept))))),
        )


def _clearing(fix: str, function: Function) -> str:
    """Leave out what clears registers of Advanced Error Reporting, where a function has none."""
    without = function.transfers.status is not None and function.errors.uncorrectable_status is None
    return fix.replace(_CLEAR_AER, "") if without else fix


def _in_numbers(function: Function, fatal: int, nonfatal: int) -> str:
    if function.errors.counter(_LATCHED):
        return f"{fatal} of those that it takes for fatal, latched at an unknown time"
    return f"{fatal + nonfatal} counted in the log"


def _fatal_bits(function: Function, bits: list[str]) -> bool:
    """Whether one of these errors is one that the function reports as fatal and says it had.

    A link that went down by surprise is what pulling a card looks like.
    """
    fatal = (function.errors.uncorrectable_severity or frozenset()) - {"SDES"}
    return bool(fatal & set(bits)) and "FatalErr" in (function.transfers.status or frozenset())


def _poison(kept: dict[str, str]) -> list[str]:
    return ["TLP"] if "a poisoned packet" in kept else []


def _latched(function: Function) -> list[str]:
    errors = function.errors
    masked = _MASKED & (errors.uncorrectable_mask or frozenset())
    return sorted((errors.uncorrectable_status or frozenset()) - _HARMLESS - masked)


def _count(function: Function, kind: str) -> int:
    """Return what the kernel counted at a function, or a root port heard of without a count at its sender."""
    return function.errors.counter(f"{kind}.TOTAL") or 0


def _kept(view: View, function: Function) -> dict[str, str]:
    """Return what Device Status and Status tell besides, each with the words of its register."""
    bdf, name = function.address.short, function.name
    status = function.transfers.status or frozenset()
    kept = {}
    explained = "UnsupReq" in status or function.errors.uncorrectable_status
    if "FatalErr" in status:
        kept["a fatal error"] = f"{bdf} DevSta: FatalErr+ ({name})"
    elif "NonFatalErr" in status and not explained:
        kept["a non-fatal error"] = f"{bdf} DevSta: NonFatalErr+ UnsupReq- ({name})"
    if function.registers.express is True and view.moves_data(function):
        for bit, words in _POISON.items():
            if bit in (function.registers.status or ()):
                kept["a poisoned packet"] = f"{bdf} Status: {bit}+ ({words})"
    return kept


def _is_of_worth(view: View, function: Function) -> bool:
    """Whether a device moves data, or a port leads to one that does."""
    if view.machine.role(function) in PORTS_TO_LINKS:
        return any(map(view.moves_data, view.machine.children(function)))
    return view.moves_data(function)


def _severity(
    view: View, function: Function, bits: list[str], kept: dict[str, str], nonfatal: int
) -> Severity:
    """Return a note for bits alone that tell of a refused access, and for a small matter of a slow device."""
    if set(bits) == {"CmpltTO"} and not nonfatal and not kept and _is_a_host_bridge(function):
        return Severity.INFO
    if bits and _OF_BRINGING_UP.issuperset(bits) and not nonfatal and not kept and _is_of_before(function):
        return Severity.INFO
    if nonfatal or set(bits) - _REFUSED:
        return Severity.WARNING
    minor = not kept or (kept.keys() == {"a non-fatal error"} and not _is_of_worth(view, function))
    return Severity.INFO if minor else Severity.WARNING


def _is_of_before(function: Function) -> bool:
    """Whether latched bits are older than Device Status, which knows of no error.

    A reset clears Device Status, and leaves those of Advanced Error Reporting as they are (sticky).
    """
    status = function.transfers.status
    return status is not None and not status & _ANY_ERROR


def _is_a_host_bridge(function: Function) -> bool:
    """Whether a host bridge calls itself an endpoint: bus scans read through it what is not there."""
    return function.is_class(0x0600) and function.kind in ENDPOINTS and function.driver is None


def _lines(function: Function, bits: list[str], kept: list[str], fatal: int, nonfatal: int) -> Iterator[str]:
    bdf, errors = function.address.short, function.errors
    before = errors.counter("boot_before.TOTAL")
    if bits:
        yield f"{bdf} UESta: {' '.join(f'{bit}+' for bit in bits)} ({function.name})"
    yield from kept
    if bits and not kept and not fatal and not nonfatal and _is_of_before(function):
        yield f"{bdf} DevSta: no error, so it was before the last reset, or Device Status was cleared since"
    if errors.counter(_LATCHED):
        yield f"{bdf} ecap 0001: AER {fatal} fatal ({function.name})"
    elif fatal or nonfatal:
        yield (
            f"{bdf} in the log: {fatal} fatal, {nonfatal} non-fatal errors"
            + (", kept by the firmware from the boot before (BERT)" if before else "")
            if errors.counted_in_log
            else f"{bdf} aer_dev_fatal {fatal}, aer_dev_nonfatal {nonfatal}"
        )
    if errors.header_log and any(errors.header_log) and bits:
        yield f"{bdf} HeaderLog: {' '.join(f'{word:08x}' for word in errors.header_log)}"


def _counted_names(function: Function) -> list[str]:
    """Name the uncorrectable errors that were counted."""
    names = {
        name.partition(".")[2]
        for name, count in function.errors.counters or ()
        if count and name.startswith(("fatal.", "nonfatal.")) and "TOTAL" not in name
    }
    return sorted(names)
