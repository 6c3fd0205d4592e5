"""Files of sysfs as text: what ``tail -v`` and ``grep .`` print of ``/sys/bus/pci/devices/*/*``.

``head -v`` prints the same; ``cat`` prints a file below the prompt where it was called. Whatever files were
shown are read as sysfs is (`sysfs`): speed and width of links, ``class``, ``vendor``,
``secondary_bus_number``, counters of errors. A path through ``/sys/devices`` tells who is below whom. Without
``class`` nobody knows a port from a device, so what ports state is taken for what any end of a link states.
Leaves out files named by interface (``/sys/class/net/eth0/device``), which tell no address. Source:
coreutils, ``tail.c`` and ``head.c``, and grep, for the form only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lanewise.machine.sources import sysfs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lanewise.machine.assembly import Reading

_FUNCTION = r"[0-9a-f]{4,8}\\?:[0-9a-f]{2}\\?:[01][0-9a-f]\.[0-7]"
"""An address, as shells complete it, too: with a backslash before each colon."""
_PATH = rf"(?:/sys/)?((?:bus/pci/devices|devices/pci[0-9a-f:]{{1,16}})(?:/{_FUNCTION}){{1,16}})/(\w{{3,40}})"
_HEADED = re.compile(rf"[ \t>]{{0,8}}==> {_PATH} <==")
_SHOWN = re.compile(rf"[^\n]{{0,80}}?\bcat {_PATH}[ \t]*$")
_SAID = re.compile(rf"[ \t>]{{0,8}}{_PATH}:[ \t]*+(.*)")
LOOKS_LIKE = re.compile(
    rf"^(?:[ \t>]{{0,8}}==> {_PATH} <==|[^\n]{{0,80}}?\bcat {_PATH}[ \t]*$|[ \t>]{{0,8}}{_PATH}:[ \t]*\S)",
    re.MULTILINE,
)
"""A heading of ``tail -v``, a command that shows one file, or a line of ``grep .``."""
_MOST_TEXT = 4096
_OF_MANY_LINES = re.compile(r"/(?:aer_\w+|uevent|resource)$")
"""Files of a function that have more than one line (Linux, Documentation/ABI/testing/sysfs-bus-pci)."""


class TextFiles:
    """A sysfs of the files that a text shows."""

    keeps_links = False
    failed = ()

    def __init__(self, lines: Sequence[str]) -> None:
        """Take the content of every file."""
        self._files: dict[str, str] = {}
        self._folders: dict[str, None] = {}
        path = None
        for line in lines:
            headed, said = _HEADED.match(line) or _SHOWN.match(line), _SAID.match(line)
            if headed is not None:
                path = self._file(headed[1].replace("\\", ""), headed[2])
            elif said is not None:
                self._files[self._file(said[1], said[2])] = said[3].strip()
                path = None
            elif path is not None and line.strip(" \t>"):
                text, more = self._files.get(path, ""), line.strip(" \t>")
                if text and not _OF_MANY_LINES.search(path):
                    # What comes now is no part of a file: a prompt, the next command.
                    path = None
                elif len(text) < _MOST_TEXT:
                    self._files[path] = f"{text}\n{more}" if text else more

    def _file(self, folder: str, name: str) -> str:
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


def read(lines: Sequence[str], into: Reading) -> None:
    """Read all files in a text."""
    shows_tree, notes = into.shows_tree, list(into.notes)
    sysfs.read(TextFiles(lines), into)
    into.notes[:] = notes
    if all("class_code" not in draft.identity for draft in into.drafts.values()):
        into.note("no file says what a function is: 'grep . /sys/bus/pci/devices/*/{class,*_link_*}' does")
    if all(draft.parent is None and draft.buses is None for draft in into.drafts.values()):
        into.shows_tree = shows_tree
