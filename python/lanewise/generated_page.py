"""Pages of the reference that are written from what they describe, and checked against it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lanewise.files import write_whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def write_or_check(page: Callable[[], str], arguments: Sequence[str]) -> int:
    """Write the page to the path among the arguments, or with ``--check`` say whether it is current.

    Returns the exit status: 0, or 1 for a page that is not current.
    """
    check = "--check" in arguments
    (path,) = (Path(argument) for argument in arguments if not argument.startswith("--"))
    if not check:
        write_whole(path, page())
        return 0
    if path.is_file() and path.read_text(encoding="utf-8") == page():
        return 0
    print(f"'{path}' is not current: run 'make generate'", file=sys.stderr)
    return 1
