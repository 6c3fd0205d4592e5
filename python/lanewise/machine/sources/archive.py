"""Archives: a sysfs as somebody packed it, or the files of a bug report.

An archive is read in memory and nothing is written; members whose path climbs out of the archive are passed
over all the same, and said. So are, without a word, members that no reader asks for. The count, the size of
each and the size of everything decompressed are bounded. Besides the files of ``/sys``, what is named after a
tool is kept (``sos_commands/pci/lspci_-nnvv``), and where nothing is, the first few small files.
"""

from __future__ import annotations

import posixpath
import re
import stat
import tarfile
import zipfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from lanewise.errors import InputError
from lanewise.machine.sources.files import MOST_FILE_BYTES
from lanewise.machine.unpacking import MOST_BYTES, damaged_by

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lanewise.machine.budget import Budget

_LONGEST_HEADER = 64 << 10
"""Of a long name, or of a header with more properties; both are read in one piece."""
_LARGEST_DIRECTORY = 16 << 20
"""Of a zip archive; it is read in one piece, and takes more in memory."""
_HEADERS = (
    *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK),
    *(tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.SOLARIS_XHDTYPE),
)
_ZIPPED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
_WANTED = (
    "/kernel/iommu_groups/",
    "/devices/pci",
    "/bus/pci/devices/",
    "/bus/pci/slots/",
    "/devices/system/node/node",
)
_LARGE_FILES = frozenset({*(f"resource{number}" for number in range(6)), "rom"})
_TOOLS = (
    *("lspci", "lshw", "pciconf", "dmesg", "hwloc", "lstopo", "topo"),
    *("nvidia-smi", "nvidia_smi", "nvidia-bug-report", "dmidecode", "nvme_list", "nvme-list", "ethtool_-i"),
)
"""What is in the names of files that hold the outputs of tools."""
_OVERHEAD = 256
"""Bytes in memory besides a file's own, about."""
_MOST_TEXTS = 32
_MOST_OTHERS = 16
_LARGEST_OTHER = 4 << 20
_LONGEST_LINK = 4096
_MOST_NAMES, _LONGEST_NAME = 3, 80
_FLAT = re.compile(r"^[^:]*/([0-9a-f]{4,8}:[0-9a-f]{2}:[01][0-9a-f]\.[0-7](?:/[^:]*)?)$")
"""A folder of functions alone, as ``cp -rL /sys/bus/pci/devices`` makes one."""
_BARE = re.compile(r"^[^:]*/(pci[0-9a-f]{4,8}:[0-9a-f]{2}/.+)$")
"""Folders of host bridges alone, as ``cp -a /sys/devices/pci*`` makes them."""
_SYSFS = re.compile(r"/sys/(?:bus|class|devices)/|^/bus/\w+/(?:devices|drivers)/")
"""A member of any sysfs, one without PCI among them."""


class NothingInItError(InputError):
    """An archive that is whole, and in which there is no machine."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file or symbolic link in an archive."""

    path: str
    size: int
    read: Callable[[int], bytes]
    """Reads at most so many bytes; only before the next member is asked for."""
    target: str | None = None
    """Where a symbolic link points; None for files."""


def _damages() -> tuple[type[BaseException], ...]:
    return (tarfile.TarError, zipfile.BadZipFile, ValueError, NotImplementedError, *damaged_by())


class _Entry(tarfile.TarInfo):
    """An entry of a tar archive whose header is no larger than its reader can bear."""

    def _proc_member(self, archive: tarfile.TarFile) -> Any:
        if self.type in _HEADERS and self.size > _LONGEST_HEADER:
            raise InputError(f"the archive has a header of {self.size:,} B, which no archive of a sysfs has")
        if self.type == tarfile.GNUTYPE_SPARSE and self._sparse_structs[1]:  # type: ignore[attr-defined]
            raise InputError("the archive has a file in many pieces; pack it without --sparse")
        return super()._proc_member(archive)  # type: ignore[misc]

    def _proc_gnusparse_10(self, *_: object) -> None:
        raise InputError("the archive has a file in pieces; pack it without --sparse")


def tar_members(file: IO[bytes]) -> Iterator[Member]:
    """Go through a tar archive once, from a stream."""
    with tarfile.open(fileobj=file, mode="r|", tarinfo=_Entry) as archive:
        for entry in archive:
            # It keeps all entries that it has seen, and nobody asks for one again.
            archive.members.clear()  # type: ignore[attr-defined]
            if entry.issym():
                yield Member(entry.name, 0, lambda most: b"", entry.linkname)
            elif entry.isfile():
                content = archive.extractfile(entry)
                if content is not None:
                    yield Member(entry.name, entry.size, content.read)


def zip_members(file: IO[bytes], budget: Budget) -> Iterator[Member]:
    """Go through a zip archive; encrypted members and rare ways of packing are passed over."""
    end = zipfile._EndRecData(file)  # type: ignore[attr-defined]
    if end and end[zipfile._ECD_SIZE] > _LARGEST_DIRECTORY:  # type: ignore[attr-defined]
        raise InputError(f"the archive's list of files is larger than {_LARGEST_DIRECTORY >> 20} MiB")
    with zipfile.ZipFile(file) as archive:
        for entry in archive.infolist():
            if entry.is_dir() or entry.flag_bits & 1 or entry.compress_type not in _ZIPPED:
                continue

            def read(most: int, entry: zipfile.ZipInfo = entry) -> bytes:
                with archive.open(entry) as content:
                    data = content.read(most)
                budget.unpack(len(data))
                return data

            is_link = stat.S_ISLNK(entry.external_attr >> 16)
            target = read(_LONGEST_LINK).decode("utf-8", "replace") if is_link else None
            yield Member(entry.filename, entry.file_size, read, target)


class Archive:
    """A tar or zip archive, read once into memory."""

    failed = ()

    def __init__(self, members: Iterator[Member], budget: Budget) -> None:
        """Keep the members that belong to PCI; raises InputError for damaged or oversized archives."""
        self._budget = budget
        self.texts: dict[str, bytes] = {}
        """Outputs of tools, by their path: what is named after one, else the first few small files."""
        self._others: dict[str, bytes] = {}
        self._data: dict[str, bytes] = {}
        self._links: dict[str, str] = {}
        self._names: dict[str, set[str]] = {}
        self._saw_sys = False
        self._climbing: list[str] = []
        self.notes: list[str] = []
        """What to know about the archive: damage, members passed over."""
        self.breaks_off = ""
        """The one of the notes that says what is damaged; empty for a whole archive."""
        try:
            self._keep(members)
        except _damages() as error:
            if not (self._data or self._links or self.texts or self._others):
                raise InputError(f"the archive cannot be read: {error}") from error
            self.breaks_off = (
                f"the archive is incomplete or damaged: {error}; everything before that was read"
            )
            self.notes.append(self.breaks_off)
        if self._climbing:
            first = ", ".join(map(repr, self._climbing[:_MOST_NAMES]))
            self.notes.append(
                f"{len(self._climbing)} of the archive's members have paths that climb out of it and were "
                f"passed over: {first}{', ...' if len(self._climbing) > _MOST_NAMES else ''}"
            )
        self.texts = self.texts or ({} if self._saw_sys else self._others)
        self.holds_sysfs = bool(self._names) or (self._saw_sys and not self.texts)
        """Also a sysfs without PCI is one."""
        if not self.holds_sysfs and not self.texts:
            raise self.refusal("the archive holds no sysfs with PCI and no output of lspci")
        self.keeps_links = bool(self._links)

    def refusal(self, why: str) -> InputError:
        """Return an error that says why nothing could be read, and what was wrong with the archive."""
        return InputError("; ".join([why, *self.notes])) if self.notes else NothingInItError(why)

    def _keep(self, members: Iterator[Member]) -> None:
        for member in members:
            self._budget.member()
            path = "/" + posixpath.normpath(member.path.lstrip("/"))
            if path.startswith("/../"):
                self._climbing.append(member.path[:_LONGEST_NAME])
                continue
            place = _place_in_sys(path)
            self._saw_sys |= _SYSFS.search(path) is not None
            if place is None:
                if member.target is None:
                    self._budget.keep(self._keep_text(path, member))
            elif place.rpartition("/")[2] in _LARGE_FILES:
                continue
            elif member.target is not None:
                self._budget.keep(_OVERHEAD)
                self._links[place] = member.target
                self._enter(place)
            else:
                data = member.read(MOST_FILE_BYTES)
                self._budget.keep(len(data) + _OVERHEAD)
                self._data[place] = data
                self._enter(place)

    def _keep_text(self, path: str, member: Member) -> int:
        """Keep what may be the output of a tool; return how many bytes that were."""
        name = path.rpartition("/")[2].lower()
        named = any(word in name for word in _TOOLS)
        if named and len(self.texts) < _MOST_TEXTS and member.size <= MOST_BYTES:
            data = self.texts[path] = member.read(MOST_BYTES)
        elif not named and len(self._others) < _MOST_OTHERS and 0 < member.size <= _LARGEST_OTHER:
            data = self._others[path] = member.read(_LARGEST_OTHER)
        else:
            return 0
        return len(data)

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
    bare = _BARE.search(path)
    if bare is not None:
        return f"devices/{bare[1]}"
    flat = _FLAT.search(path)
    if flat is not None:
        return f"bus/pci/devices/{flat[1]}"
    return None
