"""Files that are either whole or not there.

A file is written beside its place and renamed into it. So a process that is killed at any moment, and a disk
that is full, leave the file as it was. Leaves out: what is left after the machine itself has lost its power.
"""

from __future__ import annotations

import os
import platform
import re
import secrets
import shutil
import time
import zlib
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from lanewise.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator


class NotWrittenError(InputError):
    """A file could not be written; what was there before, if anything, still is."""


def write_whole(path: Path, content: str | bytes) -> Path:
    """Write a file, or replace it, in one step; NotWrittenError says why it could not be."""
    data = content.encode() if isinstance(content, str) else content
    try:
        if _is_no_file(path):
            path.write_bytes(data)
            return path
        # A link stays a link: what it leads to is replaced.
        place = Path(os.path.realpath(path))
        # No collector of *.prom or *.json takes a half file for a whole one.
        beside = place.with_name(f"{half_name(place.name)}~")
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            beside.write_bytes(data)
            os.replace(beside, place)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise NotWrittenError(f"'{path}' cannot be written: {error.strerror}") from error
    return path


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Give a file to write to part by part; it appears, or takes another's place, when the block has ended.

    A block that raises leaves what was there before. Where the system can, as on Linux, the file has no name
    until then: a process that is killed leaves nothing, either. Elsewhere the next writer of the same file
    removes what is left. NotWrittenError says why it could not be written. An error of the block that names
    a file is about that one, and stays as it is.
    """
    is_in_block = False
    try:
        if _is_no_file(path):
            with path.open("wb") as file:
                is_in_block = True
                yield file
                is_in_block = False
            return
        place = Path(os.path.realpath(path))
        place.parent.mkdir(parents=True, exist_ok=True)
        remove_stale_halves(place.parent, f"{place.name}~")
        beside = place.with_name(f"{half_name(place.name)}~")
        nameless = _nameless_file(place.parent)
        try:
            with nameless or beside.open("wb") as file:
                is_in_block = True
                yield file
                is_in_block = False
                file.flush()
                if nameless is not None:
                    _give_name(nameless, beside)
            os.replace(beside, place)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        # What is written to an open file names none.
        if is_in_block and error.filename is not None:
            raise
        raise NotWrittenError(f"'{path}' cannot be written: {error.strerror}") from error


def _nameless_file(folder: Path) -> BinaryIO | None:
    """Open a file in a folder that goes with its last user; None where there are no such files."""
    flag = getattr(os, "O_TMPFILE", None)
    if flag is None or not Path("/proc/self/fd").exists():
        return None
    try:
        return os.fdopen(os.open(folder, flag | os.O_WRONLY, 0o666), "wb")
    except OSError:
        return None


def _give_name(file: BinaryIO, path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        # With a folder, although the name is absolute: only then does Python follow the link to the file.
        os.link(f"/proc/self/fd/{file.fileno()}", path, src_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _is_no_file(path: Path) -> bool:
    """Whether this is a device, a pipe or an open stream: something that is written to and never replaced."""
    return (path.exists() and not path.is_file()) or path.absolute().is_relative_to("/dev")


def refuse_folder(path: Path) -> None:
    """Raise NotWrittenError when a folder is where a file is to go: before the work for it is done."""
    if path.is_dir():
        raise NotWrittenError(f"'{path}' cannot be written: it is a folder")


def refuse_unwritable(path: Path) -> None:
    """Raise NotWrittenError when a file could not be written here: before the work for it is done."""
    refuse_folder(path)
    try:
        if _is_no_file(path):
            return
        place = Path(os.path.realpath(path))
        folder = next(parent for parent in place.parents if parent.exists())
        probe = folder / f"{half_name(place.name)}~"
        try:
            probe.write_bytes(b"")
        finally:
            probe.unlink(missing_ok=True)
    except OSError as error:
        raise NotWrittenError(f"'{path}' cannot be written: {error.strerror}") from error


def half_name(name: str) -> str:
    """Return a name for a file or folder that is not whole yet, which no other process takes."""
    return f"{HALF}{_this_machine()}-{os.getpid()}-{secrets.token_hex(4)}-{name}"


def remove_stale_halves(folder: Path, name: str | None = None) -> None:
    """Remove what processes that were killed left of this file or folder, or of any; what cannot be stays."""
    try:
        halves = [path for path in folder.iterdir() if path.name.startswith(HALF)]
    except OSError:
        return
    for half in halves:
        found = _WHOSE.match(half.name)
        if found is None or (name is not None and found["name"] != name) or not _is_stale(half, found):
            continue
        if half.is_dir() and not half.is_symlink():
            shutil.rmtree(half, ignore_errors=True)
        else:
            with suppress(OSError):
                half.unlink()


def _is_stale(half: Path, whose: re.Match[str]) -> bool:
    """Whether its process has gone; of another machine's, whether nothing has happened to it for an hour."""
    if whose["machine"] == _this_machine():
        return not _is_alive(int(whose["process"]))
    try:
        return half.stat().st_mtime < time.time() - 3_600
    except OSError:
        return False


def _is_alive(process: int) -> bool:
    if os.name != "posix":
        return True  # There, asking would end it.
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _this_machine() -> str:
    return f"{zlib.crc32(platform.node().encode()):08x}"


_WHOSE = re.compile(
    r"\.half-(?P<machine>[0-9a-f]{8})-(?P<process>[0-9]{1,9})-[0-9a-f]{8}-(?P<name>.*)", re.DOTALL
)

HALF = ".half-"
"""How the names of files begin that are not whole yet; what a killed process left of them may be removed."""
