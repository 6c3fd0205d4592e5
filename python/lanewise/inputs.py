"""Reading what a user names: a file or standard input, and no more of it than is allowed.

A signal that arrives on the way interrupts no read: Python goes on (PEP 475), and so does the core.
"""

from __future__ import annotations

import sys
from pathlib import Path

from lanewise.errors import InputError

STANDARD_INPUT = "-"
"""What stands for standard input where a file is named."""

MOST_SCENARIO_BYTES = 4 << 20
"""Of a scenario; the core has the same limit, and says so when there are more."""

READ_FAILED = (
    "the disk, network or device that holds it failed: the kernel log says how ('dmesg'); copy it elsewhere, "
    "or capture it again"
)
"""What to do where reading breaks off with an input/output error (EIO)."""


def read_input(source: str | Path, most: int) -> bytes:
    """Read a file, or standard input for ``-``: one byte more than `most` says that it is too large.

    Raises OSError when it cannot be opened, and when reading it fails on the way: `filename` says of what.
    InputError when there is no standard input.
    """
    if str(source) != STANDARD_INPUT:
        return read_file(source, most)
    if sys.stdin is None:
        raise InputError("there is no standard input to read from: it is closed")
    try:
        return sys.stdin.buffer.read(most + 1)
    except OSError as error:
        raise _named(error, "standard input") from error


def read_file(path: str | Path, most: int) -> bytes:
    """Read a file as `read_input` does; ``-`` is a name like any other."""
    try:
        with Path(path).open("rb") as file:
            return file.read(most + 1)
    except OSError as error:
        raise _named(error, str(path)) from error


def _named(error: OSError, name: str) -> OSError:
    """Return an error that names its file: one of a read that fails has none."""
    return error if error.filename is not None else OSError(error.errno, error.strerror, name)
