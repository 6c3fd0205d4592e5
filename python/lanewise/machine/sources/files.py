"""A sysfs as files, whether it is a folder or an archive.

An archive is read in memory: nothing is written, so a member can climb nowhere; members that no reader asks
for are passed over; the count, the size of each and the size of everything decompressed are bounded. Paths
are relative to the folder ``sys`` (or to what looks like it: the one with ``bus/pci`` or ``devices/pci...``
in it).
"""

from __future__ import annotations

import os
import posixpath
import tarfile
from typing import IO, TYPE_CHECKING, Protocol

from lanewise.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

MOST_MEMBERS = 1_000_000
MOST_FILE_BYTES = 64 << 10
MOST_KEPT_BYTES = 256 << 20
_WANTED = ("/devices/pci", "/bus/pci/devices/", "/bus/pci/slots/", "/devices/system/node/node")
_LARGE_FILES = frozenset({*(f"resource{number}" for number in range(6)), "rom"})
_MOST_DEPTH = 32


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
        if not (self._root / "bus").is_dir() and not (self._root / "devices").is_dir():
            raise InputError(
                f"'{root}' is no sysfs: there is no 'bus/pci' in it; give a copy of /sys, or a file"
            )
        devices = self._root / "bus/pci/devices"
        entries = list(devices.iterdir())[:8] if devices.is_dir() else []
        self.keeps_links = not entries or any(entry.is_symlink() for entry in entries)

    def names(self, folder: str) -> list[str]:
        """List a folder."""
        try:
            return sorted(os.listdir(self._root / folder))
        except OSError:
            return []

    def data(self, path: str, most: int) -> bytes | None:
        """Read a file; devices that fail to answer are left out."""
        try:
            with (self._root / path).open("rb", buffering=0) as file:
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
            return os.readlink(self._root / path)
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


class Archive:
    """A tar archive, read once into memory."""

    def __init__(self, file: IO[bytes]) -> None:
        """Keep the members that belong to PCI; raises InputError for damaged or oversized archives."""
        self._data: dict[str, bytes] = {}
        self._links: dict[str, str] = {}
        self._names: dict[str, set[str]] = {}
        self.damaged: str | None = None
        try:
            with tarfile.open(fileobj=file, mode="r|") as archive:
                self._keep(archive)
        except (tarfile.TarError, EOFError, OSError, ValueError) as error:
            if not self._data and not self._links:
                raise InputError(f"the archive cannot be read: {error}") from error
            self.damaged = f"the archive breaks off or is damaged: {error}; what comes before was read"
        if not self._names and not self._saw_sys:
            raise InputError("the archive holds no sysfs: nothing in it is below 'sys/bus/pci'")
        self.keeps_links = bool(self._links)

    def _keep(self, archive: tarfile.TarFile) -> None:
        kept = 0
        self._saw_sys = False
        for number, member in enumerate(archive):
            if number > MOST_MEMBERS:
                raise InputError(f"the archive has more than {MOST_MEMBERS:,} members")
            path = "/" + posixpath.normpath("/" + member.name).lstrip("/")
            self._saw_sys |= "/sys/" in path or path.startswith("/bus/")
            place = _place_in_sys(path)
            if place is None or place.rpartition("/")[2] in _LARGE_FILES:
                continue
            if member.issym():
                self._links[place] = member.linkname
            elif member.isfile():
                file = archive.extractfile(member)
                data = file.read(MOST_FILE_BYTES) if file is not None else b""
                kept += len(data)
                if kept > MOST_KEPT_BYTES:
                    raise InputError(f"the archive holds more than {MOST_KEPT_BYTES >> 20} MiB of PCI files")
                self._data[place] = data
            elif not member.isdir():
                continue
            self._enter(place)

    def _enter(self, place: str) -> None:
        while place:
            folder, _, name = place.rpartition("/")
            known = self._names.setdefault(folder, set())
            if name in known:
                return
            known.add(name)
            place = folder

    def names(self, folder: str) -> list[str]:
        """List a folder."""
        return sorted(self._names.get(folder, ()))

    def data(self, path: str, most: int) -> bytes | None:
        """Return a file."""
        data = self._data.get(path)
        return None if data is None else data[:most]

    def text(self, path: str) -> str | None:
        """Return a small file."""
        data = self._data.get(path)
        return None if data is None else data.decode("utf-8", "replace").strip("\n\0 ")

    def link(self, path: str) -> str | None:
        """Return where a symbolic link points."""
        return self._links.get(path)

    def device_folders(self) -> list[str]:
        """List folders of functions."""
        return sorted(
            f"{folder}/{name}".removeprefix("devices/")
            for folder, names in self._names.items()
            if folder.startswith("devices/pci")
            for name in names
            if name.count(":") == 2
        )


def _place_in_sys(path: str) -> str | None:
    """Return the path below ``sys`` of a member worth keeping."""
    if path.endswith("/proc/sys/kernel/hostname"):
        return "../proc/sys/kernel/hostname"
    for mark in _WANTED:
        at = path.find(mark)
        if at >= 0:
            before = path[:at]
            if before in ("", "/sys") or before.endswith("/sys") or "/" not in before[1:]:
                return path[at + 1 :]
    return None
