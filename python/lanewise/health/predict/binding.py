"""What held a run back, from the time attribution of links and requesters, in a sentence.

A link direction that is busy all the time is the limit; otherwise what its sender waited for (credits, the
retry buffer), or what the requester waited for (tags, its own window, the other side). The sums of the
attribution are exact, so no guess is involved in which share is the largest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from lanewise.documents import Run

_FULL = 0.985
"""A direction busy for this share of the time is full: gaps between bursts are the rest."""

_LITTLE = 0.01
"""Share of time that is worth a word where nothing larger tells why a link is not full."""

_ON_THE_WIRE = ("payload", "header", "framing", "dllp", "replay", "ordered_set")

_REQUESTER = {
    "tags": "the device has no tag left for another read",
    "window": "the device waits for earlier operations: latency, not bandwidth",
    "request_interval": "the device's DMA engines issue requests no faster",
    "device": "the device itself",
    "wire": "the wire behind the device",
    "media": "the media of the drive",
    "cpu": "the CPU of the host",
    "nothing_asked": "the workload asks for no more",
}


def binding_of(
    result: Run,
    device: str,
    names: Mapping[str, str],
    *,
    links: Container[str] | None = None,
    way: str | None = None,
) -> str:
    """Say what binds a device. `names` turns names of links (their lower device) into words for a person.

    Where others are at work too, `links` are those on the device's way, and `way` is upstream or downstream,
    as its data goes: nothing else in the run speaks of this device.
    """
    direction, name, shares, busy = _busiest(result, links, way)
    whose = f"the link of {names.get(name, name)}"
    if busy >= _FULL:
        used = sorted(((shares.get(kind, 0.0), kind) for kind in _ON_THE_WIRE), reverse=True)[:2]
        text = ", ".join(f"{kind} {100 * share:.0f} %" for share, kind in used)
        return f"{whose}, full {_way(direction)}: {text}"
    blocked = {kind: share for kind, share in shares.items() if kind.startswith("blocked") and share > 0.05}
    if blocked:
        worst = max(blocked, key=lambda kind: blocked[kind])
        return _blocked_words(worst, blocked[worst], whose)
    requester = next((r for r in result["requesters"] if r["device"] == device), None)
    states = {} if requester is None else requester["time_attribution"]
    waits = {state: share for state, share in states.items() if state != "port" and share > 0.02}
    if waits:
        worst = max(waits, key=lambda state: waits[state])
        words = _REQUESTER.get(worst, worst.replace("_", " "))
        return f"{words} ({100 * waits[worst]:.0f} % of the time)"
    text = f"{whose}, busy {100 * busy:.0f} % {_way(direction)}"
    share, kind, link = _most_blocked(result, links, way)
    return f"{text}; {_blocked_words(kind, share, f'the link of {names.get(link, link)}')}" if share else text


def _blocked_words(kind: str, share: float, whose: str) -> str:
    what = kind.removeprefix("blocked_").replace("_", " ")
    if what != "retry buffer":
        what = f"no credits for {what}"
    return f"{what} on {whose}: {100 * share:.0f} % of the time"


def _most_blocked(result: Run, links: Container[str] | None, way: str | None) -> tuple[float, str, str]:
    """Return the largest share of blocked time on any link, of what, and where; nothing below 1 %."""
    found = [
        (share, kind, link["name"])
        for link in result["links"]
        if links is None or link["name"] in links
        for direction, side in (("upstream", link["upstream"]), ("downstream", link["downstream"]))
        if way in (None, direction)
        for kind, share in side["time_attribution"].items()
        if kind.startswith("blocked") and share > _LITTLE
    ]
    return max(found, default=(0.0, "", ""))


def is_link_full(result: Run) -> bool:
    """Whether some direction of some link has nothing left."""
    return _busiest(result, None, None)[3] >= _FULL


def _busiest(
    result: Run, links: Container[str] | None, way: str | None
) -> tuple[str, str, dict[str, float], float]:
    """Return direction, name, shares and utilisation of the link direction with most to do."""
    found: tuple[str, str, dict[str, float], float] = ("upstream", "", {}, -1.0)
    for link in result["links"]:
        if links is not None and link["name"] not in links:
            continue
        for direction, side in (("upstream", link["upstream"]), ("downstream", link["downstream"])):
            if way in (None, direction) and side["utilisation"] > found[3]:
                found = (direction, link["name"], side["time_attribution"], side["utilisation"])
    return found


def _way(direction: str) -> str:
    return "towards the host" if direction == "upstream" else "away from the host"
