"""What limits a run, as the core found it, with the names that a machine has for its parts.

The core says what it is (`limited_by` of a result: by use and by waiting time, of one run); here it is read,
and nothing is decided. A run of many devices has a limit of the whole, and each of its flows has one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from lanewise.known_uses import SENT
from lanewise.written import counted, percent, spelled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lanewise.documents import Direction, FlowLimit, LimitedBy, LimitPlace, Run

    _Found: TypeAlias = LimitedBy | FlowLimit

    _Said: TypeAlias = tuple[str, str]
    """Words and detail of a limit."""

_HOST = "server"
"""Name of the host in the scenario of a machine."""

_WORTH_A_WORD = 0.005
"""Less rounds to 0 % of the time."""

_MOST_LINKS = 2

_PACKETS = {"posted": "posted packets", "non_posted": "non-posted packets", "completion": "completions"}

_OF_DEVICES = {
    "tags": "the tags of {who}: all in use {share} of the time",
    "window": "the operations of {who}: as many under way as may be {share} of the time, so latency decides",
    "wake_up": "the sleep of the link of {who}: it wakes {share} of the time",
    "request_interval": "the DMA engines of {who}: they issue requests no faster, {share} of the time",
    "tlp_gap": "the silence of {who} after each packet: {share} of the time",
    "demand": "the workload of {who}: it asks for no more {share} of the time",
}

_RESOURCES = {
    "memory": "the memory of {who}",
    "banks": "the banks of memory of {who}",
    "memory_reads": "the way on which memory of {who} is read",
    "memory_writes": "the way on which memory of {who} is written",
    "read_trackers": "the tracking entries for reads of {who}",
    "outbound_queue": "the queue that root ports of {who} share",
    "walkers": "the walkers of page tables of {who}",
    "walk_turns": "the time between walks of page tables of {who}",
    "translation_requests": "the translation requests of {who}",
    "socket_link": "the link between sockets",
    "peer_path": "the path between root ports",
    "switch_core": "the core of {who}",
    "switch_bus": "the bus of {who}",
    "switch_memory": "the packet memory of {who}",
    "switch_storage": "the room behind the credits of {who}",
    "request_metering": "the request metering of {who}",
    "endpoint_drain": "the drain of writes into {who}",
    "endpoint_memory": "the memory of {who}",
    "pipeline": "the data path of {who}",
    "media": "the media of {who}",
    "wire_beyond": "the wire behind {who}",
}
"""Words for a shared resource; one that is not here has those of its kind."""


@dataclass(frozen=True)
class Limit:
    """What limits a run, or a device in it."""

    kind: str
    """As in results: ``wire``, ``credits``, ``tags``, ``memory`` and so on."""
    name: str
    """As in results, with the names of the scenario: ``gpu_18_00_0.upstream``."""
    owner: str
    """The component that has it, as `LimitPlace` says."""
    direction: str | None
    """The direction of its link, of what is in one."""
    words: str
    """For a person."""
    detail: str
    """Of a link, for what it is in use most, and why it is silent; empty for others."""
    of_goodput: float
    """Part of the goodput of all data of the run that this, and what is alike, limits."""
    alike: int
    """How many others are in the same case."""

    def is_same(self, other: Limit | None) -> bool:
        """Whether both are one part of a machine."""
        return other is not None and (self.kind, self.name) == (other.kind, other.name)

    def whole(self) -> str:
        """Say it of all data of a run: with those alike, and the part of the data where it is not all."""
        alike = f", and {self.alike} alike" if self.alike else ""
        part = percent(self.of_goodput, 0)
        return f"{self.words}{alike}{'' if part == '100 %' else f' ({part} of all data)'}"


def limit_of(result: Run, words: Mapping[str, str]) -> Limit | None:
    """Return what limits a run; None when nothing moved.

    `words` are a person's names for devices and switches, by those of the scenario.
    """
    found = result["limited_by"]
    if found is None:
        return None
    return _limit(result, found, found["places"][0], found["of_goodput"], len(found["alike"]), words)


def as_much_in_use(result: Run, limit: Limit, words: Mapping[str, str]) -> str:
    """Name other links that are in use as much as the one that limits: one of them faster brings nothing."""
    if limit.kind != "wire":
        return ""
    busy = {
        (link["name"], way): percent(side["utilisation"], 0)
        for link in result["links"]
        for way, side in (("upstream", link["upstream"]), ("downstream", link["downstream"]))
    }
    most = busy.pop((limit.owner, limit.direction or ""))
    others = [f"{_link(name, words)} {_way(way)}" for (name, way), share in busy.items() if share == most]
    more = f" and {counted(len(others) - _MOST_LINKS, 'other')}" if len(others) > _MOST_LINKS else ""
    return f"; as much in use: {', '.join(others[:_MOST_LINKS])}{more}" if others else ""


def limit_of_device(result: Run, words: Mapping[str, str], device: str) -> Limit | None:
    """Return what limits a device in a run of many, by the flow with most of its data.

    None when it moved none.
    """
    flows = [flow for flow in result["flows"] if flow["device"] == device and flow["direction"] != "control"]
    most = max(flows, key=lambda flow: flow["goodput_gb_per_s"], default=None)
    found = None if most is None else most["limited_by"]
    return None if found is None else _limit(result, found, found["place"], 1.0, 0, words)


def _limit(
    result: Run,
    found: _Found,
    place: LimitPlace,
    of_goodput: float,
    alike: int,
    words: Mapping[str, str],
) -> Limit:
    at = _at_device if place["direction"] is None else _at_link
    said, detail = at(result, found, place, words)
    name, owner, direction = found["name"], place["component"], place["direction"]
    return Limit(found["kind"], name, owner, direction, said, detail, of_goodput, alike)


def _at_link(result: Run, found: _Found, place: LimitPlace, words: Mapping[str, str]) -> _Said:
    """Return what is the matter in one direction of a link."""
    component, direction = place["component"], place["direction"]
    link = next(each for each in result["links"] if each["name"] == component)
    side = link["upstream"] if direction == "upstream" else link["downstream"]
    where, way = _link(component, words), _way(direction)
    detail = ""
    match found["kind"]:
        case "wire":
            # With the time in which it was down.
            busy = percent(found["share"], 0)
            said = f"{where}, {'full' if busy == '100 %' else f'{busy} in use'} {way}"
            detail = _uses(side)
        case "credits":
            pool = found["flow_class"] or ""
            packets = _PACKETS[pool]
            shares = side["time_attribution"]
            blocked = sum(shares.get(f"blocked_{pool}_{part}", 0.0) for part in ("header", "data"))
            said = f"credits for {packets} on {where} {way}: waited for {percent(blocked, 0)} of the time"
            if side["utilisation"] > blocked:
                said += f", and in use for {percent(side['utilisation'], 0)} of it"
        case "errors":
            said = f"bit errors on {where} {way}: {percent(found['share'], 0)} of the time is lost"
        case "replay_timer":
            again = f"{percent(found['share'], 0)} of the time it sends again what has arrived"
            said = f"the replay timer for {where} {way}: {again}"
        case "sequence_window":
            waited = f"waited for {percent(found['share'], 0)} of the time"
            said = f"what may be unacknowledged on {where} {way}: {waited}"
        case _:
            said = f"the retry buffer for {where} {way}: waited for {percent(found['share'], 0)} of the time"
    return said, detail


def _link(name: str, words: Mapping[str, str]) -> str:
    return f"the link of {words.get(name, name)}"


def _way(direction: str | None) -> str:
    return "towards the host" if direction == "upstream" else "away from the host"


def _uses(side: Direction) -> str:
    """Say for what a direction of a link is in use most, and why it is silent."""
    shares = side["time_attribution"]
    used = sorted(SENT, key=lambda use: -shares.get(use, 0.0))[:2]
    silent = [use for use in shares if use not in SENT and shares[use] >= _WORTH_A_WORD]
    parts = [f"{spelled(use)} {percent(shares.get(use, 0.0), 0)}" for use in used]
    if silent:
        most = max(silent, key=lambda use: shares[use])
        parts.append(f"{_silence(most)} {percent(shares[most], 0)}")
    return f": {', '.join(parts)}"


def _silence(use: str) -> str:
    pool = use.removeprefix("blocked_")
    return f"no credits for {spelled(pool)}" if pool.endswith(("_header", "_data")) else spelled(pool)


def _at_device(result: Run, found: _Found, place: LimitPlace, words: Mapping[str, str]) -> _Said:
    """Return what limits that is not in one direction of a link."""
    kind, share = found["kind"], percent(found["share"], 0)
    owner = place["component"]
    who = "the host" if owner == _HOST else words.get(owner, owner)
    if kind in _OF_DEVICES:
        return _OF_DEVICES[kind].format(who=who, share=share), ""
    resource = next((each for each in result["resources"] if each["name"] == found["name"]), None)
    size = "" if resource is None else f", {resource['limit']}"
    what = _RESOURCES.get(kind, f"{spelled(kind)} of {{who}}").format(who=who)
    how = "in use" if found["in_use"] else "waited for"
    return f"{what}{size}: {how} {share} of the time", ""
