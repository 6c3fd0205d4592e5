"""Sources and captures that say different things of one device: one saw a fault, or is of another time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.registry import Bearing, Rule, rule
from lanewise.health.doctor.words import who
from lanewise.machine.model import EventKind

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.address import Address
    from lanewise.machine.model import Disagreement
    from lanewise.machine.view import View

DISAGREE = Rule(
    id="sources-disagree",
    what="A source that was added to a dump (`--with`), or another capture in the same file, contradicts "
    "it: other lanes, another speed, a device that only one of them lists.",
    why="Lanes do not change while a machine works, and a driver lists all devices that it reaches. Where "
    "two sources differ, a link fell back or a device was lost between them, or they are of different "
    "machines.",
    severity="warning where the second source says less, or lists other devices, and where captures in one "
    "file differ; info where a second source says more, for NUMA nodes, and for drives that `nvme list` "
    "leaves out",
    cost="stated: not known before it is clear which of the two is right",
    fix="Take both again, one after the other, with a separate file for each machine. If they still differ, "
    "believe the one that says less: reseat the card of BDF, and look at riser and cable.",
    references=("PCIe Base 5.0 §7.5.3.8 (Link Status)", "nvidia-smi manual (GPU ATTRIBUTES, PCI)"),
    not_said="Speeds that GPUs lower when they are idle; names, counters, states; lists of one GPU alone.",
    bearing=Bearing.DISTURBS,
)


@rule(DISAGREE)
def disagreeing_sources(view: View, this: Rule) -> Iterable[Finding]:
    """Find devices of which two sources say different things: one finding for each."""
    told: dict[Address, list[Disagreement]] = {}
    for one in view.machine.disagreements:
        told.setdefault(one.address, []).append(one)
    yield from _missing_drives(view, this)
    for address, found in told.items():
        function = view.machine.functions.get(address)
        bdf = address.short
        bad = any(one.less or one.what == "listed" for one in found)
        yield this.finding(
            Severity.WARNING if bad else Severity.INFO,
            bdf,
            _unlisted(view, bdf, found)
            or f"two sources disagree about {bdf}: {'; '.join(map(_words, found))}",
            [
                *(f"{bdf} {one.what}: {one.first}; {one.second}" for one in found),
                *who(bdf, function),
            ],
        )


def _missing_drives(view: View, this: Rule) -> Iterable[Finding]:
    """Say once that `nvme list` shows fewer drives than there are controllers."""
    events = [event for event in view.machine.events if event.kind is EventKind.FEWER_DRIVES]
    drives = [function.address.short for function in view.machine if function.is_nvme]
    for event in events[:1]:
        yield this.finding(
            Severity.INFO,
            drives[0] if drives else "",
            "'nvme list' shows fewer drives than there are NVMe controllers",
            [event.line],
            also=drives[1:],
            fix="Look which controller has no namespace, or is not `live`: `nvme list -v`, `grep . "
            "/sys/class/nvme/*/state`. A drive with two ports is one line and two controllers.",
        )


def _unlisted(view: View, bdf: str, found: list[Disagreement]) -> str | None:
    """Say that a tool of a driver leaves a GPU out, with how many it lists; None where it is about more."""
    if len(found) != 1 or found[0].what != "listed" or not found[0].less:
        return None
    if (function := view.machine.named(bdf)) is None or not view.is_compute_gpu(function):
        return None
    missing = {one.address for one in view.machine.disagreements if one.what == "listed" and one.less}
    gpus = [f for f in view.machine if view.is_compute_gpu(f) and not f.virtual]
    tool = found[0].second.partition(":")[0]
    return f"{tool} lists {len(gpus) - len(missing)} of {len(gpus)} GPUs: {bdf} is not there"


def _words(one: Disagreement) -> str:
    return f"{one.what} ({one.first}, {one.second})"
