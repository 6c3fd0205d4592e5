"""Files of sysfs as text: what ``tail -v`` and ``grep .`` print of ``/sys/bus/pci/devices/*/*``.

``head -v`` prints the same; ``cat`` prints a file below the prompt where it was called, and several link
files one below the other, in the order of its command (``{current,max}_link_{speed,width}``). Whatever files
were shown are read as sysfs is (`sysfs`): speed and width of links, ``class``, ``vendor``,
``secondary_bus_number``, counters of errors. A path through ``/sys/devices`` tells who is below whom. Without
``class`` nobody knows a port from a device, so what ports state is taken for what any end of a link states.

Counters of errors and link files that are shown without a path are those of the device that the text names
before (`named_before`), or of those that head a table (`counter_table`). Counters tell what they are: their
last line is the total of one of three files.

Leaves out files named by interface (``/sys/class/net/eth0/device``), which tell no address. Source:
coreutils, ``tail.c`` and ``head.c``, and grep, for the form only; Linux,
``Documentation/ABI/testing/sysfs-bus-pci-devices-aer``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.sources import sysfs
from lanewise.machine.sources.counter_table import CounterTable
from lanewise.machine.sources.error_names import NAMES
from lanewise.machine.sources.named_before import NamedBefore
from lanewise.machine.sources.numbers import natural

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

_FUNCTION = r"[0-9a-f]{4,8}\\?:[0-9a-f]{2}\\?:[01][0-9a-f]\.[0-7]"
"""An address, as shells complete it, too: with a backslash before each colon."""
_PATH = rf"(?:/sys/)?((?:bus/pci/devices|devices/pci[0-9a-f:]{{1,16}})(?:/{_FUNCTION}){{1,16}})/(\w{{3,40}})"
_HEADED = re.compile(rf"[ \t>]{{0,8}}==> {_PATH} <==")
_SHOWN = re.compile(rf"[^\n]{{0,80}}?\bcat {_PATH}[ \t]*$")
_SAID = re.compile(rf"[ \t>]{{0,8}}{_PATH}:[ \t]*+(.*)")
_BARE = r"(aer_dev_(?:correctable|nonfatal|fatal)|(?:current|max)_link_(?:speed|width))"
_TOTAL = r"TOTAL_ERR_(?:COR|FATAL|NONFATAL)"
LOOKS_LIKE = re.compile(
    rf"^(?:[ \t>]{{0,8}}==> {_PATH} <==|[^\n]{{0,80}}?\bcat {_PATH}[ \t]*$|[ \t>]{{0,8}}{_PATH}:[ \t]*\S"
    rf"|[^\n]{{0,80}}?\bcat (?:/sys/)?bus/pci/devices/{_FUNCTION}/\w{{0,20}}\{{"
    rf"|[^\n]{{0,80}}?\bcat {_PATH} /sys/|[^\n]{{0,80}}?\b{_TOTAL}\b"
    rf"|[^\n]{{0,120}}?\bcat {_BARE}[ \t]*$|[ \t>]{{0,8}}==> {_BARE} <==)",
    re.MULTILINE,
)
"""A heading of ``tail -v``, a command that shows one file, a line of ``grep .``, or the end of counters."""
NO_CLASS = "no file says what a function is: 'grep . /sys/bus/pci/devices/*/{class,*_link_*}' does"
"""The note of files that do not tell ports from devices."""
_FUNCTIONS = "bus/pci/devices"
_MOST_TEXT = 4096
_OF_MANY_LINES = re.compile(r"/(?:aer_\w+|uevent|resource)$")
"""Files of a function that have more than one line (Linux, Documentation/ABI/testing/sysfs-bus-pci)."""
_BARE_HEADED = re.compile(rf"[ \t>#=*\[-]{{0,12}}{_BARE}[ \t\]:=*<-]{{0,12}}$")
"""A file without its path as a heading: ``==> NAME <==``, ``--- NAME ---``, ``NAME:``."""
_BARE_SHOWN = re.compile(rf"[^\n]{{0,120}}?\bcat (?:\./)?{_BARE}[ \t]*$")
_BARE_SAID = re.compile(rf"[ \t>]{{0,8}}(?:\./)?{_BARE}[ \t]{{0,4}}[:=]?[ \t]*+(\S.{{0,80}})$")
_ONE_PATH = re.compile(rf"{_PATH}$")
_OF_LINKS = re.compile(r"(?:current|max)_link_(?:(speed)|width)$")
_MOST_FILES = 32
"""As many files of one command count."""
_COUNTER = re.compile(r"[ \t>|]{0,12}([A-Za-z][\w -]{1,40}?)[ \t]{0,4}[:=]?[ \t]{1,40}(\d{1,20})[ \t|]{0,8}$")
_TOTALS = {
    "TOTAL_ERR_COR": "aer_dev_correctable",
    "TOTAL_ERR_FATAL": "aer_dev_fatal",
    "TOTAL_ERR_NONFATAL": "aer_dev_nonfatal",
}
_COUNTERS = frozenset(_TOTALS.values())
_COUNTED = frozenset(
    {
        *(name for words in NAMES for name in (words, words.removesuffix(" Error"), NAMES[words])),
        *("NonFatalErr", "Undefined", "AtomicOpBlocked", "TLPBlockedErr", "PoisonTLPBlocked"),
        *("AtomicOp Egress Blocked", "TLP Prefix Blocked Error", "Poison TLP Blocked", *_TOTALS),
    }
)
"""What stands before a number in counters of errors."""


class TextFiles:
    """A sysfs of the files that a text shows."""

    keeps_links = False
    failed = ()

    def __init__(self, lines: Sequence[str]) -> None:
        """Take the content of every file."""
        self._files: dict[str, str] = {}
        self._folders: dict[str, None] = {}
        self.taken: list[int] = []
        """Lines that are files, or name one, by their index."""
        self.without_device = 0
        """Errors that were counted at devices which the text does not name."""
        self._path: str | None = None
        """The file whose content comes now."""
        self._bare: str | None = None
        """The same, of one without a path."""
        self._next: list[str] = []
        """Files of a command with several whose content is still to come."""
        self._counted: list[str] = []
        """Counters of errors without a path that came since."""
        self._before, self._table = NamedBefore(), CounterTable(_COUNTED, _TOTALS)
        for number, line in enumerate(lines):
            if (
                self._take_several(line)
                or self._take_row(line)
                or self._take_counter(line)
                or self._take_bare(line)
                or self._take(line)
            ):
                self.taken.append(number)
            self._before.take(line)
        self._end_counters(self._bare)

    def _take_several(self, line: str) -> bool:
        """Take a command that shows several link files, or the line of one of them."""
        text = line.strip(" \t>")
        if (paths := _shown_together(text)) != []:
            self._next = [self._file(found[1], found[2]) for found in paths]
            self._path = self._bare = None
            return True
        if not self._next or not text:
            return False
        path, *rest = self._next
        name = _OF_LINKS.search(path)
        of_speed = name is not None and name[1] is not None
        fits = " GT/s" in text or text == "Unknown" if of_speed else text.isdigit()
        self._next = rest if fits else []
        return fits and self._add(path, text)

    def _take(self, line: str) -> bool:
        """Take a line of a file, or what names one by its path; whether it is no more than that."""
        headed, said = _HEADED.match(line) or _SHOWN.match(line), _SAID.match(line)
        path, text = self._path, line.strip(" \t>")
        if headed is not None or said is not None:
            self._end_counters(self._bare)
            self._path = self._bare = None
        if headed is not None:
            self._path = self._file(headed[1], headed[2])
            return True
        if said is not None:
            return self._add(self._file(said[1], said[2]), said[3].strip())
        if path is None or not text:
            return False
        if text.startswith(tuple(_TOTALS)) or not _OF_MANY_LINES.search(path):
            self._path = None
            return self._add(path, text)
        self._add(path, text)
        return _COUNTER.match(line) is not None

    def _add(self, path: str, more: str) -> bool:
        """Add a line to a file; of a file of one line, the last that comes counts."""
        text = self._files.get(path, "")
        if not text or not _OF_MANY_LINES.search(path):
            self._files[path] = more
        elif len(text) < _MOST_TEXT:
            self._files[path] = f"{text}\n{more}"
        return True

    def _take_bare(self, line: str) -> bool:
        """Take what names a file without its path, and the value of one."""
        headed, said = _BARE_HEADED.match(line) or _BARE_SHOWN.match(line), _BARE_SAID.match(line)
        if headed is not None:
            self._end_counters(self._bare)
            self._path, self._bare = None, headed[1]
            return True
        if said is not None:
            if said[1] not in _COUNTERS:
                return self._take_value(said[1], said[2])
            self._bare = said[1]
            return self._take_counter(said[2])
        if self._bare is None or self._bare in _COUNTERS or not line.strip(" \t>"):
            return False
        name, self._bare = self._bare, None
        return self._take_value(name, line.strip(" \t>"))

    def _take_value(self, name: str, value: str) -> bool:
        """Take the speed or the width of the link of a device that was named before."""
        device = self._before.tell() if value[:1].isdigit() else None
        return device is not None and self._add(self._file(f"{_FUNCTIONS}/{device}", name), value)

    def _take_counter(self, line: str) -> bool:
        """Take one counter of errors without a path; the total behind them says of which file they are."""
        counter = _COUNTER.match(line)
        if counter is None or self._path is not None or counter[1] not in _COUNTED:
            if line.strip(" \t>"):
                self._end_counters(self._bare)
            return False
        self._counted.append(f"{counter[1]} {counter[2]}")
        if counter[1] in _TOTALS:
            self._end_counters(_TOTALS[counter[1]])
        return True

    def _take_row(self, line: str) -> bool:
        """Take a row of a table of counters."""
        if "|" not in line or not self._table.take(line):
            return False
        for device, total, counted in self._table.complete():
            path = self._file(f"{_FUNCTIONS}/{device}", _TOTALS[total])
            for text in counted:
                self._add(path, text)
        return True

    def _end_counters(self, name: str | None) -> None:
        """Give counters to the device that was named before; of what file they are is not always known."""
        counted, self._counted = self._counted, []
        if not counted or name not in _COUNTERS:
            return
        device = self._before.tell()
        if device is None:
            self.without_device += natural(counted[-1].rpartition(" ")[2]) or 0
            return
        path = self._file(f"{_FUNCTIONS}/{device}", name)
        for text in counted:
            self._add(path, text)

    def _file(self, folder: str, name: str) -> str:
        folder = folder.replace("\\", "")
        self._folders[folder] = None
        return f"{folder}/{name}"

    def names(self, folder: str) -> list[str]:
        """List functions that are named directly."""
        start = f"{folder}/"
        return sorted(
            path[len(start) :]
            for path in self._folders
            if path.startswith(start) and "/" not in path[len(start) :]
        )

    def data(self, path: str, most: int) -> bytes | None:
        """Return None: bytes are never shown as text."""
        del path, most
        return None

    def text(self, path: str) -> str | None:
        """Return the content of a file."""
        return self._files.get(path)

    def link(self, path: str) -> str | None:
        """Return None: links are not followed."""
        del path
        return None

    def device_folders(self) -> list[str]:
        """List functions that are named by the way to them, and the ports on their ways."""
        found: dict[str, None] = {}
        for folder in self._folders:
            root, _, way = folder.partition("/")
            if root == "devices":
                steps = way.split("/")
                found.update(dict.fromkeys("/".join(steps[: end + 1]) for end in range(1, len(steps))))
        return list(found)


def _shown_together(text: str) -> list[re.Match[str]]:
    """Return the paths of a command that shows several link files, and nothing else; empty otherwise."""
    _, command, words = text.partition("cat /sys/bus/pci/devices/")
    if not command:
        return []
    paths = [_ONE_PATH.match(path) for path in _braces_opened((command.removeprefix("cat ") + words).split())]
    found = [path for path in paths if path is not None and _OF_LINKS.match(path[2])]
    return found if 1 < len(found) == len(paths) else []


def _braces_opened(words: list[str]) -> list[str]:
    """Return the words that a shell makes of words with groups such as ``{current,max}``."""
    opened: list[str] = []
    while words and len(words) + len(opened) <= _MOST_FILES:
        first, *words = words
        before, group, after = first.partition("{")
        choices, closed, rest = after.partition("}")
        if group and closed:
            words = [f"{before}{choice}{rest}" for choice in choices.split(",")] + words
        else:
            opened.append(first)
    return [] if words else opened


def read(lines: Sequence[str], into: Reading) -> list[int]:
    """Read all files in a text; return the lines that are such, by their index."""
    shows_tree, notes, files = into.shows_tree, list(into.notes), TextFiles(lines)
    if files.without_device:
        notes.append(
            f"counters of errors ({files.without_device} in all) stand where one device is not named: "
            "'tail -v /sys/bus/pci/devices/*/aer_dev_*' names it"
        )
    if files.device_folders() or files.names(_FUNCTIONS):
        sysfs.read(files, into)
    into.notes[:] = notes
    if not into.drafts:
        return files.taken
    if all("class_code" not in draft.identity for draft in into.drafts.values()):
        into.note(NO_CLASS)
    if all(draft.parent is None and draft.buses is None for draft in into.drafts.values()):
        into.shows_tree = shows_tree
    return files.taken
