"""Reads a fleet file, and collects every mistake before it complains."""

from __future__ import annotations

import re
import tomllib
from datetime import date, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, TypeVar

from lanewise.health.fleet.inventory import CLASSES
from lanewise.health.fleet.model import FORMAT, Count, FleetFile, Spot, Waiver, Wanted, Who
from lanewise.health.fleet.problem import FleetFileError, Problem, meant
from lanewise.health.fleet.settings import HOST_SETTINGS, SETTINGS
from lanewise.health.fleet.toml_lines import Place, line_at, lines_of
from lanewise.health.fleet.values import LINK_ALLOWED, link_mode
from lanewise.inputs import read_file
from lanewise.machine.address import Address
from lanewise.machine.registers import LinkMode
from lanewise.scenario_text import said_of_a_scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from lanewise.health.fleet.settings import HostSetting, Setting
    from lanewise.health.fleet.values import Value

_TOP = ("format", "machine", "unlisted", "host", "count", "waiver")
_WHO = ("id", "subsystem", "name", "class")
_SPOT = ("at", "path", "slot")
_COUNT = ("count", "what", *_WHO, "link", *SETTINGS, "places")
_PLACE = (*_SPOT, "link", *SETTINGS)
_WAIVER = ("rule", "reason", "until", "at", "slot", *_WHO)
_UNLISTED = {"report": True, "ignore": False}
_ID = re.compile(r"[0-9a-f?*]{1,4}:[0-9a-f?*]{1,4}")
_PATH = re.compile(r"[0-9a-f:]+\.[0-7](?:/[0-9a-f]{2}\.[0-7])*")
_MOST_BYTES = 1 << 20


def read_fleet_file(path: str | Path, *, rules: Iterable[str] = (), only_waivers: bool = False) -> FleetFile:
    """Read a fleet file; FleetFileError lists all that is wrong with it, OSError when it cannot be opened.

    `rules` are the names that waivers may have; any, when there are none. With `only_waivers` nothing else
    may be in the file.
    """
    data = read_file(path, _MOST_BYTES)
    return parse_fleet_file(data, str(path), rules=rules, only_waivers=only_waivers)


def parse_fleet_file(
    data: bytes | str, name: str, *, rules: Iterable[str] = (), only_waivers: bool = False
) -> FleetFile:
    """Read the content of a fleet file; `name` is what messages call it."""
    text = data if isinstance(data, str) else data.decode("utf-8", "replace")
    if len(data) > _MOST_BYTES:
        problem = Problem("syntax-error", 1, f"the file is larger than {_MOST_BYTES >> 20} MiB")
        raise FleetFileError(name, "", [problem])
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        hint = "the file is TOML: https://toml.io; 'lanewise scan --baseline' writes one to begin with"
        raise FleetFileError(name, text, [Problem("syntax-error", line, str(error), hint)]) from None
    reader = _Reader(document, text, name, frozenset(rules))
    file = reader.file(only_waivers=only_waivers)
    if reader.problems:
        raise FleetFileError(name, text, reader.problems)
    return file


T = TypeVar("T")


class _Reader:
    """Reads one document and notes what is wrong with it."""

    def __init__(self, document: dict[str, object], text: str, name: str, rules: frozenset[str]) -> None:
        self.document = document
        self.text = text
        self.lines = lines_of(text)
        self.name = name
        self.rules = rules
        self.problems: list[Problem] = []

    def file(self, *, only_waivers: bool) -> FleetFile:
        found = self.document.get("format")
        if found != FORMAT or isinstance(found, bool):
            self._format(found)
            return FleetFile(self.name)
        self._known((), self.document, _TOP)
        if only_waivers:
            for key in ("count", "host", "unlisted"):
                if key in self.document:
                    self._say(
                        "not-here",
                        (key,),
                        f"`{key}` is about what is expected, and this file is for waivers",
                        "give the file with --expect; its waivers are read there, too",
                    )
        self._take(self.document, (), "machine", str, "a text")
        unlisted = self._choice(self.document, (), "unlisted", _UNLISTED)
        host = self._table("host")
        self._known(("host",), host, HOST_SETTINGS)
        return FleetFile(
            name=self.name,
            counts=tuple(self._counts()),
            host=self._wanted(host, ("host",), HOST_SETTINGS),
            waivers=tuple(self._waivers()),
            report_unlisted=bool(unlisted),
        )

    def _format(self, found: object) -> None:
        """Say that this version cannot read the file: nothing else in it can be judged then."""
        if found is None:
            message = f"the file says no format; `format = {FORMAT}` is needed"
            scenario = said_of_a_scenario(self.text, self.name)
            hint = scenario or "write it as first line"
            place: Place = ()
        else:
            message = (
                f"the file has format {found!r}, and this version of Lanewise knows format {FORMAT} only"
            )
            newer = isinstance(found, int) and found > FORMAT
            hint = (
                "update Lanewise on this machine, or write the file again with its 'lanewise scan --baseline'"
                if newer
                else f"write `format = {FORMAT}`, or make the file again with 'lanewise scan --baseline'"
            )
            place = ("format",)
        self._say("unknown-format", place, message, hint)

    def _counts(self) -> Iterator[Count]:
        for number, entry in enumerate(self._tables("count")):
            place: Place = ("count", number)
            self._known(place, entry, _COUNT)
            who = self._who(entry, place)
            if who == Who() and not any(key in entry for key in _WHO):
                self._say(
                    "missing-key",
                    place,
                    "an entry needs one of `id`, `name` and `class` to say which devices it counts",
                    'like id = "10de:2330" or class = "gpu"',
                )
            count = self._take(entry, place, "count", int, "a whole number", needed=True)
            if isinstance(count, bool) or (isinstance(count, int) and count < 0):
                self._say(
                    "bad-value", (*place, "count"), f"`count` is {count!r}, not a whole number from 0 on"
                )
                count = 0
            spots = tuple(self._spots(entry, place))
            if count is not None and len(spots) > count:
                self._say(
                    "too-many-places",
                    (*place, "places"),
                    f"`places` lists {len(spots)}, and `count` is {count}",
                    "the count is what should be there; a place for each is not needed",
                )
            what = self._take(entry, place, "what", str, "a text") or str(who)
            wanted = self._wanted(entry, place, SETTINGS)
            yield Count(line_at(self.lines, place), who, count or 0, what, wanted, spots)

    def _spots(self, entry: dict[str, object], place: Place) -> Iterator[Spot]:
        listed = entry.get("places", [])
        if not isinstance(listed, list) or not all(isinstance(spot, dict) for spot in listed):
            self._say(
                "wrong-type",
                (*place, "places"),
                "`places` is a list of tables",
                'like places = [{ slot = "28", numa_node = 0 }]',
            )
            return
        seen: dict[tuple[str, str], int] = {}
        for number, spot in enumerate(listed):
            where: Place = (*place, "places", number)
            line = line_at(self.lines, where)
            self._known(where, spot, _PLACE)
            for key in _SPOT:
                if key in spot and seen.setdefault((key, str(spot[key])), line) != line:
                    first = seen[key, str(spot[key])]
                    message = f"`{key}` is {spot[key]!r} in line {first}, too"
                    self._say("duplicate-place", where, message, "each device has a place of its own")
            yield Spot(
                line,
                self._address(spot, where),
                self._path(spot, where),
                self._slot(spot, where),
                self._wanted(spot, where, SETTINGS),
            )

    def _waivers(self) -> Iterator[Waiver]:
        for number, entry in enumerate(self._tables("waiver")):
            place: Place = ("waiver", number)
            self._known(place, entry, _WAIVER)
            rule = self._take(entry, place, "rule", str, "a text", needed=True) or ""
            if rule and self.rules and rule not in self.rules:
                self._say(
                    "unknown-rule", (*place, "rule"), f"no rule is called {rule!r}", _like(rule, self.rules)
                )
            reason = self._take(entry, place, "reason", str, "a text", needed=True) or ""
            if "reason" in entry and isinstance(entry["reason"], str) and not reason.strip():
                self._say(
                    "bad-value", (*place, "reason"), "`reason` is empty", "say why this finding is accepted"
                )
            if not any(key in entry for key in ("at", "slot", *_WHO)):
                self._say(
                    "missing-key",
                    place,
                    "a waiver needs one of `at`, `slot`, `id`, `name` and `class` to say for which "
                    "device it is",
                    'id = "*:*" is every device',
                )
            yield Waiver(
                line_at(self.lines, place),
                rule,
                reason,
                self._who(entry, place),
                self._address(entry, place),
                self._slot(entry, place),
                self._date(entry, place),
                self.name,
            )

    def _who(self, entry: dict[str, object], place: Place) -> Who:
        kind = self._choice(entry, place, "class", {word: word for word in CLASSES})
        return Who(
            self._ids(entry, place, "id"),
            self._ids(entry, place, "subsystem"),
            self._take(entry, place, "name", str, "a text"),
            kind,
        )

    def _ids(self, entry: dict[str, object], place: Place, key: str) -> tuple[str, ...]:
        value = entry.get(key, [])
        listed = value if isinstance(value, list) else [value]
        found = [str(one).lower() for one in listed]
        allowed = 'a text like "10de:2330" or "10de:*", or a list of such'
        if not all(isinstance(one, str) for one in listed):
            self._say("wrong-type", (*place, key), f"`{key}` is {value!r}, but {allowed} is needed")
            return ()
        for one in found:
            if not _ID.fullmatch(one):
                self._say(
                    "bad-value",
                    (*place, key),
                    f"`{key}` is {one!r}, but {allowed} is needed",
                    "lspci -nn prints them",
                )
        return tuple(found)

    def _wanted(
        self, entry: dict[str, object], place: Place, known: Mapping[str, Setting] | Mapping[str, HostSetting]
    ) -> Wanted:
        settings: dict[str, Value] = {}
        link = LinkMode()
        if "link" in entry and known is SETTINGS:
            link = self._value(entry, place, "link", link_mode, LINK_ALLOWED) or link
        for key, setting in known.items():
            if key in entry:
                value = self._value(entry, place, key, setting.shape.read, setting.shape.allowed)
                if value is not None:
                    settings[key] = value
        lines = {
            key: line_at(self.lines, (*place, key)) for key in ("link", "count", *settings) if key in entry
        }
        return Wanted(link, settings, lines)

    def _value(
        self, entry: dict[str, object], place: Place, key: str, read: Callable[[object], T], allowed: str
    ) -> T | None:
        try:
            return read(entry[key])
        except (TypeError, ValueError) as error:
            code = "wrong-type" if isinstance(error, TypeError) else "bad-value"
            self._say(code, (*place, key), f"`{key}` is {_shown(entry[key])}, but it takes {allowed}")
            return None

    def _address(self, entry: dict[str, object], place: Place) -> Address | None:
        text = self._take(entry, place, "at", str, 'an address like "3b:00.0"')
        if text is None:
            return None
        try:
            return Address.parse(text)
        except ValueError as error:
            self._say("bad-value", (*place, "at"), str(error))
            return None

    def _slot(self, entry: dict[str, object], place: Place) -> str | None:
        slot = entry.get("slot")
        if isinstance(slot, int) and not isinstance(slot, bool):
            return str(slot)
        return self._take(entry, place, "slot", str, "the name or number of a slot")

    def _path(self, entry: dict[str, object], place: Place) -> str | None:
        allowed = 'a path as lspci -P has it, "15:01.0/00.0/01.0"'
        text = self._take(entry, place, "path", str, allowed)
        if text is not None and not _PATH.fullmatch(text):
            self._say("bad-value", (*place, "path"), f"`path` is {text!r}, but it takes {allowed}")
        return text

    def _date(self, entry: dict[str, object], place: Place) -> date | None:
        value = entry.get("until")
        if isinstance(value, str):
            try:
                return date.fromisoformat(value)
            except ValueError:
                pass
        elif isinstance(value, datetime):
            return value.date()
        elif value is None or isinstance(value, date):
            return value
        message = f"`until` is {_shown(value)}, but it takes a date like 2027-01-31"
        self._say("bad-value", (*place, "until"), message)
        return None

    def _choice(self, entry: dict[str, object], place: Place, key: str, words: Mapping[str, T]) -> T | None:
        word = self._take(entry, place, key, str, f"one of {', '.join(words)}")
        if word is not None and word not in words:
            self._say(
                "bad-value",
                (*place, key),
                f"`{key}` is {word!r}; allowed are {', '.join(words)}",
                _like(word, words),
            )
            return None
        return words.get(word) if word is not None else None

    def _take(
        self,
        entry: dict[str, object],
        place: Place,
        key: str,
        kind: type[T],
        allowed: str,
        *,
        needed: bool = False,
    ) -> T | None:
        """Return a value of a type, or None; what is of another type, or needed and missing, is noted."""
        value = entry.get(key)
        if value is None:
            if needed and not get_close_matches(key, entry, 1):
                # A key that is misspelt has been said already.
                self._say("missing-key", place, f"`{key}` is missing: {allowed}")
            return None
        if not isinstance(value, kind):
            self._say("wrong-type", (*place, key), f"`{key}` is {_shown(value)}, but it takes {allowed}")
            return None
        return value

    def _table(self, key: str) -> dict[str, object]:
        value = self.document.get(key, {})
        if isinstance(value, dict):
            return value
        self._say("wrong-type", (key,), f"`{key}` is a table", f"write [{key}] above its keys")
        return {}

    def _tables(self, key: str) -> list[dict[str, object]]:
        value = self.document.get(key, [])
        if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
            return value
        self._say("wrong-type", (key,), f"`{key}` is a list of tables", f"write [[{key}]] above each")
        return []

    def _known(self, place: Place, table: Mapping[str, object], known: Iterable[str]) -> None:
        for key in table:
            if key not in known:
                where = (
                    "the file"
                    if not place
                    else f"`{next(str(p) for p in reversed(place) if isinstance(p, str))}`"
                )
                self._say("unknown-key", (*place, key), f"unknown key `{key}` in {where}", meant(key, known))

    def _say(self, code: str, place: Place, message: str, hint: str = "") -> None:
        self.problems.append(Problem(code, line_at(self.lines, place), message, hint))


def _like(word: str, known: Iterable[str]) -> str:
    hint = meant(word, known)
    return hint if hint.startswith("did") else "docs/reference/doctor-rules.md lists them"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
