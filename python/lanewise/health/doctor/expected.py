"""Rules about what a fleet file expects: devices missing, extra, moved, slower or narrower, set otherwise.

`lanewise.health.fleet` holds the machine against the file; here it becomes findings. Every finding names the
line that it rests on. What the source does not tell is a finding too: a check that could not look must not
pass.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from lanewise.health.doctor.file_rules import EXTRA, LINK, MISSING, MOVED, SETTING, UNKNOWN
from lanewise.health.doctor.finding import Absent, Expected, Finding, Severity
from lanewise.health.doctor.rig import both_ways
from lanewise.health.fleet.comparison import compare
from lanewise.health.fleet.settings import HOST_SETTINGS, SETTINGS
from lanewise.health.fleet.values import link_text, plain
from lanewise.machine.model import IDLE_GPU_GT_S, LinkMode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lanewise.health.doctor.rig import Trial
    from lanewise.health.fleet.comparison import Comparison, Kept, Seated
    from lanewise.health.fleet.inventory import Device
    from lanewise.health.fleet.model import Count, FleetFile, Spot, Wanted
    from lanewise.machine.model import Link, Machine

RULES = (MISSING, EXTRA, MOVED, LINK, SETTING, UNKNOWN)
"""In the order of the reference."""

Unread: TypeAlias = dict[str, list[str]]
"""Keys that the source does not tell, and of which devices."""

_MOST_LISTED = 8


def expectations(machine: Machine, file: FleetFile) -> tuple[list[Finding], tuple[Expected, ...]]:
    """Hold a machine against a fleet file: findings, and of each kind how many should be and are there."""
    comparison = compare(machine, file)
    unread: Unread = {}
    findings = [*_counts(comparison), *_host(comparison, unread)]
    for kept in comparison.kept:
        for seated in kept.seated:
            findings += _as_wanted(comparison, kept.entry, seated, unread)
    findings += _unread(file, unread)
    return findings, tuple(
        Expected(kept.entry.what, kept.entry.count, kept.present, f"{file.name}:{kept.entry.line}")
        for kept in comparison.kept
    )


def merged(findings: list[Finding], expected: list[Finding]) -> list[Finding]:
    """Put both together, and what is said of one link twice into one finding: one fact is one waiver."""
    twice = {(rule, one.bdf): one for one in expected for rule in one.subsumes}
    kept = []
    taken: dict[str, list[Finding]] = {}
    for finding in findings:
        if (finding.rule, finding.bdf) in twice and not finding.also:
            taken.setdefault(finding.bdf, []).append(finding)
        else:
            kept.append(finding)
    return kept + [_with(one, taken.get(one.bdf, [])) if one.subsumes else one for one in expected]


def _with(finding: Finding, others: list[Finding]) -> Finding:
    """Let a finding carry what others say of the same link, and be as severe as the worst of them."""
    lines = (line for other in others for line in other.evidence)
    severities = (finding.severity, *(other.severity for other in others))
    return replace(
        finding,
        severity=max(severities, key=lambda severity: severity.rank),
        evidence=tuple(dict.fromkeys((*finding.evidence, *lines))),
        subsumes=tuple(other.rule for other in others),
    )


def _counts(comparison: Comparison) -> Iterator[Finding]:
    replaced = []
    for kept in comparison.kept:
        if kept.present < kept.entry.count:
            instead = [comparison.in_place_of(spot) for spot in kept.vacant]
            replaced += [device for device in instead if device is not None]
            yield _missing(comparison, kept)
    for kept in comparison.kept:
        too_many = [device for device in kept.surplus if device not in replaced]
        if too_many:
            title = f"{kept.present} of {kept.entry.count} {kept.entry.what}: {_bdfs(too_many)} not expected"
            yield _extra(
                comparison,
                too_many,
                title,
                _says(comparison.file, kept.entry.wanted.lines["count"], "count", kept.entry.count),
            )
    if comparison.file.report_unlisted:
        by_name: dict[str, list[Device]] = {}
        for device in comparison.unlisted:
            if device not in replaced:
                by_name.setdefault(device.name, []).append(device)
        for name, devices in by_name.items():
            title = f"{len(devices)} {name}: no entry of {comparison.file.name} describes {_bdfs(devices)}"
            yield _extra(comparison, devices, title, f'{comparison.file.name}: unlisted = "report"')
    for kept in comparison.kept:
        for seated in kept.seated:
            if seated.moved and seated.spot is not None:
                yield _moved(comparison, kept, seated)


def _missing(comparison: Comparison, kept: Kept) -> Finding:
    entry, file = kept.entry, comparison.file
    evidence = [_says(file, entry.wanted.lines["count"], "count", entry.count)]
    for spot in kept.vacant:
        instead = comparison.in_place_of(spot)
        holds = _state(instead) if instead is not None else "nothing of the kind is there"
        evidence.append(f"{file.name}:{spot.line}: {spot}: {holds}")
    if not kept.vacant:
        evidence += [_state(device) for device in kept.silent]
    present = [one.device for one in kept.seated]
    evidence.append(f"there: {_bdfs(present)}" if present else "there: none")
    where = [spot.at.short for spot in kept.vacant if spot.at is not None]
    which = f"; missing: {_listed(list(map(str, kept.vacant)))}" if kept.vacant else ""
    finding = MISSING.finding(
        Severity.ERROR,
        where[0] if where else "",
        f"{kept.present} of {entry.count} {entry.what}{which}",
        evidence,
        also=where[1:],
    )
    return replace(finding, absent=Absent(entry.who, tuple(spot.slot for spot in kept.vacant if spot.slot)))


def _extra(comparison: Comparison, devices: list[Device], title: str, line: str) -> Finding:
    return EXTRA.finding(
        Severity.WARNING,
        devices[0].bdf,
        title,
        [line, *(_who(device) for device in devices)],
        also=[device.bdf for device in devices[1:]],
    )


def _moved(comparison: Comparison, kept: Kept, seated: Seated) -> Finding:
    device, spot = seated.device, seated.spot
    assert spot is not None
    instead = _in_exchange(comparison, seated)
    exchanged = f": it and {instead.bdf} exchanged their places" if instead is not None else ""
    return MOVED.finding(
        Severity.WARNING,
        device.bdf,
        f"{device.bdf} ({kept.entry.what}) {_where(device, spot)}{exchanged}",
        [
            f"{comparison.file.name}:{spot.line}: {spot}",
            _who(device),
            f"path {device.path}" if device.path else "on a root bus",
        ],
    )


def _as_wanted(comparison: Comparison, entry: Count, seated: Seated, unread: Unread) -> Iterator[Finding]:
    """Look at link and settings; what a place says goes before what its entry says."""
    device = seated.device
    wanted = (
        _together(entry.wanted, seated.spot.wanted)
        if seated.spot is not None and not seated.moved
        else entry.wanted
    )
    if wanted.link != LinkMode():
        yield from _link(comparison, device, entry, wanted, unread)
    for key, value in wanted.settings.items():
        setting = SETTINGS[key]
        found = setting.read(device)
        if found is None:
            unread.setdefault(key, []).append(device.bdf)
        elif found != value:
            has, should = plain(setting.shape, found), plain(setting.shape, value)
            yield SETTING.finding(
                Severity.WARNING,
                device.bdf,
                f"{device.bdf} has {key} {has}, not {should} ({entry.what})",
                [_says(comparison.file, wanted.lines[key], key, should), f"{device.bdf}: {key} = {has}"],
                fix=setting.fix,
            )


def _link(
    comparison: Comparison, device: Device, entry: Count, wanted: Wanted, unread: Unread
) -> Iterator[Finding]:
    link = device.link
    now = link.now if link is not None else device.function.link.status
    want = wanted.link
    if (
        (want.gt_s and now.gt_s is None)
        or (want.width and now.width is None)
        or not comparison.machine.measured
    ):
        unread.setdefault("link", []).append(device.bdf)
        return
    slower = want.gt_s is not None and (now.gt_s or 0.0) < want.gt_s and not _only_idle(device, link, want)
    narrower = want.width is not None and (now.width or 0) < want.width
    faster = (want.gt_s is not None and (now.gt_s or 0.0) > want.gt_s) or (
        want.width is not None and (now.width or 0) > want.width
    )
    if not (slower or narrower or faster):
        return
    by_itself = (
        link is not None
        and not narrower
        and bool(link.upper.link.bandwidth_autonomous or device.function.link.bandwidth_autonomous)
    )
    mild = not (slower or narrower) or by_itself
    runs = link_text(LinkMode(now.gt_s if want.gt_s else None, now.width if want.width else None))
    evidence = [_says(comparison.file, wanted.lines["link"], "link", link_text(want))]
    evidence.append(f"{device.bdf} LnkSta: {now}; LnkCap: {device.function.link.capability} ({device.name})")
    if link is not None:
        evidence.append(
            f"{link.upper.address.short} LnkCap: {link.upper.link.capability} ({link.upper.name})"
        )
    how = (
        "narrower"
        if narrower and not slower
        else "slower"
        if slower and not narrower
        else "slower and narrower"
    )
    finding = LINK.finding(
        Severity.INFO if mild else Severity.WARNING,
        device.bdf,
        f"{device.bdf} runs at {runs or 'no speed'}, {how if slower or narrower else 'more'} than the "
        f"{link_text(want)} expected" + ("; the device lowered it by itself" if by_itself else ""),
        evidence,
        trial=None if not (slower or narrower) else _trial(device, now, want),
    )
    told = [rule for rule, applies in (("link-width", narrower), ("link-speed", slower)) if applies]
    yield replace(finding, subsumes=tuple(told))


def _only_idle(device: Device, link: Link | None, want: LinkMode) -> bool:
    """Whether a GPU is below the speed only because it has nothing to do."""
    if link is None:
        able, now = device.function.link.capability.gt_s or 0.0, device.function.link.status.gt_s or 0.0
        return device.function.is_gpu and able >= (want.gt_s or 0.0) and now <= IDLE_GPU_GT_S
    return device.machine.is_slow_as_idle_gpus(link) and (link.limit.gt_s or 0.0) >= (want.gt_s or 0.0)


def _trial(device: Device, now: LinkMode, want: LinkMode) -> Trial | None:
    transfers = device.function.transfers
    should = LinkMode(max(want.gt_s or 0.0, now.gt_s or 0.0), max(want.width or 0, now.width or 0))
    return both_ways(now, should, mps=transfers.mps or 256, mrrs=transfers.mrrs or 512)


def _host(comparison: Comparison, unread: Unread) -> Iterator[Finding]:
    for key, value in comparison.file.host.settings.items():
        setting = HOST_SETTINGS[key]
        found = setting.read(comparison.machine)
        agrees = None if found is None else setting.agrees(found, value)
        if found is None or agrees is None:
            unread[f"host.{key}"] = []
        elif not agrees:
            has, should = plain(setting.shape, found), plain(setting.shape, value)
            line = comparison.file.host.lines[key]
            yield SETTING.finding(
                Severity.WARNING,
                "",
                f"{key} of the machine is {has}, not {should}",
                [_says(comparison.file, line, key, should), f"the machine: {key} = {has}"],
                fix=setting.fix,
            )


def _unread(file: FleetFile, unread: Unread) -> Iterator[Finding]:
    if unread:
        what = [_of(key, bdfs) for key, bdfs in unread.items()]
        title = f"{file.name} expects a value that the source does not have: {_listed(what)}"
        evidence = [f"{key}: {_listed(bdfs)}" if bdfs else key for key, bdfs in unread.items()]
        yield UNKNOWN.finding(Severity.WARNING, "", title, evidence)


def _state(device: Device) -> str:
    return f"{device.bdf} {device.name} {'is there' if device.answers else 'does not answer'}"


def _of(key: str, bdfs: list[str]) -> str:
    return f"{key} of {len(bdfs)} devices" if len(bdfs) > 1 else f"{key} of {bdfs[0]}" if bdfs else key


def _together(general: Wanted, special: Wanted) -> Wanted:
    return replace(
        general,
        link=LinkMode(special.link.gt_s or general.link.gt_s, special.link.width or general.link.width),
        settings={**general.settings, **special.settings},
        lines={**general.lines, **special.lines},
    )


def _says(file: FleetFile, line: int, key: str, value: object) -> str:
    return f"{file.name}:{line}: {key} = {value}"


def _where(device: Device, spot: Spot) -> str:
    """Say where a device is and where it should be: both by slot, or both by address."""
    if device.slots and spot.slot:
        return f"is in slot {device.slots[0]}, not in {spot}"
    if device.bdf == (spot.at.short if spot.at else ""):
        return f"is below another port than the file says ({device.path or 'on a root bus'})"
    return f"belongs {'at' if spot.slot is None else 'in'} {spot}"


def _in_exchange(comparison: Comparison, seated: Seated) -> Device | None:
    """Return the device that is where this one should be, if that one should be where this one is."""
    spot = seated.spot
    for kept in comparison.kept:
        for other in kept.seated:
            theirs = other.spot
            if other is seated or not other.moved or theirs is None or spot is None:
                continue
            if theirs.at == seated.device.function.address and spot.at == other.device.function.address:
                return other.device
    return None


def _who(device: Device) -> str:
    numbers = f" [{device.id}]" if device.id else ""
    return f"{device.bdf} {device.name}{numbers}" + (f", slot {device.slots[0]}" if device.slots else "")


def _bdfs(devices: list[Device]) -> str:
    return _listed([device.bdf for device in devices])


def _listed(texts: list[str]) -> str:
    shown = ", ".join(texts[:_MOST_LISTED])
    return shown if len(texts) <= _MOST_LISTED else f"{shown} and {len(texts) - _MOST_LISTED} more"
