"""A sysfs as files: what readers ask of it, and a folder that answers.

Paths are relative to the folder ``sys``, or to what looks like it: the one with ``bus/pci`` or
``devices/pci...`` in it. A folder of functions alone (``cp -rL /sys/bus/pci/devices .``) is read too.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

from lanewise.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

MOST_FILE_BYTES = 64 << 10
_MOST_DEPTH = 32
_FUNCTIONS = "bus/pci/devices"


class Files(Protocol):
    """What readers ask of a sysfs."""

    keeps_links: bool
    """Whether symbolic links survived; a copy made with ``cp -L`` has none, and then no driver is shown."""

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
        candidates = (root, root / "sys", root.parent.parent.parent if root.name == "devices" else root)
        self._root = next((folder for folder in candidates if _is_sys(folder)), root)
        self._flat = None if _is_sys(self._root) else _folder_of_functions(root)
        if self._flat is None and not (self._root / "bus").is_dir() and not (self._root / "devices").is_dir():
            raise InputError(
                f"'{root}' is no sysfs: there is no 'bus/pci' in it; give a copy of /sys, or a file"
            )
        devices = self._place("bus/pci/devices")
        entries = list(devices.iterdir())[:8] if devices.is_dir() else []
        self.keeps_links = not entries or any(entry.is_symlink() for entry in entries)

    def _place(self, path: str) -> Path:
        """Return where a path below ``sys`` is in this copy."""
        if self._flat is not None and path.startswith(_FUNCTIONS):
            return self._flat / path[len(_FUNCTIONS) :].lstrip("/")
        return self._root / path

    def names(self, folder: str) -> list[str]:
        """List a folder."""
        try:
            return sorted(os.listdir(self._place(folder)))
        except OSError:
            return []

    def data(self, path: str, most: int) -> bytes | None:
        """Read a file; devices that fail to answer are left out."""
        try:
            with self._place(path).open("rb", buffering=0) as file:
                return file.read(most)
        except OSError:
            return None

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
        base = self._root / "devices"
        for start in sorted(base.glob("pci*")):
            for folder, below, _ in os.walk(start):
                relative = os.path.relpath(folder, base)
                deeper = relative.count("/") < _MOST_DEPTH
                below[:] = sorted(name for name in below if name.count(":") == 2 and deeper)
                if relative.rpartition("/")[2].count(":") == 2:
                    found.append(relative)
        return found


def _is_sys(folder: Path) -> bool:
    return (folder / "bus/pci").is_dir() or any(folder.glob("devices/pci*"))


def _folder_of_functions(root: Path) -> Path | None:
    """Return the folder at or below a place that holds functions by their addresses."""
    for folder in (root, root / "devices", root / "pci/devices"):
        if folder.is_dir() and any(folder.glob("????*:??:??.[0-7]")):
            return folder
    return None
