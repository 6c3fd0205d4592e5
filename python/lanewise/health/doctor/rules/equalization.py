"""Links that run at a speed whose equalization did not complete."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lanewise.health.doctor.finding import Finding, Severity
from lanewise.health.doctor.link_errors import latched
from lanewise.health.doctor.registry import PROVISIONING, Bearing, Rule, rule

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lanewise.machine.model import Function, Link
    from lanewise.machine.view import View

_NEEDS_IT_GT_S = 32.0

EQUALIZATION = Rule(
    id="equalization-incomplete",
    what="A link of 32 GT/s or more runs without its speed's equalization, or an end of a link asks for "
    "equalization to be repeated.",
    why="From 8 GT/s on, both ends agree on transmitter settings for each lane. A link that came up without "
    "them may run, but with more errors than it should have, and may fall back under load or when it gets "
    "warm.",
    severity="warning at 32 GT/s and more without equalization; info where an end asks for it again",
    cost="stated: replays and a smaller margin, seen as link errors",
    fix="Retrain the link (remove and rescan the device, or a cold boot); update firmware of host and "
    "card; look at risers, cables and retimers.",
    references=(
        "PCIe Base 5.0 §4.2.3 (Link Equalization)",
        "§7.7.6.4 (32.0 GT/s Status)",
        "§7.5.3.20 (Link Status 2)",
    ),
    not_said="A request on a link whose ends latched no errors, where the same end says that equalization is "
    "complete: the bit stays set after the first training on many ports. Speeds below 32 GT/s without a "
    "request, where the register has been seen clear on healthy links; "
    "links that do not run at their full speed.",
    bearing=Bearing.DISTURBS,
    profiles=PROVISIONING,
)


@rule(EQUALIZATION)
def unequalized_links(view: View, this: Rule) -> Iterable[Finding]:
    """Find links without settled transmitters."""
    for link in view.live_links:
        speed = link.now.gt_s
        if speed is None:
            continue
        outcomes = [(end, end.link.equalized(speed)) for end in (link.upper, link.device)]
        missing = [
            end
            for end, outcome in outcomes
            if outcome and outcome.complete is False and speed >= _NEEDS_IT_GT_S
        ]
        asking = [end for end, outcome in outcomes if outcome and outcome.requested and _has_errors(link)]
        undone = {end: gt_s for end in (link.upper, link.device) for gt_s in _undone(end, speed)}
        # Either end may report: one that says complete is enough.
        if any(outcome is not None and outcome.complete for _, outcome in outcomes):
            missing = []
        if not missing and not asking:
            if undone:
                yield _asked_again(this, link, undone)
            continue
        state = "runs without equalization" if missing else "asks for equalization to be repeated"
        yield this.finding(
            Severity.WARNING if missing else Severity.INFO,
            link.device.address.short,
            f"the link of {link.device.address.short} {state} at {speed:g}GT/s",
            [
                f"{end.address.short} at {speed:g}GT/s: EqualizationComplete{'-' if end in missing else '+'}"
                f"{', LinkEqualizationRequest+' if end in asking else ''} ({end.name})"
                for end in dict.fromkeys([*missing, *asking])
            ],
        )


def _undone(end: Function, now_gt_s: float) -> list[float]:
    """List speeds up to that of now whose equalization an end asks for and calls not complete."""
    return [
        outcome.gt_s
        for outcome in end.link.equalization
        if outcome.gt_s <= now_gt_s and outcome.requested and outcome.complete is False
    ]


def _asked_again(this: Rule, link: Link, undone: dict[Function, float]) -> Finding:
    bdf, gt_s = link.device.address.short, max(undone.values())
    return this.finding(
        Severity.INFO,
        bdf,
        f"the link of {bdf} asks for equalization at {gt_s:g}GT/s, which is not complete",
        [
            f"{end.address.short} at {at:g}GT/s: EqualizationComplete-, LinkEqualizationRequest+ ({end.name})"
            for end, at in undone.items()
        ],
    )


def _has_errors(link: Link) -> bool:
    """Whether either end saw damaged packets, or does not say."""
    ends = (link.upper, link.device)
    known = any(end.errors.correctable_status is not None for end in ends)
    return not known or any(map(latched, ends))
