"""What NVIDIA's error numbers mean: in words, how bad each is, and what an operator does.

An **error** is a number after which the GPU is no use before it is reset, the node is started again, or the
GPU is replaced. A **warning** asks for a reset when there is time, or for a look. A **note** is what programs
cause: their accesses and commands, and what the driver stops after another error. Numbers that the table
lacks are notes.

Source: NVIDIA, "Xid Errors", catalog of R575 and R580 (immediate action), and "GPU Debug Guidelines"; read
for meaning and action only. NVSwitches say themselves whether an SXid is fatal: NVIDIA, "Fabric Manager User
Guide", SXid errors.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from lanewise.health.doctor.finding import Severity

if TYPE_CHECKING:
    from lanewise.machine.model import KernelEvent


class Meaning(NamedTuple):
    """What a number means."""

    words: str
    severity: Severity
    replace: bool = False
    """Whether the device is to be replaced: a reset does not mend it."""


_INFO, _WARNING, _ERROR = Severity.INFO, Severity.WARNING, Severity.ERROR

RECOVERY = 154
"""The Xid that says what the driver asks for; its line has the words."""

_XIDS: dict[int, Meaning] = {
    13: Meaning("a program's access or instruction failed", _INFO),
    31: Meaning("a program accessed memory that it does not have", _INFO),
    32: Meaning("a program's commands were not understood", _INFO),
    43: Meaning("a program's work was stopped", _INFO),
    45: Meaning("a program's work was removed", _INFO),
    46: Meaning("the GPU stopped processing", _ERROR),
    48: Meaning("memory returned an error that could not be corrected", _ERROR),
    54: Meaning("a power cable of the GPU is not connected", _WARNING),
    57: Meaning("the interface to the GPU's memory could not be set up", _ERROR, replace=True),
    58: Meaning("the interface to the GPU's memory is unstable", _ERROR, replace=True),
    61: Meaning("a micro-controller in the GPU met a breakpoint", _WARNING),
    62: Meaning("a micro-controller in the GPU halted", _ERROR),
    63: Meaning("a row or page of memory is to be replaced at the next reset", _WARNING),
    64: Meaning("a row or page of memory could not be replaced", _ERROR, replace=True),
    74: Meaning("a link between GPUs failed", _WARNING),
    92: Meaning("many memory errors were corrected", _WARNING),
    94: Meaning("a memory error was contained: one program was stopped", _WARNING),
    95: Meaning("a memory error was not contained: all programs are concerned", _ERROR),
    109: Meaning("the GPU did not change to another program in time", _ERROR),
    110: Meaning("the GPU reported a security fault", _ERROR),
    119: Meaning("the GPU's system processor did not answer in time", _ERROR),
    120: Meaning("the GPU's system processor failed", _ERROR),
    121: Meaning("errors of the link between GPU and CPU were corrected", _WARNING),
    122: Meaning("the GPU's firmware memory could not be read", _WARNING),
    123: Meaning("the GPU's firmware memory could not be written", _WARNING),
    124: Meaning("the GPU's firmware memory could not be erased", _WARNING),
    125: Meaning("the GPU's InfoROM has an error", _WARNING),
    136: Meaning("a link between GPUs did not train", _ERROR),
    140: Meaning("an error in memory could not be recovered", _ERROR),
    143: Meaning("the GPU could not be initialized", _ERROR),
    **{number: Meaning("a link between GPUs reported an error", _WARNING) for number in range(144, 151)},
    155: Meaning("a link between GPUs failed in software", _ERROR),
    156: Meaning("a resource of the GPU is to be retired at the next reset", _WARNING),
    157: Meaning("a resource of the GPU could not be retired", _ERROR, replace=True),
    158: Meaning("the GPU did not answer in time, which is fatal", _ERROR),
    160: Meaning("a memory channel is to be replaced at the next reset", _WARNING),
    161: Meaning("a memory channel could not be replaced", _ERROR, replace=True),
}
_SAYS_WHETHER_FATAL = frozenset({74, *range(144, 151)})
_FATAL = re.compile(r"\bfatal", re.IGNORECASE)
_NOT_FATAL = re.compile(r"\bnon-?fatal", re.IGNORECASE)
_ACTION = re.compile(r"\bto 0x[0-9a-f]{1,8} \(([^)]{1,40})\)")
_AFTER = re.compile(r"caused by previous Xid (\d{1,3})\b")
"""In a line with Xid 45, whose own number says only that a program's work was removed."""
_NOTHING_TO_DO = "None"
_PEERS_ONLY = "Drain P2P"


def action_of(event: KernelEvent) -> str | None:
    """Return what a line with Xid 154 asks for, like ``GPU Reset Required``; None for other lines."""
    found = _ACTION.search(event.line) if event.number == RECOVERY else None
    return found[1] if found else None


def is_recovery(event: KernelEvent) -> bool:
    """Whether the driver says that nothing is to be done any more."""
    return action_of(event) == _NOTHING_TO_DO


def meaning(event: KernelEvent) -> Meaning:
    """Return what a line of a GPU or of an NVSwitch says."""
    if event.number is None:
        if "uncorrectable" in event.line:
            return Meaning("errors that could not be corrected", _WARNING)
        return Meaning("the driver cannot go on before the node starts again", _ERROR)
    fatal = bool(_FATAL.search(event.line)) and not _NOT_FATAL.search(event.line)
    if is_of_a_switch(event):
        words = f"the switch says {'fatal' if fatal else 'not fatal'}"
        return Meaning(words, _ERROR if fatal else _INFO)
    if event.number == RECOVERY:
        return _what_is_asked_for(action_of(event))
    if (before := _AFTER.search(event.line)) is not None and int(before[1]) != event.number:
        cause = _XIDS.get(int(before[1]), Meaning("see NVIDIA's catalog", _INFO))
        return cause._replace(words=f"a program's work was removed after Xid {before[1]}: {cause.words}")
    known = _XIDS.get(event.number, Meaning("see NVIDIA's catalog", _INFO))
    return known._replace(severity=_ERROR) if fatal and event.number in _SAYS_WHETHER_FATAL else known


def _what_is_asked_for(action: str | None) -> Meaning:
    if action is None or action == _NOTHING_TO_DO:
        return Meaning("the driver says what is to be done", _INFO)
    return Meaning(f"the driver asks for: {action}", _WARNING if action == _PEERS_ONLY else _ERROR)


def name(event: KernelEvent) -> str:
    """Return how the line is called: ``Xid 48``, ``SXid 20034``, or what the driver is."""
    if event.number is None:
        return "amdgpu" if "amdgpu" in event.line else "nvidia-uvm"
    return f"{'SXid' if is_of_a_switch(event) else 'Xid'} {event.number}"


def is_of_a_switch(event: KernelEvent) -> bool:
    """Whether an NVSwitch reports the error: the kernel calls it an SXid, Fabric Manager by its device."""
    return "SXid" in event.line or "detected NVSwitch" in event.line
