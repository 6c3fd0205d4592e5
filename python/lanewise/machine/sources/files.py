"""A sysfs as files: what readers ask of it, and a folder that answers.

Paths are relative to the folder ``sys``, or to what looks like it: the one with ``bus/pci`` or
``devices/pci...`` in it. Where a part of it is named (``bus/pci/devices``, ``.`` within it), that is the
folder around. A folder of functions alone (``cp -rL /sys/bus/pci/devices .``) is read too, and so is one of
host bridges (``cp -a /sys/devices/pci* .``).
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MOST_FILE_BYTES = 64 << 10
_LIVE = "/sys"
_READ_ONLY = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0)
_MOST_DEPTH = 32
_FUNCTIONS = "bus/pci/devices"
_DEVICES = "devices/"
_PARTS = frozenset({"bus", "pci", "devices"})
_BRIDGES = "pci????:??"
_BRIDGE = re.compile(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}")
"""The folder of a host bridge, with all that is below it."""


class Files(Protocol):
    """What readers ask of a sysfs."""

    keeps_links: bool
    """Whether symbolic links survived; a copy made with ``cp -L`` has none, and then no driver is shown."""

    @property
    def failed(self) -> Sequence[str]:
        """Files of which reading failed (EIO): of a copy, the disk; of live ``/sys``, what they are about."""
        ...

    def names(self, folder: str) -> list[str]:
        """List what is in a folder; empty when it is not there."""
        ...

    def data(self, path: str, most: int) -> bytes | None:
        """Read a file, or None."""
        ...

    def text(self, path: str) -> str | None:
        """Read a small file as text without the line end, or None."""
        ...

    def link(self, path: str) -> str | None:
        """Return where a symbolic link points, as written, or None."""
        ...

    def device_folders(self) -> list[str]:
        """List folders below ``devices/pci*`` named like a function, relative to ``devices``."""
        ...


class Folder:
    """A folder of the file system: live ``/sys`` or a copy."""

    def __init__(self, root: Path) -> None:
        """Find the folder that is ``sys``; raises InputError when there is none."""
        around = list(_around(root))
        self._root = next((folder for folder in (root, root / "sys", *around) if _is_sys(folder)), root)
        self._bare = False
        if not _is_sys(self._root):
            bare = next((folder for folder in (root, *around) if any(folder.glob(_BRIDGES))), None)
            self._root, self._bare = bare or root, bare is not None
        is_whole = self._bare or _is_sys(self._root)
        self._flat = None if is_whole else _folder_of_functions(root)
        if (
            self._flat is None
            and not self._bare
            and not (self._root / "bus").is_dir()
            and not (self._root / "devices").is_dir()
        ):
            raise InputError(
                f"'{root}' is not a sysfs: there is no 'bus/pci' in it; give a copy of /sys, or a file"
            )
        self.failed: list[str] = []
        self._real: dict[str, str] = {}
        """Where folders really are: asked once each, because live there are thousands of files."""
        self._bounds = _bounds(self._root if self._flat is None else self._flat, root)
        devices = self._place("bus/pci/devices")
        entries = list(devices.iterdir())[:8] if devices.is_dir() else []
        self.keeps_links = not entries or any(entry.is_symlink() for entry in entries)

    def _place(self, path: str) -> Path:
        """Return where a path below ``sys`` is in this copy."""
        if self._flat is not None and path.startswith(_FUNCTIONS):
            return self._flat / path[len(_FUNCTIONS) :].lstrip("/")
        if self._bare and path.startswith(_DEVICES):
            return self._root / path[len(_DEVICES) :]
        return self._root / path

    def names(self, folder: str) -> list[str]:
        """List a folder."""
        try:
            return sorted(os.listdir(self._inside(folder)))
        except (OSError, ValueError):
            return []

    def data(self, path: str, most: int) -> bytes | None:
        """Read a file; one of which reading fails is left out, and so is what is no regular file.

        In a copy, a pipe or a terminal would wait for ever, and a link may lead out of it.
        """
        try:
            place = self._inside(path)
            if not stat.S_ISREG(os.stat(place).st_mode):
                return None
            descriptor = os.open(place, _READ_ONLY)
            with open(descriptor, "rb", buffering=0) as file:
                return file.read(most) if stat.S_ISREG(os.fstat(descriptor).st_mode) else None
        except OSError as error:
            if error.errno == errno.EIO:
                self.failed.append(path)
            return None
        except ValueError:
            return None

    def _inside(self, path: str) -> str:
        """Return where a path leads to in the end; OSError when that is not in this sysfs."""
        folder, name = os.path.split(self._place(path))
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        place = os.path.join(self._real[folder], name)
        if name in ("", ".", "..") or os.path.islink(place):
            place = os.path.realpath(place)
        if not any(place == bound or place.startswith(bound + os.sep) for bound in self._bounds):
            raise PermissionError(f"{path} leads out of {self._root}")
        return place

    def text(self, path: str) -> str | None:
        """Read a small file."""
        data = self.data(path, MOST_FILE_BYTES)
        return None if data is None else data.decode("utf-8", "replace").strip("\n\0 ")

    def link(self, path: str) -> str | None:
        """Read a symbolic link."""
        try:
            return os.readlink(self._place(path))
        except OSError:
            return None

    def device_folders(self) -> list[str]:
        """Walk ``devices/pci*``, only when ``bus/pci/devices`` is not there to list them."""
        if self.names("bus/pci/devices"):
            return []
        found: list[str] = []
        base = self._place(_DEVICES)
        for start in sorted(place for place in base.glob("pci*") if not place.is_symlink()):
            for folder, below, _ in os.walk(start):
                relative = os.path.relpath(folder, base)
                deeper = relative.count("/") < _MOST_DEPTH
                below[:] = sorted(name for name in below if name.count(":") == 2 and deeper)
                if relative.rpartition("/")[2].count(":") == 2:
                    found.append(relative)
        return found


def _bounds(root: Path, named: Path) -> tuple[str, ...]:
    """Return the folders that paths may lead to: the copy itself, the host's name beside it, or live /sys.

    The copy is what somebody `named`, and more where that is only a part of it.
    """
    real = os.path.realpath(root)
    if real == _LIVE or real.startswith(_LIVE + os.sep):
        return (_LIVE, "/proc/sys/kernel/hostname")
    beside = os.path.join(os.path.dirname(real), "proc/sys/kernel/hostname")
    copy = (real, os.path.realpath(named))
    return (*copy, beside) if os.path.basename(real) == "sys" else copy


def _around(root: Path) -> Iterator[Path]:
    """List the folders around one that is a part of a sysfs by its name, like ``bus`` or ``pci0000:00``."""
    folder = Path(os.path.realpath(root))
    while folder.name in _PARTS or _BRIDGE.fullmatch(folder.name):
        folder = folder.parent
        yield folder


def _is_sys(folder: Path) -> bool:
    return (folder / "bus/pci").is_dir() or any(folder.glob("devices/pci*"))


def _folder_of_functions(root: Path) -> Path | None:
    """Return the folder at or below a place that holds functions by their addresses."""
    for folder in (root, root / "devices", root / "pci/devices"):
        if folder.is_dir() and any(folder.glob("????*:??:??.[0-7]")):
            return folder
    return None
