"""Files that are either whole or not there.

A file is written beside its place and renamed into it, so that whoever kills us at any moment, and a disk
that is full, leave the file as it was. Leaves out: what is left after the machine itself has lost its power.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from lanewise.errors import InputError


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


def _is_no_file(path: Path) -> bool:
    """Whether this is a device, a pipe or an open stream: something that is written to and never replaced."""
    return (path.exists() and not path.is_file()) or path.absolute().is_relative_to("/dev")


def refuse_folder(path: Path) -> None:
    """Raise NotWrittenError when a folder is where a file is to go: before the work for it is done."""
    if path.is_dir():
        raise NotWrittenError(f"'{path}' cannot be written: it is a folder")


def half_name(name: str) -> str:
    """Return a name for a file that is not whole yet, which no other process takes."""
    return f"{HALF}{os.getpid()}-{secrets.token_hex(4)}-{name}"


HALF = ".half-"
"""How the names of files begin that are not whole yet; what a killed process left of them may be removed."""
