"""A fleet file as data: kinds of devices with how many there are, where they sit, and waivers."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from lanewise.machine.registers import LinkMode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from lanewise.health.fleet.inventory import Device
    from lanewise.health.fleet.values import Value
    from lanewise.machine.address import Address

FORMAT = 1
"""Version of the format that is written, and the only one there is."""


EVERY = "*:*"
"""The pattern that every device fits, also one whose numbers a source does not tell."""


@dataclass(frozen=True)
class Who:
    """Which devices are meant; what is not stated does not matter."""

    ids: tuple[str, ...] = ()
    """``vendor:device``, each with ``*`` and ``?`` where anything goes."""
    subsystems: tuple[str, ...] = ()
    name: str | None = None
    kind: str | None = None
    """A word of `lanewise.health.fleet.inventory.CLASSES`."""

    def describes(self, device: Device) -> bool:
        """Whether a device is one of them; a subsystem that the source does not tell contradicts nothing."""
        return (
            (not self.ids or EVERY in self.ids or (device.id is not None and _any(self.ids, device.id)))
            and (not self.subsystems or device.subsystem is None or _any(self.subsystems, device.subsystem))
            and (self.name is None or self.name == device.name)
            and (self.kind is None or self.kind == device.kind)
        )

    def __str__(self) -> str:
        """As one would name them."""
        named = [*self.ids, *([self.name] if self.name else []), *([self.kind] if self.kind else [])]
        return " or ".join(named) or "device"


def _any(patterns: tuple[str, ...], text: str) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


_ANY_LINK = LinkMode()


@dataclass(frozen=True)
class Wanted:
    """How a device should be: its link and its settings, each with the line that says so."""

    link: LinkMode = _ANY_LINK
    settings: Mapping[str, Value] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    """Of ``link`` and of each setting; of an entry also that of its ``count``."""


_NOTHING = Wanted()
_ANYBODY = Who()


@dataclass(frozen=True)
class Spot:
    """Where one device of a kind sits, and how it differs from the others."""

    line: int
    at: Address | None = None
    path: str | None = None
    slot: str | None = None
    wanted: Wanted = _NOTHING

    def __str__(self) -> str:
        """Like ``slot 28 (19:00.0)``: as much as is stated."""
        named = [f"slot {self.slot}"] if self.slot else []
        named += [self.at.short] if self.at else [self.path] if self.path else []
        return named[0] if len(named) == 1 else f"{named[0]} ({named[1]})" if named else "a place not stated"


@dataclass(frozen=True)
class Count:
    """A kind of device: how many there are, and how each should be."""

    line: int
    who: Who
    count: int
    what: str
    """Name for messages."""
    wanted: Wanted = _NOTHING
    spots: tuple[Spot, ...] = ()


@dataclass(frozen=True)
class Waiver:
    """A finding that is known and accepted, by whom it may be read why."""

    line: int
    rule: str
    reason: str
    who: Who = _ANYBODY
    at: Address | None = None
    slot: str | None = None
    until: date | None = None
    """The last day it holds, in UTC; None: for ever."""
    file: str = ""

    def expired(self, today: date) -> bool:
        """Whether it no longer holds."""
        return self.until is not None and today > self.until


@dataclass(frozen=True)
class FleetFile:
    """Everything one file says."""

    name: str
    """As the file was named."""
    counts: tuple[Count, ...] = ()
    host: Wanted = _NOTHING
    waivers: tuple[Waiver, ...] = ()
    report_unlisted: bool = False
    """Whether devices that no entry describes are too many."""

    @property
    def expects(self) -> bool:
        """Whether it says anything about machines, and not only which findings to waive."""
        return bool(self.counts or self.host.settings or self.report_unlisted)
