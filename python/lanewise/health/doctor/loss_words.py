"""What became of a device that was lost, in words for titles: by what the line of the log says.

One kind of event has lines of many drivers: a card that did not start, one that lost its link, one that could
not be reset. Source: the wordings of `machine/sources/kernel_events` and of the table of driver messages.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.model import EventKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.model import KernelEvent

LOSSES = {
    EventKind.GPU_LOST: "fell off the bus",
    EventKind.CONTROLLER_DOWN: "stopped answering",
    EventKind.DEVICE_FAILED: "could not be started, or its driver gave it up",
    EventKind.HEALTH_LOST: "has firmware that stopped working",
    EventKind.NO_RETURN: "did not come back from a reset or from sleep",
}
"""What the log says of devices that were lost, worst first."""

NOT_STARTED = "could not be started"
_OF_A_LINE = tuple(
    (re.compile(pattern), words)
    for pattern, words in (
        (r"AER: [Dd]evice recovery failed", "did not recover from an error that was reported"),
        (r"link lost|Adapter removed", "lost its link"),
        (r"wedged", "hangs, and its driver uses it no more (wedged)"),
        (r"device handle for", "cannot be reached by nvidia-smi"),
        (
            r"permanently disabled|IO frozen|(?:Frozen|[Ff]enced|dead) P|PHB#\w{1,4} failure",
            "was stopped by the host after an error (EEH)",
        ),
        (r"EEH: ", "could not be recovered after an error (EEH)"),
        (r"header type 7f", "answers with ones only"),
        (
            r"can't enable device: BAR|can't reserve|BAR\d is 0M|selected_regions|No bus number|"
            r"unusable because|resize PCIe BARs",
            "lacks addresses or buses",
        ),
        (r"power cables", "lacks a power cable"),
        (
            r"(?i)\b(?:re)?set\b.{0,30}\b(?:fail|aborted)|fail(?:ed|s)? to reset|recovery fail|reset end",
            "could not be reset",
        ),
        (r"(?i)reset.{0,12}fail|re-?enable PCI device", "could not be reset"),
        (r"(?i)recover|re-?initiali[sz]e", "could not be recovered"),
        (r"(?i)unavailable|inaccessible|offline|disabled", "is out of reach of its driver"),
        (r"(?i)probe|init|start|boot|aborting|identify", NOT_STARTED),
    )
)
_RESET_FAILED = re.compile(r"(?i)reset (?:has )?fail|fail(?:ed|s)? to reset")
_RESET_BEGUN = re.compile(r"GPU reset begin")
_RAN_OUT = re.compile(r"(?i)time(?:d |[-_])?out")
_FIRMWARE = re.compile(r"(?i)firmware|\bfw\b|heartbeat|\bMES\b|\bGSP\b|Error \(timeout: \d")
"""Of lines about time that has run out; the last is how bnxt_en tells of a command to its firmware."""
_TO_IOMMU = re.compile(r"IOTLB_INV_TIMEOUT|Invalidation Time-out")
"""The IOMMU told a device to forget translations (ATS), and the device did not say that it has."""
ENGINE_RESET = "Engine reset: engine_class="
"""A driver of Intel's ended what a program had asked of its GPU; the GPU works on."""
_ADDRESS = re.compile(r"\[?[0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f](?:\.[0-7])?\]?(?: \w{1,15})?[-:)] ?")
_BEFORE = re.compile(r"^(?:\{\d{1,6}\}|\[drm\] |\*ERROR\* |amdgpu: |[ :]+)+")
_MOST_CHARACTERS = 70


def what_happened(event: KernelEvent) -> str:
    """Say what a line tells of a lost device, to stand after its name."""
    if event.kind is EventKind.DEVICE_FAILED:
        found = (words for pattern, words in _OF_A_LINE if pattern.search(event.line))
        return next(found, LOSSES[event.kind])
    return LOSSES[event.kind]


def what_was_late(place: str, late: Sequence[KernelEvent], *, again: bool) -> str:
    """Say what lines tell of a device that was late: the worst of it, and how often there was a line."""
    # One that is late has lines about its reset, too, where its driver resets it.
    often = sum(_RAN_OUT.search(event.line) is not None for event in late) or len(late)
    times = f"{often} times" if often > 1 else "once"
    if again:
        return f"{place} did not answer its driver in time, {times}, and works again"
    if any(_RESET_FAILED.search(event.line) for event in late):
        return f"{place} did not answer its driver, and a reset of it or of a part of it failed"
    if any(_RESET_BEGUN.search(event.line) for event in late):
        return f"{place} did not answer its driver, and the log does not tell that its reset ended"
    if all(ENGINE_RESET in event.line for event in late):
        return f"the driver of {place} reset an engine of it, {times}"
    to_iommu = all(_TO_IOMMU.search(event.line) for event in late)
    asked, why = ("the IOMMU", ": it hangs, or its link is down") if to_iommu else ("its driver", "")
    of = "the firmware of " if not to_iommu and all(_FIRMWARE.search(event.line) for event in late) else ""
    return f"{of}{place} did not answer {asked} in time, {times}{why}"


def message(event: KernelEvent) -> str:
    """Return what a driver said of its device, without names and addresses before it, and not too long."""
    text = _BEFORE.sub("", _ADDRESS.split(event.line)[-1]).strip() or event.line
    return text if len(text) <= _MOST_CHARACTERS else f"{text[: _MOST_CHARACTERS - 3].rstrip()}..."
